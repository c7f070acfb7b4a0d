"""What a slice does, told to the hub as it happens: an executor's own notes all, its steps only every so often."""

from __future__ import annotations

import time
from collections.abc import Callable

from tallystick.harnesses.headless.protocol import Began, HarnessStep, Sign, Told
from tallystick.kernel.errors import TallyError
from tallystick.runner import answer
from tallystick.runner.answer import Note
from tallystick.runner.leases import Hold, Stop
from tallystick.runner.office import Office, lost


class Progress:
    """Listens to one slice. A report that is refused because the job is lost stops the slice."""

    def __init__(self, office: Office, hold: Hold, every_s: float, tell: Callable[[str], None]) -> None:
        self._office, self._hold, self._every_s, self._tell = office, hold, every_s, tell
        self._due = time.monotonic() + every_s
        self._steps = 0

    def __call__(self, sign: Sign) -> None:
        match sign:
            case Began():
                pass
            case Told(data=data):
                if (note := answer.note(data)) is not None:
                    self._report(note)
            case HarnessStep(text=text, ok=ok):
                self._step(text if ok else f"{text} (failed)")

    def _step(self, text: str) -> None:
        self._steps += 1
        self._hold.doing = text
        if time.monotonic() < self._due:
            return
        more = f" ({self._steps} steps since the last report)" if self._steps > 1 else ""
        self._report(Note(message=f"{text}{more}"))
        self._steps, self._due = 0, time.monotonic() + self._every_s

    def _report(self, note: Note) -> None:
        if self._hold.stopped:
            return
        try:
            self._office.report(self._hold.job, note)
        except TallyError as refusal:
            self._tell(f"{self._hold.job.job_id}: {refusal.message}")
            if lost(refusal):
                self._hold.stop(Stop.LOST)
