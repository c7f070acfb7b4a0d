"""A room's own timeouts: bounds, partial changes, and that they count from then on."""

from __future__ import annotations

from typing import cast

import pytest

from tests.scene import Scene, refused

DAY = 24 * 60 * 60_000
BOUNDS = [
    ("owner_lease_ttl_ms", 100, 30 * DAY),
    ("heartbeat_interval_ms", 50, DAY),
    ("claim_ttl_ms", 100, 30 * DAY),
    ("wait_for_turn_max_wait_ms", 0, 110_000),
    ("wait_for_turn_poll_ms", 10, 1_000),
    ("presence_ttl_ms", 10_000, 30 * DAY),
    ("ack_overdue_ms", 1_000, 30 * DAY),
]


def test_what_is_left_out_stays(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    before = cast("dict[str, int]", ada.state()["policy"])
    changed = ada.here("rooms.set_policy", claim_ttl_ms=300_000)
    assert changed == {"room_id": ada.room_id, "changed": True, "policy": {**before, "claim_ttl_ms": 300_000}}
    assert ada.state()["policy"] == changed["policy"]
    # What counts as proof, and the mode, are written only where they are not the usual.
    times = {
        name: value for name, value in {**before, "claim_ttl_ms": 300_000}.items() if name not in {"proof", "mode"}
    }
    assert ada.events()[-1]["data"] == {"policy": times}


def test_a_change_that_changes_nothing_appends_nothing(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    before = scene.dump()
    policy = cast("dict[str, int]", ada.state()["policy"])
    assert ada.here("rooms.set_policy") == {"room_id": ada.room_id, "changed": False, "policy": policy}
    assert ada.here("rooms.set_policy", **policy)["changed"] is False
    assert scene.dump() == before


@pytest.mark.parametrize(("field", "lowest", "highest"), BOUNDS)
def test_every_value_has_bounds_that_the_refusal_names(scene: Scene, field: str, lowest: int, highest: int) -> None:
    (ada,) = scene.joined("ada")
    for value, bound in ((lowest - 1, lowest), (highest + 1, highest)):
        with refused("invalid_input") as caught:
            ada.here("rooms.set_policy", **{field: value})
        assert caught.value.details == {"field": field}
        assert str(bound) in caught.value.message


@pytest.mark.parametrize(("field", "lowest", "highest"), BOUNDS)
def test_the_bounds_themselves_are_allowed(scene: Scene, field: str, lowest: int, highest: int) -> None:
    (ada,) = scene.joined("ada")
    room = {"owner_lease_ttl_ms": 30 * DAY, "heartbeat_interval_ms": 50}
    for value in (max(lowest, 51) if field == "owner_lease_ttl_ms" else lowest, highest):
        policy = cast("dict[str, int]", ada.here("rooms.set_policy", **{**room, field: value})["policy"])
        assert policy[field] == value


@pytest.mark.parametrize(
    "given",
    [
        {"heartbeat_interval_ms": 2_700_000},
        {"owner_lease_ttl_ms": 300_000},
        {"owner_lease_ttl_ms": 1000, "heartbeat_interval_ms": 1000},
    ],
)
def test_a_heartbeat_interval_as_long_as_the_lease_is_refused(scene: Scene, given: dict[str, object]) -> None:
    (ada,) = scene.joined("ada")
    before = scene.dump()
    with refused("invalid_policy") as caught:
        ada.here("rooms.set_policy", **given)
    assert caught.value.details == {"field": "heartbeat_interval_ms"}
    assert scene.dump() == before


def test_a_new_lease_time_counts_from_the_next_renewal(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    turn = ada.claim()
    ada.here("rooms.set_policy", owner_lease_ttl_ms=1000, heartbeat_interval_ms=100)
    assert ada.state()["lease_expires_at"] == "2026-09-21T14:58:20.000Z"
    assert ada.owner("turns.heartbeat", turn)["lease_expires_at"] == "2026-09-21T14:13:21.000Z"
    scene.clock.forward(ms=1000)
    assert bob.look()["reason"] == "owner_timeout"


def test_a_new_claim_time_counts_from_the_next_handoff(scene: Scene) -> None:
    ada, _bob, cyd = scene.joined("ada", "bob", "cyd")
    turn = ada.claim()
    cyd.here("rooms.set_policy", claim_ttl_ms=1000)
    ada.release(turn)
    scene.clock.forward(ms=999)
    assert cyd.look()["status"] == "not_yet"
    scene.clock.forward(ms=1)
    assert cyd.look()["reason"] == "claim_timeout"


def test_a_new_presence_time_counts_at_once(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    scene.clock.forward(ms=10_000)
    ada.here("rooms.set_policy", presence_ttl_ms=10_000)
    assert [(member["agent_id"], member["status"]) for member in ada.members()] == [("ada", "active")]


def test_a_policy_counts_for_its_room_only(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    ada.here("rooms.set_policy", claim_ttl_ms=1000)
    other = ada.join(scene.folder("nested"), force_new=True)
    assert cast("dict[str, int]", other["policy"])["claim_ttl_ms"] == 1_200_000


def test_a_stranger_cannot_change_the_policy(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    with scene.refused("unknown_member"):
        scene.stranger(ada.room_id).here("rooms.set_policy", claim_ttl_ms=1000)
