"""`compactor prompts`, and help and version of the program."""

import click
import pytest
from command_line import run, run_process
from readme_help import helps

import compactor
from compactor.cli import COMMANDS, group
from compactor.prompt_file import shipped_prompts

SHIPPED = [prompt.name for prompt in shipped_prompts()]


def test_each_shipped_prompt_is_listed_in_one_line_with_its_idea() -> None:
    done = run("prompts")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert [line.split()[0] for line in lines] == SHIPPED
    assert all(prompt.idea in line for prompt, line in zip(shipped_prompts(), lines, strict=True))
    assert SHIPPED[0] == "default"


def test_json_is_one_object_a_prompt() -> None:
    done = run("prompts", "--json")
    assert done.objects == [{"name": prompt.name, "idea": prompt.idea} for prompt in shipped_prompts()]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_name_shows_the_template(name: str) -> None:
    done = run("prompts", name)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("{#")


def test_json_of_one_prompt_has_its_template_too() -> None:
    (found,) = run("prompts", "default", "--json").objects
    assert found == {"name": "default", "template": run("prompts", "default").out.removesuffix("\n")}


def test_an_unknown_name_lists_the_known_ones() -> None:
    done = run("prompts", "nobody")
    assert (done.code, done.out, len(done.talk)) == (1, "", 1)
    assert all(name in done.err for name in SHIPPED)


@pytest.mark.parametrize("path", [path for path, _ in helps(group, "compactor")])
def test_every_command_has_help_with_a_word_on_every_option(path: str) -> None:
    words = path.split(" ")[1:]
    done = run(*words, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out == run(*words, "-h").out
    command: click.Command = group
    for word in words:
        found = group.get_command(click.Context(group), word)
        assert found is not None
        command = found
    assert command.help
    unexplained = [p.name for p in command.params if isinstance(p, click.Option) and not p.help]
    assert unexplained == []


def test_the_program_lists_every_command_with_one_line() -> None:
    done = run("--help")
    for name, (_, line) in COMMANDS.items():
        assert any(row.split()[:1] == [name] for row in done.out.splitlines())
        assert line.split()[0] in done.out


def test_without_a_command_the_help_is_shown_as_wrong_usage() -> None:
    done = run_process()
    assert done.code == 2
    assert "Usage: compactor" in done.err + done.out


def test_version_is_that_of_the_package() -> None:
    assert run_process("--version").out == f"compactor, version {compactor.__version__}\n"


@pytest.mark.parametrize(
    "words", [("plna",), ("plan",), ("plan", "a", "b"), ("plan", "a", "--jsn"), ("prompts", "a", "b")]
)
def test_wrong_usage_is_exit_code_2_with_the_command_named(words: tuple[str, ...]) -> None:
    done = run_process(*words)
    assert (done.code, done.out) == (2, "")
    assert done.talk[0].startswith("Usage: compactor")
    assert done.talk[-1].startswith("Error: ")
