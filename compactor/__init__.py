"""Context compaction for coding agents, and the proof of what it loses."""

__version__ = "0.1.0"
__all__ = ["__version__"]
