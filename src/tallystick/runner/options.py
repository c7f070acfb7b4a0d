"""What can be said to `tally runner`, by flag or by environment; a flag goes first."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path

PREFIX = "TALLYSTICK_RUNNER_"


class Options(argparse.Namespace):
    room: str | None
    id: str | None
    executors: str
    max_parallel: int
    cwd: Path
    worktree: bool
    sandbox: str
    once: bool
    hub: str | None
    slice_s: int
    slice_grace_s: int
    max_runtime_s: int
    max_failures: int
    max_slices: int
    max_claims: int
    question_wait_s: int
    heartbeat_ms: int
    poll_ms: int
    skill_profile: str
    skill_max_chars: int
    codex_bin: str
    claude_bin: str
    gemini_bin: str
    command: str


NUMBERS = {
    "--max-parallel": (1, 1, 64, "how many jobs to run at once"),
    "--slice-s": (1800, 1, 86_400, "seconds after which a slice should answer"),
    "--slice-grace-s": (300, 0, 86_400, "seconds more before it is killed with all it started"),
    "--max-runtime-s": (86_400, 1, 604_800, "seconds after which a job is given up"),
    "--max-failures": (3, 1, 100, "failed slices, or DONEs without proof, in a row before a job is given up"),
    "--max-slices": (48, 1, 10_000, "slices that may answer CONTINUE before a job is given up"),
    "--max-claims": (10, 1, 10_000, "claims of a job that may be lost with their runner before it is given up"),
    "--question-wait-s": (900, 0, 86_400, "seconds to wait for the answer to a question before going on"),
    "--heartbeat-ms": (10_000, 100, 100_000, "how often leases are renewed; they last three times as long"),
    "--poll-ms": (1500, 10, 100_000, "how often to look for lost jobs; new ones are seen at once"),
    "--skill-max-chars": (1200, 0, 8000, "how much of the behaviour pack goes into a prompt; 0 for none"),
}
PROGRAMS = {
    "--codex-bin": ("TALLYSTICK_CODEX_BIN", "codex"),
    "--claude-bin": ("TALLYSTICK_CLAUDE_BIN", "claude"),
    "--gemini-bin": ("TALLYSTICK_GEMINI_BIN", "gemini"),
}


def read(argv: list[str], environ: Mapping[str, str] = os.environ) -> Options:
    return _parser(environ).parse_args(argv, namespace=Options())


def _parser(environ: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tally runner",
        description="Carry out the jobs of a room with codex, claude, gemini or a command, in processes of their own.",
        epilog=f"Every option can be set in the environment: --slice-s is {PREFIX}SLICE_S. SIGTERM or Ctrl-C hands the"
        " jobs back and ends.",
    )

    def text(flag: str, default: str | None, about: str, *, metavar: str, variable: str = "") -> None:
        set_by = environ.get(variable or _variable(flag)) or default
        parser.add_argument(flag, default=set_by, metavar=metavar, help=about)

    text("--room", None, "the room whose jobs to run (default: the one of this folder)", metavar="ROOM")
    text("--id", None, "the runner's own name (default: made from host and process)", metavar="ID")
    text("--executors", "", "only these, of codex,claude_code,gemini,command (default: all found)", metavar="NAMES")
    text("--cwd", ".", "where jobs work (default: here)", metavar="DIR")
    sandbox = "read-only, workspace-write or full-access (default: workspace-write)"
    text("--sandbox", "workspace-write", sandbox, metavar="POLICY")
    text("--hub", None, "the address of a hub elsewhere; its token is $TALLYSTICK_TOKEN", metavar="URL")
    text("--skill-profile", "strict", "daily, strict, research or teamlead (default: strict)", metavar="NAME")
    text("--command", "", "a program that reads a job as JSON and writes its answer", metavar="COMMAND")
    for flag, (variable, name) in PROGRAMS.items():
        text(flag, "", f"the {name} program (default: as found on the PATH, or ${variable})", metavar="FILE")
    for flag, (default, low, high, about) in NUMBERS.items():
        kind = _number(flag, low, high)
        set_by = environ.get(_variable(flag)) or str(default)
        parser.add_argument(flag, type=kind, default=set_by, metavar="N", help=f"{about} (default: {default})")
    worktree = environ.get(_variable("--worktree"), "") not in {"", "0"}
    parser.add_argument("--worktree", action="store_true", default=worktree, help="give every job a git worktree")
    parser.add_argument("--once", action="store_true", help="end when there is nothing left to do")
    return parser


def _variable(flag: str) -> str:
    return PREFIX + flag.removeprefix("--").replace("-", "_").upper()


class _number:  # noqa: N801
    """A whole number within bounds; argparse calls it also for a default that came as text."""

    def __init__(self, flag: str, low: int, high: int) -> None:
        self._flag, self._low, self._high = flag, low, high

    def __call__(self, text: str) -> int:
        if not text.isdecimal() or not self._low <= int(text) <= self._high:
            raise argparse.ArgumentTypeError(
                f"'{text}' is no whole number from {self._low} to {self._high} (or check ${_variable(self._flag)})"
            )
        return int(text)
