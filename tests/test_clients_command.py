"""Any program as the model."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from compactor.clients import ClientOptions, make_client
from compactor.clients.command import CommandClient
from compactor.errors import ModelError
from compactor.model import ModelRequest, ModelResponse

posix_only = pytest.mark.skipif(os.name != "posix", reason="skipped: signals of POSIX")


def request(system: str = "Systém", context: str = "ctx ", instructions: str = "now") -> ModelRequest:
    return ModelRequest(kind="history", system=system, context=context, instructions=instructions, max_output_tokens=9)


def run(
    program: str, tmp_path: Path, asked: ModelRequest | None = None, timeout_s: float | None = None
) -> ModelResponse:
    """The answer of a Python program."""
    path = tmp_path / "program with blanks.py"
    path.write_text(program, encoding="utf-8")
    command = f'"{sys.executable}" "{path}"'
    client = make_client("command", ClientOptions(command=command, timeout_s=timeout_s))
    return client.complete(asked or request(), lambda notice: None)


ECHO = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())"


def test_program_reads_system_text_blank_line_and_message_and_its_output_is_the_answer(tmp_path: Path) -> None:
    reply = run(ECHO, tmp_path)
    assert (reply.text, reply.stop_reason, reply.usage) == ("Systém\n\nctx now", "stop", None)


def test_without_a_system_text_the_message_stands_alone(tmp_path: Path) -> None:
    assert run(ECHO, tmp_path, request(system="")).text == "ctx now"


def test_lone_surrogates_reach_the_program_as_replacement_characters(tmp_path: Path) -> None:
    assert run(ECHO, tmp_path, request(system="", context="a\ud800b")).text == "a\ufffdbnow"


def test_last_line_end_is_left_out_and_no_other_blank(tmp_path: Path) -> None:
    assert run("import sys; sys.stdout.buffer.write(b'\\n a \\n\\r\\n')", tmp_path).text == "\n a \n"


def test_large_input_and_output_at_once_do_not_block(tmp_path: Path) -> None:
    program = "import sys; sys.stdout.write('o' * 3_000_000); sys.stderr.write('e' * 3_000_000); sys.stdin.read()"
    assert len(run(program, tmp_path, request(context="x" * 3_000_000)).text) == 3_000_000


def test_program_that_reads_nothing_still_answers(tmp_path: Path) -> None:
    assert run("print('short')", tmp_path, request(context="x" * 3_000_000)).text == "short"


@pytest.mark.parametrize(
    ("program", "kind", "message"),
    [
        ("import sys; sys.exit(3)", "server", "ended with exit code 3 and said nothing"),
        (
            "import sys; print('\\x1b[31m\\n \\nno quota\\nmore', file=sys.stderr); sys.exit(1)",
            "server",
            "exit code 1: ",
        ),
        ("import sys; sys.stderr.buffer.write(b'\\xff bad'); sys.exit(1)", "server", "\ufffd bad"),
        ("import sys; sys.stdout.buffer.write(b'ab\\xff')", "reply", "byte 0xff at offset 2"),
    ],
)
def test_failure_of_the_program_is_one_line(tmp_path: Path, program: str, kind: str, message: str) -> None:
    with pytest.raises(ModelError, match=message) as raised:
        run(program, tmp_path)
    assert (raised.value.kind, raised.value.retryable) == (kind, False)
    assert str(raised.value).isprintable()


@posix_only
def test_program_ended_by_a_signal_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="was ended by signal 9"):
        run("import os; os.kill(os.getpid(), 9)", tmp_path)


def test_missing_program_is_named() -> None:
    with pytest.raises(ModelError, match=r"can't start the command 'no-such-program'.*--command") as raised:
        CommandClient(command="no-such-program --key sk-secret").complete(request(), print)
    assert raised.value.kind == "setup"
    assert "sk-secret" not in str(raised.value)


def test_no_shell_reads_the_command() -> None:
    client = CommandClient(command=f'"{sys.executable}" -c "import sys; print(sys.argv[1:])" $HOME * ; echo x | cat')
    assert client.complete(request(), print).text == "['$HOME', '*', ';', 'echo', 'x', '|', 'cat']"


@posix_only
def test_slow_program_is_stopped_with_all_that_it_started(tmp_path: Path) -> None:
    # The grandchild holds the write end of the fifo; reading it to the end shows that it is gone.
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    program = f"""
import subprocess, sys
held = open({str(fifo)!r}, "w")
subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], pass_fds=[held.fileno()])
import signal; signal.pause()
"""
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(ModelError, match=r"was not done after 1.5 s and was stopped") as raised:
        run(program, tmp_path, timeout_s=1.5)
    assert raised.value.kind == "timeout"
    assert select.select([reader], [], [], 60)[0], "what the program started still runs"
    assert os.read(reader, 1) == b""
    os.close(reader)


@posix_only
def test_interrupt_ends_the_program_and_passes_through(tmp_path: Path) -> None:
    # The child says that it runs, then our own process is interrupted as by Ctrl-C.
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    child = f"open({str(fifo)!r}, 'w').write('up'); import signal; signal.pause()"
    program = tmp_path / "main.py"
    program.write_text(
        f"""
import sys
from compactor.clients.command import CommandClient
from compactor.model import ModelRequest
asked = ModelRequest(kind="history", system="", context="", instructions="", max_output_tokens=1)
try:
    CommandClient(command={f'"{sys.executable}" -c "{child}"'!r}).complete(asked, print)
except KeyboardInterrupt:
    print("interrupted")
""",
        encoding="utf-8",
    )
    with subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True) as process:
        with fifo.open() as up:
            assert up.read() == "up"
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate()
    assert (output, process.returncode) == ("interrupted\n", 0)


def test_answers_are_kept_apart_by_command_and_show_no_argument() -> None:
    one, two = (CommandClient(command=f"llm --key sk-secret{n}").model or "" for n in (1, 2))
    assert one != two
    assert one.startswith("llm-") and "secret" not in one
    assert CommandClient(command="llm", label="mine").model == "mine"


def test_ctrl_c_while_a_child_starts_ends_the_child_and_is_told() -> None:
    """The signal comes between the fork and the moment when the child is known to its caller."""
    program = (
        "import os, signal, subprocess, sys\n"
        "from compactor.clients import children\n"
        "class Slow(subprocess.Popen):\n"
        "    def __init__(self, *a, **k):\n"
        "        super().__init__(*a, **k)\n"
        "        print(self.pid, flush=True)\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "subprocess.Popen = Slow\n"
        "try:\n"
        "    children.start([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "except KeyboardInterrupt:\n"
        "    print('told', flush=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True)
    pid, told = done.stdout.split()
    assert told == "told"
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)
