"""Entries that name others: edits of the context, branch summaries, labels.

Takes an `Examined` session and its pairs; gives findings about targets that are not there and pairs that an edit parts.
"""

from collections import defaultdict
from collections.abc import Iterator

import msgspec

from compactor.diagnosis.examined import Examined
from compactor.diagnosis.finding import Finding, finding
from compactor.entries import Entry, EntryBody
from compactor.wording import shown_id

NO_LEAF = "root"
"""Pi 1.6.0 session-manager.js branchWithSummary: stands for the leaf of a session that had none."""


def reference_findings(examined: Examined, call_of: dict[int, int]) -> Iterator[Finding]:
    """What is wrong with the entries that name others."""
    by_id: dict[str, list[int]] = defaultdict(list)
    for entry in examined.entries:
        by_id[entry.id].append(entry.index)
    for entry, body in examined.of_type("context_edit"):
        yield from _edit(examined, entry, body, by_id)
    yield from _unpaired(examined, call_of)
    for entry, body in examined.of_type("branch_summary"):
        if body.from_id is not None and body.from_id != NO_LEAF and body.from_id not in by_id:
            text = f"the branch summary names {shown_id(body.from_id)} as the branch's end, which is not in the file"
            yield finding("unknown_from_id", text, line=entry.line, entry_id=entry.id)
    for entry, body in examined.of_type("label"):
        if body.target_id is not None and body.target_id not in by_id:
            text = f"the label is for {shown_id(body.target_id)}, which is not in the file"
            yield finding("unknown_label_target", text, line=entry.line, entry_id=entry.id)


def _edit(examined: Examined, entry: Entry, body: EntryBody, by_id: dict[str, list[int]]) -> Iterator[Finding]:
    """An edit's target and what it puts there."""
    targets = by_id.get(body.target_id, []) if body.target_id is not None else []
    named = "no entry" if body.target_id is None else shown_id(body.target_id)
    if not targets:
        text = f"the edit of the context names {named}, which is not in the file"
        yield finding("unknown_edit_target", text, line=entry.line, entry_id=entry.id)
    elif not any(examined.tree.is_before(target, entry.index) for target in targets[-MAX_SAME_ID:]):
        text = f"the edit of the context names {named}, which is not before it on the branch"
        yield finding("unknown_edit_target", text, line=entry.line, entry_id=entry.id)
    if body.replacement is msgspec.UNSET:
        text = "the edit of the context has no replacement, neither content nor null"
        yield finding("edit_without_replacement", text, line=entry.line, entry_id=entry.id)


MAX_SAME_ID = 20
"""Of entries with one id, that are looked at; more than two come from damage of a kind that is told anyway."""


def _unpaired(examined: Examined, call_of: dict[int, int]) -> Iterator[Finding]:
    """Edits that take a call out of the context and leave its result, or the other way round."""
    newest = _newest_edits(examined)
    if not newest:
        return
    for result, call in call_of.items():
        call_edit, result_edit = newest.get(call), newest.get(result)
        call_id = examined.facts[result].results[0]
        is_call_gone = call_edit is not None and call_id not in _calls_left(examined.bodies[call_edit])
        is_result_gone = result_edit is not None and examined.bodies[result_edit].replacement is None
        if is_call_gone == is_result_gone:
            continue
        edit = call_edit if is_call_gone else result_edit
        assert edit is not None
        if is_call_gone and not (examined.tree.is_before(result, edit) or examined.tree.is_before(edit, result)):
            continue  # the result is on another branch than the edit
        entry, shown = examined.entries[edit], shown_id(call_id)
        if is_call_gone:
            line = examined.entries[result].line
            text = f"the edit takes the call {shown} out of the context, but not its result on line {line}"
            text += "; providers refuse the result"
        else:
            line = examined.entries[call].line
            text = f"the edit takes the result of {shown} out of the context, but not the call on line {line}"
            text += "; Pi makes up a result"
        yield finding("edit_unpairs", text, line=entry.line, entry_id=entry.id)


def _newest_edits(examined: Examined) -> dict[int, int]:
    """Target -> the last edit that follows from it, both by index."""
    by_id: dict[str, int] = {entry.id: entry.index for entry in examined.entries}
    newest: dict[int, int] = {}
    for entry, body in examined.of_type("context_edit"):
        target = by_id.get(body.target_id or "")
        is_edit = target is not None and body.replacement is not msgspec.UNSET
        if target is not None and is_edit and examined.tree.is_before(target, entry.index):
            newest[target] = entry.index
    return newest


def _calls_left(edit: EntryBody) -> set[str]:
    """Ids of the calls in what an edit puts in the place of its target."""
    replacement = edit.replacement
    if replacement is None or replacement is msgspec.UNSET or not isinstance(replacement.content, list):
        return set()
    return {block.id for block in replacement.content if block.type == "toolCall" and block.id is not None}
