"""Real agents on the bus: `attach` makes a program an agent of a room, `relay` lets an owner agent drive the others.

`output` reads relay output, `rules` and `memory` decide what an action means, all pure; `agent` is the loop around
them, `line` its end of the bus, `run` one process of the program, `journal` what must survive a kill.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tallystick.runtime.attaching import Attachment, Elsewhere, attach, attached
    from tallystick.runtime.relay import Ended
    from tallystick.runtime.relay_start import relaying

__all__ = ["Attachment", "Elsewhere", "Ended", "attach", "attached", "relaying"]

_HOMES = {"Ended": "relay", "relaying": "relay_start"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'attaching')}"), name)
