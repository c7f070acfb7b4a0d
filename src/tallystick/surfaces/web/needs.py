"""What waits for a person in a room. Each item says who, what about, and where to answer it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tallystick.kernel.clock import Instant
from tallystick.surfaces.web import words
from tallystick.surfaces.web.snapshot import Facts, Snapshot
from tallystick.surfaces.web.stick import Stick

OWED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    sign: str
    """`!` cannot wait, `?` asks something, `~` is stuck."""
    who: str
    text: str
    room: Facts
    href: str
    label: str
    """What the way there is called."""
    since: str | Instant | None = None

    @property
    def tone(self) -> str:
        return "bad" if self.sign == "!" else "warn"


def of_room(snapshot: Snapshot, room: Facts, stick: Stick) -> Sequence[Need]:
    return [*_takeover(room, stick), *_owed(snapshot, room)]


def _takeover(room: Facts, stick: Stick) -> Iterator[Need]:
    if stick.failed:
        yield Need(
            sign="~",
            who=stick.failed,
            text=f"{words.opening(stick.facts['takeover'])}; takeover is open",
            room=room,
            href=f"/rooms/{room['room_id']}#stick",
            label="Take over",
            since=stick.facts["updated_at"],
        )


def _owed(snapshot: Snapshot, room: Facts) -> Iterator[Need]:
    """Messages that ask for the person's attention and have not been accepted."""
    for letter in snapshot.rows("messages.inbox", "messages", room_id=room["room_id"], owed=True, limit=OWED):
        event = letter["event"]
        data = event["data"]
        yield Need(
            sign="?",
            who=event["by"],
            text=words.clip(data.get("text") or data.get("title") or data.get("message") or "", 200),
            room=room,
            href=f"/rooms/{room['room_id']}/sessions?at={event['seq']}#e{event['seq']}",
            label="Answer",
            since=event["ts"],
        )
