"""What the ledger says of rooms: `group.*`, notes, and the end of a room."""

from __future__ import annotations

from tallystick.kernel.envelope import Body


class RoomCreated(Body, kind="group.create"):
    """A room begins; always its first event."""

    title: str
    canonical_path: str
    policy: dict[str, int | str]
    """What is not named has its default."""


class ScopeAttached(Body, kind="group.attach"):
    """A root on one machine belongs to the room from now on; the event's `scope_key` names it."""

    machine_id: str
    root: str


class PolicyChanged(Body, kind="group.set_policy"):
    """The room's timeouts are these from now on."""

    policy: dict[str, int | str]


class SequenceChanged(Body, kind="group.reorder"):
    """The turn order is this from now on."""

    sequence: list[str]


class StickClosed(Body, kind="x.tally.stick.close"):
    """The room was closed; nothing follows."""

    turn_id: int
    from_agent_id: str
    reason: str | None = None


class NoteAdded(Body, kind="x.tally.note.add"):
    """Somebody left a note."""

    body: str
    turn_id: int | None = None
