"""`tally attach` and `tally relay` as programs: signals, exit codes, and refusals in words."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

from tallystick.harnesses.headless import Sandbox
from tallystick.kernel.errors import InvalidField, TallyError
from tallystick.runtime.attaching import Elsewhere, attached
from tallystick.runtime.options import Options
from tallystick.runtime.relay import Why
from tallystick.runtime.relay_start import relaying
from tallystick.runtime.telling import plain, teller, visible


def attach(asked: Options) -> int:
    def work() -> int:
        tell = teller(asked.name)
        with attached(
            asked.program,
            name=asked.name,
            room=asked.room,
            cwd=asked.cwd,
            harness=asked.harness,
            sandbox=Sandbox(asked.sandbox),
            model_name=asked.model,
            hub=_elsewhere(asked),
            tell=tell,
        ) as attachment:
            _on_signals(attachment.leave)
            tell("ready; Ctrl-C ends it")
            tell(attachment.work())
        return 0

    return _refused(work)


def relay(asked: Options) -> int:
    def work() -> int:
        tell = teller(asked.name)
        ended = relaying(
            sys.stdin.read() if asked.task == "-" else asked.task,
            asked.program,
            name=asked.name,
            room=asked.room,
            cwd=asked.cwd,
            harness=asked.harness,
            sandbox=Sandbox(asked.sandbox),
            model_name=asked.model,
            hub=_elsewhere(asked),
            max_turns=asked.max_turns,
            tell=tell,
            prepared=_on_signals,
        )
        for line in ended.text.split("\n"):
            print(visible(line))
        tell(f"the relay is over after {ended.turns} turns: {ended.why}")
        return 0 if ended.why in {Why.DONE, Why.LOCAL} else 1

    return _refused(work)


def _elsewhere(asked: Options) -> Elsewhere | None:
    if asked.hub is None:
        return None
    token = os.environ.get("TALLYSTICK_TOKEN")
    if not token or not asked.room:
        raise InvalidField("A hub elsewhere needs its token in $TALLYSTICK_TOKEN, and --room.", field="hub")
    return Elsewhere(url=asked.hub, token=token)


def _on_signals(leave: Callable[[], None]) -> None:
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(each, lambda _number, _frame: leave())


def _refused(work: Callable[[], int]) -> int:
    try:
        return work()
    except TallyError as refusal:
        print(f"error: {plain(refusal.message)}\nhint: {plain(refusal.advice)}", file=sys.stderr)
        return 1
