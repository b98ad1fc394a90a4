"""The outermost place: puts the console program together out of the commands of `compactor` and of `evals`."""

import atexit
import gc
import sys

STOPPED = 130
"""Exit code after Ctrl-C, as shells have it."""


def main() -> None:
    """Run the `compactor` program on the process's arguments; leaves the process with its exit code."""
    gc.disable()  # a short process over many small, acyclic values: collecting costs time and frees nothing
    atexit.register(gc.freeze)  # not even the collection that ends every process
    try:
        from compactor.cli import group  # here, so that Ctrl-C during the imports ends without a traceback too

        group(prog_name="compactor")
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        sys.exit(STOPPED)
