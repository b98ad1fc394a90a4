"""What a client can be told; each client reads the fields that concern it."""

from dataclasses import dataclass, field

from compactor.clients.retry import RetryPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """Settings of a client; a field that a client does not know is ignored."""

    model: str | None = None
    """The model to ask (openai, anthropic), or the name that recorded answers are kept under (replay, command)."""
    base_url: str | None = None
    """Where the model is served (openai, anthropic); None is the provider's own address."""
    api_key: str | None = field(default=None, repr=False)
    """None takes it from OPENAI_API_KEY or ANTHROPIC_API_KEY when a request is made."""
    command: str | None = None
    """The program to run, with its arguments, as one would type it (command); no shell reads it."""
    script: str | None = None
    """File of replies (scripted)."""
    replay_dir: str | None = None
    """Folder of recorded answers; any client answers from it first."""
    record: bool = False
    """Add new answers to `replay_dir`."""
    model_path: str | None = None
    """GGUF file (local)."""
    max_retries: int = 3
    """How often a request that failed for a passing reason is sent again."""
    base_delay_ms: int = 2000
    """Wait before the first retry; doubled for each further one."""
    timeout_s: float | None = None
    """Limit for one request; None is the library's own limit (openai, anthropic: 600 s without data), or none."""
    threads: int = 1
    """Processor threads (local)."""
    context_window: int | None = None
    """Tokens of context to set up (local); None is the model's own window, as far as memory goes."""
    token_budget: int | None = None
    """Size of the summary in tokens (extractive); None is the client's default."""
    temperature: float | None = None
    """Sampling temperature (openai, local); None sends none."""

    @property
    def retries(self) -> RetryPolicy:
        """The retry policy in these options."""
        return RetryPolicy(max_retries=self.max_retries, base_delay_ms=self.base_delay_ms)
