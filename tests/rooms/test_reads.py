"""Reading is free: whoever is no member leaves no trace, whatever it reads."""

from __future__ import annotations

from contextlib import suppress

from tallystick.hub import registry
from tallystick.kernel.errors import Refused
from tests.scene import Scene

READS = sorted(name for name, operation in registry.OPERATIONS.items() if not operation.writes)


def example(scene: Scene, name: str, room_id: str) -> list[dict[str, object]]:
    """An operation's own examples, made to fit this scene."""
    fields = registry.OPERATIONS[name].ask.__struct_fields__
    fitting: dict[str, object] = {
        "room_id": room_id,
        "context_path": str(scene.folder("somewhere/below")),
        "max_wait_ms": 0,
    }
    fit = {field: value for field, value in fitting.items() if field in fields}
    return [{**given, **fit} for given in registry.OPERATIONS[name].examples]


def test_a_read_by_a_stranger_creates_nothing(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    ada.release(ada.claim())
    ada.here("notes.add", body="a note")
    scene.clock.forward(minutes=10)
    stranger = scene.stranger(ada.room_id)
    before = scene.dump()
    for name in READS:
        for given in example(scene, name, ada.room_id):
            with suppress(Refused):
                stranger.call(name, **given)
        assert scene.dump() == before, name


def test_a_read_in_an_empty_store_creates_nothing(scene: Scene) -> None:
    before = scene.dump()
    for name in READS:
        for given in example(scene, name, "no-such-room"):
            with suppress(Refused):
                scene.agent("ada").call(name, **given)
        assert scene.dump() == before, name


def test_a_members_read_refreshes_its_presence_and_nothing_else(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    scene.clock.forward(minutes=10)
    before = scene.dump()
    ada.state()
    ada.history()
    ada.events()
    after = scene.dump()
    assert {table for table in after if after[table] != before[table]} == {"presence"}
