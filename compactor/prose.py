"""Text of a message -> the lines that a person or a model wrote as prose, without what was pasted into it.

Takes text; gives spans of lines. Fenced code, quoted lines, tagged blocks, stack traces, logs, tables and code are no
prose. One pass over the lines; no pattern can backtrack beyond one line.
"""

import re
from collections.abc import Iterator

_LINE = re.compile(r"[^\n\r]+")
LIST_MARK = re.compile(
    r"\s{0,12}(?:[-*+•·‣▪]|\d{1,3}[.)、]|\(?[a-zA-Z0-9]\)|[①-⑳])(?:\s+|(?<=、)|(?<=[①-⑳]))(?:\[[ xX]\]\s+)?(?=\S)"
)
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})[ \t]*(.*)")
_TAG = re.compile(r"[ \t]*<([A-Za-z][\w.:-]*)(?:\s[^<>\n]*)?>")
_CLOSING_TAG = re.compile(r"</([A-Za-z][\w.:-]*)\s*>")
_CODE_LINE = re.compile(
    r"""\s*(?:
        at\s\S.*[(:]\d* | File\s".*",\sline\s\d | Traceback\s\(most\srecent | [\w.]*(?:Error|Exception)\b(?:\s\[\w+\])?:
      | [$❯➜%]\s | >>>\s | PS\s[A-Z]: | [\w.-]+@[\w.-]+[:~\s].*[$\#%]\s
      | \[?\d{4}-\d\d-\d\d[T\s]\d\d:\d\d | \[?\d\d:\d\d:\d\d | \[(?:INFO|WARN|WARNING|DEBUG|ERROR|TRACE|FATAL)\]
      | (?:INFO|DEBUG|TRACE|FATAL)[\s:\[]
      | [\[{}\]]+[,;)]*\s*$ | \{\s*" | \[\s*["{\[] | "[^"]*"\s*:\s*\S | \|.*\|\s*$
      | diff\s--git | @@\s | (?:\+\+\+|---)\s\S | [+-](?=\S)(?!-\w)[^\s].*[;{}()=]
      | </?[a-zA-Z][\w:-]*[\s>/] | //\s | /\* | (?:import|from)\s\S.*\s(?:import|from)\s\S
      | (?:import|from|export|const|let|var|function|class|def|return|if|for|while|public|private|protected|static|async
          |await|package|using|fn|func|type|interface|struct|enum|impl|pub|mod|use)\b.*(?:[;{(=]|=>|\)\s*:)\s*$
      | (?:\#include|\#define|\#!)\S*\s?
    )""",
    re.VERBOSE,
)
_GUTTER = re.compile(r"\s*[+-]?\s{0,4}\d{1,5}\s(?:[-+*]\s+\*\*|#{1,6}\s)|\s*[+-]\s{0,4}\d{1,5}\s+(?:[-+*|]\s|$)")
"""A line of a file that a tool showed: a sign, a number, then the line."""
_FAULT = re.compile(r"\s*(?:[\w.]*(?:Error|Exception)\b(?:\s\[\w+\])?:|\[?(?:ERROR|FATAL)\b)")
_FRAME = re.compile(r"\s*File \".*\", line \d+")
_BRACKET = re.compile(r"[(){}=]")
_BOX = re.compile("[─-╿▀-▟⠀-⣿]")
_WORD_RUN = re.compile(r"(?:[A-Za-z'’]{1,30},?[ ]){3,9}[A-Za-z'’]{1,30}[.!](?=\s|$)|[\u3040-\u30ff\u3400-\u9fff]{6}")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LETTERS = re.compile(r"[^\W\d_]")
_SYMBOLS = re.compile(r"[{}\[\]<>=|\\/_$#@^~+*&%]")
_SPACES = re.compile(r"\s")

JUDGED_CHARS = 400
"""So much of the start and of the end of a line is looked at."""


def prose_lines(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each line outside of fences, tagged blocks and quotes that does not look like code."""
    closings = _closing_tags(text)
    fences = _fence_lines(text)
    spans = [match.span() for match in _LINE.finditer(text) if match.group().strip()]
    skip_to = 0
    shown_to = -1
    for n, (start, end) in enumerate(spans):
        if start < skip_to:
            continue
        line = text[start:end]
        # A terminal wraps what it shows, and the rest of the line stands behind a blank on the next one.
        wrapped = n and spans[n - 1][1] == shown_to and line[:1] == " " and text.count("\n", shown_to, start) == 1
        if wrapped or _GUTTER.match(line) or _FAULT.match(line):
            shown_to = end
            continue
        after = fences.get(start) or _tagged_block(text, start, line, closings)
        if after is not None:
            rest, skip_to = after
            if text[rest:skip_to].strip():
                yield rest, skip_to
            continue
        if line.lstrip().startswith((">", "＞")):
            continue
        # Only what opens or closes a message is prose in spite of its looks: a sentence typed right behind a paste.
        if _FRAME.match(text, spans[n - 1][0]) and n and line[:1] in " \t":
            continue
        edge = n in (0, len(spans) - 1) and _WORD_RUN.search(line) is not None
        item = LIST_MARK.match(line) is not None and not _ends_like_code(line)
        if edge or item or not is_code_like(line):
            yield start, end


def _tagged_block(text: str, start: int, line: str, closings: dict[str, list[int]]) -> tuple[int, int] | None:
    """Where the block ends that a tag opens on this line, and where its last line ends; None if there is none."""
    tag = _TAG.match(line)
    ends = closings.get(tag.group(1)) if tag else None
    # Lines come in order, so ends that lie behind are dropped for good and all calls together are linear.
    while ends and ends[-1] <= start:
        ends.pop()
    return (ends[-1], _line_end(text, ends[-1])) if ends else None


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _fence_lines(text: str) -> dict[int, tuple[int, int]]:
    """For each opening fence where its block ends and where the block's last line ends.

    They differ if prose stands behind the closing fence. A fence that is never closed is no fence.
    """
    blocks: dict[int, tuple[int, int]] = {}
    opened: tuple[int, str] | None = None
    for match in _LINE.finditer(text):
        fence = _FENCE.match(match.group())
        if not fence:
            continue
        mark, info = fence.group(1), fence.group(2).strip()
        if opened is None:
            if mark[0] == "~" or "`" not in info:
                opened = match.start(), mark
        elif mark[0] == opened[1][0] and len(mark) >= len(opened[1]) and (not info or " " in info):
            blocks[opened[0]] = match.start() + fence.end(1), match.end()
            opened = None
    return blocks


def _closing_tags(text: str) -> dict[str, list[int]]:
    """Where each closing tag ends, by name, in order."""
    found: dict[str, list[int]] = {}
    for match in _CLOSING_TAG.finditer(text):
        found.setdefault(match.group(1), []).append(match.end())
    for ends in found.values():
        ends.reverse()
    return found


def is_code_like(line: str) -> bool:
    """True for a line that looks like code, a log, a trace, a table or a diagram; of a long one its ends decide."""
    if len(line) > 2 * JUDGED_CHARS:
        line = line[:JUDGED_CHARS] + line[-JUDGED_CHARS:]
    if _CODE_LINE.match(line) or _BOX.search(line) or _ends_like_code(line):
        return True
    size = len(line)
    if size > 20 and len(_SYMBOLS.findall(line)) > 0.25 * size:
        return True
    if size > 150 and not _CJK.search(line) and len(_SPACES.findall(line)) < 0.06 * size:
        return True
    return not _LETTERS.search(line)


def _ends_like_code(line: str) -> bool:
    """True for a line that ends in `;`, `{` or `}` and holds a bracket or an equals sign before it."""
    line = line[-JUDGED_CHARS:].rstrip()
    return line.endswith((";", "{", "}")) and _BRACKET.search(line[:-1]) is not None
