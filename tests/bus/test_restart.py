"""A hub that is killed and started again goes on where the last answered action left off."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.actions.calls import control, message
from tests.bus.talking import WAYS, BusSession, running
from tests.places import Place


@pytest.mark.parametrize("way", list(WAYS))
def test_order_and_what_was_answered_survive_a_kill_of_the_hub(place: Place, way: str) -> None:
    hub = running(place.data_dir.parent, place.database_url).start()
    bus_session = BusSession(hub, WAYS[way])
    try:
        boss, worker = bus_session.agents("boss", "worker")
        boss.submit(message("a1", "worker"), message("a2", "worker"), control("a3", "worker", "new"))
        boss.submit(message("a4", "worker"))
        assert worker.handed() == "a1"
        worker.answer("a1", "accepted")
        assert worker.handed() == "a2"
        results_after = boss.receive("action.result")["seq"]

        hub.kill()
        hub.start()

        (worker,) = bus_session.agents("worker")
        boss = bus_session.peer("boss")
        boss.do("agent.add", {"id": "boss", "since_seq": results_after})
        assert worker.handed() == "a2"
        worker.answer("a2", "completed")
        assert worker.handed() == "a3"
        worker.answer("a3", "completed")
        assert worker.handed() == "a4"
        worker.answer("a1", "completed")
        worker.answer("a4", "completed")
        results = [boss.receive("action.result")["payload"] for _ in range(4)]
    finally:
        bus_session.close()
        hub.stop()

    assert [(each["action_id"], each["status"]) for each in results] == [
        ("a2", "completed"),
        ("a3", "completed"),
        ("a1", "completed"),
        ("a4", "completed"),
    ]


def test_a_keyed_submission_that_is_repeated_after_a_kill_is_done_once(tmp_path: Path) -> None:
    hub = running(tmp_path).start()
    bus_session = BusSession(hub, WAYS["socket"])
    try:
        boss, _ = bus_session.agents("boss", "worker")
        payload = {"group_id": "g1", "actions": [message("a1", "worker")]}
        first = boss.do("action.submit", payload, idempotency_key="g1")

        hub.kill()
        hub.start()

        (boss,) = bus_session.agents("boss")
        again = boss.do("action.submit", payload, idempotency_key="g1")
    finally:
        bus_session.close()
        hub.stop()

    assert again == first
