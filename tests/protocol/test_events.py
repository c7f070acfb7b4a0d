"""Protocol events: what may be said, what the hub says itself, and how all of it is listed."""

from __future__ import annotations

from typing import cast

import pytest

from tallystick.hub import maintenance
from tests.scene import Actor, Row, Scene, refused

HANDOFF: dict[str, object] = {
    "event_type": "HANDOFF",
    "to": "bob",
    "task_id": "TASK-001",
    "scope": "src/parser.py",
    "subject": "parser done",
    "summary": "grammar complete",
    "next_action": "review it",
}
BLOCKED: dict[str, object] = {
    "event_type": "BLOCKED",
    "to": "user",
    "task_id": "TASK-002",
    "subject": "no access",
    "blocker": "the token has expired",
    "requested_action": "renew it",
    "urgency": "high",
}


def listed(actor: Actor, **given: object) -> list[Row]:
    return cast("list[Row]", actor.here("protocol.list", **given)["events"])


def types(actor: Actor, **given: object) -> list[tuple[str, str | None]]:
    return [(each["event"]["event_type"], each["event"]["bead_id"]) for each in listed(actor, **given)]


def test_a_handoff_is_an_attention_message_and_an_event_in_the_v1_envelope(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    sent = cast("Row", ada.here("protocol.send", **HANDOFF))
    (message,) = bob.events(kinds=["chat.message"])
    (event,) = bob.events(kinds=["x.tally.protocol.handoff"])
    assert sent == {
        "seq": event["seq"],
        "event": {
            "id": event["id"],
            "version": "v1",
            "event_type": "HANDOFF",
            "project_root": str(scene.workspace),
            "bead_id": "TASK-001",
            "from_agent": "ada",
            "to_agent": "bob",
            "scope": "src/parser.py",
            "created_at": "2026-09-21T14:13:20.000Z",
            "payload": {
                "subject": "parser done",
                "summary": "grammar complete",
                "next_action": "review it",
                "requires_ack": True,
            },
        },
        "ack": {"required": True, "message_id": message["id"], "acked_at": None},
    }
    assert (message["by"], message["data"]["priority"], message["data"]["recipients"]) == ("ada", "attention", ["bob"])
    assert listed(bob) == [sent]
    assert maintenance.check(scene.hub) == []


def test_accepting_the_message_accepts_the_handoff(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    sent = cast("Row", ada.here("protocol.send", **HANDOFF))
    inbox = cast("Row", bob.here("messages.inbox", owed=True))
    assert [each["event"]["id"] for each in inbox["messages"]] == [sent["ack"]["message_id"]]
    scene.clock.forward(minutes=1)
    bob.here("messages.ack", event_id=sent["ack"]["message_id"])
    assert [each["ack"]["acked_at"] for each in listed(ada)] == ["2026-09-21T14:14:20.000Z"]


def test_a_handoff_that_requires_no_ack_is_an_ordinary_message(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    sent = cast("Row", ada.here("protocol.send", **HANDOFF, requires_ack=False))
    assert sent["event"]["payload"]["requires_ack"] is False
    assert sent["ack"]["required"] is False
    assert cast("Row", bob.here("messages.inbox"))["unacked"] == 0


def test_blocked_says_what_is_needed_and_always_requires_an_ack(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    sent = cast("Row", ada.here("protocol.send", **BLOCKED))
    assert sent["event"]["payload"] == {
        "subject": "no access",
        "blocker": "the token has expired",
        "requested_action": "renew it",
        "urgency": "high",
        "requires_ack": True,
    }
    assert (sent["event"]["to_agent"], sent["event"]["scope"]) == ("user", None)
    user = scene.agent("user")
    user.room_id = ada.room_id
    assert cast("Row", user.here("messages.inbox"))["unacked"] == 1


@pytest.mark.parametrize(
    ("base", "change", "code"),
    [
        (HANDOFF, {"summary": None}, "invalid_payload"),
        (HANDOFF, {"summary": " "}, "invalid_payload"),
        (HANDOFF, {"next_action": None}, "invalid_payload"),
        (HANDOFF, {"blocker": "x"}, "invalid_payload"),
        (HANDOFF, {"urgency": "low"}, "invalid_payload"),
        (HANDOFF, {"subject": ""}, "invalid_input"),
        (HANDOFF, {"subject": "  "}, "invalid_payload"),
        (HANDOFF, {"task_id": None}, "invalid_input"),
        (HANDOFF, {"to": "nobody"}, "agent_not_found"),
        (HANDOFF, {"to": "ada"}, "invalid_input"),
        (HANDOFF, {"requires_ack": "yes"}, "invalid_input"),
        (HANDOFF, {"summary": "x" * 20_000}, "too_large"),
        (BLOCKED, {"blocker": None}, "invalid_payload"),
        (BLOCKED, {"requested_action": None}, "invalid_payload"),
        (BLOCKED, {"urgency": None}, "invalid_payload"),
        (BLOCKED, {"urgency": "now"}, "invalid_input"),
        (BLOCKED, {"requires_ack": False}, "invalid_payload"),
        (BLOCKED, {"summary": "x"}, "invalid_payload"),
        (BLOCKED, {"event_type": "INCURSION"}, "invalid_input"),
        (BLOCKED, {"event_type": "RESUME"}, "invalid_input"),
        (BLOCKED, {"payload": {}}, "unknown_field"),
    ],
)
def test_what_does_not_fit_is_refused_and_leaves_nothing(
    scene: Scene, base: dict[str, object], change: dict[str, object], code: str
) -> None:
    ada, _bob = scene.joined("ada", "bob")
    before = scene.dump()
    with refused(code):
        ada.here("protocol.send", **{**base, **change})
    assert scene.dump() == before


@pytest.mark.parametrize("kind", ["x.tally.protocol.incursion", "x.tally.protocol.resume", "x.tally.protocol.handoff"])
def test_nobody_but_the_hub_writes_protocol_events_by_their_kind(scene: Scene, kind: str) -> None:
    (ada,) = scene.joined("ada")
    with scene.refused("reserved_kind"):
        ada.here("events.append", kind=kind, data={})


def test_a_stranger_says_nothing_and_a_closed_room_hears_nothing(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    with scene.refused("unknown_member"):
        scene.stranger(ada.room_id).here("protocol.send", **HANDOFF)
    ada.here("rooms.close")
    with scene.refused("room_closed"):
        ada.here("protocol.send", **HANDOFF)


def test_handing_over_the_stick_is_a_handoff_too(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.release(ada.claim())
    turn = bob.claim()
    bob.pass_to(turn, "ada")
    first, second = listed(ada)
    assert first["event"] == {
        "id": first["event"]["id"],
        "version": "v1",
        "event_type": "HANDOFF",
        "project_root": str(scene.workspace),
        "bead_id": None,
        "from_agent": "ada",
        "to_agent": "bob",
        "scope": None,
        "created_at": "2026-09-21T14:13:20.000Z",
        "payload": {
            "subject": "The stick, turn 1",
            "summary": "wrote the plan",
            "next_action": "review the plan",
            "requires_ack": False,
        },
    }
    assert first["ack"] == {"required": False, "message_id": None, "acked_at": None}
    assert (second["event"]["from_agent"], second["event"]["to_agent"]) == ("bob", "ada")


def test_they_are_listed_by_task_by_agent_and_by_type(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    bob.here("agents.register", name="amber-otter")
    ada.here("protocol.send", **HANDOFF)
    cyd.here("protocol.send", **BLOCKED)
    ada.here("reservations.reserve", path="src", task_id="TASK-001")
    with refused("reservation_conflict"):
        cyd.here("reservations.reserve", path="src/parser.py")
    every = [("HANDOFF", "TASK-001"), ("BLOCKED", "TASK-002"), ("INCURSION", "TASK-001")]
    assert types(bob) == every
    assert types(bob, task_id="TASK-001") == [every[0], every[2]]
    assert types(bob, agent_id="bob") == types(bob, agent_id="amber-otter") == [every[0]]
    assert types(bob, agent_id="cyd") == [every[1], every[2]]
    assert types(bob, agent_id="cyd", event_type="BLOCKED", task_id="TASK-002") == [every[1]]
    assert types(bob, event_type="INCURSION") == [every[2]]
    assert types(bob, task_id="TASK-001", event_type="HANDOFF") == [every[0]]
    assert types(bob, task_id="TASK-009") == []
    first = cast("Row", bob.here("protocol.list", limit=1))
    assert types(bob, after_seq=first["cursor"]) == every[1:]
    assert maintenance.check(scene.hub) == []


def test_an_incursion_has_the_same_envelope(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.here("reservations.reserve", path="src")
    with refused("reservation_conflict"):
        bob.here("reservations.reserve", path="src/parser.py")
    (found,) = listed(ada)
    event = found["event"]
    assert (event["event_type"], event["from_agent"], event["to_agent"]) == ("INCURSION", "bob", "ada")
    assert (event["scope"], event["bead_id"]) == ("src/parser.py", None)
    assert set(event["payload"]) == {
        "incursion_kind",
        "owner_agent",
        "incoming_agent",
        "owner_liveness",
        "resolution_hint",
    }


def test_coordination_never_changes_a_task(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    task = cast("Row", ada.here("tasks.create", title="the parser"))["task_id"]
    before = ada.here("tasks.show", task=task)
    ada.here("protocol.send", **{**HANDOFF, "task_id": task})
    ada.here("reservations.reserve", path="src", task_id=task)
    with refused("reservation_conflict"):
        bob.here("reservations.reserve", path="src", task_id=task)
    assert ada.here("tasks.show", task=task) == before


def test_what_is_sent_by_role_reaches_everybody_in_it_and_the_first_accepts_it(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    blocked = {**BLOCKED, "to": "@peers"}

    sent = cast("Row", ada.here("protocol.send", **blocked))

    assert (sent["event"]["to_agent"], sent["ack"]["acked_at"]) == ("@peers", None)
    assert [cast("Row", each.here("messages.inbox"))["unacked"] for each in (bob, cyd)] == [1, 1]
    assert [listed(ada, agent_id=name) for name in ("bob", "cyd")] == [[sent], [sent]]
    scene.clock.forward(minutes=1)
    cyd.here("messages.ack", event_id=sent["ack"]["message_id"])
    scene.clock.forward(minutes=1)
    bob.here("messages.ack", event_id=sent["ack"]["message_id"])
    assert [each["ack"]["acked_at"] for each in listed(ada)] == ["2026-09-21T14:14:20.000Z"]
    assert maintenance.check(scene.hub) == []


def test_a_role_that_nobody_has_is_refused(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    with scene.refused("unknown_recipient"):
        ada.here("protocol.send", **{**BLOCKED, "to": "@foreman"})
