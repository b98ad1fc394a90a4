"""Sentences by which a user lifts or changes a rule: "you can push now", "forget the rule about tabs".

Takes sentences in lower case on one line; says whether one lifts anything, and whether two are about the same thing.
"""

import re

MAX_LIFT_CHARS = 300
"""A longer sentence tells a story."""

_LIFTS = re.compile(
    r"(?:(?:ok(?:ay)?|alright|fine|yes|good|great|so|and|but|actually|also|btw|well|right|cool|thanks|now),? |, )*"
    r"(?:you (?:can|may|could) (?:now|go ahead|again|start)|you (?:can|may) \w+ (?:.{0,60} )?(?:now|again"
    r"|after all|anyway)\b|you're free to|you are free to"
    r"|feel free to|go ahead and|(?:it|that)(?:'s| is) (?:ok|okay|fine|allowed|safe) (?:now )?to|no longer (?:need"
    r"|necessary|required)|you no longer"
    r"|forget (?:about |what i said about )?(?:the |that |my |this )?\w|ignore (?:what i said|my (?:earlier"
    r"|previous|last)|the (?:rule|earlier|previous))"
    r"|never ?mind (?:the|about|what|my)|scrap (?:that|the|my)|i (?:have )?changed my mind|i take (?:it "
    r"|that )?back|drop the (?:rule|requirement|constraint)"
    r"|(?:the|that|this) (?:rule|restriction|constraint|ban|requirement|freeze) .{0,40}(?:lifted|over|gone|off"
    r"|no longer|doesn't apply|is void|can go)"
    r"|.{0,60}\b(?:is|are) (?:allowed|ok|okay|fine|permitted) (?:now|again|after all)\b|from now on you (?:can"
    r"|may)\b|instead of .{1,40}, use\b)"
    r"|.{0,12}(?:现在可以|可以(?:推送|提交|修改|改|删).{0,6}了|不用再|忘掉|忽略之前|取消.{0,10}(?:限制|规则|要求)"
    r"|改主意)"
    r"|.{0,20}(?:du (?:darfst|kannst) (?:jetzt|nun)|vergiss (?:die|das|den)|tu peux maintenant|oublie (?:la|le)"
    r"|ya puedes|olvida (?:la|el))"
)

_WORD = re.compile(r"[^\W\d_](?:[\w'-]|\.(?=\w))+")
_HAN_PAIR = re.compile("(?=([\u4e00-\u9fff]{2}))")
_COMMON = re.compile(
    r"(?:the|and|for|you|your|not|never|always|only|please|don't|can|now|from|until|say|further|notice|rest"
    r"|session|this|that|these"
    r"|those|with|without|use|any|all|are|was|will|would|must|should|may|one|more|before|after|each|every|make"
    r"|sure|keep|about|rule"
    r"|rules|forget|what|said|have|has|had|them|they|it's|just|but|also|let|into|out|than|then|when|want|need|its"
    r"|our|who|how|still"
    r"|anymore|longer|free|feel|ahead|okay|fine|ignore|earlier|previous|again|change|changed|mind|lifted|allowed"
    r"|instead|actually"
    r"|no|to|is|in|on|it|me|my|of|or|if|an|as|at|be|by|do|so|up|we|us|go)$"
)
_COMMON_PAIRS = frozenset(("现在", "可以", "不要", "以后", "不用", "在可", "以后", "禁止", "必须", "之前", "规则"))
STEM_CHARS = 6
"""Words are compared by their first letters, so that `pushing` meets `push` and `migrations` meets `migration`."""


def lifts_something(line: str) -> bool:
    """True for a sentence that gives leave or takes a rule back."""
    return len(line) <= MAX_LIFT_CHARS and not line.endswith(("?", "？")) and _LIFTS.match(line) is not None


def topic(line: str) -> frozenset[str]:
    """The words that say what a sentence is about, as stems; none for one that is too long to be a rule."""
    if len(line) > MAX_LIFT_CHARS:
        return frozenset()
    pairs = frozenset(_HAN_PAIR.findall(line)) - _COMMON_PAIRS
    return pairs | {_stem(word) for word in _WORD.findall(line) if not _COMMON.match(word)}


def _stem(word: str) -> str:
    plain = word.removesuffix("ing").removesuffix("es").removesuffix("s")
    return plain[:STEM_CHARS] if len(plain) >= 3 else word
