"""Checks the address and the key that a client is given, before they go into a request."""

from ipaddress import ip_address
from urllib.parse import urlsplit

from compactor.errors import ModelError, SettingsError


def checked_url(url: str | None, source: str) -> str | None:
    """The address without a slash at its end; None for None or an empty text.

    Raises:
        SettingsError: it is not an http or https address.
    """
    if url is None or not url.strip():
        return None
    try:
        parts = urlsplit(url.strip())
        good = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port, (parts.hostname or "").encode("idna")  # both raise for what can't be connected to
    except ValueError:
        good = False
    if not good:
        raise SettingsError(f"expected an address such as http://localhost:8080/v1, found {url!r}; check {source}")
    return url.strip().rstrip("/")


def is_loopback(url: str) -> bool:
    """True when the address is of this computer, which no proxy is asked for."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def checked_key(key: str | None, source: str) -> str | None:
    """The key without blanks around it; None if there is none.

    Raises:
        ModelError: it can't be sent in a header.
    """
    stripped = (key or "").strip()
    if stripped and not (stripped.isascii() and stripped.isprintable()):
        text = f"expected a key of plain ASCII characters in {source}, found others; copy the key anew"
        raise ModelError(text, kind="auth")
    return stripped or None
