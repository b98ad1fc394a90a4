"""The ledger of a session: a charge for every request whose usage the file reports, on whatever branch it stands.

Takes a session; gives charges in the order of the file, and Pi's counts of messages. Entries that were compacted away
or left on another branch were paid for like any other. A cost that the file does not say is None, never 0. Source: Pi
1.6.0 agent-session.js getSessionStats, usage-totals.js getUsageCostBreakdown; docs/session-format.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import msgspec

from compactor.entries import Entry, Session, SessionWarning, load_json
from compactor.messages import Cost, Number, Usage, lenient
from compactor.usage import ReportedUsage, all_tokens, cleaned_usage, is_usable

Pricer = Callable[[Usage, str | None, str], Cost | None]
"""Usage, provider and model -> the list price; None where it is not known."""

REPEATED = "replacement_history"
"""What an imported entry says it was made of if it is not new: the context that a compaction of Codex left."""

MAX_NAMED_FIELDS = 5
"""A warning names no more of the fields that can't be used."""


class _Block(msgspec.Struct, frozen=True, gc=False):
    """No more of a content block than what it is: the rest is most of the file."""

    type: str = ""


class _Message(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What the ledger needs of a message."""

    content: str | list[_Block] | None = None
    timestamp: Number | None = None
    provider: str | None = None
    model: str | None = None
    response_model: str | None = None
    """The model that answered, where it is not the one that was asked."""
    response_id: str | None = None
    stop_reason: str | None = None
    usage: ReportedUsage | None = None


class _Row(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What the ledger needs of an entry."""

    id: str | None = None
    timestamp: str | None = None
    message: _Message | None = None
    imported_from: Any = None
    """On an entry that an importer made of what the file repeats, or copied from the session that it was forked from:
    no requests of the file's own."""
    kind: str | None = None
    provider: str | None = None
    model: str | None = None
    usage: ReportedUsage | None = None


_decode = msgspec.json.Decoder(_Row).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """One request that the file reports the usage of."""

    index: int
    """Position of its entry in the session."""
    entry_id: str
    kind: str
    """`assistant`, `usage:<kind>`, `tool`, `compaction` or `branch_summary`."""
    provider: str | None
    model: str | None
    """None where the entry names no model, as tools, branch summaries and Pi's own compactions do."""
    usage: Usage
    """Parts that can't be used count as 0 and are warned of."""
    cost: Number | None
    """US dollars as recorded; None where the file does not say what the tokens cost, or how many there were."""
    identity: tuple[Any, ...] | None
    """What a copy of the request in another file has in common with it; None where nothing tells copies apart."""
    is_reported: bool = True
    """False for a reply or a `usage` entry that reports no usage, although a request was made for it."""
    is_finished: bool = True
    """False for a reply that failed or was stopped; its figures may be partial."""
    estimate: Cost | None = None
    """The list price, where the cost is not recorded and a catalogue knows it."""


@dataclass(slots=True, kw_only=True)
class Ledger:
    """All charges of a session, and how many messages it has."""

    charges: list[Charge] = field(default_factory=list)
    compactions: list[Entry] = field(default_factory=list)
    user_messages: int = 0
    assistant_messages: int = 0
    tool_calls: int = 0
    tool_results: int = 0
    total_messages: int = 0
    untimed: int = 0
    """Entries that were left out because it can't be told whether they are recent enough."""
    warnings: list[SessionWarning] = field(default_factory=list)


LEDGER_TYPES = frozenset({"message", "usage", "compaction", "branch_summary"})
"""The types of entries that count."""


def read_ledger(session: Session, *, since_ms: int | None = None) -> Ledger:
    """The ledger of a session.

    An importer writes 0 where another agent's file says nothing, so in a session that was imported, or converted to
    Pi's format, a cost of 0 is not known, and a reply without tokens does not report its usage.

    Args:
        session: of any agent.
        since_ms: leaves out what is older, in milliseconds since 1970.
    """
    ledger = Ledger()
    is_imported = session.format != "pi" or _is_converted(session)
    for entry in session.entries:
        if entry.type not in LEDGER_TYPES:
            continue
        row, bad = _read(entry)
        if since_ms is not None:
            when = _instant_of(row)
            if when is None or when < since_ms:
                ledger.untimed += when is None
                continue
        if entry.type == "message" and not (is_imported and row.imported_from == REPEATED):
            _count_message(ledger, entry, row)
        elif entry.type == "compaction":
            ledger.compactions.append(entry)
        charge = _charge(entry, row, bad)
        if charge is not None:
            ledger.charges += _imported(charge, row) if is_imported else [charge]
        if bad:
            ledger.warnings.append(_malformed(entry, bad))
    return ledger


def _is_converted(session: Session) -> bool:
    """True for a file of Pi's format that `convert` made of another agent's."""
    if b"importedFrom" not in session.header_raw:
        return False
    try:
        header = load_json(session.header_raw)
    except ValueError:
        return False
    return isinstance(header, dict) and isinstance(header.get("importedFrom"), dict)


def _imported(charge: Charge, row: _Row) -> list[Charge]:
    """The charge with what an importer could not know; none for what was repeated or copied."""
    if all_tokens(charge.usage):
        return [charge if charge.cost else replace(charge, cost=None)]
    if row.imported_from is not None:
        return []
    is_silent = charge.kind == "assistant" and charge.is_finished
    return [replace(charge, is_reported=False, cost=None) if is_silent else charge]


def _read(entry: Entry) -> tuple[_Row, list[str]]:
    """The fields that count, and the names of those about usage that can't be used as they are written."""
    try:
        return _decode(memoryview(entry.source)[entry.start : entry.end]), []
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        row, bad = lenient(load_json(entry.raw), _Row)
    except ValueError as error:
        return _Row(), [f"the entry ({error})"]
    return row, [name for name in bad if "usage" in name.split(".")]


def instant(text: str) -> int | None:
    """Milliseconds since 1970 of an ISO date or time (UTC where it names no zone), None if it is none."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return round((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)


def _instant_of(row: _Row) -> Number | None:
    """When the entry was made: its own time, else that of its message, None if neither can be used."""
    when = instant(row.timestamp) if row.timestamp else None
    said = row.message.timestamp if row.message else None
    return when if when is not None or said is None or not is_usable(said) else said


def copies(charges: Sequence[Charge], seen: set[tuple[Any, ...]]) -> list[bool]:
    """For each charge of a file whether another file held it before; then adds the file's own to `seen`.

    Forked and resumed sessions start with the entries of the session that they come from, which were paid for once.
    Equal charges within one file are charges of their own, as they are for Pi.
    """
    found = [charge.identity in seen for charge in charges]
    seen.update(charge.identity for charge in charges if charge.identity is not None)
    return found


def _count_message(ledger: Ledger, entry: Entry, row: _Row) -> None:
    ledger.total_messages += 1
    ledger.user_messages += entry.role == "user"
    ledger.tool_results += entry.role == "toolResult"
    if entry.role == "assistant":
        ledger.assistant_messages += 1
        content = row.message.content if row.message else None
        if isinstance(content, list):
            ledger.tool_calls += sum(block.type == "toolCall" for block in content)


_ROLE_KINDS = {"assistant": "assistant", "toolResult": "tool"}


def _kind(entry: Entry, row: _Row) -> str | None:
    """What the request was for; None for messages that no usage is counted of."""
    if entry.type == "message":
        return _ROLE_KINDS.get(entry.role)
    return f"usage:{row.kind or 'unknown'}" if entry.type == "usage" else entry.type


def _charge(entry: Entry, row: _Row, bad: list[str]) -> Charge | None:
    """The charge of an entry, None if it is for no request; adds to `bad` what has a value that can't be."""
    holder = row.message if entry.type == "message" else row
    counts = holder.usage if holder is not None else None
    kind = _kind(entry, row)
    if kind is None or (counts is None and kind != "assistant" and entry.type != "usage"):
        return None
    message = row.message if kind == "assistant" else None
    usage = cleaned_usage(counts or ReportedUsage(), bad)
    total = counts.cost.total if counts and counts.cost else None
    if total is not None and not is_usable(total):
        bad.append("usage.cost.total")
        total = None
    spoken = message or (row if entry.type in ("usage", "compaction") else _Row())
    return Charge(
        index=entry.index,
        entry_id=entry.id,
        kind=kind,
        provider=spoken.provider,
        model=(message.response_model if message else None) or spoken.model,
        usage=usage,
        cost=0 if total is None and counts and not all_tokens(usage) else total,
        identity=_identity(row, usage),
        is_reported=counts is not None,
        is_finished=not message or message.stop_reason not in ("error", "aborted"),
    )


def _identity(row: _Row, usage: Usage) -> tuple[Any, ...] | None:
    """What copies have in common.

    The provider's id of the reply and what was sent, for an agent that copies a reply while it is streamed may not have
    all of its output yet. Else the entry's id (none in version 1), its time, and its usage: Pi copies all three.
    """
    sent = (usage.input, usage.cache_read, usage.cache_write)
    message = row.message
    if message is not None and message.response_id:
        return ("reply", message.provider, message.response_id, *sent)
    if not row.timestamp or not (row.id or all_tokens(usage)):
        return None
    return ("entry", row.id, row.timestamp, *sent, usage.output, usage.total_tokens)


def _malformed(entry: Entry, bad: Sequence[str]) -> SessionWarning:
    rest = f" and {len(bad) - MAX_NAMED_FIELDS:,} more" if len(bad) > MAX_NAMED_FIELDS else ""
    text = (
        f"line {entry.line}: {', '.join(bad[:MAX_NAMED_FIELDS])}{rest} can't be used as written and counts as missing"
    )
    return SessionWarning(code="malformed_usage", message=text, line=entry.line, entry_id=entry.id)
