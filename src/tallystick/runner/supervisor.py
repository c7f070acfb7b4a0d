"""The runner's main loop: claim while there is room, wait while there is nothing, leave when told to."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable

from tallystick.kernel.errors import Conflict, NotFound, TallyError, Unavailable
from tallystick.runner.job_run import JobRun, RunnerSettings
from tallystick.runner.job_source import JobSource
from tallystick.runner.leases import HeldJob, LeaseKeeper, StopReason

PAUSE_S = 1.0
"""After something that a moment may mend."""


class Supervisor:
    def __init__(self, source: JobSource, settings: RunnerSettings, tell: Callable[[str], None]) -> None:
        self._source, self._settings, self._tell = source, settings, tell
        self._leases = LeaseKeeper(source, settings.heartbeat_s, tell)
        self._threads: list[threading.Thread] = []
        self._freed = threading.Event()
        self._leaving = threading.Event()

    def leave(self, *_signal: object) -> None:
        """Ask the runner to end; a signal handler, so it only raises flags."""
        self._leaving.set()
        self._freed.set()

    def run(self, *, once: bool = False) -> None:
        """Work until told to leave; with `once`, until there is nothing to do."""
        self._leases.start()
        stopper = threading.Thread(target=self._stop_jobs, name="stopper", daemon=True)
        stopper.start()
        try:
            cursor = self._source.head()
            while not self._leaving.is_set():
                claimed = self._fill()
                if once and not claimed and not self._busy:
                    break
                cursor = self._wait(cursor, idle=not claimed)
        finally:
            self.leave()
            stopper.join()
            for thread in self._threads:
                thread.join()
            self._leases.close()

    @property
    def _busy(self) -> int:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        return len(self._threads)

    def _fill(self) -> bool:
        """Claim until there is no room or no job; tells whether there is no room."""
        while self._busy < self._settings.max_parallel:
            job = None
            try:
                job = self._source.claim()
            except NotFound:
                raise
            except Conflict as refusal:
                # Our lease ran out while we stood still, or an earlier runner of this name still has its jobs.
                self._tell(refusal.message)
                self._leases.show()
            except Unavailable as wrong:
                self._tell(wrong.message)
            if job is None:
                return False
            held = HeldJob(job)
            self._leases.take(held)
            thread = threading.Thread(target=self._work, args=[held], name=job.job_id)
            self._threads.append(thread)
            thread.start()
        return True

    def _wait(self, cursor: int, *, idle: bool) -> int:
        if idle and self._busy < self._settings.max_parallel:
            try:
                return self._source.await_work(cursor, self._settings.poll_ms)
            except Unavailable as wrong:
                self._tell(wrong.message)
        self._freed.wait(PAUSE_S)
        if not self._leaving.is_set():
            self._freed.clear()
        return cursor

    def _work(self, held: HeldJob) -> None:
        try:
            JobRun(self._source, self._settings, held, self._tell).run()
        except TallyError as wrong:
            self._tell(f"{held.job.job_id}: {wrong.message}")
        except Exception:  # noqa: BLE001 - the outermost of a thread: one job that fails ends no other
            self._tell(f"{held.job.job_id}: a fault of the runner\n{traceback.format_exc()}")
        finally:
            self._leases.drop(held)
            self._freed.set()

    def _stop_jobs(self) -> None:
        self._leaving.wait()
        for held in self._leases.held_jobs:
            held.stop(StopReason.LEAVING)
