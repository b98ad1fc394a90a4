"""The openai client with the real library against a server on this computer."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from compactor.clients import ClientOptions, make_client
from compactor.clients.openai_chat import OpenAIChatClient
from compactor.clients.retry import RetryPolicy
from compactor.errors import ModelError
from compactor.model import ModelRequest, ModelResponse, Notice, RetryFinished, RetryScheduled, RetryStarted, Streamed

pytest.importorskip("openai", reason="skipped: the extra openai is not installed")

KEY = "sk-secret"
REQUEST = ModelRequest(
    kind="history", system="Système", context="<conversation>\ud800\n", instructions="Summarize.", max_output_tokens=77
)


def data(content: Any) -> bytes:
    """One event of a stream."""
    return f"data: {json.dumps(content)}\n\n".encode()


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return data({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **more})


def text(*parts: str) -> bytes:
    return b"".join(chunk({"content": part}) for part in parts)


def ended(finish: str) -> bytes:
    return chunk({}, finish)


USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 40,
    "total_tokens": 140,
    "prompt_tokens_details": {"cached_tokens": 60},
    "completion_tokens_details": {"reasoning_tokens": 15},
}
DONE = b"data: [DONE]\n\n"
GOOD = chunk({"role": "assistant", "content": ""}) + text("## Go", "al") + ended("stop") + chunk(usage=USAGE) + DONE


def stream(*parts: bytes, **headers: str) -> Response:
    return Response(iter(parts), headers={"content-type": "text/event-stream", **headers})


def refusal(status: int, message: str, headers: dict[str, str] | None = None, **more: Any) -> Response:
    body = json.dumps({"error": {"message": message, "type": "invalid_request_error", **more}})
    return Response(body, status=status, content_type="application/json", headers=headers)


class Asked:
    """A server that gives its answers in order, and what it was asked."""

    def __init__(self, server: HTTPServer, *answers: Response) -> None:
        self.requests: list[Request] = []
        self.notices: list[Notice] = []
        self._answers: Iterator[Response] = iter(answers)
        self.url = server.url_for("/v1")
        server.expect_request("/v1/chat/completions", method="POST").respond_with_handler(self._answer)

    def _answer(self, request: Request) -> Response:
        request.get_data()
        self.requests.append(request)
        return next(self._answers)

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(request.get_data()) for request in self.requests]

    @property
    def retries(self) -> list[Notice]:
        return [notice for notice in self.notices if not isinstance(notice, Streamed)]

    def client(self, **options: Any) -> OpenAIChatClient:
        settings = {"model": "m", "base_url": self.url, "api_key": KEY, "base_delay_ms": 1, **options}
        made = make_client("openai", ClientOptions(**settings))
        assert isinstance(made, OpenAIChatClient)
        return made

    def complete(self, request: ModelRequest = REQUEST, **options: Any) -> ModelResponse:
        return self.client(**options).complete(request, self.notices.append)

    def failure(self, **options: Any) -> ModelError:
        """The error of a request: one line, without the key."""
        with pytest.raises(ModelError) as raised:
            self.complete(**options)
        assert str(raised.value).isprintable()
        assert KEY not in str(raised.value)
        return raised.value


def test_request_has_model_limit_messages_and_the_wish_for_usage(httpserver: HTTPServer) -> None:
    asked = Asked(httpserver, stream(GOOD))
    asked.complete()
    assert asked.bodies == [
        {
            "model": "m",
            "max_tokens": 77,
            "stream": True,
            "stream_options": {"include_usage": True},
            "messages": [
                {"role": "system", "content": "Système"},
                {"role": "user", "content": "<conversation>\ufffd\nSummarize."},
            ],
        }
    ]
    assert asked.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_temperature_is_sent_only_if_given_and_no_empty_system_message(httpserver: HTTPServer) -> None:
    asked = Asked(httpserver, stream(GOOD))
    request = ModelRequest(kind="part", system="", context="C", instructions="I", max_output_tokens=5)
    asked.complete(request, temperature=0.0)
    (body,) = asked.bodies
    assert body["temperature"] == 0
    assert body["messages"] == [{"role": "user", "content": "CI"}]


def test_answer_has_text_reason_and_usage_without_cached_tokens_in_input(httpserver: HTTPServer) -> None:
    asked = Asked(httpserver, stream(GOOD))
    reply = asked.complete()
    assert (reply.text, reply.stop_reason, reply.thinking, reply.tool_calls) == ("## Goal", "stop", False, ())
    assert (reply.provider, reply.model) == ("localhost", "m")
    usage = reply.usage
    assert usage is not None
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write) == (40, 40, 60, 0)
    assert (usage.reasoning, usage.total_tokens) == (15, 140)
    assert asked.notices == [Streamed(chars=5), Streamed(chars=7)]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 4}, (5, 1, 4, 0)),
        (
            {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cache_write_tokens": 3}},
            (6, 1, 0, 3),
        ),
        ({"prompt_tokens": 3, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 5}}, (0, 1, 5, 0)),
        ({"prompt_tokens": 3}, (3, 0, 0, 0)),
        ({"prompt_tokens": "x", "completion_tokens": True}, None),
        ({}, None),
    ],
)
def test_usage_of_other_servers_is_read(
    httpserver: HTTPServer, told: dict[str, Any], expected: tuple[int, ...] | None
) -> None:
    usage = Asked(httpserver, stream(text("x"), ended("stop"), chunk(usage=told), DONE)).complete().usage
    found = usage and (usage.input, usage.output, usage.cache_read, usage.cache_write)
    assert found == expected
    assert usage is None or usage.total_tokens == sum(expected or ())


def test_without_usage_none_is_invented(httpserver: HTTPServer) -> None:
    assert Asked(httpserver, stream(text("x"), ended("stop"), DONE)).complete().usage is None


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("stop", "stop"),
        ("eos", "stop"),
        ("length", "length"),
        ("tool_calls", "toolUse"),
        ("function_call", "toolUse"),
        ("content_filter", "error"),
        ("something_new", "error"),
    ],
)
def test_finish_reason_is_told_in_pi_s_words(httpserver: HTTPServer, reason: str, expected: str) -> None:
    reply = Asked(httpserver, stream(text("x"), ended(reason), DONE)).complete()
    assert reply.stop_reason == expected
    assert (reply.error_message is not None) == (expected == "error")


@pytest.mark.parametrize(
    ("reason", "kind"),
    [("model_context_window_exceeded", "overflow"), ("insufficient_system_resource", "overloaded")],
)
def test_finish_reason_that_reports_a_failure_is_one(httpserver: HTTPServer, reason: str, kind: str) -> None:
    assert Asked(httpserver, stream(text("x"), ended(reason), DONE)).failure(max_retries=0).kind == kind


def test_tool_call_is_named_once(httpserver: HTTPServer) -> None:
    first = {"index": 0, "id": "t", "type": "function", "function": {"name": "read", "arguments": ""}}
    more = {"index": 0, "function": {"arguments": "{}"}}
    parts = chunk({"tool_calls": [first]}) + chunk({"tool_calls": [more]}) + ended("tool_calls")
    reply = Asked(httpserver, stream(parts, DONE)).complete()
    assert (reply.text, reply.tool_calls, reply.stop_reason) == ("", ("read",), "toolUse")


@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning_content": "hm"},
        {"reasoning": "hm"},
        {"content": [{"type": "thinking", "thinking": [{"text": "hm"}]}]},
    ],
)
def test_thinking_is_no_text(httpserver: HTTPServer, delta: dict[str, Any]) -> None:
    reply = Asked(httpserver, stream(chunk(delta), ended("stop"), DONE)).complete()
    assert (reply.text, reply.thinking) == ("", True)


def test_text_in_blocks_is_read(httpserver: HTTPServer) -> None:
    blocks = chunk({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]})
    assert Asked(httpserver, stream(blocks, ended("stop"), DONE)).complete().text == "ab"


REFUSED_PARTS = [
    (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        ("max_tokens", "max_completion_tokens"),
    ),
    ("unknown field `stream_options`", ("stream_options", None)),
]


@pytest.mark.parametrize(("message", "change"), REFUSED_PARTS)
def test_part_that_the_server_refuses_is_left_out_from_then_on(
    httpserver: HTTPServer, message: str, change: tuple[str, str | None]
) -> None:
    asked = Asked(httpserver, refusal(400, message), stream(GOOD), stream(GOOD))
    client = asked.client()
    for _ in range(2):
        assert client.complete(REQUEST, asked.notices.append).text == "## Goal"
    first, *later = asked.bodies
    old, new = change
    assert old in first
    assert [old in body or (new is not None and new not in body) for body in later] == [False, False]
    assert asked.retries == []


def test_system_role_that_the_model_lacks_goes_into_the_message(httpserver: HTTPServer) -> None:
    asked = Asked(httpserver, refusal(500, "Jinja Exception: System role not supported"), stream(GOOD))
    asked.complete()
    assert asked.bodies[1]["messages"] == [{"role": "user", "content": "Système\n\n<conversation>\ufffd\nSummarize."}]


def test_server_that_refuses_every_form_is_not_asked_forever(httpserver: HTTPServer) -> None:
    message = "neither max_tokens nor max_completion_tokens nor stream_options"
    asked = Asked(httpserver, *[refusal(400, message) for _ in range(9)])
    assert asked.failure().kind == "bad_request"
    assert len(asked.requests) <= 4


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (
            refusal(400, "This model's maximum context length is 8192 tokens.", code="context_length_exceeded"),
            "overflow",
        ),
        (refusal(400, "request (9 tokens) exceeds the available context size (8 tokens)"), "overflow"),
        (refusal(413, "Payload Too Large"), "overflow"),
        (refusal(401, f"Incorrect API key provided: {KEY}"), "auth"),
        (refusal(429, "You exceeded your current quota", code="insufficient_quota"), "rate_limit"),
        (refusal(404, "The model `m` does not exist"), "bad_request"),
    ],
)
def test_lasting_failure_has_its_kind_and_is_not_tried_again(
    httpserver: HTTPServer, answer: Response, kind: str
) -> None:
    asked = Asked(httpserver, answer)
    error = asked.failure()
    assert (error.kind, error.retryable) == (kind, False)
    assert asked.notices == []


def test_rate_limit_is_waited_for_as_the_server_says(httpserver: HTTPServer) -> None:
    limited = refusal(429, "Rate limit reached on tokens per min", {"retry-after": "0.002"})
    asked = Asked(httpserver, limited, stream(GOOD))
    assert asked.complete(base_delay_ms=60_000).text == "## Goal"
    first, *rest = asked.retries
    assert isinstance(first, RetryScheduled)
    assert (first.attempt, first.max_attempts, first.delay_ms) == (1, 3, 2)
    assert rest == [RetryStarted(), RetryFinished()]
    assert len(asked.requests) == 2


@pytest.mark.parametrize("status", [408, 409, 500, 502, 503, 504, 529])
def test_passing_failure_is_tried_again(httpserver: HTTPServer, status: int) -> None:
    asked = Asked(httpserver, Response("", status=status), stream(GOOD))
    assert asked.complete().text == "## Goal"
    assert [type(n) for n in asked.retries] == [RetryScheduled, RetryStarted, RetryFinished]


def test_retries_are_only_ours(httpserver: HTTPServer) -> None:
    asked = Asked(httpserver, *[refusal(500, "broken") for _ in range(9)])
    assert asked.failure(max_retries=2).kind == "server"
    assert len(asked.requests) == 3


def test_error_inside_of_the_stream_has_its_kind_and_the_words_of_the_provider_behind(httpserver: HTTPServer) -> None:
    raw = {"message": "Provider returned error", "code": 502, "metadata": {"raw": "the backend is overloaded"}}
    error = Asked(httpserver, stream(text("half"), data({"error": raw}))).failure(max_retries=0)
    assert (error.kind, error.retryable) == ("overloaded", True)
    assert "Provider returned error (the backend is overloaded)" in str(error)


@pytest.mark.parametrize("length", [{}, {"content-length": "100000"}], ids=["closed", "cut"])
def test_reply_that_breaks_off_is_asked_for_again(httpserver: HTTPServer, length: dict[str, str]) -> None:
    asked = Asked(httpserver, stream(text("half of it"), **length), stream(GOOD))
    assert asked.complete().text == "## Goal"
    first = asked.retries[0]
    assert isinstance(first, RetryScheduled)
    assert "check the base URL and the network" in first.error_message


@pytest.mark.parametrize(
    "body",
    [
        b"data: {not json\n\n",
        b"data: \xff\xfe\n\n",
        b"data: 5\n\n",
        data({"choices": 7}),
        data({"choices": [{"delta": "text", "finish_reason": 3}], "usage": "none"}),
        data({"choices": [{"delta": {"content": 5, "tool_calls": [None, {"function": 1}]}}]}),
        b"<html>welcome</html>",
        b"",
    ],
)
def test_malformed_stream_is_a_failure_of_ours(httpserver: HTTPServer, body: bytes) -> None:
    assert Asked(httpserver, stream(body)).failure(max_retries=0).kind in ("connection", "server")


def test_nobody_there_is_a_connection_failure() -> None:
    client = OpenAIChatClient(model_name="m", base_url="http://127.0.0.1:9", retries=RetryPolicy(max_retries=0))
    with pytest.raises(ModelError, match="check the base URL and the network") as raised:
        client.complete(REQUEST, print)
    assert (raised.value.kind, raised.value.retryable) == ("connection", True)


def test_reply_that_takes_too_long_is_given_up(httpserver: HTTPServer) -> None:
    given_up = threading.Event()

    def stalled() -> Iterator[bytes]:
        yield text("x")
        given_up.wait(60)

    asked = Asked(httpserver, Response(stalled(), content_type="text/event-stream"))
    failure = asked.failure(max_retries=0, timeout_s=0.3)
    given_up.set()
    assert (failure.kind, failure.retryable) == ("timeout", True)


def test_interrupt_passes_through(httpserver: HTTPServer) -> None:
    asked = Asked(httpserver, stream(GOOD))

    def interrupt(notice: Notice) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asked.client().complete(REQUEST, interrupt)
    assert len(asked.requests) == 1


def test_server_of_one_s_own_needs_no_key(httpserver: HTTPServer) -> None:
    assert Asked(httpserver, stream(GOOD)).complete(api_key=None).text == "## Goal"
