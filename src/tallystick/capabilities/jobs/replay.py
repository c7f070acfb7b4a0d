"""`jobs.replay`: the jobs as they stood right after any event of a room, by the same fold that keeps their rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from msgspec.structs import replace

from tallystick.capabilities.jobs import fold, rules
from tallystick.capabilities.jobs.contract import ReplayJobs
from tallystick.capabilities.jobs.model import Job, Kind, Status
from tallystick.capabilities.jobs.views import JobView, Replayed, ReplayedJob
from tallystick.capabilities.rooms import queries as rooms
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Event
from tallystick.kernel.operation import as_record, moment, operation
from tallystick.ledger import reading
from tallystick.ledger.tx import Tx


def jobs(events: Iterable[Event]) -> list[Job]:
    """Every job that these events made, in the radar's order; those that had ended come last."""
    found: dict[str, Job] = {}
    after: dict[str, list[str]] = {}
    for event in events:
        job_id = cast("str", event.data["job_id"])
        if event.kind == Kind.CREATE:
            after[job_id] = cast("list[str]", event.data["after"])
            found[job_id] = fold.created(event, blocked=0)
        else:
            found[job_id] = fold.after(found[job_id], event)
    counted = [replace(job, blocked=_blocked(found, after[job.job_id])) for job in found.values()]
    return sorted(counted, key=lambda job: (not job.status.active, fold.place(job), -job.updated_at, job.number))


def _blocked(found: dict[str, Job], after: list[str]) -> int:
    return sum(found[job_id].status is not Status.DONE for job_id in after)


@operation("jobs.replay", examples=({"room_id": "ROOM", "seq": 17},))
def replay(tx: Tx, me: Caller, ask: ReplayJobs) -> Replayed:
    """Show the jobs as they stood right after one of the room's events. Leases of claims are not on record."""
    room = rooms.room(tx, ask.room_id)
    event = reading.event_at(tx, room.room_id, ask.seq)
    found = jobs(reading.until(tx, room.room_id, event.seq, kinds=tuple(Kind)))
    shown = [
        as_record(ReplayedJob, {"job": JobView.of(job), "marker": rules.marker(fold.attention(job), stale=False)})
        for job in found[: ask.limit]
    ]
    return Replayed(room_id=room.room_id, seq=event.seq, ts=moment(event.ts), count=len(found), jobs=shown)
