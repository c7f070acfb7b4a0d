"""Real agents on the bus: `attach` makes a program an agent of a room, `relay` lets an owner agent drive the others.

`rules` decides what an action means, pure; `agent` is the loop around it, `relay` the one that drives others,
`room_connection` its end of the bus, `program` what it runs, `journal` what must survive a kill.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tallystick.runtime.relay import RelayEnd
    from tallystick.runtime.start import AgentAttachment, RemoteHub, attach, attached, relaying

__all__ = ["AgentAttachment", "RelayEnd", "RemoteHub", "attach", "attached", "relaying"]

_HOMES = {"RelayEnd": "relay"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'start')}"), name)
