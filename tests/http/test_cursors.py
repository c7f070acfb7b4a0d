"""A cursor means one thing and is refused alike, whether events are listed, waited for or streamed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast
from urllib.parse import urlencode

import pytest

from tests.bus.talking import BusPeer, SocketWay
from tests.http.running import Client, Json, Reply, RunningHub

BAD: Mapping[str, tuple[dict[str, object], int, str]] = {
    "too big by far": ({"since_seq": 99999999999999999999}, 400, "invalid_input"),
    "too big by one": ({"since_seq": 2**63}, 400, "invalid_input"),
    "negative": ({"since_seq": -1}, 400, "invalid_input"),
    "of a wrong type": ({"since_seq": "soon"}, 400, "invalid_input"),
    "two at once": ({"since_seq": 1, "since_ts": "2026-01-31T12:00:00Z"}, 400, "ambiguous_cursor"),
    "no event": ({"since_event_id": "nothing"}, 404, "event_not_found"),
    "with a NUL": ({"since_event_id": "\0"}, 400, "invalid_input"),
    "too long": ({"since_event_id": "x" * 201}, 413, "too_large"),
    "no time": ({"since_ts": "yesterday"}, 400, "invalid_input"),
    "no field": ({"since": 1}, 400, "unknown_field"),
}
bad = pytest.mark.parametrize(("cursor", "status", "code"), BAD.values(), ids=BAD)


@pytest.fixture
def user(hub: RunningHub) -> Client:
    return hub.user


def _error(reply: Reply) -> Json:
    """The refusal, without the names of the fields that a surface has besides the cursor's."""
    return _without_names(reply.error)


def _without_names(error: Json) -> Json:
    details = cast("Json", error["details"])
    return {**error, "details": {name: value for name, value in details.items() if name != "valid"}}


def _without_hint(error: Json) -> Json:
    """Each surface names the next step in its own words."""
    return {name: value for name, value in error.items() if name != "hint"}


@bad
def test_a_bad_cursor_is_refused_alike_in_every_address(
    user: Client, room: str, cursor: dict[str, object], status: int, code: str
) -> None:
    query = urlencode(cursor)

    listed = user.get(f"/v1/events?room_id={room}&{query}")
    others = [
        user.get(f"/v1/events?room_id={room}&follow=true&{query}"),
        user.get(f"/v1/events.list?room_id={room}&{query}"),
        user.get(f"/v1/bus/stream?session={room}&{query}"),
    ]

    assert listed.refused == (status, code)
    assert [(each.status, _error(each)) for each in others] == [(status, _error(listed))] * len(others)


@bad
def test_a_bad_cursor_is_refused_alike_in_a_body_and_in_an_envelope(
    user: Client, room: str, cursor: dict[str, object], status: int, code: str
) -> None:
    peer = BusPeer(SocketWay(user.hub), "boss", room)

    listed = user.post("events.list", {"room_id": room, **cursor})
    followed = user.post("events.follow", {"room_id": room, "max_wait_ms": 0, **cursor})
    streamed = peer.ask("events.stream", cursor)
    peer.close()

    assert (listed.refused, followed.status, _error(followed)) == ((status, code), status, _error(listed))
    refused = _without_names(cast("Json", streamed["error"]))
    assert (streamed["status"], _without_hint(refused)) == ("error", _without_hint(_error(listed)))


@pytest.mark.parametrize("name", ["since_seq", "since_event_id", "since_ts"])
def test_a_cursor_leads_every_stream_to_the_place_from_which_is_listed(user: Client, room: str, name: str) -> None:
    user.append(room)
    first = cast("list[Json]", user.call("events.list", room_id=room)["events"])[0]
    cursor = {"since_seq": 1, "since_event_id": first["id"], "since_ts": "2020-01-31T12:00:00Z"}[name]
    peer = BusPeer(SocketWay(user.hub), "boss", room)

    listed = cast("list[Json]", user.call("events.list", room_id=room, **{name: cursor})["events"])
    streamed = [each.json for each in user.stream(room, f"&{urlencode({name: cursor})}").take(len(listed))]
    peer.do("events.stream", {name: cursor, "follow": False})
    records = [peer.way.receive()["payload"]["seq"] for _ in listed]
    peer.close()

    assert streamed == listed
    assert records == [each["seq"] for each in listed]
