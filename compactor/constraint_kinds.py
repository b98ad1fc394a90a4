"""What a rule of the user is about: an action, a secret, a way of working, a preference or a form of output.

Takes the words of a rule; gives its kind. The first kind with a word of its own counts.
"""

import re
from typing import Literal

ConstraintKind = Literal["action", "secrecy", "process", "preference", "output"]

_KINDS: tuple[tuple[ConstraintKind, re.Pattern[str]], ...] = (
    (
        "secrecy",
        re.compile(
            r"\b(?:secret|confidential|private|codename|code name|tokens?|passwords?|credentials?|api[- ]?keys?"
            r"|reveal|leak|expose|disclos\w+|nda"
            r"|mention|redact|mask|between us|embargo\w*|vertraulich|geheim\w*|confidentiel\w*|confidencial"
            r"|secreto)\b|保密|机密|泄|密钥|密码|令牌|秘密|機密"
        ),
    ),
    (
        "output",
        re.compile(
            r"\b(?:answers?|repl(?:y|ies)|respon(?:d|se|ses)|summar\w+|bullets?|emojis?|sentences?|words"
            r"|paragraphs?|json|markdown|table|preamble|prose"
            r"|plain text|headings?|tone|antwort\w*|beantwort\w*|répon\w+|responde|respuestas?|in (?:english"
            r"|german|french|spanish|chinese|japanese))\b"
            r"|回答|回复|输出|中文|英文|表情|格式|答え|回答|日本語|箇条書き"
        ),
    ),
    (
        "preference",
        re.compile(
            r"\b(?:prefer\w*|rather|like|favou?r|hate|love|style|spelling|tabs|spaces|naming|short functions|lieber"
            r"|préfère|prefiero)\b|喜欢|偏好|最好|尽量|优先|好み"
        ),
    ),
    (
        "process",
        re.compile(
            r"\b(?:before|after|first|ask|wait|approval|confirm\w*|review|each|every|one .{1,30} at a time|tests?"
            r"|run|commits?|branch|step|always|plan"
            r"|use|with|bevor|frag\w*|vor jedem|avant|antes)\b|先|每次|之前|确认|测试|前に|毎回"
        ),
    ),
)


def kind_of(line: str) -> ConstraintKind:
    """The kind of a rule, given as one line in lower case; an action if its words tell no other."""
    return next((kind for kind, pattern in _KINDS if pattern.search(line)), "action")
