"""`compactor replay`: when would the session have been compacted, and how do its own compactions compare?"""

from typing import TYPE_CHECKING, Any

import click

from compactor.cli.inputs import SessionOptions, open_session, session_options

if TYPE_CHECKING:
    from compactor.cli.inputs import Opened
    from compactor.entries import SessionWarning
    from compactor.views.replay import Grid, Replay

SCALES = {"": 1, "k": 1000, "m": 1_000_000}
MAX_DIGITS = 9
"""No window has more tokens."""


def token_list(ctx: click.Context, param: click.Parameter, value: str | None) -> list[int] | None:
    """The numbers of an option like `64k,128000,1m`: `k` stands for thousands and `m` for millions.

    Raises:
        click.BadParameter: they are not numbers.
    """
    return None if value is None else [_tokens(part.strip().lower()) for part in value.split(",")]


def _tokens(part: str) -> int:
    scale = part[-1:] if part[-1:] in SCALES else ""
    digits = part.removesuffix(scale)
    if not (digits.isascii() and digits.isdigit() and len(digits) <= MAX_DIGITS):
        raise click.BadParameter(f"expected numbers of tokens as in 64k,128000,1m, found {part[:40]!r}")
    return int(digits) * SCALES[scale]


@click.command()
@session_options
@click.option("--sweep", is_flag=True, help="Try a grid of windows, reserves and budgets.")
@click.option("--windows", callback=token_list, metavar="N,N", help="Windows of the sweep, as in 64k,200k.")
@click.option("--reserves", callback=token_list, metavar="N,N", help="Reserves of the sweep.")
@click.option("--keeps", callback=token_list, metavar="N,N", help="Tokens kept word for word, of the sweep.")
@click.option(
    "--summary-tokens",
    type=click.IntRange(min=0),
    metavar="N",
    help="Size of every summary; otherwise that of the session's own ones, or 1,500.",
)
@click.option("--svg", metavar="FILE", help="Draw a chart into this file.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
def replay(
    sweep: bool,
    windows: list[int] | None,
    reserves: list[int] | None,
    keeps: list[int] | None,
    summary_tokens: int | None,
    svg: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Walk through SESSION as it grew: where would compaction have fired, and where did it really?

    The size of the context is looked at where an agent does it, after each reply and its tool results. Reads only; no
    model is asked. Each of --windows, --reserves and --keeps implies --sweep.
    """
    opened = open_session(SessionOptions(**options))
    # The file is read in the meantime.
    from compactor.cli.terminal import write_json, write_text

    made, warnings = _replayed(opened, _grid(sweep, windows, reserves, keeps), summary_tokens)
    # It lives as long as the process does: freeing a large session would take time and serve nobody.
    click.get_current_context().find_root().obj = made
    if svg is not None:
        _draw(made, svg)
    if as_json:
        from compactor.js_text import json_text, utf8
        from compactor.views.replay import replay_json

        write_json(utf8(json_text(replay_json(made, warnings))))
    else:
        from compactor.cli.replay_report import replay_text

        write_text(replay_text(made, warnings))


def _grid(sweep: bool, windows: list[int] | None, reserves: list[int] | None, keeps: list[int] | None) -> "Grid | None":
    """The values of a sweep, None without one.

    Raises:
        click.UsageError: they make too many combinations.
    """
    from compactor.views.replay import KEEPS, MAX_CELLS, RESERVES, WINDOWS, Grid

    if not sweep and windows is None and reserves is None and keeps is None:
        return None
    cells = len(windows or WINDOWS) * len(reserves or RESERVES) * len(keeps or KEEPS)
    if cells > MAX_CELLS:
        raise click.UsageError(f"expected at most {MAX_CELLS:,} combinations, found {cells:,}; give fewer values.")
    return Grid(windows=windows, reserves=reserves, keeps=keeps)


def _replayed(
    opened: "Opened", grid: "Grid | None", summary_tokens: int | None
) -> tuple["Replay", list["SessionWarning"]]:
    """The session played through, and all that may mislead."""
    from compactor.branch import active_branch, find_leaf
    from compactor.cli.inputs import counter_for, settings_for
    from compactor.entries import SessionWarning
    from compactor.formats.registry import parse_session
    from compactor.projection import session_model
    from compactor.views.replay import ReplayOptions, replay

    options = opened.options
    session = parse_session(
        opened.wait(), path=opened.path, exact=options.exact_pi, with_estimates=options.counter == "pi"
    )
    branch = active_branch(session, find_leaf(session, options.leaf))
    settings, warnings = settings_for(options, session, session_model(branch))
    if not settings.enabled:
        text = "automatic compaction is switched off in Pi's settings; this is what it would have done"
        warnings.append(SessionWarning(code="compaction_disabled", message=text))
    chosen = ReplayOptions(summary_tokens=summary_tokens, exact=options.exact_pi)
    made = replay(session, branch, counter_for(options.counter, branch), settings, grid=grid, options=chosen)
    return made, [*warnings, *session.warnings]


def _draw(made: "Replay", path: str) -> None:
    """Writes the chart.

    Raises:
        CompactorError: what draws it is not installed, or the file can't be written.
    """
    from compactor.chart_file import chart_svg
    from compactor.document_file import write_document
    from compactor.views.replay_chart import replay_chart

    write_document(path, chart_svg(replay_chart(made)), session_path=made.session.path)
