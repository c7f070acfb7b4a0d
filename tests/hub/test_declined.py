"""A refusal that leaves something on the ledger: committed first, raised then, whoever serves the call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import pytest

from tallystick.hub import registry
from tallystick.hub.hub import Hub
from tallystick.hub.serving import Serving
from tallystick.hub.visitor import Visitor
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.kernel.errors import TallyError
from tallystick.kernel.operation import Answer
from tallystick.storage.port import Store
from tests.scene import Row

ADA = Caller(agent_id="ada", session=SessionKind.NAMED)
BOB = Caller(agent_id="bob", session=SessionKind.NAMED)
RESERVE = "reservations.reserve"

Ask = Callable[[dict[str, object], str | None], Answer]


def directly(hub: Hub) -> Ask:
    return lambda given, key: hub.call(RESERVE, given, BOB, key=key)


def served(hub: Hub) -> Ask:
    async def ask(given: dict[str, object], key: str | None) -> Answer:
        serving = Serving(hub, lambda _: b"")
        try:
            return await serving.call(Visitor(caller=BOB, trusted=True), RESERVE, given, key=key)
        finally:
            await serving.close()

    return lambda given, key: asyncio.run(ask(given, key))


@pytest.mark.parametrize(
    ("grouped", "way"),
    [(False, directly), (True, directly), (True, served)],
    ids=["by itself", "in a group", "served"],
)
@pytest.mark.parametrize("key", [None, "once"])
def test_what_a_declined_call_appended_stays_and_the_refusal_is_raised(
    store: Store, grouped: bool, way: Callable[[Hub], Ask], key: str | None
) -> None:
    store.migrate(registry.schema())
    hub = Hub(store, grouped=grouped)
    room_id = hub.call("rooms.create", {"title": "a room"}, ADA).to_data()["room_id"]
    given: dict[str, object] = {"room_id": room_id, "path": "src"}
    for who in (ADA, BOB):
        hub.call("rooms.join", {"room_id": room_id}, who)
    hub.call(RESERVE, given, ADA)

    for _ in range(2):
        with pytest.raises(TallyError) as caught:
            way(hub)(given, key)
        assert caught.value.code == "reservation_conflict"

    listed = hub.call("events.list", {"room_id": room_id, "kinds": ["x.tally.protocol.incursion"]}, ADA)
    events = cast("list[Row]", listed.to_data()["events"])
    assert [(each["data"]["from_agent"], each["by"]) for each in events] == [("bob", "system")]
    hub.call("reservations.release", given, ADA)
    assert way(hub)(given, key).to_data()["status"] == "granted"
    if hub.committer:
        hub.committer.close()
