"""One job from its claim to its end: slice after slice, each decided by the rules, every report fenced by the claim."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tallystick.capabilities.jobs.contract import SUMMARY_LIMIT
from tallystick.harnesses.headless.protocol import Failed, HarnessAnswer
from tallystick.kernel.errors import Refused, TallyError
from tallystick.proof import files, verdict
from tallystick.proof.refs import salvage
from tallystick.runner import answer, executors, rules, skill_packs, slices, worktrees
from tallystick.runner.answer import BadAnswer, ExecutorNote, clipped
from tallystick.runner.executors import Executor
from tallystick.runner.job_source import JobSource, claim_lost
from tallystick.runner.leases import HeldJob, StopReason
from tallystick.runner.model import Prior, Slice
from tallystick.runner.rules import ContinueJob, EndJob, JobLimits, Next, SliceCount
from tallystick.runner.skill_packs import Profile
from tallystick.runner.slices import Progress, SliceEnd, SliceStopped
from tallystick.runner.worktrees import JobFolder, UnusableFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerSettings:
    runner_id: str
    executors: Mapping[str, Executor]
    cwd: Path
    worktrees: Path
    """Where worktrees of jobs are kept, across claims and runners of this machine."""
    scratch: Path
    """A private folder for files that calls need; gone when the runner is."""
    environ: Mapping[str, str] = field(repr=False)
    worktree: bool = False
    """Give every job a worktree, also one that does not ask."""
    max_parallel: int = 1
    slice_s: int = 1800
    grace_s: int = 300
    max_runtime_s: int = 86_400
    question_wait_s: int = 900
    report_every_s: float = 10.0
    heartbeat_s: float = 10.0
    poll_ms: int = 1500
    skill_profile: Profile = skill_packs.DEFAULT
    skill_max_chars: int = skill_packs.DEFAULT_CHARS
    bounds: JobLimits = field(default_factory=JobLimits)

    @property
    def lease_ms(self) -> int:
        """Three missed heartbeats, and the claim is anybody's."""
        return int(self.heartbeat_s * 3000)


class _Stopped(Exception):
    """The work has to end here."""


class JobRun:
    def __init__(self, source: JobSource, settings: RunnerSettings, held: HeldJob, tell: Callable[[str], None]) -> None:
        self._source, self._settings, self._held = source, settings, held
        self._job = held.job
        self._tell_all = tell
        self._prior, self._count = Prior(), SliceCount()
        self._until = time.monotonic() + settings.max_runtime_s

    def _tell(self, text: str) -> None:
        self._tell_all(f"{self._job.job_id}: {text}")

    def run(self) -> None:
        """Work until the job has ended or is somebody else's; raises only what nobody foresaw."""
        try:
            self._run()
        except _Stopped:
            self._tell(f"stopped ({self._held.stopped})")
            if self._held.stopped is StopReason.LEAVING:
                self._source.give_back(self._job, "runner: stopped; another one may go on")
        except Refused as refusal:
            self._tell(refusal.message)
            if not claim_lost(refusal):
                # Trying again would be refused again; the job ends with the reason instead of going round for ever.
                self._complete(EndJob(status="FAILED", summary=f"the hub refused the runner: {refusal.message}"))

    def _run(self) -> None:
        if self._job.reclaimed and (end := rules.worn_out(self._source.claims(self._job), self._settings.bounds)):
            return self._complete(end)
        executor = executors.suited(self._settings.executors, self._job)
        if executor is None:
            return self._complete(EndJob(status="FAILED", summary=f"this runner has no executor {self._job.executor}"))
        try:
            folder = worktrees.prepare(
                self._job, self._settings.cwd, worktrees=self._settings.worktrees, always=self._settings.worktree
            )
        except UnusableFolder as wrong:
            return self._complete(EndJob(status="FAILED", summary=f"cannot work there: {wrong}"))
        return self._slices(executor, folder)

    def _slices(self, executor: Executor, folder: JobFolder) -> None:
        while (left := self._until - time.monotonic()) > 0:
            found = self._after(self._slice(executor, folder, left), folder)
            if isinstance(found, EndJob):
                found = self._end(found, folder)
            if found is None:
                return None
            self._report(ExecutorNote(kind=found.kind, message=found.message))
            self._prior, self._count = found.prior, found.count
        summary = f"gave up after {self._settings.max_runtime_s} seconds; before that: {self._prior.summary}"
        return self._complete(EndJob(status="FAILED", summary=clipped(summary, SUMMARY_LIMIT), refs=self._prior.refs))

    def _slice(self, executor: Executor, folder: JobFolder, left: float) -> SliceEnd:
        number = self._count.slices + 1
        slice_ = Slice(number=number, seconds=min(self._settings.slice_s, max(1, int(left))))
        again = " (reclaim)" if self._job.reclaimed and number == 1 else ""
        self._report(ExecutorNote(kind="slice", message=f"runner: slice {number} started with {executor.name}{again}"))
        self._held.doing = f"slice {number} with {executor.name}"
        self._tell(self._held.doing)
        with tempfile.TemporaryDirectory(dir=self._settings.scratch) as scratch:
            start, reader = executor.start(
                self._job,
                slice_,
                pack=skill_packs.pack(*self._skill()),
                prior=self._prior,
                around=self._source.surroundings(self._job),
                scratch=Path(scratch),
            )
            return slices.run_slice(
                start,
                reader,
                self._held,
                cwd=folder.path,
                env=executors.environment(self._settings.environ, self._job, self._settings.runner_id),
                limit_s=slice_.seconds + self._settings.grace_s,
                on_sign=Progress(self._source, self._held, self._settings.report_every_s, self._tell),
            )

    def _after(self, ended: SliceEnd, folder: JobFolder) -> Next:
        match ended:
            case SliceStopped():
                raise _Stopped
            case Failed(why=why):
                return rules.failed(why, self._prior, self._count, self._settings.bounds)
            case HarnessAnswer(data=data, text=text):
                pass
        try:
            said = answer.read(data, text)
        except BadAnswer as wrong:
            return rules.failed(str(wrong), self._prior, self._count, self._settings.bounds)
        self._pass_on(said.events)
        if said.status == "DONE" and (problems := self._unproven(said, folder)) is not None:
            return rules.unproven(said, problems, self._prior, self._count, self._settings.bounds)
        return rules.answered(said, self._prior, self._count, self._settings.bounds)

    def _end(self, end: EndJob, folder: JobFolder) -> ContinueJob | None:
        """Complete the job, unless the hub's own gate says that it must go on."""
        anew: Next = end
        try:
            self._complete(self._with_worktree(end, folder))
        except TallyError as refusal:
            if refusal.code != "proof_missing":
                raise
            said = answer.ExecutorAnswer(status="DONE", summary=end.summary, refs=end.refs)
            anew = rules.unproven(said, [refusal.message], self._prior, self._count, self._settings.bounds)
            if isinstance(anew, ContinueJob):
                return anew
            self._complete(self._with_worktree(anew, folder))
        with suppress(UnusableFolder):
            worktrees.tidy(folder)
        return None

    def _complete(self, end: EndJob) -> None:
        self._source.complete(self._job, end.status, end.summary, end.refs)
        self._tell(f"{end.status}: {clipped(end.summary, 200)}")

    def _with_worktree(self, end: EndJob, folder: JobFolder) -> EndJob:
        try:
            left = worktrees.account(folder)
        except UnusableFolder as wrong:
            left = f"Worktree: {folder.root} ({wrong})."
        summary = clipped(end.summary, SUMMARY_LIMIT - len(left) - 1)
        return EndJob(status=end.status, summary=f"{summary}\n{left}".strip(), refs=end.refs)

    def _unproven(self, said: answer.ExecutorAnswer, folder: JobFolder) -> Sequence[str] | None:
        """What keeps a DONE from standing, as far as can be seen from here; whether ids exist is the hub's to say."""
        refs = salvage(said.every_ref, said.summary)
        own = verdict.Own(job_id=self._job.job_id, task_id=self._job.task_id)
        found = verdict.judge(refs, own, exists=lambda _: True, files=files.survey(refs, [folder.root]))
        return None if found.proven else found.problems

    def _pass_on(self, notes: Sequence[ExecutorNote]) -> None:
        asked: int | None = None
        for note in notes:
            seq = self._report(note)
            asked = asked or (seq if note.kind == "question" else None)
        if asked:
            self._await_manager(asked)

    def _await_manager(self, seq: int) -> None:
        """A question waits for an answer after its own seq, which may be there already; the claim is kept meanwhile."""
        self._held.doing = "waiting for the manager's answer"
        until = min(time.monotonic() + self._settings.question_wait_s, self._until)
        answered = False
        while not answered and not self._held.stopped and time.monotonic() < until:
            seq, answered = self._source.await_manager(self._job, seq, max_wait_ms=1000)

    def _report(self, note: ExecutorNote) -> int | None:
        if self._held.stopped:
            raise _Stopped
        return self._source.report(self._job, note)

    def _skill(self) -> tuple[skill_packs.Profile, int]:
        meta, settings = self._job.meta, self._settings
        return (
            skill_packs.chosen(meta, self._job.kind, settings.skill_profile),
            skill_packs.budget(meta, settings.skill_max_chars),
        )
