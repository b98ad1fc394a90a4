"""Model clients: what answers a `ModelRequest`. Each is imported when it is asked for by name."""

from compactor.clients.options import ClientOptions
from compactor.clients.registry import CLIENTS, make_client

__all__ = ["CLIENTS", "ClientOptions", "make_client"]
