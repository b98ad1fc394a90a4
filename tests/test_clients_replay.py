"""Recorded answers: what is kept, what is given back, and what happens without one."""

import json
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.clients import ClientOptions, make_client
from compactor.clients.replay import ReplayClient
from compactor.clients.scripted import ScriptedClient
from compactor.errors import ModelError
from compactor.messages import Cost, Usage
from compactor.model import ModelRequest, ModelResponse

REQUEST = ModelRequest(kind="history", system="S", context="sécret talk", instructions="I", max_output_tokens=9)
FULL = ModelResponse(
    text="línea\n\ud800 end",
    stop_reason="toolUse",
    tool_calls=("read", "write"),
    thinking=True,
    usage=Usage(
        input=1, output=2, cache_read=3, cache_write=4, total_tokens=10, cache_write1h=1, reasoning=1,
        cost=Cost(input=0.1, total=0.1, total_from_provider=False),
    ),
    provider="p",
    model="m",
)  # fmt: skip


def recording(folder: Path, *replies: str | ModelResponse | ModelError) -> ReplayClient:
    return ReplayClient(folder=str(folder), inner=ScriptedClient(replies=replies), record=True)


def replaying(folder: Path) -> ReplayClient:
    return ReplayClient(folder=str(folder))


def test_recorded_answer_comes_back_whole_without_asking(tmp_path: Path) -> None:
    assert recording(tmp_path / "new", FULL).complete(REQUEST, print) == FULL
    assert replaying(tmp_path / "new").complete(REQUEST, print) == FULL


def test_answer_of_a_named_model_is_found_by_that_name_and_its_absence_says_so(tmp_path: Path) -> None:
    digest = REQUEST.digest("m-1")
    recording(tmp_path, FULL).complete(REQUEST, print)
    (tmp_path / f"{REQUEST.digest(None)}.json").rename(tmp_path / f"{digest}.json")
    assert ReplayClient(folder=str(tmp_path), recorded_model="m-1").complete(REQUEST, print) == FULL
    with pytest.raises(ModelError, match=r"model \(none\) .*give --model if the records name one"):
        replaying(tmp_path).complete(REQUEST, print)
    with pytest.raises(ModelError, match=r"for model m-2 .*found none; record it"):
        ReplayClient(folder=str(tmp_path), recorded_model="m-2").complete(REQUEST, print)


def test_recorded_answer_goes_before_the_client(tmp_path: Path) -> None:
    client = recording(tmp_path, "first", "second")
    assert [client.complete(REQUEST, print).text for _ in range(3)] == ["first"] * 3


def test_file_is_named_by_the_digest_and_holds_sizes_but_not_the_question(tmp_path: Path) -> None:
    recording(tmp_path, FULL).complete(REQUEST, print)
    (path,) = tmp_path.iterdir()
    assert path.name == f"{REQUEST.digest(None)}.json"
    text = path.read_text(encoding="utf-8")
    assert "sécret" not in text
    content = json.loads(text)
    assert content["request"] == {
        "kind": "history",
        "systemChars": 1,
        "contextChars": 11,
        "instructionsChars": 1,
        "estimatedInputTokens": 0,
        "maxOutputTokens": 9,
    }
    assert content["response"]["usage"]["cacheWrite1h"] == 1


def test_without_an_answer_and_a_client_the_missing_file_is_named(tmp_path: Path) -> None:
    client = make_client("replay", ClientOptions(replay_dir=str(tmp_path), model="some-model"))
    with pytest.raises(ModelError, match=f"{REQUEST.digest('some-model')}.json for model some-model") as raised:
        client.complete(REQUEST, print)
    assert (raised.value.kind, raised.value.retryable) == ("setup", False)


def test_nothing_is_recorded_unless_asked_for(tmp_path: Path) -> None:
    client = ReplayClient(folder=str(tmp_path / "none"), inner=ScriptedClient(replies=["x"]))
    assert client.complete(REQUEST, print).text == "x"
    assert list(tmp_path.iterdir()) == []


def test_failures_are_asked_again_and_not_recorded(tmp_path: Path) -> None:
    failed = ModelResponse(text="", stop_reason="error", error_message="withheld")
    client = recording(tmp_path, ModelError("no", kind="auth"), failed, "good")
    with pytest.raises(ModelError):
        client.complete(REQUEST, print)
    assert client.complete(REQUEST, print) == failed
    assert list(tmp_path.iterdir()) == []
    assert client.complete(REQUEST, print).text == "good"


def test_wrapped_client_keeps_its_name_and_model(tmp_path: Path) -> None:
    options = ClientOptions(model="m", replay_dir=str(tmp_path), record=True)
    client = make_client("openai", options)
    assert isinstance(client, ReplayClient)
    assert (client.name, client.model) == ("openai", "m")


def test_recorded_answer_of_a_provider_needs_no_key(tmp_path: Path) -> None:
    answer = tmp_path / f"{REQUEST.digest('m')}.json"
    answer.write_text('{"format": 1, "response": {"text": "kept", "stopReason": "stop"}}', encoding="utf-8")
    client = make_client("anthropic", ClientOptions(model="m", replay_dir=str(tmp_path)))
    assert client.complete(REQUEST, print).text == "kept"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "damaged"),
        (b"{", "damaged"),
        (b"\xff", "damaged"),
        (b"[]", "damaged"),
        (b'{"format": 1}', "damaged"),
        (b'{"format": 1, "response": {"text": 5, "stopReason": "stop"}}', "damaged"),
        (b'{"format": 1, "response": {"text": "", "stopReason": "odd"}}', "damaged"),
        (b'{"format": 9, "response": {"text": "", "stopReason": "stop"}}', "format 9"),
        (b"[" * 100_000, "damaged"),
    ],
)
def test_damaged_record_is_refused_by_name_and_not_asked_again(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / f"{REQUEST.digest(None)}.json"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=message) as raised:
        recording(tmp_path, "new").complete(REQUEST, print)
    assert path.name in str(raised.value)
    assert "\n" not in str(raised.value)
    assert path.read_bytes() == content


def test_folder_that_can_not_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ModelError, match=r"can't re(ad|cord)"):
        recording(tmp_path / "file" / "sub", "x").complete(REQUEST, print)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="skipped: needs a folder that nobody can write to")
def test_folder_that_can_not_be_written_to_is_one_line() -> None:
    with pytest.raises(ModelError, match=r"can't record an answer in /proc/none: .*--replay-dir") as raised:
        recording(Path("/proc/none"), "x").complete(REQUEST, print)
    assert raised.value.kind == "setup"


def test_writers_of_one_folder_leave_whole_files_and_nothing_else(tmp_path: Path) -> None:
    requests = [
        ModelRequest(kind="part", system="", context=str(n % 5), instructions="", max_output_tokens=1)
        for n in range(40)
    ]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda r: recording(tmp_path, FULL).complete(r, print), requests))
    assert sorted(os.listdir(tmp_path)) == sorted({f"{r.digest(None)}.json" for r in requests})
    assert {replaying(tmp_path).complete(r, print).text for r in requests} == {FULL.text}


@given(st.text(), st.sampled_from(["stop", "toolUse"]), st.lists(st.text()))
def test_any_answer_comes_back_as_it_was(text: str, stop: str, tools: list[str]) -> None:
    answer = ModelResponse(text=text, stop_reason=stop, tool_calls=tuple(tools))  # type: ignore[arg-type]
    with tempfile.TemporaryDirectory() as folder:
        recording(Path(folder), answer).complete(REQUEST, print)
        assert replaying(Path(folder)).complete(REQUEST, print) == answer


def test_reply_that_was_cut_off_is_not_recorded(tmp_path: Path) -> None:
    client = recording(tmp_path, ModelResponse(text="half", stop_reason="length"), "whole")
    assert [client.complete(REQUEST, print).text for _ in range(2)] == ["half", "whole"]
