"""Sessions and agents: views of rooms and members, the same on both transports."""

from __future__ import annotations

from typing import cast

import pytest

from tests.bus.talking import BusSession, Row
from tests.waiting import until


def test_a_session_is_created_listed_and_closed(bus_session: BusSession) -> None:
    boss = bus_session.peer("boss")

    made = boss.ask("session.create", {"name": "release"})
    session = made["session"]
    boss.do("agent.add", {"id": "boss"}, session=session)
    (open_,) = [each for each in boss.do("session.list")["sessions"] if each["id"] == session]
    boss.do("session.close", {"reason": "shipped"}, session=session)
    (closed,) = [each for each in boss.do("session.list")["sessions"] if each["id"] == session]

    assert made["payload"] == {"session": {"id": session, "name": "release"}}
    assert (open_["name"], open_["status"], closed["status"]) == ("release", "open", "closed")
    assert open_["created_at"] <= open_["updated_at"] <= closed["updated_at"]
    types = [each["envelope"]["type"] for each in boss.do("events.history", session=session)["records"]]
    assert types == ["session.created", "agent.added", "session.closed"]
    assert boss.refused("agent.update", {"id": "boss", "name": "late"}, session=session) == "room_closed"


def test_a_session_of_the_bus_is_a_room_everywhere(bus_session: BusSession) -> None:
    (boss,) = bus_session.agents("boss")

    shown = bus_session.hub.user.call("rooms.show", room_id=bus_session.session)

    members = cast("list[Row]", shown["members"])
    assert (shown["title"], [each["agent_id"] for each in members]) == ("a session", ["boss"])
    assert boss.do("rooms.show") == boss.do("rooms.show", {"room_id": bus_session.session})


def test_an_agent_is_online_while_it_is_connected(bus_session: BusSession) -> None:
    boss, worker = bus_session.agents("boss", "worker")

    def statuses() -> dict[str, str]:
        return {each["id"]: each["status"] for each in boss.do("agent.list")["agents"]}

    assert statuses() == {"boss": "online", "worker": "online"}
    worker.close()
    while statuses()["worker"] == "online":
        pass  # The hub has yet to see the end of the connection.
    (shown,) = [each for each in boss.do("agent.list")["agents"] if each["id"] == "worker"]

    assert set(shown) == {"id", "name", "role", "status", "last_seen_at"}
    assert shown["status"] == "offline"


def test_every_envelope_of_an_agent_is_its_heartbeat(bus_session: BusSession) -> None:
    boss, _idle = bus_session.agents("boss", "idle")

    def seen() -> dict[str, str]:
        return {each["id"]: each["last_seen_at"] for each in boss.do("agent.list")["agents"]}

    first = seen()
    until(lambda: seen()["boss"] > first["boss"])

    assert seen()["idle"] == first["idle"]


def test_adding_an_agent_again_changes_nothing_but_its_name(bus_session: BusSession) -> None:
    (boss,) = bus_session.agents("boss")

    boss.do("agent.add", {"id": "boss"})
    added = boss.do("agent.add", {"id": "boss", "name": "The-Boss"})

    assert (added["agent"]["name"], added["agent"]["status"]) == ("The-Boss", "online")
    types = [each["envelope"]["type"] for each in boss.do("events.history")["records"]]
    assert types == ["session.created", "agent.added", "agent.updated"]


def test_a_rename_is_an_event_and_shows_everywhere_at_once(bus_session: BusSession) -> None:
    boss, worker = bus_session.agents("boss", "worker")
    boss.do("events.stream", {})

    renamed = worker.do("agent.update", {"id": "worker", "name": "Willy"})
    seen = boss.receive("events.record")["payload"]["envelope"]

    assert renamed["agent"]["name"] == "Willy"
    assert (seen["type"], seen["src"], seen["payload"]) == (
        "agent.updated",
        "worker",
        {"id": "worker", "name": "Willy", "role": "peer"},
    )
    user = bus_session.hub.user
    listed = cast("list[Row]", user.call("agents.list", room_id=bus_session.session)["agents"])
    assert [each["name"] for each in listed] == ["boss", "Willy"]
    frames = user.stream(bus_session.session).until("actor.update")
    assert frames[-1].json["data"] == {"actor_id": "worker", "name": "Willy", "role": "peer"}
    assert boss.submit({"type": "message", "dst": "Willy", "action_id": "a1", "kind": "user", "text": "hi"})


def test_a_rename_made_elsewhere_reaches_the_bus(bus_session: BusSession) -> None:
    (boss,) = bus_session.agents("boss")
    boss.do("events.stream", {"types": ["agent.updated"]})

    bus_session.hub.user.call("agents.update", room_id=bus_session.session, agent_id="boss", name="Chief")

    assert boss.receive("events.record")["payload"]["envelope"]["payload"]["name"] == "Chief"


@pytest.mark.parametrize("type", ["agent.add", "agent.update", "agent.remove"])
def test_an_agent_speaks_for_itself_only(bus_session: BusSession, type: str) -> None:
    boss, _ = bus_session.agents("boss", "worker")
    more = {"name": "mine"} if type == "agent.update" else {}

    assert boss.refused(type, {"id": "worker", **more}) == "src_mismatch"


@pytest.mark.parametrize(
    ("type", "payload", "code"),
    [
        ("session.create", {"name": ""}, "invalid_input"),
        ("session.create", {"title": "x"}, "unknown_field"),
        ("session.list", {"limit": 0}, "invalid_input"),
        ("agent.add", {}, "invalid_input"),
        ("agent.add", {"id": "boss", "name": ""}, "invalid_input"),
        ("agent.update", {"id": "boss"}, "invalid_input"),
        ("agent.update", {"id": "boss", "name": ""}, "invalid_input"),
        ("agent.update", {"id": "boss", "name": "x" * 129}, "too_large"),
        ("agent.update", {"id": "boss", "name": 7}, "invalid_input"),
        ("agent.remove", {"id": "boss", "force": True}, "unknown_field"),
        ("events.history", {"limit": 1001}, "invalid_input"),
        ("events.history", {"since_seq": -1}, "invalid_input"),
        ("events.stream", {"follow": "yes"}, "invalid_input"),
        ("events.stream", {"types": "all"}, "invalid_input"),
        ("events.stream", {"types": ["event.appended"]}, "invalid_input"),
        ("task.updated", {"task_id": "t1", "status": "finished"}, "invalid_input"),
        ("task.done", {}, "invalid_input"),
        ("turns.state", {"room": "x"}, "unknown_field"),
    ],
)
def test_a_payload_that_is_wrong_is_refused_by_its_field(
    bus_session: BusSession, type: str, payload: Row, code: str
) -> None:
    (boss,) = bus_session.agents("boss")

    assert boss.refused(type, payload) == code


LOST = {"type": "message", "dst": "x", "action_id": "a", "action_index": 0, "kind": "user", "text": "t"}


@pytest.mark.parametrize(
    ("type", "payload"),
    [
        ("session.close", {}),
        ("agent.add", {"id": "boss"}),
        ("agent.list", {}),
        ("action.submit", {"group_id": "g", "actions": [LOST]}),
        ("events.history", {}),
        ("events.stream", {}),
    ],
)
def test_a_command_about_a_session_needs_one_that_exists(bus_session: BusSession, type: str, payload: Row) -> None:
    (boss,) = bus_session.agents("boss")

    assert boss.refused(type, payload, session="nowhere") == "room_not_found"
    boss.session = None
    assert boss.refused(type, payload) == "session_required"
