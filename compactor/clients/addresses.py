"""Who is asked, where and with which key; the address and the key are checked before they go into a request."""

import os
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from compactor.clients.failures import Asked
from compactor.errors import ModelError, SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider whose protocol a client speaks; its own server is asked unless another address is given."""

    name: str
    """Also the client's name."""
    host: str
    """Of its own server, which wants a key."""
    key_variable: str
    url_variable: str

    def url(self, given: str | None) -> str | None:
        """The address of another server, given or in the environment; None is the provider's own.

        Raises:
            SettingsError: the environment holds something that is no address.
        """
        return given or checked_url(os.environ.get(self.url_variable), self.url_variable)

    def asked(self, model: str, url: str | None, given_key: str | None, name: str | None = None) -> Asked:
        """Who is asked, with the key.

        Args:
            model: the model's name.
            url: as the method `url` gives it.
            given_key: None takes it from the environment.
            name: the server's name in answers and messages; None takes it from the address.

        Raises:
            ModelError: there is no key, and the server is the provider's own; or the key can't be sent.
        """
        host = (urlsplit(url).hostname if url else None) or self.host
        key = checked_key(given_key or os.environ.get(self.key_variable), self.key_variable)
        if key is None and host == self.host:
            raise ModelError(f"the {self.name} client needs a key, found none; set {self.key_variable}", kind="auth")
        known_as = name or (self.name if host == self.host else host)
        source = "the client's options" if given_key else self.key_variable
        return Asked(provider=known_as, model=model, key_source=source, key=key)


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
        # Each of these raises for what can't be connected to.
        _ = parts.port, (parts.hostname or "").encode("idna"), url.encode()
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
