"""What the summary of a branch that was left reads of it.

Takes a session, the old leaf, the entry continued from and a budget; gives a `BranchReading`.

    root .. common ancestor .. target          the session goes on here; the summary becomes the target's child
                           \\ .. old leaf       the branch that was left: what comes after the ancestor is read

Tool results are left out, the calls tell what was done. Summaries of compactions and of other branches are read like
messages. A budget is filled from the newest message back; a summary that does not fit is still taken while less than
nine tenths are used, and with the first that does not fit the reading stops. Edits count as made on the branch that was
left. Source: Pi 1.6.0 branch-summarization.js collectEntriesForBranchSummary, prepareBranchEntries. docs/beyond-pi.md
has what the default does better.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from compactor.branch import active_branch
from compactor.entries import Entry, Session, SessionWarning
from compactor.errors import SettingsError
from compactor.file_ops import FileLists, file_calls, file_lists, lists_of_details
from compactor.measure import malformed
from compactor.messages import Message
from compactor.projection import edited, entry_messages
from compactor.requests import user_rules
from compactor.settings import MAX_TOKENS_SETTING, RESERVE_TOKENS_DEFAULT, SettingsFile
from compactor.tokens import Counter
from compactor.wording import amount, shown_id

SUMMARY_TYPES = frozenset({"compaction", "branch_summary"})
"""Entry types that are summaries: important enough to go over the budget once."""

SPOKEN_TYPES = frozenset({"message", "custom_message"})
"""Entry types that give a message of their own; Pi 1.6.0 getMessageFromEntry."""

SUMMARY_FILL = 0.9
"""Of the budget: a summary that does not fit is taken while less is used; Pi 1.6.0 prepareBranchEntries."""

RULES_SHARE = 0.1
"""Rules of the user in messages that are not read are named if they take at most this part of what is read."""

MAX_SHOWN_CHARS = 60
"""Of a refused setting, in a message."""

UnreadReason = Literal["same_entry", "same_branch", "no_messages", "over_budget"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """Why there is nothing to summarize."""

    reason: UnreadReason
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchReading:
    """What a branch summary reads."""

    session: Session
    left: Entry
    """The old leaf."""
    target: Entry
    """The entry continued from."""
    ancestor: Entry | None
    """The newest entry that is before both; None if they have none in common."""
    entries: Sequence[Entry]
    """The branch that was left, after the ancestor, oldest first."""
    history: Sequence[Message]
    """What is read, tool results between included, which only a client without a model looks at."""
    history_ids: Sequence[str]
    tokens: int
    """Of the messages that are read."""
    budget_tokens: int
    """0 or less is no limit."""
    files: FileLists
    unread_messages: int = 0
    """Older ones that did not fit the budget."""
    unread_tokens: int = 0
    rules: Sequence[Message] = ()
    """Rules of the user from what did not fit."""
    malformed: Sequence[SessionWarning] = ()

    @property
    def messages(self) -> list[Message]:
        """The messages that a summarizer is shown."""
        return [message for message in self.history if message.role != "toolResult"]

    @property
    def unread(self) -> Unread | None:
        """Why there is nothing to summarize; None if there is something."""
        left, target = shown_id(self.left.id), shown_id(self.target.id)
        if self.left is self.target:
            return Unread(reason="same_entry", detail=f"--from and --to are the same entry {left}")
        if not self.entries:
            text = f"--from {left} is on the branch of --to {target}, which goes on from it: no branch was left"
            return Unread(reason="same_branch", detail=text)
        if self.messages:
            return None
        if not self.unread_messages:
            text = f"the branch that ends in {left} has no message of its own"
            return Unread(reason="no_messages", detail=text)
        text = (
            f"the newest message of the branch that ends in {left} is larger than the budget of "
            f"{amount(self.budget_tokens, 'token')}; give a larger --context-window or a smaller --reserve-tokens"
        )
        return Unread(reason="over_budget", detail=text)

    @property
    def warnings(self) -> list[SessionWarning]:
        """What was wrong with the file and the branch, and what was not read."""
        found = [*self.session.warnings, *self.malformed]
        if self.unread_messages and self.messages:
            text = (
                f"{amount(self.unread_messages, 'older message')} of the branch, about "
                f"{amount(self.unread_tokens, 'token')}, did not fit the budget of "
                f"{amount(self.budget_tokens, 'token')} and will not be read"
            )
            found.append(SessionWarning(code="branch_over_budget", message=text))
        return found


@dataclass(frozen=True, slots=True)
class _Item:
    """One message of the branch."""

    entry: Entry
    message: Message
    tokens: int

    @property
    def is_result(self) -> bool:
        return self.message.role == "toolResult"


def read_branch(
    session: Session, left: Entry, target: Entry, counter: Counter, budget_tokens: int, *, exact: bool = False
) -> BranchReading:
    """What a summary of the branch that ends in `left` would read when the session goes on from `target`.

    Args:
        session: both entries are its own.
        left: the old leaf.
        target: the entry continued from.
        counter: makes the token figures.
        budget_tokens: the most that is read; 0 or less is no limit.
        exact: as Pi 1.6.0; otherwise what the user hid from the model stays hidden, and all files count.
    """
    ancestor, entries = _left_entries(session, left, target)
    warnings: list[SessionWarning] = []
    items = list(_items(entries, counter, warnings, exact=exact))
    fit = _within_budget(items, budget_tokens)
    # To Pi the files of the message that did not fit any more count, those of the messages before it do not.
    seen = items[fit.reached :] if exact else items
    calls = (call for item in seen if not (exact and item.is_result) for call in file_calls(item.message))
    older = [item for item in items[: fit.first] if not item.is_result]
    taken = items[fit.first :]
    tokens = sum(item.tokens for item in taken)
    return BranchReading(
        session=session,
        left=left,
        target=target,
        ancestor=ancestor,
        entries=entries,
        history=[item.message for item in taken],
        history_ids=[item.entry.id for item in taken],
        tokens=tokens,
        budget_tokens=budget_tokens,
        files=file_lists(calls, _earlier_lists(entries)),
        unread_messages=len(older),
        unread_tokens=sum(item.tokens for item in older),
        rules=[] if exact else _older_rules(older, taken, counter, RULES_SHARE * tokens),
        malformed=warnings,
    )


def _left_entries(session: Session, left: Entry, target: Entry) -> tuple[Entry | None, list[Entry]]:
    """The deepest common ancestor, and the entries after it up to the old leaf."""
    before = {entry.index for entry in active_branch(session, target).entries}
    path = active_branch(session, left).entries
    at = next((n for n in range(len(path) - 1, -1, -1) if path[n].index in before), -1)
    return (path[at] if at >= 0 else None), path[at + 1 :]


def _items(
    entries: Sequence[Entry], counter: Counter, warnings: list[SessionWarning], *, exact: bool
) -> Iterator[_Item]:
    """The messages of the branch, as edited on it; a result costs nothing, for it is not shown."""
    edits = {entry.body.target_id: entry for entry in entries if entry.type == "context_edit"}
    for entry in entries:
        if entry.type not in SPOKEN_TYPES and entry.type not in SUMMARY_TYPES:
            continue
        body, problems = entry.decode()
        if problems:
            warnings.append(malformed(entry, problems))
        edit = edits.get(entry.id)
        if entry.type in SUMMARY_TYPES:
            found = _summary(entry, body.summary or "", body.from_id, exact=exact)
            # Pi reads a summary also where an edit took it out of the context.
            found = found if exact or edit is None else edited(found, edit)
        else:
            found = entry_messages(entry, body, exact=exact)
            found = found if edit is None else edited(found, edit)
        known = counter.entry(entry.index) if edit is None else None
        for message in found:
            if message.role == "toolResult":
                yield _Item(entry, message, 0)
            elif exact or message.role != "system":
                yield _Item(entry, message, counter.message(message) if known is None else known)


def _summary(entry: Entry, summary: str, from_id: str | None, *, exact: bool) -> list[Message]:
    """The message of a summary entry; by default an empty one gives none, as in the context."""
    if not summary and not exact:
        return []
    if entry.type == "compaction":
        return [Message(role="compactionSummary", summary=summary)]
    return [Message(role="branchSummary", summary=summary, from_id=from_id)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fit:
    """How far back a budget reaches, by positions in a list of messages."""

    first: int
    """Where the part starts that is read."""
    reached: int
    """The oldest message that was looked at: the first one, or the one before it, which did not fit."""


def _within_budget(items: Sequence[_Item], budget_tokens: int) -> _Fit:
    """The part that fits the budget, filled from the newest message back."""
    first = len(items)
    total = 0
    for n in range(len(items) - 1, -1, -1):
        item = items[n]
        if item.is_result:
            continue
        if 0 < budget_tokens < total + item.tokens:
            is_taken = item.entry.type in SUMMARY_TYPES and total < budget_tokens * SUMMARY_FILL
            return _Fit(first=n if is_taken else first, reached=n)
        total += item.tokens
        first = n
    return _Fit(first=first, reached=first)


def _earlier_lists(entries: Sequence[Entry]) -> FileLists:
    """The files that earlier branch summaries on the branch list, wherever on it they stand."""
    read: list[str] = []
    modified: list[str] = []
    for entry in entries:
        if entry.type == "branch_summary":
            body = entry.body
            lists = lists_of_details(body.details, body.from_hook)
            read += lists.read_files
            modified += lists.modified_files
    return FileLists(read_files=tuple(read), modified_files=tuple(modified))


def _older_rules(older: Sequence[_Item], taken: Sequence[_Item], counter: Counter, room: float) -> list[Message]:
    """The user's rules from messages that are not read, if there is room for them, each as a message."""
    if not older:
        return []
    rules = user_rules([item.message for item in (*older, *taken)])
    held = [Message(role="user", content=rule.text) for rule in rules if rule.message < len(older)]
    return held if sum(map(counter.message, held)) <= room else []


def reserve_tokens_setting(project: SettingsFile | None, user: SettingsFile | None) -> int:
    """The tokens that Pi's settings keep free for a branch summary: `branchSummary.reserveTokens`, the project's first.

    They are not those of a compaction. Source: Pi 1.6.0 settings-manager.js getBranchSummarySettings.

    Raises:
        SettingsError: the value is not a whole number from 0 up.
    """
    for file in (project, user):
        section = file.values.get("branchSummary", {}) if file is not None else {}
        if not isinstance(section, Mapping):
            break  # as in Pi, it hides the user's and holds nothing
        if file is None or "reserveTokens" not in section:
            continue
        value = section["reserveTokens"]
        if value is None:
            break
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_TOKENS_SETTING:
            raise SettingsError(
                f"{file.path}: branchSummary.reserveTokens: expected a number of tokens from 0 up, found "
                f"{str(value)[:MAX_SHOWN_CHARS]!r}; correct the file or give --reserve-tokens"
            )
        return int(value)
    return RESERVE_TOKENS_DEFAULT
