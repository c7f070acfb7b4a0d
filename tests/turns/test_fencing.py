"""Old leases, wrong turns and the order in which refusals are found."""

from __future__ import annotations

import pytest

from tallystick.kernel.errors import TallyError
from tests.scene import HANDOFF, Scene, Turn

OWNER_CALLS: list[tuple[str, dict[str, object]]] = [
    ("turns.heartbeat", {}),
    ("turns.release", {"handoff": HANDOFF}),
    ("turns.pass", {"handoff": HANDOFF, "to_agent_id": "bob"}),
]


@pytest.mark.parametrize(("operation", "given"), OWNER_CALLS)
def test_a_wrong_turn_is_found_before_a_wrong_lease(scene: Scene, operation: str, given: dict[str, object]) -> None:
    ada, _bob = scene.joined("ada", "bob")
    ada.claim()
    with pytest.raises(TallyError) as caught:
        ada.owner(operation, Turn(ada.room_id, 99, "nonsense"), **given)
    assert (caught.value.code, dict(caught.value.details)) == (
        "turn_mismatch",
        {"current_owner": "ada", "current_turn_id": 1, "room_state": "owned"},
    )


@pytest.mark.parametrize(("operation", "given"), OWNER_CALLS)
def test_the_right_turn_with_another_lease_is_stale(scene: Scene, operation: str, given: dict[str, object]) -> None:
    ada, _bob = scene.joined("ada", "bob")
    turn = ada.claim()
    with pytest.raises(TallyError) as caught:
        ada.owner(operation, Turn(ada.room_id, turn.turn_id, "0192f0c4-0000-7000-8000-000000000000"), **given)
    assert (caught.value.code, dict(caught.value.details)) == (
        "stale_lease",
        {"current_owner": "ada", "current_turn_id": 1, "room_state": "owned"},
    )


@pytest.mark.parametrize(("operation", "given"), OWNER_CALLS)
def test_somebody_elses_lease_is_worth_nothing(scene: Scene, operation: str, given: dict[str, object]) -> None:
    ada, bob = scene.joined("ada", "bob")
    turn = ada.claim()
    with pytest.raises(TallyError) as caught:
        bob.owner(operation, turn, **given)
    assert caught.value.code == "stale_lease"


@pytest.mark.parametrize(("operation", "given"), OWNER_CALLS)
def test_a_lease_ends_with_its_release(scene: Scene, operation: str, given: dict[str, object]) -> None:
    ada, _bob = scene.joined("ada", "bob")
    turn = ada.claim()
    ada.release(turn)
    with pytest.raises(TallyError) as caught:
        ada.owner(operation, turn, **given)
    assert (caught.value.code, caught.value.details["current_owner"]) == ("stale_lease", None)


@pytest.mark.parametrize(("operation", "given"), OWNER_CALLS)
def test_a_fenced_write_changes_nothing_and_tells_the_agent_to_stop(
    scene: Scene, operation: str, given: dict[str, object]
) -> None:
    ada, bob = scene.joined("ada", "bob")
    turn = ada.claim()
    before = scene.dump()
    for actor, stale in ((bob, turn), (ada, Turn(ada.room_id, 0, turn.lease_id)), (ada, Turn(ada.room_id, 1, "old"))):
        with pytest.raises(TallyError) as caught:
            actor.owner(operation, stale, **given)
        assert caught.value.advice.startswith("Stop working")
    assert scene.dump() == before


def test_a_takeover_fences_the_former_owner_out(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    turn = ada.claim()
    scene.clock.forward(minutes=46)
    bob.take_over(turn.turn_id, "owner lease expired")
    for operation, given in OWNER_CALLS:
        with pytest.raises(TallyError) as caught:
            ada.owner(operation, turn, **given)
        assert caught.value.code == "turn_mismatch"
    with pytest.raises(TallyError) as caught:
        ada.owner("turns.heartbeat", Turn(ada.room_id, 2, turn.lease_id))
    assert caught.value.code == "stale_lease"
    assert bob.state()["owner"] == "bob"


def test_leases_are_never_reused(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    seen: set[str] = set()
    for _ in range(20):
        turn = ada.claim()
        seen.add(turn.lease_id)
        ada.release(turn)
    assert len(seen) == 20


def test_an_unknown_room_is_refused_before_anything_else(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    ada.room_id = "no-such-room"
    for call in (ada.look, ada.state, lambda: ada.take_over(0), lambda: ada.release(Turn("", 1, "x"))):
        with pytest.raises(TallyError) as caught:
            call()
        assert caught.value.code == "room_not_found"
