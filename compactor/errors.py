"""Every error that compactor raises on purpose; this module imports nothing.

    CompactorError
    ├── SessionError            the session file can't be used (missing, not a session, unreadable, unknown leaf)
    │   └── SessionChanged      the file grew or changed between reading and writing; nothing was written
    ├── SettingsError           a flag or a settings file holds a value that can't be used
    ├── PromptError             a prompt template is missing, malformed, or names an unknown variable
    ├── VocabularyError         a shipped tokenizer vocabulary is missing or damaged
    └── ModelError              the model client failed (see `kind`); the summary was not made
        ├── ReplyRejected       the model answered, but the answer can't become a summary
        └── ModelAborted        the user stopped the call

The split is by who must act: fix the file, the settings, the prompt, or look at the model.
Messages say what was expected, what was found and where, and what to do next, on one line.
"""

from typing import Literal

ModelErrorKind = Literal[
    "auth", "bad_request", "overflow", "rate_limit", "overloaded", "timeout", "connection", "server", "reply", "setup"
]


class CompactorError(Exception):
    """Base of all errors that the command line turns into one line and exit code 1."""


class SessionError(CompactorError):
    """The session file can't be used as it is."""


class SessionChanged(SessionError):
    """The session file changed after it was read, so nothing was written."""


class SettingsError(CompactorError):
    """A setting has a value that can't be used."""


class PromptError(CompactorError):
    """A prompt template can't be loaded or rendered."""


class VocabularyError(CompactorError):
    """A tokenizer vocabulary that should be in the package is missing or damaged."""


class ModelError(CompactorError):
    """A model client failed.

    Attributes:
        kind: what went wrong, in terms of what can be done about it.
        retryable: True when the same request may succeed later.
    """

    def __init__(self, message: str, *, kind: ModelErrorKind, retryable: bool = False) -> None:
        super().__init__(message)
        self.kind: ModelErrorKind = kind
        self.retryable = retryable


class ReplyRejected(ModelError):
    """The model answered, but the answer can't become a summary."""

    def __init__(self, message: str) -> None:
        super().__init__(message, kind="reply")


class ModelAborted(ModelError):
    """The user stopped the call; nothing was written."""

    def __init__(self, message: str = "stopped by the user") -> None:
        super().__init__(message, kind="connection")
