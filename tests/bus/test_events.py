"""Messages, tasks, history and following: what is on the ledger, seen through the bus."""

from __future__ import annotations

import pytest

from tallystick.bus import records
from tests.actions.calls import message
from tests.bus.talking import BusSession, Row


def test_a_message_is_an_event_and_is_in_the_inbox(bus_session: BusSession) -> None:
    boss, worker = bus_session.agents("boss", "worker")
    worker.do("events.stream", {"types": ["message.created"]})
    first = boss.do("message.created", {"text": "we begin", "context_id": "c1", "task_id": "t1"}, dst="worker")

    done = boss.do(
        "message.created",
        {"text": "and go on", "context_id": "c1", "owner_id": "boss", "parent_message_id": first["message_id"]},
    )

    seen = [worker.receive("events.record")["payload"]["envelope"] for _ in range(2)]
    assert [(each["type"], each["src"], each.get("dst")) for each in seen] == [
        ("message.created", "boss", "worker"),
        ("message.created", "boss", None),
    ]
    common = {"kind": "user", "context_id": "c1", "priority": "normal"}
    assert [each["payload"] for each in seen] == [
        {"text": "we begin", "task_id": "t1", **common},
        {"text": "and go on", "owner_id": "boss", "parent_message_id": first["message_id"], **common},
    ]
    assert (first["recipients"], done["recipients"]) == (["worker"], ["user", "worker"])
    inbox: list[Row] = worker.do("messages.inbox")["messages"]
    assert [each["event"]["data"]["text"] for each in inbox] == ["we begin", "and go on"]


def test_a_message_answers_an_action_once(bus_session: BusSession) -> None:
    boss, worker = bus_session.agents("boss", "worker")
    boss.submit(message("a1", "worker", "plan it"))
    reply = {"text": "a plan", "kind": "reply", "reply_to_action_id": "a1"}

    worker.do("message.created", reply, dst="boss")

    assert worker.refused("message.created", reply, dst="boss") == "already_replied"
    (record,) = boss.do("events.history", {"types": ["message.created"], "limit": 1})["records"]
    assert record["envelope"]["payload"] == {
        "text": "a plan",
        "kind": "reply",
        "reply_to_action_id": "a1",
        "priority": "normal",
    }


@pytest.mark.parametrize("kind", ["control", "system"])
def test_a_message_of_another_kind_is_seen_as_such_and_asks_nothing(bus_session: BusSession, kind: str) -> None:
    boss, worker = bus_session.agents("boss", "worker")
    worker.do("actions.attach", {"program": "claude"})

    boss.do("message.created", {"text": "it was interrupted", "kind": kind}, dst="worker")

    (record,) = worker.do("events.history", {"types": ["message.created"], "limit": 1})["records"]
    assert record["envelope"]["payload"] == {"text": "it was interrupted", "kind": kind, "priority": "normal"}
    assert worker.do("actions.pending")["next"] is None


def test_a_message_is_signed_with_its_senders_own_name_or_not_at_all(bus_session: BusSession) -> None:
    boss, worker = bus_session.agents("boss", "worker")
    worker.do("agent.update", {"id": "worker", "name": "Willy"})

    for name in ("Willy", "worker"):
        worker.do("message.created", {"text": "it is me", "sender_name": name})

    assert worker.refused("message.created", {"text": "it is me", "sender_name": "boss"}) == "wrong_sender_name"
    assert worker.refused("message.created", {"text": "it is me", "sender_name": ""}) == "invalid_input"
    said = boss.do("events.history", {"types": ["message.created"]})["records"]
    common = {"text": "it is me", "kind": "user", "priority": "normal"}
    assert [each["envelope"]["payload"] for each in said] == [
        {**common, "sender_name": "Willy"},
        {**common, "sender_name": "worker"},
    ]


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        ({}, "invalid_input"),
        ({"text": ""}, "invalid_input"),
        ({"text": " \n "}, "invalid_input"),
        ({"text": 7}, "invalid_input"),
        ({"text": "x" * 70_000}, "too_large"),
        ({"text": "x", "payload_ref": "blobs/1"}, "unknown_field"),
        ({"text": "x", "kind": "shout"}, "invalid_input"),
        ({"text": "x", "kind": "reply"}, "invalid_input"),
        ({"text": "x", "context_id": "theirs"}, "not_owner"),
        ({"text": "x", "parent_message_id": "nothing"}, "event_not_found"),
    ],
)
def test_a_message_that_says_nothing_or_may_not_is_refused(bus_session: BusSession, payload: Row, code: str) -> None:
    boss, worker = bus_session.agents("boss", "worker")
    worker.do("message.created", {"text": "mine", "context_id": "theirs"})

    assert boss.refused("message.created", payload) == code


def test_a_message_to_nobody_known_is_refused(bus_session: BusSession) -> None:
    (boss,) = bus_session.agents("boss")

    assert boss.refused("message.created", {"text": "hello?"}, dst="nobody") == "agent_not_found"


def test_tasks_are_updated_and_done_with_their_context(bus_session: BusSession) -> None:
    boss, worker = bus_session.agents("boss", "worker")
    boss.do("events.stream", {"types": ["task.updated", "task.done"]})

    worker.do("task.updated", {"task_id": "t1", "status": "running", "context_id": "c1", "owner_id": "boss"})
    worker.do("task.done", {"task_id": "t1", "summary": "shipped", "context_id": "c1"})

    seen = [boss.receive("events.record")["payload"]["envelope"] for _ in range(2)]
    assert [(each["type"], each["payload"]) for each in seen] == [
        ("task.updated", {"task_id": "t1", "status": "running", "context_id": "c1", "owner_id": "boss"}),
        ("task.done", {"task_id": "t1", "summary": "shipped", "context_id": "c1"}),
    ]


def test_a_task_that_is_updated_to_done_is_told_as_done_and_once(bus_session: BusSession) -> None:
    boss, worker = bus_session.agents("boss", "worker")
    boss.do("events.stream", {"types": ["task.updated", "task.done"]})

    worker.do("task.updated", {"task_id": "t1", "status": "done"})
    worker.do("task.updated", {"task_id": "t2", "status": "ready"})

    seen = [boss.receive("events.record")["payload"]["envelope"] for _ in range(2)]
    assert [(each["type"], each["payload"]["task_id"]) for each in seen] == [
        ("task.done", "t1"),
        ("task.updated", "t2"),
    ]


def test_a_task_of_ours_follows_what_the_bus_says_of_it(bus_session: BusSession) -> None:
    (boss,) = bus_session.agents("boss")
    task_id = boss.do("tasks.create", {"title": "Rewrite the parser"})["task_id"]

    boss.do("task.updated", {"task_id": task_id, "status": "blocked"})
    blocked = boss.do("tasks.show", {"task": task_id})
    boss.do("task.done", {"task_id": task_id, "summary": "done after all"})
    done = boss.do("tasks.show", {"task": task_id})

    assert (blocked["status"], done["status"], done["summary"]) == ("blocked", "done", "done after all")


def test_history_gives_the_newest_or_goes_on_from_a_cursor(bus_session: BusSession) -> None:
    (boss,) = bus_session.agents("boss")
    for number in range(5):
        boss.do("events.append", {"kind": "x.test.tick", "data": {"number": number}})

    newest = boss.do("events.history", {"limit": 2})
    first = boss.do("events.history", {"limit": 4, "since_seq": 0})
    rest = boss.do("events.history", {"since_seq": first["cursor"]})

    assert [each["seq"] for each in newest["records"]] == [6, 7]
    assert [each["seq"] for each in first["records"] + rest["records"]] == [1, 2, 3, 4, 5, 6, 7]
    assert (newest["cursor"], first["cursor"], rest["cursor"]) == (7, 4, 7)
    assert newest["records"][1]["envelope"] == {
        "v": 1,
        "type": "event.appended",
        "id": newest["records"][1]["envelope"]["id"],
        "ts": newest["records"][1]["ts"],
        "src": "boss",
        "session": bus_session.session,
        "seq": 7,
        "payload": {"kind": "x.test.tick", "data": {"number": 4}},
    }


def test_a_stream_goes_on_from_its_cursor_and_misses_nothing(bus_session: BusSession) -> None:
    (boss,) = bus_session.agents("boss")
    for number in range(3):
        boss.do("events.append", {"kind": "x.test.tick", "data": {"number": number}})

    opened = boss.ask("events.stream", {"since_seq": 2})
    boss.do("events.append", {"kind": "x.test.tick", "data": {"number": 3}})
    seen = [boss.receive("events.record") for _ in range(4)]

    assert opened["payload"] == {"cursor": 2}
    assert [each["payload"]["seq"] for each in seen] == [3, 4, 5, 6]
    assert {each["corr"] for each in seen} == {opened["corr"]}


def test_a_stream_that_does_not_stay_ends_at_the_head(bus_session: BusSession) -> None:
    (boss,) = bus_session.agents("boss")

    boss.do("events.stream", {"follow": False})

    assert [boss.receive("events.record")["payload"]["seq"] for _ in range(2)] == [1, 2]
    assert boss.receive("events.end")["payload"] == {"cursor": 2, "reason": "head"}


def test_two_streams_of_one_connection_are_told_apart(bus_session: BusSession) -> None:
    (boss,) = bus_session.agents("boss")
    one = boss.ask("events.stream", {"types": ["agent.updated"]})["corr"]
    two = boss.ask("events.stream", {"types": ["message.created"]})["corr"]

    boss.do("message.created", {"text": "hello"})
    boss.do("agent.update", {"id": "boss", "name": "Chief"})

    seen = {each["corr"]: each["payload"]["envelope"]["type"] for each in (boss.way.receive(), boss.way.receive())}
    assert seen == {one: "agent.updated", two: "message.created"}


def test_what_is_done_on_other_surfaces_is_on_the_bus_by_the_same_types(bus_session: BusSession) -> None:
    (boss,) = bus_session.agents("boss")
    boss.do("events.stream", {})
    user = bus_session.hub.user

    user.call("messages.send", room_id=bus_session.session, text="from the page")
    user.call("events.append", room_id=bus_session.session, kind="x.test.tick", data={})

    assert [boss.receive("events.record")["payload"]["envelope"]["type"] for _ in range(2)] == [
        "message.created",
        "event.appended",
    ]


def test_every_kind_has_a_type_of_a_closed_list() -> None:
    assert {type for type, _ in records.TYPES.values()} | {records.OTHER} == {
        "session.created",
        "session.updated",
        "session.closed",
        "agent.added",
        "agent.updated",
        "agent.removed",
        "message.created",
        "action.submit",
        "action.result",
        "task.updated",
        "task.done",
        "event.appended",
    }
