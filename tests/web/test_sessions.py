"""The conversation: the exact words, what Seen and Accepted do, and everything the composer can send."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.http.running import RunningHub
from tests.web.browsing import HANDOFF, Agent, join
from tests.web.conftest import Look

pytestmark = pytest.mark.browser


def acks(agent: Agent) -> list[str]:
    return [event["data"]["event_id"] for event in agent.call("events.list", kinds=["chat.ack"])["events"]]


def reads(agent: Agent) -> list[str]:
    return [event["data"]["event_id"] for event in agent.call("events.list", kinds=["chat.read"])["events"]]


def test_a_pass_is_a_row_that_says_passed_to(hub: RunningHub, look: Look, room: str) -> None:
    ada, _bob = join(hub, room, "ada", "bob")
    ada.call("turns.pass", **ada.claim(), to_agent_id="bob", handoff=HANDOFF)
    viewer = look()
    viewer.go(f"/rooms/{room}/sessions")
    row = viewer.find(".ev:has(.tag.h)")
    expect(row.locator(".tag")).to_have_text("Passed to")
    expect(row.locator(".to")).to_have_text("bob")


def test_seen_marks_as_read_and_accepts_nothing(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    event = ada.say("which currency first?", to=["@user"], priority="attention")
    viewer = look()
    viewer.go(f"/rooms/{room}/sessions")
    row = viewer.find(f"#e{event['seq']}")
    row.get_by_role("button", name="Seen").click()
    expect(row.locator(".marks span").first).to_have_text("Seen")
    expect(row.get_by_role("button", name="Accepted")).to_be_visible()
    expect(row).to_contain_text("0 of 1 accepted")
    assert (reads(ada), acks(ada)) == ([event["id"]], [])


def test_accepted_writes_an_ack_and_reads_nothing(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    event = ada.say("which currency first?", to=["@user"], priority="attention")
    viewer = look()
    viewer.go(f"/rooms/{room}/sessions")
    row = viewer.find(f"#e{event['seq']}")
    row.get_by_role("button", name="Accepted").click()
    expect(row).to_contain_text("1 of 1 accepted")
    expect(row.get_by_role("button", name="Accepted")).to_have_count(0)
    expect(row.get_by_role("button", name="Seen")).to_be_visible()
    assert (reads(ada), acks(ada)) == ([], [event["id"]])


def test_accepted_is_shown_only_where_an_ack_is_on_record(hub: RunningHub, look: Look, room: str) -> None:
    ada, bob, _cleo = join(hub, room, "ada", "bob", "cleo")
    event = ada.say("please review", to=["bob", "cleo"], priority="attention")
    bob.call("messages.read", event_id=event["id"])
    viewer = look()
    viewer.go(f"/rooms/{room}/sessions")
    row = viewer.find(f"#e{event['seq']}")
    expect(row).to_contain_text("0 of 2 accepted")
    bob.call("messages.ack", event_id=event["id"])
    expect(row).to_contain_text("1 of 2 accepted")
    expect(row.get_by_role("button", name="Accepted")).to_have_count(0)


def test_the_composer_sends_to_chosen_recipients_and_asks_for_attention(hub: RunningHub, look: Look, room: str) -> None:
    ada, bob = join(hub, room, "ada", "bob")
    viewer = look()
    viewer.go(f"/rooms/{room}/sessions")
    viewer.find("#say label:has-text('@all')").first.click()
    viewer.find("#say label:has([value='bob'])").click()
    viewer.find("#say [name=text]").fill("please look")
    viewer.find("#say [name=priority]").check()
    viewer.find("#say button.p").click()
    viewer.shows("#rows", "please look")
    (letter,) = bob.call("messages.inbox")["messages"]
    assert (letter["event"]["data"]["to"], letter["needs_ack"]) == (["bob"], True)
    assert ada.call("messages.inbox")["messages"] == []
    expect(viewer.find("#say [name=text]")).to_have_value("")


def test_a_reply_quotes_what_it_answers(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    event = ada.say("keep the v1 path or drop it?", to=["@user"])
    viewer = look()
    viewer.go(f"/rooms/{room}/sessions")
    viewer.find(f"#e{event['seq']} [data-quote]").click()
    viewer.find("#say [name=text]").fill("drop it")
    viewer.page.keyboard.press("Control+Enter")
    viewer.shows("#rows blockquote", "keep the v1 path or drop it?")
    (letter,) = ada.call("messages.inbox")["messages"]
    said = letter["event"]["data"]
    assert (said["reply_to"], said["quote_text"], said["to"]) == (event["id"], "keep the v1 path or drop it?", ["ada"])


def test_a_reply_still_answers_its_message_when_news_comes_while_it_is_written(
    hub: RunningHub, look: Look, room: str
) -> None:
    (ada,) = join(hub, room, "ada")
    event = ada.say("keep the v1 path or drop it?", to=["@user"])
    viewer = look()
    viewer.go(f"/rooms/{room}/sessions")
    viewer.find(f"#e{event['seq']} [data-quote]").click()
    ada.say("CI is green", to=["@user"])
    viewer.shows("#rows", "CI is green")
    expect(viewer.find("#say-quoted blockquote")).to_have_text("keep the v1 path or drop it?")
    viewer.find("#say [name=text]").fill("it can go")
    viewer.page.keyboard.press("Control+Enter")
    viewer.shows("#rows", "it can go")
    (letter,) = ada.call("messages.inbox")["messages"]
    assert letter["event"]["data"]["reply_to"] == event["id"]


def test_who_reads_far_back_and_says_something_sees_it(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    first = ada.say("the first of many")
    for number in range(100):
        ada.say(f"message {number}")
    viewer = look()
    viewer.go(f"/rooms/{room}/sessions?show=messages&at={first['seq']}#e{first['seq']}")
    viewer.find(f"#e{first['seq']}").hover()
    viewer.find(f"#e{first['seq']} [data-reply]").click()
    viewer.find("#say [name=text]").fill("the last word")
    viewer.page.keyboard.press("Control+Enter")
    expect(viewer.find("#rows .ev:has-text('the last word')")).to_be_in_viewport()
    expect(viewer.page).to_have_url(re.compile(r"/sessions\?show=messages$"))


def test_files_are_attached_and_can_be_fetched_again(hub: RunningHub, look: Look, room: str, tmp_path: Path) -> None:
    (tmp_path / "log <b>.txt").write_text("it broke\n")
    (ada,) = join(hub, room, "ada")
    viewer = look()
    viewer.go(f"/rooms/{room}/sessions")
    viewer.find("#say [type=file]").set_input_files(tmp_path / "log <b>.txt")
    viewer.find("#say button.p").click()
    expect(viewer.find("#rows .file")).to_have_text("log <b>.txt")
    (letter,) = ada.call("messages.inbox")["messages"]
    (file,) = letter["event"]["data"]["attachments"]
    assert (file["title"], file["bytes"]) == ("log <b>.txt", 9)
    address = viewer.find("#rows .file").get_attribute("href")
    assert address
    assert ada.client.get(address).body == b"it broke\n"


def test_a_relay_leads_back_to_its_source(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    other = hub.user.room("the other team")
    join(hub, other, "cleo")
    event = ada.say("worth knowing elsewhere")
    viewer = look()
    viewer.go(f"/rooms/{room}/sessions")
    viewer.find(f"#relay-{event['seq']} > summary").click()
    viewer.find(f"#relay-{event['seq']} select").select_option("the other team")
    viewer.find(f"#relay-{event['seq']} button.p").click()
    viewer.shows("#toasts", "Relayed")
    viewer.go(f"/rooms/{other}/sessions")
    viewer.shows("#rows", "worth knowing elsewhere")
    viewer.page.get_by_role("link", name="go to the source").click()
    expect(viewer.find(f"#e{event['seq']}")).to_contain_text("worth knowing elsewhere")


def test_a_hundred_rooms_to_relay_to_stand_on_the_page_once(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    for number in range(20):
        ada.say(f"message {number}")
    hub.user.room("the one far away")
    viewer = look()
    page = viewer.go(f"/rooms/{room}")
    assert page.content().count("the one far away") == 1
    viewer.find("#rows .bubble").last.hover()
    viewer.find("#rows .bubble [id^=relay-] > summary").last.click()
    expect(viewer.find("#rows .bubble [id^=relay-] option:has-text('the one far away')")).to_have_count(1)


def test_a_source_that_is_not_here_is_called_unavailable(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    ada.say("from far away", src_group_id="a-room-elsewhere", src_event_id="an-event-elsewhere")
    viewer = look()
    viewer.go(f"/rooms/{room}/sessions")
    viewer.shows("#rows", "source unavailable")
    expect(viewer.find("#rows p a")).to_have_count(0)


def test_a_session_is_the_part_of_the_conversation_that_concerns_one_agent(
    hub: RunningHub, look: Look, room: str
) -> None:
    ada, bob, _cleo = join(hub, room, "ada", "bob", "cleo")
    ada.say("for bob only", to=["bob"])
    bob.say("for cleo only", to=["cleo"])
    viewer = look()
    viewer.go(f"/rooms/{room}/sessions")
    viewer.find("#agents a:has-text('ada')").click()
    viewer.shows("#rows", "for bob only")
    expect(viewer.find("#rows")).not_to_contain_text("for cleo only")
    viewer.go(f"/rooms/{room}/sessions?show=messages&agent=cleo")
    expect(viewer.find("#rows .ev")).to_have_count(1)


def test_older_rows_are_pages_away_and_none_is_missing(hub: RunningHub, look: Look, room: str) -> None:
    (ada,) = join(hub, room, "ada")
    for number in range(200):
        ada.say(f"message {number}")
    viewer = look()
    viewer.go(f"/rooms/{room}/sessions?show=messages")
    seen: list[str] = []
    while True:
        seen = viewer.find("#rows .ev").evaluate_all("rows => rows.map(row => row.dataset.seq)") + seen
        if not viewer.find("#older").count():
            break
        with viewer.page.expect_navigation():
            viewer.find("#older").press("Enter")
    assert [int(seq) for seq in seen] == sorted({int(seq) for seq in seen})
    assert len(seen) == 200
