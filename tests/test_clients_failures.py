"""What a provider's failure says: the server's words in one line, without the key."""

import pytest

from compactor.clients.failures import Asked, model_failure

WORDS = "prompt is too long: 300 tokens > 200 maximum"


@pytest.mark.parametrize("key", [None, "", "x", "k", "EMPTY", "token"])
def test_stand_in_for_a_key_leaves_the_words_of_the_server_as_they_are(key: str | None) -> None:
    asked = Asked(provider="host", model="m", key_source="OPENAI_API_KEY", key=key)
    assert WORDS in str(model_failure(RuntimeError(WORDS), asked))


@pytest.mark.parametrize("key", ["sk-12345", "a-much-longer-key-0123456789"])
def test_key_is_never_shown(key: str) -> None:
    asked = Asked(provider="host", model="m", key_source="OPENAI_API_KEY", key=key)
    told = str(model_failure(RuntimeError(f"no such key: {key}"), asked))
    assert "no such key: [key];" in told
    assert key not in told
