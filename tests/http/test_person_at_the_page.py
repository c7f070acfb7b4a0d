"""Whoever presses buttons on the page acts as the user, and gets no place among the agents by it."""

from __future__ import annotations

import json
from typing import cast

from tests.http.running import Client, Json, RunningHub, signed_in

HANDOFF = {"status": "looked at it", "next_action": "go on"}


class Page:
    """The page in a browser, as far as its buttons go."""

    def __init__(self, hub: RunningHub) -> None:
        self._client = Client(
            hub, headers=signed_in(hub, cast("str", hub.local.get("/v1/status").json["login"])).headers
        )

    def press(self, operation: str, **given: object) -> Json:
        own = {"Origin": f"http://{self._client.headers['Host']}", "Content_Type": "application/json"}
        reply = self._client.request("POST", f"/act/{operation}", json.dumps(given).encode(), **own)
        assert reply.status == 200, reply.body
        return reply.json


def test_the_user_who_held_the_stick_is_not_waited_for_and_not_among_the_peers(hub: RunningHub) -> None:
    room, page = hub.user.room(), Page(hub)
    ada, bob = hub.agent("ada", room), hub.agent("bob", room)
    page.press("rooms.join", room_id=room)
    held = page.press("turns.wait", room_id=room, max_wait_ms=0)
    for agent in (ada, bob):
        agent.call("rooms.join", room_id=room)
    lease = {"lease_id": held["lease_id"], "expected_turn_id": held["turn_id"]}
    assert page.press("turns.release", room_id=room, **lease, handoff=HANDOFF)["reserved_for"] == "ada"

    turn = ada.call("turns.wait", room_id=room, max_wait_ms=0)
    bob.call("rooms.leave", room_id=room)

    mine = {"room_id": room, "lease_id": turn["lease_id"], "expected_turn_id": turn["turn_id"]}
    assert ada.call("turns.state", room_id=room)["next"] is None
    passed = ada.post("turns.pass", {**mine, "to_agent_id": "user", "handoff": HANDOFF})
    assert passed.refused == (403, "observer_cannot_hold")
    assert ada.call("turns.release", **mine, handoff=HANDOFF)["reserved_for"] is None
    bob.call("rooms.join", room_id=room)
    assert ada.call("messages.send", room_id=room, to=["@peers"], text="hello")["recipients"] == ["bob"]
    action = {"type": "message", "dst": "user", "action_id": "A", "action_index": 0, "kind": "user", "text": "do it"}
    submitted = ada.post("actions.submit", {"room_id": room, "group_id": "g", "actions": [action]})
    assert submitted.refused == (404, "agent_not_found")
