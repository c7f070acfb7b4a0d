"""What a capability declares about itself. The hub's registry is a list of these and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tallystick.kernel.caller import Caller
from tallystick.kernel.operation import Answer, Operation
from tallystick.ledger.tx import Projection, Tx


class Opened(Answer):
    """What an id or ref stands for."""

    ref: str
    kind: str
    """What it is: job, job_event, runner, task, card, anchor, note, artifact, event."""
    value: dict[str, object]

    @classmethod
    def of(cls, kind: str, ref: str, value: object) -> Opened:
        dump = value.model_dump(mode="json") if isinstance(value, Answer) else value
        return cls.model_validate({"ref": ref, "kind": kind, "value": dump})


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
    opens: Callable[[Tx, str, Caller, str], Opened | None] | None = None
    """What an id or ref in a room stands for, if it is one of this capability's; refuses one that names nothing."""
