"""Agents whose process is gone: what they held can be taken over, and who goes on for them is on record."""

from __future__ import annotations

import re
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


def ghost(hub: RunningHub, room: str, *, holding: bool = False) -> None:
    """Somebody reserves a path and perhaps takes the stick, and its process ends without a word."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process = processes.facts(child.pid)
    caller = Caller(agent_id="ghost", session=SessionKind.MCP_HARNESS, process=process)
    inside = Hub.open(Settings(data_dir=hub.data_dir))
    inside.call("rooms.join", {"room_id": room}, caller)
    inside.call("reservations.reserve", {"room_id": room, "path": "src/a.py"}, caller)
    if holding:
        inside.call("turns.wait", {"room_id": room, "max_wait_ms": 0}, caller)
    inside.close()
    child.communicate(b"\n")


def test_a_person_takes_over_what_a_dead_agent_held(hub: RunningHub, look: Look, room: str) -> None:
    ghost(hub, room)
    viewer = look()
    viewer.go(f"/rooms/{room}/reservations")
    viewer.shows("#tree", "process gone")
    viewer.find("#tree details.act > summary").click()
    viewer.find("#tree details.act button.p").click()
    viewer.shows("#tree", "you")
    viewer.shows("#ended", "ghost")
    viewer.shows("#ended", "taken over")


def test_an_agent_that_goes_on_for_a_dead_one_is_a_row(hub: RunningHub, look: Look, room: str) -> None:
    ghost(hub, room)
    (newcomer,) = join(hub, room, "newcomer")
    hub.user.call("agents.allow_adoption", room_id=room, agent_id="ghost", session_id="newcomer")
    newcomer.call("agents.adopt", agent_id="ghost", confirm=True)
    viewer = look()
    viewer.go(f"/rooms/{room}/sessions")
    row = viewer.find("#rows .ev:has(.tag:text-is('Resumed'))")
    expect(row).to_contain_text("newcomer adopted ghost")


def test_the_overview_says_that_its_process_is_gone(hub: RunningHub, look: Look, room: str) -> None:
    ghost(hub, room)
    viewer = look()
    viewer.go("/")
    viewer.shows("#people", "process gone")


def test_one_glance_says_who_is_stuck_and_on_what(hub: RunningHub, look: Look, room: str) -> None:
    ghost(hub, room, holding=True)
    ada, bob = join(hub, room, "ada", "bob")
    ada.call("reservations.reserve", path="docs")
    assert bob.client.post("reservations.reserve", {"room_id": room, "path": "docs/a.md"}).status == 409
    ada.say("which currency first?", to=["@user"], priority="attention")
    ada.call("runners.heartbeat", runner_id="r1", status="idle", max_parallel=2)
    fences: list[dict[str, object]] = []
    for title in ("Migrate retries", "Webhook docs"):
        made = ada.call("jobs.create", title=title, prompt="Do it.")["job"]["job_id"]
        claim = ada.call("jobs.claim", runner_id="r1", job=made)
        fences.append({"job": made, "runner_id": "r1", "claim_revision": claim["claim_revision"]})
    unproven, asking = fences
    ada.call("jobs.report", **unproven, kind="proof_gate", message="no test run after the last change")
    ada.call("jobs.report", **asking, kind="question", message="keep v1 or drop it?")
    viewer = look()
    viewer.go("/")
    mine = viewer.find(f"#needs li:has(a[href='/rooms/{room}'])")
    expect(mine).to_have_count(5)
    told = [" ".join(text.split()) for text in mine.all_inner_texts()]
    assert [text[0] for text in told] == ["?", "?", "!", "~", "~"]
    for expected in (
        "JOB-001 “Migrate retries” says it is done, without proof",
        "which currency first?",
        "keep v1 or drop it?",
        "ghost holds the stick, and its process is gone; takeover is open",
        "bob tried docs/a.md, reserved by ada",
    ):
        assert sum(expected in text for text in told) == 1, (expected, told)
    viewer.shows(f"#room-{room}", "ghost")
    viewer.shows(f"#room-{room}", "holder gone")
    expect(viewer.page).to_have_title(re.compile(r"^\(\d+\) Tallystick$"))
