"""Replies from a list or a file, in order."""

import json
from pathlib import Path

import pytest

from compactor.clients import ClientOptions, make_client
from compactor.clients.retry import RetryPolicy
from compactor.clients.scripted import ScriptedClient, read_replies
from compactor.errors import ModelError, SettingsError
from compactor.model import ModelRequest, ModelResponse, Notice, RetryFinished, RetryScheduled, RetryStarted
from compactor.summary import reply_problem

REQUEST = ModelRequest(kind="history", system="", context="", instructions="", max_output_tokens=9)
AT_ONCE = RetryPolicy(base_delay_ms=0)


def ask(client: ScriptedClient, times: int = 1) -> list[str]:
    return [client.complete(REQUEST, lambda notice: None).text for _ in range(times)]


def test_replies_come_in_order_and_the_last_repeats() -> None:
    assert ask(ScriptedClient(replies=["one", "two"]), 4) == ["one", "two", "two", "two"]


def test_response_is_given_as_it_is() -> None:
    reply = ModelResponse(text="x", stop_reason="length", provider="p")
    assert ScriptedClient(replies=[reply]).complete(REQUEST, print) is reply


def test_passing_failure_is_retried_with_the_next_reply() -> None:
    notices: list[Notice] = []
    client = ScriptedClient(replies=[ModelError("busy", kind="overloaded", retryable=True), "done"], retries=AT_ONCE)
    assert client.complete(REQUEST, notices.append).text == "done"
    assert [type(n) for n in notices] == [RetryScheduled, RetryStarted, RetryFinished]


def test_last_failure_repeats_as_a_new_error_each_time() -> None:
    client = ScriptedClient(replies=[ModelError("no", kind="auth")])
    seen = []
    for _ in range(2):
        with pytest.raises(ModelError, match="no") as raised:
            client.complete(REQUEST, print)
        seen.append(raised.value)
    assert seen[0] is not seen[1]
    assert seen[1].kind == "auth"


MESSAGE = {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}


@pytest.mark.parametrize(
    ("name", "content", "texts"),
    [
        ("r.json", '["one", "two"]', ["one", "two"]),
        ("r.json", json.dumps([MESSAGE, "two"]), ["a\nb", "two"]),
        ("r.json", json.dumps(MESSAGE), ["a\nb"]),
        ("r.json", '\ufeff"one"', ["one"]),
        ("r.jsonl", '"one"\n\n' + json.dumps(MESSAGE) + "\n", ["one", "a\nb"]),
        ("r.jsonl", '"one\u2028two"\n"three"', ["one\u2028two", "three"]),
        ("r.txt", '["one"]', ["one"]),
        ("r.txt", '{"content": "x"}\n"y"\n', ["x", "y"]),
        ("r.md", "## Goal\nShip.\n", ["## Goal\nShip.\n"]),
        ("r.md", "[x] done", ["[x] done"]),
        ("r.md", "{not json}\n", ["{not json}\n"]),
        ("r.txt", "", [""]),
        ("r.txt", "42", ["42"]),
        ("r.json", '["\\ud800"]', ["\ud800"]),
    ],
)
def test_file_is_read_in_each_of_its_forms(tmp_path: Path, name: str, content: str, texts: list[str]) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    client = make_client("scripted", ClientOptions(script=str(path)))
    assert isinstance(client, ScriptedClient)
    assert ask(client, len(texts)) == texts


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "at least one reply"),
        ("", "at least one reply"),
        ("[1]", "reply 1; found int"),
        ('["a", null]', "reply 2; found NoneType"),
        ('[{"text": "x"}]', "`content`"),
        ("[", "line 1"),
        ('"a"\n{"b"', "line 2"),
        ('[{"content": 5}]', "reply 1"),
        ('[{"content": [], "stopReason": "paused"}]', "'paused'"),
        ('[{"error": "x", "kind": "odd"}]', "'odd'"),
        (r'[{"content": "x", "\ud800": 1}]', "reply 1"),
        ("[" * 100_000, "line 1"),
    ],
)
def test_file_that_holds_no_replies_is_refused_with_the_place(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(SettingsError, match=message) as raised:
        read_replies(str(path))
    assert "\n" not in str(raised.value)


def test_missing_and_undecodable_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file"):
        read_replies(str(tmp_path / "none.txt"))
    (tmp_path / "bytes.txt").write_bytes(b"ab\xff")
    with pytest.raises(SettingsError, match="offset 2"):
        read_replies(str(tmp_path / "bytes.txt"))


def test_failure_in_a_file_has_its_kind_and_may_be_retryable(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text('[{"error": "slow", "kind": "timeout", "retryable": true}, {"error": "odd"}]', encoding="utf-8")
    first, second = read_replies(str(path))
    assert isinstance(first, ModelError) and (str(first), first.kind, first.retryable) == ("slow", "timeout", True)
    assert isinstance(second, ModelError) and (second.kind, second.retryable) == ("server", False)


def test_message_of_a_session_becomes_a_response_with_all_it_says(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "hi"},
        {"type": "toolCall", "id": "1", "name": "read", "arguments": {}},
    ]
    usage = {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 10}
    said = {"content": blocks, "stopReason": "toolUse", "usage": usage, "provider": "p", "model": "m"}
    path.write_text(json.dumps(said), encoding="utf-8")
    (reply,) = read_replies(str(path))
    assert isinstance(reply, ModelResponse)
    assert (reply.text, reply.stop_reason, reply.tool_calls, reply.thinking) == ("hi", "toolUse", ("read",), True)
    assert (reply.provider, reply.model) == ("p", "m")
    assert reply.usage is not None and (reply.usage.cache_read, reply.usage.total_tokens) == (3, 10)


def test_error_of_a_session_becomes_a_response_with_its_message(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text('{"errorMessage": "broken", "stopReason": "error"}', encoding="utf-8")
    (reply,) = read_replies(str(path))
    assert isinstance(reply, ModelResponse)
    assert (reply.text, reply.stop_reason, reply.error_message) == ("", "error", "broken")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("empty", "no text"),
        ("length", "token limit"),
        ("thinking-only", "only hidden thinking"),
        ("toolcall", "called read"),
        ("whitespace", "only blanks"),
    ],
)
def test_recorded_bad_replies_are_refused_as_summaries(shared: Path, name: str, problem: str) -> None:
    (reply,) = read_replies(str(shared / f"bugs/33-bad-summary-replies/reply-{name}.json"))
    assert isinstance(reply, ModelResponse)
    assert problem in (reply_problem(reply, "") or "")
