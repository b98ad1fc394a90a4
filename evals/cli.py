"""The outermost place: puts the console program together out of the commands of `compactor` and of `evals`."""

import atexit
import gc

from compactor.cli import group


def main() -> None:
    """Run the `compactor` program on the process's arguments; leaves the process with its exit code."""
    gc.disable()  # a short process over many small, acyclic values: collecting costs time and frees nothing
    atexit.register(gc.freeze)  # not even the collection that ends every process
    group(prog_name="compactor")
