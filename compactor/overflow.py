"""What kind of failure a provider's error text tells of, above all: was the context too large, or was it a throttle?

Takes the text of an error, as it stands in a session or as a server sent it; gives a `FailureClass`, or the answer to
"is it an overflow?". A wrong answer costs: a throttle taken for an overflow starts a compaction that helps nothing, an
overflow taken for a throttle is sent again in vain.

Three steps decide. Wording that only an overflow has (a code, or two token counts that are compared) wins. Then signs
of throttling, quota or load win, because these also say "too many tokens" and "token limit". Then wording that is usual
for an overflow counts. Sources: the providers' published messages, each named beside its pattern.
"""

import re
from dataclasses import dataclass

from compactor.errors import ModelErrorKind
from compactor.messages import Message

MAX_TEXT_CHARS = 20_000
"""Only the start of an error text is read: a proxy may send a whole page."""

FULL_INPUT_SHARE = 0.99
"""Pi 1.6.0 overflow.js: a reply without output is an overflow when the input fills this share of the window."""

_N = r"\d[\d,._]{0,20}"


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


_ONLY_OVERFLOW = _any_of(
    r"context[_ ]?length[_ ]?exceeded",  # OpenAI, Azure, DeepSeek, and what imitates them
    r"context[_ ]?window[_ ]?exceeded",  # LiteLLM, Gemini, z.ai and Anthropic stop reasons
    r"exceed_context_size_error",  # llama.cpp
    r"model_max_prompt_tokens_exceeded",  # GitHub Copilot
    rf"prompt is too long: {_N} tokens? > {_N}",  # Anthropic
    rf"exceed context limit: {_N} \+ {_N} > {_N}",  # Anthropic, input and max_tokens together
    rf"maximum (?:context|prompt) length is {_N}",  # OpenAI, DeepSeek, OpenRouter, vLLM, xAI
    rf"input token count \(?{_N}\)? exceeds the maximum",  # Gemini
    rf"prompt token count of {_N} exceeds the limit of {_N}",  # GitHub Copilot
    rf"input \({_N} tokens\) is longer than the model'?s context length",  # Together, SGLang
    rf"too large for model with {_N} maximum context length",  # Mistral
    rf"\(length {_N}\) is longer than the maximum model length",  # vLLM
    rf"request \({_N} tokens\) exceeds the available context size",  # llama.cpp
    rf"prompt has {_N} tokens?, but the configured context size is {_N}",  # DS4
    rf"input length \(?{_N}\)? exceeds (?:the |the model'?s |model'?s )?maximum",  # vLLM, OpenRouter
)

_THROTTLE = _any_of(
    r"rate[\s_-]?limit",  # OpenAI, Anthropic, Groq, gateways
    r"throttl",  # Bedrock, DashScope
    r"too[_ ]many[_ ](?:concurrent )?requests",
    r"\bquota",  # OpenAI, Gemini, Azure
    r"resource[_ ]?exhausted",  # Gemini, gRPC
    r"(?:tokens?|requests?|per|each|a|/)[\s_-]?(?:per[\s_-]?)?(?:min(?:ute)?|hour|day|week|month)\b",
    r"\b[io]?[tr]p[mdh]\b",  # TPM, RPM, TPD, RPD, ITPM
    r"\b(?:daily|hourly|weekly|monthly)\b",
    r"for today\b",
    r"please wait|wait (?:before|and|a )|before (?:re)?trying|(?:re)?try (?:again )?(?:later|in \d)|retry[\s_-]?after",
    r"overloaded|service[\s_]?unavailable|at capacity|high demand|server is busy|servers are (?:currently )?busy",
    r"频率|速率|限流|限速|请求过于频繁|请求过多|每分钟|每小时|每日|每天|今日|配额|额度|余额",
)

_ACCOUNT = _any_of(
    r"insufficient[_ ]quota|exceeded your (?:current|monthly|daily) quota|quota[_ ]?exceeded|out of quota",
    r"usage[_ ]?limit|spend(?:ing)? limit|out of (?:budget|credits?|extra usage)|budget (?:has been )?exceeded",
    r"(?<!/)\bbilling\b|\bcredits?\b|insufficient[_ ](?:balance|funds)|available balance|payment required",
    r"(?:subscription|plan|account|workspace|organization)'?s? (?:(?!rate)\w+ )?(?:token )?limit|extra usage is req",
    r"欠费|余额不足|额度不足|额度已用",
)

_USUAL_OVERFLOW = _any_of(
    r"(?:prompt|input|context|conversation|messages?|request)(?: (?:token )?length)? (?:is |are )?too (?:long|large)\b",
    r"prompt_too_long|request_too_large",  # Anthropic
    r"prompt exceeds max length",  # z.ai
    r"input is too long",  # Bedrock
    r"too many (?:total text bytes|input tokens|tokens in (?:the )?(?:prompt|input|request))",  # Bedrock
    r"exceed(?:s|ed|ing)? (?:the |this |your |our )?(?:model'?s? )?(?:available |maximum |max(?:imum)? )?context"
    r"(?: length| window| size| limit)?",  # OpenAI, LM Studio, Mistral, vLLM
    r"context(?: length| window| size| limit)? (?:has been |was |is )?(?:exceeded|exceeds|overflow|full)\b",  # MiniMax
    r"(?:reached|over) (?:the |its )?(?:conversation|context)(?: length| window)? limit|conversation length exceeded",
    r"input tokens? (?:count )?exceeds? the (?:configured |model'?s? |maximum )?(?:limit|maximum)",  # Azure, Gemini
    r"(?:greater|longer|larger) than (?:the |this )?(?:model'?s? )?context (?:length|window|size)",  # LM Studio
    r"exceeds? (?:the )?maximum (?:allowed )?(?:input|prompt) (?:length|tokens)",  # OpenRouter, DashScope
    r"maximum (?:allowed )?(?:number of )?input tokens",
    r"exceeded model token limit",  # Kimi
    r"(?:tokens in the request|length of tokens)[^.]{0,40} too (?:long|many)",  # Kimi
    r"reduce the length of (?:the |your )?(?:messages|prompt|input)",  # OpenAI, Groq, vLLM
    r"reduce your (?:prompt|input|context|conversation)",
    r"range of input length should be",  # DashScope
    r"`?inputs?`? tokens \+ `?max_(?:new_)?tokens`? must be",  # TGI, Together
    rf"inputs` must have less than {_N} tokens",  # TGI
    r"input length and `?max_tokens`? exceed context limit",  # Anthropic
    rf"requested tokens? \({_N}\) exceed context window",  # llama-cpp-python
    rf"(?<![_\w])(?<!output )(?<!completion )tokens?\b[^.]{{0,40}} exceeds the limit of {_N}",  # Vertex
    rf"context length of only {_N} tokens",  # LM Studio
    r"exceeds the max_model_len",  # vLLM
    rf"input tokens (?:{_N} )?cannot exceed",  # watsonx
    r"\"code\"\s*:\s*\"?1261\b",  # z.ai
    r"request payload size exceeds|(?:payload|request entity|content|body) too large",  # Gemini, nginx
    r"too many tokens|(?<!output )token[_ ]limit[_ ]exceeded|exceeds? (?:the )?(?:maximum )?token limit",
    r"(?:输入|上下文|提示词?|对话|请求|内容|token)[^。，,.]{0,12}(?:过长|超长|过大|超过|超出)|(?:超过|超出)[^。，,.]{0,8}(?:上下文|最大长度)",
)

_OUTPUT_LIMIT = _any_of(
    r"\bmax_(?:completion_|output_)?tokens['\"`]?(?:\s*[:=(]?\s*\d+\)?)? (?:is|exceeds|must|should|can)",
    r"at most \d+ (?:completion|output) tokens",
)
"""The request asked for a longer reply than the model gives: a matter of settings, not of the context."""

_TOO_LARGE_STATUS = re.compile(
    r"\s*(?:[\w -]{1,60} api error \(413\)|(?:http |error code: ?)?413)(?=[\s:,)\-]|$)", re.I
)
_BODYLESS = re.compile(r"\s*4(?:00|13)\s*(?:status code)?\s*\(no body\)", re.I)
_STATUS = re.compile(
    r"^\s*(?:[\w -]{0,60}api error \(|http(?:/[\d.]+)?[ :]+|error code:? |(?:unexpected )?status(?: code)?:? )?"
    r"([45]\d\d)(?=[\s:,)\-]|$)(?! (?:\w+ )?tokens)|\bstatus(?:[_ ]?code)?\"?'?\s*[:=]?\s*\"?'?([45]\d\d)\b"
    r"|\berror code: ?([45]\d\d)\b|[\"']code[\"']\s*:\s*[\"']?([45]\d\d)\b|\bhttp(?:/[\d.]+)? ([45]\d\d)\b",
    re.IGNORECASE,
)

_AUTH = _any_of(
    r"invalid[_ ]?(?:x-)?api[_ -]?key|incorrect api key|no api key|missing (?:api key|bearer|authentication)",
    r"authentication[_ ]?(?:error|failed|required)|unauthori[sz]ed|unauthenticated|permission[_ ]?(?:denied|error)",
    r"\bforbidden\b|access ?denied|invalid token|token (?:has )?expired|credentials",
)
_LOAD = _any_of(
    r"overloaded|server_busy|server is busy|servers are (?:currently )?busy|high demand|at capacity|no capacity",
    r"service[\s_.]?(?:is[\s_.]?)?(?:temporarily[\s_.]?)?unavailable|model is (?:currently )?loading|loading model",
)
_TIMEOUT = _any_of(r"timed? ?out|timeout|deadline[_ ]exceeded")
_NETWORK = _any_of(
    r"connection (?:error|refused|reset|closed|lost|aborted)|network error|fetch failed|socket hang up|side closed",
    r"\bE(?:CONNRESET|CONNREFUSED|CONNABORTED|PIPE|NOTFOUND|AI_AGAIN)\b|getaddrinfo|name or service not known",
    r"peer closed|incomplete chunked read|stream (?:ended|was interrupted|disconnected)|ended without|upstream connect",
    r"reset before headers|premature|terminated\b",
)
_SERVER = _any_of(
    r"internal[_ ]?(?:server)?[_ ]?error|server[_ ]?error|\bapi_error\b|bad gateway|gateway",
    r"provider returned (?:an )?error|upstream (?:request )?(?:error|failed)|you can retry your request",
)
_BAD_REQUEST = _any_of(
    r"invalid[_ ]?request|not[_ ]found|does not exist|unsupported|invalid[_ ]?(?:argument|param)|malformed"
)

_LONG_LIMIT = _any_of(
    r"\b(?:daily|weekly|monthly|for today)\b|\bper[\s_-]?(?:day|week|month)\b|\b[tr]pd\b|每日|每天|今日"
)
_TOLD_TO_WAIT = re.compile(r"\b(?:re)?try (?:again )?in ~?\d", re.IGNORECASE)
_NEVER_FITS = re.compile(rf"limit:? ({_N})[^\d]{{1,40}}requested:? ({_N})", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureClass:
    """What an error text tells, in terms of what can be done about it."""

    kind: ModelErrorKind
    """An exhausted quota is `rate_limit`, not retryable."""
    retryable: bool
    """True when the same request may succeed within minutes."""


def is_context_overflow(text: str) -> bool:
    """True when the text says that the input did not fit the model's window, or the request was too large to send.

    Texts of throttles, quotas and overloads are none, even where they speak of too many tokens.
    """
    text = text[:MAX_TEXT_CHARS]
    if _ONLY_OVERFLOW.search(text):
        return True
    if _THROTTLE.search(text) or _ACCOUNT.search(text) or status_in(text) in (401, 402, 429, 503, 529):
        return False
    if _OUTPUT_LIMIT.search(text):
        return False
    return bool(_USUAL_OVERFLOW.search(text) or _TOO_LARGE_STATUS.match(text))


def classify_failure(text: str, status: int | None = None) -> FailureClass:
    """The class of a failed request.

    Args:
        text: the server's message or the transport's.
        status: the HTTP status where it is known; else it is looked for in the text.
    """
    text = text[:MAX_TEXT_CHARS]
    known = status if status is not None and status >= 400 else status_in(text)
    if known == 401 or (known == 403 and not _ACCOUNT.search(text)):
        return FailureClass(kind="auth", retryable=False)
    if is_context_overflow(f"{known}: {text}" if known else text):
        return FailureClass(kind="overflow", retryable=False)
    limit = _limit_class(text, known)
    if limit is not None:
        return limit
    by_status = _STATUS_CLASS.get(known or 0)
    if by_status is not None:
        return by_status
    if known is not None:
        server = known >= 500
        return FailureClass(kind="server" if server else "bad_request", retryable=server)
    return _class_by_words(text)


def error_kind(text: str, status: int | None = None) -> ModelErrorKind:
    """The kind alone of `classify_failure`."""
    return classify_failure(text, status).kind


def is_overflow_message(message: Message, context_window: int | None = None) -> bool:
    """True when an assistant message of a session tells of an overflow: by its error, or silently by its usage.

    Silently: the provider took more input than the window holds, or filled the window and left no room for a reply.
    Source: Pi 1.6.0 overflow.js isContextOverflow.

    Args:
        message: any message; only assistant messages can be true.
        context_window: the model's window in tokens; None or 0 if unknown, then usage tells nothing.
    """
    if message.role != "assistant":
        return False
    if message.stop_reason == "error" and message.error_message:
        if message.provider == "cerebras" and _BODYLESS.match(message.error_message):
            return True
        return is_context_overflow(message.error_message)
    if not context_window or message.usage is None:
        return False
    read_tokens = message.usage.input + message.usage.cache_read
    if message.stop_reason == "stop":
        return read_tokens > context_window
    filled = read_tokens >= context_window * FULL_INPUT_SHARE
    return message.stop_reason == "length" and message.usage.output == 0 and filled


def status_in(text: str) -> int | None:
    """The HTTP status that an error text names; a token count is none."""
    found = _STATUS.search(text[:MAX_TEXT_CHARS])
    return int(next(group for group in found.groups() if group)) if found else None


_STATUS_CLASS: dict[int, FailureClass] = {
    404: FailureClass(kind="bad_request", retryable=False),
    408: FailureClass(kind="timeout", retryable=True),
    409: FailureClass(kind="server", retryable=True),
    425: FailureClass(kind="server", retryable=True),
    501: FailureClass(kind="bad_request", retryable=False),
    503: FailureClass(kind="overloaded", retryable=True),
    504: FailureClass(kind="timeout", retryable=True),
    529: FailureClass(kind="overloaded", retryable=True),
}


def _limit_class(text: str, status: int | None) -> FailureClass | None:
    """The class of a throttle, a quota or an overload; None if it is none of them."""
    waits = _TOLD_TO_WAIT.search(text) is not None
    if status == 402 or _ACCOUNT.search(text):
        return FailureClass(kind="rate_limit", retryable=waits and status != 402)
    if _LOAD.search(text) and status not in (400, 404, 422, 429):
        return FailureClass(kind="overloaded", retryable=True)
    if status == 429 or (_THROTTLE.search(text) and status not in (404, 422, 500, 502, 503, 504, 529)):
        return FailureClass(kind="rate_limit", retryable=waits or not (_never_fits(text) or _LONG_LIMIT.search(text)))
    return None


def _never_fits(text: str) -> bool:
    """True when one request alone is larger than the limit it was refused for: waiting does not help."""
    found = _NEVER_FITS.search(text)
    if found is None:
        return False
    limit, requested = (int(re.sub(r"\D", "", number)) for number in found.groups())
    return requested > limit


def _class_by_words(text: str) -> FailureClass:
    """The class where no status is known; what is not understood is not tried again."""
    table: tuple[tuple[re.Pattern[str], ModelErrorKind, bool], ...] = (
        (_AUTH, "auth", False),
        (_BAD_REQUEST, "bad_request", False),
        (_TIMEOUT, "timeout", True),
        (_NETWORK, "connection", True),
        (_SERVER, "server", True),
    )
    for pattern, kind, retryable in table:
        if pattern.search(text):
            return FailureClass(kind=kind, retryable=retryable)
    return FailureClass(kind="server", retryable=False)
