"""The front of a room's queue: jobs that nothing holds back, in the order in which they are claimed.

It follows from the events, like the jobs' rows, so it is kept from one claim to the next (see `Tx.folded`).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from tallystick.capabilities.jobs import queries
from tallystick.capabilities.jobs.model import Job
from tallystick.capabilities.jobs.queries import SQL
from tallystick.kernel.envelope import Event
from tallystick.ledger import reading
from tallystick.ledger.tx import Tx

AT_ONCE = 32
KEPT = 128
"""How many places are cached; a runner that can take none of them reads further pages, which are not cached."""
SHORT = 4000
"""Characters of an event that is read along with its job, for the prompt in it."""


class QueuePlace(NamedTuple):
    priority: int
    number: int

    @classmethod
    def of(cls, job: Job) -> QueuePlace:
        return cls(int(job.priority), job.number)


BEFORE_ALL = QueuePlace(-1, 0)
_FRONT = ("front",)


class QueueFront(msgspec.Struct):
    places: list[QueuePlace] = msgspec.field(default_factory=list[QueuePlace])
    whole: bool = False
    """Whether nothing stands behind these."""

    @property
    def last(self) -> QueuePlace:
        return self.places[-1] if self.places else BEFORE_ALL


def _front(tx: Tx, room_id: str) -> QueueFront | None:
    known = tx.folded(room_id).get(_FRONT)
    return known if isinstance(known, QueueFront) else None


def ready(tx: Tx, room_id: str) -> Iterator[Job]:
    """Queued jobs that nothing holds back, the next one first."""
    front = _front(tx, room_id)
    if front is None:
        front = QueueFront()
        tx.folded(room_id)[_FRONT] = front
    for place in front.places:
        if job := queries.job_at(tx, room_id, place.number):
            yield job
    last, whole = front.last, front.whole
    while not whole:
        page = _page(tx, room_id, last)
        whole = len(page) < AT_ONCE
        if len(front.places) < KEPT:
            for job, creation in page:
                queries.remember(tx, job)
                _keep_creation(tx, job, creation)
            front.places += [QueuePlace.of(job) for job, _ in page]
            front.whole = whole
        for job, _ in page:
            last = QueuePlace.of(job)
            yield job


def _page(tx: Tx, room_id: str, last: QueuePlace) -> list[tuple[Job, str]]:
    return tx.all(SQL["ready"], _read, room_id=room_id, **last._asdict(), short=SHORT, limit=AT_ONCE)


def _read(*, creation: str, **row: object) -> tuple[Job, str]:
    return Job.of_row(**row), creation  # pyright: ignore[reportArgumentType]


def joined(tx: Tx, job: Job, creation: Event) -> None:
    """A job is new."""
    if job.ready and _insert(tx, job) and len(creation.body) <= SHORT:
        _keep_creation(tx, job, creation.body)


def moved(tx: Tx, before: Job, job: Job) -> None:
    """A job's row has changed: it may be in line now, or no longer."""
    front = _front(tx, job.room_id)
    if front and before.ready and not job.ready and (place := QueuePlace.of(job)) in front.places:
        front.places.remove(place)
    elif job.ready and not before.ready:
        _insert(tx, job)


def forget(tx: Tx, room_id: str) -> None:
    """Rows of jobs have changed behind the fold."""
    tx.folded(room_id).pop(_FRONT, None)


def _insert(tx: Tx, job: Job) -> bool:
    """Put a job in line, if its place is among those that are known."""
    front, place = _front(tx, job.room_id), QueuePlace.of(job)
    if front is None or not (front.whole or place < front.last):
        return False
    insort(front.places, place)
    if len(front.places) > KEPT + AT_ONCE:
        front.places, front.whole = front.places[:KEPT], False
    return True


def prompt(tx: Tx, job: Job) -> str:
    known = tx.folded(job.room_id).pop(("creation", job.number), None)
    creation = known if isinstance(known, str) else reading.event_at(tx, job.room_id, job.created_seq).body
    return msgspec.json.decode(creation, type=_Creation).prompt


class _Creation(msgspec.Struct):
    """What is wanted of the event that created a job."""

    prompt: str


def _keep_creation(tx: Tx, job: Job, creation: str) -> None:
    if creation:
        tx.remember(job.room_id, ("creation", job.number), creation)
