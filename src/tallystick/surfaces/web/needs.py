"""What waits for a person in a room. Each item says who, what about, and where to answer it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tallystick.kernel.clock import Instant, to_wire
from tallystick.surfaces.web import words
from tallystick.surfaces.web.snapshot import Facts, Snapshot
from tallystick.surfaces.web.stick import Stick

OWED = 20
INCURSION = "x.tally.protocol.incursion"
RECENT_MS = 60 * 60 * 1000


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
    """The worst first."""
    found = [*_takeover(room, stick), *_owed(snapshot, room), *_jobs(snapshot, room), *_incursions(snapshot, room)]
    return sorted(found, key=lambda need: "!?~".index(need.sign))


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


def _jobs(snapshot: Snapshot, room: Facts) -> Iterator[Need]:
    """What the manager's radar marks: a missing proof or an error, a question, a claim that ran out."""
    for each in snapshot.rows("jobs.radar", "jobs", room_id=room["room_id"], limit=OWED):
        if each["marker"]:
            job, last = each["job"], each["last"]
            yield Need(
                sign=each["marker"],
                who=job["job_id"],
                text=words.clip(f"{words.spaced(last['kind'])}: {last['message']}", 200),
                room=room,
                href=f"/rooms/{room['room_id']}/jobs/{job['job_id']}",
                label=f"Open {last['ref']}",
                since=job["updated_at"],
            )


def _incursions(snapshot: Snapshot, room: Facts) -> Iterator[Need]:
    """Attempts of the last hour to enter what another agent holds."""
    since = to_wire(snapshot.now - RECENT_MS)
    given = {"room_id": room["room_id"], "kinds": [INCURSION], "since_ts": since, "newest": True, "limit": 3}
    for event in snapshot.rows("events.list", "events", **given):
        data = event["data"]
        yield Need(
            sign="~",
            who=data["from_agent"],
            text=f"tried {words.clip(data['scope'], 120)}, reserved by {words.person(data['to_agent'])}",
            room=room,
            href=f"/rooms/{room['room_id']}/reservations",
            label="Look",
            since=event["ts"],
        )
