"""A sign of life is written beside what was asked, and never in its way."""

from __future__ import annotations

import pytest

from tallystick.storage.errors import StoreBusy
from tests.scene import Scene


def test_a_read_is_answered_although_the_callers_presence_cannot_be_written(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a process that was stopped holds the store, or its disk is full."""
    (ada,) = scene.joined("ada")
    scene.clock.forward(minutes=1)

    def busy(*_: object) -> object:
        raise StoreBusy

    monkeypatch.setattr(type(scene.store), "write", busy)

    assert ada.here("rooms.show")["room_id"] == ada.room_id
