"""One job from its claim to its end: slice after slice, each decided by the rules, every report fenced by the claim."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from msgspec import structs

from tallystick.capabilities.jobs.contract import SUMMARY_LIMIT, ResumePointAsk
from tallystick.capabilities.jobs.runners_contract import BranchAsk, FileAsk
from tallystick.capabilities.jobs.views import Reported
from tallystick.harnesses.headless.protocol import Failed, HarnessAnswer, MessageFolder, Sign
from tallystick.kernel.errors import Refused, TallyError
from tallystick.runner import evidence, executors, prompt, rules, worktrees
from tallystick.runner.evidence import FirstHand, Observations, Offer, Workplace
from tallystick.runner.executors import COMMAND, Executor, Progress, SliceEnd, SliceStopped
from tallystick.runner.job_source import HeldJob, JobSource, StopReason, claim_lost
from tallystick.runner.prompt import Profile
from tallystick.runner.rules import (
    BadAnswer,
    ContinueJob,
    EndJob,
    ExecutorNote,
    JobLimits,
    Next,
    Prior,
    Slice,
    SliceCount,
    SliceReport,
    clipped,
)
from tallystick.runner.worktrees import JobFolder, UnusableFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerSettings:
    runner_id: str
    agent: str
    """Whom the runner speaks for."""
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
    skill_profile: Profile = prompt.DEFAULT
    skill_max_chars: int = prompt.DEFAULT_CHARS
    remote: bool = False
    """Whether the hub is reached over the network, so that it may not see the files here."""
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
        self._began = time.monotonic()
        self._started = False
        self._delivered = 0
        """The newest message of the manager that an agent was given."""
        self._unread = False
        """Whether one of them is new to it."""
        self._seen, self._files = Observations(), tuple[FileAsk, ...]()
        self._work_began_at = time.time_ns() // 1_000_000 - held.job.began_ms_ago

    def _tell(self, text: str) -> None:
        self._tell_all(f"{self._job.job_id}: {text}")

    def run(self) -> None:
        """Work until the job has ended or is somebody else's; raises only what nobody foresaw."""
        try:
            self._run()
        except _Stopped:
            self._tell(f"stopped ({self._held.stopped})")
            if self._held.stopped is StopReason.LEAVING:
                self._source.release(self._job, "the runner stops; another one goes on")
        except Refused as refusal:
            self._tell(refusal.message)
            if not claim_lost(refusal):
                # Trying again would be refused again; the job ends with the reason instead of going round for ever.
                self._complete(EndJob(status="FAILED", summary=f"the hub refused the runner: {refusal.message}"))

    def _run(self) -> None:
        if self._job.reclaimed and (end := rules.worn_out(self._source.claims(self._job), self._settings.bounds)):
            return self._complete(end)
        executor = self._settings.executors.get(self._job.executor)
        if executor is None:
            return self._complete(EndJob(status="FAILED", summary=f"this runner has no executor {self._job.executor}"))
        try:
            folder = worktrees.prepare(
                self._job, self._settings.cwd, worktrees=self._settings.worktrees, always=self._settings.worktree
            )
        except UnusableFolder as wrong:
            return self._complete(EndJob(status="FAILED", summary=f"cannot work there: {wrong}"))
        self._resume()
        return self._slices(executor, folder)

    def _resume(self) -> None:
        """Go on where the last slice left the job, whoever ran it."""
        record = self._source.record(self._job)
        self._count = SliceCount(slices=record.job.slices)
        if found := record.resume:
            self._prior = Prior(summary=found.summary, refs=tuple(found.refs))
            self._count = SliceCount(slices=record.job.slices, failures=found.failures, gates=found.gates)
            self._began -= found.seconds

    @property
    def _until(self) -> float:
        return self._began + self._settings.max_runtime_s

    def _slices(self, executor: Executor, folder: JobFolder) -> None:
        while (left := self._until - time.monotonic()) > 0:
            found = self._after(self._slice(executor, folder, left), executor, folder)
            if isinstance(found, EndJob):
                found = self._end(found, folder)
            if found is None:
                return None
            self._prior, self._count = found.prior, found.count
            if self._continues(found):
                return None
        summary = f"gave up after {self._settings.max_runtime_s} seconds; before that: {self._prior.summary}"
        return self._complete(EndJob(status="FAILED", summary=clipped(summary, SUMMARY_LIMIT), refs=self._prior.refs))

    def _continues(self, found: ContinueJob) -> bool:
        """Put on record where the next slice begins; whether the job waits for an answer first, in nobody's hands."""
        resume = ResumePointAsk(
            summary=found.prior.summary,
            refs=list(found.prior.refs),
            failures=found.count.failures,
            gates=found.count.gates,
            seconds=max(0, int(time.monotonic() - self._began)),
        )
        note = ExecutorNote(kind=found.kind, message=found.message)
        reported = self._report(
            note, SliceReport(number=found.count.slices, resume=resume, observed=self._seen.unsaid())
        )
        if not reported.needs_manager:
            return False
        self._source.release(self._job, None, self._settings.question_wait_s)
        self._held.waits = True
        self._tell("waits for the manager's answer; its slot is free")
        return True

    def _slice(self, executor: Executor, folder: JobFolder, left: float) -> SliceEnd:
        number = self._count.slices + 1
        seconds = min(self._slice_s, max(1, int(left)))
        slice_ = Slice(number=number, runner_id=self._settings.runner_id, seconds=seconds)
        again = " (reclaim)" if self._job.reclaimed and not self._started else ""
        around = self._source.surroundings(self._job)
        self._delivered = max([self._delivered, *(word.seq for word in around.words)])
        self._unread = bool(around.unread)
        self._report(
            ExecutorNote(kind="slice", message=f"runner: slice {number} started with {executor.name}{again}"),
            SliceReport(number=number, delivered_seq=self._delivered if around.unread else None),
        )
        self._started = True
        self._held.doing = f"slice {number} with {executor.name}"
        self._tell(self._held.doing)
        with tempfile.TemporaryDirectory(dir=self._settings.scratch) as scratch:
            start, reader = executor.start(
                self._job,
                slice_,
                pack=prompt.pack(*self._skill()),
                prior=self._prior,
                around=around,
                scratch=Path(scratch),
            )
            messages = MessageFolder(Path(scratch) / executors.MESSAGES) if executor.name in executors.HOOKED else None
            return executors.run_slice(
                start,
                reader,
                self._held,
                cwd=folder.path,
                env=self._environment(executor.name),
                limit_s=slice_.seconds + self._settings.grace_s,
                on_sign=self._listener(),
                messages=messages,
                heard_seq=self._delivered,
                on_delivered=self._on_delivered,
            )

    def _environment(self, executor: str) -> dict[str, str]:
        """A harness is an agent of its own; a plain program works as the runner, or it would count as a person."""
        env = executors.environment(self._settings.environ, self._job, self._settings.runner_id)
        return {**env, "TALLYSTICK_AGENT": self._settings.agent} if executor == COMMAND else env

    def _listener(self) -> Callable[[Sign], None]:
        progress = Progress(self._source, self._held, self._settings.report_every_s, self._tell)

        def on_sign(sign: Sign) -> None:
            self._seen.heard(sign)
            progress(sign)

        return on_sign

    @property
    def _slice_s(self) -> int:
        """How long a slice may take: what the job asks for, within what the runner allows."""
        asked = self._job.meta.get("slice_s")
        most = self._settings.slice_s
        return min(asked, most) if isinstance(asked, int) and not isinstance(asked, bool) and asked >= 1 else most

    def _on_delivered(self, seq: int) -> None:
        self._delivered, self._unread = seq, True
        note = ExecutorNote(kind="delivered", message=f"runner: the agent was given {self._job.job_id}@{seq}")
        try:
            self._source.report(self._job, note, SliceReport(delivered_seq=seq))
        except TallyError as refusal:
            self._tell(refusal.message)
            if claim_lost(refusal):
                self._held.stop(StopReason.LOST)

    def _acted(self) -> None:
        """The agent has answered, and so acted on what it was given."""
        if self._unread:
            note = ExecutorNote(kind="read", message=f"runner: the agent acted on {self._job.job_id}@{self._delivered}")
            self._report(note, SliceReport(read_seq=self._delivered))
            self._unread = False

    def _after(self, ended: SliceEnd, executor: Executor, folder: JobFolder) -> Next:
        match ended:
            case SliceStopped():
                raise _Stopped
            case Failed(why=why):
                return rules.failed(why, self._prior, self._count, self._settings.bounds)
            case HarnessAnswer(data=data, text=text):
                pass
        try:
            said = rules.read_answer(data, text)
        except BadAnswer as wrong:
            return rules.failed(str(wrong), self._prior, self._count, self._settings.bounds)
        for note in said.events:
            self._report(note)
        self._acted()
        if said.status == "DONE":
            if executor.name == COMMAND:
                self._run_checks(folder)
            offered = self._offer(said, folder)
            said = structs.replace(said, refs=offered.refs, events=())
            if not offered.verdict.proven and not self._job.checks:
                return rules.unproven(said, offered.verdict.problems, self._prior, self._count, self._settings.bounds)
        return rules.answered(said, self._prior, self._count, self._settings.bounds)

    def _end(self, end: EndJob, folder: JobFolder) -> ContinueJob | None:
        """Complete the job, unless the hub says that it must go on: for want of proof, or for a word of the manager."""
        said = rules.ExecutorAnswer(status=end.status, summary=end.summary, refs=end.refs)
        at = self._prior, self._count, self._settings.bounds
        try:
            kept = self._end_with_branch(end, folder, heard_seq=self._delivered)
        except TallyError as refusal:
            match refusal.code:
                case "manager_spoke":
                    anew = rules.overtaken(said, *at)
                case "proof_missing":
                    anew = rules.unproven(said, [refusal.message], *at)
                case _:
                    raise
            if isinstance(anew, ContinueJob):
                return anew
            kept = self._end_with_branch(anew, folder)
        if not kept:
            with suppress(UnusableFolder):
                worktrees.tidy(folder)
        return None

    def _complete(self, end: EndJob, branch: BranchAsk | None = None, heard_seq: int | None = None) -> None:
        commands = self._seen.named([*end.refs, *self._checks])
        seen = FirstHand(commands=commands, files=self._files, branch=branch, heard_seq=heard_seq)
        self._source.complete(self._job, end.status, end.summary, end.refs, seen)
        self._tell(f"{end.status}: {clipped(' '.join(end.summary.split()), 200)}")

    def _end_with_branch(self, end: EndJob, folder: JobFolder, heard_seq: int | None = None) -> bool:
        """Complete the job with the branch that holds its work; tells whether there is anything to keep."""
        try:
            branch = worktrees.settle(folder, f"{self._job.job_id}: {self._job.title}")
        except UnusableFolder as wrong:
            summary = clipped(f"{end.summary}\nWorktree: {folder.root} ({wrong}).", SUMMARY_LIMIT)
            self._complete(replace(end, summary=summary), heard_seq=heard_seq)
            return True
        left = worktrees.told(folder, branch) if branch else ""
        summary = clipped(end.summary, SUMMARY_LIMIT - len(left) - 1)
        self._complete(replace(end, summary=f"{summary}\n{left}".strip()), branch, heard_seq)
        return branch is not None

    @property
    def _checks(self) -> list[str]:
        return [f"CMD: {check}" for check in self._job.checks]

    def _run_checks(self, folder: JobFolder) -> None:
        """Run what the job names as its checks, where it worked; a harness runs them itself, inside its sandbox."""
        for check in self._job.checks:
            self._held.doing = f"checking: {check}"
            self._tell(self._held.doing)
            ended = executors.run_slice(
                evidence.check_start(check),
                evidence.CheckReader(),
                self._held,
                cwd=folder.path,
                env=self._environment(COMMAND),
                limit_s=self._settings.slice_s,
                on_sign=self._seen.heard,
            )
            if isinstance(ended, SliceStopped):
                raise _Stopped
            self._seen.add(check, evidence.check_status(ended))

    def _offer(self, said: rules.ExecutorAnswer, folder: JobFolder) -> Offer:
        """What goes to the hub as proof of a DONE; whether ids exist is the hub's to say."""
        place = Workplace(folder=folder, room=self._source.room(), remote=self._settings.remote)
        offered = evidence.offer(said, self._job, place, self._seen, began_at=self._work_began_at)
        self._files = offered.files
        return offered

    def _report(self, note: ExecutorNote, more: SliceReport | None = None) -> Reported:
        if self._held.stopped:
            raise _Stopped
        return self._source.report(self._job, note, more)

    def _skill(self) -> tuple[prompt.Profile, int]:
        meta, settings = self._job.meta, self._settings
        return (
            prompt.chosen(meta, self._job.kind, settings.skill_profile),
            prompt.budget(meta, settings.skill_max_chars),
        )
