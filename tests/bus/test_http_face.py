"""What only HTTP has: statuses, keys in headers, tokens, and a stream that can be resumed."""

from __future__ import annotations

import json
from typing import cast

import pytest

from tests.actions.calls import message
from tests.bus.talking import BusPeer, HttpWay, Row, SocketWay, envelope
from tests.http.running import Client, Reply, RunningHub


def post(client: Client, given: Row, **headers: str) -> Reply:
    return client.request("POST", "/v1/bus", json.dumps(given).encode(), Content_Type="application/json", **headers)


@pytest.mark.parametrize(
    ("given", "status", "code"),
    [
        ({"v": 2}, 400, "unsupported_version"),
        ({"nonsense": 1}, 400, "unknown_field"),
        ({"type": "no.such.thing"}, 404, "unknown_operation"),
        ({"type": "agent.list"}, 400, "session_required"),
        ({"type": "agent.list", "session": "nowhere"}, 404, "room_not_found"),
        ({"type": "agent.add", "session": "S", "payload": {"id": "other"}}, 403, "src_mismatch"),
        ({"src": "somebody"}, 403, "src_mismatch"),
        ({"type": "events.stream", "session": "S"}, 409, "no_stream"),
    ],
)
def test_an_error_is_an_envelope_with_the_status_of_its_family(
    hub: RunningHub, given: Row, status: int, code: str
) -> None:
    user = hub.user
    session = {"session": user.room()} if given.get("session") == "S" else {}

    reply = post(user, {**envelope("hub.health", "user"), **given, **session})

    assert (reply.status, reply.json["status"], reply.error["code"]) == (status, "error", code)


def test_what_is_wrong_before_there_is_an_envelope_looks_like_everywhere(hub: RunningHub) -> None:
    user = hub.user
    good = json.dumps(envelope("hub.health", "user")).encode()

    assert user.get("/v1/bus").refused == (405, "method_not_allowed")
    assert user.request("POST", "/v1/bus/stream", b"{}").refused == (405, "method_not_allowed")
    assert user.request("POST", "/v1/bus", good).refused == (415, "wrong_media_type")
    assert post(Client(hub), envelope("hub.health", "user")).refused == (401, "token_missing")
    big = {**envelope("hub.health", "user"), "payload": {"x": "y" * (1024 * 1024)}}
    assert post(user, big).refused == (413, "too_large")
    assert user.get("/v1/bus/stream?sesion=x").refused == (400, "unknown_field")
    assert user.get("/v1/bus/stream?session=nowhere").refused == (404, "room_not_found")


def test_a_key_in_the_header_counts_like_one_in_the_envelope(hub: RunningHub) -> None:
    user = hub.user
    given = {**envelope("session.create", "user"), "payload": {"name": "once"}}

    first = post(user, given, Idempotency_Key="k1")
    again = post(user, {**given, "id": "another", "idempotency_key": "k1"})
    other = post(user, {**given, "payload": {"name": "twice"}}, Idempotency_Key="k1")
    torn = post(user, {**given, "idempotency_key": "k2"}, Idempotency_Key="k1")

    assert (first.json["session"], again.json["corr"]) == (again.json["session"], "another")
    assert (other.refused, torn.refused) == ((409, "idempotency_conflict"), (400, "invalid_input"))


def test_a_token_speaks_under_its_own_name_and_in_its_own_room(hub: RunningHub) -> None:
    room, elsewhere = hub.user.room(), hub.user.room()
    worker = hub.agent("worker", room)

    added = post(worker, {**envelope("agent.add", "worker"), "session": room, "payload": {"id": "worker"}})
    wrong = post(worker, {**envelope("agent.add", "boss"), "session": room, "payload": {"id": "boss"}})
    other = post(worker, {**envelope("events.history", "worker"), "session": elsewhere})
    stream = worker.get(f"/v1/bus/stream?session={elsewhere}")

    assert (added.status, wrong.refused) == (200, (403, "src_mismatch"))
    assert (other.refused, stream.refused) == ((403, "other_room"), (403, "other_room"))


def test_a_connection_is_its_owners_alone(hub: RunningHub) -> None:
    room = hub.user.room()
    way = HttpWay(hub.user)

    stolen = post(hub.agent("worker", room), envelope("hub.health", "worker"), Tally_Bus=way.name)
    wrong = post(hub.user, envelope("hub.health", "user"), Tally_Bus="nothing")

    assert (stolen.refused, wrong.refused) == ((404, "unknown_connection"), (404, "unknown_connection"))


def test_an_agent_without_a_stream_joins_and_waits_for_its_actions(hub: RunningHub) -> None:
    user = hub.user
    room = user.room()
    local = hub.local
    added = post(local, {**envelope("agent.add", "worker"), "session": room, "payload": {"id": "worker"}})
    assert (added.status, cast("Row", added.json["payload"])["agent"]["status"]) == (200, "offline")
    user.call("actions.submit", room_id=room, group_id="g1", actions=[message("a1", "worker")])

    reply = post(local, {**envelope("actions.pending", "worker"), "session": room, "payload": {"max_wait_ms": 60_000}})

    pending = BusPeer(HttpWay(local), "worker", room).do("actions.pending")
    assert reply.json["payload"] == pending
    assert pending["next"]["action_id"] == "a1"


def test_a_stream_begins_with_a_session_and_resumes_where_it_was_left(hub: RunningHub) -> None:
    user = hub.user
    room = user.room()
    for _ in range(3):
        user.append(room)

    first = HttpWay(user, f"?session={room}&since_seq=1")
    seen = [first.receive()["payload"]["seq"] for _ in range(2)]
    first.close()
    again = HttpWay(user, f"?session={room}&since_seq=0", Last_Event_ID=str(seen[-1]))
    rest = again.receive()

    assert (first.welcome["payload"]["cursor"], seen) == (1, [2, 3])
    assert (again.welcome["payload"]["cursor"], rest["payload"]["seq"], rest["corr"]) == (3, 4, "stream")


def test_a_record_has_its_place_as_the_frames_id(hub: RunningHub) -> None:
    user = hub.user
    room = user.room()
    user.append(room)
    way = HttpWay(user, f"?session={room}&since_seq=0&types=x.test.event")

    (frame,) = way.stream.take(1)

    shown = cast("Row", frame.json)["payload"]["envelope"]
    assert (frame.id, frame.event, shown["type"]) == (2, "events.record", "event.appended")


def test_a_revoked_token_ends_its_stream(hub: RunningHub) -> None:
    worker = hub.agent("worker")
    way = HttpWay(worker)
    listed = json.loads(hub.control("token", "list", "--json").stdout)["data"]["tokens"]

    hub.control("token", "revoke", next(each["id"] for each in listed if each["principal"] == "worker"))

    assert [frame.event for frame in way.stream] == ["error"]


def test_a_stream_that_nobody_reads_is_cut_off_and_the_others_go_on(process_hub: RunningHub) -> None:
    session = process_hub.user.room()
    boss = BusPeer(SocketWay(process_hub), "boss", session)
    boss.do("agent.add", {"id": "boss"})
    deaf = BusPeer(HttpWay(process_hub.local), "deaf", session)
    deaf.do("agent.add", {"id": "deaf"})
    deaf.do("events.stream", {})
    big = {"kind": "x.test.big", "data": {"text": "x" * 200_000}}

    # Socket buffers and the hub's own take some; then it counts as not reading.
    while next(each for each in boss.do("agent.list")["agents"] if each["id"] == "deaf")["status"] == "online":
        boss.do("events.append", big)

    assert boss.do("hub.health")["ok"] is True
    deaf.close()
    boss.close()
