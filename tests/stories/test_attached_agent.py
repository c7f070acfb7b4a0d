"""An attached agent and those who ask it, by the commands that they type and the page: every request has an end."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import cast

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.stories.team import NEVER
from tests.stories.team_programs import PACKAGES, Team, real_team, scripted_team
from tests.stories.transcript import PORT, Reader, reader
from tests.waiting import eventually, until
from tests.web.chromium import ARGUMENTS, CHROMIUM

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.timeout(300)]

COMMANDS = {"scripted": "--acp -- scripted", **{slug: f"-- {slug}" for slug in PACKAGES}}
INTERRUPT = """actions relay --actions '[{"type":"control","dst":"worker","command":"interrupt"}]'"""
MEND = "Mend cart.py like that."


class Terminal:
    """A person's terminal in the agent's folder, from which more than one thing can go on at a time."""

    def __init__(self, person: Reader, slug: str) -> None:
        self._person, self._slug = person, slug
        self._lives = 0
        self.folder = person.folder

    def type(self, command: str) -> str:
        return self._person.type(command)

    def data(self, command: str) -> dict[str, object]:
        said = json.loads(self.type(f"tally --json {command} 2> /dev/null"))
        assert said["ok"], said
        return cast("dict[str, object]", said["data"])

    def attach(self) -> None:
        self._lives += 1
        self.log.touch()
        self.type(f"tally attach --name worker {COMMANDS[self._slug]} 2> {self.log.name} & agent=$!")
        until(lambda: "ready" in self.log.read_text())

    @property
    def log(self) -> Path:
        """What the agent's present process says."""
        return self.folder / f"agent-{self._lives}.log"

    def link(self) -> str:
        """A page that nobody has opened yet."""
        (found,) = re.findall(r"(http://\S+/login\?\S+)", self.type("tally status"))
        return found.replace(f":{PORT}", f":{self._person.port}")

    def asks(self, text: str, who: str = "") -> Asking:
        return Asking(self, text, who)

    def permission(self) -> str:
        """The number of the one that waits, as the inbox has it."""

        def waiting() -> str | None:
            found = re.search(r"tally deny (\d+)", self.type("tally inbox"))
            return found[1] if found else None

        return eventually(waiting)

    def works(self) -> None:
        """Wait until the agent is at work on what it was asked."""

        def begun() -> bool:
            open_ = cast("list[dict[str, object]]", self.data("actions pending --agent-id worker")["open"])
            return any(each["status"] == "accepted" for each in open_)

        until(begun)


class Asking:
    """A `tally ask` that goes on while other things are typed."""

    def __init__(self, terminal: Terminal, text: str, who: str = "") -> None:
        self._terminal = terminal
        self._name = f"asking{len(list(terminal.folder.glob('*.steps')))}"
        self._steps = terminal.folder / f"{self._name}.steps"
        self._answer = terminal.folder / f"{self._name}.answer"
        self._steps.touch()
        named = f"--as {who} " if who else ""
        to = f"> {self._answer.name} 2> {self._steps.name}"
        terminal.type(f"tally {named}ask worker '{text}' --timeout 2m {to} & {self._name}=$!")
        until(lambda: "Asked worker" in self.steps)

    @property
    def steps(self) -> str:
        return self._steps.read_text()

    def ended(self) -> tuple[int, str]:
        """Exit code and answer."""
        code = self._terminal.type(f"wait ${self._name}; echo $?")
        return int(code), self._answer.read_text().strip()


@pytest.fixture(params=["scripted", *(pytest.param(slug, marks=pytest.mark.npm) for slug in PACKAGES)])
def story(request: pytest.FixtureRequest) -> Generator[tuple[Terminal, Team]]:
    """A short home: a hub's socket lies below it, and the system bounds the length of its path."""
    slug: str = request.param
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="t-"))) / "h"
        team = scripted_team(home) if slug == "scripted" else stack.enter_context(real_team(home, slug))
        terminal = Terminal(stack.enter_context(reader(home, programs=[str(team.bin)])), slug)
        (terminal.folder / "cart.py").write_text("def total(prices):\n    return sum(prices) / len(prices)\n")
        terminal.type("tally up --detach")
        terminal.attach()
        yield terminal, team


def test_whoever_asks_an_attached_agent_gets_an_answer_or_the_reason_why_not(story: tuple[Terminal, Team]) -> None:
    terminal, team = story
    _denied_at_the_terminal(terminal)
    _allowed_on_the_page(terminal)
    _interrupted(terminal)
    _two_at_once(terminal)
    _a_service(terminal)
    _killed(terminal, team)
    _closed(terminal)


def _denied_at_the_terminal(terminal: Terminal) -> None:
    asking = terminal.asks("Push it.")
    number = terminal.permission()
    terminal.type(f"tally deny {number} 'not before I have looked'")

    assert asking.ended() == (0, "It waits for you: nothing was pushed.")
    assert re.search(rf"^worker asks permission {number}: .*git push", asking.steps, re.MULTILINE)
    assert f"worker permission {number} denied by user: not before I have looked" in asking.steps


def _allowed_on_the_page(terminal: Terminal) -> None:
    asking = terminal.asks(MEND)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page()
        page.goto(terminal.link())
        needed = page.locator("#needs [data-tag=permission]")
        expect(needed).to_contain_text("cart.py", timeout=60_000)
        needed.get_by_role("button", name="Allow").click()
        expect(needed).to_have_count(0, timeout=60_000)
        browser.close()

    assert asking.ended() == (0, "cart.py adds up the prices and divides by nothing.")
    assert "allowed by user" in asking.steps
    assert (terminal.folder / "cart.py").read_text() == "def total(prices):\n    return sum(prices)\n"


def _interrupted(terminal: Terminal) -> None:
    asking = terminal.asks("Count to a million.")
    terminal.works()
    terminal.data(INTERRUPT)

    assert asking.ended() == (4, "")
    assert "worker gave no answer: interrupted by user" in asking.steps


def _two_at_once(terminal: Terminal) -> None:
    for name in ("ann", "ben"):
        terminal.type(f"tally --as {name} join")
    first = terminal.asks("What is the first thing?", "ann")
    terminal.works()
    second = terminal.asks("What is the second thing?", "ben")
    until(lambda: "Asked worker" in second.steps)
    (terminal.folder / "both-asked").touch()

    assert first.ended() == (0, "The first thing is the cart.")
    assert second.ended() == (0, "The second thing is a test.")
    said = terminal.data("events list --kinds chat.message --by worker --limit 500")
    told = [cast("dict[str, object]", each["data"]) for each in cast("list[dict[str, object]]", said["events"])]
    assert [each["to"] for each in told][-2:] == [["ann"], ["ben"]]


def _a_service(terminal: Terminal) -> None:
    assert terminal.asks("Is main green?", "svc:ci").ended() == (0, "It is green.")
    # It was shown, so nothing is to be read; the inbox keeps it all the same.
    assert terminal.type("tally --as svc:ci inbox") == "Nothing to read, nothing to accept.\n"
    assert "It is green." in terminal.type("tally --as svc:ci inbox --all")


def _killed(terminal: Terminal, team: Team) -> None:
    asking = terminal.asks("Count to a million.")
    terminal.works()
    terminal.type("kill -9 $agent; wait $agent")
    away = terminal.asks("What did you mend?")
    until(lambda: "worker is away; it is asked when it returns." in away.steps)
    terminal.attach()

    assert asking.ended() == (3, "")
    assert "ask again if it is still wanted" in asking.steps
    assert away.ended() == (0, "The division in cart.py.")
    assert MEND in team.heard("What did you mend?")


def _closed(terminal: Terminal) -> None:
    asking = terminal.asks("Count to a million.")
    terminal.works()
    terminal.type("tally join")
    terminal.type("tally rooms close --reason 'all done'")

    assert asking.ended() == (1, "")
    assert "the room was closed" in asking.steps
    assert terminal.type("wait $agent; echo $?") == "0\n"
    assert "closed the room: all done" in terminal.log.read_text()
    assert not (terminal.folder / NEVER).exists()
