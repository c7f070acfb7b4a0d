"""For everybody: no serious finding of axe on any view in either colour scheme, and everything by keyboard."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import expect

from tests.http.running import RunningHub
from tests.web.browsing import HANDOFF, Viewer, join
from tests.web.conftest import Look

pytestmark = pytest.mark.browser

PACKAGE = "axe-core@4.10.3"
CACHE = Path(tempfile.gettempdir()) / "tallystick-npm"
VIEWS = ("", "/sessions", "/history", "/history?q=plan", "/replay", "/reservations", "/event/4")


@pytest.fixture(scope="session")
def axe() -> str:
    """The checker's source. It is fetched for the tests only, and nothing of it is in the product."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed: the page was NOT checked with axe")
    folder = CACHE / "axe"
    source = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not source.exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--silent", PACKAGE]
        tried = subprocess.run(command, capture_output=True, text=True, check=False)
        if tried.returncode or not source.exists():
            pytest.skip(f"npm cannot install {PACKAGE}: the page was NOT checked with axe. {tried.stderr[-300:]}")
    return source.read_text("utf-8")


def findings(viewer: Viewer, axe: str) -> list[str]:
    viewer.page.evaluate(axe)
    found: list[dict[str, Any]] = viewer.page.evaluate("async () => (await axe.run()).violations")
    return [
        f"{each['id']}: {node['html'][:200]} {node['failureSummary'][:200]}"
        for each in found
        if each["impact"] in {"serious", "critical"}
        for node in each["nodes"]
    ]


@pytest.mark.npm
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_view(
    hub: RunningHub, look: Look, room: str, axe: str, scheme: Literal["light", "dark"]
) -> None:
    ada, bob = join(hub, room, "ada", "bob")
    ada.say("please look", to=["@user"], priority="attention")
    ada.call("reservations.reserve", path="src/a.py")
    ada.call("turns.release", **ada.claim(), handoff={**HANDOFF, "do_not": ["stop"], "open_questions": ["why?"]})
    bob.claim()
    viewer = look(color_scheme=scheme)
    found = {"/": findings(viewer, axe)}
    for view in VIEWS:
        viewer.go(f"/rooms/{room}{view}", live="event" not in view and "replay" not in view)
        found[view] = findings(viewer, axe)
    for panel in ("#act-note", "#act-more"):
        viewer.go(f"/rooms/{room}")
        viewer.find(f"{panel} > summary").click()
        found[panel] = findings(viewer, axe)
    assert {view: each for view, each in found.items() if each} == {}


def test_a_stranger_to_the_mouse_can_do_everything(hub: RunningHub, look: Look, room: str) -> None:
    join(hub, room, "ada")
    viewer = look()
    viewer.go(f"/rooms/{room}")
    keys = viewer.page.keyboard
    keys.press("Tab")
    expect(viewer.find(".skip")).to_be_focused()
    viewer.find("#act-note > summary").focus()
    keys.press("Enter")
    keys.press("Tab")
    keys.type("by keyboard")
    keys.press("Control+Enter")
    viewer.shows("#talk", "by keyboard")
    expect(viewer.find("#act-note > summary")).to_be_focused()
    viewer.find("#act-note > summary").focus()
    keys.press("Enter")
    keys.press("Tab")
    keys.press("Escape")
    expect(viewer.find("#act-note")).not_to_have_attribute("open", "")


def test_every_control_can_be_reached_with_the_tab_key(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    ada.say("please look", to=["@user"], priority="attention")
    viewer = look()
    for view in ("", "/sessions", "/history", "/replay", "/reservations"):
        viewer.go(f"/rooms/{room}{view}", live="replay" not in view)
        hidden = viewer.page.evaluate(
            """() => [...document.querySelectorAll('a[href], button, input, select, textarea, summary')]
                .filter(each => each.checkVisibility() && each.tabIndex < 0).map(each => each.outerHTML)"""
        )
        assert hidden == [], view
