"""A plan on a terminal: the rows, reasons and warnings of `plan_report.py`, wrapped and with headings marked."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from compactor.cli.plan_report import plan_rows
from compactor.cli.terminal import one_line
from compactor.entries import SessionWarning
from compactor.explain import Explanation
from compactor.planned import Planned
from compactor.views.plan import told_warnings


def show_plan(planned: Planned, explanation: Explanation, warnings: Sequence[SessionWarning]) -> None:
    """Prints the report to the terminal; session text is shown as text, never as markup."""
    console = Console(highlight=False, markup=False, emoji=False)
    rows = plan_rows(planned, explanation.counter_error)
    console.print(_grid([(Text(label, style="bold"), one_line(value)) for label, value in rows]))
    console.print(Text("\nwhy", style="bold"))
    console.print(_grid([(Text(" -"), one_line(reason.text)) for reason in explanation.reasons]))
    told = told_warnings(planned, explanation, warnings)
    if told:
        console.print(Text("\nwarnings", style="bold yellow"))
        console.print(_grid([(Text(" !", style="yellow"), f"{one_line(w.message)} [{w.code}]") for w in told]))


def _grid(rows: Sequence[tuple[Text, str]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in rows:
        table.add_row(label, Text(value))
    return table
