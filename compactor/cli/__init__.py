"""The command line: options in, one library call, output and exit code out.

Commands are imported when they are called, so that `--help` and start-up stay fast.
"""

import sys
from collections.abc import Mapping

import click

from compactor import __version__
from compactor.errors import CompactorError

COMMANDS: dict[str, tuple[str, str]] = {
    "plan": ("compactor.cli.plan:plan", "Would it compact, where is the cut, and why?"),
    "compact": ("compactor.cli.compact:compact", "Make the summary; write it only with --write or --output."),
    "tokens": ("compactor.cli.tokens:tokens", "What the context costs, and how far off each counter is."),
    "replay": ("compactor.cli.replay:replay", "At which turns would it have fired, and where did it really?"),
    "sessions": ("compactor.cli.sessions:sessions", "List saved sessions of Pi, Claude Code and Codex."),
    "tree": ("compactor.cli.tree:tree", "Branches, labels, compactions, and the state of every entry."),
    "context": ("compactor.cli.context:context", "What the next request would hold, message by message."),
    "usage": ("compactor.cli.usage:usage", "What was spent, by model and by kind, and what compactions saved."),
    "branch-summary": ("compactor.cli.branch_summary:branch_summary", "Summarize a branch that was left."),
    "convert": ("compactor.cli.convert:convert", "Write another agent's session as a file that Pi opens."),
    "doctor": ("compactor.cli.doctor:doctor", "Find damage and losses in sessions; --fix writes a repaired copy."),
    "prompts": ("compactor.cli.prompts:prompts_command", "List the shipped prompts, or show one."),
}
"""Command name -> (module:attribute, one line of help)."""


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is used, not before."""

    def __init__(self, *args: object, lazy: Mapping[str, tuple[str, str]], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.lazy = dict(lazy)

    def invoke(self, ctx: click.Context) -> object:
        """Runs the command; an error that compactor raised on purpose becomes one line and exit code 1."""
        try:
            return super().invoke(ctx)
        except CompactorError as error:
            from compactor.cli.terminal import one_line, say

            say(f"compactor: {one_line(str(error))}")
            raise SystemExit(1) from None
        except KeyboardInterrupt:
            click.echo("stopped", err=True)
            raise SystemExit(130) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All command names, in the order they are listed in help."""
        return [*self.lazy, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now."""
        if cmd_name not in self.lazy:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = self.lazy[cmd_name][0].partition(":")
        __import__(module)
        command: click.Command = getattr(sys.modules[module], attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The command list of the help text, made without importing any command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.lazy[name][1]) for name in self.lazy])


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="compactor")
def group() -> None:
    """Compact the context of a coding agent's session, and see what that does.

    SESSION is the path of a session file of Pi, Claude Code or Codex, `latest` for Pi's newest session of the current
    directory, or the start of the id of a session made there. Nothing is written unless --write or --output is given.
    Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 nothing to do, 130 stopped with Ctrl-C.
    """
