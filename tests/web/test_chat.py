"""A room one can live in: what is said in reading order, what programs do folded away, and a composer that keeps."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tallystick.kernel.operation import Reach
from tests.http.running import RunningHub
from tests.web.browsing import HANDOFF, Agent, Viewer, call, join
from tests.web.conftest import Look

pytestmark = pytest.mark.browser

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
IN_SIGHT = "box => { const at = box.getBoundingClientRect(); return at.top >= 0 && at.bottom <= innerHeight; }"


def chosen(viewer: Viewer) -> list[str]:
    return viewer.find("#say input[name=to]:checked").evaluate_all("each => each.map(chip => chip.value)")


def test_what_was_said_stands_in_reading_order_and_machinery_is_folded(hub: RunningHub, look: Look, room: str) -> None:
    ada, bob = join(hub, room, "ada", "bob")
    first = ada.say("shall we?")
    for number in range(3):
        ada.call("jobs.create", title=f"job {number}", prompt="Do it.")
    ada.call("reservations.reserve", path="src")
    second = bob.say("we shall")
    ada.call("turns.release", **ada.claim(), handoff=HANDOFF)
    viewer = look()
    viewer.go(f"/rooms/{room}")
    said = viewer.find("#rows > .bubble").evaluate_all("each => each.map(row => Number(row.dataset.seq))")
    assert (said[:2], said == sorted(said), len(said)) == ([first["seq"], second["seq"]], True, 3)
    fold = viewer.find("#rows > details.fold").nth(1)
    expect(fold.locator("summary")).to_contain_text("3 job events, 1 reservation event")
    expect(fold.locator(".ev").first).not_to_be_visible()
    fold.locator("summary").click()
    expect(fold.locator(".ev").first).to_contain_text("job 0")


def test_questions_answers_and_notes_are_bubbles_like_messages_and_handoffs(
    hub: RunningHub, look: Look, room: str
) -> None:
    (ada,) = join(hub, room, "ada")
    ada.call("notes.add", body="CI is red")
    ada.call("runners.heartbeat", runner_id="r1", status="idle")
    ada.call("jobs.create", title="Webhooks", prompt="Do it.")
    claim = ada.call("jobs.claim", runner_id="r1", job="JOB-001")["claim_revision"]
    held = {"job": "JOB-001", "runner_id": "r1", "claim_revision": claim}
    ada.call("jobs.report", **held, kind="question", message="keep v1?")
    hub.user.call("jobs.message", room_id=room, job="JOB-001", message="drop it")
    viewer = look()
    viewer.go(f"/rooms/{room}")
    said = viewer.find("#rows > .bubble .said").all_inner_texts()
    assert [text.strip() for text in said] == ["CI is red", "keep v1?", "drop it"]
    expect(viewer.find("#rows > .bubble .tag")).to_have_text(["Note", "Job question", "Job message"])


def test_it_opens_at_its_end_and_says_how_much_came_while_one_read_further_up(
    hub: RunningHub, look: Look, room: str
) -> None:
    (ada,) = join(hub, room, "ada")
    for number in range(40):
        ada.say(f"message {number}")
    viewer = look()
    viewer.go(f"/rooms/{room}")
    expect(viewer.find("#rows .ev:has-text('message 39')")).to_be_in_viewport()
    viewer.find("#rows").evaluate("box => (box.scrollTop = 0)")
    ada.say("news")
    viewer.shows("#more-below", "1 new below")
    viewer.find("#more-below").click()
    expect(viewer.find("#rows .ev:has-text('news')")).to_be_in_viewport()
    expect(viewer.find("#more-below")).to_have_count(0)


def test_the_composer_is_always_in_sight_and_at_most_three_tabs_away(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    for number in range(30):
        ada.say(f"message {number}", to=["@user"], priority="attention")
    for width, height in ((390, 844), (1024, 700), (1920, 1080)):
        viewer = look(viewport={"width": width, "height": height})
        viewer.go(f"/rooms/{room}")
        assert viewer.find("#say-text").evaluate(IN_SIGHT), width
        viewer.page.keyboard.press("Tab")
        viewer.page.keyboard.press("Tab")
        viewer.page.keyboard.press("Enter")
        expect(viewer.find("#say-text")).to_be_focused()


def test_one_recipient_replaces_everybody_and_is_kept(hub: RunningHub, look: Look, room: str) -> None:
    ada, bob = join(hub, room, "ada", "bob")
    viewer = look(own=True)
    viewer.go(f"/rooms/{room}")
    assert chosen(viewer) == ["@all"]
    viewer.find("#say label:has([value=bob])").click()
    assert chosen(viewer) == ["bob"]
    for text in ("between us", "and this too"):
        viewer.find("#say-text").fill(text)
        viewer.page.keyboard.press("Control+Enter")
        viewer.shows("#rows", text)
        assert chosen(viewer) == ["bob"]
        expect(viewer.find("#say-text")).to_have_attribute("placeholder", re.compile("^Write to bob…"))
    viewer.page.reload()
    assert chosen(viewer) == ["bob"]
    assert len(bob.call("messages.inbox")["messages"]) == 2
    assert ada.call("messages.inbox")["messages"] == []
    viewer.find("#say label:has([value='@all'])").click()
    assert chosen(viewer) == ["@all"]


def test_a_service_is_answered_alone(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    service = Agent(hub.agent("svc:ci", reach=Reach.SPEAK), "svc:ci", room)
    asked = service.say("the build is red")
    viewer = look(own=True)
    viewer.go(f"/rooms/{room}")
    viewer.find(f"#e{asked['seq']}").hover()
    viewer.find(f"#e{asked['seq']} [data-reply]").click()
    assert chosen(viewer) == ["svc:ci"]
    expect(viewer.find("#say-text")).to_be_focused()
    viewer.page.keyboard.type("build it again")
    viewer.page.keyboard.press("Control+Enter")
    viewer.shows("#rows", "build it again")
    assert ada.call("messages.inbox")["messages"][1:] == []
    (letter,) = service.call("messages.inbox")["messages"]
    assert letter["event"]["data"]["text"] == "build it again"


def test_an_agents_page_leads_to_a_composer_for_that_agent(hub: RunningHub, look: Look, room: str) -> None:
    join(hub, room, "ada", "bob")
    viewer = look()
    viewer.go(f"/rooms/{room}/agents/bob")
    viewer.page.get_by_role("link", name="Speak with it").click()
    expect(viewer.find("h1")).to_have_text("bob")
    assert chosen(viewer) == ["bob"]


def test_an_empty_message_is_stopped_in_words_before_it_is_sent(hub: RunningHub, look: Look, room: str) -> None:
    viewer = look()
    viewer.go(f"/rooms/{room}")
    viewer.find("#say button.p").click()
    expect(viewer.find("#say-text:invalid")).to_have_count(1)
    assert viewer.find("#say-text").evaluate("box => box.validationMessage") == "Write something, or attach a file."
    assert call(hub, "ada", "events.list", room_id=room, kinds=["chat.message"])["events"] == []


def test_a_reply_stands_beside_what_it_answers(hub: RunningHub, look: Look, room: str) -> None:
    ada, bob = join(hub, room, "ada", "bob")
    asked = ada.say("keep the v1 path?")
    answer = bob.say("drop it", reply_to=asked["id"])
    viewer = look()
    viewer.go(f"/rooms/{room}")
    viewer.shows(f"#e{answer['seq']} .re", "ada keep the v1 path?")
    expect(viewer.find(f"#e{answer['seq']} .re")).to_have_attribute("href", f"#e{asked['seq']}")


def test_addresses_are_links_that_show_where_they_lead(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    ada.say("see https://example.org/pull/7. Not https://bank.example@evil.example/ or javascript:alert(1)")
    viewer = look()
    viewer.go(f"/rooms/{room}")
    links = viewer.find("#rows .said a")
    expect(links).to_have_count(1)
    expect(links).to_have_text("https://example.org/pull/7")
    expect(links).to_have_attribute("rel", "noopener noreferrer nofollow ugc")
    expect(links).to_have_attribute("target", "_blank")


def test_images_are_previewed(hub: RunningHub, look: Look, room: str, tmp_path: Path) -> None:
    (tmp_path / "plan.png").write_bytes(PIXEL)
    (tmp_path / "page.svg").write_text(
        "<svg xmlns='http://www.w3.org/2000/svg'><script>window.broken = 1</script></svg>"
    )
    join(hub, room, "ada")
    viewer = look()
    viewer.go(f"/rooms/{room}")
    viewer.find("#say [type=file]").set_input_files([tmp_path / "plan.png", tmp_path / "page.svg"])
    viewer.shows("#say-files", "plan.png, page.svg")
    viewer.find("#say button.p").click()
    picture = viewer.find("#rows img.shot")
    expect(picture).to_have_count(1)
    viewer.page.wait_for_function("() => document.querySelector('#rows img.shot').naturalWidth === 1")
    expect(viewer.find("#rows .file")).to_have_count(2)


def test_a_request_its_steps_and_its_answer_are_one_thread(hub: RunningHub, look: Look, room: str) -> None:
    ada, bob = join(hub, room, "ada", "bob")
    action = {"type": "message", "dst": "bob", "action_id": "a1", "action_index": 0, "kind": "user", "text": "2+2?"}
    ada.call("actions.submit", group_id="g1", actions=[action])
    bob.call("actions.pending")
    bob.call("actions.result", action_id="a1", status="accepted")
    viewer = look()
    viewer.go(f"/rooms/{room}")
    thread = viewer.find("#rows .exchange")
    expect(thread).to_contain_text("working")
    ada.say("something else meanwhile")
    bob.call("actions.result", action_id="a1", status="completed", detail="it is 4")
    expect(thread).to_contain_text("answered")
    expect(thread.locator("details.fold summary")).to_contain_text("2 steps")
    expect(thread.locator("details.fold .ev").first).not_to_be_visible()
    thread.locator("details.fold summary").click()
    expect(thread).to_contain_text("it is 4")
    viewer.go(f"/rooms/{room}/actions/a1")
    viewer.shows("#action", "2+2?")


def test_what_is_said_to_attached_agents_is_one_thread_with_what_they_answer(
    hub: RunningHub, look: Look, room: str, tmp_path: Path
) -> None:
    ada, bob = join(hub, room, "ada", "bob")
    for each in (ada, bob):
        each.call("actions.attach", program="answer.py")
    (tmp_path / "plan.png").write_bytes(PIXEL)
    viewer = look(own=True)
    viewer.go(f"/rooms/{room}")
    viewer.find("#say label:has([value='@peers'])").click()
    viewer.find("#say-text").fill("what is 2+2?")
    viewer.find("#say [type=file]").set_input_files(tmp_path / "plan.png")
    viewer.find("#say button.p").click()
    thread = viewer.find("#rows .exchange")
    expect(thread).to_have_count(1)
    expect(thread.locator(".said")).to_have_text("what is 2+2?")
    expect(thread.locator("img.shot")).to_have_count(1)
    expect(thread.locator("a.tag")).to_have_text("waiting")
    asked = {agent.name: agent.call("actions.pending")["next"]["action_id"] for agent in (ada, bob)}
    bob.call("actions.result", action_id=asked["bob"], status="accepted")
    expect(thread).to_contain_text("working")
    for agent in (bob, ada):
        answers = {"kind": "reply", "reply_to_action_id": asked[agent.name]}
        agent.call("messages.send", text=f"{agent.name} says 4", to=["@user"], conversation=answers)
        agent.call("actions.result", action_id=asked[agent.name], status="completed")
    expect(thread.locator(".tag.r").first).to_have_text("answered")
    expect(thread.locator("details.fold .ev").first).not_to_be_visible()
    expect(thread.locator("> .ev .said")).to_have_text(["what is 2+2?", "bob says 4", "ada says 4"])
    # Nothing of it stands a second time.
    expect(viewer.find("#rows .ev:has-text('2+2')")).to_have_count(1)
    expect(viewer.find("#rows .ev:has-text('plan.png')")).to_have_count(1)
    thread.locator("details.fold > summary").click()
    thread.locator("details.fold a:text-is('request')").first.click()
    viewer.shows("#action", "2+2?")


def test_closing_asks_says_what_is_open_and_wants_a_reason(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    ada.call("jobs.create", title="Migrate retries", prompt="Move them.")
    ada.call("reservations.reserve", path="src")
    for number in range(6):
        ada.call("jobs.create", title=f"job {number}", prompt="Do it.")
    ada.say("may I?", to=["@user"])
    hub.user.call("messages.read", room_id=room, event_id=ada.say("I may", to=["@user"])["id"])
    viewer = look()
    for view in ("/stick", ""):
        viewer.go(f"/rooms/{room}{view}")
        viewer.find("#act-close > summary").click()
        viewer.shows("#act-close", "Still open: 7 jobs not ended; 1 reservation.")
    viewer.find("#act-close .danger").click()
    assert call(hub, "ada", "rooms.show", room_id=room)["closed_at"] is None
    viewer.find("#act-close [name=reason]").fill("shipped")
    viewer.find("#act-close [type=checkbox]").check()
    viewer.find("#act-close .danger").click()
    viewer.shows("#title", "closed")
    viewer.shows("#rows", "may I?")
    for gone in ("#say", "#needs", "[data-reply]", "[data-quote]", "[id^=relay-]"):
        expect(viewer.find(gone)).to_have_count(0)


def test_a_job_is_created_and_its_proof_read_by_keyboard(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    viewer = look()
    viewer.go(f"/rooms/{room}")
    keys = viewer.page.keyboard
    viewer.tab_to("#act-job > summary")
    keys.press("Enter")
    expect(viewer.find("#act-job [name=title]")).to_be_focused()
    keys.type("Migrate retries")
    keys.press("Tab")
    keys.type("Move them.")
    keys.press("Control+Enter")
    expect(viewer.find("h1")).to_contain_text("JOB-001: Migrate retries")
    ada.call("runners.heartbeat", runner_id="r1", status="idle")
    claim = ada.call("jobs.claim", runner_id="r1", job="JOB-001")["claim_revision"]
    held = {"job": "JOB-001", "runner_id": "r1", "claim_revision": claim}
    seen = [{"command": "pytest -q", "exit_code": 0}]
    ada.call("jobs.complete", **held, status="DONE", summary="moved", refs=["CMD: pytest -q (exit 0)"], observed=seen)
    viewer.shows("#proof", "observed")
    keys.press("Control+k")
    keys.type("job-1")
    keys.press("Enter")
    viewer.shows("#proof", "pytest -q")


def test_the_stick_is_taken_and_passed_by_keyboard(hub: RunningHub, look: Look, room: str) -> None:
    (_ada,) = join(hub, room, "ada")
    viewer = look()
    viewer.go(f"/rooms/{room}")
    keys = viewer.page.keyboard
    viewer.tab_to("#act-take button")
    keys.press("Enter")
    viewer.shows("#stick-line", "turn 1 · you")
    viewer.tab_to("#act-pass > summary")
    keys.press("Enter")
    expect(viewer.find("#act-pass [name=to_agent_id]")).to_be_focused()
    viewer.tab_to("#act-pass [name='handoff.status']")
    keys.type("read all of it")
    keys.press("Tab")
    keys.type("write the rest")
    keys.press("Control+Enter")
    viewer.shows("#stick-line", "next ada")


def test_a_handoff_is_kept_when_the_stick_is_taken_over(hub: RunningHub, look: Look, room: str) -> None:
    ada = Agent(hub.agent("ada", reach=Reach.MANAGE), "ada", room)
    ada.call("rooms.join")
    join(hub, room, "bob")
    ada.call("rooms.set_policy", claim_ttl_ms=100)
    ada.call("turns.release", **ada.claim(), handoff=HANDOFF)
    viewer = look()
    viewer.go(f"/rooms/{room}")
    viewer.find("#act-takeover > summary").click()
    expect(viewer.find("#act-takeover [name=reason]")).to_be_focused()
    viewer.page.keyboard.type("bob never came")
    viewer.page.keyboard.press("Control+Enter")
    viewer.shows("#handoff", "wrote the plan")
    viewer.shows("#taken", "you took the stick over")
    expect(viewer.find(".lanes .hand.taken")).to_have_count(1)
    viewer.shows(".lanes", "taken over")
