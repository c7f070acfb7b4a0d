"""`/rooms/<id>/reservations`: the workspace as a tree of who holds what until when, with conflicts and incursions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tallystick.capabilities.reservations.contract import ReservationList, ReservationView
from tallystick.capabilities.reservations.events import IncursionRecorded
from tallystick.kernel import scopes
from tallystick.kernel.errors import Refused
from tallystick.kernel.scopes import Overlap
from tallystick.surfaces.web import page, rows
from tallystick.surfaces.web.page import PageReader, PageRequest, PageView
from tallystick.surfaces.web.people import state_of
from tallystick.surfaces.web.rows import EventRow

HELD = 1000
ENDED = 20
INCURSIONS = 20


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


def view(snapshot: PageReader, asked: PageRequest) -> PageView:
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
