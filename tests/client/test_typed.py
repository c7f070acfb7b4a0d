"""Calls with a contract's structs: what is sent, and what an answer of another shape comes to."""

from __future__ import annotations

import pytest

from tallystick.capabilities.jobs.contract import ClaimJob
from tallystick.capabilities.rooms.contract import ListRooms, Rooms
from tallystick.client import typed
from tallystick.client.calls import NoAnswer


class Recorder:
    """Answers everything alike and keeps what it was asked."""

    def __init__(self, answer: dict[str, object]) -> None:
        self.asked: list[tuple[str, dict[str, object]]] = []
        self._answer = answer

    def call(self, operation: str, /, **given: object) -> dict[str, object]:
        self.asked.append((operation, given))
        return self._answer


def test_only_what_was_given_is_sent_so_that_a_hub_of_another_version_takes_it() -> None:
    client = Recorder({"rooms": []})

    found = typed.call(client, "rooms.list", ListRooms(limit=1), Rooms)

    assert (found, client.asked) == (Rooms(rooms=[]), [("rooms.list", {"limit": 1})])


def test_a_field_that_has_no_default_is_always_sent() -> None:
    ask = ClaimJob(room_id="R", runner_id="r1", allow_stale=False)

    assert typed.given(ask) == {"room_id": "R", "runner_id": "r1"}


def test_an_answer_of_another_shape_is_no_answer() -> None:
    with pytest.raises(NoAnswer, match="no Rooms"):
        typed.call(Recorder({"rooms": "none"}), "rooms.list", ListRooms(), Rooms)
