"""Child processes that do not outlive the call that started them."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Any


def own_group() -> dict[str, Any]:
    """Arguments for `subprocess.Popen` that put the child into a process group of its own.

    A Ctrl-C of the terminal then reaches only us, and `end` reaches whatever the child started.
    """
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def start(argv: list[str], **arguments: Any) -> "subprocess.Popen[bytes]":
    """A child in a process group of its own; a Ctrl-C while it starts ends it before it is told.

    Raises:
        OSError: it can't be started.
    """
    stopped: list[int] = []
    before = None
    if threading.current_thread() is threading.main_thread():
        # Between the fork and the assignment nobody could end the child: the signal waits for that moment.
        before = signal.signal(signal.SIGINT, lambda number, frame: stopped.append(number))
    try:
        process = subprocess.Popen(argv, **arguments, **own_group())
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)
    if stopped:
        end(process)
        raise KeyboardInterrupt
    return process


def end(process: "subprocess.Popen[bytes]") -> None:
    """Ends a child that was started with `own_group`, with all that it started, and closes its pipes."""
    if process.poll() is None:
        with suppress(OSError):
            if sys.platform == "win32":
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
