"""The list of operations: found by name, or by a name that is nearly right."""

from __future__ import annotations

import pytest

from tallystick import __version__
from tallystick.hub import registry
from tallystick.kernel.operation import AnyOperation
from tests.scene import Scene, refused

OPERATIONS = sorted(registry.OPERATIONS.values(), key=lambda operation: operation.name)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("turns.relase", "turns.release"),
        ("turn.wait", "turns.wait"),
        ("rooms.joins", "rooms.join"),
        ("ROOMS.JOIN", None),
        ("", None),
        ("x" * 100, None),
    ],
)
def test_an_unknown_operation_comes_with_the_nearest_name(scene: Scene, name: str, meant: str | None) -> None:
    with refused("unknown_operation") as caught:
        scene.agent("ada").call(name)
    nearest = f" Did you mean '{meant}'?" if meant else ""
    assert caught.value.message == f"There is no operation '{name[:80]}'.{nearest}"


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_operation_says_what_it_does_in_one_sentence_first(operation: AnyOperation) -> None:
    assert operation.summary.endswith(".")
    assert operation.answer


def test_no_capability_declares_an_operation_twice() -> None:
    declared = [operation.name for capability in registry.CAPABILITIES for operation in capability.operations]
    assert sorted(declared) == sorted(set(declared))


def test_no_everyday_command_is_given_twice() -> None:
    shorts = [operation.short for operation in OPERATIONS if operation.short]
    assert sorted(shorts) == sorted(set(shorts))


def test_the_hub_says_what_it_supports(scene: Scene) -> None:
    said = scene.agent("ada").call("hub.capabilities")
    assert said == {
        "version": __version__,
        "envelope_versions": [1],
        "cursors": ["since_seq", "since_event_id"],
        "filters": ["kinds", "limit", "since_ts"],
        "limits": said["limits"],
        "operations": [operation.name for operation in OPERATIONS],
    }


def test_the_hub_says_whether_it_is_well(scene: Scene) -> None:
    ada = scene.agent("ada")
    assert ada.call("hub.health") == {"ok": True, "rooms": 0}
    ada.join()
    assert ada.call("hub.health") == {"ok": True, "rooms": 1}
