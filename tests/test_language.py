"""Which language a conversation is in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.language import DEFAULT_LANGUAGE, conversation_language

SENTENCES = [
    ("English", "The upload stops after two minutes. Please find out why and write a test for it."),
    ("English", "Rename the flag"),
    ("English", "ok"),
    ("English", "Don't touch the docs; it's fine the way it is."),
    ("German", "Bitte behebe den Fehler im Parser und führe danach die Tests aus."),
    ("German", "Füge einen Test hinzu, aber ändere nichts an der Schnittstelle."),
    ("German", "mach weiter"),
    ("French", "Explique-moi pourquoi le test ne passe pas, puis corrige l'erreur."),
    ("French", "N’ajoute aucune dépendance, s’il te plaît."),
    ("Spanish", "Arregla el error del formulario y no toques los archivos de configuración."),
    ("Spanish", "¿Por qué falla esta prueba? Explícalo antes de cambiar nada."),
    ("Portuguese", "Corrija o erro no arquivo de configuração e não mexa nos testes."),
    ("Portuguese", "Você pode explicar por que isso não funciona?"),
    ("Italian", "Correggi l'errore nel modulo e non cambiare gli altri file."),
    ("Italian", "Perché questa funzione è così lenta?"),
    ("Dutch", "Los de fout op en draai daarna alle tests, maar verander het schema niet."),
    ("Dutch", "Waarom is dit zo traag?"),
    ("Polish", "Napraw błąd w parserze i uruchom wszystkie testy, proszę."),
    ("Polish", "Dlaczego to nie działa?"),
    ("Swedish", "Kan du förklara varför det här inte fungerar och fixa felet?"),
    ("Danish", "Kan du forklare hvorfor det her ikke virker, og hvad jeg skal gøre?"),
    ("Norwegian", "Kan du forklare hvorfor dette ikke virker, og hva jeg skal gjøre uten å starte på nytt?"),
    ("Czech", "Proč to nefunguje? Oprav chybu a spusť všechny testy, prosím."),
    ("Turkish", "Bu hata neden oluyor? Lütfen düzelt ve bir test ekle."),
    ("Vietnamese", "Hãy sửa lỗi này và chạy tất cả các bài kiểm tra cho tôi."),
    ("Indonesian", "Tolong perbaiki kesalahan ini dan jangan ubah berkas yang lain."),
    ("Chinese", "请修复登录页面的错误,然后运行测试。"),
    ("Chinese", "修复 login 里的 bug,run tests 之后 commit"),
    ("Chinese", "請不要修改設定檔"),
    ("Chinese", "继续"),
    ("Japanese", "テストが失敗する原因を調べてください。"),
    ("Japanese", "設定ファイルは変更しないで"),
    ("Korean", "테스트가 실패하는 이유를 설명하고 고쳐 주세요."),
    ("Russian", "Исправь ошибку в parser и запусти тесты."),
    ("Ukrainian", "Виправ помилку в парсері та запусти всі тести."),
    ("Serbian", "Исправи грешку у датотеци и не мењај ништа друго, љубазно молим."),
    ("Arabic", "أصلح الخطأ في الملف ثم شغل الاختبارات."),
    ("Persian", "لطفاً این خطا را درست کن و چیز دیگری را تغییر نده."),
    ("Greek", "Διόρθωσε το σφάλμα και τρέξε τα τεστ."),
    ("Hebrew", "תקן את השגיאה בקובץ והרץ את הבדיקות."),
    ("Hindi", "कृपया इस त्रुटि को ठीक करें और परीक्षण चलाएँ।"),
    ("Thai", "ช่วยแก้ข้อผิดพลาดในไฟล์นี้แล้วรันการทดสอบ"),
]

CODE = [
    "```python\nfor the_item in of_this:\n    print('the and of is not what it was')\n```",
    "~~~\nthe and of is not to be\n~~~",
    "```\nan open fence: the and of is not what it was",
    "`the and of is not what it was`",
    "src/the/and/of/is.py to_the_and_of --with-the --for-this https://the.and/of?is=not",
    "<environment the='and' of='is'>",
    '    indented = "the and of is not what it was"',
    "$ grep the and of is not what it was",
    "2026-01-02 10:00:00 the request was not sent to the server and it is not clear why",
    '  File "the.py", line 3, in the and of is not what it was',
    "+the and of is not what it was",
    "theAndOf isNotWhat itWas the::and of(it)",
]


@pytest.mark.parametrize(("language", "text"), SENTENCES)
def test_the_language_of_one_sentence_is_recognised(language: str, text: str) -> None:
    assert conversation_language([text]) == language


@pytest.mark.parametrize("texts", [[], [""], ["42"], ["\n \t"], ["🙂🙂"], ["https://example.org/x"], ["\ud800"]])
def test_english_is_taken_where_nothing_tells(texts: list[str]) -> None:
    assert conversation_language(texts) == DEFAULT_LANGUAGE == "English"


@pytest.mark.parametrize("code", CODE)
@pytest.mark.parametrize("sentence", ["Warum schlägt das fehl?", "为什么失败了?", "Почему падает?"])
def test_code_paths_and_logs_do_not_sway_it(code: str, sentence: str) -> None:
    assert conversation_language([f"{sentence}\n{code}\n"]) == conversation_language([sentence]) != "English"


def test_the_language_of_most_of_the_text_wins() -> None:
    german, english = (
        "Bitte prüfe das noch einmal und sag mir, was du findest.",
        "Thanks, that is what I wanted to see.",
    )
    assert conversation_language([german] * 3 + [english]) == "German"
    assert conversation_language([german] + [english] * 3) == "English"


def test_a_pasted_document_does_not_outweigh_the_messages_around_it() -> None:
    paste = "This is the manual of the program and it is not in the language of the user. " * 2000
    talk = ["请把这份文件翻译成中文,并检查里面的每一条命令是否仍然有效,不要改动原来的格式。"] * 60
    assert conversation_language([*talk, paste]) == "Chinese"


def test_a_wish_before_or_after_a_long_paste_counts() -> None:
    paste = "```\n" + "the log of the run was not kept\n" * 2000 + "```\n"
    for text in (f"Warum ist das so langsam?\n{paste}", f"{paste}\nWarum ist das so langsam?"):
        assert conversation_language([text]) == "German"


def test_letters_in_two_pieces_count_as_one() -> None:
    assert conversation_language(["O\u0308ffne Tu\u0308r"]) == conversation_language(["Öffne Tür"]) == "German"


def test_a_japanese_name_does_not_make_chinese_text_japanese() -> None:
    assert conversation_language(["请检查变量名是不是正确,并把标题里的カ改掉,其他的内容都不要动。"]) == "Chinese"


def test_of_many_messages_a_spread_out_sample_is_read() -> None:
    assert conversation_language(["Hola, ¿qué tal está el servidor hoy?"] * 20_000) == "Spanish"


@given(st.lists(st.text(alphabet=st.characters()), max_size=5))
def test_any_text_has_a_language_and_always_the_same(texts: list[str]) -> None:
    language = conversation_language(texts)
    assert language == conversation_language(list(texts))
    assert language.isalpha()


@given(st.text(alphabet=st.characters(), max_size=60), st.integers(2, 5))
def test_saying_a_thing_more_often_does_not_change_its_language(text: str, times: int) -> None:
    assert conversation_language([text] * times) == conversation_language([text])
