"""The standard as a whole: its examples, its stream, its errors, and the promises of its goals."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest

from tallystick.capabilities.messages import rules
from tallystick.kernel.errors import InvalidInput, NotAllowed, NotFound, Unavailable, every_error
from tests.frame.checkout import ROOT
from tests.messages.talk import ask_attention, elsewhere, inbox, notify, principal, say
from tests.scene import Actor, Row, Scene, refused

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


def test_the_attention_message_of_the_standard_and_its_ack(scene: Scene) -> None:
    (foreman,) = scene.joined("foreman")
    foreman.appointed()
    user = principal(scene, foreman.room_id, "user")
    text = "Please review the release checklist today."
    message = say(user, text, format="plain", priority="attention", to=["@foreman"])
    scene.clock.forward(minutes=1)
    foreman.here("messages.ack", event_id=message["id"])
    assert foreman.events(kinds=["chat.message", "chat.ack"]) == [
        {
            "v": 1,
            "id": message["id"],
            "ts": "2026-09-21T14:13:20.000Z",
            "seq": message["seq"],
            "kind": "chat.message",
            "group_id": foreman.room_id,
            "scope_key": "",
            "by": "user",
            "data": {
                "text": text,
                "format": "plain",
                "priority": "attention",
                "to": ["@foreman"],
                "recipients": ["foreman"],
            },
        },
        {
            "v": 1,
            "id": foreman.events(newest=True, limit=1)[0]["id"],
            "ts": "2026-09-21T14:14:20.000Z",
            "seq": message["seq"] + 1,
            "kind": "chat.ack",
            "group_id": foreman.room_id,
            "scope_key": "",
            "by": "foreman",
            "data": {"actor_id": "foreman", "event_id": message["id"]},
        },
    ]


def test_the_relayed_message_of_the_standard(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    source = say(principal(scene, ada.room_id, "user"), "Please review the release checklist today.")
    there = elsewhere(ada)
    relayed = say(
        principal(scene, there.room_id, "svc:relay"),
        "Relayed: please review the release checklist today.",
        priority="attention",
        to=["@all"],
        src_group_id=ada.room_id,
        src_event_id=source["id"],
    )
    assert relayed == {
        "v": 1,
        "id": relayed["id"],
        "ts": "2026-09-21T14:13:20.000Z",
        "seq": relayed["seq"],
        "kind": "chat.message",
        "group_id": there.room_id,
        "scope_key": "",
        "by": "svc:relay",
        "data": {
            "text": "Relayed: please review the release checklist today.",
            "format": "plain",
            "priority": "attention",
            "to": ["@all"],
            "src_group_id": ada.room_id,
            "src_event_id": source["id"],
            "recipients": ["ada", "user"],
        },
    }
    assert inbox(there)["messages"][0]["source_available"] is True


def conversation(ada: Actor, bob: Actor) -> None:
    """One event of every kind written here."""
    event = ask_attention(ada)
    bob.here("messages.read", event_id=event["id"])
    bob.here("messages.ack", event_id=event["id"])
    bob.here("messages.react", event_id=event["id"], emoji="👍")
    ada.here("notifications.ack", notify_event_id=notify(bob)["id"])
    ada.here("context.sync", ops=[{"op": "set", "name": "goal", "value": "ship"}])
    ada.here("events.append", kind="x.acme.build", data={"result": "green", "unknown": [1]})


KINDS = [
    "chat.message",
    "chat.read",
    "chat.ack",
    "chat.reaction",
    "system.notify",
    "system.notify_ack",
    "context.sync",
    "x.acme.build",
]


def test_every_event_has_the_envelope_and_nothing_else(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    conversation(ada, bob)
    events = ada.events(limit=100)
    fields = {"v", "id", "ts", "seq", "kind", "group_id", "scope_key", "by", "data"}
    assert {frozenset(event) for event in events} == {frozenset(fields)}
    assert {event["v"] for event in events} == {1}
    assert {event["group_id"] for event in events} == {ada.room_id}
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert all(UUID.fullmatch(event["id"]) for event in events)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event["ts"]) for event in events)


def test_the_kinds_written_are_the_standards_own_or_ours(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    conversation(ada, bob)
    ada.release(ada.claim())
    bob.here("notes.add", body="a note")
    written = {event["kind"] for event in ada.events(limit=100)}
    assert set(KINDS) <= written
    standard = re.compile(r"(chat|system|group|actor|context|assistant)\..+|x\.tally\..+|x\.acme\.build")
    assert [kind for kind in written if not standard.fullmatch(kind)] == []


def test_every_kind_is_streamed_in_order_from_any_cursor(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    start = ada.events(newest=True, limit=1)[0]
    scene.clock.forward(minutes=1)
    conversation(ada, bob)
    by_seq = cast("list[Row]", bob.here("events.follow", since_seq=start["seq"])["events"])
    assert [event["kind"] for event in by_seq] == KINDS
    assert bob.here("events.follow", since_event_id=start["id"])["events"] == by_seq
    assert bob.here("events.follow", since_ts=start["ts"])["events"] == by_seq


def test_a_stream_can_be_filtered_and_bounded_without_loss(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    for _ in range(3):
        conversation(ada, bob)
    wanted = ["chat.message", "x.acme.build"]
    cursor, seen = 0, list[str]()
    while page := bob.here("events.list", since_seq=cursor, kinds=wanted, limit=2):
        seen += [event["kind"] for event in cast("list[Row]", page["events"])]
        cursor = page["cursor"]
        if cursor == page["head"]:
            break
    assert seen == wanted * 3


def test_cursors_filters_and_limits_can_be_asked_for(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    told = ada.call("hub.capabilities")
    assert told["envelope_versions"] == [1]
    assert set(cast("list[str]", told["cursors"])) == {"since_seq", "since_event_id"}
    assert set(cast("list[str]", told["filters"])) == {"kinds", "limit", "since_ts"}
    assert told["limits"] == {
        "events_per_page": 1000,
        "event_body_bytes": 256 * 1024,
        "event_body_levels": 64,
        "message_text_bytes": 64 * 1024,
        "message_recipients": 100,
        "blob_bytes": 32 * 1024 * 1024,
        "blob_inline_bytes": 256 * 1024,
        "bus_envelope_bytes": 1024 * 1024,
        "actions_per_group": 100,
        "actions_waiting": 1000,
        "permissions_open": 100,
        "idempotency_key_chars": 200,
        "wait_ms": 110_000,
    }
    assert {"messages.send", "messages.ack", "messages.read", "notifications.send", "notifications.ack"} < set(
        cast("list[str]", told["operations"])
    )


def test_nothing_said_changes_what_was_said_before(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    conversation(ada, bob)
    before = ada.events(limit=100)
    conversation(bob, ada)
    assert ada.events(limit=100)[: len(before)] == before
    assert ada.call("events.verify")["ok"] is True


def test_simultaneous_sends_get_places_of_their_own(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    together = threading.Barrier(8)

    def send(n: int) -> int:
        together.wait()
        return cast("int", say(ada, f"message {n}", to=["bob"])["seq"])

    with ThreadPoolExecutor(8) as pool:
        places = list(pool.map(send, range(8)))
    assert sorted(places) == list(range(5, 13))
    assert inbox(bob)["unread"] == 8
    assert ada.call("events.verify")["ok"] is True


def test_a_refusal_has_a_code_a_message_and_details(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    with refused("agent_not_found") as caught:
        say(ada, to=["nobody"])
    payload = caught.value.payload()
    assert (payload["code"], payload["message"]) == ("agent_not_found", "'nobody' is not in this room.")
    assert payload["details"] == {"recipient": "nobody", "known": caught.value.details["known"]}


@pytest.mark.parametrize(
    ("family", "codes"),
    [
        (InvalidInput, {"invalid_input", "unknown_field", "too_large", "not_an_attention_message"}),
        (NotAllowed, {"not_your_ack", "not_your_inbox", "not_addressed", "own_message", "reserved_service"}),
        (NotFound, {"room_not_found"}),
        (NotFound, {"agent_not_found", "unknown_recipient", "unknown_member"}),
        (NotFound, {"event_not_found", "source_unavailable"}),
        (NotFound, {"unknown_operation"}),
    ],
)
def test_our_codes_stand_for_those_of_the_standard(family: type, codes: set[str]) -> None:
    assert {error.code for error in every_error() if issubclass(error, family)} >= codes


def test_whatever_is_unavailable_can_be_tried_again() -> None:
    assert {error.retryable for error in every_error(Unavailable)} == {True}


def test_every_refusal_about_messages_says_what_to_do_next() -> None:
    ours = [error for error in every_error() if error.__module__ == rules.__name__]
    assert len(ours) == 11
    assert [error.code for error in ours if not error.hint or not error.__doc__] == []


def test_the_documents_say_what_an_authors_name_is_worth_under_local_trust() -> None:
    page = (ROOT / "docs" / "decisions" / "303-the-user-principal.md").read_text("utf-8")
    said = " ".join(page.split())
    assert "whoever can open the store's file is trusted" in said
    assert "a hint about who spoke and not a security boundary" in said
