"""What the real Claude Code and Codex ask their person in a window is asked in the room too, and answered there."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

import pytest

from tests.loopback.saying import Ask, Say, Saying, Use
from tests.loopback.sessions import windows
from tests.loopback.workplace import HarnessHome, workplace
from tests.stories.terminals import Recording
from tests.waiting import eventually, until

pytestmark = [
    pytest.mark.npm,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]

RUN: Mapping[str, Callable[[str], Use]] = {
    "claude": lambda command: Use(tool="Bash", given={"command": command, "description": "count them"}),
    "codex": lambda command: Use(
        tool="exec_command",
        given={"cmd": command, "sandbox_permissions": "require_escalated", "justification": "count them"},
    ),
}
"""A command for which each asks its person."""
DIALOG = {"claude": "Do you want to proceed?", "codex": "Would you like to run the following command?"}
WINDOW, SHELL = 0, 1


class Person:
    """Somebody with a shell of their own beside the window."""

    def __init__(self, place: HarnessHome, room_id: str, terminals: Recording) -> None:
        self._place, self._room_id, self._terminals = place, room_id, terminals

    def reads(self) -> str:
        """The number of the request that waits, from the inbox."""
        number = eventually(lambda: next(iter(self._open()), None))
        self._terminals.press(SHELL, "clear; tally inbox", "Enter")
        until(lambda: f"tally allow {number}, or tally deny {number}" in self._terminals.shown(SHELL))
        return number

    def answers(self, number: str, command: str) -> None:
        """Type what settles it; the next request may be there before anybody looks."""
        self._terminals.press(SHELL, f"clear; {command}", "Enter")
        until(lambda: number not in self._open())

    def settled(self, number: str) -> str:
        """What came of it."""
        return str(self._shown(number)["state"])

    def _shown(self, number: str) -> dict[str, object]:
        return self._place.tally(
            "permissions", "show", "--room-id", self._room_id, "--permission", number, agent="boss"
        )

    def forgets(self, number: str) -> None:
        """As after the time that a hook waits for somebody."""
        asker = str(self._shown(number)["agent_id"])
        of = ["--room-id", self._room_id, "--permission", number]
        self._place.tally("permissions", "withdraw", *of, "--reason", "nobody is there", agent=asker)

    def _open(self) -> list[str]:
        found = self._place.tally("permissions", "list", "--room-id", self._room_id, agent="boss")
        return [str(each["permission"]) for each in cast("list[dict[str, object]]", found["permissions"])]


@pytest.mark.parametrize("harness", RUN)
def test_a_request_of_a_window_is_denied_allowed_and_left_to_the_window(tmp_path: Path, harness: str) -> None:
    root = tmp_path / "repository"
    commands = [RUN[harness](f"echo one > {root / name}") for name in ("denied", "allowed", "answered")]
    heard: Sequence[str] = []

    def script(ask: Ask) -> Saying:
        nonlocal heard
        if not ask.tools:
            return Say(text="A title")
        heard = ask.results
        return commands[len(heard)] if len(heard) < len(commands) else Say(text="That was all.")

    with workplace(tmp_path, harness, script, "--hooks") as (place, _):
        room_id = str(place.tally("join", agent="boss")["room_id"])
        with windows(place, "go on", asking=True) as terminals:
            person = Person(place, room_id, terminals)
            denied = person.reads()
            person.answers(denied, f"tally deny {denied} 'use the staging database'")
            until(lambda: len(heard) == 1)
            allowed = person.reads()
            person.answers(allowed, f"tally allow {allowed}")
            until((root / "allowed").exists)
            until(lambda: len(heard) == 2)
            answered = person.reads()
            if harness == "codex":
                # Its own dialog comes when nobody in the room has answered.
                person.forgets(answered)
            until(lambda: DIALOG[harness] in terminals.shown(WINDOW))
            terminals.press(WINDOW, "Enter")
            until((root / "answered").exists)
            until(lambda: "That was all." in terminals.shown(WINDOW))
            until(lambda: person.settled(answered) != "open")
            settled = [person.settled(number) for number in (denied, allowed, answered)]

    assert "use the staging database" in heard[0], heard
    assert not (root / "denied").exists()
    assert settled == ["denied", "allowed", "withdrawn"]
