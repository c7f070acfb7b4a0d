"""No id of another room opens anything.

Every operation, with the smallest token that may call it and with the largest, every field that takes a text, every
kind of foreign id.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

import pytest

from tallystick.hub.registry import OPERATIONS
from tallystick.kernel.operation import AnyOperation, Reach
from tallystick.surfaces.http import calls
from tests.http.running import Client, Json, RunningHub

SECRET = "zebra-of-the-other-room"
EVERY = sorted(OPERATIONS.values(), key=lambda operation: operation.name)


class Rooms:
    """One room full of things with a mark in each, and outsiders with tokens of every reach for the other room."""

    def __init__(self, hub: RunningHub) -> None:
        self.user = hub.user
        self.foreign, self.own = self.user.room(SECRET), self.user.room("own")
        self.outsiders = {reach: hub.agent(f"outsider-{reach}", self.own, reach) for reach in Reach}
        self.outsider = self.outsiders[Reach.MANAGE]
        for outsider in self.outsiders.values():
            if outsider is not self.outsiders[Reach.READ]:
                outsider.call("rooms.join", room_id=self.own)
        hub.agent("helper", self.foreign).call("rooms.join", room_id=self.foreign)
        self.ids = self._furnished(hub.agent("insider", self.foreign, Reach.MANAGE))

    def _furnished(self, insider: Client) -> dict[str, str]:
        def call(operation: str, **given: object) -> Json:
            return insider.call(operation, room_id=self.foreign, **given)

        def event(answer: Json) -> str:
            return cast("str", cast("Json", answer["event"])["id"])

        call("rooms.join")
        sent = call("messages.send", text=SECRET, to=["insider"])
        note = call("notes.add", body=SECRET)
        call("tasks.create", title=SECRET)
        call("cards.create", title=SECRET, body=SECRET)
        call("anchors.create", anchor="a:zebra", title=SECRET)
        job = cast("Json", call("jobs.create", title=SECRET, prompt=SECRET)["job"])
        blob = call("blobs.put", mime_type="text/plain", name=SECRET, content_base64="emVicmE=")
        held = cast("Json", call("reservations.reserve", path=f"src/{SECRET}")["reservation"])
        action = {"type": "message", "dst": "helper", "action_id": "zebra-action", "action_index": 0, "kind": "user"}
        call("actions.submit", group_id="zebra-group", actions=[{**action, "text": SECRET}])
        notified = call(
            "notifications.send", kind="status_change", title=SECRET, message=SECRET, target_actor_id="insider"
        )
        return {
            "room": self.foreign,
            "message": event(sent),
            "notification": event(notified),
            "event of a job": f"{job['job_id']}@{job['seq']}" if "seq" in job else f"{job['job_id']}@9",
            "note": f"notes@{note['seq']}",
            "task": "TASK-001",
            "card": "CARD-001",
            "anchor": "a:zebra",
            "job": cast("str", job["job_id"]),
            "blob": cast("str", blob["sha256"]),
            "blob path": cast("str", blob["path"]),
            "reservation": cast("str", held["reservation_id"]),
            "action group": "zebra-group",
            "action": "zebra-action",
            "agent": "insider",
        }

    def state(self) -> list[object]:
        """All that was ever written to the other room."""
        return cast("list[object]", self.user.call("events.list", room_id=self.foreign, limit=200)["events"])


@pytest.fixture(scope="module")
def rooms(hub: RunningHub) -> Rooms:
    return Rooms(hub)


def _beyond(operation: AnyOperation, reach: Reach, given: Json) -> str:
    """What a token with this reach is told that asks for this in another room."""
    needed = [operation.reach, *(each for name, each in operation.ask.reaches.items() if given.get(name) is not None)]
    return "other_room" if all(reach.includes(each) for each in needed) else "reach_too_short"


def _example(operation: AnyOperation) -> Json:
    example: Mapping[str, object] = operation.examples[0] if operation.examples else {}
    return {name: value for name, value in example.items() if name != "context_path"}


def _about(operation: AnyOperation, room_id: str) -> Json:
    brief = {"max_wait_ms": 0} if "max_wait_ms" in operation.ask.__struct_fields__ else {}
    return {**_example(operation), **brief, **({"room_id": room_id} if operation.takes_room else {})}


def _inputs(operation: AnyOperation, own: str, foreign: str) -> list[Json]:
    """The operation's example, about the own room, with one text field after the other naming what is elsewhere."""
    base = _about(operation, own)
    kinds = {name: kind for name, kind in calls.kinds_of(operation.ask).items() if name != "context_path"}
    texts = [{**base, name: foreign} for name, kind in kinds.items() if kind == "string"]
    return [*texts, *({**base, name: [foreign]} for name, kind in kinds.items() if kind == "array:string")]


@pytest.mark.parametrize("operation", EVERY, ids=lambda operation: operation.name)
def test_no_operation_reaches_into_another_room(rooms: Rooms, operation: AnyOperation) -> None:
    if operation.name in {"rooms.close", "rooms.leave"}:
        refused = rooms.outsider.post(operation.name, {"room_id": rooms.foreign})
        assert refused.refused == (403, "other_room")
        return
    before = rooms.state()

    for reach in {operation.reach, Reach.MANAGE}:
        for kind, foreign in rooms.ids.items():
            for given in _inputs(operation, rooms.own, foreign):
                reply = rooms.outsiders[reach].post(operation.name, given)

                assert reply.status < 500, (kind, given, reply.body)
                # What was asked comes back in refusals; what only the other room knows never does.
                told = reply.body.decode().replace(json.dumps(foreign)[1:-1], "")
                assert SECRET not in told, (kind, given)
                if given.get("room_id") == rooms.foreign:
                    assert reply.refused == (403, _beyond(operation, reach, given))

    assert rooms.state() == before


MEANT = {"_group_id": "room", "event_id": "message", "job": "job", "sha256": "blob", "task": "task", "card": "card"}
"""What a field whose name ends like that takes."""


@pytest.mark.parametrize("operation", EVERY, ids=lambda operation: operation.name)
def test_ids_that_belong_together_open_nothing_either(rooms: Rooms, operation: AnyOperation) -> None:
    fields = [name for name, kind in calls.kinds_of(operation.ask).items() if kind == "string"]
    foreign = {name: rooms.ids[kind] for name in fields for end, kind in MEANT.items() if name.endswith(end)}

    reply = rooms.outsider.post(operation.name, {**_about(operation, rooms.own), **foreign})

    told = reply.body.decode()
    for each in foreign.values():
        told = told.replace(json.dumps(each)[1:-1], "")
    assert (reply.status < 500, SECRET in told) == (True, False), reply.body


@pytest.mark.parametrize("operation", [each for each in EVERY if each.takes_room], ids=lambda each: each.name)
def test_no_reach_opens_another_room(rooms: Rooms, operation: AnyOperation) -> None:
    for reach, outsider in rooms.outsiders.items():
        given = {**_example(operation), "room_id": rooms.foreign}

        assert outsider.post(operation.name, given).refused == (403, _beyond(operation, reach, given))


def test_bytes_of_another_rooms_blob_are_not_served(rooms: Rooms) -> None:
    sha256 = rooms.ids["blob"]

    replies = [rooms.outsider.get(f"/v1/blobs/{sha256}{query}") for query in ("", f"?room_id={rooms.own}")]

    assert [reply.status for reply in replies] == [404, 404]
    assert rooms.outsider.get(f"/v1/blobs/{sha256}?room_id={rooms.foreign}").status == 403


def test_pages_and_streams_of_another_room_are_not_shown(rooms: Rooms) -> None:
    room = rooms.foreign
    paths = [f"/rooms/{room}", f"/rooms/{room}/sessions", f"/rooms/{room}/history", f"/v1/events?room_id={room}"]

    assert [rooms.outsider.get(path).status for path in paths] == [403] * 4
