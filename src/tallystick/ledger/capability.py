"""What a capability declares about itself. The hub's registry is a list of these and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tallystick.kernel.caller import Caller
from tallystick.kernel.operation import Operation
from tallystick.ledger.tx import Projection, Tx


@dataclass(frozen=True, kw_only=True)
class Capability:
    name: str
    package: str
    """Where its `schema` folder is."""
    operations: Sequence[Operation]
    projections: Mapping[str, Projection] = field(default_factory=dict[str, Projection])
    """Event kind -> the fold that turns such an event into rows."""
    tables: Sequence[str] = ()
    """The projection tables, in the order in which they may be emptied. Tables left out hold no ledger facts."""
    offers: Mapping[type, object] = field(default_factory=dict[type, object])
    """Protocols of other capabilities that this one answers."""
    notice: Callable[[Tx, str, Caller], str | None] | None = None
    """A short sign for a member who just made some other call in a room, such as "2 unread messages"."""
