"""The outermost place: puts the console program together out of the commands of `compactor` and of `evals`."""

import atexit
import gc
import os
import sys

STOPPED = 130
"""Exit code after Ctrl-C, as shells have it."""


def main() -> None:
    """Run the `compactor` program on the process's arguments; leaves the process with its exit code."""
    gc.disable()  # a short process over many small, acyclic values: collecting costs time and frees nothing
    atexit.register(gc.freeze)  # not even the collection that ends every process
    _open_closed_streams()
    try:
        from compactor.cli import group  # here, so that Ctrl-C during the imports ends without a traceback too

        group(prog_name="compactor")
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        sys.exit(STOPPED)
    except SystemExit as left:
        _leave_fast(left.code)
        raise


def _open_closed_streams() -> None:
    """Gives a process that was started without standard output or error the null device in its place.

    Otherwise the next file that is opened would get its number, and what is meant for nobody would go there.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def _leave_fast(code: object) -> None:
    """Ends the process without freeing a large session piece by piece, where nothing is left to be tidied up.

    Only after success, only if no client was made (it may have a child process), and not under a tool that waits for
    the end of the process.
    """
    if code not in (None, 0) or "compactor.clients" in sys.modules or sys.gettrace() or "coverage" in sys.modules:
        return
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
