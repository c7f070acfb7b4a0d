"""A hub, browsers that look at it, and agents that work in it from a command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.kernel.envelope import Draft
from tallystick.surfaces.http.browser_sessions import label_of
from tests.http.running import Client, RunningHub, signed_in

if TYPE_CHECKING:
    from playwright._impl._api_structures import SetCookieParam

HANDOFF = {"status": "wrote the plan", "next_action": "review the plan"}


@dataclass
class Viewer:
    """One person at one browser. What goes wrong in the page is kept, and must be nothing."""

    hub: RunningHub
    context: BrowserContext
    page: Page
    troubles: list[str] = field(default_factory=list[str])

    @classmethod
    def at(cls, hub: RunningHub, browser: Browser, **options: Any) -> Viewer:
        context = browser.new_context(**cast("Any", {"viewport": {"width": 1280, "height": 900}, **options}))
        context.add_cookies([session(hub)])
        viewer = cls(hub, context, context.new_page())
        viewer.page.set_default_timeout(20_000)
        viewer.page.on("pageerror", lambda error: viewer.troubles.append(str(error)))
        viewer.page.on("console", lambda said: viewer._heard(said.type, said.text))
        viewer.page.on("dialog", lambda dialog: viewer.troubles.append(f"a dialog: {dialog.message}"))
        viewer.page.on("request", lambda request: viewer._asked(request.url))
        return viewer

    def go(self, path: str, *, live: bool = True) -> Page:
        self.page.goto(f"{hub_url(self.hub)}{path}")
        if live:
            expect(self.page.locator("#live")).to_have_attribute("data-state", "on")
        return self.page

    def empty(self) -> None:
        """Leave the page, for the next who looks."""
        self.page.goto("about:blank")
        self.troubles.clear()

    def find(self, selector: str) -> Locator:
        return self.page.locator(selector)

    def tab_to(self, selector: str) -> None:
        """Press the tab key until the focus is there, as somebody without a mouse does."""
        for _ in range(100):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
        raise AssertionError(f"the tab key does not come to {selector}")

    def shows(self, selector: str, text: str) -> None:
        expect(self.page.locator(selector)).to_contain_text(text)

    def _heard(self, kind: str, text: str) -> None:
        if kind == "error" and "Failed to load resource" not in text and "ERR_" not in text:
            self.troubles.append(text)

    def _asked(self, url: str) -> None:
        if not url.startswith((hub_url(self.hub), "data:", "blob:")):
            self.troubles.append(f"asked outside: {url}")


def hub_url(hub: RunningHub) -> str:
    """The page, under the name that it has to itself."""
    return f"http://{label_of((hub.data_dir / 'token').read_text().strip())}.localhost:{hub.port}"


def link(hub: RunningHub) -> str:
    """A fresh one-time link, as `tally status` gives it."""
    return cast("str", hub.local.get("/v1/status").json["login"])


def session(hub: RunningHub) -> SetCookieParam:
    """The cookie that opening such a link sets; what a person sees of that is tested with the signing in."""
    name, _, value = signed_in(hub, link(hub)).cookie.partition("=")
    return {"name": name, "value": value, "url": hub_url(hub), "httpOnly": True, "sameSite": "Strict"}


def command(hub: RunningHub, name: str, *arguments: str) -> dict[str, Any]:
    """One `tally` command in a process of its own, by an agent that named itself."""
    done = subprocess.run(
        [sys.executable, "-m", "tallystick.surfaces.cli.main", "--as", name, "--json", *arguments],
        env=hub.settings,
        capture_output=True,
        text=True,
        check=False,
    )
    answer = json.loads(done.stdout)
    assert answer["ok"], answer
    return cast("dict[str, Any]", answer["data"])


def call(hub: RunningHub, name: str, operation: str, **given: object) -> dict[str, Any]:
    return command(hub, name, "call", operation, "--input", json.dumps(given))


@dataclass
class Agent:
    """An agent over HTTP, for what would take too long one process at a time."""

    client: Client
    name: str
    room_id: str

    def call(self, operation: str, **given: object) -> dict[str, Any]:
        return cast("dict[str, Any]", self.client.call(operation, room_id=self.room_id, **given))

    def say(self, text: str, **given: object) -> dict[str, Any]:
        return cast("dict[str, Any]", self.call("messages.send", text=text, **given)["event"])

    def claim(self) -> Mapping[str, Any]:
        turn = self.call("turns.wait", max_wait_ms=0)
        assert turn["status"] == "your_turn", turn
        return {"lease_id": turn["lease_id"], "expected_turn_id": turn["turn_id"]}


def join(hub: RunningHub, room_id: str, *names: str) -> list[Agent]:
    agents = [Agent(hub.agent(name), name, room_id) for name in names]
    for agent in agents:
        agent.call("rooms.join")
    return agents


def workspace(folder: Path) -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return folder.resolve()


def grow(hub: RunningHub, room_id: str, count: int, by: str = "ada") -> None:
    """Add many notes of one agent at once, behind the running hub's back."""
    inside = Hub.open(Settings(data_dir=hub.data_dir))
    for start in range(0, count, 1000):
        with inside.writing() as tx:
            tx.lock(room_id)
            numbers = range(start, min(start + 1000, count))
            notes = [Draft(kind="x.tally.note.add", data={"body": f"note {each}", "turn_id": 0}) for each in numbers]
            tx.append(room_id, by, notes)
    inside.close()
