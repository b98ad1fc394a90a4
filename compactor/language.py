"""Which natural language a conversation is in, told from scripts and from the common words of Latin languages.

Takes texts, best those of the user; gives an English name such as `German`. Code, paths, logs and markup are taken out
first, and no text counts for more than a few thousand characters, so that a pasted log does not outweigh its writer.
It is a guess: a few words of a language that shares them with English are taken for English.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

DEFAULT_LANGUAGE = "English"
"""What counts where nothing tells."""

TOTAL_CHARS = 300_000
"""No more is looked at in a whole conversation; where there are too many texts, every n-th one is taken."""

MIN_CHARS = 400
MAX_CHARS = 6_000
"""Bounds of the share of one text; half of it is taken from the start and half from the end."""

MAX_TEXTS = TOTAL_CHARS // MIN_CHARS

WORDS_PER_COMMON_WORD = 2.0
"""Running text of a Latin language has about two words for each of its common words."""

_SCRIPTS: tuple[tuple[str, str, str, float], ...] = (
    # group, language, characters, words in one character; 0 where words are written apart, so that a run is a word
    ("latin", "", "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff", 0),
    ("han", "Chinese", "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af", 0.6),
    ("kana", "Japanese", "\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f", 0.4),
    ("hangul", "Korean", "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af", 0.35),
    ("cyrillic", "Russian", "\u0400-\u052f", 0),
    ("arabic", "Arabic", "\u0620-\u065f\u066e-\u06d3\u06fa-\u06ff\u0750-\u077f", 0),
    ("greek", "Greek", "\u0370-\u03ff\u1f00-\u1fff", 0),
    ("hebrew", "Hebrew", "\u05d0-\u05ea", 0),
    ("devanagari", "Hindi", "\u0900-\u097f", 0),
    ("bengali", "Bengali", "\u0980-\u09ff", 0),
    ("tamil", "Tamil", "\u0b80-\u0bff", 0),
    ("telugu", "Telugu", "\u0c00-\u0c7f", 0),
    ("thai", "Thai", "\u0e01-\u0e5b", 0.25),
    ("georgian", "Georgian", "\u10a0-\u10ff", 0),
    ("armenian", "Armenian", "\u0531-\u058f", 0),
)
_RUN = re.compile("|".join(f"(?P<{group}>[{chars}]+['’]?)" for group, _, chars, _ in _SCRIPTS))
_LANGUAGE = {group: language for group, language, _, _ in _SCRIPTS}
_WORDS_PER_CHAR = {group: words for group, _, _, words in _SCRIPTS}

_KANA_SHARE = 0.1
"""Japanese text has at least this share of kana; Chinese text with a Japanese name in it has less."""

_MARKS: dict[str, tuple[tuple[str, str], ...]] = {
    "Russian": (("Ukrainian", "іїєґІЇЄҐ"), ("Serbian", "јљњђћџЈЉЊЂЋЏ"), ("Russian", "ыэёЫЭЁ")),
    "Arabic": (("Urdu", "ٹڈڑےں"), ("Persian", "پچژگکی")),
}
"""Languages of one script, by letters that only they have."""

_COMMON_WORDS = {
    "English": (
        "the a an and or but if then is are was were be been to of in on at by for with from as it its this that "
        "these those there here not no you your i we our us they them me my have has had do does did can could will "
        "would should must may please thanks when what why how which who where only also just into about make sure so "
        "than after before without all any each don' doesn' didn' isn' it' let' can' won' i' we' you' that'"
    ),
    "German": (
        "der die das den dem des ein eine einen einem einer eines und oder aber nicht ist sind war waren wird werden "
        "wurde haben hat ich du wir sie es mit für auf von zu zum zur im in an aus bei nach auch noch nur wenn dass "
        "als wie was warum bitte danke weiter kein keine keinen mach mache soll sollen kann können muss über alle "
        "alles mir mich uns dann jetzt so doch schon vor ohne nichts diese dieser dieses hier füge ändere behebe "
        "prüfe schreib erstelle lösche starte führe datei dateien fehler zeile funktion"
    ),
    "French": (
        "le la les un une des du de et ou mais pas ne est sont était être avoir avec pour dans sur par que qui ce "
        "cette ces il elle nous vous je tu on au aux plus sans si comme tout tous toutes merci fais faire peux peut "
        "doit aussi donc quand pourquoi comment alors son sa ses mon ma mes ton ta tes votre notre l' d' n' qu' c' j' "
        "s' m' jusqu' corrige corrigez ajoute ajoutez supprime vérifie lance modifie crée écris fichier fichiers "
        "erreur erreurs ligne fonction"
    ),
    "Spanish": (
        "el la los las un una unos unas de del y o pero no es son era está están ser con para por en que qué como "
        "cómo se su sus lo le les al más sin si ya este esta esto ese esa eso todo todos todas muy también cuando "
        "dónde porque hay haz hacer puedes puede debe favor gracias yo tú nos mi me te solo sólo antes después nada "
        "corrige arregla añade agrega elimina borra ejecuta cambia crea revisa escribe archivo archivos pruebas línea "
        "función"
    ),
    "Portuguese": (
        "o a os as um uma de do da dos das e ou mas não nao é são está estão ser com para por em no na nos nas que "
        "como se seu sua ao à aos mais sem já este esta isto esse essa isso todo todos todas muito também quando onde "
        "porque pode faça fazer você voce deve favor obrigado obrigada eu meu minha só pelo pela há antes depois "
        "corrija corrige conserta adicione remova apague rode mude crie verifique escreva arquivo arquivos "
        "erro erros testes linha função"
    ),
    "Italian": (
        "il lo la i gli le un uno una di del dello della dei degli delle e ed o ma non è sono era essere con per in "
        "nel nella nei che chi come si suo sua al alla ai alle più senza se già questo questa questi quello tutto "
        "tutti tutte molto anche quando dove perché può puoi fai fare deve devi favore grazie io mi ti solo da dal "
        "dalla su sul sulla ci ho hai ha prima dopo l' d' c' un' dell' nell' all' dall' sull' quest' correggi "
        "aggiungi rimuovi elimina esegui cambia crea controlla scrivi errore errori riga funzione"
    ),
    "Dutch": (
        "de het een en of maar niet is zijn was worden wordt met voor op van te in aan uit bij naar ook nog alleen "
        "als dat dit deze die wat hoe waarom ik je jij we wij ze zij kan kun moet moeten alle er om geen graag "
        "alsjeblieft bedankt maak doe wel door over dan hebben heeft mijn onze zonder eerst voeg verwijder pas draai "
        "controleer schrijf fout fouten bestand bestanden regel functie"
    ),
    "Polish": (
        "i w z na do nie jest są był była być to ten ta te że się o od po za przez dla jak co kiedy gdzie dlaczego "
        "czy ale lub oraz już tylko też także jeśli proszę dziękuję dzięki zrób może możesz musi mi mnie nam "
        "wszystkie wszystko żeby aby który która które bez przed ze we nic dodaj usuń popraw napraw zmień uruchom "
        "sprawdź napisz plik pliki pliku błąd błędy testy funkcję"
    ),
    "Swedish": (
        "och att det som en ett är var inte på av för med till den de i om har kan ska vi du jag men eller från när "
        "hur varför alla bara också utan vad så tack snälla lägg fixa kör filen felet"
    ),
    "Danish": (
        "og at det som en et er var ikke på af for med til den de i om har kan skal vi du jeg men eller fra når "
        "hvordan hvorfor alle kun også uden hvad så tak ret tilføj kør filen fejlen"
    ),
    "Norwegian": (
        "og å det som en et er var ikke på av for med til den de i om har kan skal vi du jeg men eller fra når "
        "hvordan hvorfor alle bare også uten hva så takk rett fiks kjør filen feilen"
    ),
    "Czech": (
        "a v na se je to že s z do o k i pro ale jako za by si ve nebo když jen už také jak proč co který která které "
        "není jsou bude prosím děkuji všechny při od po aby bez oprav přidej spusť soubor chybu"
    ),
    "Turkish": (
        "bir ve bu da de için ile ne var yok mi mı değil olarak gibi daha çok ama şu ben sen biz her lütfen "
        "teşekkürler nasıl neden sadece olan sonra kadar tüm hata hatayı dosya dosyayı ekle düzelt"
    ),
    "Vietnamese": (
        "và là của có không được cho trong với một các những này khi để người từ đã sẽ hãy tôi bạn vui lòng cũng như "
        "nếu thì"
    ),
    "Indonesian": (
        "yang dan di ini itu untuk dengan tidak dari ke dalam pada adalah akan juga atau saya kamu anda jangan tolong "
        "bisa sudah belum jika semua hanya karena harus terima kasih perbaiki tambahkan hapus jalankan berkas "
        "kesalahan"
    ),
}
"""The small words of each language, and a few of the words that requests to a coding agent are made of."""

_LETTERS = {
    "German": "äöüß",
    "French": "éèêçàùœ",
    "Spanish": "ñáéíóú",
    "Portuguese": "ãõçáéíóúâê",
    "Italian": "àèéìòù",
    "Polish": "ąćęłńóśźż",
    "Swedish": "åäö",
    "Danish": "æøå",
    "Norwegian": "æøå",
    "Czech": "áčďéěíňóřšťúůýž",
    "Turkish": "çğıöşü",
    "Vietnamese": "ơưđăạảấầẩậắằặẹẻếềểệỉịọỏốồổộớờợụủứừửữựỳỵ",
}

LETTER_WEIGHT = 0.5
"""What a letter tells, against a common word."""


def _shares(signs: dict[str, Sequence[str]], weight: float) -> dict[str, tuple[tuple[str, float], ...]]:
    """For each sign the languages that have it, each with its share of the weight."""
    owners: dict[str, list[str]] = {}
    for language, items in signs.items():
        for item in dict.fromkeys(items):
            owners.setdefault(item, []).append(language)
    return {item: tuple((language, weight / len(names)) for language in names) for item, names in owners.items()}


_WORD_SHARES = _shares({language: words.split() for language, words in _COMMON_WORDS.items()}, 1.0)
_LETTER_SHARES = _shares({language: tuple(letters) for language, letters in _LETTERS.items()}, LETTER_WEIGHT)

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE)
_INLINE_CODE = re.compile(r"`[^`\n]*`")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]*>")
_CODE_LINE = re.compile(
    r"^(?:(?: {4}|\t).*|[ \t]*(?:[$>#%] |>>> |at |File \"|\d{2,4}[-:/]\d\d).*|[-+](?![ -]).*|.*[;{}][ \t]*)$",
    re.MULTILINE,
)
_ASCII_RUN = re.compile(r"[!-~]+")
_TECHNICAL = re.compile(r"[/\\_@#=<>{}|$~^&+\d]|[a-z][A-Z]|\w[.(:]+\w|^--?\w")


def conversation_language(texts: Iterable[str]) -> str:
    """The English name of the language that most of the natural text is in.

    Args:
        texts: what was said, best by the user alone; each counts by its length, up to a bound.
    """
    listed = [text for text in texts if text]
    listed = listed[:: -(-len(listed) // MAX_TEXTS) or 1]
    room = min(MAX_CHARS, TOTAL_CHARS // max(1, len(listed)))
    # In this order, so that of two languages with the same count the one that comes first is taken.
    words = dict.fromkeys((*_COMMON_WORDS, *_LANGUAGE.values()), 0.0)
    common = dict.fromkeys(_COMMON_WORDS, 0.0)
    for text in listed:
        _count(_natural(_sample(text, room)), words, common)
    for language, score in common.items():
        words[language] += score * WORDS_PER_COMMON_WORD
    # Rounded, so that the order of additions does not part languages with the same count.
    best = max(words, key=lambda language: round(words[language], 6))
    return best if words[best] else DEFAULT_LANGUAGE


def _sample(text: str, room: int) -> str:
    """The start and the end of a long text; a wish often stands before or after what was pasted."""
    if len(text) <= room:
        return text
    return f"{text[: room // 2]}\n{text[-room // 2 :]}"


def _natural(text: str) -> str:
    """The text without code, markup, paths, addresses, numbers and logs."""
    text = _FENCE.sub("\n", text)
    text = _INLINE_CODE.sub(" ", text)
    text = _TAG.sub(" ", text)
    text = _CODE_LINE.sub("", text)
    text = _ASCII_RUN.sub(
        lambda run: " " if _TECHNICAL.search(run.group().rstrip(".,:;!?)*\"'")) else run.group(), text
    )
    return unicodedata.normalize("NFC", text)


def _count(text: str, words: dict[str, float], common: dict[str, float]) -> None:
    """Adds what a text tells: words of the languages that have a script, common words and letters of the Latin ones."""
    found = dict.fromkeys(_LANGUAGE, 0.0)
    for group, run in _runs(text):
        if group == "latin":
            _count_latin(run.casefold(), common)
        else:
            found[group] += len(run) * _WORDS_PER_CHAR[group] or 1
    both = found["kana"] + found["han"]
    japanese = found["kana"] >= _KANA_SHARE * both
    found |= {"kana": both if japanese else 0.0, "han": 0.0 if japanese else both}
    for group, count in found.items():
        if count:
            language = _LANGUAGE[group]
            name = _marked(language, text) if language in _MARKS else language
            words[name] = words.get(name, 0.0) + count


def _runs(text: str) -> Iterator[tuple[str, str]]:
    for match in _RUN.finditer(text):
        assert match.lastgroup is not None
        yield match.lastgroup, match.group()


def _count_latin(word: str, common: dict[str, float]) -> None:
    for language, share in _WORD_SHARES.get(word.replace("’", "'"), ()):
        common[language] += share
    if not word.isascii():
        for letter in word:
            for language, share in _LETTER_SHARES.get(letter, ()):
                common[language] += share


def _marked(language: str, text: str) -> str:
    """The language of a shared script whose own letters stand in the text most often."""
    counts = {name: sum(map(text.count, letters)) for name, letters in _MARKS[language]}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else language
