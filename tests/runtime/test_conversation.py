"""Three attached agents and their owner: planning, being interrupted, renewed and finishing, on one ledger."""

from __future__ import annotations

import json
from typing import cast

from tests.http.running import Client, Json
from tests.runtime.world import World, control, message

TURNS = [
    {
        "type": "relay_actions",
        "actions": [
            message("builder", "plan the wall", plan={"steps": ["measure", "draw"]}),
            message("checker", "plan the tests"),
        ],
    },
    {"type": "relay_actions", "actions": [message("builder", "sleep")]},
    {
        "type": "relay_actions",
        "actions": [
            control("builder", "new"),
            message("builder", "build the wall"),
            control("checker", "review", args="the wall"),
            message("writer", "describe the wall"),
        ],
    },
    {"type": "task_done", "summary": "the wall stands"},
]
ASKED = {
    "builder": ["plan the wall", "sleep", "build the wall"],
    "checker": ["plan the tests"],
    "writer": ["describe the wall"],
}
REPLIED = ["2. draw (1)", "plan the tests (1)", "build the wall (1)", "describe the wall (1)"]


def inbox(client: Client, room_id: str) -> list[str]:
    found = cast("list[Json]", client.call("messages.inbox", room_id=room_id)["messages"])
    return [cast("str", cast("Json", cast("Json", each["event"])["data"])["text"]) for each in found]


def test_three_attached_agents_plan_are_interrupted_renewed_and_finish(world: World) -> None:
    world.attach("builder", "codex")
    world.attach("checker", "claude")
    world.attach("writer", "gemini")
    script = world.folder / "script.json"
    script.write_text(json.dumps([json.dumps(turn) for turn in TURNS]))

    relay = world.start(
        "relay", "--name", "owner", "--room", world.room_id, "a wall", "--", "claude", HARNESS_SCRIPT=str(script)
    )
    world.sleepers()
    (interrupt,) = world.done(world.user, control("builder", "interrupt"))

    assert (interrupt["status"], relay.wait(), relay.out) == ("completed", 0, ["the wall stands"])
    told = world.start("--json", "events", "--room", world.room_id, "--limit", "500")
    assert told.wait() == 0
    events = cast("list[Json]", json.loads(told.out[0])["data"]["events"])
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert sorted(results(events)) == sorted(
        [
            ("builder", "completed"),
            ("builder", "error"),
            ("builder", "completed"),
            ("builder", "completed"),
            ("builder", "completed"),
            ("checker", "completed"),
            ("checker", "completed"),
            ("writer", "completed"),
        ]
    )
    assert cast("Json", events_of(events, "x.tally.action.task_done")[-1]["data"])["summary"] == "the wall stands"
    for name, texts in ASKED.items():
        assert asked(events, name) == texts
        assert inbox(world.client(name), world.room_id) == []
    assert sorted(inbox(world.client("owner"), world.room_id)) == sorted(REPLIED)


def asked(events: list[Json], name: str) -> list[object]:
    """What the ledger says was sent to one agent."""
    said = [cast("Json", event["data"]) for event in events_of(events, "chat.message")]
    return [data["text"] for data in said if data["recipients"] == [name]]


def events_of(events: list[Json], kind: str) -> list[Json]:
    return [event for event in events if event["kind"] == kind]


def results(events: list[Json]) -> list[tuple[object, object]]:
    """Who ended what how."""
    said = [
        (event["by"], cast("Json", event["data"])["status"]) for event in events_of(events, "x.tally.action.result")
    ]
    return [(by, status) for by, status in said if status != "accepted"]
