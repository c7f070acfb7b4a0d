"""One job from its claim to its end: slice after slice, each decided by the rules, every word fenced by the claim."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from tallystick.capabilities.jobs.contract import SUMMARY_LIMIT
from tallystick.harnesses.headless.protocol import Failed, HarnessAnswer
from tallystick.kernel.errors import Refused, TallyError
from tallystick.proof import files, verdict
from tallystick.proof.salvage import salvage
from tallystick.runner import answer, executors, folders, packs, rules, slicing
from tallystick.runner.answer import BadAnswer, Note, clipped
from tallystick.runner.executors import Executor
from tallystick.runner.folders import BadFolder, Folder
from tallystick.runner.leases import Hold, Stop
from tallystick.runner.model import Prior, Slice
from tallystick.runner.office import Office, lost
from tallystick.runner.progress import Progress
from tallystick.runner.rules import Count, End, GoOn, Next
from tallystick.runner.setup import Setup
from tallystick.runner.slicing import Ended, Stopped


class _Stopped(Exception):
    """The work has to end here."""


class Work:
    def __init__(self, office: Office, setup: Setup, hold: Hold, tell: Callable[[str], None]) -> None:
        self._office, self._setup, self._hold = office, setup, hold
        self._job = hold.job
        self._tell_all = tell
        self._prior, self._count = Prior(), Count()
        self._until = time.monotonic() + setup.max_runtime_s

    def _tell(self, text: str) -> None:
        self._tell_all(f"{self._job.job_id}: {text}")

    def run(self) -> None:
        """Work until the job has ended or is somebody else's; raises only what nobody foresaw."""
        try:
            self._run()
        except _Stopped:
            self._tell(f"stopped ({self._hold.stopped})")
            if self._hold.stopped is Stop.LEAVING:
                self._office.give_back(self._job, "runner: stopped; another one may go on")
        except Refused as refusal:
            self._tell(refusal.message)
            if not lost(refusal):
                # Trying again would be refused again; the job ends with the reason instead of going round for ever.
                self._complete(End(status="FAILED", summary=f"the hub refused the runner: {refusal.message}"))

    def _run(self) -> None:
        if self._job.reclaimed and (end := rules.worn_out(self._office.claims(self._job), self._setup.bounds)):
            return self._complete(end)
        executor = executors.suited(self._setup.executors, self._job)
        if executor is None:
            return self._complete(End(status="FAILED", summary=f"this runner has no executor {self._job.executor}"))
        try:
            folder = folders.prepare(
                self._job, self._setup.cwd, worktrees=self._setup.worktrees, always=self._setup.worktree
            )
        except BadFolder as wrong:
            return self._complete(End(status="FAILED", summary=f"cannot work there: {wrong}"))
        return self._slices(executor, folder)

    def _slices(self, executor: Executor, folder: Folder) -> None:
        while (left := self._until - time.monotonic()) > 0:
            found = self._after(self._slice(executor, folder, left), folder)
            if isinstance(found, End):
                found = self._end(found, folder)
            if found is None:
                return None
            self._report(Note(kind=found.kind, message=found.message))
            self._prior, self._count = found.prior, found.count
        summary = f"gave up after {self._setup.max_runtime_s} seconds; before that: {self._prior.summary}"
        return self._complete(End(status="FAILED", summary=clipped(summary, SUMMARY_LIMIT), refs=self._prior.refs))

    def _slice(self, executor: Executor, folder: Folder, left: float) -> Ended:
        number = self._count.slices + 1
        slice_ = Slice(number=number, seconds=min(self._setup.slice_s, max(1, int(left))))
        again = " (reclaim)" if self._job.reclaimed and number == 1 else ""
        self._report(Note(kind="slice", message=f"runner: slice {number} started with {executor.name}{again}"))
        self._hold.doing = f"slice {number} with {executor.name}"
        self._tell(self._hold.doing)
        with tempfile.TemporaryDirectory(dir=self._setup.scratch) as scratch:
            start, reader = executor.start(
                self._job,
                slice_,
                pack=packs.pack(*self._skill()),
                prior=self._prior,
                around=self._office.surroundings(self._job),
                scratch=Path(scratch),
            )
            return slicing.run(
                start,
                reader,
                self._hold,
                cwd=folder.path,
                env=executors.environment(self._setup.environ, self._job, self._setup.runner_id),
                limit_s=slice_.seconds + self._setup.grace_s,
                on_sign=Progress(self._office, self._hold, self._setup.report_every_s, self._tell),
            )

    def _after(self, ended: Ended, folder: Folder) -> Next:
        match ended:
            case Stopped():
                raise _Stopped
            case Failed(why=why):
                return rules.failed(why, self._prior, self._count, self._setup.bounds)
            case HarnessAnswer(data=data, text=text):
                pass
        try:
            said = answer.read(data, text)
        except BadAnswer as wrong:
            return rules.failed(str(wrong), self._prior, self._count, self._setup.bounds)
        self._pass_on(said.events)
        if said.status == "DONE" and (problems := self._unproven(said, folder)) is not None:
            return rules.unproven(said, problems, self._prior, self._count, self._setup.bounds)
        return rules.answered(said, self._prior, self._count, self._setup.bounds)

    def _end(self, end: End, folder: Folder) -> GoOn | None:
        """Complete the job, unless the hub's own gate says that it must go on."""
        anew: Next = end
        try:
            self._complete(self._with_worktree(end, folder))
        except TallyError as refusal:
            if refusal.code != "proof_missing":
                raise
            said = answer.Answer(status="DONE", summary=end.summary, refs=end.refs)
            anew = rules.unproven(said, [refusal.message], self._prior, self._count, self._setup.bounds)
            if isinstance(anew, GoOn):
                return anew
            self._complete(self._with_worktree(anew, folder))
        with suppress(BadFolder):
            folders.tidy(folder)
        return None

    def _complete(self, end: End) -> None:
        self._office.complete(self._job, end.status, end.summary, end.refs)
        self._tell(f"{end.status}: {clipped(end.summary, 200)}")

    def _with_worktree(self, end: End, folder: Folder) -> End:
        try:
            left = folders.account(folder)
        except BadFolder as wrong:
            left = f"Worktree: {folder.root} ({wrong})."
        summary = clipped(end.summary, SUMMARY_LIMIT - len(left) - 1)
        return End(status=end.status, summary=f"{summary}\n{left}".strip(), refs=end.refs)

    def _unproven(self, said: answer.Answer, folder: Folder) -> Sequence[str] | None:
        """What keeps a DONE from standing, as far as can be seen from here; whether ids exist is the hub's to say."""
        refs = salvage(said.every_ref, said.summary)
        own = verdict.Own(job_id=self._job.job_id, task_id=self._job.task_id)
        found = verdict.judge(refs, own, exists=lambda _: True, files=files.survey(refs, [folder.root]))
        return None if found.proven else found.problems

    def _pass_on(self, notes: Sequence[Note]) -> None:
        asked: int | None = None
        for note in notes:
            seq = self._report(note)
            asked = asked or (seq if note.kind == "question" else None)
        if asked:
            self._await_manager(asked)

    def _await_manager(self, seq: int) -> None:
        """A question waits for an answer after its own seq, which may be there already; the claim is kept meanwhile."""
        self._hold.doing = "waiting for the manager's answer"
        until = min(time.monotonic() + self._setup.question_wait_s, self._until)
        answered = False
        while not answered and not self._hold.stopped and time.monotonic() < until:
            seq, answered = self._office.await_manager(self._job, seq, max_wait_ms=1000)

    def _report(self, note: Note) -> int | None:
        if self._hold.stopped:
            raise _Stopped
        return self._office.report(self._job, note)

    def _skill(self) -> tuple[packs.Profile, int]:
        meta, setup = self._job.meta, self._setup
        return (
            packs.chosen(meta, self._job.kind, setup.skill_profile),
            packs.budget(meta, setup.skill_max_chars),
        )
