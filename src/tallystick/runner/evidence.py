"""What a runner knows first-hand of a job's work: commands it saw end, checks it ran, files it measured.

Whether that proves the job is for the judge in `proof` to say, here before the hub is asked, and there again. Files are
looked at where the job worked, and told by their path from the room's root.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from tallystick.capabilities.jobs.runners_contract import COMMAND_LIMIT, BranchAsk, FileAsk, ObservedAsk
from tallystick.capabilities.rooms.contract import RoomView
from tallystick.harnesses.headless.protocol import CommandEnded, Failed, HarnessAnswer, Outcome, ProcessStart, Sign
from tallystick.proof import files
from tallystick.proof.commands import plain
from tallystick.proof.files import FileFact
from tallystick.proof.refs import REF_LIMIT, REFS_LIMIT, Ref, RefKind, parse, salvage
from tallystick.proof.verdict import Known, Observation, Own, ProofVerdict, Thing, judge
from tallystick.runner import worktrees
from tallystick.runner.rules import ClaimedJob, ExecutorAnswer, clipped
from tallystick.runner.worktrees import JobFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstHand:
    """What a runner itself saw of a job's work."""

    commands: Sequence[ObservedAsk] = ()
    files: Sequence[FileAsk] = ()
    branch: BranchAsk | None = None
    heard_seq: int | None = None
    """The newest message of the manager that the agent had; the job does not end over a newer one."""


def _now() -> int:
    return time.time_ns() // 1_000_000


class Observations:
    """The commands that were seen to end while a job was worked on: how each ended last."""

    def __init__(self) -> None:
        self._ended: dict[str, Observation] = {}
        self._unsaid: set[str] = set()

    def heard(self, sign: Sign) -> None:
        if isinstance(sign, CommandEnded):
            self.add(sign.command, sign.exit_code)

    def add(self, command: str, exit_code: int) -> None:
        key = plain(command)
        self._ended.pop(key, None)
        self._ended[key] = Observation(command=command, exit_code=exit_code, at=_now())
        self._unsaid.add(key)

    def of(self, command: str) -> Observation | None:
        return self._ended.get(command)

    def unsaid(self) -> list[ObservedAsk]:
        """The newest that the hub has not been told yet, oldest first; it counts as told from now on."""
        told = [each for key, each in self._ended.items() if key in self._unsaid][-REFS_LIMIT:]
        self._unsaid.clear()
        return [_asked(each) for each in told]

    def named(self, refs: Sequence[str]) -> list[ObservedAsk]:
        """Those that refs speak of, then the newest others."""
        wanted = [plain(ref.value) for text in refs if (ref := parse(text)).kind is RefKind.CMD]
        first = [self._ended[key] for key in dict.fromkeys(wanted) if key in self._ended]
        others = [each for key, each in reversed(self._ended.items()) if key in self._unsaid and key not in wanted]
        return [_asked(each) for each in [*first, *others][:REFS_LIMIT]]


def _asked(seen: Observation) -> ObservedAsk:
    return ObservedAsk(
        command=clipped(seen.command, COMMAND_LIMIT), exit_code=seen.exit_code, ms_ago=max(0, _now() - seen.at)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """Where a job works, in terms of its room."""

    folder: JobFolder
    room: RoomView
    remote: bool = False
    """Whether the hub is on another machine, as far as this runner knows."""

    @property
    def root(self) -> Path | None:
        """The room's own folder, if the runner is in it."""
        base = self.folder.repository or self.folder.root
        roots = [Path(scope.root) for scope in self.room.scopes if scope.root]
        around = [root for root in roots if base.is_relative_to(root) or root.is_relative_to(base)]
        return max(around, key=lambda root: len(root.parts), default=None)

    @property
    def elsewhere(self) -> bool:
        return self.remote or self.root is None or self.folder.repository is not None

    def measured(self, path: str) -> tuple[str, FileFact]:
        """A file that the job named, by its path from the room's root, and what it holds."""
        top = self._top()
        found = files.find(path, [self.folder.path, self.folder.root, top], top)
        if found is None:
            return path, FileFact(why="there is no such file where the job worked")
        fact = files.measured(found)
        # A new worktree's files are all young; what is in them tells whether the job touched one.
        return self._from_root(found), replace(fact, changed_at=0) if worktrees.untouched(self.folder, found) else fact

    def _top(self) -> Path:
        """The outermost folder in which the job's files may be."""
        root = self.root
        inside = self.folder.repository is None and root is not None and self.folder.root.is_relative_to(root)
        return (root if inside and root else self.folder.root).resolve()

    def _from_root(self, file: Path) -> str:
        root, repository = self.root, self.folder.repository
        base = root.resolve() if root else self.folder.root.resolve()
        real = repository.resolve() / file.relative_to(self.folder.root.resolve()) if repository else file
        return (real.relative_to(base) if real.is_relative_to(base) else real.relative_to(self._base())).as_posix()

    def _base(self) -> Path:
        return (self.folder.repository or self.folder.root).resolve()


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What is sent to the hub as proof, and what the judge makes of it as far as can be seen from here."""

    refs: tuple[str, ...]
    files: tuple[FileAsk, ...]
    verdict: ProofVerdict


def offer(said: ExecutorAnswer, job: ClaimedJob, place: Workplace, seen: Observations, *, began_at: int) -> Offer:
    """Whether ids of the room's things exist is for the hub to say; here they count."""
    facts = dict[str, FileFact]()
    refs = [_placed(text, place, facts) for text in salvage(said.every_ref, said.summary)]
    own = Own(job_id=job.job_id, task_id=job.task_id, began_at=began_at, checks=job.checks)
    known = Known(found=_somewhere, files=facts, observed=seen.of, claims_suffice=place.room.policy.proof == "claimed")
    asked = tuple(_file(path, fact, place) for path, fact in facts.items() if fact.sha256)
    return Offer(refs=tuple(refs), files=asked, verdict=judge(refs, own, known))


def _somewhere(_: Ref) -> Thing:
    return Thing()


def _placed(text: str, place: Workplace, facts: dict[str, FileFact]) -> str:
    """A ref as the hub gets it: a file by its path from the room's root."""
    ref = parse(text)
    if ref.kind is not RefKind.FILE or not ref.value:
        return text
    path, fact = place.measured(ref.value)
    content = f" (sha256 {ref.sha256})" if ref.sha256 else ""
    written = f"FILE: {path}{content}"
    if len(written) > REF_LIMIT:
        path, written = ref.value, text
    facts[path] = fact
    return written


def _file(path: str, fact: FileFact, place: Workplace) -> FileAsk:
    return FileAsk(
        path=path, sha256=fact.sha256 or "", ms_ago=max(0, _now() - fact.changed_at), elsewhere=place.elsewhere
    )


class CheckReader:
    """Listens to a check, of which only the end counts."""

    def feed(self, line: str) -> Sequence[Sign]:  # noqa: ARG002 - a Reader
        return []

    def end(self, exit_code: int, errors: str) -> Outcome:  # noqa: ARG002
        return HarnessAnswer(text=str(exit_code), data=None)


def check_start(check: str) -> ProcessStart:
    return ProcessStart(argv=("/bin/sh", "-c", check), stdin="")


def check_status(ended: Outcome) -> int:
    """The status of a check; one that gave none, because it took too long, failed."""
    return -1 if isinstance(ended, Failed) else int(ended.text)
