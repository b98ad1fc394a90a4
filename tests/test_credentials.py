"""Credentials: issuers' prefixes and values that look random are found, ordinary text of sessions is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import texts

from compactor.credentials import find_credentials, masked

LETTERS = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG1hJ3kL5mN7pQ9rS1tU3vW5xY7zAa"
FOUND = {
    "AKIAIOSFODNN7EXAMPLE": "AWS access key",
    "ASIA" + "Q3RT" * 4: "AWS access key",
    "ghp_" + LETTERS[:36]: "GitHub token",
    "ghs_" + LETTERS[:36]: "GitHub token",
    "github_pat_" + LETTERS[:40]: "GitHub token",
    "glpat-" + LETTERS[:20]: "GitLab token",
    "sk-ant-api03-" + LETTERS[:60]: "Anthropic key",
    "sk-proj-" + LETTERS[:48]: "OpenAI key",
    "sk-" + LETTERS[:48]: "OpenAI key",
    "sk_live_" + LETTERS[:24]: "Stripe key",
    "AIza" + LETTERS[:35]: "Google key",
    "xoxb-123456789012-" + LETTERS[:24]: "Slack token",
    "https://hooks.slack.com/services/T0001/B0001/" + LETTERS[:24]: "Slack webhook",
    "hf_" + LETTERS[:34]: "Hugging Face token",
    "npm_" + LETTERS[:36]: "npm token",
    "pypi-AgEIcHlwaS5vcmc" + LETTERS[:60]: "PyPI token",
    f"SG.{LETTERS[:22]}.{LETTERS[:43]}": "SendGrid key",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N": "JSON web token",
    "-----BEGIN RSA PRIVATE KEY-----": "private key",
    "-----BEGIN PRIVATE KEY-----": "private key",
}


@pytest.mark.parametrize(("secret", "kind"), FOUND.items(), ids=list(FOUND.values()))
@pytest.mark.parametrize("frame", ["{}", "The key is {}.", '"key":"{}"', "`{}`", "KEY={}\n"])
def test_what_an_issuer_marks_is_found(secret: str, kind: str, frame: str) -> None:
    text = frame.format(secret)
    (found,) = find_credentials(text)
    assert (found.kind, found.is_certain) == (kind, True)
    assert text[found.start : found.end].startswith(secret.rstrip("."))


@pytest.mark.parametrize(
    ("text", "kind", "secret"),
    [
        ("password=tR7w9QzX2mLk4", "password", "tR7w9QzX2mLk4"),
        ('"db_password": "tR7w9QzX2mLk4"', "password", "tR7w9QzX2mLk4"),
        ("API_KEY := tR7w9QzX2mLk4", "secret value", "tR7w9QzX2mLk4"),
        ("client_secret => 'tR7w9QzX2mLk4'", "secret value", "tR7w9QzX2mLk4"),
        ("Authorization: Bearer abcDEF123456ghiJKL789", "bearer token", "abcDEF123456ghiJKL789"),
        ("postgres://crane:tR7w9QzX2mLk4@db/tides", "password in an address", "tR7w9QzX2mLk4"),
    ],
)
def test_a_value_that_looks_random_is_found_by_what_stands_before_it(text: str, kind: str, secret: str) -> None:
    (found,) = find_credentials(text)
    assert (found.kind, found.is_certain, text[found.start : found.end]) == (kind, False, secret)


@pytest.mark.parametrize(
    "text",
    [
        "task-management and sk-management-for-agents, sk-building-interactive-tools",
        "commit 494489e1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d7",
        "id 019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b",
        "call toolu_01571BXn2nSXvrR7sxVHAXXE",
        "password = getpass.getpass()",
        "password=process.env.DB_PASSWORD1",
        "api_key = os.environ['KEY1']",
        "secret: your_secret_key_123",
        "password: changeme12345",
        "password=aaaaaaaaaaaa1",
        "api_key=<your key here 12345>",
        "password: correcthorsebatterystaple",
        "tokens=12345678901234567890",
        "the bearer of bad news is 12345678901234567890 years old",
        "ghp_" + "x" * 36,
        "AKIA" + "X" * 16,
        "AKIA1234",
        "https://user:short1@host/path",
        "https://example.org:8080/path@2",
        "sha512-" + LETTERS,
        "-----BEGIN CERTIFICATE-----",
        "eyJhbGciOiJIUzI1NiJ9 alone",
    ],
)
def test_ordinary_text_of_sessions_holds_none(text: str) -> None:
    assert find_credentials(text) == []


def test_a_value_that_two_rules_find_is_told_once_by_its_issuer() -> None:
    secret = "ghp_" + LETTERS[:36]
    assert [c.kind for c in find_credentials(f"api_key={secret} Bearer {secret}")] == ["GitHub token"] * 2


def test_a_masked_credential_shows_its_first_characters() -> None:
    assert masked("ghp_" + LETTERS[:36]) == "ghp_…"


@given(st.lists(st.one_of(texts, st.sampled_from([f" {secret} " for secret in FOUND])), max_size=6).map("".join))
def test_credentials_are_found_in_order_and_never_overlap(text: str) -> None:
    found = find_credentials(text)
    ends = [0, *(credential.end for credential in found)]
    assert all(start <= credential.start < credential.end for start, credential in zip(ends, found, strict=False))
    wanted = sum(text.count(f" {secret} ") for secret in FOUND)
    assert sum(credential.is_certain for credential in found) >= min(wanted, 1)
