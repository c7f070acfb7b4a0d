"""Two people at two browsers and an agent at a command line, at once: what one does reaches the others unasked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.http.running import RunningHub
from tests.jobs.shop import PROOF, SEEN
from tests.web.browsing import HANDOFF, Viewer, call
from tests.web.conftest import Look
from tests.web.test_silent import ghost

pytestmark = pytest.mark.browser

LOADS = "performance.timeOrigin"


def both(look: Look, path: str) -> tuple[Viewer, Viewer, list[float]]:
    viewers = look(), look()
    for viewer in viewers:
        viewer.go(path)
    return *viewers, loads(viewers)


def loads(viewers: Sequence[Viewer]) -> list[float]:
    """When each page was loaded; a reload changes it."""
    return [viewer.page.evaluate(LOADS) for viewer in viewers]


def test_the_stick_goes_round_and_everybody_sees_where_it_is(hub: RunningHub, look: Look, room: str) -> None:
    call(hub, "ada", "rooms.join", room_id=room)
    first, second, loaded = both(look, f"/rooms/{room}")
    first.find("#act-take button").click()
    second.shows("#stick-line", "turn 1 · you")
    assert call(hub, "ada", "turns.state", room_id=room)["owner"] == "user"
    second.find("#act-pass > summary").click()
    second.find("#act-pass [name='handoff.status']").fill("read all of it")
    second.find("#act-pass [name='handoff.next_action']").fill("write the rest")
    second.find("#act-pass form button.p").click()
    first.shows("#handoff", "read all of it")
    turn = call(hub, "ada", "turns.wait", room_id=room, max_wait_ms=0)
    assert turn["handoff"]["next_action"] == "write the rest"
    fence = {"lease_id": turn["lease_id"], "expected_turn_id": turn["turn_id"]}
    call(hub, "ada", "turns.release", room_id=room, **fence, handoff={**HANDOFF, "status": "wrote the rest"})
    for viewer in (first, second):
        viewer.shows("#handoff", "wrote the rest")
    first.find("#act-take button").click()
    second.shows("#stick-line", "turn 3 · you")
    second.find("#act-release > summary").click()
    second.find("#act-release [name='handoff.status']").fill("it is good")
    second.find("#act-release [name='handoff.next_action']").fill("ship it")
    second.find("#act-release form button.p").click()
    first.shows("#handoff", "it is good")
    second.find("#act-note > summary").click()
    second.find("#act-note textarea").fill("shipped on a Monday")
    second.find("#act-note button.p").click()
    first.shows("#talk", "shipped on a Monday")
    first.find("#act-close > summary").click()
    first.find("#act-close [name=reason]").fill("shipped")
    first.find("#act-close [type=checkbox]").check()
    first.find("#act-close .danger").click()
    second.shows("#title", "closed")
    assert call(hub, "ada", "rooms.show", room_id=room)["closed_at"]
    assert loads((first, second)) == loaded


def test_what_is_said_answered_and_relayed_is_seen_by_all(
    hub: RunningHub, look: Look, room: str, tmp_path: Path
) -> None:
    other = hub.user.room("the-other-room")
    call(hub, "ada", "rooms.join", room_id=room)
    call(hub, "cleo", "rooms.join", room_id=other)
    first, second, loaded = both(look, f"/rooms/{room}/sessions")
    asked = {"text": "shall we?", "to": ["@user"], "priority": "attention"}
    sent = call(hub, "ada", "messages.send", room_id=room, **asked)["event"]
    row = f"#e{sent['seq']}"
    first.find(row).get_by_role("button", name="Seen").click()
    expect(second.find(row).get_by_role("button", name="Seen")).to_have_count(0)
    second.shows(row, "0 of 1 accepted")
    second.find(row).get_by_role("button", name="Accepted").click()
    first.shows(row, "1 of 1 accepted")
    assert call(hub, "ada", "messages.inbox", room_id=room)["awaiting"] == []
    notes = tmp_path / "plan.txt"
    notes.write_text("step one")
    first.find(row).get_by_role("button", name="Quote").click()
    first.find("#say [name=text]").fill("we shall")
    first.find("#say [type=file]").set_input_files(notes)
    first.find("#say button.p").click()
    second.shows("#rows > .ev:last-child", "we shall")
    second.shows("#rows > .ev:last-child blockquote", "shall we?")
    second.shows("#rows > .ev:last-child .file", "plan.txt")
    (letter,) = call(hub, "ada", "messages.inbox", room_id=room)["messages"]
    assert (letter["event"]["data"]["text"], letter["event"]["data"]["reply_to"]) == ("we shall", sent["id"])
    third = look()
    third.go(f"/rooms/{other}/sessions")
    second.find(f"{row} details.act > summary").click()
    second.find(f"{row} details.act select").select_option(other)
    second.find(f"{row} details.act button.p").click()
    third.shows("#rows", "shall we?")
    third.shows("#rows", "go to the source")
    assert loads((first, second)) == loaded


def test_who_reserves_what_is_seen_by_all(hub: RunningHub, look: Look, room: str) -> None:
    ghost(hub, room)
    first, second, loaded = both(look, f"/rooms/{room}/reservations")
    first.find("#tree details.act > summary").click()
    first.find("#tree details.act button.p").click()
    second.shows("#tree", "src/a.py you")
    second.find("#reserve [name=path]").fill("docs")
    second.find("#reserve button").click()
    first.shows("#tree", "docs you")
    call(hub, "ada", "rooms.join", room_id=room)
    call(hub, "ada", "reservations.reserve", room_id=room, path="docs/a.md", mode="shared")
    for viewer in (first, second):
        viewer.shows("#tree", "2 in conflict")
        viewer.shows("#incursions", "ada tried docs/a.md")
    first.find("#tree form:has(button:text-is('Give back'))").first.locator("button").click()
    second.shows("#ended", "docs")
    verdicts = call(hub, "ada", "reservations.check", room_id=room, paths=["docs/b.md"])["paths"]
    assert [each["verdict"] for each in verdicts] == ["free"]
    assert loads((first, second)) == loaded


def test_a_job_is_asked_answered_stopped_and_begun_again_before_all_eyes(
    hub: RunningHub, look: Look, room: str
) -> None:
    call(hub, "ada", "rooms.join", room_id=room)
    board, thread = look(), look()
    board.go(f"/rooms/{room}/jobs")
    made = call(hub, "ada", "jobs.create", room_id=room, title="Migrate retries", prompt="Move them.")["job"]["job_id"]
    board.shows("#board", "Migrate retries")
    thread.go(f"/rooms/{room}/jobs/{made}")
    loaded = loads((board, thread))
    call(hub, "ada", "runners.heartbeat", room_id=room, runner_id="r1", status="idle")
    claim = call(hub, "ada", "jobs.claim", room_id=room, runner_id="r1", job=made)
    board.shows("#runners", "r1")
    asks = {"job": made, "runner_id": "r1", "claim_revision": claim["claim_revision"], "kind": "question"}
    call(hub, "ada", "jobs.report", room_id=room, **asks, message="keep v1?")
    board.shows("#needs", "keep v1?")
    thread.shows("#thread", "keep v1?")
    thread.find("#reply textarea").fill("drop it")
    thread.find("#reply button").click()
    expect(board.find("#needs li")).to_have_count(0)
    tail = call(hub, "ada", "jobs.tail", room_id=room, job=made)["events"]
    assert tail[-1]["message"] == "drop it"
    thread.find("#act-cancel > summary").click()
    thread.find("#act-cancel textarea").fill("no need")
    thread.find("#act-cancel .danger").click()
    board.shows("#board", "canceled")
    thread.find("#act-requeue > summary").click()
    thread.find("#act-requeue .p").last.click()
    board.shows("#board > .card:first-child", "Migrate retries")
    assert call(hub, "ada", "jobs.open", room_id=room, job=made)["job"]["status"] == "QUEUED"
    assert loads((board, thread)) == loaded


def test_a_person_takes_over_and_everybody_sees_from_whom_and_why(hub: RunningHub, look: Look, room: str) -> None:
    call(hub, "ada", "rooms.join", room_id=room)
    call(hub, "ada", "rooms.set_policy", room_id=room, owner_lease_ttl_ms=100, heartbeat_interval_ms=50)
    turn = call(hub, "ada", "turns.wait", room_id=room, max_wait_ms=0)
    first, second, loaded = both(look, f"/rooms/{room}")
    first.find("#act-takeover > summary").click()
    first.find("#act-takeover [name=reason]").fill("gone for lunch")
    first.find("#act-takeover form button").click()
    second.shows("#stick-line", "turn 2 · you")
    second.shows("#talk", "turn 2, from ada: gone for lunch")
    state = call(hub, "ada", "turns.state", room_id=room)
    assert (turn["turn_id"], state["turn_id"], state["owner"]) == (1, 2, "user")
    assert loads((first, second)) == loaded


def test_a_merge_report_made_in_one_browser_is_in_the_other_and_at_the_command_line(
    hub: RunningHub, look: Look, room: str
) -> None:
    call(hub, "ada", "rooms.join", room_id=room)
    call(hub, "ada", "runners.heartbeat", room_id=room, runner_id="r1", status="idle")
    made = call(hub, "ada", "jobs.create", room_id=room, title="Migrate retries", prompt="Move them.")["job"]["job_id"]
    claim = call(hub, "ada", "jobs.claim", room_id=room, runner_id="r1", job=made)
    held = {"job": made, "runner_id": "r1", "claim_revision": claim["claim_revision"], "status": "DONE"}
    call(hub, "ada", "jobs.complete", room_id=room, **held, summary="Moved.", refs=[PROOF], observed=[SEEN])
    first, second, loaded = both(look, f"/rooms/{room}/jobs")
    first.find("#act-report > summary").click()
    first.find("#act-report [name=title]").fill("Retries, merged")
    first.find("#act-report form button.p").click()
    for viewer in (first, second):
        expect(viewer.find("#report .hd").first).to_have_text("Retries, merged")
    cards = call(hub, "ada", "cards.list", room_id=room)["cards"]
    assert [card["title"] for card in cards if card["pinned"]] == ["Retries, merged"]
    assert loads((first, second)) == loaded
