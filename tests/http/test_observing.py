"""What the hub says about itself: figures for Prometheus and one line of log per request."""

from __future__ import annotations

import re
import socket

from tests.http.running import Client, RunningHub
from tests.waiting import until


def figures(hub: RunningHub) -> dict[str, float]:
    text = hub.user.get("/metrics").body.decode()
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in text.splitlines() if line[0] != "#"}


def test_requests_are_counted_by_operation_and_status(hub: RunningHub) -> None:
    before = figures(hub)
    room = hub.user.room()
    hub.user.append(room)
    hub.user.post("events.append", {"room_id": "nowhere", "kind": "x.a.b", "data": {}})

    after = figures(hub)

    def more(name: str) -> float:
        return after.get(name, 0) - before.get(name, 0)

    assert more('tally_requests_total{code="200",operation="events.append"}') == 1
    assert more('tally_requests_total{code="404",operation="events.append"}') == 1
    assert more('tally_request_seconds_count{operation="events.append"}') == 2
    assert more("tally_commit_group_size_count") >= 2


def test_followers_and_waits_are_counted_while_they_last(hub: RunningHub) -> None:
    room = hub.user.room()
    stream = hub.user.stream(room)
    stream.take(1)

    with_one = figures(hub)["tally_followers"]
    stream.close()

    assert with_one == 1
    until(lambda: figures(hub)["tally_followers"] == 0)


def test_strange_addresses_do_not_become_names_of_figures(hub: RunningHub) -> None:
    for path in ("/v1/no.such", "/x/y", "/v1/%00"):
        hub.user.get(path)

    names = {found for name in figures(hub) for found in re.findall(r'operation="([^"]+)"', name)}

    assert [name for name in names if "no.such" in name or "/" in name] == []


def test_figures_need_a_token(hub: RunningHub) -> None:
    assert Client(hub).get("/metrics").refused == (401, "token_missing")


def test_each_request_is_one_line_with_who_what_and_how_it_ended(hub: RunningHub) -> None:
    room = hub.user.room()
    reply = hub.agent("logged", room).post("events.append", {"room_id": room, "kind": "bad", "data": {}})

    line = hub.logged(reply)
    assert {key: line[key] for key in line if key not in {"ts", "ms", "request"}} == {
        "level": "info",
        "operation": "events.append",
        "principal": "logged",
        "status": 400,
        "code": "reserved_kind",
    }


def test_a_stream_is_logged_when_it_ends(hub: RunningHub) -> None:
    room = hub.user.room()
    before = len([line for line in hub.log() if line["operation"] == "events.stream"])
    stream = hub.user.stream(room)
    stream.take(1)

    stream.close()

    until(lambda: len([line for line in hub.log() if line["operation"] == "events.stream"]) == before + 1)


def test_request_ids_do_not_repeat(hub: RunningHub) -> None:
    ids = [Client(hub).get("/healthz").headers["x-request-id"] for _ in range(5)]

    assert len(set(ids)) == 5


def test_the_status_counts_who_is_on_the_bus(hub: RunningHub) -> None:
    def on_the_bus() -> object:
        return hub.user.get("/v1/status").json["bus_connections"]

    before = on_the_bus()
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(str(hub.data_dir / "bus.sock"))
        until(lambda: on_the_bus() == 1)
    until(lambda: on_the_bus() == 0)
    assert before == 0
