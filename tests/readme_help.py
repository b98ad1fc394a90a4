"""Keeps README.md true: the commands' help texts and the outputs of its examples are made from the program.

    python tests/readme_help.py --write    put what the program prints now into README.md
    python tests/readme_help.py --check    exit with 1 and one line if README.md says something else

Examples are code blocks marked `console` that start with `$ compactor`; they run in the checkout, without keys.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from difflib import unified_diff
from itertools import islice
from pathlib import Path

import click

from compactor.cli import group

CHECKOUT = Path(__file__).parents[1]
README = CHECKOUT / "README.md"
WIDTH = 100
MAX_DIFF_LINES = 20

HELP = re.compile(r"(<!-- help:begin[^\n]*-->\n).*?(<!-- help:end -->)", re.DOTALL)
EXAMPLE = re.compile(r"(```console\n\$ (compactor [^\n]*)\n).*?(```)", re.DOTALL)


def up_to_date(text: str) -> str:
    """The README with its help texts and example outputs replaced by what the program prints now."""
    text = EXAMPLE.sub(lambda match: match[1] + output_of(match[2]) + match[3], text)
    return HELP.sub(lambda match: match[1] + help_texts() + match[2], text)


def help_texts() -> str:
    """The help of every command as Markdown."""
    return "".join(f"\n### {name}\n\n```text\n{text}\n```\n" for name, text in helps(group, "compactor")) + "\n"


def helps(command: click.Command, path: str, parent: click.Context | None = None) -> Iterator[tuple[str, str]]:
    """Each command's full name and help text, the command itself first."""
    name = path.split(" ")[-1]
    context = command.make_context(name, [], parent=parent, resilient_parsing=True, terminal_width=WIDTH)
    yield path, re.sub(r"[ \t]+$", "", command.get_help(context), flags=re.MULTILINE)
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            if found is not None:
                yield from helps(found, f"{path} {child}", context)


def output_of(command: str) -> str:
    """What a `compactor ...` command line prints on standard output."""
    keys = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")
    env = {name: value for name, value in os.environ.items() if name not in keys} | {"COLUMNS": str(WIDTH)}
    words = [sys.executable, "-m", "evals", *shlex.split(command)[1:]]
    done = subprocess.run(words, cwd=CHECKOUT, env=env, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode:
        sys.exit(f"readme_help: expected `{command}` to succeed, found exit code {done.returncode}: {done.stderr}")
    return done.stdout.rstrip("\n") + "\n"


def main() -> None:
    """Check or rewrite README.md, as the only argument says."""
    if sys.argv[1:] not in (["--check"], ["--write"]):
        sys.exit("readme_help: expected --check or --write")
    old = README.read_text(encoding="utf-8")
    new = up_to_date(old)
    if sys.argv[1] == "--write":
        README.write_text(new, encoding="utf-8")
    elif old != new:
        diff = unified_diff(old.splitlines(), new.splitlines(), "README.md", "the program", lineterm="", n=1)
        print("\n".join(islice(diff, MAX_DIFF_LINES)), file=sys.stderr)
        sys.exit("readme_help: README.md differs from what the program prints; run: make readme")


if __name__ == "__main__":
    main()
