"""Waiting over HTTP: no thread each, an end when the client leaves, and nothing claimed for somebody who is gone."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import cast

from tallystick.hub.serving import READERS
from tests.http.running import Client, Connection, Json, RunningHub
from tests.scene import HANDOFF
from tests.waiting import until


def started(client: Client, operation: str, **given: object) -> Connection:
    """A request that was sent and not yet answered."""
    connection = client.connect()
    head = {"Authorization": f"Bearer {client.token}", "Content-Type": "application/json"}
    connection.request("POST", f"/v1/{operation}", json.dumps(given), head)
    return connection


def answered(connection: Connection) -> Json:
    reply = cast("Json", json.loads(connection.getresponse().read()))
    connection.close()
    return reply


def waiting(hub: RunningHub, count: int) -> None:
    until(lambda: hub.local.get("/v1/status").json["waits"] == count)


def company(hub: RunningHub, *names: str) -> tuple[str, list[Client]]:
    """A new room and its members."""
    room = hub.user.room()
    agents = [hub.agent(name, room) for name in names]
    for agent in agents:
        agent.call("rooms.join", room_id=room)
    return room, agents


def claim(agent: Client, room: str) -> Json:
    turn = agent.call("turns.wait", room_id=room, max_wait_ms=0)
    assert turn["status"] == "your_turn", turn
    return turn


def release(agent: Client, turn: Json) -> None:
    fencing = {"room_id": turn["room_id"], "lease_id": turn["lease_id"], "expected_turn_id": turn["turn_id"]}
    agent.call("turns.release", **fencing, handoff=HANDOFF)


def test_the_stick_goes_round_over_http(hub: RunningHub) -> None:
    room, (ann, bob) = company(hub, "ann", "bob")
    turn = claim(ann, room)
    pending = started(bob, "turns.wait", room_id=room, max_wait_ms=60_000)
    waiting(hub, 1)

    release(ann, turn)

    got = answered(pending)
    assert (got["status"], got["handoff"], got["from_agent_id"], got["reason"]) == (
        "your_turn",
        HANDOFF,
        "ann",
        "sequence",
    )


def test_a_wait_that_brings_nothing_says_so(hub: RunningHub) -> None:
    room, (ann, bob) = company(hub, "ann", "bob")
    claim(ann, room)

    turn = bob.call("turns.wait", room_id=room, max_wait_ms=50)

    assert (turn["status"], turn["room_state"]) == ("not_yet", "owned")


def test_events_follow_returns_with_what_happens(hub: RunningHub, user: Client, room: str) -> None:
    pending = started(user, "events.follow", room_id=room, since_seq=1, max_wait_ms=60_000)
    waiting(hub, 1)

    user.append(room)

    assert answered(pending)["cursor"] == 2


def test_a_client_that_left_is_given_no_turn(hub: RunningHub) -> None:
    room, (ann, bob) = company(hub, "ann", "bob")
    turn = claim(ann, room)
    pending = started(bob, "turns.wait", room_id=room, max_wait_ms=60_000)
    waiting(hub, 1)
    pending.close()
    waiting(hub, 0)

    release(ann, turn)

    state = ann.call("turns.state", room_id=room)
    assert (state["owner"], state["reserved_for"]) == (None, "bob")


def test_an_unknown_room_is_refused_before_anything_waits_for_it(user: Client) -> None:
    assert user.post("events.follow", {"room_id": "nowhere", "max_wait_ms": 60_000}).refused == (404, "room_not_found")


def test_many_waits_share_a_few_threads_and_all_are_woken(process_hub: RunningHub) -> None:
    user = process_hub.user
    room = user.room()
    few = [started(user, "events.follow", room_id=room, since_seq=1, max_wait_ms=60_000) for _ in range(10)]
    waiting(process_hub, 10)
    before = _threads(process_hub)
    many = [started(user, "events.follow", room_id=room, since_seq=1, max_wait_ms=60_000) for _ in range(50)]
    waiting(process_hub, 60)
    with_many = _threads(process_hub)

    user.append(room)

    assert [answered(each)["cursor"] for each in (*few, *many)] == [2] * 60
    # A thread that reads is started when it is first needed, and there are only so many.
    assert with_many - before <= READERS


def test_two_who_wait_for_a_free_stick_do_not_both_get_it(hub: RunningHub) -> None:
    room, agents = company(hub, *(f"agent-{number}" for number in range(8)))
    results: list[Json] = []

    def look(agent: Client) -> None:
        results.append(agent.call("turns.wait", room_id=room, max_wait_ms=0))

    looking = [threading.Thread(target=look, args=(agent,)) for agent in agents]
    for each in looking:
        each.start()
    for each in looking:
        each.join()

    assert sorted(cast("str", result["status"]) for result in results) == ["not_yet"] * 7 + ["your_turn"]


def _threads(hub: RunningHub) -> int:
    return len(list(Path(f"/proc/{hub.process.pid}/task").iterdir()))
