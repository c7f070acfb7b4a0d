"""A scene with fixed ids in which every event can be told to belong to the shape that was named last."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import msgspec

from tallystick.hub import maintenance
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.kernel.envelope import Body, Draft
from tests.scene import Actor, Scene

ELSEWHERE = "a path of this machine, for"
"""The shape of events that cannot be pinned."""


@dataclass
class CountedIds:
    """Ids that count up, anew in each section."""

    section: int = 0
    newest: str = ""
    _counter: Iterator[int] = field(default_factory=itertools.count)

    def __call__(self) -> str:
        self.newest = f"00000000-0000-7000-{0x8000 + self.section:04x}-{next(self._counter):012}"
        return self.newest

    def begin(self, section: int) -> None:
        self.section, self._counter = section, itertools.count(1)


@dataclass
class Line:
    """One event as the golden file has it."""

    shape: str
    room_id: str
    hash: str
    operation: str
    """By which it was written."""
    text: str


@dataclass
class Writer:
    """A scene whose ids count up, so that every event can be told by its id to belong to the shape last named."""

    scene: Scene
    ids: CountedIds
    repository: Path
    """A real git repository in which work was left behind."""
    marks: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """What is written next, and the id from which on it is."""
    calls: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """The newest id after each call, and its operation."""

    def __post_init__(self) -> None:
        self.scene.hub.observe = lambda operation, _outcome, _seconds: self.calls.append((self.ids.newest, operation))

    @property
    def called(self) -> set[str]:
        return {operation for _newest, operation in self.calls}

    def shape(self, name: str) -> None:
        """Name what is written from here on."""
        assert name not in dict(self.marks), name
        self.marks.append((name, self.ids()))

    def room(self, title: str, *names: str) -> tuple[Actor, ...]:
        """A room that belongs to no path, with members who joined in this order."""
        self.shape(f"setting: a room for {title}")
        actors = tuple(self.scene.agent(name) for name in names)
        room_id = cast("str", actors[0].call("rooms.create", title=title)["room_id"])
        for actor in actors:
            self.enter(actor, room_id)
        return actors

    def enter(self, actor: Actor, room_id: str) -> Actor:
        actor.room_id = room_id
        actor.here("rooms.join")
        return actor

    def caller(self, room_id: str, caller: Caller) -> Actor:
        """Somebody who is not one of the scene's processes."""
        return Actor(self.scene, caller, room_id)

    def written_before(self, actor: Actor, operation: str, body: Body | Draft) -> None:
        """What an older version wrote with an operation that refuses it today."""
        with self.scene.hub.writing() as tx:
            tx.lock(actor.room_id)
            tx.append(actor.room_id, actor.caller.agent_id, [body if isinstance(body, Draft) else Draft.of(body)])
        self.calls.append((self.ids.newest, operation))

    def person(self, room_id: str) -> Actor:
        return self.caller(room_id, Caller(agent_id="human:kim:tty1", session=SessionKind.HUMAN_CLI))

    def lines(self) -> list[Line]:
        """All that was written, in the order of writing."""
        exported = [msgspec.json.decode(line, type=_Exported) for line in list(maintenance.export(self.scene.hub))[:-1]]
        found = list[Line]()
        marks = iter([*self.marks, ("", "~")])
        shape, (following, until) = "", next(marks)
        for each in sorted(exported, key=lambda event: event.id):
            while each.id > until:
                shape, (following, until) = following, next(marks)
            body = bytes(each.data).decode()
            text = f"{each.kind} {each.by} {each.scope_key or '-'} {body}"
            _newest, operation = self.calls[bisect.bisect_left(self.calls, (each.id, ""))]
            line = Line(shape=shape, room_id=each.group_id, hash=each.hash, operation=operation, text=text)
            found.append(line)
        return found


class _Exported(msgspec.Struct):
    id: str
    by: str
    kind: str
    group_id: str
    scope_key: str
    hash: str
    data: msgspec.Raw


def in_repository(w: Writer, actor: Actor) -> None:
    """Let the actor's room lead to the repository; the event that says so has a path of this machine in it."""
    w.shape(f"{ELSEWHERE} {actor.room_id}")
    actor.here("rooms.attach_scope", context_path=str(w.repository))
    w.shape(f"setting: work in the repository, {actor.room_id}")
