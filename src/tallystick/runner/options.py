"""`tally runner`: what can be said to it, by flag or by environment; a flag goes first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from tallystick.commandline.command import Invocation, Number, Program

F = TypeVar("F", bound=Callable[..., object])
PREFIX = "TALLYSTICK_RUNNER_"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerOptions:
    room: str | None
    id: str | None
    executors: str
    max_parallel: int
    cwd: str
    worktree: bool
    sandbox: str
    once: bool
    dry_run: bool
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
    stdin_notes: bool


TEXTS = {
    "--room": ("ROOM", None, "The room whose jobs to run. [default: the one of this folder]"),
    "--id": ("ID", None, "The runner's own name. [default: made from host and process]"),
    "--executors": ("NAMES", "", "Only these, of codex,claude_code,gemini,command. [default: all found]"),
    "--cwd": ("DIR", ".", "Where jobs work. [default: here]"),
    "--sandbox": (
        "POLICY",
        "workspace-write",
        "read-only, workspace-write or full-access. [default: workspace-write]",
    ),
    "--hub": ("URL", None, "The address of a hub elsewhere; its token is $TALLYSTICK_TOKEN."),
    "--skill-profile": ("NAME", "strict", "daily, strict, research or teamlead. [default: strict]"),
    "--command": ("COMMAND", "", "A program that reads a job as JSON and writes its answer."),
    "--codex-bin": ("FILE", "", "The codex program. [default: as found on the PATH, or $TALLYSTICK_CODEX_BIN]"),
    "--claude-bin": ("FILE", "", "The claude program. [default: as found on the PATH, or $TALLYSTICK_CLAUDE_BIN]"),
    "--gemini-bin": ("FILE", "", "The gemini program. [default: as found on the PATH, or $TALLYSTICK_GEMINI_BIN]"),
}
NUMBERS = {
    "--max-parallel": (1, 1, 64, "How many jobs to run at once."),
    "--slice-s": (1800, 1, 86_400, "Seconds after which a slice should answer."),
    "--slice-grace-s": (300, 0, 86_400, "Seconds more before it is killed with all it started."),
    "--max-runtime-s": (86_400, 1, 604_800, "Seconds after which a job is given up."),
    "--max-failures": (3, 1, 100, "Failed slices, or DONEs without proof, in a row before a job is given up."),
    "--max-slices": (48, 1, 10_000, "Slices that may answer CONTINUE before a job is given up."),
    "--max-claims": (10, 1, 10_000, "Claims of a job that may be lost with their runner before it is given up."),
    "--question-wait-s": (900, 0, 86_400, "Seconds to wait for the answer to a question before going on."),
    "--heartbeat-ms": (10_000, 100, 100_000, "How often leases are renewed; they last three times as long."),
    "--poll-ms": (1500, 10, 100_000, "How often to look for lost jobs; new ones are seen at once."),
    "--skill-max-chars": (1200, 0, 8000, "How much of the behaviour pack goes into a prompt; 0 for none."),
}


def _variable(flag: str) -> str:
    return PREFIX + flag.removeprefix("--").replace("-", "_").upper()


class _Setting(click.Option):
    """An option that can be set in the environment too; help and errors name the variable."""

    def __init__(self, flags: list[str], **more: Any) -> None:
        super().__init__(flags, envvar=_variable(flags[0]), show_envvar=True, **more)


def _settings(command: F) -> F:
    for flag, (default, low, high, about) in reversed(NUMBERS.items()):
        more: dict[str, Any] = {"type": Number(low, high), "default": default, "show_default": True}
        command = click.option(flag, cls=_Setting, metavar="N", help=about, **more)(command)
    for flag, (metavar, default, about) in reversed(TEXTS.items()):
        command = click.option(flag, cls=_Setting, metavar=metavar, default=default, help=about)(command)
    return command


@click.command(cls=Program)
@_settings
@click.option("--worktree", cls=_Setting, is_flag=True, help="Give every job a git worktree.")
@click.option(
    "--stdin-notes",
    cls=_Setting,
    is_flag=True,
    help="Keep the command's stdin open: the manager's messages come there, one JSON object a line.",
)
@click.option("--once", is_flag=True, help="End when there is nothing left to do.")
@click.option("--dry-run", is_flag=True, help="Only say what it would serve, with what, and which jobs are queued.")
@click.pass_obj
def runner(invocation: Invocation, **given: Any) -> None:
    """Carry out the jobs of a room.

    With codex, claude, gemini or a command, in processes of their own. SIGTERM or Ctrl-C hands the jobs back and ends.
    """
    from tallystick.runner.command import run

    served = run(RunnerOptions(**given), agent=invocation.agent)
    invocation.finish({"runner_id": served.runner_id, "room_id": served.room_id})
