"""Hypothesis strategies: text, JSON values and sessions of every kind that a reader must survive.

`sessions` gives a `SessionBuilder` with every entry type and role, results late, out of order or missing, rows that are
private, compactions one after the other, edits and branches.
"""

from collections.abc import Callable
from typing import Any

from builders import SessionBuilder, image, row_line, tool_call, usage
from hypothesis import strategies as st

any_character = st.characters(exclude_categories=())
"""Lone surrogates included, which `st.text` leaves out by itself."""

SPECIAL_TEXTS = (
    "", " ", "\n\n", "\u2028", "\x00", "🚢", "\ud83d", "\udea2\ud83d", "検査", "e\u0301", "<|endoftext|>",
    "</conversation>", "<summary>", "[User]: hello", "## Goal", "```", '{"type":"message"}', "a" * 61,
)  # fmt: skip
NUMBERS = (0, -0.0, 1.0, 2**53 + 1, -(10**21), 1e21, 1e-7, 5e-324, 1.7976931348623157e308, 0.1, 10**400)
PATHS = ("src/crane.py", "docs/plan.md", "é.py", "𝒳.py", "\ud83d.py", "", 7)
CONTENT_ROLES = ("user", "assistant", "toolResult", "custom_message")

texts = st.one_of(st.text(any_character, max_size=12), st.sampled_from(SPECIAL_TEXTS))
"""Short texts."""

long_texts = st.builds(
    lambda part, times: part * times, st.sampled_from(("ab ", "x", "🚢", "検")), st.integers(0, 1300)
)
"""Up to more than a summarizer is shown of a tool result."""

numbers = st.one_of(st.sampled_from(NUMBERS), st.integers(), st.floats(allow_nan=False, allow_infinity=False))
"""Numbers as JSON has them."""

keys = st.one_of(texts, st.integers(0, 2**33).map(str), st.sampled_from(("01", "-1", "4294967294", "4294967295", "³")))
"""Keys of JSON objects, some of which JavaScript puts first."""

json_values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=4)),
    max_leaves=8,
)
"""Decoded JSON."""


@st.composite
def contents(draw: st.DrawFn) -> Any:
    """The content of a message: a string, or blocks of text, an image, and a kind that nobody knows."""
    text = draw(st.one_of(texts, long_texts))
    if draw(st.booleans()):
        return text
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}]
    if draw(st.booleans()):
        blocks.insert(0, image())
    if draw(st.booleans()):
        blocks.append({"type": "audio", "seconds": 3})
    return blocks


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _assistant(draw: st.DrawFn, builder: SessionBuilder) -> None:
    """An assistant message with calls, and their results: in any order, some late, some missing."""
    calls = []
    for n in range(draw(st.integers(0, 3))):
        arguments = draw(st.dictionaries(keys, json_values, max_size=2))
        call = tool_call(f"call_{len(builder.rows)}_{n}", draw(st.sampled_from(("read", "write", "edit", "bash"))))
        calls.append({**call, "arguments": {**arguments, "path": draw(st.sampled_from(PATHS))}})
    thinking = [{"type": "thinking", "thinking": draw(texts)}] if draw(st.booleans()) else []
    reported = usage(draw(st.sampled_from((0, 40, 900))), input=draw(st.integers(0, 50)))
    stop = "toolUse" if calls else draw(st.sampled_from(("stop", "length", "error", "aborted")))
    text = [{"type": "text", "text": draw(texts)}] if draw(st.booleans()) else []
    builder.message("assistant", content=[*thinking, *text, *calls], usage=reported, stopReason=stop)
    for call in draw(st.permutations(calls)):
        fate = draw(st.sampled_from(("now", "now", "now", "late", "never")))
        if fate == "late":
            draw(st.sampled_from((_user, _custom_message, _plain_assistant)))(draw, builder)
        if fate != "never":
            _result(draw, builder, call["id"])


def _result(draw: st.DrawFn, builder: SessionBuilder, call_id: str) -> None:
    fields: dict[str, Any] = {}
    if draw(st.integers(0, 5)) == 0:
        nested = [{"name": "edit", "arguments": {"path": draw(st.sampled_from(PATHS))}}]
        fields["nestedCalls"] = {"calls": nested, "complete": True}
    builder.result(call_id, _blocks(draw(contents())), **fields)


def _user(draw: st.DrawFn, builder: SessionBuilder) -> None:
    builder.user(draw(contents()))


def _plain_assistant(draw: st.DrawFn, builder: SessionBuilder) -> None:
    builder.assistant(draw(texts))


def _orphan_result(draw: st.DrawFn, builder: SessionBuilder) -> None:
    _result(draw, builder, draw(st.sampled_from(("nobody", "call_0_0", "call_1_0"))))


def _shell(draw: st.DrawFn, builder: SessionBuilder) -> None:
    private = {"excludeFromContext": True} if draw(st.booleans()) else {}
    builder.shell(draw(texts), draw(texts), exitCode=draw(st.sampled_from((0, 1, 127, None))), **private)


def _custom_message(draw: st.DrawFn, builder: SessionBuilder) -> None:
    builder.custom_message(draw(contents()))


def _system(draw: st.DrawFn, builder: SessionBuilder) -> None:
    sections = draw(st.dictionaries(st.sampled_from(("cwd", "skills")), st.one_of(st.none(), texts), max_size=2))
    builder.system(draw(texts), sections=sections, toolsAdded=[{"name": "read", "schema": draw(json_values)}])


def _bookkeeping(draw: st.DrawFn, builder: SessionBuilder) -> None:
    builder.bookkeeping()


def _branch_summary(draw: st.DrawFn, builder: SessionBuilder) -> None:
    builder.branch_summary(draw(texts))


def _path(builder: SessionBuilder) -> list[dict[str, Any]]:
    """The rows from the leaf to its root."""
    by_id = {row["id"]: row for row in builder.rows}
    found = []
    at = builder.leaf
    while at is not None:
        found.append(by_id[at])
        at = by_id[at]["parentId"]
    return found


def _edit(draw: st.DrawFn, builder: SessionBuilder) -> None:
    path = _path(builder)
    if path:
        target = draw(st.sampled_from(path[:8]))["id"]
        builder.edit(target, *([draw(contents())] if draw(st.booleans()) else []))


def _failed_attempt(draw: st.DrawFn, builder: SessionBuilder) -> None:
    """A reply that failed and was taken out of the context, as overflow recovery does it."""
    failed = builder.assistant(draw(texts), stopReason="error", errorMessage="prompt is too long")
    builder.edit(failed)


def _compaction(draw: st.DrawFn, builder: SessionBuilder) -> None:
    path = _path(builder)
    if path:
        details = {"readFiles": ["old/read.md", "src/crane.py"], "modifiedFiles": ["old/new.py"]}
        fields: dict[str, Any] = {"details": details} if draw(st.booleans()) else {}
        fields |= {"fromHook": True} if draw(st.booleans()) else {}
        fields |= {"systemMessage": {"role": "system", "content": draw(texts)}} if draw(st.booleans()) else {}
        builder.compaction(draw(st.sampled_from(path[:10]))["id"], draw(texts), **fields)


def _go_back(draw: st.DrawFn, builder: SessionBuilder) -> None:
    if builder.rows:
        builder.back_to(draw(st.sampled_from(builder.rows))["id"])


Step = Callable[[st.DrawFn, SessionBuilder], None]
LINEAR_STEPS: tuple[Step, ...] = (
    _user, _user, _assistant, _assistant, _assistant, _shell, _custom_message, _system, _bookkeeping, _orphan_result,
)  # fmt: skip
TREE_STEPS: tuple[Step, ...] = (*LINEAR_STEPS, _branch_summary, _edit, _edit, _failed_attempt, _go_back)


@st.composite
def sessions(draw: st.DrawFn, *, max_steps: int = 14, version: int = 3, compactions: bool = True) -> SessionBuilder:
    """A session of a version, built step by step.

    Args:
        draw: hypothesis' own.
        max_steps: a step adds from none to ten entries.
        version: 1 has neither branches nor edits.
        compactions: False leaves them out.
    """
    builder = SessionBuilder(version=version)
    steps = LINEAR_STEPS if version == 1 else TREE_STEPS
    for step in draw(st.lists(st.sampled_from((*steps, *([_compaction] if compactions else []))), max_size=max_steps)):
        step(draw, builder)
    return builder


@st.composite
def damaged_files(draw: st.DrawFn) -> bytes:
    """The bytes of a session file after an accident: cut, fused, overwritten, or with lines of another kind."""
    builder = draw(sessions(max_steps=6, version=draw(st.sampled_from((1, 2, 3)))))
    data = builder.data()
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data)))
        wound = draw(
            st.one_of(
                st.binary(max_size=6),
                st.sampled_from((b"\0" * 8, b"\n", b"\r", b"\xef\xbb\xbf", b"NaN", b"\\", b'"', b"{", b"}", b"\xff")),
                json_values.map(row_line),
            )
        )
        data = data[:at] + wound + data[at + draw(st.sampled_from((0, 0, 1, 7, 400))) :]
    return data
