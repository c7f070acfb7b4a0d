"""What a message is: its fields, its author, its limits, and that nothing of it is lost or invented."""

from __future__ import annotations

import pytest

from tallystick.hub import maintenance
from tests.messages.talk import elsewhere, file, human, inbox, kinds, notify, principal, say, texts
from tests.scene import Actor, Scene, refused


def test_a_message_is_an_event_in_the_standard_envelope_with_the_recipients_it_reached(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    sent = ada.here("messages.send", text="hello", to=["bob"])
    (joined,) = [event for event in ada.events() if event["kind"] == "actor.add" and event["by"] == "ada"]
    event = ada.events(kinds=["chat.message"])[0]
    assert sent == {"event": event, "recipients": ["bob"], "asked": [], "gone": [], "replayed": False}
    assert event == {
        "v": 1,
        "id": event["id"],
        "ts": "2026-09-21T14:13:20.000Z",
        "seq": 5,
        "kind": "chat.message",
        "group_id": ada.room_id,
        "scope_key": joined["scope_key"],
        "by": "ada",
        "data": {"text": "hello", "format": "plain", "priority": "normal", "to": ["bob"], "recipients": ["bob"]},
    }


def test_every_optional_field_of_a_message_is_kept_as_given(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    first = say(ada)
    given: dict[str, object] = {
        "text": "**look**",
        "format": "markdown",
        "priority": "attention",
        "to": ["@peers"],
        "reply_to": first["id"],
        "quote_text": "hel",
        "src_group_id": "other-group",
        "src_event_id": "other-event",
        "dst_group_id": "third-group",
        "dst_to": ["@all"],
        "thread": "t1",
        "client_id": "c1",
        "client_ts": "1999-12-31T23:59:59Z",
    }
    assert ada.here("messages.send", **given)["event"] == {
        **ada.events(newest=True, limit=1)[0],
        "data": {**given, "recipients": ["bob"]},
    }


def test_null_for_an_optional_field_means_that_it_is_absent(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    absent = ["to", "reply_to", "quote_text", "src_group_id", "src_event_id", "dst_group_id", "dst_to", "client_id"]
    event = say(ada, **dict.fromkeys(absent))
    assert event["data"] == {
        "text": "hello",
        "format": "plain",
        "priority": "normal",
        "to": [],
        "recipients": ["bob", "user"],
    }


def test_a_message_needs_a_text(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    with refused("invalid_input") as caught:
        ada.here("messages.send", to=["bob"])
    assert caught.value.details == {"field": "text"}


def test_an_empty_text_is_refused_unless_attachments_carry_the_message(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    for nothing in ({}, {"attachments": None}, {"attachments": list[object]()}):
        with refused("invalid_input"):
            say(ada, "", **nothing)
    assert say(ada, "", attachments=[{"path": file(ada)}])["data"]["text"] == ""


@pytest.mark.parametrize(
    ("field", "value"),
    [("format", "html"), ("format", ""), ("priority", "urgent"), ("priority", 1), ("to", "bob"), ("text", 7)],
)
def test_a_value_outside_the_standard_is_refused(scene: Scene, field: str, value: object) -> None:
    ada, _bob = scene.joined("ada", "bob")
    with refused("invalid_input") as caught:
        ada.here("messages.send", **{"text": "hello", field: value})
    assert caught.value.details["field"] == field
    assert kinds(ada) == []


@pytest.mark.parametrize("alone", ["src_group_id", "src_event_id"])
def test_one_half_of_a_source_is_refused(scene: Scene, alone: str) -> None:
    ada, _bob = scene.joined("ada", "bob")
    with refused("invalid_input"):
        say(ada, **{alone: "x"})
    assert kinds(ada) == []


def test_a_source_that_its_room_does_not_have_is_refused(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    first = say(ada)
    with scene.refused("source_unavailable"):
        say(ada, src_group_id=ada.room_id, src_event_id="never-written")
    assert say(ada, src_group_id=ada.room_id, src_event_id=first["id"])["data"]["src_event_id"] == first["id"]


def test_where_a_message_was_sent_on_to_is_recorded_and_needs_a_group(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    data = say(ada, dst_group_id="g2", dst_to=["@all"])["data"]
    assert (data["dst_group_id"], data["dst_to"]) == ("g2", ["@all"])
    with refused("invalid_input"):
        say(ada, dst_to=["@all"])


def test_a_reply_names_an_event_of_the_room(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    there = elsewhere(ada)
    question, foreign = say(ada, "why?"), say(there, "not here")
    assert say(bob, "because", reply_to=question["id"])["data"]["reply_to"] == question["id"]
    for unknown in (foreign["id"], "nonsense"):
        with refused("event_not_found"):
            say(bob, "what?", reply_to=unknown)


def test_a_thread_changes_nothing(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    say(ada, "one", thread="t1")
    say(ada, "two")
    say(ada, "three", thread="t1")
    assert texts(bob) == ["one", "two", "three"]


def test_an_unknown_field_is_refused_with_the_nearest_name(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    with refused("unknown_field") as caught:
        say(ada, prioritty="attention")
    assert caught.value.message == "Unknown field 'prioritty'. Did you mean 'priority'?"


@pytest.mark.parametrize("chosen", ["by", "recipients", "ts", "id", "seq"])
def test_nobody_chooses_what_the_hub_assigns(scene: Scene, chosen: str) -> None:
    ada, _bob = scene.joined("ada", "bob")
    with scene.refused("unknown_field"):
        say(ada, **{chosen: "bob"})


@pytest.mark.parametrize("letter", ["a", "ä", "\U0001f600"])
def test_a_text_may_have_64_kib_and_the_refusal_of_more_names_the_limit(scene: Scene, letter: str) -> None:
    ada, bob = scene.joined("ada", "bob")
    most = letter * (65_536 // len(letter.encode()))
    say(ada, most)
    assert texts(bob) == [most]
    with refused("too_large") as caught:
        say(ada, most + letter)
    assert caught.value.details == {"field": "text", "limit": 65_536}


def test_a_message_that_is_too_large_as_a_whole_is_refused(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    with refused("too_large") as caught:
        say(ada, refs=[{"url": "u" * 2000, "note": "n" * 2000} for _ in range(100)])
    assert caught.value.details["limit"] == 262_144


@pytest.mark.parametrize(
    "text",
    [
        "\x00\x01\x1b[31mred\x1b[0m\x7f",
        "<script>alert(1)</script>",
        "'; DROP TABLE events; --",
        "\u202egnirts\u202c \ufeff\u200b",
        'back\\slash "quotes" \r\n\ttabs',
        "😀 e\u0301 é ﷽",
        " x ",
    ],
)
def test_hostile_text_arrives_exactly_as_it_was_sent(scene: Scene, text: str) -> None:
    ada, bob = scene.joined("ada", "bob")
    say(ada, text, quote_text=text)
    (received,) = inbox(bob)["messages"]
    assert (received["event"]["data"]["text"], received["event"]["data"]["quote_text"]) == (text, text)
    assert ada.call("events.verify")["ok"] is True


def test_text_that_is_no_unicode_is_refused(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    with scene.refused("invalid_input"):
        say(ada, "\ud800")


@pytest.mark.parametrize("name", ["user", "system", "svc:ci", "svc:com.example.mybot"])
def test_every_kind_of_principal_can_be_the_author(scene: Scene, name: str) -> None:
    (ada,) = scene.joined("ada")
    event = say(principal(scene, ada.room_id, name), "hi", to=["ada"])
    assert (event["by"], event["scope_key"]) == (name, "")
    assert inbox(ada)["messages"][0]["event"] == event


@pytest.mark.parametrize("name", ["svc:cccc.relay", "svc:tally.web"])
def test_nobody_writes_under_a_reserved_service_name(scene: Scene, name: str) -> None:
    (ada,) = scene.joined("ada")
    service = principal(scene, ada.room_id, name)
    for operation, given in [
        ("messages.send", {"text": "hi"}),
        ("notifications.send", {"kind": "info"}),
        ("messages.react", {"event_id": say(ada)["id"], "emoji": "👍"}),
        ("context.sync", {"ops": [{"op": "set", "name": "a", "value": 1}]}),
    ]:
        with scene.refused("reserved_service"):
            service.here(operation, **given)


def test_a_person_is_the_user_at_every_terminal(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    first, second = human(scene, ada.room_id, "pts1"), human(scene, ada.room_id, "pts2")
    assert say(first, "from one", to=["ada"])["by"] == "user"
    say(ada, "to you", to=["@user"])
    assert texts(first) == texts(second) == ["to you"]
    assert inbox(second)["actor_id"] == "user"


@pytest.mark.parametrize("name", ["stranger", "svc:", "svc: x"])
def test_whoever_is_neither_member_nor_principal_cannot_send(scene: Scene, name: str) -> None:
    (ada,) = scene.joined("ada")
    with refused("unknown_member") as caught:
        say(principal(scene, ada.room_id, name))
    assert caught.value.details == {"agent_id": name}


def test_a_member_who_left_cannot_send(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    ada.here("rooms.leave")
    with scene.refused("unknown_member"):
        say(ada)


def test_a_closed_room_takes_no_more_messages_and_shows_the_old_ones(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    event = say(ada, "last words", priority="attention")
    ada.here("rooms.close")
    for operation, given in [
        ("messages.send", {"text": "hi"}),
        ("messages.read", {"event_id": event["id"]}),
        ("messages.ack", {"event_id": event["id"]}),
        ("messages.react", {"event_id": event["id"], "emoji": "👍"}),
        ("notifications.send", {"kind": "info"}),
        ("context.sync", {"ops": [{"op": "set", "name": "a", "value": 1}]}),
    ]:
        with refused("room_closed"):
            bob.here(operation, **given)
    assert texts(bob) == ["last words"]


def test_an_unknown_room_is_refused(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    nowhere = Actor(scene, ada.caller, "no-such-room")
    for operation, given in [
        ("messages.send", {"text": "hi"}),
        ("messages.inbox", {}),
        ("messages.search", {"query": "x"}),
        ("messages.ack", {"event_id": "x"}),
        ("notifications.send", {"kind": "info"}),
        ("context.sync", {}),
    ]:
        with scene.refused("room_not_found"):
            nowhere.here(operation, **given)


def test_a_clients_own_time_moves_nothing(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    say(ada, "first", client_ts="2030-01-01T00:00:00Z")
    scene.clock.forward(ms=5)
    say(ada, "second", client_ts="1970-01-01T00:00:00Z")
    assert texts(bob) == ["first", "second"]
    stamps = [event["ts"] for event in ada.events(kinds=["chat.message"])]
    assert stamps == ["2026-09-21T14:13:20.000Z", "2026-09-21T14:13:20.005Z"]


def test_a_clock_set_back_leaves_the_order_of_messages(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    say(ada, "first")
    scene.clock.forward(minutes=-60)
    say(ada, "second")
    say(ada, "third")
    events = ada.events(kinds=["chat.message"])
    assert texts(bob) == ["first", "second", "third"]
    assert [event["seq"] for event in events] == [5, 6, 7]
    assert len({event["ts"] for event in events}) == 1


def test_what_was_said_is_folded_again_into_the_same_rows(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    event = say(ada, "one", priority="attention", client_id="c1")
    say(bob, "two")
    bob.here("messages.read", event_id=event["id"])
    bob.here("messages.ack", event_id=event["id"])
    bob.here("messages.react", event_id=event["id"], emoji="👍")
    ada.here("notifications.ack", notify_event_id=notify(bob, requires_ack=True)["id"])
    ada.here("context.sync", ops=[{"op": "set", "name": "goal", "value": [1, True, None]}])
    ada.here("notes.add", body="a note to find")
    bob.release(bob.claim())
    assert maintenance.check(scene.hub) == []
    before = scene.dump()
    maintenance.rebuild(scene.hub)
    assert scene.dump() == before
