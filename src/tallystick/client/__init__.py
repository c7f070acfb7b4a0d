"""Reaching a hub: `Client` calls it, `BusClient` speaks on its bus, `Nearest` does without when none runs.

`calls` and `bus_protocol` decide what to send, when to try again and what an answer means; they do no I/O. `connection`
finds the hub and speaks HTTP over a socket, `direct` does the same calls in this process, `typed` makes any of them
with a contract's structs. Commands, hooks, the runner and the runtime all come this way.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tallystick.client.bus import BusClient
    from tallystick.client.client import Client
    from tallystick.client.connection import HubNotRunning
    from tallystick.client.nearest import Nearest

__all__ = ["BusClient", "Client", "HubNotRunning", "Nearest"]

_MODULES = {"BusClient": "bus", "Client": "client", "HubNotRunning": "connection", "Nearest": "nearest"}


def __getattr__(name: str) -> object:
    """Imported one by one: a command needs one of them and is to start at once."""
    if name not in _MODULES:
        raise AttributeError(f"module 'tallystick.client' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
