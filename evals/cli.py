"""The outermost place: puts the console program together out of the commands of `compactor` and of `evals`."""

import gc

from compactor.cli import group


def main() -> None:
    """Run the `compactor` program on the process's arguments; leaves the process with its exit code."""
    gc.disable()  # a short process over many small, acyclic values: collecting costs time and frees nothing
    group(prog_name="compactor")
