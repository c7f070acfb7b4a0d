"""An agent that speaks ACP, attached: requests and answers, steps, permissions, interrupts, and what a kill leaves."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import cast

import psutil
import pytest
from acp import schema
from pydantic import BaseModel

from tallystick.harnesses.acp import protocol
from tallystick.harnesses.acp.programs import ACP_PROGRAMS
from tallystick.harnesses.acp.turn import AcpTurn
from tests.http.running import Client, Json
from tests.runtime.world import Process, World
from tests.waiting import eventually, until

AGENT = Path(__file__).parent / "programs" / "acp_agent.py"
DIARY = AGENT.with_name("acp_diary.py")
STEPS = ("x.tally.action.task_updated",)
SENT: dict[str, type[BaseModel]] = {
    "initialize": schema.InitializeRequest,
    "session/new": schema.NewSessionRequest,
    "session/load": schema.LoadSessionRequest,
    "session/set_mode": schema.SetSessionModeRequest,
    "session/set_config_option": schema.SetSessionConfigOptionSelectRequest,
    "session/prompt": schema.PromptRequest,
    "session/cancel": schema.CancelNotification,
}
"""What we ask of a harness, and tell it, by the protocol's own schema."""


def attached(world: World, name: str = "worker") -> Process:
    process = world.start("attach", "--name", name, "--room", world.room_id, "--acp", "--", sys.executable, str(AGENT))
    process.until("ready")
    return process


def say(world: World, client: Client, text: str, **given: object) -> Json:
    return client.call("messages.send", room_id=world.room_id, text=text, to=["worker"], **given)


def answer(world: World, client: Client, sent: Json) -> Json:
    """What came of the one request that a message became."""
    event = cast("Json", sent["event"])
    return world.outcomes(client, {"group_id": event["id"]})[0]


def asked(world: World, client: Client, text: str) -> Json:
    return answer(world, client, say(world, client, text))


def details(world: World) -> list[object]:
    return [
        each["detail"] for each in (cast("Json", event["data"]) for event in world.events(*STEPS)) if "detail" in each
    ]


def permission(world: World) -> Json:
    """The request that waits for an answer, once there is one."""

    def waiting() -> list[Json] | None:
        return cast("list[Json]", world.user.call("permissions.list", room_id=world.room_id)["permissions"]) or None

    return eventually(waiting)[0]


def decide(world: World, decision: str, **given: object) -> Json:
    number = permission(world)["permission"]
    return world.user.call("permissions.answer", room_id=world.room_id, permission=number, decision=decision, **given)


def sessions(world: World) -> list[list[Json]]:
    return [[json.loads(line) for line in file.read_text().splitlines()] for file in world.state.glob("*.session")]


def test_a_message_is_answered_and_its_steps_are_on_the_ledger(world: World) -> None:
    attached(world)
    boss = world.member("boss")

    found = asked(world, boss, "steps")

    assert (found["status"], found["reply"]) == ("completed", "It is done.")
    assert details(world) == [
        "says: I look at it.",
        "plan: look (done)",
        "tool: Read a.txt",
        "edit: a.txt (+1 -1)",
    ]


def test_one_process_keeps_one_session_for_each_asker(world: World) -> None:
    attached(world)
    boss, other = world.member("boss"), world.member("other")

    said = [asked(world, who, text)["reply"] for who, text in [(boss, "one"), (other, "two"), (boss, "three")]]

    assert said == ["prompt 1: one", "prompt 1: two", "prompt 2: three"]
    assert len(list(world.state.glob("*.environ"))) == 1


def test_two_who_ask_at_once_are_answered_in_order(world: World) -> None:
    attached(world)
    boss, other = world.member("boss"), world.member("other")

    first, second = say(world, boss, "sleep"), say(world, other, "steps")
    until(lambda: bool(details(world)))
    boss.call(
        "actions.relay", room_id=world.room_id, actions=[{"type": "control", "dst": "worker", "command": "interrupt"}]
    )

    assert answer(world, boss, first)["detail"] == "interrupted by boss"
    assert answer(world, other, second)["reply"] == "It is done."


def test_what_is_allowed_is_done(world: World) -> None:
    attached(world)
    boss = world.member("boss")
    sent = say(world, boss, "run make deploy")

    waiting = permission(world)
    assert (waiting["agent_id"], waiting["command"], waiting["title"]) == ("worker", "make deploy", "make deploy")
    decide(world, "allow")

    assert answer(world, boss, sent)["reply"] == "ran make deploy"
    assert details(world) == [
        f"asks permission {waiting['permission']}: execute: make deploy",
        f"permission {waiting['permission']} allowed by user",
    ]


@pytest.mark.parametrize("script", ["run", "strict"])
def test_who_is_denied_is_told_why_and_goes_on(world: World, script: str) -> None:
    attached(world)
    boss = world.member("boss")
    sent = say(world, boss, f"{script} make deploy")
    decide(world, "deny", message="use the staging database")

    found = answer(world, boss, sent)

    told = "You asked for permission: make deploy. It was denied by user: use the staging database"
    assert found["status"] == "completed"
    assert told in str(found["reply"])


def test_our_own_tools_need_no_permission_and_a_command_never_passes_for_one(world: World) -> None:
    script = world.bin / "claude-agent-acp"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} {AGENT} "$@"\n')
    script.chmod(0o755)
    world.attach("worker", "claude")
    boss = world.member("boss")

    assert asked(world, boss, "own mcp__tally__messages")["reply"] == "allowed"
    sent = say(world, boss, "run mcp__tally__rm -rf /")
    decide(world, "deny")

    assert answer(world, boss, sent)["reply"] == "did not run mcp__tally__rm -rf /"
    assert [each["mode"] for each in sessions(world)[0] if "mode" in each] == ["default"]


@pytest.mark.parametrize("kind", ["read", "execute"])
def test_a_tool_of_ours_is_known_by_the_name_that_its_harness_gives_it(kind: str) -> None:
    """Qwen Code has the arguments in the title."""
    call = {"toolCallId": "t1", "title": "{}", "kind": kind, "_meta": {"toolName": "mcp__tally__rooms"}}

    assert AcpTurn().is_own(call, ACP_PROGRAMS["qwen"].own_tools) is (kind == "read")


@pytest.mark.parametrize(
    ("slug", "sandbox", "option"),
    [("opencode", "read-only", {"mode": "plan"}), ("copilot", "full-access", {"allow_all": "on"})],
)
def test_how_far_a_session_may_reach_may_be_an_option_of_it(
    world: World, slug: str, sandbox: str, option: dict[str, str]
) -> None:
    script = world.bin / slug
    script.write_text(f'#!/bin/sh\nexec {sys.executable} {AGENT} "$@"\n')
    script.chmod(0o755)
    given = {"OPENCODE_CONFIG_CONTENT": '{"model": "mine"}'}
    options = ["--name", "worker", "--room", world.room_id, "--sandbox", sandbox]
    world.start("attach", *options, "--", slug, **given).until("ready")

    asked(world, world.member("boss"), "one")

    assert option in sessions(world)[0]
    (environ,) = (json.loads(file.read_text()) for file in world.state.glob("*.environ"))
    config = json.loads(environ["OPENCODE_CONFIG_CONTENT"])
    assert config["model"] == "mine"
    # What a person has set stays, and a person is asked all the same.
    assert ("permission" in config) is (slug == "opencode")


def kept(model: type[BaseModel], given: object) -> object:
    """What a schema keeps of a message: all of it, or something was wrong or unknown."""
    return model.model_validate(given).model_dump(mode="json", by_alias=True, exclude_unset=True)


def test_all_that_we_send_is_in_the_protocols_schema(world: World) -> None:
    script, heard = world.bin / "claude-agent-acp", world.folder / "heard"
    script.write_text(f"#!/bin/sh\ntee -a {heard} | exec {sys.executable} {AGENT}\n")
    script.chmod(0o755)
    boss = world.member("boss")
    life = world.start("attach", "--name", "worker", "--room", world.room_id, "--model", "haiku", "--", "claude")
    life.until("ready")
    sent = say(world, boss, "run make deploy")
    decide(world, "allow")
    answer(world, boss, sent)
    waiting = say(world, boss, "run make clean")
    permission(world)
    world.done(boss, {"type": "control", "dst": "worker", "command": "interrupt"})
    answer(world, boss, waiting)
    life.end(signal.SIGKILL)
    world.attach("worker", "claude")
    asked(world, boss, "one")

    lines = [cast("Json", json.loads(line)) for line in heard.read_text().splitlines()]
    requests = [each for each in lines if "method" in each]
    assert {str(each["method"]) for each in requests} == set(SENT)
    for each in requests:
        assert kept(SENT[str(each["method"])], each["params"]) == each["params"]
    chosen = [each["result"] for each in lines if "result" in each]
    assert len(chosen) == 2
    for each in chosen:
        assert kept(schema.RequestPermissionResponse, each) == each


def test_a_server_that_a_harness_starts_is_in_the_protocols_schema() -> None:
    server = protocol.stdio_server("tally", ["/bin/tally", "mcp"], {"TALLYSTICK_AGENT": "worker"})
    given = {"cwd": "/shop", "mcpServers": [server]}

    assert kept(schema.NewSessionRequest, given) == given


def test_an_interrupt_ends_what_waits_for_permission(world: World) -> None:
    attached(world)
    boss = world.member("boss")
    sent = say(world, boss, "run make deploy")
    number = permission(world)["permission"]

    world.done(boss, {"type": "control", "dst": "worker", "command": "interrupt"})

    assert answer(world, boss, sent)["detail"] == "interrupted by boss"
    shown = world.user.call("permissions.show", room_id=world.room_id, permission=number, max_wait_ms=60_000)
    assert (shown["state"], shown["message"]) == ("withdrawn", "the request was interrupted")
    assert asked(world, boss, "steps")["reply"] == "It is done."


def test_a_harness_that_dies_fails_the_request_and_the_session_goes_on(world: World) -> None:
    attached(world)
    boss = world.member("boss")
    asked(world, boss, "one")

    failed = asked(world, boss, "die")

    assert failed["status"] == "error"
    assert "exited with 3: out of luck" in str(failed["detail"])
    assert asked(world, boss, "two")["reply"] == "prompt 3: two"


def test_a_killed_agent_goes_on_with_its_conversations(world: World) -> None:
    agent = attached(world)
    boss = world.member("boss")
    asked(world, boss, "one")
    sent = say(world, boss, "run make deploy")
    number = permission(world)["permission"]
    agent.end(signal.SIGKILL)
    away = say(world, boss, "two")
    assert [each["away"] for each in cast("list[Json]", away["asked"])] == [True]

    attached(world)

    assert answer(world, boss, sent)["status"] == "error"
    assert answer(world, boss, away)["reply"] == "prompt 3: two"
    assert world.user.call("permissions.show", room_id=world.room_id, permission=number)["state"] == "withdrawn"


def test_an_answer_longer_than_a_message_goes_with_one(world: World) -> None:
    attached(world)
    boss = world.member("boss")

    found = asked(world, boss, "long 30000")

    message = cast("Json", world.events("chat.message")[-1]["data"])
    assert str(found["reply"]).endswith("more characters are in the attached file)")
    stored = [
        world.user.call("blobs.get", room_id=world.room_id, sha256=str(file["path"]).removeprefix("blobs/"))
        for file in cast("list[Json]", message["attachments"])
    ]
    sizes = [cast("Json", each["blob"])["size"] for each in stored]
    assert sizes == [256 * 1024, len("long answer " * 30_000) - 1 - 256 * 1024]


def test_an_agent_ends_with_its_room_and_with_its_place_in_it(world: World) -> None:
    agent, boss = attached(world), world.member("boss")
    second = attached(world, "second")
    sent = say(world, boss, "sleep")
    until(lambda: bool(details(world)))

    world.user.call("rooms.remove", room_id=world.room_id, agent_id="second", reason="not needed")
    second.until("user took it out of the room: not needed")
    boss.call("rooms.close", room_id=world.room_id, reason="all done")

    agent.until("boss closed the room: all done")
    assert (agent.wait(), second.wait()) == (0, 0)
    assert answer(world, boss, sent)["detail"] == "the room was closed"


def test_a_harness_gets_our_tools_and_its_own_name(world: World) -> None:
    attached(world)
    asked(world, world.member("boss"), "one")

    (environ,) = [json.loads(file.read_text()) for file in world.state.glob("*.environ")]
    began = sessions(world)[0][0]["began"]
    assert (environ["TALLYSTICK_AGENT"], environ["TALLYSTICK_ROOM"]) == ("worker", world.room_id)
    assert "/mcp" in str(began)


def private_memory(*pids: int) -> int:
    return sum(psutil.Process(pid).memory_full_info().uss for pid in pids)


@pytest.mark.parametrize("count", [200, pytest.param(10_000, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])])
def test_asks_of_one_script_leave_nothing_in_queues_or_in_memory(world: World, count: int) -> None:
    program = (sys.executable, "-S", str(DIARY), str(world.folder / "diary"))
    agent = world.start("attach", "--name", "worker", "--room", world.room_id, "--acp", "--", *program)
    agent.until("ready")
    script, worker = world.member("script"), world.client("worker")
    pids = world.hub.process.pid, agent.popen.pid
    sizes = list[int]()
    for _ in range(count // 50):
        sent = [say(world, script, f"quick {number}") for number in range(50)]
        assert {answer(world, script, each)["reply"] for each in sent} == {"noted"}
        sizes.append(private_memory(*pids))

    for client in (script, worker):
        left = client.call("actions.pending", room_id=world.room_id)
        assert (left["waiting"], left["open"], left["awaited"]) == (0, [], []), left
    assert sizes[-1] - sizes[len(sizes) // 4] < 16 * 1024**2, sizes
