"""An owner agent drives the others through what it says."""

from __future__ import annotations

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, cast

import pytest

from tallystick.harnesses.headless.protocol import Failed
from tallystick.runtime.program import ProgramExited
from tallystick.runtime.relay import TaskRelay
from tallystick.runtime.rules import ActionDelivery, Context
from tests.http.running import Json
from tests.runtime.world import Process, World, control, message
from tests.waiting import eventually

if TYPE_CHECKING:
    from tallystick.runtime.program import AgentEngine, Mail
    from tallystick.runtime.room_connection import RoomConnection

DONE = {"type": "task_done", "summary": "all counted"}


def script(world: World, *outputs: object) -> str:
    """What the owner says, turn by turn; texts as they are, objects as JSON."""
    file = world.folder / "script.json"
    file.write_text(json.dumps([each if isinstance(each, str) else json.dumps(each) for each in outputs]))
    return str(file)


def start(world: World, *outputs: object, options: tuple[str, ...] = (), program: str = "claude") -> Process:
    args = ("relay", "--name", "owner", "--room", world.room_id, *options, "count all sheep", "--", program)
    return world.start(*args, HARNESS_SCRIPT=script(world, *outputs))


def actions(*listed: Json) -> Json:
    return {"type": "relay_actions", "actions": list(listed)}


def prompts(world: World) -> list[str]:
    """What the owner's program was told, turn by turn."""
    (session,) = (file for file in world.state.glob("session-*") if "You are owner" in file.read_text())
    return session.read_text().split("\0")


def test_what_the_owner_says_is_sent_and_what_comes_of_it_is_its_next_prompt(world: World) -> None:
    world.attach("worker", "codex")

    relay = start(world, actions(message("worker", "count")), f"```json\n{json.dumps(DONE)}\n```")

    assert (relay.wait(), relay.out) == (0, ["all counted"])
    assert [line for line in relay.all_said() if "hub" in line] == []
    first, second = prompts(world)
    assert "- worker, online" in first
    assert first.endswith("The task:\ncount all sheep")
    assert second == (
        "This is what came of your actions.\n\nworker: completed\ncount (1)\n\n"
        "Answer with relay_actions or task_done. 19 turns are left."
    )
    assert world.tasks()[-1] == ("done", "all counted")


def test_a_local_answer_ends_the_relay_and_is_shown(world: World) -> None:
    relay = start(world, "I know that already: three.")

    assert (relay.wait(), relay.out, world.events("x.tally.action.submit")) == (
        0,
        ["I know that already: three."],
        [],
    )


def test_an_unknown_name_is_told_to_the_owner_and_nothing_is_sent(world: World) -> None:
    world.attach("worker", "claude")

    relay = start(world, actions(message("worker", "count"), message("shepherd", "count")), DONE, program="codex")

    assert relay.wait() == 0
    assert prompts(world)[1] == (
        "Nothing was sent: 'shepherd' is no agent of this room.\n"
        "Name a member by its agent id or its name (agents.list); answer a person with a message instead.\n\n"
        "Answer with relay_actions or task_done. 19 turns are left."
    )
    assert world.events("x.tally.action.submit") == []


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"type": "relay_actions", "actions": []}, "needs `actions`"),
        (actions({"type": "message", "dst": "worker"}), "text"),
        (actions(control("worker", "dance")), "command"),
        (actions(message("worker", "x" * 2_000_000)), "bytes"),
        (actions(message("worker", "x" * 70_000)), "text"),
        (actions(message("\ud800", "half a character")), "no agent"),
    ],
)
def test_what_cannot_be_sent_is_corrected(world: World, said: Json, why: str) -> None:
    world.member("worker")

    relay = start(world, said, DONE)

    assert relay.wait() == 0
    assert prompts(world)[1].startswith("Nothing was sent: ")
    assert why in prompts(world)[1]


def test_a_relay_ends_after_its_turns(world: World) -> None:
    world.attach("worker", "claude")

    relay = start(
        world,
        *(actions(message("worker", "count")) for _ in range(3)),
        options=("--max-turns", "3"),
        program="codex",
    )

    assert (relay.wait(), relay.out) == (1, ["ended after 3 turns"])
    assert len(world.events("x.tally.action.submit")) == 3
    assert prompts(world)[-1].endswith("This is your last turn: end with task_done.")


def test_a_failure_of_the_owners_program_ends_the_relay(world: World) -> None:
    relay = world.start("relay", "--name", "owner", "--room", world.room_id, "fail", "--", "claude")

    assert (relay.wait(), relay.out) == (1, ["exited with 3: out of sheep"])


def test_an_interrupt_ends_a_relay_that_waits_for_others(world: World) -> None:
    world.member("worker")
    relay = start(world, actions(message("worker", "count")), DONE)
    relay.until("to worker, which is not connected: it waits until that comes: count")

    (outcome,) = world.done(world.user, control("owner", "interrupt"))

    assert (outcome["status"], relay.wait(), relay.out) == ("completed", 1, ["interrupted by user"])


class OrderedCalls:
    """Stands for the line and for the owner's program: what is asked of either, in order."""

    agent = "owner"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.interrupts: list[ActionDelivery] = []

    def ask(self, type: str, payload: Json, **_given: object) -> Json:
        self.asked.append(f"{type} {payload.get('status', '')}".strip())
        return {"agents": []}

    def begin(self, action: ActionDelivery, context: Context, mail: Mail) -> OrderedCalls:  # noqa: ARG002
        self.asked.append("begin")
        self.action, self.mail = action, mail
        return self

    def stop(self) -> None:
        self.asked.append("stop")
        self.mail(ProgramExited(run=self))

    def outcome(self) -> Failed:
        return Failed(why="stopped")


def test_who_interrupts_is_told_before_the_relay_ends() -> None:
    calls = OrderedCalls()
    relay = TaskRelay(
        line=cast("RoomConnection", cast("object", calls)),
        engine=cast("AgentEngine", cast("object", calls)),
        tell=lambda _text: None,
        max_turns=3,
    )
    interrupt = ActionDelivery(action_id="a1", src="user", context_id="", task_id="a1", command="interrupt")

    with ThreadPoolExecutor() as pool:
        ended = pool.submit(relay.run, "count all sheep")
        eventually(lambda: "begin" in calls.asked)
        relay.brought(interrupt)

    assert ended.result().text == "interrupted by user"
    assert calls.asked == ["agent.list", "begin", "action.result completed", "stop"]


def test_an_owner_takes_no_other_work_while_it_relays(world: World) -> None:
    boss = world.member("boss")
    world.member("worker")
    relay = start(world, actions(message("worker", "count")), DONE)
    eventually(lambda: world.events("x.tally.action.submit") or None)

    (outcome,) = world.done(boss, message("owner", "and me?"))

    assert (outcome["status"], outcome["detail"]) == ("rejected", "owner relays a task and takes no other work")
    assert relay.end(signal.SIGTERM) == 1


def test_a_relay_goes_on_after_its_hub_was_killed(lone_world: World) -> None:
    world = lone_world
    world.attach("worker", "claude")
    relay = start(world, actions(message("worker", "sleep")), DONE, program="codex")
    world.sleepers()

    world.hub.kill()
    relay.until("the hub is away")
    world.hub.start()
    boss = world.member("boss")
    world.done(boss, control("worker", "interrupt"))

    assert (relay.wait(), relay.out) == (0, ["all counted"])
    assert "worker: error, interrupted by boss" in prompts(world)[1]
    assert cast("Json", world.events("x.tally.action.task_done")[-1]["data"])["summary"] == "all counted"
