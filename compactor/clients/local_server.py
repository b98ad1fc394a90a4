"""The child process of the `local` client: serves one GGUF file on a free loopback port until its parent is gone.

Run as a file, and it imports nothing of compactor. Standard input brings one line of JSON (`model`, `threads`,
`context`, `key`); standard output gives one line of JSON (`url`, or `error`). The end of standard input ends the
process: a parent that dies, however it dies, closes that pipe.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request
from typing import Any

POLL_S = 0.05
HEALTH_LIMIT_S = 60.0


def main() -> None:
    """Serves until standard input ends."""
    settings = json.loads(sys.stdin.buffer.readline())
    try:
        url, _server = served(settings)
    except Exception as error:
        # Whatever it was, the parent has to be told; it prints the message, not this process.
        tell({"error": f"{error}"})
        os._exit(1)
    tell({"url": url})
    sys.stdin.buffer.read()
    # Not by dropping the server: that would wait for replies that nobody reads any more.
    os._exit(0)


def served(settings: dict[str, Any]) -> tuple[str, Any]:
    """The address of the running server, and the server, which ends when it is dropped."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["model"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [settings["key"]]
    params.cpuparams.n_threads = settings["threads"]
    params.cpuparams_batch.n_threads = settings["threads"]
    params.n_ctx = settings["context"]
    params.n_parallel = 1
    params.ui = False
    params.verbosity = 1
    server = xllamacpp.Server(params)
    url = str(server.listening_address)
    wait_until_healthy(url)
    return url, server


def wait_until_healthy(url: str) -> None:
    """Returns when the server says that it is ready.

    Raises:
        TimeoutError: it did not in time.
    """
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    until_s = time.monotonic() + HEALTH_LIMIT_S
    while time.monotonic() < until_s:
        try:
            with opener.open(f"{url}/health", timeout=5) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            pass
        time.sleep(POLL_S)
    raise TimeoutError(f"the server was not ready after {HEALTH_LIMIT_S:g} s")


def tell(what: dict[str, str]) -> None:
    """Writes one line for the parent."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
