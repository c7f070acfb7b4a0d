"""Relaying: word for word or marked as a summary, always with its provenance, with or without a record."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import cast

import pytest

from tallystick.hub.hub import Hub
from tests.messages.talk import ask_attention, counts, elsewhere, file, human, inbox, notify, principal, say, texts
from tests.scene import Actor, Row, Scene, refused


@pytest.fixture
def rooms(scene: Scene) -> tuple[Actor, Actor, Actor]:
    """`ada` here and there, and `bob`, who is only there."""
    (ada,) = scene.joined("ada")
    there = elsewhere(ada, "the other room")
    bob = Actor(scene, scene.agent("bob").caller, there.room_id)
    bob.call("rooms.join", room_id=there.room_id)
    return ada, there, bob


def relay(actor: Actor, source: Row, **given: object) -> Row:
    return actor.here("messages.relay", src_group_id=source["group_id"], src_event_id=source["id"], **given)


def test_a_relayed_message_carries_the_text_word_for_word_and_names_its_source(rooms: tuple[Actor, ...]) -> None:
    ada, there, bob = rooms
    source = say(ada, "  the **exact**\nwords ", format="markdown", priority="attention", to=["@user"])
    relayed = relay(there, source, to=["bob"])
    (event,) = bob.events(kinds=["chat.message"])
    assert relayed == {
        "event": event,
        "recipients": ["bob"],
        "asked": [],
        "gone": [],
        "replayed": False,
        "record": None,
    }
    assert (event["by"], event["group_id"]) == ("ada", there.room_id)
    assert event["data"] == {
        "text": "  the **exact**\nwords ",
        "format": "markdown",
        "priority": "normal",
        "to": ["bob"],
        "src_group_id": ada.room_id,
        "src_event_id": source["id"],
        "recipients": ["bob"],
    }
    (received,) = inbox(bob)["messages"]
    assert received["source_available"] is True


def test_the_source_stays_as_it_was_and_can_be_opened_from_the_relayed_message(rooms: tuple[Actor, ...]) -> None:
    ada, there, bob = rooms
    source = say(ada, "original")
    relay(there, source)
    data = inbox(bob)["messages"][0]["event"]["data"]
    opened = bob.call("events.list", room_id=data["src_group_id"], kinds=["chat.message"])["events"]
    assert opened == [source]


def test_a_summary_is_marked_as_one_and_still_names_the_source(rooms: tuple[Actor, ...]) -> None:
    ada, there, _bob = rooms
    source = say(ada, "a long story", refs=[{"url": "u"}])
    data = relay(there, source, summary="it works")["event"]["data"]
    assert (data["text"], data["src_group_id"], data["src_event_id"]) == (
        "[Summarized] it works",
        ada.room_id,
        source["id"],
    )
    assert "refs" not in data


def test_references_travel_along_except_those_bound_to_the_source_room(rooms: tuple[Actor, ...]) -> None:
    ada, there, _bob = rooms
    url = {"kind": "url", "url": "https://example.org", "extra": 1}
    bound = [{"kind": "task_ref", "task_id": "bd-1"}, {"kind": "presentation_ref", "slot_id": "s"}]
    source = say(ada, refs=[url, *bound])
    assert relay(there, source)["event"]["data"]["refs"] == [url]


def test_a_relay_may_ask_for_attention_of_its_own(rooms: tuple[Actor, ...]) -> None:
    ada, there, bob = rooms
    relayed = relay(there, say(ada), priority="attention", to=["bob"])
    assert counts(bob) == (1, 1)
    assert bob.here("messages.ack", event_id=relayed["event"]["id"])["already"] is False


def test_a_relayed_message_can_be_relayed_again_and_traced_back_step_by_step(rooms: tuple[Actor, ...]) -> None:
    ada, there, bob = rooms
    source = say(ada, "pass it on")
    second = relay(there, source)["event"]
    third = relay(elsewhere(bob, "third"), second, to=["@user"])["event"]
    assert third["data"]["text"] == "pass it on"
    assert third["data"]["src_event_id"] == second["id"]
    assert second["data"]["src_event_id"] == source["id"]


def test_a_source_that_cannot_be_read_is_refused(rooms: tuple[Actor, ...]) -> None:
    ada, there, bob = rooms
    message = say(ada)
    note = notify(ada)
    for group_id, event_id in [
        (ada.room_id, "nonsense"),
        ("nowhere", message["id"]),
        (there.room_id, message["id"]),
        (ada.room_id, note["id"]),
    ]:
        for record in (False, True):
            with refused("source_unavailable") as caught:
                there.here("messages.relay", src_group_id=group_id, src_event_id=event_id, record=record)
            assert caught.value.details == {"src_group_id": group_id, "src_event_id": event_id}
    assert texts(bob) == []


def test_a_source_that_is_not_here_shows_as_unavailable(rooms: tuple[Actor, ...]) -> None:
    _ada, there, bob = rooms
    say(there, "from afar", src_group_id="another-hub", src_event_id="its-event")
    (received,) = inbox(bob)["messages"]
    assert received["source_available"] is False


def test_a_source_beyond_the_callers_reach_shows_as_unavailable(scene: Scene, rooms: tuple[Actor, ...]) -> None:
    ada, there, bob = rooms
    relay(there, say(ada), to=["bob"])
    for room_id, available in (("", True), (there.room_id, False)):
        looking = Actor(scene, replace(bob.caller, by_token=True, room_id=room_id), there.room_id)
        (received,) = inbox(looking)["messages"]
        assert received["source_available"] is available


def test_a_record_in_the_source_room_says_where_the_message_went(rooms: tuple[Actor, ...]) -> None:
    ada, there, bob = rooms
    source = say(ada, "tell them", to=["@user"])
    relayed = relay(there, source, to=["bob"], record=True)
    record = ada.events(newest=True, limit=1)[0]
    assert relayed["record"] == record
    assert (record["by"], record["group_id"]) == ("ada", ada.room_id)
    assert record["data"] == {
        "text": "Relayed to 'the other room'.",
        "format": "plain",
        "priority": "normal",
        "to": ["@user"],
        "reply_to": source["id"],
        "dst_group_id": there.room_id,
        "dst_to": ["bob"],
        "dst_event_id": relayed["event"]["id"],
        "recipients": ["user"],
    }
    assert texts(bob) == ["tell them"]
    assert texts(human(ada.scene, ada.room_id)) == ["tell them", "Relayed to 'the other room'."]


def test_the_provenance_is_the_same_without_a_record(rooms: tuple[Actor, ...]) -> None:
    ada, there, _bob = rooms
    source = say(ada)
    plain, recorded = relay(there, source), relay(there, source, record=True)
    assert plain["record"] is None
    assert plain["event"]["data"] == recorded["event"]["data"]


def test_the_users_own_record_is_in_nobodys_inbox(rooms: tuple[Actor, ...]) -> None:
    ada, there, _bob = rooms
    source = say(ada, to=["@user"])
    eve = human(ada.scene, there.room_id)
    assert relay(eve, source, record=True)["record"]["data"]["recipients"] == []
    assert counts(human(ada.scene, ada.room_id)) == (1, 0)


def test_a_record_needs_the_right_to_write_in_the_source_room(rooms: tuple[Actor, ...]) -> None:
    ada, there, bob = rooms
    source = say(ada)
    with refused("unknown_member"):
        relay(bob, source, record=True)
    assert relay(bob, source)["record"] is None
    ada.here("rooms.close")
    with refused("room_closed"):
        relay(there, source, record=True)


def test_a_repeated_relay_under_one_client_id_counts_once(rooms: tuple[Actor, ...]) -> None:
    ada, there, bob = rooms
    source = say(ada, "once", to=["@user"])
    first = relay(there, source, client_id="c1", record=True)
    again = relay(there, source, client_id="c1", record=True)
    assert again == {**first, "replayed": True, "record": None}
    assert texts(bob) == ["once"]
    assert len(ada.events(kinds=["chat.message"])) == 2
    with refused("client_id_conflict"):
        relay(there, source, client_id="c1", summary="other")


def test_a_message_of_attachments_alone_is_relayed_with_them(rooms: tuple[Actor, ...]) -> None:
    ada, there, _bob = rooms
    source = say(ada, "", attachments=[{"path": file(ada), "title": "log"}])
    for _ in range(2):
        data = cast("Row", relay(there, source)["event"]["data"])
        assert (data["text"], data["attachments"]) == ("", source["data"]["attachments"])
    (brought,) = there.events(kinds=["x.tally.blob.put"])
    assert brought["data"] == ada.events(kinds=["x.tally.blob.put"])[0]["data"]


def test_a_summary_counts_against_the_limit_with_its_mark(rooms: tuple[Actor, ...]) -> None:
    ada, there, _bob = rooms
    source = say(ada)
    with refused("too_large") as caught:
        relay(there, source, summary="a" * 65_536)
    assert caught.value.details == {"field": "text", "limit": 65_536}


def test_a_service_relays_between_rooms(rooms: tuple[Actor, ...]) -> None:
    ada, there, bob = rooms
    source = ask_attention(ada, "over to you", to=["@user"])
    service = principal(ada.scene, there.room_id, "svc:relay")
    assert relay(service, source, priority="attention")["event"]["by"] == "svc:relay"
    assert texts(bob) == ["over to you"]


@pytest.mark.parametrize("grouped", [False, True])
def test_relays_in_both_directions_at_once_do_not_block_each_other(rooms: tuple[Actor, ...], grouped: bool) -> None:
    ada, there, _bob = rooms
    scene = ada.scene
    one, two = say(ada, to=["@user"]), say(there, to=["@user"])
    together = threading.Barrier(8)

    def go(hub: Hub, target: Actor, source: Row) -> None:
        given = {"room_id": target.room_id, "src_group_id": source["group_id"], "src_event_id": source["id"]}
        together.wait()
        for _ in range(5):
            hub.call("messages.relay", {**given, "record": True}, ada.caller)

    hubs = [Hub(scene.store, clock=scene.clock, machine_id="test-machine", grouped=grouped) for _ in range(2)]
    with ThreadPoolExecutor(8) as pool:
        ways = [(hub, *way) for hub in hubs for way in ((there, one), (ada, two))] * 2
        for done in [pool.submit(go, *way) for way in ways]:
            done.result()
    for hub in hubs:
        if hub.committer:
            hub.committer.close()
    assert [len(actor.events(kinds=["chat.message"], limit=1000)) for actor in (ada, there)] == [41, 41]
    assert ada.call("events.verify")["ok"] is True
