"""Every id opens, search covers every room, and the page is gone through by keyboard."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.http.running import RunningHub
from tests.web.browsing import join
from tests.web.conftest import Look

pytestmark = pytest.mark.browser


def test_ids_paths_and_names_in_a_text_are_links_to_pages_of_their_own(hub: RunningHub, look: Look, room: str) -> None:
    ada, _bob = join(hub, room, "ada", "bob")
    ada.call("jobs.create", title="Migrate retries", prompt="Move them.")
    ada.call("tasks.create", title="Seven")
    ada.call("cards.create", title="Prices", body="Two glaziers answered.")
    ada.call("reservations.reserve", path="src/retry.py")
    ada.say("JOB-1, TASK-001 and CARD-001 as @2 says: bob edits src/retry.py")
    viewer = look()
    for name, heading in (
        ("JOB-1", "JOB-001: Migrate retries"),
        ("TASK-001", "TASK-001: Seven"),
        ("CARD-001", "CARD-001: Prices"),
        ("@2", "Event 2"),
        ("bob", "bob"),
        ("src/retry.py", "Reservations: src/retry.py"),
    ):
        viewer.go(f"/rooms/{room}")
        viewer.find(f"#rows .bubble .said a:text-is('{name}')").click()
        expect(viewer.find("main h1")).to_have_text(heading)


def test_ids_in_what_waits_in_last_words_and_in_reasons_are_links_too(hub: RunningHub, look: Look, room: str) -> None:
    ada, bob = join(hub, room, "ada", "bob/2")
    ada.call("jobs.create", title="First", prompt="Do it.")
    ada.call("runners.heartbeat", runner_id="r1", status="idle")
    claim = ada.call("jobs.claim", runner_id="r1", job="JOB-001")["claim_revision"]
    held = {"job": "JOB-001", "runner_id": "r1", "claim_revision": claim}
    ada.call("jobs.report", **held, kind="question", message="as CARD-1 says?")
    ada.call("cards.create", title="Prices", body="Two glaziers answered.")
    ada.call("reservations.reserve", path="src/lens.py")
    assert bob.client.post("reservations.reserve", {"room_id": room, "path": "src/lens.py"}).status == 409
    bob.say("I wait for ada, see JOB-1")
    viewer = look()
    for view, within, name, heading in (
        ("", "#needs [data-tag=incursion] .why", "src/lens.py", "Reservations: src/lens.py"),
        ("", "#needs [data-tag=incursion] .why", "ada", "ada"),
        ("", "#needs [data-tag=question] .said", "CARD-1", "CARD-001: Prices"),
        ("", "#people .doing", "JOB-1", "JOB-001: First"),
        ("/jobs/JOB-001", "#question", "CARD-1", "CARD-001: Prices"),
        ("", "#people", "bob/2", "bob/2"),
    ):
        viewer.go(f"/rooms/{room}{view}")
        viewer.find(f"{within} a:has-text('{name}')").first.click()
        expect(viewer.find("main h1")).to_have_text(heading)
    viewer.go("/")
    viewer.find("#people .doing a:text-is('ada')").first.click()
    expect(viewer.find("main h1")).to_have_text("ada")


def test_a_page_of_one_thing_says_which_view_it_belongs_to(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    ada.call("jobs.create", title="First", prompt="Do it.")
    ada.call("cards.create", title="Prices", body="Two glaziers answered.")
    viewer = look()
    for view, tab in (
        ("event/2", "History"),
        ("replay", "History"),
        ("jobs/JOB-001", "Jobs"),
        ("cards/CARD-001", "Jobs"),
        ("agents/ada", "Conversation"),
    ):
        viewer.go(f"/rooms/{room}/{view}", live=not view.startswith(("event", "replay")))
        expect(viewer.find("#tabs [aria-current]")).to_have_text(tab)


def test_agents_runners_and_files_have_pages(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    ada.call("runners.heartbeat", runner_id="r1", status="idle", meta={"folder": "/srv/<b>"})
    ada.call("jobs.create", title="Migrate retries", prompt="Move them.")
    ada.call("jobs.claim", runner_id="r1", job="JOB-001")
    sha = ada.call("blobs.put", content_base64="aGVsbG8=", name="note.txt", mime_type="text/plain")["sha256"]
    viewer = look()
    viewer.go(f"/rooms/{room}/jobs")
    viewer.find("#runners a:has-text('r1')").click()
    viewer.shows("#jobs", "JOB-001 Migrate retries")
    viewer.shows("#facts", "/srv/<b>")
    viewer.go(f"/rooms/{room}/blobs/{sha}", live=False)
    viewer.shows("#blob", "note.txt")
    viewer.go(f"/rooms/{room}/agents/ada")
    viewer.shows("#agent", "ada")
    for nowhere in ("agents/nobody", "runners/none", "tasks/TASK-999", "cards/CARD-999", "blobs/xyz", "actions/none"):
        viewer.page.goto(f"{viewer.page.url.partition('/rooms')[0]}/rooms/{room}/{nowhere}")
        expect(viewer.find("#refused")).to_be_visible()


def test_search_covers_everything_in_every_room(hub: RunningHub, look: Look) -> None:
    first, second = hub.user.room("kelp farm"), hub.user.room("other waters")
    (ada,) = join(hub, first, "ada")
    (bob,) = join(hub, second, "bob-of-kelp")
    ada.call("jobs.create", title="Harvest the zostera", prompt="Before noon.")
    bob.call("tasks.create", title="Dry the zostera")
    bob.call("cards.create", title="Zostera marina", body="an eelgrass")
    bob.say("zostera it is")
    viewer = look()
    viewer.go("/")
    viewer.page.keyboard.press("/")
    expect(viewer.find("#find")).to_be_focused()
    viewer.page.keyboard.type("zostera")
    viewer.page.keyboard.press("Enter")
    expect(viewer.find(".found")).to_have_count(2)
    for text in ("Harvest the", "Dry the", "marina", "it is"):
        viewer.shows("main", text)
    viewer.find(".found:has-text('other waters') .ev:has-text('TASK-001') a:text-is('open')").click()
    viewer.page.wait_for_url(re.compile("TASK-001"))
    viewer.go("/search?q=JOB-001", live=False)
    viewer.shows("main", "Harvest the zostera")
    viewer.go("/search?q=bob-of-kelp", live=False)
    viewer.shows("main", "bob-of-kelp")
    viewer.go("/search?q=nosuchwordanywhere", live=False)
    viewer.shows("#nothing", "Nothing in any room")


def test_agents_by_any_name_runners_short_ids_and_events_are_found_too(hub: RunningHub, look: Look) -> None:
    room = hub.user.room("the mill")
    (ada,) = join(hub, room, "claude-code:0f0f0f0f")
    ada.call("agents.register", name="dusty-miller", force_update=True)
    ada.call("jobs.create", title="Grind the spelt", prompt="Before noon.")
    ada.call("runners.heartbeat", runner_id="millstone-1", status="idle")
    viewer = look()
    for typed, name, address in (
        ("dusty", "dusty-miller claude-code:0f0f0f0f", "/agents/claude-code%3A0f0f0f0f"),
        ("0f0f0f", "dusty-miller claude-code:0f0f0f0f", "/agents/claude-code%3A0f0f0f0f"),
        ("millstone", "millstone-1", "/runners/millstone-1"),
        ("@2", "event 2", "/event/2"),
    ):
        viewer.go(f"/search?q={typed}&from={room}", live=False)
        viewer.find(f".found:has-text('the mill') a:text-is('{name}')").click()
        viewer.page.wait_for_url(f"**{address}")
    viewer.go(f"/search?q=job-1&from={room}", live=False)
    viewer.shows(".found:has-text('the mill')", "Grind the")


def test_a_hit_opens_the_task_it_is_about(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    ada.call("cards.create", title="Quercus robur", body="an oak")
    viewer = look()
    viewer.go("/search?q=quercus", live=False)
    viewer.find(".ev:has-text('robur') a:text-is('open')").click()
    expect(viewer.find("main h1")).to_have_text("CARD-001: Quercus robur")


def test_the_palette_goes_to_rooms_views_agents_and_ids(hub: RunningHub, look: Look) -> None:
    room, other = hub.user.room("from here"), hub.user.room("a room far away")
    (ada,) = join(hub, room, "ada-of-the-palette")
    ada.say("hello")
    viewer = look()
    for typed, address in (
        ("far away", f"/rooms/{other}"),
        ("reserv", f"/rooms/{room}/reservations"),
        ("ada-of-the-pal", f"/rooms/{room}/agents/ada-of-the-palette"),
        ("@2", f"/rooms/{room}/event/2"),
        ("hello", "/search?q=hello"),
    ):
        viewer.go(f"/rooms/{room}")
        viewer.page.keyboard.press("Control+k")
        expect(viewer.find("#palette-text")).to_be_focused()
        expect(viewer.find("#palette-list li").nth(3)).to_be_visible()
        viewer.page.keyboard.type(typed)
        viewer.page.keyboard.press("Enter")
        viewer.page.wait_for_url(f"**{address}")


def test_the_palette_gives_the_focus_back(hub: RunningHub, look: Look, room: str) -> None:
    viewer = look()
    viewer.go(f"/rooms/{room}")
    viewer.find("#open-palette").focus()
    viewer.page.keyboard.press("Enter")
    expect(viewer.find("#palette-text")).to_be_focused()
    viewer.page.keyboard.press("Escape")
    expect(viewer.find("#open-palette")).to_be_focused()


def test_a_question_mark_shows_the_keys_but_not_while_one_writes(hub: RunningHub, look: Look, room: str) -> None:
    viewer = look()
    viewer.go(f"/rooms/{room}")
    viewer.page.keyboard.press("c")
    expect(viewer.find("#say-text")).to_be_focused()
    viewer.page.keyboard.type("what? j/k")
    expect(viewer.find("#say-text")).to_have_value("what? j/k")
    viewer.find("h1").first.click()
    viewer.page.keyboard.press("?")
    expect(viewer.find("#keys")).to_be_visible()
    viewer.page.keyboard.press("Escape")
    expect(viewer.find("#keys")).not_to_be_visible()
