"""Jobs as the radar sees them, each with its claim and the event to show first; the most urgent first."""

from __future__ import annotations

import msgspec

from tallystick.capabilities.jobs.model import Job, Status
from tallystick.capabilities.jobs.queries import SQL
from tallystick.kernel.clock import Instant
from tallystick.ledger.tx import Tx


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """A job as the radar sees it, with the event to show first."""

    job: Job
    expires_at: Instant | None
    kind: str
    message: str

    @classmethod
    def of_row(cls, *, expires_at: Instant | None, body: str | None, **row: object) -> Sighting:
        # Without a body it is the event that created the job, whose long prompt nobody needs here.
        said = msgspec.json.decode(body, type=Said) if body else Said(event="created", message="created")
        return cls(job=Job.of_row(**row), expires_at=expires_at, kind=said.event, message=said.message)  # pyright: ignore[reportArgumentType]


class Said(msgspec.Struct):
    event: str
    message: str = ""


def sightings(
    tx: Tx, room_id: str, *, status: str | None, task: str | None, anchor: str | None, limit: int
) -> list[Sighting]:
    """Up to one more than `limit` jobs, the most urgent first."""
    given = {"room_id": room_id, "status": status or "", "task": task or "", "anchor": anchor or ""}
    if status and not Status(status).active:
        return tx.all(SQL["radar_ended"], Sighting.of_row, limit=limit + 1, **given)
    found = tx.all(SQL["radar_urgent"], Sighting.of_row, limit=limit + 1, **given)
    if len(found) <= limit:
        lost = tx.all(SQL["radar_stale"], Sighting.of_row, now=tx.now, limit=limit + 1 - len(found), **given)
        found += lost
        if len(found) <= limit:
            known = {each.job.number for each in lost}
            rest = tx.all(SQL["radar_rest"], Sighting.of_row, limit=limit + 1 + len(lost), **given)
            found += [each for each in rest if each.job.number not in known]
    return found[: limit + 1]
