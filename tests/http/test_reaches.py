"""What a token may do: every operation asks for a reach, and a token with less is refused."""

from __future__ import annotations

import json
from typing import cast

import pytest

from tallystick.hub.registry import OPERATIONS
from tallystick.kernel import operation as kernel
from tallystick.kernel.operation import AnyOperation, Reach
from tallystick.surfaces.http import commands
from tests.http.running import Client, Json, RunningHub

EVERY = sorted(OPERATIONS.values(), key=lambda operation: operation.name)
SPEAK = (
    "agents.heartbeat agents.register agents.update blobs.put messages.ack messages.react messages.read messages.relay "
    "messages.send notes.add notifications.ack notifications.send protocol.send rooms.join rooms.leave"
)
MANAGE = "rooms.attach_scope rooms.close rooms.reorder rooms.set_policy"


@pytest.fixture(scope="module")
def holders(hub: RunningHub) -> dict[Reach, Client]:
    return {reach: hub.agent(f"holder-{reach}", reach=reach) for reach in Reach}


def test_an_operation_without_a_reach_cannot_be_declared() -> None:
    with pytest.raises(TypeError, match="reach"):
        kernel.operation("notes.pin")  # pyright: ignore[reportCallIssue]


def test_what_only_speaks_and_what_decides_for_everybody_is_known_by_name() -> None:
    assert " ".join(each.name for each in EVERY if each.reach is Reach.SPEAK) == SPEAK
    assert {each.name for each in EVERY if each.reach is Reach.MANAGE} >= set(MANAGE.split())
    assert [each.name for each in EVERY if each.writes and each.reach is Reach.READ] == []
    assert [each.name for each in EVERY if not each.writes and each.reach is not Reach.READ] == ["turns.wait"]


def test_fields_that_need_more_than_their_operation_are_known_by_name() -> None:
    assert {(each.name, field): reach for each in EVERY for field, reach in each.ask.reaches.items()} == {
        ("agents.register", "role"): Reach.MANAGE,
        ("agents.update", "role"): Reach.MANAGE,
        ("jobs.radar", "reply_job"): Reach.WORK,
        ("jobs.radar", "reply_message"): Reach.WORK,
        ("jobs.radar", "reply_refs"): Reach.WORK,
    }
    assert all(field in each.ask.__struct_fields__ for each in EVERY for field in each.ask.reaches)


@pytest.mark.parametrize("operation", EVERY, ids=lambda operation: operation.name)
def test_a_token_does_what_its_reach_includes_and_nothing_else(
    holders: dict[Reach, Client], operation: AnyOperation
) -> None:
    wrong: Json = {"no_such_field": 1}  # What passes the reach goes no further than this.

    for reach, holder in holders.items():
        reply = holder.post(operation.name, wrong)

        if reach.includes(operation.reach):
            assert reply.status == 400
        else:
            assert reply.refused == (403, "reach_too_short")
            assert reply.error["details"] == {"needs": operation.reach, "reach": reach}


def test_a_field_that_needs_more_is_refused_by_itself(holders: dict[Reach, Client]) -> None:
    for operation, field, needed in [(each, *need) for each in EVERY for need in each.ask.reaches.items()]:
        for reach, holder in holders.items():
            if reach.includes(operation.reach):
                reply = holder.post(operation.name, {field: "x", "no_such_field": 1})

                assert reply.status == (400 if reach.includes(needed) else 403)


def test_the_user_of_the_machine_manages_and_whoever_owns_the_store_needs_no_token(
    process_hub: RunningHub,
) -> None:
    room = process_hub.user.room()

    for manager in (process_hub.user, process_hub.local):
        manager.call("rooms.join", room_id=room)
        manager.call("rooms.set_policy", room_id=room, claim_ttl_ms=300_000)
    process_hub.local.call("rooms.close", room_id=room, reason="done")


def test_a_token_that_works_closes_no_room_and_sets_no_policy(hub: RunningHub) -> None:
    room = hub.user.room()
    mallory = hub.agent("mallory", room)
    mallory.call("rooms.join", room_id=room)

    beyond: dict[str, Json] = {
        "rooms.close": {},
        "rooms.set_policy": {"claim_ttl_ms": 1_000},
        "agents.update": {"role": "foreman"},
    }
    for operation, more in beyond.items():
        assert mallory.post(operation, {"room_id": room, **more}).refused == (403, "reach_too_short")
    assert mallory.call("agents.update", room_id=room, name="amber-otter")["changed"]


def test_bytes_are_put_only_by_a_token_that_speaks(hub: RunningHub) -> None:
    room = hub.user.room()
    put = f"/v1/blobs.put?room_id={room}&mime_type=text/plain"

    assert hub.agent("reader", room, Reach.READ).request("PUT", put, b"x").refused == (403, "reach_too_short")
    assert hub.agent("svc:speaker", room, Reach.SPEAK).request("PUT", put, b"x").status == 200


def test_the_bus_asks_for_the_same_reach(hub: RunningHub) -> None:
    room = hub.user.room()
    envelope: Json = {
        "v": 1,
        "id": "1",
        "ts": "2026-01-01T00:00:00Z",
        "src": "worker",
        "session": room,
        "type": "session.close",
        "payload": {},
    }

    reply = hub.agent("worker", room).request(
        "POST", "/v1/bus", json.dumps(envelope).encode(), Content_Type="application/json"
    )

    assert (reply.status, cast("Json", reply.json["error"])["code"]) == (403, "reach_too_short")


def test_help_knows_every_reach() -> None:
    assert tuple(Reach) == commands.REACHES
