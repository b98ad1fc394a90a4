"""The anthropic client with the real library against a server on this computer."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from compactor.clients import ClientOptions, make_client
from compactor.clients.anthropic_messages import AnthropicMessagesClient
from compactor.clients.retry import RetryPolicy
from compactor.errors import ModelError
from compactor.model import ModelRequest, ModelResponse, Notice, RetryFinished, RetryScheduled, RetryStarted, Streamed

KEY = "sk-ant-secret"
REQUEST = ModelRequest(
    kind="history", system="Système", context="<conversation>\ud800\n", instructions="Summarize.", max_output_tokens=77
)


def event(kind: str, **data: Any) -> bytes:
    """One event of a stream."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


START_USAGE = {
    "input_tokens": 10,
    "output_tokens": 1,
    "cache_read_input_tokens": 20,
    "cache_creation_input_tokens": 30,
    "cache_creation": {"ephemeral_5m_input_tokens": 25, "ephemeral_1h_input_tokens": 5},
}
START = event(
    "message_start",
    message={
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": START_USAGE,
    },
)  # fmt: skip
STOP = event("message_stop")


def block(index: int, content: dict[str, Any], *deltas: dict[str, Any]) -> bytes:
    begun = event("content_block_start", index=index, content_block=content)
    added = b"".join(event("content_block_delta", index=index, delta=delta) for delta in deltas)
    return begun + added + event("content_block_stop", index=index)


def text_block(index: int, *texts: str) -> bytes:
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": text} for text in texts))


def ending(reason: str, **delta: Any) -> bytes:
    usage = {"output_tokens": 40, "output_tokens_details": {"thinking_tokens": 15}}
    return event("message_delta", delta={"stop_reason": reason, "stop_sequence": None, **delta}, usage=usage)


GOOD = START + event("ping") + text_block(0, "## Go", "al") + text_block(1, "Ship.") + ending("end_turn") + STOP


def stream(*parts: bytes, **headers: str) -> Response:
    return Response(iter(parts), headers={"content-type": "text/event-stream", **headers})


def refusal(status: int, kind: str, message: str, **headers: str) -> Response:
    body = {"type": "error", "error": {"type": kind, "message": message}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(json.dumps(body), status=status, content_type="application/json", headers=named)


class Asked:
    """A server that gives its answers in order, and what it was asked."""

    def __init__(self, server: HTTPServer, *answers: Response) -> None:
        self.requests: list[Request] = []
        self.notices: list[Notice] = []
        self._answers: Iterator[Response] = iter(answers)
        self.url = server.url_for("")
        server.expect_request("/v1/messages", method="POST").respond_with_handler(self._answer)

    def _answer(self, request: Request) -> Response:
        request.get_data()
        self.requests.append(request)
        return next(self._answers)

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(request.get_data()) for request in self.requests]

    def complete(self, request: ModelRequest = REQUEST, **options: Any) -> ModelResponse:
        settings = {"model": "claude-x", "base_url": self.url, "api_key": KEY, "base_delay_ms": 1, **options}
        return make_client("anthropic", ClientOptions(**settings)).complete(request, self.notices.append)

    def failure(self, **options: Any) -> ModelError:
        """The error of a request: one line, without the key."""
        with pytest.raises(ModelError) as raised:
            self.complete(**options)
        assert str(raised.value).isprintable()
        assert KEY not in str(raised.value)
        return raised.value


def test_request_has_model_limit_system_and_a_cache_mark_after_the_conversation(httpserver: HTTPServer) -> None:
    asked = Asked(httpserver, stream(GOOD))
    asked.complete()
    assert asked.bodies == [
        {
            "model": "claude-x",
            "max_tokens": 77,
            "stream": True,
            "system": "Système",
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "<conversation>\ufffd\n", "cache_control": {"type": "ephemeral"}},
                        {"type": "text", "text": "Summarize."},
                    ],
                }
            ],
        }
    ]
    assert KEY in str(asked.requests[0].headers)


@pytest.mark.parametrize(("context", "instructions"), [("", "I"), ("C", ""), (" \n", "I")])
def test_without_one_of_the_parts_there_is_one_block_without_a_mark(
    httpserver: HTTPServer, context: str, instructions: str
) -> None:
    asked = Asked(httpserver, stream(GOOD))
    asked.complete(
        ModelRequest(kind="merge", system="", context=context, instructions=instructions, max_output_tokens=5)
    )
    (body,) = asked.bodies
    assert body["messages"][0]["content"] == [{"type": "text", "text": context + instructions}]
    assert "system" not in body


def test_answer_has_text_reason_and_usage_without_cached_tokens_in_input(httpserver: HTTPServer) -> None:
    reply = Asked(httpserver, stream(GOOD)).complete()
    assert (reply.text, reply.stop_reason, reply.thinking, reply.tool_calls) == ("## Goal\nShip.", "stop", False, ())
    usage = reply.usage
    assert usage is not None
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write) == (10, 40, 20, 30)
    assert (usage.cache_write1h, usage.reasoning, usage.total_tokens) == (5, 15, 100)
    assert (usage.cost.total, usage.cost.total_from_provider) == (0, False)


def test_progress_counts_the_characters_so_far(httpserver: HTTPServer) -> None:
    asked = Asked(httpserver, stream(GOOD))
    asked.complete()
    assert asked.notices == [Streamed(chars=5), Streamed(chars=7), Streamed(chars=12)]


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "toolUse"),
        ("refusal", "error"),
        ("pause_turn", "error"),
        ("something_new", "error"),
    ],
)
def test_stop_reason_is_told_in_pi_s_words(httpserver: HTTPServer, reason: str, expected: str) -> None:
    reply = Asked(httpserver, stream(START + text_block(0, "x") + ending(reason) + STOP)).complete()
    assert reply.stop_reason == expected
    assert (reply.error_message is not None) == (expected == "error")


def test_refusal_says_why(httpserver: HTTPServer) -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "not\nallowed"}
    reply = Asked(httpserver, stream(START + ending("refusal", stop_details=details) + STOP)).complete()
    assert "refused to write the summary: not allowed;" in (reply.error_message or "")


def test_tool_call_is_named(httpserver: HTTPServer) -> None:
    tool = {"type": "tool_use", "id": "t", "name": "read", "input": {}}
    call = block(0, tool, {"type": "input_json_delta", "partial_json": "{}"})
    reply = Asked(httpserver, stream(START + call + ending("tool_use") + STOP)).complete()
    assert (reply.text, reply.tool_calls, reply.stop_reason) == ("", ("read",), "toolUse")


def test_thinking_is_no_text(httpserver: HTTPServer) -> None:
    thought = block(0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "hm"})
    reply = Asked(httpserver, stream(START + thought + ending("end_turn") + STOP)).complete()
    assert (reply.text, reply.thinking, reply.stop_reason) == ("", True, "stop")


def test_overflow_is_told_and_not_tried_again(httpserver: HTTPServer) -> None:
    asked = Asked(
        httpserver, refusal(400, "invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum")
    )
    error = asked.failure()
    assert (error.kind, error.retryable, asked.notices) == ("overflow", False, [])
    assert "answered 400: prompt is too long: 213462 tokens > 200000 maximum; use a model" in str(error)


def test_refused_key_is_told_without_the_key(httpserver: HTTPServer) -> None:
    asked = Asked(httpserver, refusal(401, "authentication_error", f"invalid x-api-key\n{KEY}"))
    error = asked.failure()
    assert (error.kind, error.retryable) == ("auth", False)
    assert "invalid x-api-key [key]; check the key" in str(error)


def test_rate_limit_is_waited_for_as_the_server_says(httpserver: HTTPServer) -> None:
    limited = refusal(429, "rate_limit_error", "too many tokens per minute", retry_after="0.002")
    asked = Asked(httpserver, limited, stream(GOOD))
    assert asked.complete(base_delay_ms=60_000).text == "## Goal\nShip."
    first, *rest = [notice for notice in asked.notices if not isinstance(notice, Streamed)]
    assert isinstance(first, RetryScheduled)
    assert (first.attempt, first.max_attempts, first.delay_ms) == (1, 3, 2)
    assert "too many tokens per minute" in first.error_message
    assert rest == [RetryStarted(), RetryFinished()]
    assert len(asked.requests) == 2


def test_overload_is_tried_again(httpserver: HTTPServer) -> None:
    asked = Asked(httpserver, refusal(529, "overloaded_error", "Overloaded"), stream(GOOD))
    assert asked.complete().stop_reason == "stop"
    assert [type(n) for n in asked.notices if not isinstance(n, Streamed)] == [
        RetryScheduled,
        RetryStarted,
        RetryFinished,
    ]


def test_retries_are_only_ours(httpserver: HTTPServer) -> None:
    asked = Asked(httpserver, *[refusal(529, "overloaded_error", "Overloaded") for _ in range(9)])
    assert asked.failure(max_retries=2).kind == "overloaded"
    assert len(asked.requests) == 3


def test_exhausted_credit_is_not_tried_again(httpserver: HTTPServer) -> None:
    asked = Asked(httpserver, refusal(400, "invalid_request_error", "Your credit balance is too low"))
    error = asked.failure()
    assert (error.kind, error.retryable) == ("rate_limit", False)
    assert "raise the account's limit" in str(error)


@pytest.mark.parametrize("told", ["true", "false"])
def test_server_that_says_whether_to_retry_is_obeyed(httpserver: HTTPServer, told: str) -> None:
    asked = Asked(httpserver, refusal(500, "api_error", "broken", x_should_retry=told), stream(GOOD))
    if told == "true":
        assert asked.complete().stop_reason == "stop"
    else:
        assert asked.failure().retryable is False


@pytest.mark.parametrize(
    ("kind", "message", "expected"),
    [
        ("overloaded_error", "Overloaded", ("overloaded", True)),
        ("api_error", "Internal server error", ("server", True)),
        ("rate_limit_error", "slow down", ("rate_limit", True)),
        ("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum", ("overflow", False)),
    ],
)
def test_error_inside_of_the_stream_has_its_kind(
    httpserver: HTTPServer, kind: str, message: str, expected: tuple[str, bool]
) -> None:
    broken = START + text_block(0, "half") + event("error", error={"type": kind, "message": message})
    error = Asked(httpserver, stream(broken)).failure(max_retries=0)
    assert (error.kind, error.retryable) == expected
    assert message in str(error)


@pytest.mark.parametrize("length", [{}, {"content-length": "100000"}], ids=["closed", "cut"])
def test_reply_that_breaks_off_is_asked_for_again(httpserver: HTTPServer, length: dict[str, str]) -> None:
    half = START + text_block(0, "half of it")
    asked = Asked(httpserver, stream(half, **length), stream(GOOD))
    assert asked.complete().text == "## Goal\nShip."
    scheduled = [n for n in asked.notices if isinstance(n, RetryScheduled)]
    assert len(scheduled) == 1
    assert "check the base URL and the network" in scheduled[0].error_message


@pytest.mark.parametrize(
    "body",
    [
        b"event: message_start\ndata: {not json\n\n",
        b"event: message_start\ndata: \xff\xfe\n\n",
        b"event: message_start\ndata: 5\n\n",
        event("message_start", message=None) + event("content_block_delta", index="x", delta=None),
        event("message_start", message={"usage": {"input_tokens": "many"}}) + event("message_delta", delta=[]),
        b"<html>welcome</html>",
        b"",
    ],
)
def test_malformed_stream_is_a_failure_of_ours(httpserver: HTTPServer, body: bytes) -> None:
    error = Asked(httpserver, stream(body)).failure(max_retries=0)
    assert error.kind in ("connection", "server")


def test_page_of_a_proxy_is_not_quoted(httpserver: HTTPServer) -> None:
    page = Response("<html>" + "x" * 9999, status=502, content_type="text/html")
    error = Asked(httpserver, page).failure(max_retries=0)
    assert (error.kind, error.retryable) == ("server", True)
    assert "answered 502: an HTML page instead of JSON;" in str(error)


def test_nobody_there_is_a_connection_failure() -> None:
    client = AnthropicMessagesClient(model_name="m", base_url="http://127.0.0.1:9", retries=RetryPolicy(max_retries=0))
    with pytest.raises(ModelError, match="check the base URL and the network") as raised:
        client.complete(REQUEST, print)
    assert (raised.value.kind, raised.value.retryable) == ("connection", True)


def test_reply_that_takes_too_long_is_given_up(httpserver: HTTPServer) -> None:
    given_up = threading.Event()

    def stalled() -> Iterator[bytes]:
        yield START
        given_up.wait(60)

    asked = Asked(httpserver, Response(stalled(), content_type="text/event-stream"))
    error = asked.failure(max_retries=0, timeout_s=0.3)
    given_up.set()
    assert (error.kind, error.retryable) == ("timeout", True)
    assert "--timeout" in str(error)


def test_reply_that_trickles_for_too_long_is_given_up(httpserver: HTTPServer) -> None:
    given_up = threading.Event()

    def trickling() -> Iterator[bytes]:
        yield START
        while not given_up.wait(0.01):
            yield event("ping") + text_block(0, "x")

    asked = Asked(httpserver, Response(trickling(), content_type="text/event-stream"))
    error = asked.failure(max_retries=0, timeout_s=0.5)
    given_up.set()
    assert error.kind == "timeout"
    assert "not complete after 0.5 s" in str(error)


def test_interrupt_passes_through(httpserver: HTTPServer) -> None:
    asked = Asked(httpserver, stream(GOOD))

    def interrupt(notice: Notice) -> None:
        raise KeyboardInterrupt

    client = AnthropicMessagesClient(model_name="m", base_url=asked.url, api_key=KEY)
    with pytest.raises(KeyboardInterrupt):
        client.complete(REQUEST, interrupt)
    assert len(asked.requests) == 1


def test_failure_of_the_observer_is_not_taken_for_the_model_s(httpserver: HTTPServer) -> None:
    asked = Asked(httpserver, stream(GOOD))

    def closed(notice: Notice) -> None:
        raise BrokenPipeError("standard error is closed")

    client = AnthropicMessagesClient(model_name="m", base_url=asked.url, api_key=KEY)
    with pytest.raises(BrokenPipeError):
        client.complete(REQUEST, closed)


def test_base_url_may_end_in_v1(httpserver: HTTPServer) -> None:
    asked = Asked(httpserver, stream(GOOD))
    assert asked.complete(base_url=asked.url.rstrip("/") + "/v1/").stop_reason == "stop"


def test_server_of_one_s_own_needs_no_key(httpserver: HTTPServer) -> None:
    asked = Asked(httpserver, stream(GOOD))
    assert asked.complete(api_key=None).provider == "localhost"


def test_tokens_are_counted_by_the_provider(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/v1/messages/count_tokens", method="POST").respond_with_json({"input_tokens": 123})
    client = AnthropicMessagesClient(model_name="claude-x", base_url=httpserver.url_for(""), api_key=KEY)
    assert client.count_tokens(REQUEST) == 123
    (request, _), *_ = httpserver.log
    body = json.loads(request.get_data())
    assert set(body) == {"model", "system", "messages"}
