"""`tally attach` and `tally relay` as programs: signals, and what they say."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

from tallystick.harnesses.headless.protocol import Sandbox
from tallystick.kernel.errors import InvalidField
from tallystick.runtime.options import AgentOptions
from tallystick.runtime.relay import RelayEnd
from tallystick.runtime.room_connection import RemoteHub, teller
from tallystick.runtime.start import attached, relaying


def attach(asked: AgentOptions) -> str:
    """Work until told to leave; how it ended."""
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


def relay(asked: AgentOptions, task: str, max_turns: int) -> RelayEnd:
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
    token = os.environ.get("TALLYSTICK_TOKEN")
    if not token or not asked.room:
        raise InvalidField("A hub elsewhere needs its token in $TALLYSTICK_TOKEN, and --room.", field="hub")
    return RemoteHub(url=asked.hub, token=token)


def _on_signals(leave: Callable[[], None]) -> None:
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(each, lambda _number, _frame: leave())
