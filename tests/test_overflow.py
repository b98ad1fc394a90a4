"""Tells a context overflow from a throttle, a quota, a refused key and a passing failure, by the error's text."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.messages import Message, Usage
from compactor.overflow import (
    MAX_TEXT_CHARS,
    classify_failure,
    error_kind,
    is_context_overflow,
    is_overflow_message,
    status_in,
)

OVERFLOWS = {
    "anthropic": "prompt is too long: 213462 tokens > 200000 maximum",
    "anthropic with reply": "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, decrease it",
    "anthropic bytes": '413 {"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}',
    "openai": "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "openai chat": "This model's maximum context length is 8192 tokens. However, you sent 8227 tokens.",
    "openai code": '{"error":{"code":"context_length_exceeded","message":"..."}}',
    "azure": "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 312004 tokens.",
    "google": "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)",
    "vertex": "Request contains 35000 tokens, which exceeds the limit of 32768.",
    "gemini app": "Your input context is too long. Reduce your input context or switch to another model.",
    "xai": "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
    "groq": "Please reduce the length of the messages or completion.",
    "openrouter": "This endpoint's maximum context length is 163840 tokens. However, you requested about 172900 tokens",
    "poolside": "Input length 300000 exceeds the maximum allowed input length of 262144 tokens.",
    "together": "The input (210000 tokens) is longer than the model's context length (200000 tokens).",
    "tgi": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 17 `inputs` tokens",
    "llama.cpp old": "the request exceeds the available context size, try increasing it",
    "llama.cpp": '{"error":{"code":400,"message":"request (9 tokens) is more","type":"exceed_context_size_error"}}',
    "lm studio": "The number of tokens to keep from the initial prompt is greater than the context length",
    "lm studio load": "the model is loaded with context length of only 4096 tokens, which is not enough",
    "copilot": "prompt token count of 391491 exceeds the limit of 128000",
    "copilot code": '{"error":{"code":"model_max_prompt_tokens_exceeded"}}',
    "copilot bytes": 'github-copilot API error (413): {"message":"failed to parse request","code":""}',
    "mistral": "Prompt contains 65673 tokens, too large for model with 32768 maximum context length",
    "ollama": "prompt too long; exceeded max context length by 120 tokens",
    "vllm": "The decoder prompt (length 144006) is longer than the maximum model length of 131072",
    "vllm reply": "'max_tokens' is too large: 2000. This model's maximum context length is 4096 tokens and your "
    "request has 2104 input tokens (2000 > 4096 - 2104).",
    "sglang": "Requested token count exceeds the model's maximum context length of 131072 tokens",
    "deepseek": "This model's maximum context length is 65536 tokens. However, you requested 73149 tokens",
    "bedrock": "ValidationException: Input is too long for requested model.",
    "bedrock bytes": "ValidationException: too many total text bytes: 9000000 > 8000000",
    "litellm": "litellm.ContextWindowExceededError: litellm.BadRequestError: too long",
    "minimax": "invalid params, context window exceeds limit",
    "kimi": "Your request exceeded model token limit: 262144 (requested: 300000)",
    "zai": '{"code":"1261","message":"Prompt exceeds max length"}',
    "zai reason": "model_context_window_exceeded",
    "dashscope": "Range of input length should be [1, 983616]",
    "ds4": "Prompt has 32769 tokens, but the configured context size is 32768 tokens",
    "cohere": "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292",
    "cloudflare": "AiError: The estimated number of input and maximum output tokens (8500) exceeded this model context "
    "window limit (7968)",
    "nginx": "413 Request Entity Too Large",
    "cerebras": "413 status code (no body)",
    "plain": "token limit exceeded",
    "chinese": "输入长度超过限制，上下文过长",
}

NO_OVERFLOWS = [
    ("rate_limit", True, "ThrottlingException: Too many tokens, please wait before trying again."),
    ("rate_limit", True, "Throttling error: Too many tokens, please wait before trying again."),
    ("rate_limit", False, "Too many tokens per day, please wait before trying again."),
    ("rate_limit", True, "429 Rate limit reached for gpt-5 on tokens per min (TPM): Limit 30000"),
    (
        "rate_limit",
        False,
        "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 39143. The input "
        "or output tokens must be reduced in order to run successfully.",
    ),
    (
        "rate_limit",
        False,
        "413 Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 9000, "
        "please reduce your message size and try again.",
    ),
    (
        "rate_limit",
        True,
        "Rate limit reached on tokens per day (TPD): Limit 200000, Used 199770, Requested 2002. Please "
        "try again in 12m45.504s. Need more tokens? Upgrade at "
        "https://console.example.com/settings/billing",
    ),
    ("rate_limit", True, "This request would exceed your organization's rate limit of 40,000 input tokens per minute"),
    ("rate_limit", False, "HTTP 429: rate_limit_error: Extra usage is required for long context requests"),
    ("rate_limit", False, "400 Your credit balance is too low to access the API"),
    ("rate_limit", False, "insufficient_quota: You exceeded your current quota, check your plan"),
    ("rate_limit", False, "You exceeded your current quota, token limit exceeded for today"),
    ("rate_limit", False, "Your plan's token limit exceeded"),
    ("rate_limit", False, "Monthly token limit exceeded"),
    (
        "rate_limit",
        True,
        "You exceeded your current quota. Quota exceeded for metric: "
        "generate_content_free_tier_input_token_count, limit: 250000. Please retry in 58.4s.",
    ),
    ("rate_limit", True, "Requests have exceeded token rate limit of your tier. Please retry after 10 seconds."),
    ("rate_limit", True, "Throttling.RateQuota: Requests rate limit exceeded, too many tokens"),
    ("rate_limit", True, "429 请求过于频繁，token 数量超过每分钟限制"),
    ("rate_limit", False, "402 Payment Required: input too long for the free tier"),
    ("rate_limit", True, "429 Too Many Requests: rate limit reached for tokens per minute"),
    ("overloaded", True, '529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'),
    ("overloaded", True, "ServiceUnavailable: too many tokens in flight, please try again later"),
    ("auth", False, '401 {"error":{"type":"authentication_error","message":"invalid x-api-key"}}'),
    ("auth", False, "Incorrect API key provided: sk-xx"),
    ("auth", False, "403 Forbidden"),
    ("bad_request", False, "400 max_tokens is too large: 100000. This model supports at most 16384 completion tokens"),
    ("bad_request", False, "400 Range of max_tokens should be [1, 32768]"),
    ("bad_request", False, "400 max_tokens (9000) exceeds the token limit of 8192"),
    ("bad_request", False, "400 Model context window too small (minimum is 128k tokens)"),
    ("bad_request", False, "400 Invalid 'tools[0].name': string too long. Expected at most 64 characters"),
    ("bad_request", False, "404 model_not_found: The model `x` does not exist"),
    ("connection", True, "connect ECONNREFUSED 127.0.0.1:8080"),
    ("connection", True, "Anthropic stream ended before message_stop"),
    ("timeout", True, "Request timed out."),
    ("timeout", True, "504 Gateway Time-out"),
    ("server", True, "500 Internal Server Error"),
    ("server", True, "Provider returned error"),
    ("server", False, "something else"),
    ("server", False, ""),
]


@pytest.mark.parametrize("text", OVERFLOWS.values(), ids=OVERFLOWS)
def test_a_provider_s_overflow_is_one(text: str) -> None:
    assert is_context_overflow(text)
    assert error_kind(text) == "overflow"
    assert not classify_failure(text, 400).retryable


@pytest.mark.parametrize(("kind", "retryable", "text"), NO_OVERFLOWS)
def test_what_is_no_overflow_gets_its_own_kind(kind: str, retryable: bool, text: str) -> None:
    assert not is_context_overflow(text)
    found = classify_failure(text)
    assert (found.kind, found.retryable) == (kind, retryable)


@pytest.mark.parametrize(
    ("status", "text", "kind", "retryable"),
    [
        (400, "", "bad_request", False),
        (401, "prompt is too long", "auth", False),
        (403, "not allowed", "auth", False),
        (403, "billing: out of credits", "rate_limit", False),
        (404, "timeout is no model", "bad_request", False),
        (408, "", "timeout", True),
        (409, "", "server", True),
        (413, "", "overflow", False),
        (413, "tokens per minute (TPM): Limit 6000", "rate_limit", True),
        (422, "bad", "bad_request", False),
        (429, "prompt is too long", "rate_limit", True),
        (429, "", "rate_limit", True),
        (500, "Your input context is too long", "overflow", False),
        (502, "<html>", "server", True),
        (503, "", "overloaded", True),
        (529, "", "overloaded", True),
        (200, "Overloaded", "overloaded", True),
    ],
)
def test_status_counts_where_it_is_known(status: int, text: str, kind: str, retryable: bool) -> None:
    found = classify_failure(text, status)
    assert (found.kind, found.retryable) == (kind, retryable)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("429 Too Many Requests", 429),
        ("Error code: 503 - {}", 503),
        ("github-copilot API error (413): x", 413),
        ('{"error":{"code":429}}', 429),
        ("Request failed with status code 500", 500),
        ("HTTP/1.1 502 Bad Gateway", 502),
        ("401: no", 401),
        ("429 input tokens were used", None),
        ("you requested 500 tokens", None),
        ("", None),
    ],
)
def test_status_is_found_in_the_text_and_a_token_count_is_none(text: str, status: int | None) -> None:
    assert status_in(text) == status


PIECES = [
    "prompt is too long",
    "limit: ",
    "requested: ",
    "9",
    ",",
    "429",
    "401",
    "tokens",
    "per day",
    " ",
    "\ud800",
    "\n",
]


@given(
    st.lists(st.sampled_from(PIECES) | st.text(max_size=5)).map("".join), st.sampled_from([None, 200, 400, 429, 500])
)
def test_what_only_a_change_can_mend_is_never_tried_again(text: str, status: int | None) -> None:
    found = classify_failure(text, status)
    assert not (found.retryable and found.kind in ("auth", "bad_request", "overflow"))
    assert found.kind != "overflow" or is_context_overflow(text) or status is not None


@pytest.mark.parametrize("piece", PIECES)
def test_a_piece_of_a_pattern_repeated_often_is_classified_as_when_it_stands_few_times(piece: str) -> None:
    assert classify_failure(f"{piece} " * MAX_TEXT_CHARS) == classify_failure(f"{piece} " * 500)


def test_only_the_start_of_a_long_text_is_read() -> None:
    assert not is_context_overflow("x" * MAX_TEXT_CHARS + " context_length_exceeded")


@given(st.sampled_from(sorted(OVERFLOWS.values())), st.sampled_from(["", "Error: ", "openai API error: ", "\n"]))
def test_words_before_it_hide_no_overflow(text: str, before: str) -> None:
    if not text.startswith(("413", "github")):
        assert is_context_overflow(before + text)


def said(**fields: object) -> Message:
    """An assistant message."""
    return Message(role="assistant", **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("message", "window", "expected"),
    [
        (said(stop_reason="error", error_message=OVERFLOWS["anthropic"]), None, True),
        (said(stop_reason="error", error_message="429 rate limit"), 100, False),
        (said(stop_reason="error", error_message=None), 100, False),
        (said(stop_reason="stop", error_message=OVERFLOWS["anthropic"]), 100, False),
        (said(stop_reason="error", provider="cerebras", error_message="400 status code (no body)"), None, True),
        (said(stop_reason="error", provider="openai", error_message="400 status code (no body)"), None, False),
        (said(stop_reason="stop", usage=Usage(input=90, cache_read=11)), 100, True),
        (said(stop_reason="stop", usage=Usage(input=90, cache_read=10)), 100, False),
        (said(stop_reason="stop", usage=Usage(input=900)), None, False),
        (said(stop_reason="stop", usage=Usage(input=900)), 0, False),
        (said(stop_reason="stop"), 100, False),
        (said(stop_reason="length", usage=Usage(input=99)), 100, True),
        (said(stop_reason="length", usage=Usage(input=98)), 100, False),
        (said(stop_reason="length", usage=Usage(input=99, output=1)), 100, False),
        (said(stop_reason="toolUse", usage=Usage(input=900)), 100, False),
        (Message(role="user", stop_reason="error", error_message=OVERFLOWS["anthropic"]), None, False),
    ],
)
def test_message_of_a_session_tells_of_an_overflow(message: Message, window: int | None, expected: bool) -> None:
    assert is_overflow_message(message, window) is expected


def test_recorded_throttles_are_no_overflows(shared: Path) -> None:
    lines = (shared / "bugs/11-rate-limit-not-overflow/input.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    assert [name for name, text, expected in rows if is_context_overflow(text) != (expected == "overflow")] == []
    assert len(rows) >= 8
