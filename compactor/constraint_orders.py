"""English imperatives that set a rule rather than an errand, and how sure that is.

Takes the main clause of a sentence; gives a strength, from 0 (no rule) to 3 (certain). Some verbs set a standing habit
by themselves (keep, use, stick to, ask before); others (add, run, write) only with a word that makes the order general
or bounds it (every, only, without, at most). A clause without a verb counts when it is shaped like a wish.
"""

import re

CERTAIN, LIKELY, POSSIBLE, NONE = 3, 2, 1, 0

MAX_GENERAL_BLANKS = 24
"""A longer sentence that begins with an unknown verb tells a story more often than it states a rule."""

_STANDING = (
    r"keep(?! (?:going|reading|it up|working on|trying|investigating|looking|digging|on\b|at it|the old (?:code"
    r"|stuff) around))"
    r"|stick (?:to|with)|leave (?!it\b|that\b|this\b)|treat|wait (?:for|until|till|with)|ask(?: me)? (?:me|first"
    r"|before|for|whenever|when|if"
    r"|permission)|prefer|limit|restrict|confine|constrain|cap|stay|follow (?!up)|preserve|maintain|respect|obey"
    r"|adhere|abide|honou?r"
    r"|use (?!it\b|that\b|this\b|the (?:read|bash|edit) tool)|use (?:it|that|this) (?:for|in|on|everywhere|throughout"
    r"|only|always|wherever|whenever)|(?:take|pick|choose|opt for|go for|go with)(?= .*\b(?:if|when|whenever|where"
    r"|wherever|unless|over)\b)|answer(?! (?:the|this|that|him|her|my)\b)|reply(?! to (?!me|us|each|every|all))"
    r"|respond(?! to (?!me|us|each|every|all))|speak|talk|be (?!my)|refer to"
    r"|default to"
    r"|favou?r|hold off|hold back|mask|redact|conceal|protect|guard|consult|confirm|check (?:in )?with me|check with"
    r"|let me (?:know|review|approve|decide|see|confirm|handle|do the)|tell me (?:before|when|if|first|whenever)|format"
    r"|spell|address me|call me|cite|round|wrap|indent|assume|reserve|prioriti[sz]e|minimi[sz]e|think (?:twice"
    r"|before)|get my"
    r"|seek|obtain|request (?:my|permission|approval)|give me (?:only|just|short|a heads|the chance)|begin (?:each"
    r"|every|all|your|with)"
    r"|start (?:each|every|all|your)|end (?:each|every|all|your|with)|finish (?:each|every|all|your)|prefix|suffix"
    r"|append (?:each|every|to every)"
    r"|quote|name|put|place|store|tag|label|group|phrase|work (?:just |only |please )*(?:in|on|with|inside|within"
    r"|only|from)\b"
    r"|stop and (?:ask|wait|tell|check)|(?:support"
    r"|target) (?=.{0,40}\d)|structure|target|pretend"
    r"|act as|back up|(?:ping|tell|call|warn|notify|alert|inform|remind) me (?:before|when|if|first|whenever|once"
    r"|as soon as)|refuse|decline|return only"
    r"|output only|reuse|always|only|strictly|exclusively"
)
_STANDING_IMPERATIVE = re.compile(r"(?:" + _STANDING + r")\b")
_TASK_VERBS = (
    "write|explain|describe|summari[sz]e|show|give|return|output|print|present|list|report|commit|run|test|lint"
    "|name|put|place|store"
    "|save|make|apply|add|create|open|edit|change|modify|touch|delete|remove|rename|move|deploy|push|merge|rebase"
    "|install|upgrade"
    "|update|ship|release|build|generate|read|look|review|fix|implement|refactor|rewrite|migrate|send|post|share"
    "|publish|record|track"
    "|take|do|work|go|let|get|include|mention|log|stop|skip|ignore|exclude|document|comment|handle|plan|propose"
    "|squash|branch|tag|label"
    "|mark|translate|import|declare|pin|sign|batch|split|group|pause|verify|check|validate|execute|start|begin"
    "|end|finish|call|hide"
    "|note|remember|support|import|discuss|sort|order|count|measure|round|store|declare|tell|say|type|set|turn"
    "|feel|consider|think|bump|ask"
)
_TASK_IMPERATIVE = re.compile(r"(?:" + _TASK_VERBS + r")\b")
_FIRM_QUALIFIER = re.compile(
    r"\b(?:always|never|only|exclusively|solely|strictly|without|instead of|rather than|unless|except|but not"
    r"|and not|, not|nothing"
    r"|(?:before|prior to|ahead of) (?:each|every|any|you|doing|\w+ing)|after (?:each|every|any)|(?:each|every) (?!of)"
    r"|in preference to|as opposed to|in place of|at (?:most|least)"
    r"|first,? (?:and |then )?\w+ (?:second|later|last|next|after)|together with|along with|alongside"
    r"|at a time|one by one|one after (?:the other|another)|in one go|sequentially"
    r"|no (?:more|longer|fewer|less) than|under \d|below \d|max(?:imum)?|up to \d|exactly|verbatim|as[- ]is"
    r"|word for word|whenever|separate(?:ly)?|own (?:commit|branch|pr|file)"
    r"|on a (?:\w+ )?branch|first and then|early|often|regularly|frequently"
    r"|unchanged|untouched|intact|backwards?[- ]compatible|read[- ]only|private|secret|myself|approval|permission"
    r"|confirm(?:ation|ed)?|sign-?off|if and only if|as (?:few|little|small|short) as|twice)\b"
)
_SOFT_QUALIFIER = re.compile(
    r"n't\b|\binstead[.!]*$|\b(?:not|short|brief(?:ly)?|concise(?:ly)?|terse|plain|simple|bullets?|bullet points?"
    r"|sentences?|words"
    r"|paragraphs?|columns|lowercase"
    r"|uppercase|british|american|metric|utc|iso|style|convention(?:al)?s?|stdlib|standard library"
    r"|imperative (?:mood|form)"
    r"|in (?:english|german|french|spanish|italian|portuguese|dutch|polish|russian|chinese|mandarin|japanese"
    r"|korean|latin|turkish|swedish"
    r"|danish|arabic|hindi)|(?:as|in) (?:valid |plain |raw |pure )?(?:json|yaml|csv|markdown|a table|tables?"
    r"|prose|html|text)"
    r"|small|minimal|tiny|no \w+|both|sandbox|local(?:ly)?|offline)\b"
)
_GENERIC_QUALIFIER = re.compile(
    r"\b(?:before (?!we\b|i\b|that\b|this\b)|after (?!we\b|i\b|that\b|this\b|all\b)|first,? (?:and \w+ (?:after"
    r"|second|later|last)|then|second"
    r"|and then|before|\w+ second|\w+ later)|, then \w|tests? first"
    r"|as (?!well|soon|you|far|i\b|we\b|it\b|is\b|much|to\b)|for (?:everything|all|every|each)|from (?:every|all"
    r"|any)|in (?:every|all|each|any)|(?:wherever|whenever|where|when) (?:you|possible|in doubt)"
    r"|with every|as if|at the (?:top|end|start|beginning|bottom)|last resort)\b"
)
_NOT_IMPERATIVE = re.compile(
    r"(?:i|it|he|she|we|they|you|this|that|there|these|those|the|a|an|my|your|his|its|our|their|some|someone|what"
    r"|which|who|where|when|why|how|is|are|was|were|does|did"
    r"|do you|has|have|had|can|could|would|will|may|might|yes|no|nope|yeah|ok|thanks?|hm+|wow|looks?|seems?|works?"
    r"|maybe|probably|perhaps|still|now|another|same|any|let'?s?|lets"
    r"|good|nice|great|cool|hello|hi|hey|first|second|third|next|last|not|nah|sounds?|turns?|got|done|sorry|oh|um+"
    r"|well|true|exactly|correct|never mind|if"
    r"|because|since|in|on|at|for|from|with|after|before|hopefully|apparently|\w+ed|i'\w+|it'\w+"
    r"|we'\w+|you'\w+|they'\w+|that'\w+|there'\w+|what'\w+|who'\w+|he'\w+|she'\w+|commit what|fix|add|implement"
    r"|create|remove|delete|update|change|read|open|continue|check out|look)\b"
)
_SHAPED = re.compile(
    r"(?:show|list|put|give|mention|state|write|present) (?!me\b)(?:[\w-]+ ){1,4}first\b(?! so)|"
    r"(?:give|state|express|specify|measure|report|write|log|store|print|show|format|display|list|note|record"
    r"|quote|provide|present|return|produce|emit) (?:[\w-]+ ){0,4}(?:in|as|for|to) \w"
    r"|(?:explain|describe|phrase|word) (?:[\w-]+ ){0,4}(?:as|like|for|in|simply|briefly)\b|(?:skip|strip|omit"
    r"|drop|spare me|forego|cut) (?!it\b|that\b|this\b)\w"
)
_FINITE = re.compile(
    r"\b(?:i|we|he|she|they|looks?|seems?|still|fails?|crash(?:es)?|is|are|was|were|has|have|had|did|does|will|would"
    r"|could|can|that's|it's|what|why|how|now)\b"
)
_ANSWERS = re.compile(
    r"(?!the\b|these\b|those\b|your\b|my\b|all\b|new\b|more\b)(?:[\w-]+ ){1,4}(?:answers|replies|responses|summaries"
    r"|explanations)(?: only)?[.!]*$"
)
_VERBLESS = re.compile(
    r"^(?!.*\b(?:i|it|you|we|they|he|she|is|are|was|were|has|have|had|does|did|do|get|gets|got|works?|fails?"
    r"|looks?|seems?|says?|there|this|that|these|those|what|why|how|again|next|then|now)\b)"
    r"(?:[\w.+#'/*-]+ ){1,5}(?:instead of|over|rather than|for (?:all|every|each|everything|\w+s)|in (?:all|every"
    r"|each)|throughout|per|with)\b(?: [\w.+#'/*-]+){0,5}[.!]*$"
)
_UNIVERSAL = re.compile(
    r"^(?:only|nothing|nobody|no one|none of|not|never|always|every|each|all|any|anything|everything|everyone|no"
    r"|zero|whatever|whoever)\b"
    r"(?!,|\.|!|$| (?:matter|that|it|i|we|but|this|wait|idea|problem|worries|way|thanks|thank|need|yet|sure|really"
    r"|works?"
    r"|good|done|right|of"
    r" (?:it|that|this)|tests? (?:pass|fail|are)|looks?|bad|wonder|luck|doubt|clue|you|what|mind|exactly|working"
    r"|quite|so|everything|all|every|always)\b)"
)
_VERB_NOTHING = re.compile(r"[a-z]+ (?:nothing|no one|nobody|none)\b")
_ABSENT = re.compile(
    r"no (?:errors?|output|response|results?|changes?|difference|warnings?|issues?|effect|longer|luck|tests? (?:for"
    r"|in))\b"
)
_HAPPENED = re.compile(r"\b(?:have|has|had) (?:all |already |now |just )?(?:been|gone)\b|\b(?:was|were|did)\b")
_ANY = re.compile(r"(?:each|every|all|any)\b")
_STATES = re.compile(
    r"[\w.-]+ (?:relies|uses|has|supports|depends|needs|comes|contains|provides|allows|runs|works|calls|returns"
    r"|shows|takes"
    r"|gives|sends|creates|handles|ignores|renders) (?:an?|the|to|in|on|from|with|by|its|via|for|no|up|out|cli|as)\b"
)
_MODAL_SHAPE = re.compile(
    r"\b(?:in|stays?|remains?|needs?|goes?|gets?|use|uses|with|as|through|only|requires?|belongs?|counts?|under"
    r"|inside|outside|without"
    r"|be|is to|are to|may|can|should|must|leaves?|enters?|without|until|unless|before|after|except|from|for|on|at)\b"
)

_LETS = re.compile(r"(?:let's|lets|let us|let me)\b")
_ONE_THING = re.compile(
    r"(?:write|create|make|add|build|implement|generate|draw|print|show|give) (?:me )?(?:an?|some|another)\b"
)
"""An errand, unless a word of `_GENERAL` says that it comes again and again."""
_BEFORE = re.compile(r"\b(?:before|prior to) (?!we\b|i\b|that\b|this\b|it\b|they\b|and\b)\w")
_JUST_DO = re.compile(r"(?:do|try) (?:it|that|this)\b(?!.*\b(?:always|each|every|before)\b)|skip \d")
_GENERAL = re.compile(
    r"\b(?:always|never|only|without|unless|whenever|(?:after|before|with|for|in|of|on|per|to|from) (?:each|every|any)"
    r"|each time|every time|before (?:the|you|\w+ing)|first)\b"
)

_PLURAL_WISH = re.compile(
    r"(?!errors? (?:in|when|on|with|for)\b|bugs?\b|issues?\b|problems?\b|typos?\b|this\b|changes\b|lots\b|was\b|is\b"
    r"|has\b|does\b|looks\b|works\b)"
    r"(?:[\w-]+ ){0,2}[\w-]{2,}s (?:in|as|with|for|under|by|on|sorted|kept|written|wrapped|named|ordered|without"
    r"|only|everywhere"
    r"|throughout)\b(?!.* to \w)[^,;:]{0,60}[.!]*$"
)
"""What a plural without an article should be like speaks of all of them: "imports sorted by name"."""

_ONLY_WHERE = re.compile(r"(?:[\w-]+ ){0,2}[\w-]+s only (?:where|when|if|for|in|on|after|with)\b")
_PLEASED = re.compile(
    r"(?!.*\b(?:this|that|it|the|these|those|one|ones|continue|more|go|next|help|on|now|me)\b)(?:[\w+#'/-]+ ){1,6}?"
    r"(?:[\w+#'/-]+, please|please)[.!]*$"
)
"""A noun with "please" behind it: "British spelling, please"."""

_PHRASE = re.compile(
    r"(?!errors? in|bug|crash|typo|issue)[\w-]+(?: [\w-]+){0,2} (?:in|as|with|for|under|by|sorted|kept|written|wrapped"
    r"|named|ordered) [\w -]{3,40}[.!]$"
)


def is_imperative(main: str) -> bool:
    """True for a clause that begins with a verb known to give an order."""
    return any(pattern.match(main) for pattern in (_STANDING_IMPERATIVE, _TASK_IMPERATIVE, _SHAPED))


def is_ban_without_verb(main: str) -> bool:
    """True for a phrase such as "no tables", which is a wish behind "so" and a report where it has a verb."""
    is_ban = main.startswith(("no ", "only ", "never ", "always ")) and _UNIVERSAL.match(main) is not None
    return is_ban and not _FINITE.search(main) and not _ABSENT.match(main)


def is_wish_without_verb(main: str) -> bool:
    """True for a short phrase such as "error strings in lower case", which names a thing and how it should be."""
    return _PHRASE.match(main) is not None and not (_NOT_IMPERATIVE.match(main) or _TASK_IMPERATIVE.match(main))


def is_wish_for_all(main: str) -> bool:
    """True for a phrase without a verb about a plural, such as "dates in ISO format"."""
    if _NOT_IMPERATIVE.match(main) or _TASK_IMPERATIVE.match(main):
        return False
    if _ONLY_WHERE.match(main) or _PLEASED.match(main):
        return True
    return _PLURAL_WISH.match(main) is not None and not _FINITE.search(main)


def order_strength(main: str, *, conditional: bool) -> int:
    """How surely a main clause that orders something sets a rule rather than an errand.

    Args:
        main: the clause in lower case, without "please" and the like before it.
        conditional: True behind "when ..., " or "before ..., ": what is ordered for a case is a rule.
    """
    if _STANDING_IMPERATIVE.match(main):
        return CERTAIN
    if _UNIVERSAL.match(main):
        return _universal_strength(main)
    if _JUST_DO.match(main):
        return NONE
    if _ONE_THING.match(main) and not conditional:
        return LIKELY if _GENERAL.search(main) else NONE
    if _SHAPED.match(main):
        return LIKELY
    if _TASK_IMPERATIVE.match(main) and not _LETS.match(main):
        if conditional or _FIRM_QUALIFIER.search(main) or _SOFT_QUALIFIER.search(main):
            return LIKELY
        if _BEFORE.search(main) and not _NOT_IMPERATIVE.match(main):
            return LIKELY
        has_order = _GENERIC_QUALIFIER.search(main) and not _FINITE.search(main) and not _NOT_IMPERATIVE.match(main)
        return POSSIBLE if has_order else NONE
    return NONE if _NOT_IMPERATIVE.match(main) else _general_strength(main)


def _universal_strength(main: str) -> int:
    """The strength of a sentence about all, or none, of something."""
    if _HAPPENED.search(main):
        return NONE
    if _MODAL_SHAPE.search(main) or main.startswith(("no ", "only ", "never ", "always ")):
        return LIKELY
    return NONE if _ANY.match(main) else POSSIBLE


def _general_strength(main: str) -> int:
    """The strength of an order with a verb in no table, or of a wish without a verb."""
    if main.count(" ") > MAX_GENERAL_BLANKS or _STATES.match(main):
        return NONE
    if _VERBLESS.match(main) or (_ANSWERS.match(main) and not _FINITE.search(main)):
        return LIKELY
    if _FIRM_QUALIFIER.search(main):
        if _VERB_NOTHING.match(main):
            return LIKELY
        return POSSIBLE if _FINITE.search(main) else LIKELY
    return NONE
