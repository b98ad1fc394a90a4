"""What goes to the terminal: session text is untrusted, so control characters never reach it raw."""

import errno
import re
import sys

import click

from compactor.errors import CompactorError

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_RAW_IN_JSON = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""What JSON lets stand in a string although a terminal acts on it."""


TYPED = {
    **{"“": '"', "”": '"', "…": "...", "─": "-", "│": "|", "├": "|", "└": "`", "┤": "|"},
    **{"●": "*", "◐": "%", "×": "x", "○": "o", "┄": "-", "·": "."},
}
"""Signs of reports -> how they are typed, for an output whose encoding lacks them."""


def plain(text: str) -> str:
    """The text with control and direction characters shown as escapes; line ends and tabs are kept."""
    clean = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _CONTROL.sub(_escape, clean)


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def one_line(text: str, width: int = 0) -> str:
    """The text on one line, control characters shown as escapes, cut at `width` characters if it is given."""
    flat = plain(" ".join(text.split()))
    return flat if not width or len(flat) <= width else flat[: width - 1] + "…"


def say(text: str) -> None:
    """Talk: one line on standard error."""
    click.echo(one_line(text), err=True)


def write_text(text: str) -> None:
    """Data for people: text on standard output; what its encoding lacks is typed, or shown as escapes."""
    encoding = sys.stdout.encoding or "utf-8"
    lacking = {ord(sign): typed for sign, typed in TYPED.items() if not sign.encode(encoding, "ignore")}
    _print(plain(text).translate(lacking).encode(encoding, "backslashreplace").decode(encoding))


def write_json(line: bytes) -> None:
    """Data for programs: one JSON line on standard output, always UTF-8, without byte order mark.

    On a terminal control and direction characters are written as JSON escapes.
    """
    text = line.decode("utf-8", "replace").removeprefix("\ufeff").removesuffix("\n")
    if sys.stdout.isatty():
        text = _RAW_IN_JSON.sub(lambda m: f"\\u{ord(m.group()):04x}", text)
    _print(text.encode())  # bytes, so that no other encoding is applied


def write_bytes(document: bytes) -> None:
    """A document of JSON lines as it is on standard output; a terminal gets each line as `write_json` shows it."""
    if sys.stdout.isatty():
        for line in document.splitlines():
            write_json(line)
    elif document:
        _print(document.removesuffix(b"\n"))


def _print(data: str | bytes) -> None:
    """Writes to standard output at once; a reader that has gone is left to click, which ends quietly.

    Raises:
        CompactorError: the output can't be written, as on a full disk.
    """
    try:
        click.echo(data)
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        text = f"standard output can't be written: {error.strerror or error}; send it elsewhere"
        raise CompactorError(text) from None
