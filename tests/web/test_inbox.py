"""Needs a human: everything that waits is settled where it stands, by mouse and by keyboard, until nothing does."""

from __future__ import annotations

import re
from typing import Any, cast

import pytest
from playwright.sync_api import Browser, Locator, expect

from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.kernel.caller import Caller, SessionKind
from tests.http.conftest import running
from tests.http.running import RunningHub
from tests.waiting import until
from tests.web.browsing import HANDOFF, Agent, Viewer, call, join
from tests.web.conftest import Look

pytestmark = pytest.mark.browser


def claimed(ada: Agent, title: str) -> dict[str, Any]:
    """A job of its own in the hands of a runner."""
    ada.call("runners.heartbeat", runner_id="r1", status="idle", max_parallel=9)
    job = ada.call("jobs.create", title=title, prompt="Do it.")["job"]["job_id"]
    claim = ada.call("jobs.claim", runner_id="r1", job=job)["claim_revision"]
    return {"job": job, "runner_id": "r1", "claim_revision": claim}


def busy(hub: RunningHub, room: str) -> tuple[Agent, Agent]:
    """A room where one thing of every kind waits that two agents can bring about."""
    ada, bob = join(hub, room, "ada", "bob")
    ada.say("which currency first?", to=["@user"], priority="attention")
    ada.call("notifications.send", kind="info", title="CI is red", target_actor_id="user", requires_ack=True)
    ada.call("jobs.report", **claimed(ada, "Webhooks"), kind="question", message="keep v1 or drop it?")
    ada.call("jobs.report", **claimed(ada, "Retries"), kind="proof_gate", message="no test was run")
    ada.call("jobs.complete", **claimed(ada, "Load test"), status="FAILED", summary="the machine is too small")
    ada.call("reservations.reserve", path="docs")
    assert bob.client.post("reservations.reserve", {"room_id": room, "path": "docs/a.md"}).status == 409
    bob.say("just so you know", to=["@user"])
    return ada, bob


def kinds(viewer: Viewer) -> list[str]:
    return viewer.find("#needs [data-need]").evaluate_all("each => each.map(item => item.dataset.tag)")


def item(viewer: Viewer, kind: str) -> Locator:
    return viewer.find(f"#needs [data-tag={kind}]")


def test_each_thing_is_settled_where_it_stands_until_nothing_waits(hub: RunningHub, look: Look, room: str) -> None:
    ada, _bob = busy(hub, room)
    viewer = look()
    viewer.go(f"/rooms/{room}")
    assert kinds(viewer) == ["question", "message", "notice", "proof", "failed", "incursion", "unread"]
    expect(viewer.page).to_have_title(re.compile(r"^\(7\) payments-api"))
    for kind, said in (("question", "drop it"), ("message", "euros")):
        item(viewer, kind).locator("summary:has-text('Answer')").click()
        expect(item(viewer, kind).locator("textarea")).to_be_focused()
        viewer.page.keyboard.type(said)
        viewer.page.keyboard.press("Control+Enter")
        expect(item(viewer, kind)).to_have_count(0)
    item(viewer, "notice").get_by_role("button", name="Accept").click()
    item(viewer, "proof").locator("summary:has-text('Waive')").click()
    expect(item(viewer, "proof").locator("[name=reason]")).to_be_focused()
    viewer.page.keyboard.type("a document, nothing to run")
    item(viewer, "proof").get_by_role("button", name="Waive the proof").click()
    item(viewer, "failed").get_by_role("button", name="Acknowledge").click()
    item(viewer, "incursion").get_by_role("button", name="Dismiss").click()
    item(viewer, "unread").get_by_role("button", name="Mark read").click()
    expect(viewer.find("#needs")).to_have_count(0)
    expect(viewer.page).to_have_title(re.compile(r"^payments-api"))
    (letter,) = ada.call("messages.inbox")["messages"]
    assert letter["event"]["data"]["text"] == "euros"
    assert [event["message"] for event in ada.call("jobs.tail", job="JOB-001")["events"]][-1] == "drop it"
    assert ada.call("jobs.open", job="JOB-002")["waiver"]["message"] == "a document, nothing to run"
    assert call(hub, "ada", "attention.list", room_id=room)["items"] == []


def test_the_stick_kept_for_the_person_is_on_top_and_taken_where_it_stands(
    hub: RunningHub, look: Look, room: str
) -> None:
    ada, bob = join(hub, room, "ada", "bob")
    bob.say("which currency first?", to=["@user"], priority="attention")
    at_terminal = Caller(agent_id="human:kim:tty1", session=SessionKind.HUMAN_GUARDIAN)
    inside = Hub.open(Settings(data_dir=hub.data_dir))
    inside.call("rooms.join", {"room_id": room}, at_terminal)
    inside.close()
    ada.call("turns.pass", **ada.claim(), to_agent_id=at_terminal.agent_id, handoff=HANDOFF)
    first, second = look(), look()
    first.go("/")
    mine = first.find(f"#needs [data-need]:has(a[href='/rooms/{room}'])")
    expect(mine).to_have_count(2)
    expect(mine.first).to_contain_text("you at tty1 have the stick next; 2 agents wait")
    second.go(f"/rooms/{room}")
    assert kinds(second) == ["stick", "message"]
    second.page.keyboard.press("j")
    second.page.keyboard.press("a")
    expect(item(second, "stick")).to_have_count(0)
    expect(mine).to_have_count(1)
    second.shows("#stick-line", "turn 2 · you")
    second.shows("#handoff", "wrote the plan")
    assert call(hub, "ada", "turns.state", room_id=room)["owner"] == "user"


def test_permissions_errors_lost_runners_and_overdue_acks_are_settled_where_they_stand(
    hub: RunningHub, look: Look, room: str
) -> None:
    ada, bob = join(hub, room, "ada", "bob")
    hub.user.call("rooms.join", room_id=room)
    hub.user.call("rooms.set_policy", room_id=room, ack_overdue_ms=1000)
    asked = [ada.call("permissions.ask", tool="Bash", title=title, command="make")["permission"] for title in "ab"]
    ada.call("jobs.report", **claimed(ada, "Errs"), kind="error", message="no disk left")
    ada.call("runners.heartbeat", runner_id="r2", status="idle")
    lost = ada.call("jobs.create", title="Lost", prompt="Do it.")["job"]["job_id"]
    ada.call("jobs.claim", runner_id="r2", job=lost, lease_ttl_ms=1000)
    hub.user.call("messages.send", room_id=room, text="read this", to=["bob"], priority="attention")

    def waits() -> list[str]:
        return [each["kind"] for each in ada.call("attention.list")["items"]]

    until(lambda: {"overdue", "lost"} <= {*waits()})
    assert waits() == ["permission", "permission", "error", "lost", "overdue"]
    viewer = look()
    viewer.go(f"/rooms/{room}")
    keys = viewer.page.keyboard
    keys.press("j")
    for kind, left, press, said in (
        ("permission", 1, "a", ""),
        ("permission", 0, "r", "use the staging database"),
        ("error", 0, "r", "take the other disk"),
        ("lost", 0, "r", "its machine is gone"),
    ):
        expect(viewer.find(f"#needs [data-tag={kind}]:focus")).to_have_count(1)
        keys.press(press)
        if said:
            expect(item(viewer, kind).first.locator("textarea:focus")).to_have_count(1)
            keys.type(said)
            keys.press("Control+Enter")
        expect(item(viewer, kind)).to_have_count(left)
    # What is asked again is overdue again a second later, as another item.
    overdue = viewer.find(f"#{item(viewer, 'overdue').get_attribute('id')}")
    expect(overdue).to_be_focused()
    keys.press("r")
    expect(overdue.locator("textarea")).to_have_value("Please accept my message.")
    expect(overdue.locator("textarea")).to_be_focused()
    keys.press("Control+Enter")
    expect(overdue).to_have_count(0)
    answers = ada.call("events.list", kinds=["x.tally.permission.answer"])["events"]
    decided = [(each["data"]["permission"], each["data"]["decision"], each["data"].get("message")) for each in answers]
    assert decided == [(asked[0], "allow", None), (asked[1], "deny", "use the staging database")]
    assert [event["message"] for event in ada.call("jobs.tail", job="JOB-001")["events"]][-1] == "take the other disk"
    assert ada.call("jobs.open", job=lost)["job"]["status"] == "CANCELED"
    texts = [each["event"]["data"]["text"] for each in bob.call("messages.inbox")["messages"]]
    assert texts == ["read this", "Please accept my message."]


def test_a_list_that_reaches_zero_says_so(look: Look) -> None:
    with running() as quiet:
        viewer = Viewer.at(quiet, cast("Browser", look().context.browser))
        room = quiet.user.room("payments-api")
        (ada,) = join(quiet, room, "ada")
        ada.say("which currency first?", to=["@user"], priority="attention")
        viewer.go("/")
        expect(viewer.page).to_have_title("(1) Tallystick")
        viewer.page.keyboard.press("j")
        viewer.page.keyboard.press("a")
        viewer.shows("#calm", "All clear. Nobody is stuck and nothing waits for you.")
        expect(viewer.page).to_have_title("Tallystick")
        expect(viewer.find("#waiting")).to_be_hidden()
        viewer.context.close()


def test_who_writes_goes_on_writing_when_an_item_above_is_settled(hub: RunningHub, look: Look, room: str) -> None:
    busy(hub, room)
    first, second = look(), look()
    for viewer in (first, second):
        viewer.go(f"/rooms/{room}")
    item(first, "proof").locator("summary:has-text('Waive')").click()
    reason = item(first, "proof").locator("[name=reason]")
    expect(reason).to_be_focused()
    first.page.keyboard.type("a document, ")
    item(second, "notice").get_by_role("button", name="Accept").click()
    expect(item(first, "notice")).to_have_count(0)
    expect(reason).to_be_focused()
    first.page.keyboard.type("nothing to run")
    expect(reason).to_have_value("a document, nothing to run")


def test_what_is_dismissed_or_put_aside_can_be_taken_back(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    ada.say("which currency first?", to=["@user"], priority="attention")
    first, second = look(), look()
    for viewer in (first, second):
        viewer.go(f"/rooms/{room}")
    item(first, "message").get_by_role("button", name="Dismiss").click()
    expect(second.find("#needs")).to_have_count(0)
    first.find("#undo").click()
    expect(item(second, "message")).to_have_count(1)
    item(second, "message").locator("summary:has-text('Later')").click()
    item(second, "message").get_by_role("button", name="4 hours").click()
    expect(first.find("#needs")).to_have_count(0)
    second.find("#undo").click()
    expect(item(first, "message")).to_have_count(1)


def test_over_all_rooms_the_most_urgent_comes_first(hub: RunningHub, look: Look) -> None:
    calm, pressing = hub.user.room("the calm one"), hub.user.room("the pressing one")
    (bob,) = join(hub, pressing, "bob")
    bob.say("may I?", to=["@user"], priority="attention")
    # Of rooms in which equally much waits, the one that moved last comes first.
    (ada,) = join(hub, calm, "ada")
    ada.say("just so you know", to=["@user"])
    viewer = look()
    viewer.go("/")
    mine = viewer.find("#needs [data-need]").filter(has_text=re.compile("the calm one|the pressing one"))
    told = [" ".join(text.split()) for text in mine.all_inner_texts()]
    assert ["the pressing one" in told[0], "the calm one" in told[1]] == [True, True]
    viewer.shows(f"#room-{calm}", "1 unread")


def test_a_refused_take_leaves_nothing_behind(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    ada.claim()
    viewer = look()
    viewer.go(f"/rooms/{room}")
    viewer.find("#act-take button").click()
    viewer.shows("#act-take output", "ada holds it.")
    viewer.shows("#act-take output", "You are not in the turn order")
    expect(viewer.find("#sequence")).not_to_contain_text("you")
    assert [member["agent_id"] for member in ada.call("turns.state")["members"]] == ["ada"]


COUNTED = """{
    const query = LockManager.prototype.query;
    LockManager.prototype.query = async function () {
        const found = await query.call(this);
        window.tabs = found.held.length;
        return found;
    };
}"""
"""How many tabs the page has counted, its own among them: one that has just gone to this view may still be there."""
ALONE = "() => window.tabs === 1"  # A function: the page's policy lets no text be read as code again at a second look.


def test_a_tab_that_closes_leaves_the_turn_order(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    ada.claim()
    hub.user.call("rooms.join", room_id=room)
    viewer = look(own=True)
    viewer.page.add_init_script(COUNTED)
    viewer.go(f"/rooms/{room}")
    viewer.shows("#sequence", "you")
    viewer.page.wait_for_function(ALONE)
    viewer.find("#tabs a:has-text('Jobs')").click()
    viewer.page.wait_for_function(ALONE)
    viewer.find("#tabs a:has-text('payments-api')").click()
    viewer.shows("#sequence", "you")
    viewer.page.wait_for_function(ALONE)
    viewer.page.close()
    members = call(hub, "ada", "events.follow", room_id=room, kinds=["actor.remove"], max_wait_ms=20_000)["events"]
    assert [event["data"]["actor_id"] for event in members] == ["user"]


def test_a_tab_that_closes_at_another_view_leaves_the_turn_order_too(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    ada.claim()
    hub.user.call("rooms.join", room_id=room)
    viewer = look(own=True)
    viewer.page.add_init_script(COUNTED)
    viewer.go(f"/rooms/{room}")
    viewer.page.wait_for_function(ALONE)
    viewer.page.keyboard.press("Control+k")
    expect(viewer.find("#palette-text")).to_be_focused()
    viewer.page.keyboard.type("reservations")
    expect(viewer.find("#palette-list li").first).to_contain_text("Reservations")
    viewer.page.keyboard.press("Enter")
    viewer.page.wait_for_url("**/reservations")
    viewer.page.wait_for_function(ALONE)
    viewer.find("#tabs a:has-text('Overview')").click()
    viewer.page.wait_for_url(re.compile(r"/$"))
    expect(viewer.find("#live")).to_have_attribute("data-state", "on")
    viewer.page.wait_for_function(ALONE)
    assert [member["agent_id"] for member in ada.call("turns.state")["members"]] == ["ada", "user"]
    viewer.page.close()
    members = call(hub, "ada", "events.follow", room_id=room, kinds=["actor.remove"], max_wait_ms=20_000)["events"]
    assert [event["data"]["actor_id"] for event in members] == ["user"]


def test_who_reserves_on_the_page_is_not_in_the_turn_order_and_keeps_it_when_the_tab_closes(
    hub: RunningHub, look: Look, room: str
) -> None:
    (ada,) = join(hub, room, "ada")
    viewer = look(own=True)
    viewer.go(f"/rooms/{room}/reservations")
    viewer.find("#reserve [name=path]").fill("docs")
    viewer.find("#reserve button").click()
    viewer.shows("#tree", "docs")
    viewer.go(f"/rooms/{room}")
    expect(viewer.find("#sequence")).not_to_contain_text("you")
    viewer.page.close()
    second = look()
    second.go(f"/rooms/{room}/reservations")
    second.shows("#tree", "docs")
    assert ada.call("events.list", kinds=["actor.remove"])["events"] == []


def test_what_waits_in_other_rooms_is_told_on_every_view(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    quiet = hub.user.room("a quiet room")
    ada.say("which currency first?", to=["@user"], priority="attention")
    viewer = look()
    for view in ("/jobs", "/history", "/sessions"):
        viewer.go(f"/rooms/{room}{view}")
        expect(viewer.page).to_have_title(re.compile(r"^\(1\) payments-api"))
        viewer.go(f"/rooms/{quiet}{view}")
        expect(viewer.page).to_have_title(re.compile(r"^\(\d+ elsewhere\) a quiet room"))
        expect(viewer.find("#waiting")).to_have_text(re.compile(r"^[1-9]\d*$"))
    viewer.go("/")
    total = viewer.find("#needs").get_attribute("data-waiting") or ""
    expect(viewer.find("#waiting")).to_have_text(total)


def test_jobs_are_settled_on_their_board_as_well(hub: RunningHub, look: Look, room: str) -> None:
    ada, _bob = busy(hub, room)
    viewer = look()
    viewer.go(f"/rooms/{room}/jobs")
    assert kinds(viewer) == ["question", "proof", "failed"]
    item(viewer, "question").locator("summary:has-text('Answer')").click()
    expect(item(viewer, "question").locator("textarea")).to_be_focused()
    viewer.page.keyboard.type("drop it")
    viewer.page.keyboard.press("Control+Enter")
    item(viewer, "failed").get_by_role("button", name="Acknowledge").click()
    item(viewer, "proof").get_by_role("button", name="Dismiss").click()
    viewer.shows("#needs", "No job waits for you.")
    assert [event["message"] for event in ada.call("jobs.tail", job="JOB-001")["events"]][-1] == "drop it"


def test_what_a_permission_allows_is_shown_as_it_is_and_says_when_it_is_cut(
    hub: RunningHub, look: Look, room: str
) -> None:
    (ada,) = join(hub, room, "ada")
    ada.call("permissions.ask", tool="Edit", title="mend it", diff="- keep\n+ drop\n# not a title")
    ada.call("permissions.ask", tool="Bash", title="a long one", command="x" * 2500 + " && rm -rf /")
    viewer = look()
    viewer.go(f"/rooms/{room}")
    first, second = item(viewer, "permission").all()
    expect(first.locator("pre")).to_have_text("- keep\n+ drop\n# not a title")
    expect(first).not_to_contain_text("It goes on")
    second.get_by_role("link", name="read all of it").click()
    viewer.shows("#raw pre", "rm -rf /")


def test_the_whole_inbox_is_settled_by_keyboard(hub: RunningHub, look: Look, room: str) -> None:
    busy(hub, room)
    viewer = look()
    viewer.go(f"/rooms/{room}")
    keys = viewer.page.keyboard
    keys.press("j")
    for kind, press, said in (
        ("question", "r", "drop it"),
        ("message", "r", "euros"),
        ("notice", "a", ""),
        ("proof", "a", "nothing to run"),
        ("failed", "a", ""),
        ("incursion", "e", ""),
        ("unread", "a", ""),
    ):
        expect(viewer.find(f"#needs [data-tag={kind}]:focus")).to_have_count(1)
        keys.press(press)
        if said:
            expect(item(viewer, kind).locator("textarea:focus")).to_have_count(1)
            keys.type(said)
            keys.press("Control+Enter")
        expect(item(viewer, kind)).to_have_count(0)
    expect(viewer.find("#needs")).to_have_count(0)


def test_j_and_k_go_from_item_to_item_and_enter_opens(hub: RunningHub, look: Look, room: str) -> None:
    busy(hub, room)
    viewer = look()
    viewer.go(f"/rooms/{room}")
    keys = viewer.page.keyboard
    for key, kind in (("j", "question"), ("j", "message"), ("j", "notice"), ("k", "message"), ("k", "question")):
        keys.press(key)
        expect(viewer.find(f"[data-tag={kind}]:focus")).to_have_count(1)
    keys.press("Enter")
    expect(viewer.find("h1")).to_contain_text("JOB-001: Webhooks")


def test_something_new_is_told_on_the_desktop_while_nobody_looks(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    viewer = look(own=True, permissions=["notifications"])
    viewer.page.add_init_script(
        "window.told = []; window.Notification = class { static permission = 'granted';"
        " constructor(title, options) { window.told.push(`${title}: ${options.body}`); } };"
        " Object.defineProperty(document, 'hidden', {get: () => window.away ?? false, configurable: true});"
    )
    viewer.go(f"/rooms/{room}")
    viewer.page.evaluate("window.away = true")
    ada.say("which currency first?", to=["@user"], priority="attention")
    expect(item(viewer, "message")).to_have_count(1)
    (told,) = viewer.page.evaluate("window.told")
    assert told.startswith("Tallystick needs you: ada asks for your attention")


def test_what_comes_in_another_room_is_told_on_the_desktop_too(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    viewer = look(own=True, permissions=["notifications"])
    viewer.page.add_init_script(
        "window.told = []; window.Notification = class { static permission = 'granted';"
        " constructor(title, options) { window.told.push(`${title}: ${options.body}`); } };"
        " Object.defineProperty(document, 'hidden', {get: () => window.away ?? false, configurable: true});"
    )
    viewer.page.clock.install()
    with viewer.page.expect_response("**/waiting"):
        viewer.go(f"/rooms/{hub.user.room('a quiet room')}/history")
    viewer.page.evaluate("window.away = true")
    ada.say("which currency first?", to=["@user"], priority="attention")
    with viewer.page.expect_response("**/waiting"):
        viewer.page.clock.run_for(31_000)
    viewer.page.wait_for_function("() => window.told.length === 1")
    assert "ada asks for your attention" in viewer.page.evaluate("window.told[0]")
