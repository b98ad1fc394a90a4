"""English sentences that state a rule by a ban, a modal verb, a preference or a norm, wherever those words stand.

Takes the main clause of a sentence in lower case; gives a strength as `constraint_orders` does. Bans and preferences
are certain, modal verbs and norms likely. What an error message or a specification is reported to say is no rule.
"""

import re

from compactor.constraint_claims import claims_rule
from compactor.constraint_orders import CERTAIN, LIKELY, NONE, POSSIBLE, is_wish_for_all, is_wish_without_verb

_CLAUSE = r"(?:^|[,;:(–—/]\s*|\s-+\s+|\b(?:and|but|so|then|or|also|please|pls|plz|because|again|means|meaning)\s+)"
_NOT_A_BAN = (
    r"(?!know|think|worry|get (?:me|it|why|how)|care\b|mind\b|understand|see (?:why|how|any|a|the|it)|remember\b|mean"
    r"|believe|recall|expect|exist|have (?:a|any|the|to|time)|need\b|seem|matter|happen|work|even (?:know|get|see)"
    r"|really (?:know|get|see|understand|care|like|want|need)|like\b|want\b|you\b(?! dare)|we\b|i\b|they\b"
    r"|look (?:right|good))"
)
_BAN = re.compile(
    _CLAUSE + r"(?:(?:just|simply|really|kindly|absolutely|definitely|generally|ever|still|whatever you do|ok|okay"
    r"|you)[ ,]+){0,2}"
    r"(?:(?:do not|don't|dont|do never) " + _NOT_A_BAN + r"\w"
    r"|never (?!mind|again\b|seen|worked|happened|got|did|saw|tried|had|knew|was|were|heard|been|gets|works|ends"
    r"|once)\w"
    r"|(?:avoid|refrain from|abstain from|desist from|beware of|steer clear of|stay (?:away|out|off|clear)"
    r"|keep (?:away|out|off|your hands)|hands off|no touching|not to)\b"
    r"|stop (?!and\b|the\b|it\b|here\b|there\b|by\b|now\b|doing shit)\w+ing\b|quit \w+ing\b|enough with\b|no more \w)"
)
_NEGATED = re.compile(
    r"\b(?:must|shall|should|ought|will) (?:not|never)\b(?! (?:happen|have been|be happening|be (?:a problem|hard"
    r"|possible)))"
    r"|\b(?:mustn't|shan't|mayn't)\b|\bshouldn't (?!it\b|we\b|i\b|that\b|this\b|they\b|have\b|be (?:happening"
    r"|a problem|hard))"
    r"|\b(?:you|we|anyone|they) (?:can't|cannot|can not|can never|may not|may never) (?!see|get|find|know|reproduce)\w"
    r"|\b(?:nobody|no one|nothing|none of (?:you|them|this|these|it)) (?:can|may|is|gets|goes|leaves|should|must"
    r"|will) \w"
    r"|\b(?:can't|cannot|can not|may not|may never|can never) be (?:\w+ly )?\w+(?:ed|en|wn|ad|nt|un)\b"
    r"|\b(?:can't|cannot|can not) (?:change|break|add|drop|use|require|depend|exceed|rely|contain|grow|touch|leave"
    r"|go)\b"
    r"|\b(?:not|isn't|aren't|is never|are never) (?:be )?(?:allowed|permitted|supposed to|meant to be|acceptable"
    r"|wished|wanted|desired"
    r"|welcome"
    r"|an option|negotiable|up for|to be \w|okay to|ok to|for (?:public|sharing|publication))"
    r"|\b(?:is|are|stays?|remains?|be|as) (?:strictly |absolutely |completely |totally |currently )?(?:forbidden"
    r"|prohibited"
    r"|banned|disallowed|off[- ]limits|out of (?:bounds|scope)|taboo|untouchable|a no[- ]go|verboten|frozen|locked"
    r"|read[- ]?only"
    r"|immutable|sacred|confidential|secret|private|embargoed|internal|classified|sensitive|under nda|mandatory"
    r"|compulsory"
    r"|obligatory|required|non-negotiable|a must|a secret|essential|a hard (?:limit|requirement)|unacceptable)\b"
    r"|\b(?:forbidden|prohibited|off[- ]limits|non-negotiable|no[- ]go|read[- ]only|under nda|don't break|top secret)\b"
    r"|\bi forbid\b|\b(?:policy|guide|guideline|rules?|contract|standard|law|security|legal|management"
    r"|license) (?:forbids?|requires?|demands?|mandates?"
    r"|prohibits?|says?|expects?|disallows?|doesn't allow|does not allow)\b"
    r"|\bi (?:do not|don't|dont|never|won't|will not) (?:want|like|accept|tolerate|allow|need you|wish|expect you"
    r"|approve"
    r"|care for|appreciate|agree)\b(?! (?:why|how|to know|it|that|this)\b)"
)
_MUST = re.compile(
    r"\bmust\b(?!'ve| have (?:\w+ed|been|done|gone|broken)| be (?:something|because|a bug|wrong|broken|due|that"
    r"|some|missing"
    r"|the (?:reason|problem|cause|issue)| an? (?:issue|problem))| (?:say|admit|confess)\b)"
    r"|(?<!\bi)(?<!\bwe) (?:has to|have to|needs? to) (?:be\b|stay|remain|keep|work|pass|support|compile|run|have"
    r"|look|match|follow|go"
    r"|happen|come|fit|use|include|contain|start|end|always|only|never|not|continue|conform|comply|live|ask|get|stick)"
    r"|\b(?!i\b|we\b|they\b|you\b|it\b|that\b|and\b|don't\b)\w+ (?:has|have) to \w"
    r"|\b(?:is|are|be) (?:to|supposed to|expected to|meant to) (?:be|stay|remain|keep|go|have|use|follow|always"
    r"|never|only)\b"
    r"|\b(?:requires?|needs?|takes?) (?:my|our|a|an|explicit|written|prior) (?:\w+ )?(?:ok|okay|approval|review"
    r"|sign-?off"
    r"|consent|permission|confirmation|go-?ahead|blessing|test|tests|entry|ticket|comment|changelog|docstring|note)\b"
)
_SHOULD = re.compile(
    r"(?<!\bthere )\bshould(?: \w+ly)? (?:always|only|stay|remain|be(?! (?:able|possible|fine|ok|good|easy|done"
    r"|there|it|enough|working|fixed)\b)|keep|use|have(?! \w+ed\b| been\b)|follow|match|end|start"
    r"|contain|include|fit"
    r"|go|come|work"
    r"|support|pass|run|get|begin|mention|refer|ask|avoid|prefer|live|adhere|conform|carry|say|read|look|take|fail"
    r"|happen)\b"
    r"|\bought to (?:be|have|stay|remain|keep|use|come|go)\b|\b(?<!if )you (?:should|ought to|shall|are to|may only"
    r"|can only|will only|only|always|need to|have to|must|'re to)\b"
    r"|\byou(?: do not|'ll| will| don't) (?:not |never |only |always |have to |need to )"
)
_ASSURE = re.compile(
    _CLAUSE
    + r"(?:just |always |do |absolutely |really )?(?:make (?:absolutely |very |really )?sure|be (?:sure|certain)"
    r"|ensure|see to it"
    r"|take care|be (?:very |extra |really )?(?:careful|mindful|aware|conservative|cautious)|remember to|remember[,:]"
    r"|don't forget|do not forget|never forget|keep in mind|bear in mind|mind (?:that|the|your)|pay attention|note that"
    r"|please note|double-?check|insist on|watch out)\b"
    r"|\b(?:it|that|this)(?:'s| is| would be)? (?:\w+ly )?(?:very |really |super |so |extremely "
    r"|also )?(?:important|essential"
    r"|crucial|vital|critical|imperative|key|necessary|mandatory|preferable|paramount|required|best|better|safer)"
    r" (?:that|to|for|if|not)\b"
    r"|^(?:important|rule|constraint|requirement|note|nb|n\.b\.|warning|caution|reminder|convention|policy"
    r"|preference)s?\s*:"
    r"|\b(?:i (?:need|want|ask|expect|require|beg|urge|trust|count on|rely on) you(?: all)? (?:to|not|never|always)"
    r" (?:not|never|always|only|keep|stick|avoid|leave|stay|refrain|make sure|ensure|ask|wait|use|be|respect"
    r"|follow|treat))\b"
)
_PREFER = re.compile(
    r"\bprefer(?:s|red|ably|ence|ences)?\b|\b(?:i'd|i would|we'd|we would|i'll|would)(?: much| really| far"
    r"| strongly)? (?:rather|sooner)\b"
    r"|\b(?:i'd|i would|we'd|we would) (?:really |much |strongly )?(?:appreciate|be (?:grateful|obliged|thankful"
    r"|relieved|delighted|happier|happy"
    r"|glad)|want|hate)\b"
    r"|\bi (?:really |strongly |absolutely |generally |usually |always |tend to |personally )?(?:hate|dislike"
    r"|loathe|detest"
    r"|can't stand|insist|favou?r|value|care (?:about|deeply)|count on|rely on)\b(?! (?:it|this|that|when)\b)"
    r"|\bi (?:really |strongly |generally |usually |always |personally )?(?:like|love|enjoy) (?!it\b|this\b|that\b"
    r"|the (?:idea|look|way"
    r"|new|plan)|what\b|how\b|to (?:see|know|have)|your (?:idea|plan)|these\b|those\b)(?:my|your|our|the|to|when"
    r"|short|small|clean"
    r"|simple|\w+s\b|\w+ \w+s\b|\w+ing\b)"
    r"|\bi(?:'m| am) (?:not )?(?:a )?(?:\w+ )?(?:fan|friend|fond|allergic|picky|particular|sensitive)\b"
    r"|\b(?:if|where|wherever|whenever|when) (?:at all )?possible\b|^ideally\b|\bto my (?:taste|liking)\b"
    r"|\bi(?:'d like| would like| need| want| expect| demand) you to (?:keep|stay|stick|leave|use|avoid|be|respect"
    r"|follow|treat|wait|ask|never|always|only|not|answer"
    r"|reply|respond|write (?:all|every|your)|preserve|maintain|limit|work)\b"
    r"|\bi(?:'d like| would like|'d want| want| expect| demand) (?!you\b|to\b|us\b|an?\b|the\b|it\b|that\b|this\b"
    r"|some|more\b|what\b|your help)\w"
    r"|\bi(?:'d like| would like| need| want| expect| demand) (?!you\b|to\b|us\b)(?:\S+ ){1,6}?to (?:be|stay"
    r"|remain|have|keep|follow|use|look like|match|come|contain|start|end)\b"
    r"|\bi (?:would |do |really )?(?:only|just|always|never) want\b|\bi want (?:all|every|each|only|no|everything"
    r"|nothing|it|them|any|short|small|your)\b"
    r"|\b(?:my|our) (?:preference|rule|policy|convention|taste|style|standard|house|coding style|team|constraint"
    r"|requirement|budget"
    r"|reviewers?|ci|deadline)s? (?:is|are|for|says?|requires?|style|forbids?|wants?|expects?|prefers?)"
)
_NORM = re.compile(
    r"\bwe (?:always|never|only|strictly|exclusively|don't|do not|must|can only|stick|prefer|avoid|require|target"
    r"|standardi[sz]e"
    r"|support(?= .*\d)|still support|are (?:on|stuck|limited|bound)|have a (?:policy|rule|convention"
    r"|strict))\b(?! (?:know"
    r"|see|need|think"
    r"|have|get|even|really|care))"
    r"|\bwe use (?:[\w.+#-]+ ){0,3}(?:here|only|everywhere|throughout|for (?:all|every|everything)|exclusively|not"
    r"|instead|in this)\b"
    r"|\bwe(?:'re| are) (?:stuck|limited|bound|constrained|restricted|committed|not allowed)\b|\bwe (?:like|love"
    r"|favou?r|value|want) (?!it\b|that\b|this\b|to\b)\w"
    r"|\b(?:minimum|maximum|lowest|oldest|supported|required|target|only) (?:\w+ ){0,3}(?:version|versions|size"
    r"|limit|platform|runtime|browser|level)s? (?:is|are)\b"
    r"|\b(?:the|this) (?:rule|policy|convention|requirement|constraint|limit|deadline|budget|standard"
    r"|deal) (?:here )?is\b"
    r"|\b(?:stays?|remains?|goes(?! on\b)|go(?! on\b)|live|lives|belongs?) (?:\d[\d.]*|in|on|at|as|out|under|below"
    r"|above|within|between"
    r"|inside|with|the same"
    r"|untouched|unchanged|intact|private|secret|compatible|stable|small|short|off|read|where|here|local|\w+ only)\b"
    r"|\b(?:leave|leaves|leaving|left|keep|keeps|keeping|kept|stays?|staying|remains?) (?:\S+ ){0,8}?(?:alone|as[- ]is"
    r"|as (?:it|they) (?:is|are)|untouched|unchanged|intact|in place|to me|secret|private|confidential|out of"
    r"|to yourself"
    r"|between us|under wraps|internal|backward|compatible)\b"
    r"|\b(?:nowhere|nothing|no one|nobody|none) else\b|\bstays? (?:put|where)\b|\b(?:is|are) (?:better"
    r"|more important|worth more) than\b"
    r"|\bi want (?:the|my|our|all) (?:\w+ ){1,3}?(?:\w+ed|written|in|as)\b|^my (?:taste|preference|rule"
    r"|policy|habit|style|approach)\b"
    r"|\bbetween (?:us|you and me|the two of us)\b|\b(?:wh)?at matters\b|\bmatters? (?:more|most)\b"
    r"|\boff the record\b|\b(?:for your|your) eyes only\b|\b(?:strictly|internal) (?:only|confidential)\b"
    r"|\b(?:treat|consider|regard|count|handle) (?:\S+ ){1,8}?as\b"
    r"|\bi(?:'ll| will|'m going to| want to| alone| myself)? (?:\w+ ){1,5}?(?:myself|on my own|by hand)\b"
    r"|\b(?:needs?|wants?|without|until|get|gets|got|with|await|pending|after|ask for|seek|obtain|has|have|before)"
    r" (?:\w+ )?(?:my|our) (?:\w+ )?(?:ok|okay|approval|consent|permission|sign-?off|go-?ahead|review|confirmation"
    r"|blessing|say-so)\b"
    r"|\b(?:check|clear|confirm|agree|align|coordinate|discuss)(?: (?:it|that|this|them|everything"
    r"|anything))? with me\b"
    r"|\b(?:by me|past me|ask me|tell me|warn me|show me|ping me|let me) (?:first|before|beforehand|know before"
    r"|whenever|every)\b"
    r"|\b(?:one|two|three|a single|1) (?:\w+ ){0,2}(?:at a time|at once|per \w+|each)\b|\bstep by step\b"
    r"|\bsmall(?:er)? steps\b"
    r"|\b(?:only|solely|exclusively|nothing|none|nobody|no one|everyone|everything) (?:but|except|i|from|with|in"
    r"|under|inside|outside)\b"
)
_NOMINAL = re.compile(
    r"^max(?:imum|imal)?\b|^min(?:imum|imal)?\b|\bis (?:the|our|a hard) (?:max|min|limit|upper|lower|cap|ceiling"
    r"|floor)|, (?:always|never|please)[.!]*$|"
    r"(?:^|[,;:(–—]\s*|\s-+\s|\b(?:and|with|but) )no (?!longer|errors?\b|output\b|response\b|changes?\b|idea|problem"
    r"|one\b|need|matter|worries|doubt|clue"
    r"|such|way|wonder|luck"
    r"|that|it\b|i\b|we\b|but|this|wait|thanks|sure)[a-z]"
    r"|^(?!(?:that|this|it|there|he|she|they|we|i|you|these|those|was|is)\S*\s)(?:[\w+#.'/-]+ ){1,5}?(?:only"
    r"|not [\w '-]+|throughout|everywhere)(?:,? please)?[.!]*$|^[^,]{2,40}, (?:not"
    r"|never) [^,]{2,40}$"
    r"|\b(?:at most|no more than|not more than|no longer than|at least|max(?:imum)?(?: of)?|up to|fewer than"
    r"|less than|exactly|under|within"
    r"|limit of|cap of|not exceed) (?:a |an )?(?:\d[\d,.]*|one|two|three|four|five|six|seven|eight|nine|ten|twelve"
    r"|twenty|fifty|half|couple"
    r"|dozen|hundred|single) ?(?:-?\w+ )?(?:bullets?|bullet points?|sentences?|words?|lines?|characters?|chars?"
    r"|columns?|paragraphs?|items?|steps?"
    r"|commits?|files?|pages?|points?|minutes?|seconds?|ms|mb|kb|gb|tokens?|dependenc\w+|options?|levels?"
    r"|arguments?|parameters?|times?|%)"
    r"|\bplease[.!]*$"
)
_BOUND = re.compile(
    r"^(?:max(?:imum|imal)?|min(?:imum|imal)?) (?!\w+ed\b)\w|\b(?:is|are) (?:the|our|a hard) (?:max\w*|min\w*|upper"
    r"|lower|cap"
    r"|ceiling|floor)\b|^(?:[\w+#'/-]+ ){0,4}(?:please|everywhere|throughout)[.!]*$"
    r"|\bmay not (?:grow|exceed|contain|use|change|have|go|take|leave|depend|add|break|touch|drop|require|include)\b"
    r"|\b(?:isn't|not) (?:optional|up for debate|negotiable)\b|\bwe (?:write|spell|say|indent|name"
    r"|format) .{1,40}, not\b"
    r"|\b(?:goes|go|belongs?) into\b"
)
_LETS = re.compile(
    r"(?:^|, )let(?:'s|s| us) (?:please |just |also )?(?:not|never|always|only|keep|stick|avoid|leave|stay|limit"
    r"|agree|use|make sure|restrict|hold)\b"
)
_REPORTED = re.compile(
    r"\b(?:invariant|error|exception|warning|message|complain\w*|fails?|failed|says|said|claims?|assert\w*|crash\w*)"
    r" (?:\S+ ){0,3}?(?:that|because|saying|with)\b.*\b(?:must|should|has to|needs to)\b.*"
    r"|\b(?:docs?|documentation|readme|spec|log|compiler|linter|tests?|it) (?:says?|said|claims?|states?|tells? me)\b.*"
    r"\b(?:must|should|has to|needs to)\b.*"
    r"|\b(?:where|what|how|which|why|who|when) (?:\S+ ){1,4}?should .*"
)
"""What somebody or something else says, from where it begins to the end."""


def statement_strength(main: str) -> int:
    """How surely a main clause states a rule by its words: `CERTAIN`, `LIKELY`, `POSSIBLE` or `NONE`."""
    main = _REPORTED.sub("", main)
    if _BAN.search(main) or _NEGATED.search(main) or _PREFER.search(main) or _LETS.search(main):
        return CERTAIN
    if _MUST.search(main) or _ASSURE.search(main) or _NORM.search(main) or _SHOULD.search(main) or claims_rule(main):
        return LIKELY
    if is_wish_for_all(main) or _BOUND.search(main):
        return LIKELY
    return POSSIBLE if _NOMINAL.search(main) or is_wish_without_verb(main) else NONE


def is_norm(main: str) -> bool:
    """True for a clause that says how things are to be, or that something is not allowed."""
    return _NORM.search(main) is not None or _NEGATED.search(main) is not None


def opens_rules(main: str) -> bool:
    """True for a line under which a list of rules stands: a ban or an assurance, such as "do not touch:"."""
    return _BAN.search(main) is not None or _ASSURE.search(main) is not None
