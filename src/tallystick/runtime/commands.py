"""`tally attach` and `tally relay`: options first, and the program after `--`.

Loading this loads nothing that works: that is left to a run.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tallystick.commandline.command import Invocation, Number, Program
from tallystick.commandline.output import visible_lines
from tallystick.harnesses.headless.protocol import Sandbox
from tallystick.kernel.errors import InvalidField

if TYPE_CHECKING:
    from tallystick.runtime.relay import RelayEnd
    from tallystick.runtime.room_connection import RemoteHub

F = TypeVar("F", bound=Callable[..., object])

EPILOG = (
    "PROGRAM is claude, codex, gemini, opencode, qwen or copilot, as one process that keeps its sessions (ACP) where"
    " it or its adapter is installed; or any command that reads a prompt on stdin and writes its answer. Options of its"
    " own may follow it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    name: str
    room: str | None
    cwd: str
    harness: str | None
    sandbox: str
    model: str | None
    acp: bool | None
    hub: str | None
    program: tuple[str, ...]


def _about_a_program(command: F) -> F:
    options = [
        click.option("--name", metavar="NAME", help="The agent's name in the room. --as says it too."),
        click.option("--room", metavar="ROOM", help="The room's id. [default: the room of the folder]"),
        click.option("--cwd", default=".", metavar="DIR", help="Where the program works. [default: here]"),
        click.option(
            "--harness",
            metavar="KIND",
            help="How to call the program: codex, claude-code, gemini or plain. [default: by its name]",
        ),
        click.option(
            "--sandbox",
            default=Sandbox.WORKSPACE_WRITE.value,
            type=click.Choice([each.value for each in Sandbox]),
            metavar="POLICY",
            help="read-only, workspace-write or full-access. [default: workspace-write]",
        ),
        click.option(
            "--hub",
            metavar="URL",
            help="A hub on another machine; its token for NAME is $TALLYSTICK_TOKEN, and --room is needed.",
        ),
        click.option("--model", metavar="MODEL", help="The model to use. [default: the program's own]"),
        click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="-- PROGRAM [ARG]..."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _options(invocation: Invocation, given: dict[str, Any]) -> AgentOptions:
    # What it puts into the room is the agent it speaks for, so --as can only mean the same.
    name = given.pop("name") or invocation.agent
    if not name:
        raise click.UsageError("Missing option '--name'.")
    if not given["program"]:
        raise click.UsageError("Name a program after --, for example: -- claude.")
    return AgentOptions(name=name, acp=given.pop("acp", None), **given)


@click.command(cls=Program, epilog=EPILOG)
@click.option(
    "--acp/--once",
    default=None,
    help="Speak ACP with any PROGRAM; or run it once for each message, even where it could keep a session.",
)
@_about_a_program
@click.pass_obj
def attach(invocation: Invocation, **given: Any) -> None:
    """Put a coding agent on the bus: what is said to it is a request, which it answers.

    Whoever asks can follow its steps with `tally ask`, and is asked for permission where the harness wants one.
    """
    asked = _options(invocation, given)
    ended = _attached(asked)
    invocation.finish({"name": asked.name, "ended": ended})


@click.command(cls=Program, epilog=EPILOG)
@click.option(
    "--max-turns",
    type=Number(1, 1000),
    default=20,
    metavar="N",
    show_default=True,
    help="End after so many turns of the owner.",
)
@click.argument("task", metavar="TASK")
@_about_a_program
@click.pass_obj
def relay(invocation: Invocation, *, task: str, max_turns: int, **given: Any) -> int:
    """Have an owner agent carry out a task through the others.

    What the owner says is sent to them, and their answers go back. TASK is what is to be done; - reads it from stdin.
    """
    asked = _options(invocation, given)
    from tallystick.runtime.relay import RelayEndReason

    ended = _relayed(asked, task, max_turns)
    if not invocation.finish({"text": ended.text, "turns": ended.turns, "why": ended.why}):
        for line in visible_lines(ended.text):
            print(line)
    return 0 if ended.why in {RelayEndReason.DONE, RelayEndReason.LOCAL} else 1


def _attached(asked: AgentOptions) -> str:
    """Work until told to leave; how it ended."""
    from tallystick.runtime.room_connection import teller
    from tallystick.runtime.start import attached

    tell = teller(asked.name)
    with attached(
        asked.program,
        name=asked.name,
        room=asked.room,
        cwd=asked.cwd,
        harness=asked.harness,
        sandbox=Sandbox(asked.sandbox),
        model_name=asked.model,
        acp=asked.acp,
        hub=_elsewhere(asked),
        tell=tell,
    ) as attachment:
        _on_signals(attachment.leave)
        tell("ready; Ctrl-C ends it")
        ended = attachment.work()
        tell(ended)
    return ended


def _relayed(asked: AgentOptions, task: str, max_turns: int) -> RelayEnd:
    from tallystick.runtime.room_connection import teller
    from tallystick.runtime.start import relaying

    tell = teller(asked.name)
    ended = relaying(
        sys.stdin.read() if task == "-" else task,
        asked.program,
        name=asked.name,
        room=asked.room,
        cwd=asked.cwd,
        harness=asked.harness,
        sandbox=Sandbox(asked.sandbox),
        model_name=asked.model,
        hub=_elsewhere(asked),
        max_turns=max_turns,
        tell=tell,
        prepared=_on_signals,
    )
    tell(f"the relay is over after {ended.turns} turns: {ended.why}")
    return ended


def _elsewhere(asked: AgentOptions) -> RemoteHub | None:
    if asked.hub is None:
        return None
    from tallystick.runtime.room_connection import RemoteHub

    token = os.environ.get("TALLYSTICK_TOKEN")
    if not token or not asked.room:
        raise InvalidField("A hub elsewhere needs its token in $TALLYSTICK_TOKEN, and --room.", field="hub")
    return RemoteHub(url=asked.hub, token=token)


def _on_signals(leave: Callable[[], None]) -> None:
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(each, lambda _number, _frame: leave())
