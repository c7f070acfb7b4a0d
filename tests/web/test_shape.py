"""At any width and in any colours: nothing is lost, the page is told in the reader's own time, and one can sign out."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.http.running import RunningHub
from tests.web.browsing import HANDOFF, hub_url, join
from tests.web.conftest import Look
from tests.web.test_access import lively

pytestmark = pytest.mark.browser

WIDTHS = (390, 768, 1024, 1440, 1920)
VIEWS = ("", "/sessions", "/stick", "/reservations", "/jobs", "/jobs/JOB-001", "/history", "/agents/ada")


def test_no_width_loses_anything(hub: RunningHub, look: Look, room: str) -> None:
    lively(hub, room)
    for width in WIDTHS:
        viewer = look(viewport={"width": width, "height": 900})
        for view in ("/", *(f"/rooms/{room}{view}" for view in VIEWS), "/search?q=plan"):
            viewer.go(view, live="search" not in view)
            assert viewer.page.evaluate("document.documentElement.scrollWidth") <= width, (width, view)
        viewer.go(f"/rooms/{room}/stick")
        for name in ("ada", "bob"):
            expect(viewer.find(f".lanes .names li:has-text('{name}')")).to_be_in_viewport()
        viewer.go(f"/rooms/{room}/history")
        assert viewer.find(".events .what").first.evaluate("cell => cell.getBoundingClientRect().right") <= width
        viewer.context.close()


def test_a_wide_screen_is_used(hub: RunningHub, look: Look, room: str) -> None:
    lively(hub, room)
    viewer = look(viewport={"width": 1920, "height": 900})
    used = "[...document.querySelectorAll('main > *')].map(each => each.getBoundingClientRect().right)"
    for view in ("/", *(f"/rooms/{room}{view}" for view in VIEWS), "/search?q=plan"):
        viewer.go(view, live="search" not in view)
        assert max(viewer.page.evaluate(used)) > 1880, view


def test_on_a_phone_one_sees_what_waits_and_the_composer(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    ada.say("which currency first?", to=["@user"], priority="attention")
    viewer = look(viewport={"width": 390, "height": 844})
    viewer.go(f"/rooms/{room}")
    expect(viewer.find("#needs .said")).to_be_in_viewport(ratio=1)
    expect(viewer.find("#say-text")).to_be_in_viewport(ratio=1)


def test_the_picture_keeps_its_window_and_zooms(hub: RunningHub, look: Look, room: str) -> None:
    (ada, _bob) = join(hub, room, "ada", "bob")
    ada.call("turns.release", **ada.claim(), handoff=HANDOFF)
    viewer = look()
    viewer.go(f"/rooms/{room}/stick?window=1h")
    where = "bar => bar.getAttribute('x')"
    before = viewer.find(".lanes .bar").first.evaluate(where)
    ada.say("time goes by")
    viewer.go(f"/rooms/{room}/stick?window=1h")
    assert viewer.find(".lanes .bar").first.evaluate(where) == before
    viewer.page.get_by_role("link", name="10 min").click()
    expect(viewer.find(".zoom [aria-current]")).to_have_text("10 min")
    # Marks half a minute apart are told apart.
    viewer.page.get_by_role("link", name="2 min").click()
    expect(viewer.find(".zoom [aria-current]")).to_have_text("2 min")
    ticks = viewer.find(".lanes .tick").all_text_contents()
    assert (len(ticks) > 1, len(set(ticks))) == (True, len(ticks))


def test_a_theme_is_chosen_and_kept(hub: RunningHub, look: Look, room: str) -> None:
    viewer = look(own=True)
    viewer.page.emulate_media(color_scheme="light")
    viewer.go(f"/rooms/{room}")
    paper = "getComputedStyle(document.body).backgroundColor"
    light = viewer.page.evaluate(paper)
    viewer.find("#menu > summary").click()
    viewer.find("#theme label:has([value=dark])").click()
    dark = viewer.page.evaluate(paper)
    viewer.page.reload()
    assert (viewer.page.evaluate(paper), dark != light) == (dark, True)


def test_signing_out_ends_the_session(hub: RunningHub, look: Look, room: str) -> None:
    viewer = look(own=True)
    viewer.go(f"/rooms/{room}")
    (cookie,) = viewer.context.cookies()
    name, value = cookie.get("name", ""), cookie.get("value", "")
    viewer.find("#menu > summary").click()
    viewer.page.get_by_role("button", name="Sign out").click()
    expect(viewer.find("#refused")).to_contain_text("tally status")
    assert viewer.context.cookies() == []
    # Who kept a copy of the cookie has nothing of it.
    viewer.context.add_cookies([{"name": name, "value": value, "url": hub_url(hub)}])
    viewer.page.goto(f"{hub_url(hub)}/rooms/{room}")
    expect(viewer.find("#refused")).to_contain_text("tally status")


def test_history_is_filtered_by_days_and_times_of_the_readers_own(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    ada.say("now")
    viewer = look(timezone_id="Asia/Tokyo")
    viewer.go(f"/rooms/{room}/history")
    viewer.find("[data-utc=since]").fill("2020-01-31T09:00")
    viewer.find("#filters button.p").click()
    viewer.page.wait_for_url("**since=2020-01-31T00%3A00%3A00.000Z**")
    expect(viewer.find("[data-utc=since]")).to_have_value("2020-01-31T09:00")
    viewer.shows("#events", "now")


def test_a_refusal_stands_at_the_field_it_is_about(hub: RunningHub, look: Look, room: str) -> None:
    viewer = look()
    viewer.go(f"/rooms/{room}/reservations")
    viewer.find("#reserve [name=path]").fill("../elsewhere")
    viewer.find("#reserve button").click()
    expect(viewer.find("#reserve [name=path]")).to_have_attribute("aria-invalid", "true")
    expect(viewer.find("#reserve label:has([name=path]) .refusal")).to_be_visible()


def test_one_note_at_a_time(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    for text in ("one", "two"):
        ada.say(text, to=["@user"], priority="attention")
    viewer = look()
    viewer.go(f"/rooms/{room}")
    for left in (1, 0):
        viewer.find("#needs [data-tag=message]").first.get_by_role("button", name="Dismiss").click()
        expect(viewer.find("#needs [data-tag=message]")).to_have_count(left)
        expect(viewer.find("#toasts .toast")).to_have_count(1)
