"""Keeps the leases of a runner and of its jobs, in a thread of its own, however busy the others are."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from enum import StrEnum

from tallystick.kernel.errors import TallyError
from tallystick.runner.job_source import JobSource, claim_lost
from tallystick.runner.model import ClaimedJob


class StopReason(StrEnum):
    """Why a job's work has to stop."""

    LOST = "lost"
    """Somebody else has it, or nobody needs it any more: nothing more may be written."""
    LEAVING = "leaving"
    """The runner was asked to end."""


class HeldJob:
    """One job that this runner holds. Whoever works on it is told once when that must end."""

    def __init__(self, job: ClaimedJob) -> None:
        self.job = job
        self.doing = "starting"
        self._on_stop: Callable[[StopReason], None] | None = None
        self._stop: StopReason | None = None
        self._lock = threading.Lock()

    @property
    def stopped(self) -> StopReason | None:
        return self._stop

    def listen(self, on_stop: Callable[[StopReason], None] | None) -> None:
        """From now on tell this one, or nobody; at once if there is something to tell already."""
        with self._lock:
            self._on_stop = on_stop
            known = self._stop
        if known and on_stop:
            on_stop(known)

    def stop(self, why: StopReason) -> None:
        with self._lock:
            if self._stop is not None:
                return
            self._stop = why
            told = self._on_stop
        if told:
            told(why)


class LeaseKeeper:
    """Renews every so often, and shows at once when something changed."""

    def __init__(self, source: JobSource, every_s: float, tell: Callable[[str], None]) -> None:
        self._source, self._every_s, self._tell = source, every_s, tell
        self._jobs: dict[str, HeldJob] = {}
        self._lock = threading.Lock()
        self._due = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._keep, name="leases", daemon=True)

    def start(self) -> None:
        """Raises what the first heartbeat is refused with: a runner that nobody knows can claim nothing."""
        self._source.present(())
        self._thread.start()

    def take(self, held: HeldJob) -> None:
        with self._lock:
            self._jobs[held.job.job_id] = held
        self._due.set()

    def drop(self, held: HeldJob) -> None:
        with self._lock:
            self._jobs.pop(held.job.job_id, None)
        self._due.set()

    @property
    def held_jobs(self) -> list[HeldJob]:
        with self._lock:
            return list(self._jobs.values())

    def close(self) -> None:
        """Stop renewing and let the runner's own lease run out."""
        self._closed = True
        self._due.set()
        self._thread.join()
        self._try(lambda: self._source.present((), leaving=True))

    def _keep(self) -> None:
        due = time.monotonic() + self._every_s
        while not self._closed:
            self._due.wait(max(0.0, due - time.monotonic()))
            self._due.clear()
            if self._closed:
                return
            self.show()
            if time.monotonic() >= due:
                for held in self.held_jobs:
                    self._renew(held)
                due = time.monotonic() + self._every_s

    def show(self) -> None:
        """Say that the runner is there and what it runs."""
        self._try(lambda: self._source.present([held.job.job_id for held in self.held_jobs]))

    def _renew(self, held: HeldJob) -> None:
        if held.stopped or held not in self.held_jobs:
            return
        try:
            self._source.renew(held.job, f"runner: {held.doing}")
        except TallyError as refusal:
            if held not in self.held_jobs:
                # The job ended while the renewal was on its way.
                return
            if claim_lost(refusal):
                self._tell(f"{held.job.job_id}: {refusal.message}")
                held.stop(StopReason.LOST)
            else:
                self._tell(f"{held.job.job_id} could not be renewed: {refusal.message}")

    def _try(self, call: Callable[[], None]) -> None:
        try:
            call()
        except TallyError as wrong:
            # The next beat tries again. A lease that has run out meanwhile is fenced off by the hub, not by us.
            self._tell(f"heartbeat failed: {wrong.message}")
