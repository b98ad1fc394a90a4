"""The outermost place: puts the console program together out of the commands of `compactor` and of `evals`."""

from compactor.cli import group


def main() -> None:
    """Run the `compactor` program on the process's arguments; leaves the process with its exit code."""
    group(prog_name="compactor")
