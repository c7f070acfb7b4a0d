"""Jobs, claims and runners, read and written; every read is an index range, whatever the room holds."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec
from msgspec import structs

from tallystick.capabilities.jobs.errors import RunnerNotYours, UnknownJob, UnknownRunner
from tallystick.capabilities.jobs.events import JobMessaged, JobQuestioned, JobRequeued, JobStatus
from tallystick.capabilities.jobs.model import (
    EXECUTOR_ORDER,
    LONGEST_LEASE_MS,
    Claim,
    ExecutorOrder,
    Job,
    JobArtifact,
    Runner,
    number_of,
)
from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import SKEW_MS, Instant
from tallystick.kernel.envelope import Event
from tallystick.ledger import reading
from tallystick.ledger.tx import Tx
from tallystick.storage.sql_files import Queries

SQL = Queries("tallystick.capabilities.jobs")
RUNNERS_AT_ONCE = 200
STALE_AT_ONCE = 200
QUESTIONS_AT_ONCE = 50
WORDS_AT_ONCE = 50
ORDER_KEY = ("executor_order",)
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
    known = tx.folded(room_id).get(("job", number))
    if isinstance(known, Job):
        return known
    if found := tx.one(SQL["job"], Job.of_row, room_id=room_id, number=number):
        remember(tx, found)
    return found


def forget(tx: Tx, job: Job) -> None:
    """Rows of other jobs have changed behind the fold: those that come after this one."""
    rows = tx.folded(job.room_id)
    for key in [key for key in rows if key[0] == "job" and key != ("job", job.number)]:
        del rows[key]


def remember(tx: Tx, job: Job) -> None:
    tx.remember(job.room_id, ("job", job.number), job)


class Outlook(msgspec.Struct, frozen=True, kw_only=True):
    """What a new job finds: the newest number, and until when some runner is there."""

    number: int | None = None
    attended_until: Instant | None = None


def outlook(tx: Tx, room_id: str) -> Outlook:
    known = tx.live(room_id).get(("outlook",))
    return known if isinstance(known, Outlook) else _outlook(tx, room_id)


def _outlook(tx: Tx, room_id: str) -> Outlook:
    return tx.one(SQL["outlook"], Outlook, room_id=room_id, beyond=_beyond(tx)) or Outlook()


def number_taken(tx: Tx, room_id: str, seen: Outlook) -> None:
    """Remember the next number: several jobs made in one transaction read it once."""
    tx.live(room_id)["outlook",] = structs.replace(seen, number=(seen.number or 0) + 1)


def runner_heard(tx: Tx, room_id: str) -> None:
    tx.live(room_id).pop(("outlook",), None)
    tx.live(room_id).pop(("runners",), None)


def put(tx: Tx, job: Job, *, new: bool = False) -> None:
    """Write the row, with the columns that follow from it."""
    values: dict[str, str | int | None] = msgspec.structs.asdict(job)
    values["status"], values["priority"] = job.status.value, int(job.priority)
    values["place"] = job.place
    values["active"] = int(job.on_radar)
    values["ready"] = int(job.ready)
    values["shown_seq"] = job.shown_seq
    tx.run(SQL["insert" if new else "update"], **values)
    remember(tx, job)


def events_after(tx: Tx, job: Job, seq: int, limit: int) -> list[Event]:
    return tx.all(SQL["events_after"], Event, room_id=job.room_id, number=job.number, seq=seq, limit=limit)


def events_before(tx: Tx, job: Job, seq: int | None, limit: int) -> list[Event]:
    """Newest first."""
    before = LATEST if seq is None else seq
    return tx.all(SQL["events_before"], Event, room_id=job.room_id, number=job.number, seq=before, limit=limit)


def turning_points(tx: Tx, job: Job) -> list[Event]:
    """Claims and waivers since the job was last queued, newest first."""
    found = tx.all(SQL["turning_points"], Event, room_id=job.room_id, number=job.number)
    return list(itertools.takewhile(lambda event: event.kind != JobRequeued.kind, found))


def listed(
    tx: Tx,
    room_id: str,
    *,
    status: JobStatus | None,
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
    return tx.all(SQL["stale"], Job.of_row, room_id=room_id, now=tx.now, beyond=_beyond(tx), limit=STALE_AT_ONCE)


def _beyond(tx: Tx) -> Instant:
    """No lease that the present clock grants lasts longer."""
    return tx.now + LONGEST_LEASE_MS + SKEW_MS


def comes_after(tx: Tx, job: Job) -> list[tuple[str, str]]:
    """The jobs that this one comes after, with their status."""
    return tx.all(SQL["edges"], _edge, room_id=job.room_id, number=job.number)


def _edge(*, job_id: str, status: str) -> tuple[str, str]:
    return job_id, status


def claim(tx: Tx, job: Job) -> Claim | None:
    return tx.one(SQL["claim"], Claim, room_id=job.room_id, number=job.number)


def held(tx: Tx, room_id: str, runner_id: str) -> int:
    return tx.one(SQL["held"], _held, room_id=room_id, runner_id=runner_id, now=tx.now, beyond=_beyond(tx)) or 0


def _held(*, held: int) -> int:
    return held


def find_runner(tx: Tx, room_id: str, runner_id: str) -> Runner | None:
    return tx.one(SQL["runner"], Runner.of_row, room_id=room_id, runner_id=runner_id)


def runner_of(tx: Tx, job: Job) -> Runner | None:
    """The runner that has a job, or had it last."""
    return find_runner(tx, job.room_id, job.runner_id) if job.runner_id else None


def runner(tx: Tx, room_id: str, runner_id: str) -> Runner:
    found = find_runner(tx, room_id, runner_id)
    if found is None:
        raise UnknownRunner(f"There is no runner '{runner_id[:80]}' in this room.", runner_id=runner_id[:80])
    return found


def check_runner_owner(tx: Tx, room_id: str, runner_id: str, me: Caller, *, renewing: bool = False) -> None:
    """Refuse a token's holder who speaks for another agent's runner; the id is free again when its lease is over."""
    known = find_runner(tx, room_id, runner_id) if me.by_token else None
    if known is None or known.agent_id == me.agent_id or (renewing and known.lease_expires_at <= tx.now):
        return
    raise RunnerNotYours(f"The runner '{runner_id[:80]}' is that of {known.agent_id}.", runner_id=runner_id[:80])


def claimant(tx: Tx, room_id: str, runner_id: str) -> Runner | None:
    """A runner that claims. When several claim in one transaction, the second claim reads all runners online."""
    known = _claimants(tx, room_id)
    if known is None:
        tx.live(room_id)["runners",] = _Claimants()
        return find_runner(tx, room_id, runner_id)
    if not known.found:
        known.found.update((each.runner_id, each) for each in runners_online(tx, room_id))
    return known.found.get(runner_id) or find_runner(tx, room_id, runner_id)


class _Claimants(msgspec.Struct):
    """Runners that were looked up for the claims of one transaction."""

    found: dict[str, Runner] = {}


def _claimants(tx: Tx, room_id: str) -> _Claimants | None:
    known = tx.live(room_id).get(("runners",))
    return known if isinstance(known, _Claimants) else None


def loaded(tx: Tx, room_id: str, runner_id: str, change: int) -> None:
    """A runner has more or less to do than when it was looked up."""
    known = _claimants(tx, room_id)
    if known and (found := known.found.get(runner_id)):
        known.found[runner_id] = structs.replace(found, jobs=found.jobs + change)


def _room_id(*, room_id: str) -> str:
    return room_id


def unattended(tx: Tx, limit: int = 50) -> list[str]:
    """Rooms where jobs wait and no runner is there."""
    return tx.all(SQL["unattended"], _room_id, now=tx.now, beyond=_beyond(tx), limit=limit)


def runners_online(tx: Tx, room_id: str, limit: int = RUNNERS_AT_ONCE) -> Sequence[Runner]:
    times = {"now": tx.now, "beyond": _beyond(tx)}
    return tx.all(SQL["runners_online"], Runner.of_row, room_id=room_id, limit=limit, **times)


def runners_offline(tx: Tx, room_id: str, limit: int) -> Sequence[Runner]:
    times = {"now": tx.now, "beyond": _beyond(tx)}
    return tx.all(SQL["runners_offline"], Runner.of_row, room_id=room_id, limit=limit, **times)


def questions(tx: Tx, room_id: str, *, after: int | None) -> Sequence[Event]:
    """What jobs asked their manager after a cursor; without one, all that is still unanswered. Oldest first."""
    if after is not None:
        return reading.since(tx, room_id, after, kinds=[JobQuestioned.kind], limit=QUESTIONS_AT_ONCE)
    return tx.all(SQL["unanswered"], Event, room_id=room_id, limit=QUESTIONS_AT_ONCE)


def runner_counts(tx: Tx, room_id: str, *, since: Instant) -> dict[str, int]:
    return dict(tx.all(SQL["runner_counts"], _state_count, room_id=room_id, now=tx.now, since=since))


def _state_count(*, state: str, runners: int) -> tuple[str, int]:
    return state, runners


def failures(tx: Tx, room_id: str, limit: int) -> list[Job]:
    """Jobs that failed and that nobody has acknowledged, the oldest first."""
    return tx.all(SQL["failures"], Job.of_row, room_id=room_id, limit=limit)


def any_queued(tx: Tx, room_id: str) -> bool:
    return tx.one(SQL["any_queued"], _number, room_id=room_id) is not None


def _number(*, number: int) -> int:
    return number


def jobs_of_runners(tx: Tx, room_id: str, runner_id: str = "") -> dict[str, list[str]]:
    """The jobs that each runner has, or only this one."""
    found = dict[str, list[str]]()
    held = tx.all(SQL["jobs_of_runners"], _held_job, room_id=room_id, runner_id=runner_id, limit=RUNNERS_AT_ONCE * 4)
    for name, job_id in held:
        found.setdefault(name, []).append(job_id)
    return found


def _held_job(*, runner_id: str, job_id: str) -> tuple[str, str]:
    return runner_id, job_id


def words(tx: Tx, job: Job, after: int = 0) -> list[Event]:
    """What the manager said after an event, the newest of it, oldest first."""
    if job.manager_seq <= after:
        return []
    found = tx.all(
        SQL["manager_words"],
        Event,
        room_id=job.room_id,
        number=job.number,
        seq=after,
        kind=JobMessaged.kind,
        limit=WORDS_AT_ONCE,
    )
    return found[::-1]


def executor_order(tx: Tx, room_id: str) -> ExecutorOrder:
    """Which executors suit which profile in this room, the best first."""

    def read() -> ExecutorOrder:
        return {**EXECUTOR_ORDER, **dict(tx.all(SQL["executor_orders"], _order, room_id=room_id))}

    return tx.kept(room_id, ORDER_KEY, read)


def _order(*, profile: str, executors: str) -> tuple[str, Sequence[str]]:
    return profile, msgspec.json.decode(executors, type=tuple[str, ...])


def artifact(tx: Tx, job: Job, key: str) -> JobArtifact | None:
    return tx.one(SQL["artifact"], JobArtifact, room_id=job.room_id, number=job.number, artifact_key=key)


def artifacts(tx: Tx, job: Job) -> list[JobArtifact]:
    return tx.all(SQL["artifacts"], JobArtifact, room_id=job.room_id, number=job.number)
