"""Rooms to measure in, and the events that fill them."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.synchronize import Barrier
from typing import TypeVar

from tallybench.engines import agent
from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.kernel.caller import Caller, SessionKind

T = TypeVar("T")
R = TypeVar("R")

_PATIENCE_S = 120.0


class _Gate:
    """The barrier of this worker process. It can be inherited, but not be sent along with a task."""

    barrier: Barrier


def _enter(barrier: Barrier) -> None:
    _Gate.barrier = barrier


def together() -> None:
    """Wait in a worker until all of its company are ready."""
    _Gate.barrier.wait(_PATIENCE_S)


def gather(work: Callable[[T], R], tasks: Sequence[T]) -> list[R]:
    """One process per task; `work` must call `together` once, which also keeps two tasks out of one process."""
    context = multiprocessing.get_context("forkserver")
    # Whoever is forked has everything loaded: starting Python anew would take longer than most of what is measured.
    context.set_forkserver_preload([work.__module__])
    gate = context.Barrier(len(tasks))
    with ProcessPoolExecutor(len(tasks), mp_context=context, initializer=_enter, initargs=(gate,)) as pool:
        return list(pool.map(work, tasks))


BODY: Mapping[str, object] = {
    "text": "The parser accepts trailing commas now; the three failing cases are in the corpus and pass.",
    "branch": "fix/trailing-commas",
    "files": ["src/parser.py", "src/lexer.py", "tests/test_parser.py"],
    "commit": "9fceb02d0ae598e95dc970b74767f19372d61af8",
    "took_ms": 8123,
    "green": True,
}
"""About as much as an agent says in one report."""


@contextmanager
def opened(settings: Settings) -> Generator[Hub]:
    hub = Hub.open(settings)
    try:
        yield hub
    finally:
        hub.close()


def make_room(settings: Settings, title: str) -> str:
    with opened(settings) as hub:
        maker = Caller(agent_id="bench", session=SessionKind.NAMED)
        return str(hub.call("rooms.create", {"title": title}, maker).to_data()["room_id"])


def make_held_room(settings: Settings, title: str, members: Sequence[str] = ()) -> str:
    """A room whose stick this process holds, so that its other members wait for it."""
    room_id = make_room(settings, title)
    with opened(settings) as hub:
        for name in members:
            enter(hub, room_id, name)
        hub.call("turns.wait", {"room_id": room_id, "max_wait_ms": 0}, enter(hub, room_id, "holder"))
    return room_id


def enter(hub: Hub, room_id: str, name: str) -> Caller:
    """A member of the room with this process behind it."""
    me = agent(name, os.getpid())
    hub.call("rooms.join", {"room_id": room_id}, me)
    return me


def report(room_id: str) -> dict[str, object]:
    """The input of one `events.append`."""
    return {"room_id": room_id, "kind": "x.bench.report", "data": BODY}
