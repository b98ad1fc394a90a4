"""What a session spent, as JSON: the object of `compactor usage --json`, for one session or for the files of a folder.

Takes sessions; gives decoded JSON. In a folder a request that several files hold, as forks and resumed sessions do, is
counted once in the folder's total, and in each file's own figures.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from compactor.entries import Session, SessionWarning
from compactor.ledger import Charge, Ledger, Pricer, copies, read_ledger
from compactor.messages import Number
from compactor.views.compaction_effects import (
    METHOD,
    Effect,
    compaction_effects,
    price_parts,
    rate_of,
    uncached,
)
from compactor.views.plan import session_json, warning_json
from compactor.views.spending import Spending, Sums, dearest_first, estimated

NO_MODEL = "Tools/summaries"
"""Pi's name for what tools and summaries used, which no model is named for."""


def usage_json(session: Session, price: Pricer, *, since_ms: int | None = None) -> dict[str, Any]:
    """What one session spent.

    Args:
        session: of any agent.
        price: the list price of a request, for those whose cost is not recorded.
        since_ms: leaves out what is older, in milliseconds since 1970.
    """
    return _session_usage(session, price, since_ms).json()


@dataclass(frozen=True, slots=True, kw_only=True)
class _SessionUsage:
    """What one session spent."""

    session: Session
    since_ms: int | None
    ledger: Ledger
    charges: Sequence[Charge]
    """With their list prices."""
    effects: Sequence[Effect]

    def json(self) -> dict[str, Any]:
        """The object of one session."""
        sums = Sums()
        sums.add(self.charges)
        ledger = self.ledger
        return {
            "session": session_json(self.session),
            "since": _since_text(self.since_ms),
            "stats": stats_json(ledger),
            **_sums_json(sums),
            "compactions": [effect_json(effect) for effect in self.effects],
            "compactionMethod": METHOD,
            "entriesWithoutTime": ledger.untimed,
            "warnings": [warning_json(w) for w in (*self.session.warnings, *ledger.warnings)],
        }


def _session_usage(session: Session, price: Pricer, since_ms: int | None) -> _SessionUsage:
    ledger = read_ledger(session, since_ms=since_ms)
    charges = estimated(ledger.charges, price)
    effects = compaction_effects(session, charges, ledger.compactions)
    return _SessionUsage(session=session, since_ms=since_ms, ledger=ledger, charges=charges, effects=effects)


@dataclass(slots=True, kw_only=True)
class FolderUsage:
    """What the sessions of a folder spent, as they are added one after the other; none of them is kept."""

    folder: str
    price: Pricer
    since_ms: int | None = None
    sums: Sums = field(default_factory=Sums)
    """Each request once."""
    saved: "_Savings" = field(default_factory=lambda: _Savings())
    sessions: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[SessionWarning] = field(default_factory=list)
    seen: set[tuple[Any, ...]] = field(default_factory=set)
    copied: Spending = field(default_factory=Spending)

    def add(self, session: Session) -> None:
        """Adds a session."""
        found = _session_usage(session, self.price, self.since_ms)
        is_copy = copies(found.charges, self.seen)
        copied = [charge for charge, old in zip(found.charges, is_copy, strict=True) if old]
        self.sums.add(charge for charge, old in zip(found.charges, is_copy, strict=True) if not old)
        for charge in copied:
            self.copied.add(charge)
        self.saved.add(found.effects, {charge.index for charge in copied})
        self.sessions.append({**found.json(), "copiedRequests": len(copied)})

    def skip(self, path: str, why: str) -> None:
        """Notes a file that is no session, or can't be read."""
        self.skipped.append(SessionWarning(code="skipped_file", message=why if path in why else f"{path}: {why}"))

    def json(self) -> dict[str, Any]:
        """The object of a folder."""
        return {
            "folder": self.folder,
            "since": _since_text(self.since_ms),
            **_sums_json(self.sums),
            "copies": {"requests": self.copied.requests, "total": self.copied.total},
            "compactions": self.saved.json(),
            "compactionMethod": METHOD,
            "entriesWithoutTime": sum(found["entriesWithoutTime"] for found in self.sessions),
            "sessions": self.sessions,
            "warnings": [warning_json(w) for w in self.skipped],
        }


@dataclass(slots=True)
class _Savings:
    """What the compactions of a folder saved, each compaction and each later request once."""

    count: int = 0
    tokens: list[Number] = field(default_factory=list)
    """Not sent, a figure for each compaction that lets it be told."""
    dollars: list[Number] = field(default_factory=list)
    rows: int = 0
    """Compactions, copies among them, that requests of their own followed."""
    seen: set[tuple[Any, ...]] = field(default_factory=set)

    def add(self, effects: Sequence[Effect], copied: set[int]) -> None:
        """Adds the compactions of a file, whose entries `copied` are in another file too."""
        for effect in effects:
            body = effect.entry.body
            identity = (effect.timestamp, body.tokens_before, hash(body.summary))
            self.count += effect.timestamp is None or identity not in self.seen
            self.seen.add(identity)
            later = sum(charge.index not in copied for charge in effect.later)
            self.rows += later > 0
            if later and effect.freed is not None:
                self.tokens.append(effect.freed * later)
                if (rate := rate_of(effect.later)) is not None:
                    self.dollars.append(effect.freed * later * rate.dollars)

    def json(self) -> dict[str, Any]:
        """The sums of what is known, None where nothing is, and how many compactions they lack."""
        return {
            "count": self.count,
            "inputTokensNotSent": sum(self.tokens) if self.tokens or not self.rows else None,
            "inputTokensNotSentUnknown": self.rows - len(self.tokens),
            "savedCost": sum(self.dollars) if self.dollars or not self.rows else None,
            "savedCostUnknown": self.rows - len(self.dollars),
        }


def stats_json(ledger: Ledger) -> dict[str, Any]:
    """The statistics that Pi shows of a session, by its names; costs that are not recorded are None."""
    sums = Spending()
    models: dict[str, Spending] = {}
    for charge in ledger.charges:
        sums.add(charge)
        models.setdefault(_pi_name(charge), Spending()).add(charge)
    by_model = [(key, found) for key, found in models.items() if found.known_cost > 0 or _parts(found) > 0]
    by_model.sort(key=lambda row: -row[1].known_cost)
    return {
        "userMessages": ledger.user_messages,
        "assistantMessages": ledger.assistant_messages,
        "toolCalls": ledger.tool_calls,
        "toolResults": ledger.tool_results,
        "totalMessages": ledger.total_messages,
        "tokens": {
            "input": sums.input,
            "output": sums.output,
            "cacheRead": sums.cache_read,
            "cacheWrite": sums.cache_write,
            "total": _parts(sums),
        },
        "cost": sums.cost,
        "byModel": [{"key": key, "cost": found.cost, "tokens": _parts(found)} for key, found in by_model],
    }


def _parts(sums: Spending) -> Number:
    """Pi's total: without what only a total was reported of."""
    return sums.input + sums.output + sums.cache_read + sums.cache_write


def _pi_name(charge: Charge) -> str:
    """Pi's key; it writes `undefined` for a name that is missing."""
    if charge.kind != "assistant" and not charge.kind.startswith("usage:"):
        return NO_MODEL
    return f"{charge.provider or 'undefined'}/{charge.model or 'undefined'}"


def _sums_json(sums: Sums) -> dict[str, Any]:
    return {
        "total": spending_json(sums.total),
        "byModel": [{"model": name, **spending_json(found)} for name, found in dearest_first(sums.by_model)],
        "byKind": [{"kind": name, **spending_json(found)} for name, found in dearest_first(sums.by_kind)],
    }


def spending_json(found: Spending) -> dict[str, Any]:
    """A sum; `cost` is None where any request's is not recorded, `knownCost` where none's is."""
    return {
        "requests": found.requests,
        "input": found.input,
        "output": found.output,
        "cacheRead": found.cache_read,
        "cacheWrite": found.cache_write,
        "cacheWrite1h": found.cache_write1h,
        "reasoning": found.reasoning,
        "total": found.total,
        "cost": found.cost,
        "knownCost": None if found.cost is None and not found.priced else found.known_cost,
        "unknownCostRequests": found.unknown,
        "estimatedCost": found.estimated_cost,
        "unpricedRequests": found.unpriced,
        "unreportedReplies": found.unreported,
    }


def effect_json(effect: Effect) -> dict[str, Any]:
    """A compaction, its cost and its effect."""
    freed, rate = effect.freed, rate_of(effect.later)
    not_sent = None if freed is None else freed * len(effect.later)
    saved = None if not_sent is None or rate is None else not_sent * rate.dollars
    return {
        "entryId": effect.entry.id,
        "index": effect.entry.index,
        "timestamp": effect.timestamp,
        "own": None if effect.own is None else _own_json(effect.own),
        "tokensBefore": effect.tokens_before,
        "tokensAfter": effect.tokens_after,
        "tokensAfterSource": effect.after_source,
        "freedTokens": freed,
        "laterRequests": len(effect.later),
        "inputTokensNotSent": not_sent if effect.later else 0,
        "savedCost": saved if effect.later else 0,
        "savedCostRate": None if rate is None else {"part": rate.part, "recorded": rate.is_recorded},
        "firstRequest": None if effect.first is None else _first_json(effect.first, effect.usual_uncached),
    }


def _own_json(charge: Charge) -> dict[str, Any]:
    found = Spending()
    found.add(charge)
    return spending_json(found)


def _first_json(first: Charge, usual_uncached: Number | None) -> dict[str, Any]:
    cost = price_parts(first)
    return {
        "entryId": first.entry_id,
        "input": first.usage.input,
        "cacheRead": first.usage.cache_read,
        "cacheWrite": first.usage.cache_write,
        "uncached": uncached(first),
        "uncachedCost": None if cost is None else cost.input + cost.cache_write,
        "usualUncached": usual_uncached,
    }


def _since_text(since_ms: int | None) -> str | None:
    if since_ms is None:
        return None
    since = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=since_ms)
    return since.isoformat(timespec="milliseconds").replace("+00:00", "Z")
