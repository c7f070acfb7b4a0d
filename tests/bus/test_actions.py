"""Actions on the bus: handed to whoever is connected, in order, and answered to whoever asked."""

from __future__ import annotations

from tests.actions.calls import control, message
from tests.bus.talking import BusSession


def test_an_action_reaches_its_target_whole_and_the_result_its_requester(bus_session: BusSession) -> None:
    boss, worker = bus_session.agents("boss", "worker")

    placed = boss.submit(message("a1", "worker", "plan it"), group="g1", context={"context_id": "c1"}, task_id="t1")
    got = worker.receive("action.submit")
    worker.answer("a1", "completed", detail="done", data={"pages": 3})
    result = boss.receive("action.result")

    (action,) = got["payload"]["actions"]
    assert (got["src"], got["dst"], got["session"], got["seq"]) == (
        "boss",
        "worker",
        bus_session.session,
        placed["actions"][0]["seq"],
    )
    assert got["payload"] == {
        "group_id": "g1",
        "context": {"context_id": "c1", "owner_id": "boss"},
        "task_id": "t1",
        "actions": [
            {
                "type": "message",
                "dst": "worker",
                "action_id": "a1",
                "action_index": 0,
                "kind": "user",
                "text": "plan it",
                "message_id": action["message_id"],
            }
        ],
    }
    assert (result["src"], result["dst"], result["session"], result["payload"]) == (
        "worker",
        "boss",
        bus_session.session,
        {
            "group_id": "g1",
            "action_id": "a1",
            "action_index": 0,
            "status": "completed",
            "detail": "done",
            "data": {"pages": 3},
        },
    )


def test_one_envelope_carries_actions_for_many_and_results_correlate_by_index(bus_session: BusSession) -> None:
    boss, left, right = bus_session.agents("boss", "left", "right")

    boss.submit(message("a0", "left"), message("a1", "right"), control("a2", "left", "compact"))
    assert (left.handed(), right.handed()) == ("a0", "a1")
    right.answer("a1", "rejected")
    left.answer("a0", "completed")
    assert left.handed() == "a2"
    left.answer("a2", "error")

    results = [boss.receive("action.result")["payload"] for _ in range(3)]
    assert [(each["action_id"], each["action_index"], each["status"]) for each in results] == [
        ("a1", 1, "rejected"),
        ("a0", 0, "completed"),
        ("a2", 2, "error"),
    ]


def test_actions_come_one_at_a_time_and_an_interrupt_overtakes(bus_session: BusSession) -> None:
    boss, worker = bus_session.agents("boss", "worker")
    boss.submit(message("a1", "worker"), control("a2", "worker", "new"), message("a3", "worker"))

    order = [worker.handed()]
    worker.answer("a1", "accepted")
    order.append(worker.handed())
    worker.answer("a2", "accepted")
    boss.submit(control("stop", "worker", "interrupt"))
    order.append(worker.handed())
    worker.answer("stop", "completed")
    worker.answer("a2", "completed")
    order.append(worker.handed())

    assert order == ["a1", "a2", "stop", "a3"]


def test_what_was_submitted_before_its_target_came_is_delivered_when_it_comes(bus_session: BusSession) -> None:
    boss, worker = bus_session.agents("boss", "worker")
    worker.close()
    boss.submit(message("a1", "worker"), message("a2", "worker"))

    (again,) = bus_session.agents("worker")

    assert again.handed() == "a1"
    again.answer("a1", "accepted")
    assert again.handed() == "a2"


def test_what_was_delivered_and_not_answered_is_delivered_again_after_a_reconnect(bus_session: BusSession) -> None:
    boss, worker = bus_session.agents("boss", "worker")
    boss.submit(message("a1", "worker"))
    first = worker.receive("action.submit")
    worker.close()

    (again,) = bus_session.agents("worker")

    assert again.receive("action.submit") == first


def test_what_was_answered_is_never_delivered_again(bus_session: BusSession) -> None:
    boss, worker = bus_session.agents("boss", "worker")
    boss.submit(message("a1", "worker"), message("a2", "worker"))
    assert worker.handed() == "a1"
    worker.answer("a1", "accepted")
    assert worker.handed() == "a2"
    worker.answer("a2", "queued")
    worker.close()

    (again,) = bus_session.agents("worker")
    boss.submit(message("a3", "worker"))
    again.answer("a2", "completed")

    assert again.handed() == "a3"


def test_a_second_connection_of_an_agent_replaces_the_first(bus_session: BusSession) -> None:
    boss, worker = bus_session.agents("boss", "worker")
    boss.submit(message("a1", "worker"))
    assert worker.handed() == "a1"

    (second,) = bus_session.agents("worker")
    told = worker.receive("agent.replaced")
    assert second.handed() == "a1"
    second.answer("a1", "completed")
    boss.submit(message("a2", "worker"))

    assert second.handed() == "a2"
    assert told["payload"] == {"id": "worker", "reason": "replaced by another connection"}


def test_results_that_came_while_their_requester_was_away_wait_for_it(bus_session: BusSession) -> None:
    boss, worker = bus_session.agents("boss", "worker")
    boss.submit(message("a1", "worker"), message("a2", "worker"))
    worker.answer("a1", "completed")
    seen = boss.receive("action.result")["seq"]
    boss.close()
    worker.answer("a2", "accepted", "completed")

    back = bus_session.peer("boss")
    back.do("agent.add", {"id": "boss", "since_seq": seen})

    results = [back.receive("action.result")["payload"] for _ in range(2)]
    assert [(each["action_id"], each["status"]) for each in results] == [("a2", "accepted"), ("a2", "completed")]


def test_what_waits_for_an_agent_that_is_removed_comes_back_to_who_asked(bus_session: BusSession) -> None:
    boss, worker = bus_session.agents("boss", "worker")
    boss.submit(message("a1", "worker"))
    assert worker.handed() == "a1"

    assert worker.do("agent.remove", {"id": "worker"}) == {"id": "worker", "removed": True}
    reply = boss.ask("action.submit", {"group_id": "g2", "actions": [message("a2", "worker")]})
    assert reply["error"]["code"] == "agent_not_found"

    said = boss.receive("action.result")["payload"]
    assert (said["action_id"], said["status"], said["detail"]) == ("a1", "rejected", "worker left the room")


def test_an_action_that_was_submitted_elsewhere_is_delivered_like_any_other(bus_session: BusSession) -> None:
    (worker,) = bus_session.agents("worker")

    bus_session.hub.user.call(
        "actions.submit", room_id=bus_session.session, group_id="g1", actions=[message("a1", "worker", "from the page")]
    )

    assert worker.handed() == "a1"


def test_the_same_submission_with_its_key_is_done_once_per_session_and_sender(bus_session: BusSession) -> None:
    boss, worker = bus_session.agents("boss", "worker")
    payload = {"group_id": "g1", "actions": [message("a1", "worker")]}
    first = boss.do("action.submit", payload, idempotency_key="k1")

    assert boss.do("action.submit", payload, idempotency_key="k1") == first
    other = {"group_id": "g2", "actions": [message("a2", "worker")]}
    assert boss.refused("action.submit", other, idempotency_key="k1") == "idempotency_conflict"
    mine = {"group_id": "g3", "actions": [message("a3", "boss")]}
    worker.do("action.submit", mine, idempotency_key="k1")
    elsewhere = boss.ask("session.create", {"name": "another"})["session"]
    boss.do("agent.add", {"id": "boss"}, session=elsewhere)
    assert boss.refused("action.submit", other, idempotency_key="k1", session=elsewhere) == "agent_not_found"


def test_a_connection_that_was_replaced_answers_no_more(bus_session: BusSession) -> None:
    boss, worker = bus_session.agents("boss", "worker")
    boss.submit(message("a1", "worker"))
    assert worker.handed() == "a1"
    (newer,) = bus_session.agents("worker")
    worker.receive("agent.replaced")
    assert newer.handed() == "a1"
    result = {"action_id": "a1", "status": "accepted"}

    for type in ("action.result", "actions.result"):
        assert worker.refused(type, result) == "connection_replaced"
    worker.do("agent.add", {"id": "worker"})

    assert worker.handed() == "a1"
    worker.do("action.result", result)


def test_refusals_of_the_rules_reach_the_sender_by_their_codes(bus_session: BusSession) -> None:
    boss, worker = bus_session.agents("boss", "worker")
    boss.submit(message("a1", "worker"), message("a2", "worker"), group="g1", context={"context_id": "c1"})

    def result(action_id: str, status: str) -> str:
        return worker.refused("action.result", {"action_id": action_id, "status": status})

    assert boss.refused("action.result", {"action_id": "a1", "status": "completed"}) == "not_target"
    assert result("a2", "completed") == "not_delivered"
    worker.answer("a1", "completed")
    assert result("a1", "completed") == "action_finished"
    again = {"group_id": "g9", "actions": [message("b1", "boss")], "context": {"context_id": "c1"}}
    assert worker.refused("action.submit", again) == "not_owner"
    assert boss.refused("action.submit", {"group_id": "g1", "actions": [message("a3", "worker")]}) == "duplicate_group"
    assert boss.refused("action.submit", {**again, "room_id": "x"}) == "unknown_field"
