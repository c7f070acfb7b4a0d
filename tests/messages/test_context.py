"""The context a room shares: small named values, each change an event."""

from __future__ import annotations

import pytest

from tests.messages.talk import human, principal
from tests.scene import Scene, refused


def test_a_change_is_an_event_and_everyone_sees_the_values(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ops = [{"op": "set", "name": "goal", "value": "ship"}, {"op": "set", "name": "branch", "value": {"name": "v2"}}]
    synced = ada.here("context.sync", ops=ops)
    (event,) = bob.events(kinds=["context.sync"])
    entries = {"branch": {"name": "v2"}, "goal": "ship"}
    assert synced == {"revision": event["seq"], "changed": True, "entries": entries}
    assert (event["by"], event["data"]) == ("ada", {"ops": ops})
    assert bob.here("context.sync") == {**synced, "changed": False}


def test_what_changes_nothing_leaves_no_event(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    first = ada.here("context.sync", ops=[{"op": "set", "name": "a", "value": 1}])
    same = [{"op": "set", "name": "a", "value": 1}, {"op": "delete", "name": "b"}]
    assert ada.here("context.sync", ops=same) == {**first, "changed": False}
    mixed = [*same, {"op": "delete", "name": "a"}]
    assert ada.here("context.sync", ops=mixed)["entries"] == {}
    assert [event["data"]["ops"] for event in ada.events(kinds=["context.sync"])] == [
        [{"op": "set", "name": "a", "value": 1}],
        [{"op": "delete", "name": "a"}],
    ]


def test_values_that_python_takes_for_equal_are_different_values(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    values: list[object] = [1, True, 1.5, "1", None, [1], {}]
    for value in values:
        assert ada.here("context.sync", ops=[{"op": "set", "name": "a", "value": value}])["changed"] is True
        assert ada.here("context.sync")["entries"] == {"a": value}


def test_only_members_and_other_principals_change_the_context(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    change = {"ops": [{"op": "set", "name": "a", "value": 1}]}
    stranger = scene.stranger(ada.room_id)
    assert stranger.here("context.sync") == {"revision": 0, "changed": False, "entries": {}}
    with refused("unknown_member"):
        stranger.here("context.sync", **change)
    human(scene, ada.room_id).here("context.sync", **change)
    principal(scene, ada.room_id, "svc:ci").here("context.sync", ops=[{"op": "delete", "name": "a"}])
    assert [event["by"] for event in ada.events(kinds=["context.sync"])] == ["user", "svc:ci"]


@pytest.mark.parametrize(
    "op",
    [
        {"op": "merge", "name": "a"},
        {"op": "set"},
        {"op": "set", "name": ""},
        {"op": "set", "name": "a\x00", "value": 1},
        {"op": "set", "name": "a", "value": float("nan")},
        {"op": "set", "name": "a", "value": "\ud800"},
    ],
)
def test_a_change_that_makes_no_sense_is_refused(scene: Scene, op: dict[str, object]) -> None:
    (ada,) = scene.joined("ada")
    with scene.refused("invalid_input"):
        ada.here("context.sync", ops=[op])


def test_the_context_is_bounded(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    for start in (0, 100):
        ada.here("context.sync", ops=[{"op": "set", "name": str(start + n), "value": n} for n in range(100)])
    with refused("too_large") as caught:
        ada.here("context.sync", ops=[{"op": "set", "name": "one more", "value": 1}])
    assert caught.value.details == {"field": "ops", "limit": 200}
    with refused("too_large"):
        ada.here("context.sync", ops=[{"op": "set", "name": "0", "value": "x" * 300_000}])
