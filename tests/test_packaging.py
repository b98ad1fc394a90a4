"""What is shipped: a wheel with all its data, one console program, documents that agree with the code."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import compactor
from compactor.cli import group

CHECKOUT = Path(__file__).parents[1]
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist, built from the checkout without a network."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(CHECKOUT)]
    done = subprocess.run([*command, "--wheel", "--sdist"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def files_below(folder: str, pattern: str) -> set[str]:
    return {str(path.relative_to(CHECKOUT)) for path in (CHECKOUT / folder).rglob(pattern) if path.is_file()}


def test_wheel_has_every_module_vocabulary_and_prompt(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    modules = files_below("compactor", "*.py") | files_below("evals", "*.py")
    prompts = {f"compactor/{name}" for name in files_below("prompts", "*.j2")}
    vocabularies = files_below("compactor/vocabularies", "*.gz") | {"compactor/vocabularies/NOTICE"}
    assert len(vocabularies) == 3
    assert (modules | prompts | vocabularies | {"compactor/py.typed"}) - names == set()


def test_wheel_has_nothing_but_the_two_packages(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    dist_info = f"compactor-{compactor.__version__}.dist-info"
    assert {name.split("/")[0] for name in names} == {"compactor", "evals", dist_info}
    assert [name for name in names if "__pycache__" in name or name.endswith(".pyc")] == []
    assert f"{dist_info}/licenses/LICENSE" in names


def test_sdist_can_be_tested_and_has_no_working_files(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {"pyproject.toml", "README.md", "LICENSE", "Makefile", "tests/test_packaging.py"} <= names
    assert [name for name in names if name.startswith((".venv", ".git/", "dist/"))] == []


def test_console_program_says_its_version() -> None:
    program = Path(sys.executable).parent / "compactor"
    done = subprocess.run([str(program), "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip().endswith(compactor.__version__)


def test_module_call_is_the_same_program() -> None:
    done = subprocess.run([sys.executable, "-m", "evals", "--help"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: compactor ")


def test_every_command_has_help_and_is_in_the_readme() -> None:
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    with group.make_context("compactor", ["--version"], resilient_parsing=True) as context:
        commands = {name: group.get_command(context, name) for name in group.list_commands(context)}
    assert commands
    for name, command in commands.items():
        assert command is not None and command.help, name
        assert f"### compactor {name}\n" in readme, name


def test_python_examples_in_the_readme_run() -> None:
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    assert examples
    for example in examples:
        # -P: the package that is installed, not the one that lies in the folder.
        command = [sys.executable, "-P", "-c", example]
        done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout


def test_newest_release_in_the_changelog_is_the_version() -> None:
    changelog = (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.findall(r"^## \[?(\d+\.\d+\.\d+)", changelog, re.MULTILINE)
    assert releases[0] == compactor.__version__
    assert changelog.index("## [Unreleased]") < changelog.index(f"## [{releases[0]}]")


def test_every_dependency_has_a_line_that_says_why() -> None:
    notes = (CHECKOUT / "docs/dependencies.md").read_text(encoding="utf-8")
    wanted = [*PROJECT["dependencies"], *(d for extra in PROJECT["optional-dependencies"].values() for d in extra)]
    names = {re.split(r"[<>=!~\[; ]", requirement)[0] for requirement in wanted}
    assert {name for name in names if f"| {name} |" not in notes} == set()


def test_every_design_note_is_in_the_index() -> None:
    index = (CHECKOUT / "docs/README.md").read_text(encoding="utf-8")
    notes = {path.name for path in (CHECKOUT / "docs").glob("*.md")} - {"README.md"}
    assert {note for note in notes if f"({note})" not in index} == set()
    assert [name for name in re.findall(r"\]\(([\w.-]+\.md)\)", index) if name not in notes] == []
