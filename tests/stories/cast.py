"""Two models that play their parts against each other: each answer depends on what the tools returned so far."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from tests.loopback.saying import Ask, Say, Saying, Script

PATIENCE = 120.0
Part = Callable[["Hand"], Iterator[Saying]]


@dataclass
class Hand:
    """What an actor knows: the latest request of its harness."""

    ask: Ask

    @property
    def result(self) -> str:
        return self.ask.results[-1]

    def answer(self) -> dict[str, object]:
        """The tool's latest answer, without what a harness puts around it."""
        text = self.result
        found, _ = json.JSONDecoder().raw_decode(text[text.index("{") :])
        return cast("dict[str, object]", found)


def played(part: Part) -> Script:
    """A script from a part: each request moves it on by one answer."""
    lock = threading.Lock()
    hands: list[Hand] = []
    going: list[Iterator[Saying]] = []

    def script(ask: Ask) -> Saying:
        with lock:
            if not going:
                hands.append(Hand(ask))
                going.append(part(hands[0]))
            hands[0].ask = ask
            return next(going[0], Say(text="That was all."))

    return script


@dataclass(frozen=True, slots=True)
class Cue:
    """A point of the story that one actor reaches and another waits for."""

    _reached: threading.Event = field(default_factory=threading.Event)

    def give(self) -> None:
        self._reached.set()

    def wait(self) -> None:
        assert self._reached.wait(PATIENCE), "the other actor never came to this point"


def operation(name: str, **args: object) -> Mapping[str, object]:
    """An operation through its portal."""
    return {"op": "call", "cmd": name, "args": args}
