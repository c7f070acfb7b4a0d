"""Two browsers and an agent at a command line: what one does the others see, with no reload and nothing lost."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.http.conftest import running
from tests.http.running import RunningHub
from tests.web.browsing import Viewer, call, join
from tests.web.conftest import Look

pytestmark = pytest.mark.browser

LOADS = "performance.getEntriesByType('navigation').length + '/' + performance.timeOrigin"


def test_what_one_does_the_others_see_without_a_reload(hub: RunningHub, look: Look, room: str) -> None:
    call(hub, "ada", "rooms.join", room_id=room)
    first, second = look(), look()
    first.go(f"/rooms/{room}/sessions")
    second.go(f"/rooms/{room}/sessions")
    loaded = [viewer.page.evaluate(LOADS) for viewer in (first, second)]
    first.find("#say [name=text]").fill("who is there?")
    first.find("#say button.p").click()
    second.shows("#rows", "who is there?")
    sent = call(hub, "ada", "messages.send", room_id=room, text="ada is", to=["@user"], priority="attention")
    for viewer in (first, second):
        viewer.shows("#rows", "ada is")
    second.find(f"#e{sent['event']['seq']}").get_by_role("button", name="Accepted").click()
    first.shows(f"#e{sent['event']['seq']}", "1 of 1 accepted")
    (awaited,) = [call(hub, "ada", "messages.inbox", room_id=room)["awaiting"]]
    assert awaited == []
    assert [viewer.page.evaluate(LOADS) for viewer in (first, second)] == loaded


def test_the_overview_follows_every_room(hub: RunningHub, look: Look, room: str) -> None:
    viewer = look()
    viewer.go("/")
    (ada,) = join(hub, room, "ada-of-the-overview")
    ada.claim()
    viewer.shows(f"#room-{room}", "ada-of-the-overview")
    new = hub.user.room("opened just now")
    viewer.shows(f"#room-{new}", "opened just now")


def test_news_leave_half_typed_text_focus_selection_and_scroll_alone(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    for number in range(40):
        ada.say(f"message {number}")
    viewer = look(viewport={"width": 1280, "height": 500})
    viewer.go(f"/rooms/{room}/sessions")
    box = viewer.find("#say [name=text]")
    box.fill("half a sente")
    box.evaluate("box => { box.focus(); box.setSelectionRange(2, 6); }")
    viewer.find("#say label:has([value='ada'])").click()
    box.evaluate("box => { box.focus({preventScroll: true}); box.setSelectionRange(2, 6); }")
    viewer.page.evaluate("scrollTo(0, 700)")
    # At its end the conversation follows what is said; who reads further up stays there.
    viewer.find("#rows").evaluate(
        "box => new Promise(done => { box.addEventListener('scroll', done, {once: true}); box.scrollTop = 700; })"
    )
    top = "document.getElementById('rows').getBoundingClientRect().top"
    in_sight = f"[...document.querySelectorAll('.ev')].find(row => row.getBoundingClientRect().top > {top} + 20).id"
    name = viewer.page.evaluate(in_sight)
    before = viewer.page.evaluate("id => document.getElementById(id).getBoundingClientRect().top", name)
    ada.say("news at the end")
    viewer.shows("#rows", "news at the end")
    viewer.shows("#more-below", "1 new below")
    after = viewer.page.evaluate("id => document.getElementById(id).getBoundingClientRect().top", name)
    state = box.evaluate("box => [box.value, document.activeElement === box, box.selectionStart, box.selectionEnd]")
    assert state == ["half a sente", True, 2, 6]
    assert viewer.find("#say [value='ada']").is_checked()
    # What is read keeps its place while rows arrive below it.
    assert abs(after - before) < 2


def test_who_reads_further_up_stays_there_while_the_oldest_rows_go(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    for number in range(130):
        ada.say(f"message {number}")
    viewer = look()
    viewer.go(f"/rooms/{room}/sessions")
    rows = viewer.find("#rows")
    rows.evaluate(
        "box => new Promise(done => { box.addEventListener('scroll', done, {once: true}); box.scrollTop = 1200; })"
    )
    seen = "[...document.querySelectorAll('#rows .ev')].map(row => [row.id, row.getBoundingClientRect().top])"
    before = viewer.page.evaluate(seen)
    ada.say("news at the end")
    viewer.shows("#more-below", "1 new below")
    after = dict(viewer.page.evaluate(seen))
    assert before[0][0] not in after
    assert [name for name, top in before[1:] if abs(after[name] - top) >= 2] == []


def test_an_open_panel_stays_open_while_the_room_goes_on(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    viewer = look()
    viewer.go(f"/rooms/{room}")
    viewer.find("#act-note > summary").click()
    viewer.find("#act-note textarea").fill("half a no")
    ada.claim()
    viewer.shows("#stick-line", "turn 1 · ada")
    expect(viewer.find("#act-note textarea")).to_have_value("half a no")
    expect(viewer.find("#act-note")).to_have_attribute("open", "")


def test_a_lost_connection_is_shown_and_repaired_without_a_gap(look: Look, hub: RunningHub) -> None:
    with running() as restarted:
        viewer = Viewer.at(restarted, look().context.browser)  # pyright: ignore[reportArgumentType]
        room = restarted.user.room("payments-api")
        (ada,) = join(restarted, room, "ada")
        viewer.go(f"/rooms/{room}/sessions")
        restarted.kill()
        expect(viewer.find("#live")).to_have_attribute("data-state", "lost")
        viewer.shows("#live", "connection lost")
        restarted.start()
        for number in range(5):
            ada.say(f"while you were away {number}")
        expect(viewer.find("#live")).to_have_attribute("data-state", "on")
        for number in range(5):
            viewer.shows("#rows", f"while you were away {number}")
        viewer.context.close()


def test_a_resumed_stream_names_the_last_event_it_saw(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    event = ada.say("seen")
    viewer = look()
    viewer.go(f"/rooms/{room}/sessions")
    with viewer.page.expect_request(lambda request: "/v1/events" in request.url) as asked:
        viewer.page.evaluate("Object.defineProperty(document, 'hidden', {value: true, configurable: true})")
        viewer.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        viewer.page.evaluate("Object.defineProperty(document, 'hidden', {value: false, configurable: true})")
        viewer.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    assert asked.value.headers["last-event-id"] == str(event["seq"])


def test_times_are_relative_and_exact_on_hover(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    ada.say("now")
    viewer = look(timezone_id="Europe/Zurich", locale="en-GB")
    viewer.go(f"/rooms/{room}")
    stamp = viewer.find("#facts time")
    expect(stamp).to_have_text(re.compile(r"^(now|\d+ (s|min) ago)$"))
    expect(stamp).to_have_attribute("title", re.compile(r"20\d\d.*CET|20\d\d.*GMT\+1|20\d\d.*CEST"))
