"""Agents whose process is gone: what they held can be taken over, and who goes on for them is on record."""

from __future__ import annotations

import subprocess
import sys

import pytest
from playwright.sync_api import expect

from tallystick.harnesses import processes
from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.kernel.caller import Caller, SessionKind
from tests.http.running import RunningHub
from tests.web.browsing import join
from tests.web.conftest import Look

pytestmark = pytest.mark.browser


def ghost(hub: RunningHub, room: str) -> None:
    """Somebody reserves a path, and its process ends without a word."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process = processes.facts(child.pid)
    caller = Caller(agent_id="ghost", session=SessionKind.MCP_HARNESS, process=process)
    inside = Hub.open(Settings(data_dir=hub.data_dir))
    inside.call("rooms.join", {"room_id": room}, caller)
    inside.call("reservations.reserve", {"room_id": room, "path": "src/a.py"}, caller)
    inside.close()
    child.communicate(b"\n")


def test_a_person_takes_over_what_a_dead_agent_held(hub: RunningHub, look: Look, room: str) -> None:
    ghost(hub, room)
    viewer = look()
    viewer.go(f"/rooms/{room}/reservations")
    viewer.shows("#tree", "evicted")
    viewer.find("#tree details.act > summary").click()
    viewer.find("#tree details.act button.p").click()
    viewer.shows("#tree", "you")
    viewer.shows("#ended", "ghost")
    viewer.shows("#ended", "taken over")


def test_an_agent_that_goes_on_for_a_dead_one_is_a_row(hub: RunningHub, look: Look, room: str) -> None:
    ghost(hub, room)
    (newcomer,) = join(hub, room, "newcomer")
    newcomer.call("agents.adopt", agent_id="ghost", confirm=True)
    viewer = look()
    viewer.go(f"/rooms/{room}/sessions")
    row = viewer.find("#rows .ev:has(.tag:text-is('Resumed'))")
    expect(row).to_contain_text("newcomer adopted ghost")


def test_the_overview_says_that_its_process_is_gone(hub: RunningHub, look: Look, room: str) -> None:
    ghost(hub, room)
    viewer = look()
    viewer.shows("#people", "process gone")
