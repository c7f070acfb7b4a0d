"""Overview, history, replay and reservations: what each says, and that it goes on saying it in large rooms."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.http.running import RunningHub
from tests.web.browsing import HANDOFF, call, grow, join
from tests.web.conftest import Look

pytestmark = pytest.mark.browser


def test_one_glance_says_what_waits_for_a_person(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    event = ada.say("which currency first?", to=["@user"], priority="attention")
    viewer = look()
    viewer.go("/")
    need = viewer.find(f"#needs li:has(a[href='/rooms/{room}'])")
    expect(need).to_contain_text("which currency first?")
    need.locator(".open").click()
    viewer.find(f"#e{event['seq']}").get_by_role("button", name="Accepted").click()
    viewer.go("/")
    expect(need).to_have_count(0)


def test_a_room_shows_holder_lease_and_who_is_next(hub: RunningHub, look: Look, room: str) -> None:
    ada, _bob = join(hub, room, "ada", "bob")
    ada.claim()
    viewer = look()
    viewer.go("/")
    cells = viewer.find(f"#room-{room} td")
    expect(cells.nth(1)).to_contain_text("ada")
    expect(cells.nth(1)).to_contain_text("min left")
    expect(cells.nth(2).locator("b")).to_have_text("bob")


def test_an_empty_hub_says_what_to_do_next_with_a_command_to_copy(look: Look, room: str, hub: RunningHub) -> None:
    viewer = look(own=True)
    viewer.context.grant_permissions(["clipboard-read", "clipboard-write"])
    viewer.go(f"/rooms/{room}")
    viewer.find("#stick button:has-text('Copy')").click()
    expect(viewer.find("#stick button")).to_have_text("Copied")
    assert viewer.page.evaluate("navigator.clipboard.readText()") == "tally wait"


EMPTY = {
    "": "tally wait",
    "/sessions?agent=nobody": "tally send @all",
    "/reservations": "tally reserve",
    "/jobs": "tally job",
}


@pytest.mark.parametrize("view", EMPTY)
def test_every_empty_view_says_what_to_do_next(hub: RunningHub, look: Look, room: str, view: str) -> None:
    viewer = look()
    viewer.go(f"/rooms/{room}{view}")
    hint = viewer.find(f".empty:has-text('{EMPTY[view]}')")
    expect(hint.get_by_role("button", name="Copy")).to_be_visible()


def test_history_is_filtered_by_kind_agent_task_and_time(hub: RunningHub, look: Look, room: str) -> None:
    ada, bob = join(hub, room, "ada", "bob")
    task = ada.call("tasks.create", title="seven")["task_id"]
    ada.say("about the task", refs=[{"kind": "task_ref", "task_id": task}])
    bob.call("notes.add", body="a note of bob")
    viewer = look()
    viewer.go(f"/rooms/{room}/history?kind=x.tally.note.add")
    expect(viewer.find(".events tbody tr")).to_have_count(1)
    viewer.go(f"/rooms/{room}/history?by=bob")
    expect(viewer.find(".events tbody tr")).to_have_count(2)
    viewer.go(f"/rooms/{room}/history?task={task}&kind=chat.message")
    viewer.shows(".events tbody", "about the task")
    expect(viewer.find(".events tbody tr")).to_have_count(1)
    viewer.go(f"/rooms/{room}/history?until=2020-01-01T00:00Z")
    viewer.shows("#events", "No event fits")
    viewer.go(f"/rooms/{room}/history?since=2020-01-01T00:00Z")
    expect(viewer.find(".events tbody tr")).to_have_count(6)


def test_a_search_marks_its_hits(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    ada.say("The parser drops <the> last line.")
    viewer = look()
    viewer.go(f"/rooms/{room}/history")
    viewer.find("#filters [name=q]").fill("pars")
    viewer.page.keyboard.press("Enter")
    expect(viewer.find("#events mark")).to_have_text("parser")
    viewer.shows("#events", "The parser drops <the> last line.")


def test_an_event_is_shown_with_its_whole_envelope(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    event = ada.say("word for word")
    viewer = look()
    viewer.go(f"/rooms/{room}/event/{event['seq']}", live=False)
    shown = viewer.page.evaluate("JSON.parse(document.querySelector('#raw pre').textContent)")
    assert shown == event


def test_the_chain_says_that_it_is_whole(hub: RunningHub, look: Look, room: str) -> None:
    join(hub, room, "ada")
    viewer = look()
    viewer.go(f"/rooms/{room}/history")
    viewer.shows("#chain", "Verified: 2 events")


def test_the_slider_shows_the_room_as_it_was(hub: RunningHub, look: Look, room: str) -> None:
    ada, bob = join(hub, room, "ada", "bob")
    ada.call("turns.release", **ada.claim(), handoff=HANDOFF)
    bob.claim()
    viewer = look()
    viewer.go(f"/rooms/{room}/replay", live=False)
    viewer.shows("#then", "bob held it, turn 2")
    slider = viewer.find("input[type=range]")
    slider.focus()
    viewer.page.keyboard.press("ArrowLeft")
    viewer.page.wait_for_url("**/replay?seq=5")
    viewer.shows("#then", "kept for bob after turn 1")
    viewer.shows("#then", "wrote the plan")
    viewer.go(f"/rooms/{room}/replay?seq=2", live=False)
    viewer.shows("#then", "free")
    expect(viewer.find("#sequence li")).to_have_count(1)


def test_the_page_says_which_job_is_stuck_and_what_its_proof_is_worth(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    ada.call("runners.heartbeat", runner_id="r1", status="idle")
    ada.call("jobs.create", title="First", prompt="Do it.")
    ada.call("jobs.create", title="Second", prompt="Then this.", after=["JOB-001"])
    ada.call("jobs.claim", runner_id="r1", job="JOB-001")
    held = {"job": "JOB-001", "runner_id": "r1", "claim_revision": 1}
    ada.call("jobs.complete", **held, status="FAILED", refs=["CMD: pytest -q (exit 0)"], observed=[])
    viewer = look()
    viewer.go(f"/rooms/{room}/jobs")
    expect(viewer.find("p.issue").first).to_contain_text("JOB-002")
    viewer.go(f"/rooms/{room}/jobs/JOB-001")
    viewer.shows("#proof", "cmd · claimed · nobody saw it · exit 0")


def test_the_page_says_why_a_job_does_not_move_what_it_asks_and_how_far_a_message_came(
    hub: RunningHub, look: Look, room: str
) -> None:
    (ada,) = join(hub, room, "ada")
    ada.call("runners.heartbeat", runner_id="r1", status="idle", max_parallel=2)
    ada.call("jobs.create", title="Asks", prompt="Do it.")
    ada.call("jobs.create", title="For nobody", prompt="Do it.", executor="gemini")
    ada.call("jobs.claim", runner_id="r1", job="JOB-001")
    ada.call("jobs.message", job="JOB-001", message="Keep the API.")
    held = {"job": "JOB-001", "runner_id": "r1", "claim_revision": 1}
    ada.call("jobs.report", **held, kind="question", message="Which port?")
    why = "no suited runner: r1: the job needs gemini, and it has codex"
    viewer = look()
    viewer.go(f"/rooms/{room}/jobs")
    viewer.shows("#JOB-002", why)
    viewer.shows("#JOB-001", "your message is sent")
    viewer.go(f"/rooms/{room}/jobs/JOB-002")
    viewer.shows("#why", why)
    viewer.go(f"/rooms/{room}/jobs/JOB-001")
    viewer.shows("#question", "Asks: Which port?")
    viewer.shows("#told", "is sent.")


def test_the_slider_shows_what_was_reserved_and_which_jobs_there_were(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    ada.call("reservations.reserve", path="src/a.py")
    reserved = ada.call("rooms.show")["head"]
    ada.call("jobs.create", title="Migrate retries", prompt="Move them.")
    ada.call("reservations.release", path="src/a.py")
    ada.call("jobs.cancel", job="JOB-001", reason="no need")
    viewer = look()
    viewer.go(f"/rooms/{room}/replay", live=False)
    viewer.shows("#held", "nothing")
    viewer.shows("#work", "JOB-001 Migrate retries")
    viewer.shows("#work", "canceled")
    slider = viewer.find("input[type=range]")
    slider.focus()
    for _ in range(2):
        viewer.page.keyboard.press("ArrowLeft")
    viewer.shows("#held", "src/a.py")
    viewer.shows("#work", "queued")
    viewer.page.keyboard.press("ArrowLeft")
    viewer.page.wait_for_url(f"**/replay?seq={reserved}")
    viewer.shows("#work", "none yet")
    viewer.shows("#held", "ada exclusive")
    expect(slider).to_be_focused()


def test_reservations_are_a_tree_with_conflicts_and_incursions(hub: RunningHub, look: Look, room: str) -> None:
    ada, bob = join(hub, room, "ada", "bob")
    ada.call("reservations.reserve", path="src/api/webhooks.py", task_id="TASK-7")
    viewer = look()
    viewer.go(f"/rooms/{room}/reservations")
    viewer.shows("#tree", "src/api/webhooks.py")
    viewer.shows("#tree", "exclusive · 1 h left · TASK-7")
    assert bob.client.post("reservations.reserve", {"room_id": room, "path": "src/api"}).status == 409
    viewer.shows("#incursions", "bob tried src/api, reserved by ada (active, partial)")
    bob.call("reservations.reserve", path="src/api", mode="shared")
    viewer.shows("#tree", "2 in conflict")
    viewer.go(f"/rooms/{room}/sessions?show=incursions")
    expect(viewer.find("#rows .tag").first).to_have_text("Incursion")


def test_a_person_reserves_and_gives_back(hub: RunningHub, look: Look, room: str) -> None:
    viewer = look()
    viewer.go(f"/rooms/{room}/reservations")
    viewer.find("#reserve [name=path]").fill("docs/*")
    viewer.find("#reserve button").click()
    viewer.shows("#tree", "docs you")
    viewer.find("#tree button:has-text('Give back')").click()
    viewer.shows("#tree", "Nothing is reserved")
    viewer.shows("#ended", "docs")


def test_a_refused_reservation_says_whose_it_is(hub: RunningHub, look: Look, room: str) -> None:
    call(hub, "ada", "rooms.join", room_id=room)
    call(hub, "ada", "reservations.reserve", room_id=room, path="src")
    viewer = look()
    viewer.go(f"/rooms/{room}/reservations")
    viewer.find("#reserve [name=path]").fill("src/a.py")
    viewer.find("#reserve button").click()
    viewer.shows("#reserve", "ada")
    # In words, in the reader's own time, and without the names of operations and refusals.
    said = viewer.find("#reserve .refusal").inner_text()
    assert re.search(r"ada has reserved src, which overlaps it until (\w+ \w+, )?\d\d:\d\d", said), said
    assert not re.search(r"_|`|\d{4}-\d\d-\d\d|reservations\.", said), said


def test_a_room_of_ten_thousand_events_is_shown_a_page_at_a_time(hub: RunningHub, look: Look, room: str) -> None:
    ada, bob = join(hub, room, "ada", "bob")
    old = bob.say("long ago")["seq"]
    grow(hub, room, 10_000)
    viewer = look()
    elements = "document.getElementsByTagName('*').length"
    viewer.go(f"/rooms/{room}/sessions")
    assert viewer.find("#rows .ev").count() == 80
    before = viewer.page.evaluate(elements)
    for number in range(30):
        ada.say(f"news {number}")
    viewer.shows("#rows", "news 29")
    expect(viewer.find("#rows .ev")).to_have_count(80)
    assert before <= viewer.page.evaluate(elements) + 100 < 4_000
    for view in ("", "/history", "/replay", "/reservations", "/jobs"):
        viewer.go(f"/rooms/{room}{view}", live="replay" not in view)
        assert viewer.page.evaluate(elements) < 4_000, view
    viewer.go(f"/rooms/{room}/history")
    assert viewer.find(".events tbody tr").count() == 100
    newest = viewer.page.evaluate("Number(document.querySelector('.events tbody tr').id.slice(1))")
    viewer.find("#older").click()
    expect(viewer.find(".events tbody tr").first).to_have_attribute("id", f"e{newest - 100}")
    viewer.go(f"/rooms/{room}/history?by=bob")
    expect(viewer.find(".events tbody tr").first).to_have_attribute("id", f"e{old}")


def test_reservations_around_a_path_are_those_that_overlap_it(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    ada.call("reservations.reserve", path="src/api/*")
    ada.call("reservations.reserve", path="docs/api.md")
    viewer = look()
    for path, held in (("src/api/webhooks.py", 1), ("src", 1), ("docs/api.md.old", 0), ("../docs", 0), ("", 2)):
        viewer.go(f"/rooms/{room}/reservations?path={path}")
        viewer.shows("#tree", f"{held} held")
