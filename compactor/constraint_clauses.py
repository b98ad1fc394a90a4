"""The orders inside an English sentence: behind a polite frame, behind another clause, behind "please".

Takes the main clause of a sentence in lower case; gives a strength as `constraint_orders` does. A frame such as "would
you mind" or "it would be great if you could" is no rule by itself: what it asks for decides, so that a polite errand
stays an errand.
"""

import re
from collections.abc import Iterator

from compactor.constraint_claims import claims_rule
from compactor.constraint_orders import CERTAIN, LIKELY, NONE, is_ban_without_verb, is_imperative, order_strength

MAX_CLAUSES = 8
"""So many clauses at the end of a sentence are looked at."""

_SPELLINGS = {
    "please": "plase pleas plesae pelase pleaes pleae plz pls plse pleese",
    "never": "nevr neevr nver neve nevver enver nerver",
    "only": "olny onyl onli oly onyl onlly",
    "before": "befroe befor bfore beofre beforre b4 befre",
    "every": "evry eevry evrey evey evrery eveyr",
    "always": "alwyas alway allways awlays alawys alwasy alwys allwys",
    "don't": "dont donot dnt do'nt don;t dno't dotn",
    "doesn't": "doesnt dosn't dosent",
    "shouldn't": "shouldnt shoudn't",
    "mustn't": "mustnt musn't",
    "can't": "cant",
    "won't": "wont",
    "isn't": "isnt",
    "should": "shoud shuold shoudl sould",
    "must": "msut muts",
    "without": "wihtout withuot witout withouth w/o",
    "with": "w/ wiht",
    "because": "becuase bc cuz",
    "answer": "anwser awnser anser",
    "instead": "insted intead",
    "until": "untill unitl",
    "you": "u yuo",
    "keep": "kepe keeep",
    "avoid": "aviod",
    "you're": "youre",
    "want to": "wanna",
}
_RIGHT = {wrong: right for right, wrongs in _SPELLINGS.items() for wrong in wrongs.split()}
_WRONG = re.compile(
    r"(?<![\w/.'-])(?:" + "|".join(map(re.escape, sorted(_RIGHT, key=len, reverse=True))) + r")(?![\w/.'-])"
)

_ADVERBS = r"(?:(?:please|kindly|also|maybe|just|perhaps|possibly|always|then|at least|really|only|still|already) )*"
_KIND = r"(?:be so (?:kind|good) as to |be kind enough to |try (?:and |to )|make an effort to |go ahead and )?"
_GOOD = (
    r"(?:great|nice|good|lovely|helpful|best|better|ideal|cool|awesome|wonderful|handy|useful|fantastic|perfect|kind"
    r"|wise|wiser|safer|safest|preferable|appreciated|super|neat|convenient|easier|easiest|amazing|brilliant|sensible)"
)
_ASKED = re.compile(
    rf"(?:(?:can|could|would|will|won't|might|may) you {_ADVERBS}{_KIND}"
    r"|(?:might|may|could|can|shall) (?:i|we) (?:suggest|propose|recommend)(?: that)? (?:we|you) (?:should )?"
    r"|(?:might|shall) we (?:please |just |maybe )*"
    r"|(?:might|may|can|could) i (?:please |kindly )?(?:ask|request|beg|trouble) (?:that )?you (?:to )?"
    rf"|(?:it|that|this)(?:'d| would|'ll| will|'s| is) (?:\w+ly |so |very |much |also |most )*(?:be )?(?:\w+ly |so "
    rf"|very"
    rf" |much |most )*{_GOOD} (?:of you )?(?:if (?:you|we) (?:could |would |can |were to )*|to |for you to "
    rf"|(?=not )){_ADVERBS}"
    rf"|(?:if|hope|wish) you (?:could|can|would|'d|were to) {_ADVERBS}(?=.*\b(?:that|it|this)?(?:'d| would) be\b|.*"
    r"\b(?:i'd|i would)\b|.*\b(?:great|thanks|thank you)[.!]*$)"
    rf"|i(?:'d| would|'ll| must| have to| do| really)* {_ADVERBS}(?:like to |have to |want to )?(?:ask|request|beg|urge"
    rf"|want|need|expect|like|require|trust|appreciate it if|appreciate if)(?: that| of| for)? you(?: all)? (?:to )?"
    rf"{_ADVERBS}"
    rf"|you(?:'ll| will|'d| would| may| might)? (?:want|better|had better|do well|need) (?:to )?{_ADVERBS}"
    r"|do (?!not\b|n't|you\b|we\b|i\b|it\b|they\b|this\b|that\b|these\b|those\b|the\b)"
    r"|(?:try|aim|attempt|strive|be sure|be prepared|get used) (?:hard )?(?:to|and) )"
)
_MIND = re.compile(
    r"(?:would|do|will|wouldn't) (?:you|u) (?:please |perhaps )?mind (?:if you |awfully |terribly )?(.*)"
)
_GERUND = re.compile(r"(not|only|always|never|\w+?)(ing)?\b")
_PAST = re.compile(
    r"(?:not|never|always|only|no longer|didn't|did not|don't|weren't|wouldn't|kept|used|stuck|left|stayed|asked|waited"
    r"|answered|replied|wrote|ran|limited|confined|avoided|treated|followed|stopped|respected|refrained|worked"
    r"|steered clear)\b"
)
_TAG_QUESTION = re.compile(r",? (?:would|will|could|can|won't) you(?: please)?\s*\?+$")
_JOINT = re.compile(
    r"(?:[,;:)…]|\.\.+|\s[-–—]+)\s+(?:(?:and|then|also)\s+)*|\s(?=(?:so|but|thus|hence|please|kindly)\s)"
)
_LEAD = re.compile(
    r"(?:(?:so|but|thus|hence|therefore|please|kindly|and|then|also|just|ok|okay|instead|for now|again|yet"
    r"|still)[, ]+)+"
)
_PLEASE = re.compile(r"\b(?:please|kindly)\b")
_EVERY = re.compile(
    r"^(?:at|in|on|after|before|with|for|behind) (?:the )?(?:(?:very )?(?:end|start|top|beginning|bottom|head"
    r"|foot) of )?"
    r"(?:each|every|all|any|anything|everything)\b(?:[^,:]{0,80}[,:] |(?: of (?:your|my|our|the))?(?: [\w-]+){1,2} )"
)
_OWN_WORK = re.compile(
    r"\b(?:answer|reply|replies|response|message|summary|summaries|report|commit|pr|pull request|change|edit|step|fix"
    r"|feature|release|deploy\w*|merge|command|task|time|anything|everything)s?\b"
)
_YOU = re.compile(r"(?:then )?you (?:always |must |should |also )?")
_FOR = re.compile(
    r"for (?:\w+ing|[\w-]+s|(?:the|all) [\w-]+),? (?=(?:please |always |only )?(?:use|run|take|choose|pick|call"
    r"|prefer|stick)\b)"
)
_CASE = re.compile(
    r"(?:when|whenever|if|before|after|once|while|until|unless|as soon as)\b[^,:]{1,90},? (?:then )?(?=you )"
)


def spelled(line: str) -> str:
    """The line with common misspellings and short forms of the words that make a rule put right."""
    return _WRONG.sub(lambda match: _RIGHT[match.group()], line)


def asked_strength(main: str) -> int:
    """How surely a polite frame asks for a rule rather than an errand; `NONE` for what is no such frame."""
    mind = _MIND.match(main)
    if mind:
        return max((_wish(wish) for wish in _bare(mind.group(1))), default=NONE)
    asked = _ASKED.match(_TAG_QUESTION.sub("", main))
    return _wish(main[asked.end() :]) if asked else NONE


def _wish(wish: str) -> int:
    """The strength of what is asked for, which can stand in the past tense behind "if you"."""
    wish = wish.rstrip("? ")
    return CERTAIN if _PAST.match(wish) else order_strength(wish, conditional=False)


def _bare(wish: str) -> Iterator[str]:
    """A wish in -ing with the verbs that it can come from: `running` from `run`, `using` from `use`."""
    yield wish
    verb = _GERUND.match(wish)
    if verb and verb.group(2):
        stem, rest = verb.group(1), wish[verb.end() :]
        yield stem + rest
        yield stem + "e" + rest
        if stem[-1:] == stem[-2:-1]:
            yield stem[:-1] + rest


def later_strength(main: str) -> int:
    """`LIKELY` when a clause behind the first one sets a rule, such as ", so please use bun for everything"."""
    joints = list(_JOINT.finditer(main))[-MAX_CLAUSES:]
    return LIKELY if any(_is_later_rule(main, joint) for joint in joints) else NONE


def _is_later_rule(main: str, joint: re.Match[str]) -> bool:
    clause = main[joint.end() :]
    lead = _LEAD.match(clause)
    order = clause[lead.end() :] if lead else clause
    words = lead.group() if lead else ""
    if asked_strength(order) >= LIKELY:
        return True
    if _PLEASE.search(words):
        return order_strength(order, conditional=False) >= LIKELY
    if "then" in joint.group() or "then" in words:
        return False
    if "so" in words.split() and (is_ban_without_verb(order) or claims_rule(order)):
        return True
    # Without "please", an unknown verb is more often part of the story.
    return is_imperative(order) and order_strength(order, conditional=False) >= LIKELY


def each_time_strength(main: str) -> int:
    """How surely a sentence orders something for each of several cases: "at the end of each answer you write ..."."""
    case = _EVERY.match(main) or _CASE.match(main) or _FOR.match(main)
    if not case:
        return NONE
    order = main[case.end() :]
    you = _YOU.match(order)
    general = _OWN_WORK.search(case.group()) is not None and case.re is _EVERY
    return LIKELY if order_strength(order[you.end() if you else 0 :], conditional=general) >= LIKELY else NONE
