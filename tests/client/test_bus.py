"""The bus from Python: over the socket and over HTTP, blocking or not, and through restarts of the hub."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias, cast

import pytest

from tallystick import BusClient
from tallystick.client.bus_protocol import BusClosed, Talk, answer
from tallystick.client.connection import HubNotRunning
from tallystick.client.direct import Direct
from tallystick.kernel.errors import Conflict, TallyError, TooLarge
from tests.http import conftest as http
from tests.http.running import RunningHub
from tests.scene import refused
from tests.waiting import until

Row: TypeAlias = dict[str, Any]
Options: TypeAlias = dict[str, Any]

hub = http.process_hub
WAYS = ("socket", "http")


@pytest.fixture
def lone_hub() -> Generator[RunningHub]:
    """One that may be killed."""
    with http.running() as hub:
        yield hub


def options(hub: RunningHub, way: str, agent: str, session: str) -> Options:
    """How this agent gets there."""
    if way == "socket":
        return {"agent": agent, "data_dir": hub.data_dir}
    token = hub.agent(agent, session).token
    return {"agent": agent, "url": f"http://127.0.0.1:{hub.port}", "token": token, "data_dir": hub.data_dir / "none"}


def message(dst: str, id: str) -> Row:
    action = {"type": "message", "dst": dst, "action_id": id, "action_index": 0, "kind": "user", "text": "do it"}
    return {"group_id": f"g-{id}", "actions": [action]}


def handed(envelope: Mapping[str, object]) -> object:
    assert envelope["type"] == "action.submit"
    return cast("Row", envelope["payload"])["actions"][0]["action_id"]


def resulted(envelope: Mapping[str, object]) -> tuple[object, object]:
    assert envelope["type"] == "action.result"
    payload = cast("Row", envelope["payload"])
    return payload["action_id"], payload["status"]


@pytest.mark.parametrize("way", WAYS)
def test_an_action_goes_out_and_its_result_comes_back(hub: RunningHub, way: str) -> None:
    session = hub.user.room()
    with (
        BusClient(**options(hub, way, "boss", session)) as boss,
        BusClient(**options(hub, way, "worker", session)) as worker,
    ):
        boss.join(session)
        assert cast("Row", worker.join(session, name="Wilma")["agent"])["name"] == "Wilma"
        boss.ask("action.submit", message("worker", "a1"), session=session)
        come = worker.deliveries()
        assert handed(next(come)) == "a1"
        worker.ask("action.result", {"action_id": "a1", "status": "completed"}, session=session)

        assert resulted(next(boss.deliveries())) == ("a1", "completed")
        left = worker.leave(session)
    assert (left, list(come)) == ({"id": "worker", "removed": True}, [])


@pytest.mark.parametrize("way", WAYS)
def test_a_refusal_is_the_hubs_own_error(hub: RunningHub, way: str) -> None:
    session = hub.user.room()
    with BusClient(**options(hub, way, "boss", session)) as boss:
        boss.join(session)
        with refused("agent_not_found") as caught:
            boss.ask("action.submit", message("nobody", "a1"), session=session)
        boss.ask("message.created", {"text": "hi"}, session=session, key="once")
        with pytest.raises(Conflict):
            boss.ask("message.created", {"text": "ho"}, session=session, key="once")
    assert caught.value.advice


def test_a_token_speaks_for_its_own_agent_only(hub: RunningHub) -> None:
    session = hub.user.room()
    given: Options = {**options(hub, "http", "boss", session), "agent": "worker"}
    with BusClient(**given) as other, refused("src_mismatch"):
        other.ask("agent.list", session=session)


@pytest.mark.parametrize("way", WAYS)
def test_a_restart_of_the_hub_loses_nothing_and_brings_nothing_twice(lone_hub: RunningHub, way: str) -> None:
    hub, noticed = lone_hub, list[bool]()
    session = hub.user.room()
    with (
        BusClient(**options(hub, way, "boss", session), noticed=noticed.append) as boss,
        BusClient(**options(hub, way, "worker", session)) as worker,
    ):
        boss.join(session)
        worker.join(session)
        for id in ("a1", "a2"):
            boss.ask("action.submit", message("worker", id), session=session)
        work, results = worker.deliveries(), boss.deliveries()
        assert handed(next(work)) == "a1"
        worker.ask("action.result", {"action_id": "a1", "status": "completed"}, session=session)
        assert resulted(next(results)) == ("a1", "completed")
        assert handed(next(work)) == "a2"

        hub.kill()
        hub.start()

        assert handed(next(work)) == "a2", "what was not answered comes again"
        worker.ask("action.result", {"action_id": "a2", "status": "completed"}, session=session)
        boss.ask("action.submit", message("worker", "a3"), session=session)
        assert handed(next(work)) == "a3"
        assert resulted(next(results)) == ("a2", "completed")
    assert noticed == [False, True]


@pytest.mark.parametrize("way", WAYS)
def test_results_that_came_while_a_client_was_away_are_brought_once_it_is_back(lone_hub: RunningHub, way: str) -> None:
    hub = lone_hub
    session = hub.user.room()
    worker = BusClient(**options(hub, "socket", "worker", session))
    worker.ask("rooms.join", session=session)
    worker.close()
    with BusClient(**options(hub, way, "boss", session)) as boss:
        boss.join(session)
        boss.ask("action.submit", message("worker", "a1"), session=session)
        hub.kill()
        on_the_store(hub, "worker", "actions.result", room_id=session, action_id="a1", status="rejected")
        hub.start()

        assert resulted(next(boss.deliveries())) == ("a1", "rejected")


def on_the_store(hub: RunningHub, agent: str, operation: str, **given: object) -> None:
    """What somebody does while nobody serves the bus."""
    direct = Direct(data_dir=hub.data_dir, agent=agent)
    direct.call(operation, given)
    direct.close()


def test_a_seat_that_is_refused_after_a_restart_ends_the_client_with_the_reason(lone_hub: RunningHub) -> None:
    hub = lone_hub
    session = hub.user.room()
    with BusClient(**options(hub, "socket", "worker", session)) as worker:
        worker.join(session)
        hub.kill()
        on_the_store(hub, "worker", "rooms.close", room_id=session)
        hub.start()

        with refused("room_closed"):
            next(worker.deliveries())
        with refused("room_closed"):
            worker.ask("hub.health")


def test_without_a_hub_it_says_how_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(HubNotRunning) as caught:
        BusClient(agent="worker", data_dir=tmp_path)
    with pytest.raises(HubNotRunning):
        BusClient(agent="worker", url="http://127.0.0.1:9", token="none")
    assert "tally up" in caught.value.advice


def test_a_hub_that_stays_away_is_waited_for_only_so_long(lone_hub: RunningHub) -> None:
    with BusClient(agent="worker", data_dir=lone_hub.data_dir, patience=0.05) as worker:
        lone_hub.kill()
        with pytest.raises(HubNotRunning):
            next(worker.deliveries())
        with pytest.raises(HubNotRunning):
            worker.ask("hub.health")


def test_a_closed_client_says_so_and_its_agent_is_gone(hub: RunningHub) -> None:
    session = hub.user.room()
    with ExitStack() as stack:
        looker = stack.enter_context(BusClient(**options(hub, "socket", "looker", session)))
        worker = BusClient(**options(hub, "socket", "worker", session))
        worker.join(session)
        worker.close()

        with pytest.raises(BusClosed):
            worker.ask("hub.health")
        until(lambda: _status(looker, session, "worker") == "offline")


def _status(bus: BusClient, session: str, agent: str) -> object:
    agents = cast("list[Row]", bus.ask("agent.list", session=session)["agents"])
    return next(each["status"] for each in agents if each["id"] == agent)


def joined(talk: Talk, cursor: int) -> None:
    asked = talk.join("S", None)
    reply = {"type": "agent.add", "corr": asked.id, "session": "S", "status": "ok", "payload": {"cursor": cursor}}
    talk.hear(json.dumps(reply).encode())


def reattached(talk: Talk) -> list[Row]:
    return [json.loads(each.line)["payload"] for each in talk.reattached()]


def test_a_seat_is_taken_again_from_the_last_result_that_came() -> None:
    talk = Talk("boss")
    joined(talk, 7)
    first = reattached(talk)
    talk.hear(json.dumps({"type": "action.result", "session": "S", "seq": 12, "payload": {}}).encode())

    assert (first, reattached(talk)) == ([{"id": "boss", "since_seq": 7}], [{"id": "boss", "since_seq": 12}])


def test_the_reply_to_a_seat_that_is_taken_again_is_nobodys_delivery() -> None:
    talk = Talk("boss")
    joined(talk, 7)
    (again,) = talk.reattached()

    def replied(**rest: object) -> bytes:
        return json.dumps({"type": "agent.add", "corr": again.id, "session": "S", **rest}).encode()

    busy = {"code": "store_busy", "message": "busy", "retryable": True}
    gone = {"code": "room_not_found", "message": "gone", "retryable": False}
    assert talk.hear(replied(status="ok", payload={"cursor": 7})) is None
    with pytest.raises(ConnectionAbortedError):
        talk.hear(replied(status="error", error=busy))
    with refused("room_not_found"):
        talk.hear(replied(status="error", error=gone))


def test_a_seat_that_another_connection_took_or_that_was_left_is_not_taken_again() -> None:
    talk = Talk("boss")
    joined(talk, 7)
    talk.hear(json.dumps({"type": "agent.replaced", "session": "S", "payload": {"id": "boss"}}).encode())
    after = reattached(talk)
    joined(talk, 7)
    talk.leave("S")

    assert (after, reattached(talk)) == ([], [])


@pytest.mark.parametrize("text", ["half \ud83d", "\0", "\n"])
def test_whatever_is_said_is_one_line(text: str) -> None:
    asked = Talk("boss").ask("message.created", {"text": text})

    assert asked.line.endswith(b"\n")
    assert asked.line.count(b"\n") == 1
    assert json.loads(asked.line)["id"] == asked.id


def test_an_envelope_that_is_too_large_is_refused_before_it_is_sent() -> None:
    with pytest.raises(TooLarge):
        Talk("boss").ask("message.created", {"text": "x" * 1024 * 1024})


def test_a_refusal_without_a_payload_is_still_a_refusal() -> None:
    with pytest.raises(TallyError):
        answer({"status": "error"})
