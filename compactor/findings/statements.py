"""Sentences of the talk -> decisions, open points, limits of what was checked, results, and exact values.

Takes messages; gives `Statement` values, each a verbatim sentence with who said it and where. A list item also tells
by the line over it what it is ("Remaining:", "Not checked:"). What the assistant says is a claim, not a proof.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from compactor.findings.typed import typed
from compactor.messages import Message
from compactor.sentences import Sentence, sentences

StatementKind = Literal["decision", "open", "scope", "result", "value", "blocked", "goal"]

MAX_STATEMENT_CHARS = 500
"""A longer sentence is not one statement."""

MIN_RESULT_CHARS = 25
"""A shorter item under "Done:" tells nothing by itself."""

MAX_TEXT_CHARS = 60_000
"""Of a longer message only start and end are read: nobody writes so much, it was pasted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One sentence that matters later."""

    kind: StatementKind
    text: str
    """Verbatim; a wrapped sentence holds line breaks."""
    lead: str
    """The heading or line with a colon that it stands under."""
    message: int
    entry_id: str
    by_user: bool
    weight: int
    """1 to 5: how telling the words are."""


_CHOICE = re.compile(
    r"\b(?:decided|decision|chose|chosen|choose|opted|opting|went with|going with|go with|settled on|picked"
    r"|rejected|ruled out|discarded|abandoned|dropped"
    r"|in favou?r of|instead of|rather than|trade-?offs?|(?:best|right|cleanest|simplest|safest"
    r"|better) (?:approach|option|solution|way|choice|fix)"
    r"|stick(?:ing)? with|keep(?:ing)? the|over-?engineered|won't use|will not use|not worth|prefer(?:red)?"
    r"|entschieden|entschied|entscheidung|statt|décidé|décision|choisi|plutôt que|decidí|decidimos|decisión"
    r"|en lugar de)\b"
    r"|决定|选择(?:了|用)|采用|而不是|放弃了?|改用|採用|選ん"
)
_REASON = re.compile(
    r"\b(?:because|since|so that|as (?:it|this|that|they|the)|due to|to avoid|in order to|the reason|otherwise"
    r"|which (?:breaks|means|would|lets|avoids|keeps)|no (?:server|need|extra)|weil|damit|parce que|porque)\b|因为"
    r"|由于|以免|避免|为了|ため"
)
_RESULT = re.compile(
    r"\b(?:root cause|the (?:real |actual |main |underlying )?(?:problem|issue|bug|cause|reason|culprit|fix"
    r"|trick) (?:is|was|here)|turns out|it turned out|confirmed|verified|reproduced"
    r"|discovered|found (?:that|the|a|it|out)|caused by|comes from|introduced (?:by|in|the)|regression|measured"
    r"|benchmark|because of|this means|the key (?:is|point|insight)|works? because"
    r"|note that|important(?:ly)?:|caveat|gotcha|fixed|implemented|passes|passed|fails|failed|finding)\b|原因|根因"
    r"|发现|问题(?:是|在于|出在)|确认|原因は|分かりました"
)
_STRONG_RESULT = re.compile(
    r"\broot cause|turns out|the (?:real |actual )?(?:problem|bug|cause|culprit) (?:is|was)|caused by"
    r"|introduced the regression|原因|根因",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(?:to-?do:|todos?|fix-?me|to do:|still (?:need|needs|have|has|to|open|missing|unfinished|failing|broken"
    r"|left|not)|remaining"
    r"|remains|left to (?:do|be)|(?:not|never) (?:yet )?(?:been )?(?:done|implemented|fixed|finished"
    r"|started|written|migrated|addressed|resolved|merged|committed|updated|ported|wired)|not yet|hasn't been"
    r"|haven't been|unfinished|incomplete|pending|to be done|follow-?ups?|outstanding"
    r"|next(?: steps?| up|,|:| is| comes| i'll| we| phase)|as a next|afterwards|later (?:we|i)|needs to be (?:done"
    r"|fixed|written|added|updated|migrated)|up next|then i(?:'ll| will)|noch (?:offen|nicht|zu)|reste à|falta)(?!\w)"
    r"|待办|尚未|还(?:没|未|需|要)|剩(?:余|下)|下一步|未完成|残り|未対応|次に"
)
_OPEN_LEAD = re.compile(
    r"^(?:[\w' ]{0,30}\b)?(?:remaining|todo|to do|next(?: steps?)?|open (?:items|points|questions|issues|tasks)"
    r"|still (?:open|to do|missing)|left|pending|follow-?ups?|not (?:done|started)|outstanding|plan|steps"
    r"|unfinished|backlog)\b.{0,40}$|(?:待办|下一步|剩余|计划|未完成|残り|次のステップ).{0,8}$"
)
_SCOPE = re.compile(
    r"\bnot (?:yet )?(?:been )?(?:checked|verified|tested|run|read|looked at|covered|examined|measured|reviewed"
    r"|reproduced|included|touched)\b|\b(?:did|have|has|was|were|do|does|could|can)(?: not|n't) (?:yet )?(?:check"
    r"|verif|test|run\b|read\b|look|cover|examin|measur|review|reproduc|confirm|touch|been (?:tested|checked"
    r"|verified|run))"
    r"|\b(?:didn’t|didn't|haven't) (?:check|verif|test|run|read|look|touch)\w*|\bonly (?:the \w+ \w+ (?:was"
    r"|were) )?(?:checked|tested|looked|read|verified|ran|run|covers|covered|measured|the (?:first|english|happy"
    r"|one)|on one)|\bwas only\b|\bwere only\b|\bonly .{1,40} (?:was|were) (?:tested|checked|verified|run|read"
    r"|measured)"
    r"|\b(?:untested|unverified|unchecked|unconfirmed)\b|\bwithout (?:running|testing|checking|verifying"
    r"|reading)\b|\b(?:i |we )?(?:assum(?:e|ed|ing)|assumption)\b|\blimited to\b|\bran? (?:only )?once\b"
    r"|\brun once\b|\bon one machine\b|\bskipped\b|\bcan't (?:test|verify|run|check)\b"
    r"|^not (?:checked|verified|tested|covered|run|included)\b|\bout of scope\b|未(?:检查|测试|验证|运行|确认"
    r"|覆盖)|没有?(?:检查|测试|验证|运行|确认)|只(?:检查|测试|验证|看|读)了|nicht (?:geprüft|getestet|verifiziert)"
    r"|nur .{1,30} (?:geprüft|getestet)|未確認|未検証|テストしていません"
)
_SCOPE_LEAD = re.compile(
    r"^(?:[\w' ]{0,20}\b)?(?:not (?:checked|verified|tested|covered|touched|run)|did(?:n't| not|n’t) (?:touch|check"
    r"|test|run|verify)|untested|unverified|assumptions?|limitations?|caveats?|scope|out of scope|known (?:gaps"
    r"|limits))\b.{0,60}$|(?:未(?:检查|测试|验证)|局限|限制|假设).{0,8}$"
)
_BLOCKED = re.compile(
    r"\b(?:blocked (?:by|on|until)|is blocked|am blocked|waiting (?:for|on) (?:you|your|the user|approval|access"
    r"|review|a decision|input|confirmation|credentials)|cannot (?:proceed|continue)|can't (?:proceed|continue)"
    r"|unable to (?:proceed|continue)|(?:cannot|can't|unable to) go on (?:without|until|before)"
    r"|komme (?:hier |so )?nicht weiter|warte auf (?:dich|deine|ihre|zugang|freigabe)|blockiert (?:durch|von|bis)"
    r"|need(?:s)? (?:your|the user's) (?:input|decision|confirmation|approval|help|go-ahead)|requires? (?:your"
    r"|access|credentials|a decision)|before i can (?:continue|proceed)|stuck on)\b|被阻塞|无法继续|等待(?:你|用户"
    r"|确认)"
)
_EXACT = re.compile(
    r"https?://\S+|\bv?\d+\.\d+\.\d+\b|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b|#[0-9a-fA-F]{6}\b"
    r"|\b[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+\b|\bport \d+\b"
    r"|\b(?:PR|MR|issue|ticket) ?#?\d+\b|\b[A-Z]{2,6}-\d+\b|\breturns? \d{3}\b|\b\d{3} (?:error|response|status)"
)
_ONLY_A_PATH = re.compile(r"['\"]?(?:~|[A-Za-z]:)?[/\\].*['\"]?$")
_MEASURE = re.compile(
    r"\b\d[\d,.]* ?(?:ms|sec(?:onds)?|s|min(?:utes)?|hours?|[kKMG]i?B|bytes|%|px|tokens|tests?|lines|rows|files"
    r"|cases|errors|requests|retries|times)(?!\w)"
    r"|\b(?:from|to|=|is|at) \d[\d.,]*\b"
)
_GOAL = re.compile(
    r"\b(?:the|our|my|overall|end|main|whole) (?:goal|aim|objective|purpose|target|point|idea)(?: (?:here"
    r"|of (?:this|the) .{1,30}?))? (?:is|was)\b|^(?:goal|aim|objective|purpose)s?\s*:"
    r"|\bi(?:'m| am) (?:trying|aiming|working) to\b|\bwe(?:'re| are) (?:trying|aiming|working) to\b"
    r"|\bis meant to (?:end|result)|目标(?:是|：|:)|目的は|\b(?:ziel ist|l'objectif est|el objetivo es)\b"
)
_DONE_LEAD = re.compile(
    r"^(?:[\w' ]{0,20}\b)?(?:done|completed|changes|changed|implemented|fixed|verified|summary|what (?:i|was)|added"
    r"|updated|created|results?)\b.{0,40}$"
)
_PLAN_LEAD = re.compile(r"\bplan\b|\bsteps\b(?<!next steps)|计划")
_LETTER = re.compile(r"[^\W\d_]")


def find_statements(messages: Sequence[Message], entry_ids: Sequence[str] = ()) -> list[Statement]:
    """The statements of user and assistant in order; a sentence that is said twice is told where it was said last."""
    found: dict[str, Statement] = {}
    for position, message in enumerate(messages):
        if message.role not in ("user", "assistant"):
            continue
        text = typed(message.text()) if message.role == "user" else message.text()
        if len(text) > MAX_TEXT_CHARS:
            text = text[: MAX_TEXT_CHARS // 2] + "\n\n" + text[-MAX_TEXT_CHARS // 2 :]
        entry_id = entry_ids[position] if position < len(entry_ids) else ""
        for sentence in sentences(text):
            for kind, weight in _kinds(sentence, by_user=message.role == "user"):
                key = f"{kind} {sentence.text}"
                found.pop(key, None)
                found[key] = Statement(
                    kind=kind,
                    text=sentence.text,
                    lead=sentence.lead,
                    message=position,
                    entry_id=entry_id,
                    by_user=message.role == "user",
                    weight=weight,
                )
    return list(found.values())


def _kinds(sentence: Sentence, *, by_user: bool) -> Iterator[tuple[StatementKind, int]]:
    """What a sentence states, the most telling kind first; most sentences state nothing of these."""
    text = sentence.text
    if not 8 <= len(text) <= MAX_STATEMENT_CHARS or sentence.pasted or not _LETTER.search(text):
        return
    line = " ".join(text.replace("’", "'").lower().split())
    if line.endswith(("?", "？", ":", "：")):
        return
    lead = sentence.lead.lower().strip(":： ")
    if _CHOICE.search(line):
        weight = (
            3 * bool(_REASON.search(line)) + 1 + ("instead of" in line or "rather than" in line or "reject" in line)
        )
        yield "decision", weight
    if by_user:
        if _GOAL.search(line):
            yield "goal", 5
        if _EXACT.search(text) and not _ONLY_A_PATH.match(text):
            yield "value", 3
        return
    if _SCOPE.search(line) or _SCOPE_LEAD.match(lead):
        yield "scope", 4
    elif _BLOCKED.search(line):
        yield "blocked", 4
    elif _OPEN_LEAD.match(lead) or _OPEN.search(line):
        yield "open", 4 if _OPEN_LEAD.match(lead) and not _PLAN_LEAD.search(lead) else 3
    elif _RESULT.search(line):
        yield "result", 2 + 2 * bool(_STRONG_RESULT.search(line)) + _has_value(text)
    elif _DONE_LEAD.match(lead) and len(text) >= MIN_RESULT_CHARS:
        yield "result", 1 + _has_value(text)
    elif _has_value(text):
        yield "value", 1 + bool(_EXACT.search(text))


def _has_value(text: str) -> bool:
    return _EXACT.search(text) is not None or _MEASURE.search(text) is not None
