"""Readers of session formats: bytes of a file to a `Session`, pure."""
