"""Finds and reads prompt templates: the shipped ones, or a user's own file; gives checked `PromptSet`s.

A family NAME is the file NAME.j2. It answers for the history, with and without a previous summary. Beside it
NAME_update.j2, NAME_turn_prefix.j2, NAME_branch.j2 and NAME_merge.j2 may stand; for those that are missing the default
family answers (for the update: NAME.j2 itself). A user's own file works in the same way from any folder, and may
extend or include shipped templates, but no other file.
"""

import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from compactor.errors import PromptError
from compactor.prompt import ROLES, PromptSet, Role, make_prompt_set

DEFAULT = "default"
"""The family that answers for what another does not have."""

SUFFIX = ".j2"

MAX_BYTES = 1_000_000
"""A longer file is no prompt: the shipped ones have less than 10 kB."""

_IDEA = re.compile(r"\A\s*\{#[-+]?(.*?)[-+]?#\}", re.DOTALL)
_PARTS = ROLES[1:]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptInfo:
    """A shipped prompt, for a list."""

    name: str
    idea: str
    """Its one idea in one line: the comment that its file starts with."""


def load_prompts(name_or_path: str) -> PromptSet:
    """The prompt family of that name, or of the user's own file.

    Args:
        name_or_path: a shipped name; a text that ends in `.j2` or holds a path separator is a path.

    Raises:
        PromptError: there is no such prompt, it can't be read, or one of its templates is not sound.
    """
    shipped = _shipped_texts()
    if name_or_path.endswith(SUFFIX) or "/" in name_or_path or "\\" in name_or_path:
        return _load_own(name_or_path, shipped)
    if name_or_path not in _families(shipped):
        raise PromptError(_unknown(name_or_path, shipped))
    return make_prompt_set(name_or_path, _roles(name_or_path, shipped), shipped)


def shipped_prompts() -> list[PromptInfo]:
    """The prompts that come with compactor: the default one, then the others by name.

    Raises:
        PromptError: the folder of prompts is missing.
    """
    texts = _shipped_texts()
    return [PromptInfo(name=name, idea=_idea(texts[name + SUFFIX])) for name in _families(texts)]


def _idea(text: str) -> str:
    found = _IDEA.match(text)
    return " ".join(found.group(1).split()) if found else ""


def _families(texts: Mapping[str, str]) -> list[str]:
    """The names of families: files that are no part of another family."""
    names = {key.removesuffix(SUFFIX) for key in texts}
    parts = {*_PARTS, *(f"{name}_{role}" for name in names for role in _PARTS)}
    return sorted(names - parts, key=lambda name: (name != DEFAULT, name))


def _roles(family: str, shipped: Mapping[str, str]) -> dict[Role, str]:
    """For each role the shipped file that answers for it in a family."""
    roles: dict[Role, str] = {"history": family + SUFFIX}
    for role in _PARTS:
        own = f"{family}_{role}{SUFFIX}"
        default = family + SUFFIX if role == "update" and family != DEFAULT else role + SUFFIX
        roles[role] = own if own in shipped else default
    return roles


def _load_own(path: str, shipped: Mapping[str, str]) -> PromptSet:
    """The family of a user's file; its names hold a separator, so they never stand for shipped ones."""
    file = Path(path)
    texts = dict(shipped)
    roles = _roles(DEFAULT, shipped)
    for role in ROLES:
        part = file if role == "history" else file.with_name(f"{file.stem}_{role}{file.suffix}")
        key = str(part) if part.name != str(part) else f"./{part.name}"
        if role == "history" or part.exists():
            texts[key] = _read(part, shipped)
            roles[role] = key
        elif role == "update":
            roles[role] = roles["history"]
    return make_prompt_set(file.stem, roles, texts)


def _read(path: Path, shipped: Mapping[str, str]) -> str:
    """The text of a template file.

    Raises:
        PromptError: it is missing, no regular file, too large, unreadable, or not UTF-8.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            found = "a large file" if stat.S_ISREG(status.st_mode) else "something that is no regular file"
            raise PromptError(f"{path}: expected a jinja2 template of at most {MAX_BYTES:,} bytes, found {found}")
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise PromptError(_unknown(str(path), shipped)) from None
    except UnicodeDecodeError as error:
        raise PromptError(
            f"{path}: expected UTF-8, found byte {error.object[error.start]:#04x} at {error.start}"
        ) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise PromptError(f"{path}: the prompt file can't be read: {reason}") from None


def _unknown(name: str, shipped: Mapping[str, str]) -> str:
    names = ", ".join(_families(shipped))
    return f"no such prompt: {name!r}; expected one of {names}, or the path of a {SUFFIX} file"


def _folder() -> Path:
    """Where the shipped prompts are: inside the installed package, or beside it in a checkout.

    Raises:
        PromptError: neither is there.
    """
    package = Path(__file__).parent
    for folder in (package / "prompts", package.parent / "prompts"):
        if (folder / (DEFAULT + SUFFIX)).is_file():
            return folder
    raise PromptError(f"{package / 'prompts'}: the shipped prompts are missing; install compactor again")


def _shipped_texts() -> dict[str, str]:
    """All shipped templates by file name."""
    return {path.name: _read(path, {}) for path in sorted(_folder().glob(f"*{SUFFIX}"))}
