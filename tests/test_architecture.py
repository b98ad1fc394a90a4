"""The rules of the tree that no linter knows: a core without I/O, small modules and functions, lazy heavy imports."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import compactor
import evals

PACKAGES = [Path(compactor.__file__).parent, Path(evals.__file__).parent]
MODULES = {
    str(path.relative_to(package.parent)): path for package in PACKAGES for path in sorted(package.rglob("*.py"))
}

# Where the process may be left: the disk in *_file.py, models in clients/, the terminal in the command line.
OUTER_FOLDERS = {"compactor/clients", "compactor/cli"}
OUTER_MODULES = {"evals/cli.py", "evals/__main__.py", "compactor/__main__.py"}
CORE = [
    name
    for name in MODULES
    if not name.endswith("_file.py")
    and name not in OUTER_MODULES
    and not (name.startswith("evals/") and name.endswith("_cli.py"))
    and not any(name.startswith(folder + "/") for folder in OUTER_FOLDERS)
]

FORBIDDEN_CALLS = {"open", "print", "input", "exec", "eval", "breakpoint"}
FORBIDDEN_IMPORTS = {
    *("os", "pathlib", "io", "shutil", "tempfile", "glob", "sqlite3", "importlib"),
    *("subprocess", "socket", "urllib", "http", "ssl", "asyncio", "signal"),
    *("time", "random", "secrets", "uuid", "locale", "platform"),
}
CLOCK_METHODS = {"now", "utcnow", "today"}

HEAVY = ["anthropic", "openai", "tiktoken", "jinja2", "rich", "genai_prices", "vl_convert"]

MAX_MODULE_LINES = 300
MAX_FUNCTION_LINES = 40
MAX_PARAMETERS = 6

every_module = pytest.mark.parametrize("name", MODULES)
every_core_module = pytest.mark.parametrize("name", CORE)


def test_there_are_modules_to_check() -> None:
    assert {"compactor/plan.py", "compactor/formats/pi.py"} <= set(CORE)
    assert "compactor/session_file.py" not in CORE


@every_core_module
def test_core_module_does_no_io_and_reads_no_clock(name: str) -> None:
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    assert list(faults_of(tree)) == []


@pytest.mark.parametrize(
    "source",
    [
        "print('x')",
        "open('x')",
        "import os",
        "import os.path as p",
        "from pathlib import Path",
        "def f():\n    import time",
        "from urllib.request import urlopen",
        "from datetime import datetime\ndatetime.now()",
        "import datetime\ndatetime.date.today()",
        "from random import random",
        "from random import Random, random",
        "from random import Random\nRandom()",
    ],
)
def test_a_fault_is_found(source: str) -> None:
    assert len(list(faults_of(ast.parse(source)))) == 1


@pytest.mark.parametrize(
    "source",
    [
        "import re",
        "from . import os",
        "session.open()",
        "from random import Random\nRandom(7)",
        "x = 'print(1)'",
        "def now(): ...",
    ],
)
def test_what_only_looks_like_a_fault_is_none(source: str) -> None:
    assert list(faults_of(ast.parse(source))) == []


def faults_of(tree: ast.Module) -> Iterator[str]:
    """What the module does that a core module may not, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=called)) if called in FORBIDDEN_CALLS:
                yield f"line {node.lineno}: calls {called}()"
            case ast.Call(func=ast.Attribute(attr=method)) if method in CLOCK_METHODS:
                yield f"line {node.lineno}: reads the clock by .{method}()"
            case ast.Import(names=names):
                for alias in names:
                    if alias.name.split(".")[0] in FORBIDDEN_IMPORTS:
                        yield f"line {node.lineno}: imports {alias.name}"
            case ast.Call(func=ast.Name(id="Random"), args=[], keywords=[]):
                yield f"line {node.lineno}: makes a random generator without a seed"
            case ast.ImportFrom(module="random", names=[ast.alias(name="Random", asname=None)]):
                continue  # with a seed it is as pure as a sum
            case ast.ImportFrom(module=str(module), level=0) if module.split(".")[0] in FORBIDDEN_IMPORTS:
                yield f"line {node.lineno}: imports from {module}"


@every_module
def test_module_is_short_and_says_what_it_is(name: str) -> None:
    source = MODULES[name].read_text(encoding="utf-8")
    assert len(source.splitlines()) <= MAX_MODULE_LINES
    assert ast.get_docstring(ast.parse(source))


@every_module
def test_functions_are_short_and_take_few_parameters(name: str) -> None:
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = [f"{f.name}: {lines_of(f)} lines" for f in functions if lines_of(f) > MAX_FUNCTION_LINES]
    assert long == []
    if not name.startswith("compactor/cli/") and name != "evals/cli.py":
        wide = [f"{f.name}: {parameters_of(f)}" for f in functions if parameters_of(f) > MAX_PARAMETERS]
        assert wide == []


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from `def` to the end, without the docstring: saying more about a function does not make it longer."""
    first = function.body[0]
    docstring = 0
    if ast.get_docstring(function, clean=False) is not None:
        docstring = (first.end_lineno or first.lineno) - first.lineno + 1
    return (function.end_lineno or function.lineno) - function.lineno + 1 - docstring


def parameters_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Parameters, without `self` and `cls`."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    starred = [arguments.vararg, arguments.kwarg]
    return sum(a.arg not in ("self", "cls") for a in named) + sum(a is not None for a in starred)


@pytest.mark.parametrize("module", ["compactor", "compactor.cli", "evals.cli", "all of the core"])
def test_importing_pulls_in_no_heavy_library(module: str) -> None:
    core = [name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in CORE]
    imports = core if module == "all of the core" else [module]
    program = "\n".join(f"import {name}" for name in ["sys", *imports])
    program += f"\nprint([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")
