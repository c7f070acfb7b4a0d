"""The front of a room's queue: jobs that nothing holds back, in the order in which they are claimed.

It follows from the events, like the jobs' rows, so it is kept from one claim to the next (see `Tx.folded`).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from typing import NamedTuple, cast

import msgspec

from tallystick.capabilities.jobs import queries
from tallystick.capabilities.jobs.model import Job
from tallystick.capabilities.jobs.queries import SQL
from tallystick.kernel.envelope import Event
from tallystick.ledger import reading
from tallystick.ledger.tx import Tx

AT_ONCE = 32
KEPT = 128
"""Only a runner that can do nothing of what stands in front looks further, and what it sees there is not kept."""
SHORT = 4000
"""Characters of an event that is read along with its job, for the prompt in it."""


class Place(NamedTuple):
    priority: int
    number: int

    @classmethod
    def of(cls, job: Job) -> Place:
        return cls(int(job.priority), job.number)


BEFORE_ALL = Place(-1, 0)
_FRONT = ("front",)


class Front(msgspec.Struct):
    places: list[Place] = msgspec.field(default_factory=list[Place])
    whole: bool = False
    """Whether nothing stands behind these."""

    @property
    def last(self) -> Place:
        return self.places[-1] if self.places else BEFORE_ALL


def ready(tx: Tx, room_id: str) -> Iterator[Job]:
    """Queued jobs that nothing holds back, the next one first."""
    front = cast("Front", tx.folded(room_id).setdefault(_FRONT, Front()))
    for place in front.places:
        yield cast("Job", queries.job_at(tx, room_id, place.number))
    last, whole = front.last, front.whole
    while not whole:
        page = _page(tx, room_id, last)
        whole = len(page) < AT_ONCE
        if len(front.places) < KEPT:
            for job, creation in page:
                queries.remember(tx, job)
                _keep_creation(tx, job, creation)
            front.places += [Place.of(job) for job, _ in page]
            front.whole = whole
        for job, _ in page:
            last = Place.of(job)
            yield job


def _page(tx: Tx, room_id: str, last: Place) -> list[tuple[Job, str]]:
    return tx.all(SQL["ready"], _read, room_id=room_id, **last._asdict(), short=SHORT, limit=AT_ONCE)


def _read(*, creation: str, **row: object) -> tuple[Job, str]:
    return Job.of_row(**row), creation  # pyright: ignore[reportArgumentType]


def joined(tx: Tx, job: Job, creation: Event) -> None:
    """A job is new."""
    if job.ready and _stand(tx, job) and len(creation.body) <= SHORT:
        _keep_creation(tx, job, creation.body)


def moved(tx: Tx, before: Job, job: Job) -> None:
    """A job's row has changed: it may be in line now, or no longer."""
    front = cast("Front | None", tx.folded(job.room_id).get(_FRONT))
    if front and before.ready and not job.ready and (place := Place.of(job)) in front.places:
        front.places.remove(place)
    elif job.ready and not before.ready:
        _stand(tx, job)


def forget(tx: Tx, room_id: str) -> None:
    """Rows of jobs have changed behind the fold."""
    tx.folded(room_id).pop(_FRONT, None)


def _stand(tx: Tx, job: Job) -> bool:
    """Put a job in line, if its place is among those that are known."""
    front, place = cast("Front | None", tx.folded(job.room_id).get(_FRONT)), Place.of(job)
    if front is None or not (front.whole or place < front.last):
        return False
    insort(front.places, place)
    if len(front.places) > KEPT + AT_ONCE:
        front.places, front.whole = front.places[:KEPT], False
    return True


def prompt(tx: Tx, job: Job) -> str:
    known = cast("str | None", tx.folded(job.room_id).pop(("creation", job.number), None))
    creation = known or reading.event_at(tx, job.room_id, job.created_seq).body
    return msgspec.json.decode(creation, type=_Creation).prompt


class _Creation(msgspec.Struct):
    """What is wanted of the event that created a job."""

    prompt: str


def _keep_creation(tx: Tx, job: Job, creation: str) -> None:
    if creation:
        tx.remember(job.room_id, ("creation", job.number), creation)
