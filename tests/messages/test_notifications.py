"""Notifications: kept apart from the conversation, for one or for all, and acknowledged only by their recipients."""

from __future__ import annotations

import pytest

from tests.messages.talk import counts, elsewhere, human, inbox, kinds, notify, principal, say
from tests.scene import Scene, refused

STANDARD = [
    "nudge",
    "keepalive",
    "help_nudge",
    "actor_idle",
    "silence_check",
    "automation",
    "status_change",
    "error",
    "info",
]


def test_a_notification_is_an_event_of_its_own_kind_with_its_defaults(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    sent = ada.here("notifications.send", kind="info")
    event = ada.events(kinds=["system.notify"])[0]
    assert sent == {"event": event, "recipients": ["bob", "user"]}
    assert event["by"] == "ada"
    assert event["data"] == {
        "kind": "info",
        "priority": "normal",
        "requires_ack": False,
        "target_actor_id": None,
        "recipients": ["bob", "user"],
    }


def test_every_field_of_a_notification_is_kept(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    about = say(ada)
    given: dict[str, object] = {
        "kind": "status_change",
        "priority": "urgent",
        "title": "CI is red",
        "message": "main fails since 14:00",
        "target_actor_id": "bob",
        "context": {"build": 17, "jobs": ["lint", {"name": "test"}]},
        "requires_ack": True,
        "related_event_id": about["id"],
    }
    assert ada.here("notifications.send", **given)["event"] == {
        **ada.events(newest=True, limit=1)[0],
        "data": {**given, "recipients": ["bob"]},
    }


@pytest.mark.parametrize("kind", [*STANDARD, "deploy_finished", "x.acme.thing"])
def test_any_kind_of_notification_is_accepted(scene: Scene, kind: str) -> None:
    ada, bob = scene.joined("ada", "bob")
    event = notify(ada, kind)
    assert inbox(bob)["messages"][0]["event"] == event


@pytest.mark.parametrize(
    "given",
    [
        {"priority": "attention"},
        {"requires_ack": "yes"},
        {"kind": ""},
        {"context": []},
        {"target_actor_id": ""},
        {"target_actor_id": "@peers"},
    ],
)
def test_a_notification_outside_the_standard_is_refused(scene: Scene, given: dict[str, object]) -> None:
    ada, _bob = scene.joined("ada", "bob")
    with scene.refused("invalid_input"):
        ada.here("notifications.send", **{"kind": "info", **given})


def test_a_related_event_must_be_in_the_room(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    foreign = say(elsewhere(ada), to=["@user"])
    with scene.refused("event_not_found"):
        notify(ada, related_event_id=foreign["id"])


def test_a_notification_with_a_target_reaches_nobody_else(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    notify(ada, target_actor_id="bob")
    assert (counts(bob), counts(cyd), counts(human(scene, ada.room_id))) == ((1, 0), (0, 0), (0, 0))


@pytest.mark.parametrize(("given", "target"), [("@user", "user"), ("user", "user"), ("Bobby", "bob")])
def test_a_target_is_kept_as_the_one_actor_it_means(scene: Scene, given: str, target: str) -> None:
    ada, bob = scene.joined("ada", "bob")
    bob.here("agents.update", name="Bobby")

    event = notify(ada, target_actor_id=given)

    assert (event["data"]["target_actor_id"], event["data"]["recipients"]) == (target, [target])


def test_a_notification_that_requires_it_is_owed_an_ack(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    notify(ada)
    note = notify(ada, requires_ack=True)
    assert counts(bob) == (2, 1)
    acked = bob.here("notifications.ack", notify_event_id=note["id"])
    assert acked == {"actor_id": "bob", "event_id": note["id"], "already": False, "acked_at": note["ts"]}
    (event,) = ada.events(kinds=["system.notify_ack"])
    assert (event["by"], event["data"]) == ("bob", {"actor_id": "bob", "notify_event_id": note["id"]})
    assert counts(bob) == (2, 0)


def test_a_second_ack_of_a_notification_appends_nothing(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    note = notify(ada, requires_ack=True)
    first = bob.here("notifications.ack", notify_event_id=note["id"])
    scene.clock.forward(minutes=1)
    assert bob.here("notifications.ack", notify_event_id=note["id"]) == {**first, "already": True}
    assert kinds(ada) == ["system.notify", "system.notify_ack"]
    assert counts(bob) == (1, 0)


def test_a_notification_that_asked_for_no_ack_may_be_acknowledged_all_the_same(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    note = notify(ada)
    assert bob.here("notifications.ack", notify_event_id=note["id"])["already"] is False
    assert counts(bob) == (1, 0)


def test_nobody_acknowledges_a_notification_for_another(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    cyd.appointed()
    note = notify(ada, requires_ack=True)
    for other in (cyd, human(scene, ada.room_id), principal(scene, ada.room_id, "system")):
        with refused("not_your_ack"):
            other.here("notifications.ack", notify_event_id=note["id"], actor_id="bob")
    assert kinds(ada) == ["system.notify"]
    assert counts(bob) == (1, 1)


def test_only_a_notification_addressed_to_the_actor_can_be_acknowledged(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    note, message = notify(ada, target_actor_id="bob"), say(ada, priority="attention")
    with refused("not_addressed"):
        cyd.here("notifications.ack", notify_event_id=note["id"])
    with refused("invalid_input") as caught:
        bob.here("notifications.ack", notify_event_id=message["id"])
    assert caught.value.details == {"field": "notify_event_id"}
    with refused("event_not_found"):
        bob.here("notifications.ack", notify_event_id="nonsense")


def test_the_conversation_can_be_read_without_the_notifications(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    message = say(ada)
    notify(ada)
    assert ada.events(kinds=["chat.message"]) == [message]


def test_a_service_notifies_and_an_agent_answers_on_one_stream(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    ci = principal(scene, ada.room_id, "svc:ci")
    note = notify(ci, "status_change", title="red", requires_ack=True)
    ada.here("notifications.ack", notify_event_id=note["id"])
    say(ada, "on it", reply_to=note["id"])
    seen = ci.events(since_event_id=note["id"])
    assert [(event["kind"], event["by"]) for event in seen] == [("system.notify_ack", "ada"), ("chat.message", "ada")]
