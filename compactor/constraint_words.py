"""Words of languages other than English by which a sentence is known to state a rule, and headings of rules in all.

Takes one sentence of a user; gives a strength as `constraint_cues` does. A language costs nothing where its script or
its own function words are absent. Chinese, Japanese and Korean need no blanks around words; the European tables do.
"""

import re

from compactor.constraint_orders import CERTAIN, LIKELY, NONE

_HAN = re.compile("[\u3400-\u9fff]")
_KANA = re.compile("[\u3040-\u30ff]")
_HANGUL = re.compile("[\uac00-\ud7af]")
_CYRILLIC = re.compile("[\u0400-\u04ff]")

_CHINESE = re.compile(
    "不能(?=出现|写|提|放|用(?!了)|改|动(?!不)|删|推|包含|有|超过|少于|泄|公开|暴露|修改|破坏|引入|依赖)"
    "|不要(?!紧)|不许|不准|不得(?!不)|请勿|切勿|切记|禁止|严禁|勿(?=[^论])|不可(?=[以在用修改删提推把将让写动泄])"
    "|不允许|不应|避免|杜绝|千万|务必|必须|一定要|一定别|绝不|绝对(?:不|要|别)"
    "|(?<![特区类级分识个性辨差鉴告离派送])别(?=[再把给在去让动改碰删提推用写加乱跑装升打说问输创自随直发合泄忘做搞引带])"
    "|(?:你|我们|也|都|都不|绝|决|千万|之前|前|，|、|：|^)不能(?=出现|写|提|放|用|改|动|删|推|包含|有|超过|少于"
    "|泄|公开|暴露|修改|破坏|引入|依赖)|(?:你|我们)不能(?!正常|运行|用了|工作|编译|启动|显示|打开)"
    "|只(?:能|准|许|需|用|改|修改|允许|读|可|在|给|输出|返回|回答|回复|提交|做|写|动|保留|使用|接受|看)|仅(?:限"
    "|可|能|用|修改|允许|供|输出|在|使用|支持)|只读|始终|一律|永远(?:不|要|用|别)|一直用"
    "|每(?:次|个|条|一次|一个|一步|当|轮|份|行)(?=.{0,30}?(?:都|要|必|先|前|后|应|不|请|用|只|需|以))|统一(?:用"
    "|使用|为|采用|成)|全(?:部|程|都)(?:用|使用|要|以|必须|保持)"
    "|保持(?!住).{0,20}|保密|机密|泄[露漏]|不(?:对外|公开|外传|外泄)|从现在(?:开始|起)|从今(?:以|往)?后|今后"
    "|以后(?:都|请|每|不|要|别|只|用|再)|接下来(?:都|请|的|只|不)|往后"
    "|(?:本次|这次|这个|整个|当前|此次)(?:会话|对话|聊天|任务|项目|过程)(?:里|中|内|期间|剩余|接下来|结束|，|都"
    "|请|只|不|必)|在?(?:剩下|剩余|其余|余下)的?(?:会话|对话|时间|任务|过程|部分)|直到我|除非|在我.{0,10}之?前"
    "|优先(?:用|使用|考虑|选|采用|于)|最好(?!的)|尽量|希望(?:你|能|代码|所有|每|不|回)|我(?:更|比较)?(?:喜欢|偏好"
    "|倾向|习惯|讨厌|不喜欢|不想|不希望|宁愿|宁可)|我(?:更|比较)?(?:想|希望).{0,12}(?:不|用|保持|只)"
    "|(?:请|都|要|均|统一|默认|以后|都要|全部)(?:用|使用|以|采用)|用(?:中文|英文|英语|汉语|日语|德语|法语|简体"
    "|繁体|表格|列表|JSON|json|纯文本|一句话).{0,10}|(?:回答|回复|输出|答复|说明|注释|提交信息|文档)(?:都|要|必须"
    "|请|需|应|不|只|用|控制|限|尽|不要|时|里|中|以|得|，)"
    "|不(?:超过|多于|少于|长于|大于)|最多|至少|以内|控制在|先(?:问|征求|征得|告诉|通知|确认|和我|跟我|给我看|跑"
    "|运行|写测试|等|经)|(?:问|经|征得|征求|等|得到|获得)(?:过|一下)?我|未经|经我|我(?:确认|同意|批准|审核|点头"
    "|说可以)"
    "|不需要|无需|不必|不用(?=[加写改管跑做再提推])|记得|记住|请注意|注意(?:：|:|，|不|要|保|别|一定)|遵(?:守|循"
    "|照)|按(?:照|我|以下|项目|原|现有)|以.{1,12}为准|不动|原样|保留|应(?:该|当)(?:始终|总|先|只|使用|用|保|避|不"
    "|在|与|和)|不再|以.{1,12}格式"
)
_CHINESE_QUESTION = re.compile("[吗呢么]\\s*[？?]?$|[？?]\\s*$|^(?:为什么|怎么|为何|如何|是不是|是否|有没有|哪|什么)")
_CHINESE_POLITE = re.compile("^(?:能不能|能否|可不可以|可否|可以|麻烦).{0,6}(?:不要|别|只|都|用|先|保持)")

_JAPANESE = re.compile(
    "しないで|ないで(?:くだ|下さ|ほし|欲し|ね|。|$)|ないこと|てはいけ|てはなら|ちゃだめ|ではいけ|てはだめ|禁止"
    "|厳禁|絶対|必ず|常に|つねに|いつも.{0,20}(?:して|で|使)|決して|勝手に|以外(?:は|の|を)|のみ|だけ(?:を|に|で"
    "|は|使|変|編|修)"
    "|今後(?:は|も|、)|これから(?:は|も|、)|今から|この(?:セッション|会話|チャット|プロジェクト|タスク)(?:の間|中"
    "|では|の残り|が終わ|、)|セッションの(?:残り|間)|避けて|控えて|べき(?:で|だ|では)|ほうがいい|方がいい|好み"
    "|好き(?:です|だ)|嫌い|希望|ほしい|欲しい|いただきたい"
    "|(?:を|は|に)使(?:って|わない|わず|う(?:こと|よう))|ようにして|よう(?:に)?お願い|こと[。！]?$"
    "|ください.{0,4}(?:今後|毎回)|毎回|(?:する|した|の)(?:前|後)に(?:は|必|、|私|確|テ|聞|許)|許可(?:なし|を|が"
    "|な)|確認(?:してから|を取|をと|なし)|承認|以内|以下(?:に|で)|最大|多くても|秘密|機密|内緒|公開しない|漏ら"
    "|触らない|触れない"
    "|(?:日本語|英語|中国語|ドイツ語|敬語|箇条書き|表|JSON|json|一文|短く|簡潔に)(?:で|に|だけ).{0,12}|そのまま"
    "|残して|維持|保って|従って|守って|統一|優先"
)
_JAPANESE_QUESTION = re.compile(
    "(?:ですか|ますか|でしょうか|のか|かな|でしたか|ましたか)[。？?]?$|[？?]$|^(?:なぜ|どうして|何|どこ)"
)
_KOREAN = re.compile(
    "(?:하|지|건드리|쓰|넣|바꾸|수정하|추가하|푸시하)지 ?(?:마|말)|말아|말 것|금지|반드시|꼭|항상|절대|앞으로"
    "|지금부터|이 세션|오직|만 (?:사용|수정|써|변경|편집)|선호|먼저 .{0,15}(?:물어|확인|승인)|비밀|이내|이하로"
    "|최대|(?:한국어|영어)로|하기 전에|유지해|해야"
)
_RUSSIAN = re.compile(
    r"(?:^|[\s,;:—-])(?:не (?:надо|нужно|следует|стоит|\w+(?:й|йте|и|ите|ть|ь|ьте))|никогда|нельзя|запрещ\w+"
    r"|всегда|только|обязательно"
    r"|должн\w+|отныне|впредь|с этого момента|до конца|избегай\w*|предпочита\w+|лучше|без (?:моего|эмодзи)"
    r"|прежде чем|перед (?:каждым|тем)"
    r"|отвечай\w*|пиши|используй\w*|оставь\w*|сохраняй\w*|держи\w*|секрет\w*|не более|максимум|спрашивай\w*)"
)

_GERMAN = re.compile(
    r"\b(?:niemals|nie(?! (?:gesehen|gehört|funktioniert|passiert))|keinesfalls|auf keinen fall"
    r"|unter keinen umständen|keine?[mnrs]? (?!ahnung|problem|idee|lust|zeit)\w+"
    r"|nicht (?:anfassen|ändern|verändern|löschen|pushen|committen|ohne|mehr|verwenden|benutzen|erwähnen|ausgeben"
    r"|in|direkt|anrühren|überschreiben|weitergeben|nennen|automatisch)"
    r"|ausschließlich|stets|immer(?! (?:noch|wieder))|nur(?! (?:noch )?(?:so|mal|kurz))|darf(?:st)?|dürfen"
    r"|muss(?:t)?|müssen|soll(?:st|en|te|ten)?|vermeide\w*|verwende\w*|benutze?n?|nutze?n?"
    r"|lass(?:e|en sie)?|halte?(?:n)?|bleib\w*|antworte\w*|schreib\w* (?:\w+ )*(?:auf|in|alle|jede|immer|kurz|nur)"
    r"|beantworte\w*|frag\w* (?:mich|vorher|zuerst|erst)"
    r"|ab (?:jetzt|sofort|heute|nun)|von (?:jetzt|nun) an|künftig|in zukunft|bis auf weiteres|bis ich|für den rest"
    r"|während (?:der|dieser)|in dieser (?:sitzung|session)"
    r"|bevor du|vor (?:jedem|jeder|dem|der)|nach (?:jedem|jeder)|ohne (?:meine|zu|emojis|neue|dass)"
    r"|statt(?:dessen)?|anstatt|anstelle|höchstens|maximal|mindestens|nicht mehr als|nicht länger"
    r"|ich (?:bevorzuge|möchte|mag|hätte gern\w*|ziehe|hasse|will (?:nicht|keine?n?|nur|dass))|mir (?:ist"
    r"|wäre) .{0,12}(?:lieber|wichtig)|am liebsten|lieber|bevorzugt|achte\w* (?:darauf|auf)|stell\w* sicher"
    r"|sorge? dafür|wichtig(?::| ist)|vertraulich|geheim\w*|behalt\w*|respektier\w*|beachte\w*|halt dich"
    r"|unverändert|tabu|verboten|nicht erlaubt)(?!\w)"
)
_GERMAN_BAN = re.compile(
    r"^(?:bitte )?(?!(?:das|dass|es|der|die|den|dem|ich|wir|hier|dies\w*|jetzt|leider|ein\w*|mein\w*|geht|läuft"
    r"|klappt|ist|sind"
    r"|war\w*|hat|kann|funktioniert|noch|aber|und|wenn|er|sie|du|warum|wieso|weshalb|vielleicht|so"
    r"|da)\b)\w+ .*\bnicht\b"
)
_IN_LANGUAGE = re.compile(
    r"^(?:(?:ab jetzt|bitte|por favor|nur|alles|immer|tout|todo|tutto|sempre|toujours|siempre"
    r"|solo)[, ]+)*(?:auf (?:deutsch"
    r"|englisch|französisch|spanisch|italienisch|russisch|polnisch|türkisch|niederländisch)|en (?:français|anglais"
    r"|allemand"
    r"|espagnol|español|inglés|francés|alemán|castellano|português)|in (?:italiano|inglese)|em (?:português|inglês))\b"
    r"(?:[, ]+(?:bitte|antworten|merci|s'il (?:te|vous) plaît|por favor|per favore|solo|uniquement|nur|immer))*[.!]*$"
)
"""A language and nothing but please around it."""
_GERMAN_MARK = re.compile(
    r"\b(?:der|die|das|und|nicht|ist|ich|du|mit|auf|für|bitte|ein|eine|einen|den|dem|zu|im|vor|kein|keine|keinen"
    r"|nur|immer|alle|jede|jeder|jedem|nie|niemals|mich|mir|an|auf|ab|von|jetzt|wenn|bevor|ohne|sie|deutsch"
    r"|englisch)\b"
)
_FRENCH = re.compile(
    r"\b(?:n(?:e |')(?:\w+[ -]){1,4}?(?:pas|jamais|plus|rien|que|aucune?)|ne (?:pas|jamais|plus)|jamais|toujours"
    r"|uniquement|seulement|exclusivement|évite[rz]?|interdit\w*|il (?:ne )?faut|tu (?:dois|devrais|peux)"
    r"|vous (?:devez|devriez|pouvez)|doi(?:t|vent)|veuillez|s'il (?:te|vous) plaît|merci de|je (?:préfère|veux"
    r"|voudrais|souhaite|préférerais|déteste|n'aime)|j'aime(?:rais)?|sans|avant (?:de|chaque|tout)|après chaque"
    r"|à partir de maintenant|désormais|dorénavant"
    r"|jusqu'à|pour le reste|pendant (?:cette|toute)|au (?:plus|maximum|moins)|maximum|aucune?|réponds?|répondez"
    r"|garde[rz]?|laisse[rz]?|utilise[rz]?|assure[- ](?:toi|vous)|demande[- ]moi|important|confidentiel\w*|secret"
    r"|respecte[rz]?|plutôt)(?!\w)"
)
_FRENCH_MARK = re.compile(
    r"\b(?:les?|du|des|une?|et|pour|dans|pas|ne|ce|cette|que|qui|avec|sur|vous|je|français|anglais|jamais|toujours"
    r"|avant"
    r"|chaque|aucune?|tous|toutes)\b|\b[ndlcsj]'(?=[aeéèiouh])"
)
_SPANISH = re.compile(
    r"\b(?:no (?:\w+ ){0,2}?(?:\w+(?:es|as|en|an|ar|er|ir)|se)(?!\w)|nunca|jamás|siempre|solo|sólo|solamente"
    r"|únicamente|exclusivamente|evit[ae]\w*|deb(?:es|e|en|erías|emos)|hay que|tienes que|por favor|prefiero"
    r"|preferiría"
    r"|quiero que|no quiero|me gustaría|me gusta\w*|sin|antes de|después de cada|a partir de ahora"
    r"|de ahora en adelante|en adelante|hasta que|durante (?:el|la|esta|toda)|el resto de|prohibid\w+"
    r"|como (?:máximo|mucho|mínimo)|máximo|ning[uú]n\w*"
    r"|mant[eé]n\w*|deja|responde|contesta|escribe|usa|utiliza|asegúrate|pregúntame|importante|confidencial"
    r"|secreto|en lugar de|en vez de|respeta|a menos que|mejor)(?!\w)"
)
_SPANISH_MARK = re.compile(
    r"\b(?:el|la|los|las|del|un|una|es|y|en|para|por|que|con|se|al|mi|tu|español|inglés|cada|antes|nunca|siempre"
    r"|prefiero|funciones|usa|código|archivos?|pruebas|respuestas?)\b|[¡¿ñ]"
)
_ROMANCE = re.compile(
    r"\b(?:não|nunca|sempre|apenas|somente|evite|deve(?:m)?|por favor|prefiro|quero que|a partir de agora|até que"
    r"|sem|proibido|no máximo|mantenha|responda|use"
    r"|non|mai|soltanto|evita|devi|deve|devono|per favore|preferisco|voglio che|d'ora in poi|finché|senza|vietato"
    r"|al massimo|mantieni|rispondi|usa)(?!\w)"
)
_ROMANCE_MARK = re.compile(
    r"\b(?:não|uma|você|os|da|do|em|é|português|il|gli|della|che|di|questo|sono|italiano|è|per|con|nel)\b"
)

_RULES_LEAD = re.compile(
    r"(?:[\w' ,&-]{0,40}\b)?(?:rules?|constraints?|requirements?|preferences?|guidelines?|conventions?"
    r"|restrictions?|ground rules"
    r"|please note|keep in mind|important|reminders?|dos? and don'?ts|code style|style(?: guide)?|limits?|instructions)"
    r"(?: [\w' ,&-]{0,40})?[:：]?$|.{0,12}(?:规则|要求|约束|注意(?:事项)?|规范|限制|约定|偏好|原则|条件|ルール"
    r"|注意|制約|条件|規約).{0,8}[:：]?$"
    r"|(?:[\wäöü' -]{0,30}\b)?(?:regeln|vorgaben|anforderungen|règles|contraintes|consignes|reglas|requisitos"
    r"|restricciones)"
    r"(?: [\wäöü' -]{0,30})?[:：]?$"
)


def heads_rules(line: str) -> bool:
    """True for a heading in any of the languages under which a list of rules stands, such as "house rules:"."""
    return _RULES_LEAD.match(line) is not None


_SCOPED = re.compile(
    r"\b(?:for|throughout|during) the (?:rest|whole|entire)\b|\bfrom now on\b|\buntil (?:i|further)\b|从现在|会话"
)
_OWN_HEADING = re.compile(
    r"\W*(?:(?:my|our|user|hard|global) )?(?:constraints?|preferences|requirements|约束|要求|限制)\W*$"
)


def is_meant_here(line: str, lead: str) -> bool:
    """True for a sentence of a pasted document that speaks of this session, or stands under a heading for rules."""
    return _SCOPED.search(line) is not None or (bool(lead) and _OWN_HEADING.match(lead) is not None)


def other_strength(sentence: str) -> int:
    """How surely a sentence in another language than English states a rule: `CERTAIN`, `LIKELY` or `NONE`.

    Args:
        sentence: one line in lower case, with straight quotes and single blanks.
    """
    if _KANA.search(sentence):
        return CERTAIN if _JAPANESE.search(sentence) and not _JAPANESE_QUESTION.search(sentence) else NONE
    if _HAN.search(sentence):
        if _CHINESE_QUESTION.search(sentence):
            return LIKELY if _CHINESE_POLITE.search(sentence) else NONE
        return CERTAIN if _CHINESE.search(sentence) else NONE
    if sentence.endswith("?"):
        return NONE
    if _HANGUL.search(sentence):
        return CERTAIN if _KOREAN.search(sentence) else NONE
    if _IN_LANGUAGE.match(sentence):
        return CERTAIN
    if _GERMAN_BAN.match(sentence) and _GERMAN_MARK.search(sentence):
        return LIKELY
    if _CYRILLIC.search(sentence):
        return CERTAIN if _RUSSIAN.search(sentence) else NONE
    for words, mark, needed in _EUROPEAN:
        if words.search(sentence) and len(set(mark.findall(sentence))) >= needed:
            return CERTAIN
    return NONE


_EUROPEAN = (
    (_GERMAN, _GERMAN_MARK, 1),
    (_FRENCH, _FRENCH_MARK, 1),
    (_SPANISH, _SPANISH_MARK, 1),
    (_ROMANCE, _ROMANCE_MARK, 2),
)
