"""English sentences that lay something down without an order: whose call it is, what comes first, what is enough.

Takes the main clause of a sentence in lower case; says whether it claims such a thing. All of them are likely rules.
"""

import re

MAX_SEALED_CHARS = 80
"""What "always." behind it makes a rule is a few words, not a story."""

_COUNT = (
    r"(?:\d[\d,.]*|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|fifty|a couple of|a handful of)"
    r"(?: (?:short|single|small|full))?"
)
_UNITS = (
    r"(?:bullets?|bullet points?|sentences?|words?|lines?|characters?|chars?|columns?|paragraphs?|items?|steps?"
    r"|commits?"
    r"|files?|pages?|points?|minutes?|seconds?|options?|levels?|arguments?|parameters?|retries|tries|attempts?)"
)
_LIMIT = re.compile(
    rf"\b{_COUNT} {_UNITS}(?: each| per \w+)?,? (?:at (?:the )?most|max(?:imum)?|tops|or (?:less|fewer)|and (?:no|not"
    rf" one) more|(?:will|would|should) (?:do|suffice)|(?:or two )?(?:is|are) (?:quite |more than "
    rf"|perfectly )?(?:enough|plenty|sufficient|the (?:limit|max\w*|cap)))"
    rf"|\b(?:is|are) limited to \S|\bthat(?:'s| is|'ll be| will be| would be) (?:enough|plenty|sufficient)\b"
    r"|\b(?:is|are|be) (?:the|my|our) (?:hard |upper |absolute |whole )?(?:limit|maximum|cap|ceiling|budget)\b"
    r"|\b(?:budget|limit|cap|quota|allowance|maximum|ceiling) (?:here |there |(?:for|on|of) (?:\S+ ){1,3})?(?:is"
    r"|stays at|of) (?:\S+ )?\S*\d"
    r"|\b(?:anything|everything|more than|any more) (?:\S+ ){1,6}?(?:is|are|would be) (?:way |far )?too (?:much|long"
    r"|many"
    r"|big|large|verbose)\b"
    r"|\b(?:nothing|no \w+|none) (?:bigger|larger|longer|newer|older|wider|deeper|more) than\b"
)
_WHOSE = re.compile(
    r"\b(?:is|are|stays?|remains?|will be)(?: (?:always|still|only|strictly|entirely))? (?:my|our) (?:own )?(?:call"
    r"|decision|choice|job|business|responsibility|department|turf)\b|\bup to me\b|\bmine to \w|\bnot yours\b"
    r"|\bfor me (?:and me alone |alone |only )?to (?:decide|change|do|pick|choose|set|merge|push|make|say)\b"
    r"|\bthe (?:last|final) (?:say|word)\b|\byour (?:remit|scope|mandate|playground) is\b"
    r"|\bnot (?:for you|your (?:call|job|decision|business|place))\b|\b(?:comes?|go(?:es)?) (?:only |always )?"
    r"(?:from|through|via|past) me\b"
    r"|\bi (?:alone |myself |always )?(?:decide|approve|sign off)\b"
    r"|\bi(?:'ll| will| want to|'d like to| would like to| like to| get to) (?:\S+ ){0,6}?(?:decide|choose|pick|approve"
    r"|sign off|have the (?:last|final) (?:say|word))\b"
    r"|\bi (?:want|need|like|expect|would like|have|get)(?: to|ed to)? (?:see|hear|review|check|read|know"
    r"|be (?:asked|told"
    r"|consulted|informed|warned))\b.*\b(?:first|before|beforehand|prior to|whenever|every|each|always)\b"
    r"|\bi'd (?:like|want|love) to (?:see|hear|review|check|read|know|be (?:asked|told|consulted|informed|warned))\b.*"
    r"\b(?:first|before|beforehand|prior to|whenever|every|each|always)\b"
    r"|^(?:if|when|whenever|before|where) [^,]+, i (?:want|would like|need|expect) to (?:see|hear|know|choose|pick"
    r"|decide"
    r"|be)\b"
    r"|\bi (?:really |just |simply )?(?:can't|cannot|can not|won't|will not) (?:really |just )?(?:have (?:you|any"
    r"|anyone"
    r"|anything|them|people)|let you|allow|risk|accept|tolerate)\b"
)
_ONLY = re.compile(
    r"\bthe only (?:\w+ )?(?:things?|files?|folders?|director(?:y|ies)|places?|parts?|code|branch(?:es)?|ones?|tools?"
    r"|modules?|packages?|languages?|changes?|commands?) (?:that |which )?(?:i(?:'d| would)? (?:want|like|allow|need"
    r"|accept)|you(?:'re| are| may| can| should| get)|to (?:be|touch|change|edit)|(?:may|should|can|gets?) )"
    r"|\b(?:is|are) all (?:that )?you(?:'re| are)? (?:may|can|get|should|need|allowed|supposed)\b"
    r"|\bonly (?:\S+ ){1,6}?(?:is|are) (?:allowed|permitted|okay|ok|fine|welcome|in scope)\b"
    r"|\b(?:fine|ok|okay|allowed|welcome|fair game|acceptable|permitted|alright)\b,? (?:but|just|as long as|so long as"
    r"|provided|unless|except)(?: please)? (?:nothing|not|no|never|only|without|keep|leave|don't|do not|that)\b"
    r"|\bonly then\b|\bcomes? (?:first|last)\b(?! in\b)"
    r"|^only (?:once|after|when|if) (?!i (?:click|press|open|run|start|type)).*\byou (?:may|can|should|start|begin"
    r"|go)\b"
    r"|\byou (?:may|can) (?:\S+ ){1,5}?only (?:once|after|when|if)\b"
)
_AS_IT_IS = re.compile(
    r"\b(?:stays?|keeps?|kept|leave|leaves|left|remains?|stay)\b.{0,60}?\b(?:the way|as|how|like)"
    r" (?:it|they|things|you found|i left|we left)\b"
)
_TASTE = re.compile(
    r"\bi find (?!that\b|out\b|it (?:odd|weird|strange|hard to believe))(?:\S+ ){1,8}?(?:confusing|unreadable|ugly"
    r"|hard to"
    r" (?:read|follow|review|maintain)|annoying|distracting|noisy|tiring|horrible|awful|unhelpful|pointless|easier to"
    r" (?:read|follow|review|maintain)|clearer|more readable)\b"
    r"|\b(?:is|are|would be|will be) (?:greatly |much |very |really |strongly |highly )?(?:preferable|preferred"
    r"|discouraged"
    r"|unwelcome|appreciated|not my thing|not for me|my preference|best left|better left)\b"
    r"|\b(?:useless|no use|no good|worthless) (?:to|for) (?:me|us)\b"
    r"|\b(?:is|are) what (?:i|we)(?:'d| would|'ll)? (?:want|like|expect|prefer|use|go with|stick)\b"
    r"|\b(?:'d|would) be (?:\w+ ){0,2}\w+ if (?:the|your|all|every|each|no|nothing|nobody|commits?|answers?"
    r"|repl\w+)\b.*"
    r"\b(?:were|stayed|remained|had|used|didn't|kept|could (?:be|stay)|started|ended|went|came)\b"
    r"|\bout of the question\b|\bnot on the table\b|\bno \w+(?: \w+)? of any kind\b|^just the\b.*, (?:no|without|not)\b"
    r"|\bnothing (?:fancy|clever|exotic|flashy|complicated|beyond)\b"
    r"|\bi (?:understand|read|work|think|learn|follow|digest)(?: \w+){0,3} (?:better|best|faster|easier) (?:if|when"
    r"|with|in)\b"
    r"|\b(?:our|my|the|a) (?:custom|habit|practice|tradition|convention|policy)(?: here)? to\b"
    r"|\bgo(?:es)? without saying\b|\bno-no\b|\bdeal[- ]?breaker\b|\b(?:is|are) not ok(?:ay)? (?:to|for)\b"
    r"|\b(?:awkward|embarrassing|bad|terrible|disaster|trouble|unfortunate|a shame|a problem|annoyed|upset) if\b.*"
    r"\b(?:ended up|leaked?|got out|appeared|showed up|went out|found out|were to)\b"
    r"|\b(?:won|wins|it's|so|then) (?:\S+ ){0,8}?it is(?: then)?[.!]*$"
)
_WHATEVER = re.compile(
    r"\bwhatever (?:you do|happens|else you do|it takes)\b|\bat (?:any|all) (?:cost|costs|price)\b|\b(?:there(?:'s"
    r"| is) )?no"
    r" need (?:to|for you to) (?!worry|panic|apologi[sz]e for)"
    r"|\bmake it a (?:rule|habit|point|policy)\b"
)
_PAIR = re.compile(
    r"^(?:one|1) [\w-]+(?: [\w-]+)?(?: ?[,=:]| per| equals| is| means)? (?:one|1) [\w-]+(?: [\w-]+)?[.!]*$"
)

_OVER = re.compile(
    r"^(?:[\w.+#/-]+ ){1,2}(?:not|over|>+|instead of|rather than|never) (?!found|working|sure|yet|here|there|good"
    r"|available"
    r"|supported|installed|set|implemented|\w+ed\b|\w+ing\b|a\b|the\b|in\b|so\b|it\b)[\w.+#/-]+(?: [\w.+#/-]+)?[.!]*$"
)
_FRAGMENT = re.compile(
    r"^(?:[\w'-]+ ){1,4}(?:before|after) (?:(?:every|each|any|the|a) )?(?:commit|push|merge|release|deploy|review"
    r"|edit|change|step"
    r"|pr|(?:committ|push|merg|releas|deploy)ing)s?[.!]*$"
    r"|^(?:\d+|two|four|eight) ?-?(?:[\w-]+ )?(?:spaces?|tabs?|columns?|cols?|chars?|indent\w*|max"
    r"|tops)(?: indent\w*| wide)?[.!]*$"
)
_SEQUENCE = re.compile(
    r"^(?!(?:i|we|it|you|they|he|she|this|that|let's|lets|let)\b)(?:[\w'-]+ ){1,5}first(?:,| and|;)+ ?then\b"
    r"|^[a-z]+ first\b[^,]*, then\b"
)
_STEPS = re.compile(
    r"^(?:baby|small|tiny|little) steps\b|\bin (?:small|tiny|little|baby) (?:steps|increments|chunks|batches|pieces"
    r"|bites)\b"
    r"|\bone \w+ after (?:the other|another)\b|\bno \w+(?: \w+)? without\b|^(?:the )?\S+ (?:stays|remains)[.!]*$"
)
_TERSE = re.compile(
    r"^(?:less|fewer|minimal|shorter) (?:talk\w*|words|prose|chatter|text|noise|explanations?|verbos\w+|output"
    r"|comments?)\b"
    r"|^(?:plain |valid |pure |raw )?(?:json|yaml|csv|markdown|xml|toml|ascii|html|text|diff) (?:output|format"
    r"|replies)[.!]*$"
    r"|^(?:camel|snake|kebab|pascal)[ _-]?case(?: [\w-]+){0,3}[.!]*$"
)
_OWN_WORK = re.compile(
    r"^(?:all|each|every|any) (?:[\w-]+ ){0,2}(?:commits?|changes?|answers?|repl(?:y|ies)|responses?|edits?|fix(?:es)?"
    r"|pull requests?|prs?|decisions?|steps?|explanations?|docstrings?|summar(?:y|ies)|reports?|merges?|releases?"
    r"|deployments?|features?|migrations?|refactorings?) (?:is|are|gets?|comes?|ends?|starts?|concludes?|carr(?:y"
    r"|ies)|has|have"
    r"|needs?|shall)\b(?! been\b)"
)
_WITHOUT = re.compile(
    r"^(?:[\w.+#/-]+ )?[\w.+#/-]+, no (?!errors?\b|output\b|response\b|idea\b|luck\b|problems?\b|changes?\b"
    r"|difference\b"
    r"|warnings?\b|issues?\b|effect\b|longer\b|more\b|need\b|thanks\b)[\w-]+(?: [\w-]+)?[.!]*$"
)
_ALL = (
    _WITHOUT,
    _STEPS,
    _TERSE,
    _OWN_WORK,
    _SEQUENCE,
    _FRAGMENT,
    _OVER,
    _LIMIT,
    _WHOSE,
    _ONLY,
    _AS_IT_IS,
    _TASTE,
    _WHATEVER,
    _PAIR,
)


def claims_rule(main: str) -> bool:
    """True for a statement that lays down a limit, a right, a taste or an order of things.

    Args:
        main: a clause in lower case, with straight quotes and single blanks.
    """
    return any(pattern.search(main) for pattern in _ALL)


_SEAL = re.compile(
    r"(?:always|never|ever|every (?:single )?time|each time|no exceptions?|without exceptions?|period|full stop"
    r"|at all times"
    r"|no matter what|ever again|in all cases|everywhere|throughout|immer|ohne ausnahme|toujours|siempre)[.!]*$"
)
_TELLS = re.compile(
    r"(?:i|it|he|she|we|they|this|that|there|the|a|an|my|your|our|its|what|why|how|is|are|was|were|does|did)\b"
    r"|.*\?$|.*\b(?:fails?|failed|crash\w*|broken|breaks|errors?|hangs?|same|again)\b"
)


def makes_rule(seal: str, line: str) -> bool:
    """True for a fragment such as "always." that makes the few words before it a rule; a report stays one."""
    return len(line) <= MAX_SEALED_CHARS and _SEAL.match(seal) is not None and not _TELLS.match(line)
