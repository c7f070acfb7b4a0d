"""What is done in a room: `/rooms/<id>/jobs` and `/rooms/<id>/reservations`.

The one is the radar as a board, one job's thread with its tail live, runners, and the merge report; the other is the
workspace as a tree of who holds what until when, with conflicts and incursions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tallystick.capabilities.jobs.views import JobOpened, Jobs, Radar
from tallystick.capabilities.reservations.contract import ReservationList, ReservationView
from tallystick.capabilities.reservations.events import IncursionRecorded
from tallystick.capabilities.tasks.contract import Cards, CardView
from tallystick.kernel import scopes
from tallystick.kernel.errors import Refused
from tallystick.kernel.scopes import Overlap
from tallystick.surfaces.web import page, rows
from tallystick.surfaces.web.page import PageReader, PageRequest, PageView, needs_of
from tallystick.surfaces.web.people import state_of
from tallystick.surfaces.web.rows import EventRow

COLUMNS = ("QUEUED", "RUNNING", "DONE", "FAILED", "CANCELED")
LIMIT = 100
EVENTS = 100
MERGED = 50
"""Jobs that one report takes."""

HELD = 1000
ENDED = 20
INCURSIONS = 20


def jobs_view(snapshot: PageReader, asked: PageRequest) -> PageView:
    if asked.item:
        return _thread(snapshot, asked)
    around = page.framed(snapshot, asked)
    radar = snapshot.read("jobs.radar", Radar, room_id=asked.room_id, limit=LIMIT, runners_limit=50, offline_limit=10)
    ended = [
        job
        for status in COLUMNS[2:]
        for job in snapshot.read("jobs.list", Jobs, room_id=asked.room_id, status=status, limit=15).jobs
    ]
    board = {status: [each for each in radar.jobs if each.job.status == status] for status in COLUMNS[:2]}
    context: dict[str, object] = {
        **around.context,
        "radar": radar,
        "needs": [need for need in needs_of(around.room, around.waiting).needs if need.item.job],
        "board": board,
        "ended": sorted(ended, key=lambda job: job.updated_at, reverse=True)[:30],
        "runners": [*radar.runner_leases, *radar.runner_leases_offline],
        "mergeable": [*ended, *(each.job for each in radar.jobs)][:MERGED],
        "report": _report(snapshot, asked.room_id),
    }
    return PageView(template="jobs.html", context=context)


def _thread(snapshot: PageReader, asked: PageRequest) -> PageView:
    around = page.framed(snapshot, asked)
    before = asked.number("before")
    opened = snapshot.read(
        "jobs.open",
        JobOpened,
        room_id=asked.room_id,
        job=asked.item,
        include_prompt=True,
        include_meta=True,
        include_artifacts=True,
        max_events=EVENTS,
        **({"before_seq": before} if before else {}),
    )
    job, events = opened.job, opened.events
    context: dict[str, object] = {
        **around.context,
        "opened": opened,
        "job": job,
        "events": events,
        "older": events[-1].seq if events and opened.has_more_events else None,
        "running": job.status == "RUNNING",
        "active": job.status in COLUMNS[:2],
    }
    return PageView(template="job.html", context=context)


def _report(snapshot: PageReader, room_id: str) -> CardView | None:
    """The newest merge report, which is a pinned card."""
    cards = snapshot.read("cards.list", Cards, room_id=room_id, type="report", limit=1).cards
    return cards[0] if cards else None


@dataclass(slots=True, kw_only=True)
class PathNode:
    """A folder or file with what is reserved in it."""

    name: str
    path: str
    held: list[ReservationView] = field(default_factory=list[ReservationView])
    below: dict[str, PathNode] = field(default_factory=dict[str, "PathNode"])

    @property
    def branches(self) -> list[PathNode]:
        return [self.below[name] for name in sorted(self.below)]


def tree(held: Sequence[ReservationView]) -> PathNode:
    """Reservations by their path; folders in which only one thing is reserved share a line with it."""
    root = PathNode(name="", path="")
    for each in held:
        branch = root
        steps = [step for step in each.path.split("/") if step not in {"", ".", "*"}]
        for depth, step in enumerate(steps):
            path = "/".join(steps[: depth + 1])
            branch = branch.below.setdefault(step, PathNode(name=step, path=path))
        branch.held.append(each)
    return _joined(root)


def _joined(branch: PathNode) -> PathNode:
    for name, child in list(branch.below.items()):
        joined = _joined(child)
        while not joined.held and len(joined.below) == 1:
            (only,) = joined.below.values()
            joined = PathNode(name=f"{joined.name}/{only.name}", path=only.path, held=only.held, below=only.below)
        branch.below[name] = joined
    return branch


def _around(path: str) -> Callable[[str], bool]:
    """Whether a reserved path overlaps this one; nothing overlaps what is no path of a room."""
    try:
        place = scopes.lexical(path or ".")
    except Refused:
        return lambda reserved: False  # noqa: ARG005
    return lambda reserved: scopes.classify(scopes.shown(reserved), place) is not Overlap.DISJOINT


def reservations_view(snapshot: PageReader, asked: PageRequest) -> PageView:
    around = page.framed(snapshot, asked)
    room_id = asked.room_id
    status = snapshot.read("reservations.status", ReservationList, room_id=room_id, limit=HELD)
    path = asked.word("path")
    wanted = _around(path)
    held = [each for each in status.reservations if wanted(each.path)]
    ended = snapshot.read("reservations.status", ReservationList, room_id=room_id, ended=True, limit=ENDED)
    context: dict[str, object] = {
        **around.context,
        "only": path,
        "tree": tree(held),
        "held": held,
        "contested": set(status.contested),
        "ended": [each for each in ended.reservations if wanted(each.path)],
        "incursions": incursions(snapshot, room_id),
        "state_of": {agent.agent_id: state_of(agent, "active") for agent in around.agents},
        "member": snapshot.me in {member.agent_id for member in around.room.members},
    }
    return PageView(template="reservations.html", context=context)


def incursions(snapshot: PageReader, room_id: str) -> Sequence[EventRow]:
    return rows.newest(snapshot, room_id, limit=INCURSIONS, kinds=[IncursionRecorded.kind])
