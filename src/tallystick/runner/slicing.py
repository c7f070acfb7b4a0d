"""One slice: start the executor, pass on what it says, and see that it ends; in time, or by force."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from tallystick.harnesses.headless.protocol import Failed, HarnessAnswer, ProcessStart, Reader, Sign
from tallystick.harnesses.process_group import ProcessGroup
from tallystick.runner.leases import Hold, Stop

POLITE_S = 3.0
"""How long a slice that is no longer wanted may take to put its things away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    why: Stop


Ended: TypeAlias = "HarnessAnswer | Failed | Stopped"


class _Over:
    """The program is gone."""


_Item: TypeAlias = "Sign | _Over | Stop"


def run(
    start: ProcessStart,
    reader: Reader,
    hold: Hold,
    *,
    cwd: Path,
    env: Mapping[str, str],
    limit_s: float,
    on_sign: Callable[[Sign], None],
) -> Ended:
    """`on_sign` is called in this thread. A slice that is over `limit_s` is killed on the spot with all it started."""
    for file, text in start.files.items():
        file.write_text(text, "utf-8")
    items = queue.SimpleQueue[_Item]()
    try:
        program = ProcessGroup(
            start.argv,
            stdin=start.stdin,
            cwd=cwd,
            env=env,
            on_line=lambda line: _put(items, reader, line),
            on_end=lambda: items.put(_Over()),
        )
    except OSError as wrong:
        return Failed(why=f"could not be started: {wrong.strerror}")
    hold.listen(items.put)
    try:
        return _follow(program, reader, items, limit_s, on_sign)
    finally:
        hold.listen(None)
        program.end(0)


def _put(items: queue.SimpleQueue[_Item], reader: Reader, line: str) -> None:
    for sign in reader.feed(line):
        items.put(sign)


def _follow(
    program: ProcessGroup,
    reader: Reader,
    items: queue.SimpleQueue[_Item],
    limit_s: float,
    on_sign: Callable[[Sign], None],
) -> Ended:
    deadline = time.monotonic() + limit_s
    while True:
        item: _Item | None = None
        with suppress(queue.Empty):
            item = items.get(timeout=max(0.0, deadline - time.monotonic()))
        match item:
            case None:
                program.end(0)
                return Failed(why=f"killed after {limit_s:.0f} seconds without an answer")
            case Stop():
                program.end(POLITE_S)
                return Stopped(why=item)
            case _Over():
                return reader.end(program.wait(), program.errors)
            case _:
                on_sign(item)
