"""What a capability declares about itself. The hub's registry is a list of these and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

import msgspec

from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Body, Event
from tallystick.kernel.operation import Answer, AnyOperation, JsonObject, as_record
from tallystick.ledger.tx import Fold, Tx

BodyT = TypeVar("BodyT", bound=Body)


class Folding(msgspec.Struct, frozen=True):
    """A fold and the kinds of event it is for."""

    bodies: Sequence[type[Body]]
    run: Fold


def fold(*bodies: type[BodyT]) -> Callable[[Callable[[Tx, Event, BodyT], None]], Folding]:
    """Declare what turns events of these kinds into rows."""

    def declare(run: Callable[[Tx, Event, BodyT], None]) -> Folding:
        return Folding(bodies, run)

    return declare


class Holding(msgspec.Struct, frozen=True, kw_only=True):
    """Something that an agent has and others may wait for: the stick, a reservation, a job."""

    agent_id: str
    what: str
    """In a few words, such as "the stick" or "src/parser.py"."""
    path: str | None = None
    """Where in the room it lies, if anywhere."""


class Opened(Answer):
    """What an id or ref stands for."""

    ref: str
    kind: str
    """What it is: job, job_event, runner, task, card, anchor, note, artifact, action, event."""
    value: JsonObject

    @classmethod
    def of(cls, kind: str, ref: str, value: object) -> Opened:
        plain = value.to_data() if isinstance(value, Answer) else value
        return cls(ref=ref, kind=kind, value=as_record(JsonObject, plain))


class Authors(Protocol):
    """Who writes in a room and who wrote there; answered by `messages`."""

    def named(self, tx: Tx, room_id: str, who: str) -> str:
        """Whose id a name stands for, or the name itself."""
        ...

    def author(self, tx: Tx, room_id: str, me: Caller) -> tuple[str, str]:
        """To whom an event of this caller is ascribed and in which scope; refused unless it may write there."""
        ...


class Capability(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    package: str
    """Where its `schema` folder is."""
    operations: Sequence[AnyOperation]
    folds: Sequence[Folding] = ()
    """What turns events into rows."""
    tables: Sequence[str] = ()
    """The projection tables, in the order in which they may be emptied. Tables left out hold no ledger facts."""
    deferred_folds: Sequence[Folding] = ()
    """Folds that need not run when the event is written; they do later (see `Tx.catch_up`)."""
    deferred_tables: Sequence[str] = ()
    """Their tables, which have one row for an event, with its `room_id` and `seq`."""
    offers: Mapping[type, object] = msgspec.field(default_factory=dict[type, object])
    """Protocols of other capabilities that this one answers."""
    holdings: Callable[[Tx, str], Sequence[Holding]] | None = None
    """What is held in a room: an agent that holds something and makes no progress is stalled."""
    notice: Callable[[Tx, str, Caller], str | None] | None = None
    """A short sign for a member who just made some other call in a room, such as "2 unread messages"."""
    opens: Callable[[Tx, str, Caller, str], Opened | None] | None = None
    """What an id or ref in a room stands for, if it is one of this capability's; refuses one that names nothing."""
