"""The jinja2 side of prompts: which templates one uses, whether they are sound, and what they render to.

Takes template texts by name and gives text, or a `PromptError` that names file, line and cause. The sandbox keeps
templates from Python's internals and from files; it does not limit how long a template runs.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

from compactor.errors import PromptError

if TYPE_CHECKING:
    from jinja2 import nodes
    from jinja2.sandbox import SandboxedEnvironment

_FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""What the code of a template can raise beside jinja2's own errors: its author's mistakes, not ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedTemplates:
    """Templates that compile and use only what exists."""

    environment: "SandboxedEnvironment"
    used: Mapping[str, frozenset[str]]
    """For each template the variables that it or a template it builds on uses."""

    def variables_used(self, name: str) -> frozenset[str]:
        """The variables that count for a template."""
        return self.used[name]


def used_templates(names: Sequence[str], texts: Mapping[str, str]) -> list[str]:
    """The given templates and all that they extend, include or import, sorted by name.

    Raises:
        PromptError: a template is malformed, or refers to one that is not among the texts.
    """
    environment = _environment({})
    links: dict[str, list[str]] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in links:
            links[name] = _references(name, _parse(environment, name, texts[name]), texts)
            waiting += links[name]
    return sorted(links)


@functools.lru_cache(maxsize=16)
def check_templates(templates: tuple[tuple[str, str], ...], variables: frozenset[str]) -> CheckedTemplates:
    """The templates, (name, text) each, ready to render.

    Raises:
        PromptError: one is malformed, or uses an unknown variable, filter, test or template.
    """
    texts = dict(templates)
    environment = _environment(texts)
    trees = {name: _parse(environment, name, text) for name, text in templates}
    known = variables | environment.globals.keys()
    asked: dict[str, set[str]] = {}
    for name, tree in trees.items():
        # An included template sees what its includer has set, a block what the top level of its file has set.
        set_elsewhere = {stored for other in trees if other != name for stored in _stored(trees[other])}
        asked[name] = _undeclared(environment, name, tree)
        _check_names(name, tree, asked[name] - known - set_elsewhere - _top_level(tree), variables)
        _check_filters(environment, name, tree)
    links = {name: _references(name, tree, texts) for name, tree in trees.items()}
    used = {name: frozenset(v for t in _reached(name, links) for v in asked[t]) & variables for name in texts}
    return CheckedTemplates(environment=environment, used=used)


def _reached(name: str, links: Mapping[str, Sequence[str]]) -> set[str]:
    """A template and all that it builds on."""
    reached: set[str] = set()
    waiting = [name]
    while waiting:
        at = waiting.pop()
        if at not in reached:
            reached.add(at)
            waiting += links[at]
    return reached


def render(checked: CheckedTemplates, name: str, values: Mapping[str, Any]) -> str:
    """The text of a template.

    Raises:
        PromptError: the template does what the sandbox forbids, or fails on these values.
    """
    from jinja2 import TemplateError

    try:
        return checked.environment.get_template(name).render(values)
    except (TemplateError, *_FAULTS) as error:
        raise PromptError(f"{name}: the template can't be rendered: {_fault(error)}; correct it") from None


def _environment(texts: Mapping[str, str]) -> "SandboxedEnvironment":
    from jinja2 import DictLoader, StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        loader=DictLoader(texts), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
    )
    # Random text, of no use here; a prompt is the same each time.
    del environment.globals["lipsum"]
    del environment.filters["random"]
    return environment


def _parse(environment: "SandboxedEnvironment", name: str, text: str) -> "nodes.Template":
    from jinja2 import TemplateSyntaxError

    try:
        return environment.parse(text, name)
    except TemplateSyntaxError as error:
        _refuse_syntax(error, name)
    except _FAULTS as error:
        raise PromptError(f"{name}: the template can't be parsed: {_fault(error)}; correct it") from None


def _refuse_syntax(error: Any, name: str) -> NoReturn:
    """Raises the error of a malformed template."""
    where = f"{error.name or name}:{error.lineno}"
    raise PromptError(f"{where}: expected a jinja2 template, found: {_one_line(error.message or error)}") from None


def _one_line(error: object) -> str:
    return " ".join(str(error).split())[:300]


def _fault(error: BaseException) -> str:
    return f"{type(error).__name__}: {_one_line(error)}"


def _references(name: str, tree: "nodes.Template", texts: Mapping[str, str]) -> list[str]:
    """The templates that a template names.

    Raises:
        PromptError: one of them does not exist, or the name is only known when the template runs.
    """
    from jinja2 import nodes

    found: list[str] = []
    statements: Iterator[Any] = tree.find_all((nodes.Extends, nodes.Include, nodes.Import, nodes.FromImport))
    for node in statements:
        for reference in _names(node.template):
            if reference is None:
                raise PromptError(
                    f"{name}:{node.lineno}: expected the name of a template in quotes, found an expression"
                )
            if reference not in texts:
                shared = ", ".join(sorted(key for key in texts if "/" not in key and "\\" not in key))
                where = f"{name}:{node.lineno}"
                raise PromptError(f"{where}: expected one of the shipped templates ({shared}), found {reference!r}")
            found.append(reference)
    return found


def _names(node: "nodes.Node | None") -> Iterator[str | None]:
    """The names that an expression can give; None for one that can't be told beforehand."""
    from jinja2 import nodes

    if isinstance(node, nodes.CondExpr):
        yield from _names(node.expr1)
        yield from _names(node.expr2)
    elif isinstance(node, (nodes.List, nodes.Tuple)):
        for item in node.items:
            yield from _names(item)
    else:
        yield node.value if isinstance(node, nodes.Const) and isinstance(node.value, str) else None


def _undeclared(environment: "SandboxedEnvironment", name: str, tree: "nodes.Template") -> set[str]:
    """The names that a template looks up when it runs; the compiler is run too, for what only it notices."""
    from jinja2 import TemplateSyntaxError
    from jinja2.meta import find_undeclared_variables

    try:
        environment.compile(tree, name)
        return find_undeclared_variables(tree)
    except TemplateSyntaxError as error:
        _refuse_syntax(error, name)
    except _FAULTS as error:
        raise PromptError(f"{name}: the template can't be compiled: {_fault(error)}; correct it") from None


def _stored(node: "nodes.Node") -> Iterator[str]:
    """The names that are set anywhere in a piece of a template, loop variables and macros included."""
    from jinja2 import nodes

    for found in node.find_all((nodes.Name, nodes.Macro, nodes.Import, nodes.FromImport)):
        if not isinstance(found, nodes.Name) or found.ctx != "load":
            yield from _set_by(found)


def _set_by(node: "nodes.Node") -> Iterator[str]:
    """The names that one statement, or a name that is set, leaves behind."""
    from jinja2 import nodes

    if isinstance(node, (nodes.Name, nodes.Macro)):
        yield node.name
    elif isinstance(node, nodes.Import):
        yield node.target
    elif isinstance(node, nodes.FromImport):
        yield from (item if isinstance(item, str) else item[1] for item in node.names)
    elif isinstance(node, (nodes.Assign, nodes.AssignBlock)):
        names = [node.target] if isinstance(node.target, nodes.Name) else node.target.find_all(nodes.Name)
        yield from (name.name for name in names)


def _top_level(tree: "nodes.Template") -> set[str]:
    """The names that a template sets outside of loops, conditions and blocks."""
    return {name for node in tree.body for name in _set_by(node)}


def _check_names(name: str, tree: "nodes.Template", unknown: set[str], variables: frozenset[str]) -> None:
    """Refuses a template with unknown variables; the first one by line is told.

    Raises:
        PromptError: there is one.
    """
    from jinja2 import nodes

    if not unknown:
        return
    first = min((node.lineno, node.name) for node in tree.find_all(nodes.Name) if node.name in unknown)
    near = get_close_matches(first[1], sorted(variables), n=1)
    hint = f" (meant {near[0]!r}?)" if near else ""
    known = ", ".join(sorted(variables))
    raise PromptError(f"{name}:{first[0]}: unknown variable {first[1]!r}{hint}; available: {known}")


def _check_filters(environment: "SandboxedEnvironment", name: str, tree: "nodes.Template") -> None:
    """Refuses unknown filters and tests also where jinja2 itself would notice only in a branch that is taken.

    Raises:
        PromptError: there is one.
    """
    from jinja2 import nodes

    for node in tree.find_all((nodes.Filter, nodes.Test)):
        known = environment.filters if isinstance(node, nodes.Filter) else environment.tests
        if node.name not in known:
            what = "filter" if isinstance(node, nodes.Filter) else "test"
            raise PromptError(f"{name}:{node.lineno}: expected a {what} of jinja2, found {node.name!r}")
