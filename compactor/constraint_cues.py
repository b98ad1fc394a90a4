"""English words by which a sentence is known to state a rule, and how sure that is.

Takes one sentence of a user; gives a strength, from 0 (no rule) to 3 (certain). The tables are grammar, not topics.
Reports ("it never works") and questions are not rules. Imperatives are in `constraint_orders.py`, orders inside of a
sentence in `constraint_clauses.py`, bans, modal verbs and preferences in `constraint_statements.py`, what is laid down
without any of those in `constraint_claims.py`, words of other languages in `constraint_words.py`.
"""

import re

from compactor.constraint_clauses import asked_strength, each_time_strength, later_strength, spelled
from compactor.constraint_orders import CERTAIN, LIKELY, NONE, order_strength
from compactor.constraint_statements import is_norm, opens_rules, statement_strength

_SCOPE = re.compile(
    r"\b(?:for|throughout|during|over|in) (?:the )?(?:rest|remainder|duration|course|whole|entire\w*|entirety)"
    r"(?: of)? ?(?:this|the|our|today|my)?\b"
    r"|\bfrom (?:now|here|this point|today|this moment|that point) ?(?:on|onwards?|forward|out)?\b"
    r"|\b(?:until|till|unless) (?:i|we|you hear|told|further|otherwise|instructed|explicitly|asked)\b"
    r"|\b(?:going|moving) forward\b|\bhenceforth\b|\bfor the time being\b|\buntil further notice\b|\bas a rule\b"
    r"|\b(?:this|the|our) (?:whole|entire) (?:session|conversation|chat|task|project|day)\b|\bas long as (?:we|you|i)\b"
    r"|\b(?:in|for|during|throughout|within) (?:all of )?(?:this|our) (?:session|conversation|chat|thread)\b"
    r"|\b(?:for|during|throughout) the (?:session|conversation|chat|thread)\b"
    r"|\bat all times\b|\bunder no circumstances?\b|\bno matter what\b(?! (?:i|we|it|they|he|she)\b)"
    r"|\bin (?:the )?future\b|\bwithout exceptions?\b"
    r"|\bevery (?:single )?time\b(?! (?:i|we|it|the|a|an|they|he|she|someone)\b)|\bby default\b|\bin any case\b"
    r"|\bat no point\b|\bon no account\b|\bever again\b"
)

_HEDGE = re.compile(
    r"\b(?:probably|maybe|perhaps|i (?:think|guess|suppose|feel|assume|believe|wonder)|i'm guessing"
    r"|we should (?:probably|also"
    r"|then)|should be (?:able|possible|fine|ok|good|easy|done|there|it\b|enough|working|fixed|similar)"
    r"|(?<!are )not sure"
    r"|in theory)\b"
)
_POLITE = re.compile(
    r"^(?:can|could|would|will|won't) you (?:please |kindly |also |maybe |just )*(?:not|never|always|only|avoid"
    r"|keep|stick|make sure|ensure"
    r"|leave|refrain|stop \w+ing|use|answer|reply|respond|stay|be|wait|ask|limit|treat|hold|write (?:all|your"
    r"|every)|speak|switch to)\b"
    r"|^(?:would|do) you mind (?:not|only|always|keeping|using|sticking|leaving|avoiding|waiting|asking|answering"
    r"|replying|writing)\b"
    r"|^(?:can|could|may) (?:i|we) (?:please )?(?:ask|have|request|get) (?:you|all|your|the|only)\b|^(?:can"
    r"|could) we (?:please )?(?:keep|stick|avoid|not"
    r"|leave|agree|only|always|use (?:\w+ )+(?:only|instead|everywhere))\b"
)
_NARRATIVE = re.compile(
    r"^(?:why|how|what|where|who|which|is|are|was|were|does|did|do (?:you|we|i)\b|has|have|had|wtf|hm+|any idea"
    r"|any other|still)\b"
)
_CHECKING = re.compile(r"(?:\b(?:ok|okay|please|got it|understood|alright|deal|clear|agreed|thanks|cool))\s*\?+$")
_TAIL = re.compile(
    r",? (?:if you (?:don't mind|please|can|could|would)|if (?:that's|it's) (?:ok|okay|all right|alright)|thanks"
    r"|thank you|thx"
    r"|cheers|(?:would|will|could) you|shall we)\s*[?.!]*$"
)
_FILLER = re.compile(
    r"^(?:[^\w'\"(<$]+|(?:please|pls|plz|kindly|ok|okay|alright|right|so|and|but|also|btw|by the way|again|oh|hey"
    r"|hi|hello|yes|yeah|yep|sure"
    r"|one (?:more )?(?:thing(?! (?:at|after|per)\b)|last thing|rule|request|note)|first(?:ly| of all)?"
    r"|second(?:ly)?|third(?:ly)?"
    r"|finally|lastly|however|in general|generally"
    r"|for context|just(?! the\b)|actually|as (?:before|always|usual|ever|discussed|agreed)|to be clear|to repeat"
    r"|important(?:ly)?|note|nb|remember|rule|fyi"
    r"|reminder|another thing|then|additionally|furthermore|moreover|besides|plus|also note|thanks|thank you|great"
    r"|good|perfect|nice|cool|done"
    r"|small thing|minor thing|quick note|heads up|last thing|in addition|speaking of which|meanwhile|otherwise"
    r"|especially|ideally|omfg|omg|ffs|damn(?: it)?|jesus|lol|man|dude|my dude|man)"
    r"\b\s*(?:[,:;.!–—-]+\s*|\s(?!is\b|are\b|of\b|was\b|to\b|that (?:is|was)\b)))+"
)
_INTRO = re.compile(
    r"^(?:when|whenever|if|before|after|once|while|until|unless|as long as|in|for|from|during|on|throughout|with"
    r"|at|under|given|regarding"
    r"|as for|since|because|wherever|where|each time|every time|any time|inside|outside|besides|concerning|about"
    r"|should|as)\b[^,:]{1,90}[,:]\s*"
)
_CONDITIONAL = re.compile(
    r"^(?!(?:if|when) (?:yes|so|not|no|that works|it works)\b|(?:after|before|once|when|until) (?:that|this|it)\b)"
    r"(?:when|whenever|if|before|after|once|until|unless|each time|every time|any time|should)\b"
)

_HABIT = re.compile(
    r"^(?:whenever|each time|every time|any time|(?:when|if) (?:in doubt|unsure|uncertain|stuck|blocked|possible)"
    r"|(?:when|if|before|after|once|while|until|unless) you\b|(?:before|after) (?:each|every|any|\w+ing)\b)"
)
_SUBJECT = re.compile(
    r"(?:i|it|he|she|we|they|you|this|that|there|the|a|an|then (?:the|it|i)|nothing happens|my|your|its|some|not)\b"
)


def english_strength(sentence: str) -> int:
    """How surely an English sentence states a rule: `CERTAIN`, `LIKELY`, `POSSIBLE` or `NONE`.

    Args:
        sentence: one line in lower case, with straight quotes and single blanks.
    """
    sentence = spelled(sentence)
    if _SCOPE.search(sentence) and not (sentence.endswith("?") and _NARRATIVE.match(sentence)):
        return CERTAIN
    main = _TAIL.sub("", _FILLER.sub("", sentence))
    if main.endswith("?") and not _CHECKING.search(main):
        return LIKELY if _POLITE.match(main) or asked_strength(main) >= LIKELY else NONE
    if _NARRATIVE.match(main):
        told = main.startswith(("what", "who")) and is_norm(main)
        return LIKELY if told else NONE
    hedged = _HEDGE.search(sentence) is not None
    # A line with a colon at its end tells where something is more often than what is wanted.
    is_label = main.endswith(":")
    found = statement_strength(main) if not is_label or opens_rules(main) else NONE
    found = CERTAIN if _POLITE.match(main) else found
    intro = _INTRO.match(main)
    if intro:
        clause = _FILLER.sub("", main[intro.end() :])
        found = max(found, order_strength(clause, conditional=_CONDITIONAL.match(main) is not None and not is_label))
        if not is_label and _HABIT.match(main) and not _SUBJECT.match(clause):
            found = max(found, LIKELY)
    found = max(found, order_strength(main, conditional=False), asked_strength(main), each_time_strength(main))
    found = found if found >= LIKELY else max(found, later_strength(main))
    return max(NONE, found - 1) if hedged else found
