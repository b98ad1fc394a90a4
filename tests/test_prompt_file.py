"""The shipped prompts, and finding and reading prompts."""

import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import compactor
from compactor.errors import PromptError
from compactor.model import RequestKind
from compactor.prompt import VARIABLE_NAMES, PromptVariables, assemble, render_instructions
from compactor.prompt_file import PromptInfo, load_prompts, shipped_prompts
from compactor.summary import PROGRESS_PARTS, SECTIONS, SectionSet, parse_summary

NAMES = [info.name for info in shipped_prompts()]
EXPERIMENTS = [name for name in NAMES if name != "default"]
PACKAGE = Path(compactor.__file__).parent
PROMPTS = next(folder for folder in (PACKAGE / "prompts", PACKAGE.parent / "prompts") if folder.is_dir())
"""In a checkout the folder beside the package, in an installed package the one inside of it."""
README = PROMPTS / "README.md"

CASES: list[tuple[RequestKind, SectionSet, str | None]] = [
    ("history", "history", None),
    ("history", "history", "## Goal\nolder"),
    ("turn_prefix", "turn_prefix", None),
    ("branch", "branch", None),
    ("part", "history", None),
    ("part", "turn_prefix", None),
    ("part", "branch", None),
    ("merge", "history", None),
    ("merge", "history", "## Goal\nolder"),
    ("merge", "turn_prefix", None),
    ("merge", "branch", None),
]


def task(name: str, kind: RequestKind = "history", **values: object) -> str:
    """The task that a prompt renders."""
    variables = {"kind": kind, "conversation": "[User]: hello", "part": 2, "part_count": 3} | values
    return assemble(load_prompts(name), PromptVariables(**variables)).task  # type: ignore[arg-type]


def headings(text: str) -> list[str]:
    """The lines that are headings."""
    return re.findall(r"^#.*$", text, re.MULTILINE)


def expected_headings(sections: SectionSet) -> list[str]:
    """The headings of a summary, as they have to be written."""
    lines = []
    for name in SECTIONS[sections]:
        lines.append(f"## {name}")
        if name == "Progress":
            lines += [f"### {part}" for part in PROGRESS_PARTS]
    return lines


def test_the_default_prompt_is_listed_first_and_then_the_others_by_name() -> None:
    assert NAMES[0] == "default"
    assert sorted(EXPERIMENTS) == EXPERIMENTS
    assert {"scope", "constraints_first", "terse", "chinese"} <= set(EXPERIMENTS)


def test_every_shipped_prompt_states_its_idea_in_one_line() -> None:
    ideas = [info.idea for info in shipped_prompts()]
    assert all(20 < len(idea) < 160 and "\n" not in idea and idea.endswith((".", "?")) for idea in ideas)
    assert len(set(ideas)) == len(ideas)


@pytest.mark.parametrize(("name", "case"), list(itertools.product(NAMES, CASES)))
def test_every_shipped_prompt_asks_for_all_sections_of_every_kind_in_order(
    name: str, case: tuple[RequestKind, SectionSet, str | None]
) -> None:
    kind, sections, previous = case
    text = task(name, kind, whole=sections, previous_summary=previous)
    assert headings(text) == expected_headings(sections)


@pytest.mark.parametrize("name", NAMES)
def test_the_headings_that_a_prompt_asks_for_are_those_that_a_summary_is_read_by(name: str) -> None:
    document = parse_summary(task(name))
    assert (document.missing, document.doubled) == ((), ())


@pytest.mark.parametrize(("name", "case"), list(itertools.product(NAMES, CASES)))
def test_every_shipped_prompt_reads_the_same_way_throughout(
    name: str, case: tuple[RequestKind, SectionSet, str | None]
) -> None:
    kind, sections, previous = case
    values = {
        "whole": sections,
        "previous_summary": previous,
        "focus": "the port",
        "user_constraints": ("Keep A.", "B!"),
    }
    text = task(name, kind, **values)
    assert "\n\n\n" not in text
    assert "None" not in text
    assert not re.search(r"[{}]|[ \t]$", text, re.MULTILINE)
    assert text.count("the port") == 1
    assert "\n> Keep A.\n> B!\n" in text
    assert ("<previous-summary>" in text) == (previous is not None)
    assert "<read-files>" in text


@pytest.mark.parametrize("name", NAMES)
def test_every_shipped_prompt_uses_the_conversations_language(name: str) -> None:
    text = task(name, language="Dutch")
    assert ("Write in Dutch" in text) != (name == "chinese")
    assert ("一律用中文书写" in text) == (name == "chinese")


@pytest.mark.parametrize("name", NAMES)
def test_a_part_is_told_which_part_it_is_and_a_merge_how_many_there_are(name: str) -> None:
    part = task(name, "part", part=2, part_count=7)
    assert re.search(r"part 2 of 7|第 2 部分，共 7 部分", part)
    assert "of 7" not in task(name, part=0, part_count=0)
    assert "7 consecutive parts" in task(name, "merge", part_count=7)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_differs_from_the_default_in_the_history_with_and_without_previous_summary(name: str) -> None:
    for previous in (None, "## Goal\nolder"):
        assert task(name, previous_summary=previous) != task("default", previous_summary=previous)
    assert task(name) != task(name, previous_summary="## Goal\nolder")


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name != "chinese"])
def test_an_experiment_adds_its_idea_and_keeps_the_rest_of_the_default_prompt(name: str) -> None:
    for previous in (None, "## Goal\nolder"):
        ours, base = (task(n, previous_summary=previous).split("\n") for n in (name, "default"))
        start = next(n for n, (a, b) in enumerate(zip(ours, base, strict=False)) if a != b)
        added = len(ours) - len(base)
        assert ours[:start] + ours[start + added :] == base


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_leaves_the_other_kinds_to_the_default_prompt(name: str) -> None:
    for kind in ("turn_prefix", "branch", "merge"):
        assert task(name, kind) == task("default", kind)  # type: ignore[arg-type]


def test_each_prompt_has_a_hash_of_its_own_that_is_the_same_each_time() -> None:
    hashes = [load_prompts(name).sha256 for name in NAMES]
    assert len(set(hashes)) == len(NAMES)
    assert hashes == [load_prompts(name).sha256 for name in NAMES]


def test_the_readme_of_the_prompts_names_every_prompt_and_every_variable() -> None:
    text = README.read_text(encoding="utf-8")
    first_cells = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    named = set(re.findall(r"`(\w+)`", " ".join(first_cells)))
    assert named >= {*NAMES, *VARIABLE_NAMES}


def test_the_example_of_the_readme_is_a_prompt_that_works(tmp_path: Path) -> None:
    example = re.search(r"```jinja\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    file = tmp_path / "risks.j2"
    file.write_text(example.group(1), encoding="utf-8")
    assert "what could go wrong" in task(str(file))
    assert headings(task(str(file), previous_summary="old")) == expected_headings("history")


def test_a_users_own_file_answers_for_the_history_and_the_default_prompt_for_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "mine.j2"
    file.write_text("My way, {{ language }}.", encoding="utf-8")
    assert load_prompts(str(file)).name == "mine"
    assert task(str(file), language="Czech") == "My way, Czech."
    assert task(str(file), previous_summary="old").startswith("My way, English.")
    for kind in ("turn_prefix", "branch", "merge"):
        assert task(str(file), kind) == task("default", kind)  # type: ignore[arg-type]


def test_files_beside_a_users_own_file_answer_for_their_kind(tmp_path: Path) -> None:
    (tmp_path / "mine.j2").write_text("history", encoding="utf-8")
    for role in ("update", "turn_prefix", "branch", "merge"):
        (tmp_path / f"mine_{role}.j2").write_text(f"as {role} <previous-summary>", encoding="utf-8")
    path = str(tmp_path / "mine.j2")
    assert task(path) == "history"
    assert task(path, previous_summary="s").startswith("as update")
    for kind in ("turn_prefix", "branch", "merge"):
        assert task(path, kind).startswith(f"as {kind}")  # type: ignore[arg-type]


def test_a_users_own_file_may_build_on_a_shipped_one_even_under_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "{% extends 'default.j2' %}{% block idea %}\n\nMy idea.\n{% endblock %}"
    (tmp_path / "default.j2").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert "My idea." in task("default.j2")
    assert "My idea." not in task("default")


def test_a_users_own_file_can_not_include_the_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "secret.j2").write_text("secret", encoding="utf-8")
    file = tmp_path / "mine.j2"
    for name in ("secret.j2", "./secret.j2", str(tmp_path / "secret.j2")):
        file.write_text(f"{{% include '{name}' %}}", encoding="utf-8")
        with pytest.raises(PromptError, match=r"mine\.j2:1: expected one of the shipped templates \(.*default\.j2"):
            load_prompts(str(file))


def test_an_error_in_a_users_own_file_names_its_path_and_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.j2"
    file.write_text("one\n{{ focuss }}", encoding="utf-8")
    with pytest.raises(PromptError, match=r"unknown variable 'focuss' \(meant 'focus'\?\)") as refused:
        load_prompts(str(file))
    assert str(refused.value).startswith(f"{file}:2: ")


def test_a_mistake_in_a_file_for_another_kind_is_found_at_once(tmp_path: Path) -> None:
    (tmp_path / "mine.j2").write_text("fine", encoding="utf-8")
    (tmp_path / "mine_merge.j2").write_text("{{ wrong }}", encoding="utf-8")
    with pytest.raises(PromptError, match=r"mine_merge\.j2:1: unknown variable 'wrong'"):
        load_prompts(str(tmp_path / "mine.j2"))


@pytest.mark.parametrize(
    "name", ["nothing", "Default", "", "turn_prefix", "update", "default_update", "README", "no.j2", "a/b"]
)
def test_a_prompt_that_does_not_exist_is_refused_with_the_names_that_do(name: str) -> None:
    with pytest.raises(PromptError) as refused:
        load_prompts(name)
    assert f"no such prompt: {name!r}; expected one of {', '.join(NAMES)}, or the path" in str(refused.value)


def test_files_that_are_no_templates_are_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "folder.j2").mkdir()
    (tmp_path / "latin.j2").write_bytes(b"Gr\xfc\xdfe")
    (tmp_path / "large.j2").write_bytes(b"x" * 1_000_001)
    for name, found in (("folder", "no regular file"), ("latin", "0xfc at 2"), ("large", "a large file")):
        with pytest.raises(PromptError, match=found) as refused:
            load_prompts(str(tmp_path / f"{name}.j2"))
        assert str(refused.value).startswith(str(tmp_path / name))
    for path in ("\0.j2", "x" * 5000 + ".j2", "/", "..", "./"):
        with pytest.raises(PromptError):
            load_prompts(path if "/" in path or path.endswith(".j2") else path + "/")


def test_a_byte_order_mark_and_dos_line_ends_do_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "dos.j2"
    file.write_bytes(b"\xef\xbb\xbf{# An idea. #}\r\nOne {{ kind }}\r\ntwo")
    assert task(str(file)) == "One history\ntwo"


@pytest.mark.skipif(os.name == "nt", reason="making links needs a privilege on Windows")
def test_a_file_that_can_not_be_opened_is_refused_with_the_systems_reason(tmp_path: Path) -> None:
    loop = tmp_path / "loop.j2"
    loop.symlink_to(loop)
    with pytest.raises(PromptError, match=r"loop\.j2: the prompt file can't be read: .*symbolic links"):
        load_prompts(str(loop))


def test_listing_prompts_gives_names_and_ideas() -> None:
    assert isinstance(shipped_prompts()[0], PromptInfo)
    assert shipped_prompts()[0].idea.startswith("State, evidence and open work")


def test_a_request_of_the_default_prompt_stays_small() -> None:
    text = render_instructions(load_prompts("default"), PromptVariables(kind="history", conversation="x")).text
    assert len(text) < 5000


def run_installed(folder: Path, code: str) -> str:
    """What code prints with the package copied to a folder that has no checkout around it."""
    skipped = shutil.ignore_patterns("*.gz", "__pycache__", "prompts")
    shutil.copytree(PACKAGE, folder / "compactor", ignore=skipped, dirs_exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=folder, capture_output=True, text=True)
    return done.stdout.strip() or done.stderr


def test_an_installed_package_has_its_prompts_inside(tmp_path: Path) -> None:
    shutil.copytree(PROMPTS, tmp_path / "compactor" / "prompts")
    code = "from compactor.prompt_file import load_prompts; print(load_prompts('scope').sha256)"
    assert run_installed(tmp_path, code) == load_prompts("scope").sha256


def test_a_package_without_its_prompts_says_so(tmp_path: Path) -> None:
    text = run_installed(tmp_path, "from compactor.prompt_file import shipped_prompts; shipped_prompts()")
    assert "PromptError" in text
    assert "the shipped prompts are missing; install compactor again" in text
