"""How a runner works: what its options and the environment decided once, for all its jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tallystick.runner import packs
from tallystick.runner.executors import Executor
from tallystick.runner.packs import Profile
from tallystick.runner.rules import Bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
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
    skill_profile: Profile = packs.DEFAULT
    skill_max_chars: int = packs.DEFAULT_CHARS
    bounds: Bounds = field(default_factory=Bounds)

    @property
    def lease_ms(self) -> int:
        """Three missed heartbeats, and the claim is anybody's."""
        return int(self.heartbeat_s * 3000)
