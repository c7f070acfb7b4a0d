"""The room view: the stick as a picture, and everything a person may do with it, fenced like everybody else."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tallystick.kernel.operation import Reach
from tests.http.running import RunningHub
from tests.web.browsing import HANDOFF, Agent, join
from tests.web.conftest import Look

pytestmark = pytest.mark.browser


def test_the_picture_has_a_lane_for_each_holder_and_a_mark_that_opens_each_handoff(
    hub: RunningHub, look: Look, room: str
) -> None:
    ada, bob = join(hub, room, "ada", "bob")
    ada.call("turns.release", **ada.claim(), handoff=HANDOFF)
    bob.claim()
    viewer = look()
    viewer.go(f"/rooms/{room}")
    expect(viewer.find(".lanes .bar")).to_have_count(2)
    viewer.shows("#stick-line", "turn 2 · bob")
    viewer.find(".lanes a").first.focus()
    viewer.page.keyboard.press("Enter")
    expect(viewer.find("h1")).to_contain_text("Event ")
    viewer.shows("#event", "wrote the plan")


def test_the_handoff_in_force_is_shown_with_artifacts_questions_and_do_nots(
    hub: RunningHub, look: Look, room: str
) -> None:
    ada, bob = join(hub, room, "ada", "bob")
    handoff = {
        **HANDOFF,
        "artifacts": [{"path": "src/retry.py", "lines": [12, 88], "role": "edit", "note": "the policy"}],
        "open_questions": ["keep v1?"],
        "do_not": ["touch the payload"],
    }
    ada.call("turns.pass", **ada.claim(), to_agent_id="bob", handoff=handoff)
    bob.claim()
    viewer = look()
    viewer.go(f"/rooms/{room}")
    for text in (
        "Passed to",
        "wrote the plan",
        "review the plan",
        "src/retry.py:12-88",
        "keep v1?",
        "touch the payload",
    ):
        viewer.shows("#handoff", text)


def test_a_person_takes_the_stick_and_releases_it_with_a_handoff(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    viewer = look()
    viewer.go(f"/rooms/{room}")
    viewer.find("#act-take button").click()
    viewer.shows("#stick-line", "turn 1 · you")
    viewer.find("#act-release > summary").click()
    viewer.find("#act-release [name='handoff.status']").fill("looked at it myself")
    viewer.find("#act-release [name='handoff.next_action']").fill("go on")
    viewer.find("#act-release [name='handoff.artifacts']").fill("src/a.py:3-9 edit here\ndocs/b.md")
    viewer.find("#act-release [name='handoff.do_not']").fill("hurry\n\npanic")
    viewer.find("#act-release form button").click()
    viewer.shows("#handoff", "looked at it myself")
    turn = ada.call("turns.wait", max_wait_ms=0)
    assert turn["handoff"] == {
        "status": "looked at it myself",
        "next_action": "go on",
        "artifacts": [
            {"path": "src/a.py", "lines": [3, 9], "role": "edit", "note": "here"},
            {"path": "docs/b.md", "role": "examine"},
        ],
        "do_not": ["hurry", "panic"],
    }


def test_a_person_passes_the_stick_to_one_agent(hub: RunningHub, look: Look, room: str) -> None:
    _ada, bob = join(hub, room, "ada", "bob")
    viewer = look()
    viewer.go(f"/rooms/{room}")
    viewer.find("#act-take button").click()
    viewer.find("#act-pass > summary").click()
    viewer.find("#act-pass select").select_option("bob")
    viewer.find("#act-pass [name='handoff.status']").fill("read it")
    viewer.find("#act-pass [name='handoff.next_action']").fill("write it")
    viewer.find("#act-pass form button").click()
    viewer.shows("#stick-line", "next bob")
    assert bob.call("turns.wait", max_wait_ms=0)["reason"] == "direct_pass"


def test_a_held_stick_is_not_taken_and_the_form_says_why(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    ada.claim()
    viewer = look()
    viewer.go(f"/rooms/{room}")
    viewer.find("#act-take button").click()
    viewer.shows("#act-take output", "The stick is not free.")
    viewer.shows("#act-take output", "ada holds it.")


def test_a_form_keeps_the_fence_it_was_opened_with_and_its_refusal_shows_the_present_one(
    hub: RunningHub, look: Look, room: str
) -> None:
    (ada,) = join(hub, room, "ada")
    hub.user.call("rooms.join", room_id=room)
    hub.user.call("rooms.set_policy", room_id=room, owner_lease_ttl_ms=100, heartbeat_interval_ms=50)
    viewer = look(own=True)
    viewer.page.route("**/act/turns.heartbeat", lambda route: route.abort())
    viewer.go(f"/rooms/{room}")
    viewer.find("#act-take button").click()
    viewer.find("#act-release > summary").click()
    viewer.find("#act-release [name='handoff.status']").fill("half a")
    assert ada.call("turns.wait", max_wait_ms=10_000)["status"] == "takeover_available"
    ada.call("turns.takeover", expected_turn_id=1, reason="silence")
    viewer.shows("#stick-line", "turn 2 · ada")
    expect(viewer.find("#act-release [name='handoff.status']")).to_have_value("half a")
    viewer.find("#act-release [name='handoff.next_action']").fill("word")
    viewer.find("#act-release form button").click()
    for text in ("You expected turn 1; the room is at turn 2", "held by ada"):
        viewer.shows("#act-release output", text)


def test_a_person_takes_over_from_a_silent_holder_with_a_reason(hub: RunningHub, look: Look, room: str) -> None:
    # The person is no member: who sets the policy is an agent whose token may.
    ada = Agent(hub.agent("ada", reach=Reach.MANAGE), "ada", room)
    ada.call("rooms.join")
    ada.call("rooms.set_policy", owner_lease_ttl_ms=100, heartbeat_interval_ms=50)
    ada.claim()
    viewer = look()
    viewer.go("/")
    viewer.shows("#needs", "ada let the lease run out; takeover is open")
    need = viewer.find(f"#needs li:has(a[href='/rooms/{room}'])")
    need.locator("summary:has-text('Take over')").click()
    need.locator("[name=reason]").fill("gone for lunch")
    need.get_by_role("button", name="Take the stick over").click()
    expect(need).to_have_count(0)
    viewer.go(f"/rooms/{room}")
    viewer.shows("#stick-line", "turn 2 · you")
    viewer.shows("#talk", "turn 2, from ada: gone for lunch")


def test_a_person_leaves_a_note_and_closes_the_room(hub: RunningHub, look: Look, room: str) -> None:
    viewer = look()
    viewer.go(f"/rooms/{room}")
    viewer.find("#act-note > summary").click()
    viewer.find("#act-note textarea").fill("CI is red")
    viewer.find("#act-note form button").click()
    viewer.shows("#talk", "CI is red")
    viewer.find("#act-close > summary").click()
    viewer.find("#act-close [name=reason]").fill("shipped")
    viewer.find("#act-close [type=checkbox]").check()
    viewer.find("#act-close .danger").click()
    viewer.shows("#title", "closed")
    expect(viewer.find("#actions")).to_have_count(0)


def test_an_open_page_keeps_the_lease_of_its_person(hub: RunningHub, look: Look, room: str) -> None:
    hub.user.call("rooms.join", room_id=room)
    hub.user.call("rooms.set_policy", room_id=room, heartbeat_interval_ms=1000)
    viewer = look()
    viewer.go(f"/rooms/{room}")
    with viewer.page.expect_response(lambda reply: reply.url.endswith("/act/turns.heartbeat")) as beat:
        viewer.find("#act-take button").click()
    assert beat.value.status == 200
    assert beat.value.json()["turn_id"] == 1


@pytest.mark.parametrize("view", ["/jobs", "/history", "overview"])
def test_other_views_keep_the_lease_too(hub: RunningHub, look: Look, room: str, view: str) -> None:
    hub.user.call("rooms.join", room_id=room)
    hub.user.call("rooms.set_policy", room_id=room, heartbeat_interval_ms=1000)
    viewer = look()
    viewer.go(f"/rooms/{room}")
    viewer.find("#act-take button").click()
    viewer.shows("#stick-line", "turn 1 · you")
    viewer.go("/" if view == "overview" else f"/rooms/{room}{view}")
    with viewer.page.expect_response(lambda reply: reply.url.endswith("/act/turns.heartbeat")) as beat:
        pass
    assert beat.value.status == 200


def test_who_leaves_the_sequence_is_no_longer_in_it(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    ada.claim()
    hub.user.call("rooms.join", room_id=room)
    viewer = look()
    viewer.go(f"/rooms/{room}")
    viewer.find("#act-leave button").click()
    expect(viewer.find("#sequence")).not_to_contain_text("you")
