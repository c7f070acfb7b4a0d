"""The inbox and its read mark: fetching marks nothing, the mark only moves forward, and counts agree with both."""

from __future__ import annotations

import pytest

from tests.hub.patience import Patience
from tests.messages.talk import ask_attention, counts, human, inbox, kinds, notify, principal, say, texts
from tests.scene import Row, Scene, refused


def test_an_inbox_shows_what_is_unread_and_fetching_it_marks_nothing(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    event = ask_attention(ada, to=["bob"])
    expected: Row = {
        "actor_id": "bob",
        "messages": [
            {
                "event": event,
                "read": False,
                "needs_ack": True,
                "acked_at": None,
                "source_available": None,
                "reactions": [],
            }
        ],
        "cursor": event["seq"],
        "more": False,
        "read_seq": 0,
        "unread": 1,
        "unacked": 1,
        "awaiting": [],
    }
    assert inbox(bob) == expected
    assert inbox(bob) == expected
    assert kinds(ada) == ["chat.message"]


def test_an_empty_inbox_is_empty_for_anybody(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    before = scene.dump()
    for who in (ada, scene.stranger(ada.room_id), principal(scene, ada.room_id, "svc:ci")):
        assert inbox(who) == {
            "actor_id": who.caller.agent_id,
            "messages": [],
            "cursor": 0,
            "more": False,
            "read_seq": 0,
            "unread": 0,
            "unacked": 0,
            "awaiting": [],
        }
    assert scene.dump() == before


def test_a_read_mark_covers_the_named_event_and_all_before_it(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    _one, two, _three = (say(ada, text) for text in ("one", "two", "three"))
    marked = bob.here("messages.read", event_id=two["id"])
    assert marked == {"actor_id": "bob", "event_id": two["id"], "moved": True, "read_seq": two["seq"], "unread": 1}
    assert texts(bob) == ["three"]
    (read,) = ada.events(kinds=["chat.read"])
    assert (read["by"], read["data"]) == ("bob", {"actor_id": "bob", "event_id": two["id"]})


@pytest.mark.parametrize("back", [0, 1])
def test_a_read_mark_that_would_not_move_forward_neither_moves_nor_appends(scene: Scene, back: int) -> None:
    ada, bob = scene.joined("ada", "bob")
    events = [say(ada, "one"), say(ada, "two")]
    bob.here("messages.read", event_id=events[1]["id"])
    again = bob.here("messages.read", event_id=events[back]["id"])
    assert again == {
        "actor_id": "bob",
        "event_id": events[back]["id"],
        "moved": False,
        "read_seq": events[1]["seq"],
        "unread": 0,
    }
    assert kinds(ada) == ["chat.message", "chat.message", "chat.read"]


def test_messages_to_others_in_between_do_not_count(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    first = say(ada, "for bob", to=["bob"])
    for _ in range(3):
        say(ada, "for cyd", to=["cyd"])
    say(ada, "for bob again", to=["bob"])
    assert bob.here("messages.read", event_id=first["id"])["unread"] == 1
    assert (counts(bob), counts(cyd)) == ((1, 0), (3, 0))


def test_a_read_mark_needs_an_event_of_the_room(scene: Scene) -> None:
    _ada, bob = scene.joined("ada", "bob")
    with scene.refused("event_not_found"):
        bob.here("messages.read", event_id="nonsense")


def test_a_read_mark_needs_a_message_or_notification_that_was_addressed_to_the_reader(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    message = say(ada, to=["bob"])
    bob.here("messages.react", event_id=message["id"], emoji="👍")
    others = [event for event in ada.events() if event["kind"] in {"actor.add", "group.create", "chat.reaction"}]
    assert len(others) == 5
    for event in others:
        with refused("not_addressed"):
            bob.here("messages.read", event_id=event["id"])
    with refused("not_addressed") as caught:
        cyd.here("messages.read", event_id=message["id"])
    assert caught.value.details == {"event_id": message["id"], "actor_id": "cyd"}
    assert bob.here("messages.read", event_id=notify(ada)["id"])["moved"] is True


def test_only_the_recipient_or_the_user_moves_a_read_mark(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    cyd.appointed()
    one, two = say(ada, "one"), say(ada, "two")
    for other in (cyd, ada, principal(scene, ada.room_id, "svc:ci"), principal(scene, ada.room_id, "system")):
        with refused("not_your_inbox") as caught:
            other.here("messages.read", event_id=one["id"], actor_id="bob")
        assert caught.value.details == {"actor_id": "bob"}
    for person, event in ((human(scene, ada.room_id), one), (principal(scene, ada.room_id, "user"), two)):
        assert person.here("messages.read", event_id=event["id"], actor_id="bob")["actor_id"] == "bob"
    assert [(read["by"], read["data"]["actor_id"]) for read in ada.events(kinds=["chat.read"])] == [("user", "bob")] * 2
    assert (counts(bob), counts(cyd)) == ((0, 0), (2, 0))


def test_anybody_may_look_into_an_inbox_and_it_stays_as_it_is(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    say(ada, to=["bob"])
    assert inbox(human(scene, ada.room_id), actor_id="bob") == inbox(bob)
    assert counts(bob) == (1, 0)


def test_an_inbox_is_paged_without_loss(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    for n in range(7):
        say(ada, str(n))
    seen: list[str] = []
    page = inbox(bob, limit=3)
    while page["messages"]:
        seen += [each["event"]["data"]["text"] for each in page["messages"]]
        assert page["more"] is (len(seen) < 7)
        page = inbox(bob, limit=3, since_seq=page["cursor"])
    assert seen == list("0123456")


def test_what_was_read_can_be_looked_at_again(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    event = say(ada, "again")
    bob.here("messages.read", event_id=event["id"])
    assert texts(bob) == []
    (again,) = inbox(bob, since_seq=0)["messages"]
    assert (again["event"], again["read"]) == (event, True)


def test_an_inbox_can_be_limited_to_messages_or_to_notifications(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    message, note = ask_attention(ada), notify(ada, requires_ack=True)
    both = [message["id"], note["id"]]
    for owed in (False, True):
        found = [
            [each["event"]["id"] for each in inbox(bob, kind=kind, owed=owed)["messages"]]
            for kind in (None, "chat.message", "system.notify")
        ]
        assert found == [both, both[:1], both[1:]]


def test_an_empty_inbox_can_be_waited_for(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    user = principal(scene, ada.room_id, "user")
    given = {"room_id": ada.room_id, "max_wait_ms": 60_000}
    patience = Patience(1000, then=lambda: say(ada, "at last"))
    found = scene.hub.call("messages.inbox", given, user.caller, patience).to_data()
    assert found == inbox(user)
    assert texts(user) == ["at last"]


def test_a_kind_nobody_knows_disturbs_no_inbox(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    say(ada, "before")
    odd = {"to": ["bob"], "recipients": ["bob"], "priority": "attention", "text": "odd"}
    appended = ada.here("events.append", kind="x.acme.chat", data=odd)["event"]
    say(ada, "after")
    assert texts(bob) == ["before", "after"]
    assert appended in ada.events()


def test_delivered_read_and_acknowledged_are_three_facts(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    first, second = ask_attention(ada, "one"), ask_attention(ada, "two")
    bob.here("messages.read", event_id=second["id"])
    bob.here("messages.ack", event_id=first["id"])
    states = [(each["read"], each["needs_ack"]) for each in inbox(bob, since_seq=0)["messages"]]
    assert states == [(True, False), (True, True)]
    assert counts(bob) == (0, 1)


def test_a_notice_tells_a_member_what_waits_for_it(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    assert scene.hub.notices(bob.room_id, bob.caller) == []
    say(ada, "one")
    assert scene.hub.notices(bob.room_id, bob.caller) == ["1 unread message: <<messages.inbox>>"]
    event = ask_attention(ada, "two")
    assert scene.hub.notices(bob.room_id, bob.caller) == ["2 unread messages, 1 needs your ack: <<messages.inbox>>"]
    ask_attention(ada, "three")
    bob.here("messages.read", event_id=event["id"])
    assert scene.hub.notices(bob.room_id, bob.caller) == ["1 unread message, 2 need your ack: <<messages.inbox>>"]
