"""Jobs, claims and runners, read and written; every look is an index range, whatever the room holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import msgspec
from msgspec import structs

from tallystick.capabilities.jobs.errors import UnknownJob
from tallystick.capabilities.jobs.model import Artifact, Claim, Job, Runner, Status, number_of, place, shown_seq
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Event
from tallystick.ledger.tx import Tx
from tallystick.storage.queries import Queries

SQL = Queries("tallystick.capabilities.jobs")
RUNNERS_AT_ONCE = 200
STALE_AT_ONCE = 200
LATEST = 2**62


def job(tx: Tx, room_id: str, job_id: str) -> Job:
    number = number_of(job_id)
    found = job_at(tx, room_id, number) if number is not None else None
    if found is None:
        raise UnknownJob(f"There is no job '{job_id[:80]}' in this room.", job_id=job_id[:80])
    return found


def job_at(tx: Tx, room_id: str, number: int) -> Job | None:
    if not tx.writable:
        return tx.one(SQL["job"], Job.of_row, room_id=room_id, number=number)
    known = cast("Job | None", tx.folded(room_id).get(("job", number)))
    if known is None and (known := tx.one(SQL["job"], Job.of_row, room_id=room_id, number=number)):
        remember(tx, known)
    return known


def forget(tx: Tx, job: Job) -> None:
    """Rows of other jobs have changed behind the fold: those that come after this one."""
    rows = tx.folded(job.room_id)
    for key in [key for key in rows if key[0] == "job" and key != ("job", job.number)]:
        del rows[key]


def remember(tx: Tx, job: Job) -> None:
    tx.remember(job.room_id, ("job", job.number), job)


class Outlook(msgspec.Struct, frozen=True, kw_only=True):
    """What a new job finds: the newest number, and until when some runner is there."""

    number: int | None
    attended_until: Instant | None


def outlook(tx: Tx, room_id: str) -> Outlook:
    known = tx.live(room_id).get(("outlook",)) or tx.one(SQL["outlook"], Outlook, room_id=room_id)
    return cast("Outlook", known)


def number_taken(tx: Tx, room_id: str, seen: Outlook) -> None:
    """Several jobs made in one transaction look only once."""
    tx.live(room_id)["outlook",] = structs.replace(seen, number=(seen.number or 0) + 1)


def runner_heard(tx: Tx, room_id: str) -> None:
    tx.live(room_id).pop(("outlook",), None)
    tx.live(room_id).pop(("runners",), None)


def put(tx: Tx, job: Job, *, new: bool = False) -> None:
    """Write the row, with the columns that follow from it."""
    values: dict[str, str | int | None] = msgspec.structs.asdict(job)
    values["status"], values["priority"] = job.status.value, int(job.priority)
    values["place"] = place(job)
    values["active"] = int(job.status.active)
    values["ready"] = int(job.ready)
    values["shown_seq"] = shown_seq(job)
    tx.run(SQL["insert" if new else "update"], **values)
    remember(tx, job)


def events_after(tx: Tx, job: Job, seq: int, limit: int) -> list[Event]:
    return tx.all(SQL["events_after"], Event, room_id=job.room_id, number=job.number, seq=seq, limit=limit)


def events_before(tx: Tx, job: Job, seq: int | None, limit: int) -> list[Event]:
    """Newest first."""
    before = LATEST if seq is None else seq
    return tx.all(SQL["events_before"], Event, room_id=job.room_id, number=job.number, seq=before, limit=limit)


def listed(
    tx: Tx,
    room_id: str,
    *,
    status: Status | None,
    task: str | None,
    anchor: str | None,
    after: tuple[Instant, int] | None,
    limit: int,
) -> list[Job]:
    updated_at, number = after or (LATEST, 0)
    query, more = SQL["listed"], dict[str, str]()
    if status:
        query, more = SQL["listed_of_status"], {"status": status.value}
    return tx.all(
        query,
        Job.of_row,
        room_id=room_id,
        task=task or "",
        anchor=anchor or "",
        updated_at=updated_at,
        number=number,
        limit=limit,
        **more,
    )


def stale(tx: Tx, room_id: str) -> list[Job]:
    return tx.all(SQL["stale"], Job.of_row, room_id=room_id, now=tx.now, limit=STALE_AT_ONCE)


def comes_after(tx: Tx, job: Job) -> list[tuple[str, str]]:
    """The jobs that this one comes after, with their status."""
    return tx.all(SQL["edges"], _edge, room_id=job.room_id, number=job.number)


def _edge(*, job_id: str, status: str) -> tuple[str, str]:
    return job_id, status


def claim(tx: Tx, job: Job) -> Claim | None:
    return tx.one(SQL["claim"], Claim, room_id=job.room_id, number=job.number)


def held(tx: Tx, room_id: str, runner_id: str) -> int:
    return tx.one(SQL["held"], _held, room_id=room_id, runner_id=runner_id, now=tx.now) or 0


def _held(*, held: int) -> int:
    return held


def runner(tx: Tx, room_id: str, runner_id: str) -> Runner | None:
    return tx.one(SQL["runner"], Runner.of_row, room_id=room_id, runner_id=runner_id)


def claimant(tx: Tx, room_id: str, runner_id: str) -> Runner | None:
    """A runner that claims. Of several that claim in one transaction the second looks up all that are there."""
    known = cast("dict[str, Runner] | None", tx.live(room_id).get(("runners",)))
    if known is None:
        known = tx.live(room_id)["runners",] = dict[str, Runner]()
    elif not known:
        known.update((each.runner_id, each) for each in runners_online(tx, room_id))
    return known.get(runner_id) or runner(tx, room_id, runner_id)


def loaded(tx: Tx, room_id: str, runner_id: str, change: int) -> None:
    """A runner has more or less to do than when it was looked up."""
    known = cast("dict[str, Runner] | None", tx.live(room_id).get(("runners",)))
    if known and (found := known.get(runner_id)):
        known[runner_id] = structs.replace(found, jobs=found.jobs + change)


def _room_id(*, room_id: str) -> str:
    return room_id


def unattended(tx: Tx, limit: int = 50) -> list[str]:
    """Rooms where jobs wait and no runner is there."""
    return tx.all(SQL["unattended"], _room_id, now=tx.now, limit=limit)


def runners_online(tx: Tx, room_id: str, limit: int = RUNNERS_AT_ONCE) -> Sequence[Runner]:
    return tx.all(SQL["runners_online"], Runner.of_row, room_id=room_id, now=tx.now, limit=limit)


def runners_offline(tx: Tx, room_id: str, limit: int) -> Sequence[Runner]:
    return tx.all(SQL["runners_offline"], Runner.of_row, room_id=room_id, now=tx.now, limit=limit)


def unanswered(tx: Tx, room_id: str, limit: int) -> list[Event]:
    """The questions that still wait for the manager, oldest first."""
    return tx.all(SQL["unanswered"], Event, room_id=room_id, limit=limit)


def runner_counts(tx: Tx, room_id: str, *, since: Instant) -> dict[str, int]:
    return dict(tx.all(SQL["runner_counts"], _state_count, room_id=room_id, now=tx.now, since=since))


def _state_count(*, state: str, runners: int) -> tuple[str, int]:
    return state, runners


def any_queued(tx: Tx, room_id: str) -> bool:
    return tx.one(SQL["any_queued"], _number, room_id=room_id) is not None


def _number(*, number: int) -> int:
    return number


def artifact(tx: Tx, job: Job, key: str) -> Artifact | None:
    return tx.one(SQL["artifact"], Artifact, room_id=job.room_id, number=job.number, artifact_key=key)


def artifacts(tx: Tx, job: Job) -> list[Artifact]:
    return tx.all(SQL["artifacts"], Artifact, room_id=job.room_id, number=job.number)
