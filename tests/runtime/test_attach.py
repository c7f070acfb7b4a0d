"""An attached agent: each message is one run of its program, and its answer goes back."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import cast

import pytest

from tallystick.client import BusClient
from tests.http.running import Json
from tests.install.machine import codex_home
from tests.runtime.world import World, control, message
from tests.waiting import gone, until

HARNESSES = ["claude", "codex", "gemini"]


def statuses(outcomes: list[Json]) -> list[object]:
    return [each["status"] for each in outcomes]


@pytest.mark.parametrize("program", [*HARNESSES, "agent"])
def test_a_message_is_one_run_of_the_program_and_its_answer_comes_back(world: World, program: str) -> None:
    boss = world.member("boss")
    world.attach("worker", program)

    (outcome,) = world.done(boss, message("worker", "count the sheep"))

    assert (outcome["status"], outcome["detail"], outcome["reply"]) == (
        "completed",
        "count the sheep (1)",
        "count the sheep (1)",
    )
    (call,) = world.calls()
    assert (call["slug"], call["agent"]) == (program, "worker")


def test_progress_is_told_as_task_events_and_the_reply_is_in_the_inbox(world: World) -> None:
    boss = world.member("boss")
    world.attach("worker", "claude")

    (outcome,) = world.done(boss, message("worker", "count"), task_id="TASK-7")

    assert world.tasks() == [("running", None), ("running", "Bash: echo count"), ("done", "count (1)")]
    (sent,) = cast("list[Json]", boss.call("messages.inbox", room_id=world.room_id)["messages"])
    data = cast("Json", cast("Json", sent["event"])["data"])
    about = cast("Json", data["conversation"])
    assert (data["text"], about["kind"], about["reply_to_action_id"]) == ("count (1)", "reply", outcome["action_id"])


def test_a_person_gets_the_reply_as_a_message(world: World) -> None:
    world.attach("worker", "claude")

    (outcome,) = world.done(world.user, message("worker", "count"))

    assert (outcome["status"], outcome["reply"]) == ("completed", "count (1)")


def test_a_plan_is_part_of_what_is_asked(world: World) -> None:
    boss = world.member("boss")
    world.attach("worker", "claude")

    (outcome,) = world.done(boss, message("worker", "count", plan={"steps": ["look", "add"], "note": "twice"}))

    assert outcome["reply"] == "Note: twice (1)"
    (session,) = world.state.glob("session-*")
    assert session.read_text() == "count\n\nPlan:\n1. look\n2. add\n\nNote: twice"


@pytest.mark.parametrize("program", HARNESSES)
def test_follow_ups_go_on_with_the_harnesses_session_until_a_new_one_is_wanted(world: World, program: str) -> None:
    boss = world.member("boss")
    world.attach("worker", program)
    context = world.relay(boss, message("worker", "one"))["context_id"]

    second = world.done(boss, message("worker", "two"), context_id=context)
    renewed, third = world.done(boss, control("worker", "new"), message("worker", "three"), context_id=context)
    (apart,) = world.done(boss, message("worker", "four"))

    assert [each["reply"] for each in (*second, third, apart)] == ["two (2)", "three (1)", "four (1)"]
    data = cast("Json", renewed["data"])
    assert (renewed["status"], sorted(data)) == ("completed", ["new_context_id", "new_task_id"])
    (fresh,) = world.done(boss, message("worker", "five"), context_id=data["new_context_id"])
    assert fresh["reply"] == "five (1)"


def test_a_command_without_sessions_is_told_what_was_said_before(world: World) -> None:
    boss = world.member("boss")
    world.attach("worker", "cat")
    context = world.relay(boss, message("worker", "one"))["context_id"]

    (second,) = world.done(boss, message("worker", "two"), context_id=context)

    assert second["reply"] == ("What was said so far.\n\nboss asked:\none\n\nYou answered:\none\n\nNow boss asks:\ntwo")


def test_actions_are_carried_out_in_order(world: World) -> None:
    boss = world.member("boss")
    world.attach("worker", "claude")

    outcomes = world.done(boss, *(message("worker", f"step {number}") for number in range(4)))

    assert [each["reply"] for each in outcomes] == [f"step {number} ({number + 1})" for number in range(4)]


def test_a_program_that_breaks_down_is_an_error_with_its_reason(world: World) -> None:
    boss = world.member("boss")
    world.attach("worker", "codex")

    (outcome,) = world.done(boss, message("worker", "fail"))

    assert (outcome["status"], outcome["detail"], outcome["reply"]) == ("error", "exited with 3: out of sheep", None)
    assert world.tasks()[-1] == ("blocked", "exited with 3: out of sheep")


def test_an_interrupt_stops_the_whole_group_and_says_so_to_both(world: World) -> None:
    boss = world.member("boss")
    world.attach("worker", "claude")
    asked = world.relay(boss, message("worker", "sleep"), message("worker", "after"))
    pids = world.sleepers()

    (interrupt,) = world.done(world.user, control("worker", "interrupt"))
    slept, after = world.outcomes(boss, asked)

    assert (interrupt["status"], interrupt["detail"]) == ("completed", f"stopped {slept['action_id']}")
    assert (slept["status"], slept["detail"], slept["reply"]) == ("error", "interrupted by user", None)
    assert [gone(pid) for pid in pids] == [True, True]
    assert (after["status"], after["reply"]) == ("completed", "after (2)")
    assert ("ready", "interrupted by user") in world.tasks()


def test_one_word_at_a_terminal_interrupts_an_agent_and_says_whether_anything_ran(world: World) -> None:
    boss = world.member("boss")
    world.attach("worker", "claude")
    asked = world.relay(boss, message("worker", "sleep"))
    world.sleepers()

    stopped = world.start("--as", "boss", "interrupt", "work", "--room", world.room_id)
    code = stopped.wait()
    (slept,) = world.outcomes(boss, asked)
    idle = world.start("--as", "boss", "interrupt", "worker", "--room", world.room_id)

    assert (code, stopped.out) == (0, [f"worker was interrupted: stopped {slept['action_id']}."])
    assert (slept["status"], slept["detail"]) == ("error", "interrupted by boss")
    assert (idle.wait(), idle.out) == (1, ["worker was not interrupted: nothing was running."])


def test_an_interrupt_is_rejected_when_nothing_runs(world: World) -> None:
    boss = world.member("boss")
    world.attach("worker", "claude")

    (outcome,) = world.done(boss, control("worker", "interrupt"))

    assert (outcome["status"], outcome["detail"]) == ("rejected", "nothing was running")


def test_a_harness_does_the_controls_it_knows(world: World) -> None:
    boss = world.member("boss")
    world.attach("writer", "claude")
    world.attach("checker", "codex")
    context = world.relay(boss, message("writer", "one"))["context_id"]

    compacted, reviewed, checked, instructed = world.done(
        boss,
        control("writer", "compact"),
        control("writer", "review", args="the tests"),
        control("checker", "review"),
        control("checker", "review", args="the docs"),
        context_id=context,
    )

    assert statuses([compacted, reviewed, checked, instructed]) == ["completed"] * 4
    assert (reviewed["detail"], instructed["detail"]) == ("/review the tests (3)", "the docs (1)")
    assert [cast("list[str]", call["argv"])[-1] for call in world.calls() if call["slug"] == "codex"] == [
        "--uncommitted",
        "-",
    ]


@pytest.mark.parametrize(
    ("program", "command", "reason"),
    [
        ("claude", "compact", "There is no context to compact yet."),
        ("codex", "compact", "codex cannot compact a context without a terminal; `new` starts a fresh one."),
        ("gemini", "review", "gemini has no review of its own; ask for one in a message."),
        ("agent", "review", "A plain command has no review of its own; ask for one in a message."),
        (
            "agent",
            "compact",
            "A plain command cannot compact a context without a terminal; `new` starts a fresh one.",
        ),
    ],
)
def test_what_a_harness_cannot_do_is_rejected_with_the_reason(
    world: World, program: str, command: str, reason: str
) -> None:
    boss = world.member("boss")
    world.attach("worker", program)

    (outcome,) = world.done(boss, control("worker", command))

    assert (outcome["status"], outcome["detail"], world.calls()) == ("rejected", reason, [])


def test_a_reply_is_taken_note_of_and_starts_nothing(world: World) -> None:
    boss = world.member("boss")
    worker = world.attach("worker", "claude")
    asked = world.client("worker").call("actions.relay", room_id=world.room_id, actions=[message("boss", "may I?")])
    question = cast("list[Json]", asked["actions"])[0]["action_id"]
    reply = {
        "type": "message",
        "dst": "worker",
        "action_id": "r1",
        "action_index": 0,
        "kind": "reply",
        "text": "yes",
        "reply_to_action_id": question,
    }

    boss.call("actions.submit", room_id=world.room_id, group_id="r", actions=[reply])
    (outcome,) = world.outcomes(boss, {"group_id": "r"})

    assert (outcome["status"], world.calls()) == ("completed", [])
    worker.until("boss replied: yes")


@pytest.mark.parametrize("trusted", [False, True])
def test_that_codex_will_not_run_our_hooks_is_said_before_it_works(world: World, tmp_path: Path, trusted: bool) -> None:
    home = codex_home(tmp_path / "codex", trusted=trusted)

    worker = world.attach("worker", "codex", CODEX_HOME=str(home))

    warned = [line for line in worker.said if "Codex runs no hook that nobody has looked at" in line]
    assert (len(warned), "its edits are not checked" in "".join(warned)) == (0 if trusted else 1, not trusted)


def test_two_cannot_be_attached_under_one_name(world: World) -> None:
    world.attach("worker", "claude")

    second = world.start("attach", "--name", "worker", "--room", world.room_id, "--", "claude")

    assert second.wait() == 1
    second.until("error: 'worker' is attached to this room already.")
    second.until("hint: ")


def test_told_to_end_it_stops_what_runs_and_says_so(world: World) -> None:
    boss = world.member("boss")
    worker = world.attach("worker", "claude")
    asked = world.relay(boss, message("worker", "sleep"))
    pids = world.sleepers()

    assert worker.end(signal.SIGINT) == 0

    assert [gone(pid) for pid in pids] == [True, True]
    (outcome,) = world.outcomes(boss, asked)
    assert (outcome["status"], outcome["detail"]) == ("error", "interrupted by the end of worker")


def test_hostile_words_reach_neither_terminal_nor_shell(world: World) -> None:
    boss = world.member("boss")
    worker = world.attach("worker", "cat")

    (outcome,) = world.done(boss, message("worker", "\x1b[2J$(touch owned); `touch owned`"))

    assert outcome["reply"] == "\x1b[2J$(touch owned); `touch owned`"
    assert "\x1b" not in worker.until("boss asks")
    assert list(world.repo.iterdir()) == []


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--name", "worker"), "Name a program after --"),
        (("--name", "worker", "--"), "Name a program after --"),
        (("--", "claude"), "--name"),
        (("--name", "worker", "--room", "nowhere", "--", "claude"), "error: "),
        (("--name", "worker", "--", "no-such-program"), "is no program that could be run"),
        (("--name", "worker", "--harness", "vim", "--", "claude"), "is no harness"),
        (("--name", "worker", "--cwd", "no/such/folder", "--", "claude"), "is no folder"),
        (("--name", "a b", "--", "claude"), "error: "),
    ],
)
def test_what_cannot_be_attached_is_refused_in_words(world: World, args: tuple[str, ...], words: str) -> None:
    process = world.start("attach", *args)

    assert process.wait() != 0
    process.until(words)


def test_without_a_hub_the_way_out_is_named(world: World) -> None:
    process = world.start("attach", "--name", "worker", "--", "claude", TALLYSTICK_DATA_DIR=str(world.folder / "none"))

    assert process.wait() == 3
    process.until("No hub is running")
    process.until("tally up")


def test_an_answer_that_is_too_long_for_a_message_goes_with_it(world: World) -> None:
    boss = world.member("boss")
    world.attach("worker", "sh", "-c", "head -c 100000 /dev/zero | tr '\\0' x")

    (outcome,) = world.done(boss, message("worker", "go"))

    reply = cast("str", outcome["reply"])
    assert (outcome["status"], reply.endswith("… (40000 more characters are in the attached file)")) == (
        "completed",
        True,
    )


@pytest.mark.parametrize(
    "said",
    [
        r"printf 'a\000b\377c'",
        r"head -c 70000 /dev/zero | tr '\000' '\001'",
        "yes '🐑' | head -n 40000 | tr -d '\n'",
        r"""printf '{"type":"result","subtype":"success","result":"\ud800 sheep"}\n'""",
    ],
)
@pytest.mark.parametrize("harness", ["plain", "claude-code"])
def test_whatever_a_program_writes_its_action_ends(world: World, said: str, harness: str) -> None:
    boss = world.member("boss")
    program = ("--harness", harness, "--", "sh", "-c", said, "sh")
    process = world.start("attach", "--name", "worker", "--room", world.room_id, *program)
    process.until("ready")

    (outcome,) = world.done(boss, message("worker", "go"))

    assert (outcome["status"], bool(outcome["reply"])) in [("completed", True), ("error", False)]


def test_a_program_that_says_nothing_still_has_an_answer(world: World) -> None:
    boss = world.member("boss")
    world.attach("worker", "true")

    (outcome,) = world.done(boss, message("worker", "go"))

    assert (outcome["status"], outcome["reply"]) == ("completed", "done, without a word")


def test_an_attached_agent_is_online_for_as_long_as_it_lives(world: World) -> None:
    worker = world.attach("worker", "claude")
    looker = BusClient(agent="looker", data_dir=world.hub.data_dir)

    def status() -> object:
        agents = cast("list[Json]", looker.ask("agent.list", session=world.room_id)["agents"])
        return next(each["status"] for each in agents if each["id"] == "worker")

    assert status() == "online"
    worker.end(signal.SIGKILL)
    until(lambda: status() == "offline")
    looker.close()
