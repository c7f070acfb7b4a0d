"""Jobs as tasks see them: how much there is, and the one job of a task that most needs to be seen."""

from __future__ import annotations

from dataclasses import dataclass

from tallystick.capabilities.jobs import queries
from tallystick.capabilities.jobs.model import Job
from tallystick.capabilities.jobs.queries import SQL
from tallystick.ledger.tx import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    running: int
    queued: int
    runner: str


class Work:
    """Answers the protocol of the same name that `tasks` declares."""

    def inbox(self, tx: Tx, room_id: str) -> Counts:
        found = dict(tx.all(SQL["counts"], _count, room_id=room_id))
        states = {runner.state(tx.now) for runner in queries.runners_online(tx, room_id)}
        runner = "live" if "live" in states else "idle" if states else "offline"
        return Counts(running=found.get("RUNNING", 0), queued=found.get("QUEUED", 0), runner=runner)

    def active(self, tx: Tx, room_id: str, task_id: str) -> Job | None:
        return tx.one(SQL["first_of_task"], Job.of_row, room_id=room_id, task_id=task_id)


def _count(*, status: str, jobs: int) -> tuple[str, int]:
    return status, jobs


WORK = Work()
