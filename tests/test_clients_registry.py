"""Clients by name, and what each needs to be told."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from compactor.cli.client_options import CLIENTS as CLI_CLIENTS
from compactor.clients import CLIENTS, ClientOptions, make_client
from compactor.clients.addresses import checked_key, checked_url, is_loopback
from compactor.errors import ModelError, SettingsError
from compactor.model import ModelRequest

REQUEST = ModelRequest(kind="history", system="S", context="C", instructions="I", max_output_tokens=9)


def test_every_client_is_made_by_its_name(tmp_path: Path) -> None:
    script = tmp_path / "reply.txt"
    script.write_text("hello", encoding="utf-8")
    options = ClientOptions(
        model="m", command="cat", script=str(script), model_path="m.gguf", replay_dir=str(tmp_path), base_url="http://x"
    )
    assert {name: make_client(name, options).name for name in CLIENTS} == {name: name for name in CLIENTS}


def test_command_line_offers_every_client_and_no_other() -> None:
    assert tuple(CLIENTS) == CLI_CLIENTS


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=r"one of extractive, scripted, replay.*; found 'gpt'"):
        make_client("gpt", ClientOptions())


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("scripted", "--script"),
        ("replay", "--replay-dir"),
        ("command", "--command"),
        ("openai", "--model"),
        ("anthropic", "--model"),
        ("local", "--model-path"),
    ],
)
def test_missing_option_is_named(name: str, option: str) -> None:
    with pytest.raises(SettingsError, match=option):
        make_client(name, ClientOptions())


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("extractive", ClientOptions(record=True), "--replay-dir"),
        ("replay", ClientOptions(record=True, replay_dir="x"), "nothing to record"),
        ("local", ClientOptions(model_path="m.gguf", threads=0), "at least 1 thread"),
        ("openai", ClientOptions(model="m", base_url="localhost:8080"), "http://localhost:8080/v1"),
        ("anthropic", ClientOptions(model="m", base_url="http://[::1"), "--base-url"),
        ("command", ClientOptions(command="echo 'open"), "quotes"),
        ("command", ClientOptions(command="  "), "--command"),
    ],
)
def test_option_that_can_not_work_is_refused_before_anything_is_asked(
    name: str, options: ClientOptions, message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        make_client(name, options)


@pytest.mark.parametrize(("name", "variable"), [("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY")])
def test_missing_key_is_one_line_that_names_the_variable(name: str, variable: str) -> None:
    assert variable not in os.environ
    client = make_client(name, ClientOptions(model="m"))
    with pytest.raises(ModelError, match=f"set {variable}$") as raised:
        client.complete(REQUEST, lambda notice: None)
    assert (raised.value.kind, raised.value.retryable) == ("auth", False)


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_model_name_that_is_no_unicode_is_sent_all_the_same(name: str) -> None:
    options = ClientOptions(model="m\udcff", api_key="k", base_url="http://127.0.0.1:9", max_retries=0)
    with pytest.raises(ModelError) as raised:
        make_client(name, options).complete(REQUEST, lambda notice: None)
    assert raised.value.kind == "connection"


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_key_that_no_header_can_hold_is_refused_without_showing_it(name: str) -> None:
    client = make_client(name, ClientOptions(model="m", api_key="sécret", base_url="http://127.0.0.1:9"))
    with pytest.raises(ModelError, match="plain ASCII") as raised:
        client.complete(REQUEST, lambda notice: None)
    assert "cret" not in str(raised.value)


def test_options_and_clients_do_not_show_their_key() -> None:
    options = ClientOptions(model="m", api_key="sk-secret")
    clients = [make_client(name, options) for name in ("openai", "anthropic")]
    assert "sk-secret" not in repr([options, *clients])


@pytest.mark.parametrize(
    ("url", "expected"),
    [(None, None), ("  ", None), ("http://x/v1/", "http://x/v1"), (" https://x:1 ", "https://x:1")],
)
def test_address_is_taken_without_blanks_and_the_slash_at_its_end(url: str | None, expected: str | None) -> None:
    assert checked_url(url, "--base-url") == expected


@pytest.mark.parametrize(
    "url",
    [
        "x",
        "ftp://x",
        "http://",
        "http://x:port",
        "file:///x",
        f"http://{'a' * 64}.com",
        "http://x..y",
        "http://x/\udcff",
    ],
)
def test_what_is_no_web_address_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="SOURCE"):
        checked_url(url, "SOURCE")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.0.0.7", True),
        ("http://[::1]:8080", True),
        ("http://10.0.0.1", False),
        ("https://localhost.example.com", False),
    ],
)
def test_only_an_address_of_this_computer_is_loopback(url: str, expected: bool) -> None:
    assert is_loopback(url) is expected


@pytest.mark.parametrize(("key", "expected"), [(None, None), ("", None), (" \n", None), (" sk-1\n", "sk-1")])
def test_key_is_taken_without_the_blanks_around_it(key: str | None, expected: str | None) -> None:
    assert checked_key(key, "KEY") == expected


@pytest.mark.parametrize("name", ["openai", "anthropic"])
@pytest.mark.parametrize(
    "url",
    ["https://exa mple.invalid", f"http://{'a.' * 100}invalid", "http://\u2603.invalid", "http://[fe80::1%25x]:1"],
)
def test_address_that_leads_nowhere_is_one_line(name: str, url: str) -> None:
    client = make_client(name, ClientOptions(model="m", base_url=url, max_retries=0, timeout_s=5))
    with pytest.raises(ModelError, match="check the base URL") as raised:
        client.complete(REQUEST, print)
    assert raised.value.kind in ("connection", "setup")
    assert str(raised.value).isprintable()


def run_without(package: str, client: str, tmp_path: Path, **environment: str) -> str:
    """What a client says in a process of its own, in which a package can't be imported."""
    program = """
import sys
sys.modules[sys.argv[1]] = None
from compactor.clients import ClientOptions, make_client
from compactor.errors import ModelError
from compactor.model import ModelRequest
options = ClientOptions(model="m", model_path=sys.argv[3], base_url="https://host.invalid", max_retries=0)
request = ModelRequest(kind="history", system="", context="", instructions="", max_output_tokens=1)
try:
    make_client(sys.argv[2], options).complete(request, print)
except ModelError as error:
    print(error.kind, error)
"""
    command = [sys.executable, "-c", program, package, client, str(tmp_path / "m.gguf")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **environment})
    return done.stdout


@pytest.mark.parametrize(
    ("client", "package", "requirement"),
    [
        ("openai", "openai", "compactor[openai]"),
        ("local", "openai", "compactor[local]"),
        ("local", "xllamacpp", "compactor[local]"),
        ("anthropic", "anthropic", "anthropic"),
    ],
)
def test_missing_package_is_one_line_that_says_how_to_install_it(
    tmp_path: Path, client: str, package: str, requirement: str
) -> None:
    said = run_without(package, client, tmp_path)
    assert said.startswith(f"setup the client {client} needs the package ")
    assert said.endswith(f'which is not installed; pip install "{requirement}"\n')


@pytest.mark.parametrize("client", ["openai", "anthropic"])
def test_missing_certificates_are_one_line(tmp_path: Path, client: str) -> None:
    said = run_without("none", client, tmp_path, SSL_CERT_FILE=str(tmp_path / "none.pem"))
    assert said.endswith("can't load certificates: No such file or directory; check SSL_CERT_FILE and SSL_CERT_DIR\n")


def test_nothing_of_a_provider_is_imported_before_a_request(tmp_path: Path) -> None:
    program = """
import sys
from compactor.clients import CLIENTS, ClientOptions, make_client
options = ClientOptions(model="m", command="cat", model_path="m", replay_dir=sys.argv[1], script=sys.argv[2])
for name in CLIENTS:
    make_client(name, options)
print([name for name in ("anthropic", "openai", "genai_prices", "xllamacpp", "tiktoken") if name in sys.modules])
"""
    script = tmp_path / "script.txt"
    script.write_text("x", encoding="utf-8")
    command = [sys.executable, "-c", program, str(tmp_path), str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")
