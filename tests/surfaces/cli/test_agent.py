"""`tally agent …` and `tally init`, run as agents, scripts and people run them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import cast

import pytest

from tests.agents.repository import git, repository
from tests.surfaces.cli.place import Done, Place

Row = dict[str, object]


@pytest.fixture
def repo(place: Place) -> Place:
    """A workspace under git, with everything committed."""
    (place.workspace / "AGENTS.md").unlink()
    repository(place.workspace)
    return place


def leave_behind(place: Place, name: str, path: str) -> None:
    """An agent reserves a folder, changes a file in it and dies."""
    program = f"""
import os, subprocess, sys
from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.harnesses import processes
from tallystick.kernel.caller import Caller, SessionKind
me = Caller(agent_id={name!r}, session=SessionKind.MCP_HARNESS, process=processes.facts(os.getpid()))
hub = Hub.open(Settings.of(os.environ))
room = hub.call("rooms.join", {{"context_path": {str(place.workspace)!r}}}, me).to_data()["room_id"]
hub.call("reservations.reserve", {{"room_id": room, "path": {path!r}}}, me)
hub.close()
"""
    subprocess.run([sys.executable, "-c", program], env=place.env, check=True)
    (place.workspace / path / "left.py").write_text("unfinished\n")


def error(done: Done) -> Row:
    assert done.code == 1
    assert done.envelope["data"] is None
    return done.error


def test_a_script_registers_and_acts_under_its_name(repo: Place) -> None:
    done = repo.orphaned("init", "--register", "amber-otter")
    assert done.envelope["command"] == "init"
    assert done.data == {
        "mode": "register",
        "agent_id": "amber-otter",
        "name": "amber-otter",
        "room_id": done.data["room_id"],
        "session_id": "amber-otter",
        "reason": "register_requested: amber-otter was asked for and is free",
    }
    beat = repo.run("agent", "heartbeat", "--agent", "amber-otter", "--json")
    assert (beat.envelope["ok"], beat.envelope["command"], beat.envelope["error"]) == (True, "agent heartbeat", None)
    assert (beat.data["agent_id"], beat.data["liveness"]) == ("amber-otter", "active")
    assert str(beat.data["last_seen_at"]).endswith("Z")


def test_a_named_session_keeps_its_id_and_gets_the_name(repo: Place) -> None:
    refusal = error(repo.as_("builder-1", "init", "--register", "amber-otter", "--role", "foreman"))
    assert refusal["code"] == "role_not_yours"
    done = repo.as_("builder-1", "init", "--register", "amber-otter")
    assert (done.data["agent_id"], done.data["name"]) == ("builder-1", "amber-otter")
    assert repo.run("--json", "agents", "update", "--agent-id", "amber-otter", "--role", "foreman").code == 0
    shown = repo.run("--json", "agent", "show", "--agent", "amber-otter")
    assert (shown.data["agent_id"], shown.data["role"]) == ("builder-1", "foreman")


def test_a_name_that_is_taken_or_none_is_refused_and_nobody_joined(repo: Place) -> None:
    repo.as_("builder-1", "init", "--register", "amber-otter")
    taken = error(repo.as_("builder-2", "init", "--register", "amber-otter"))
    assert (taken["code"], taken["details"]) == ("duplicate_agent", {"name": "amber-otter", "agent_id": "builder-1"})
    assert error(repo.as_("builder-2", "init", "--register", "X"))["code"] == "invalid_agent_name"
    listed = repo.run("--json", "agent", "list").rows("agents")
    assert [each["agent_id"] for each in listed] == ["builder-1"]


def test_without_anything_left_behind_a_session_registers_by_itself_and_says_why(repo: Place) -> None:
    first = repo.as_("builder-1", "init", "--non-interactive")
    assert (first.data["mode"], first.data["reason"]) == ("auto", "no_room_yet: nobody has worked here before")
    second = repo.as_("builder-2", "init", "--non-interactive")
    assert (second.data["mode"], second.data["reason"]) == (
        "auto",
        "no_unfinished_work: nobody who left has uncommitted files or a task in progress here",
    )
    assert first.data["name"] != second.data["name"]
    again = repo.as_("builder-2", "init", "--non-interactive")
    assert again.data["name"] == second.data["name"]


def test_a_script_without_an_identity_gets_a_name_for_its_id(repo: Place) -> None:
    done = repo.orphaned("init", "--non-interactive")
    assert done.data["agent_id"] == done.data["name"]
    listed = repo.run("--json", "agent", "list").rows("agents")
    assert [each["agent_id"] for each in listed] == [done.data["name"]]


def test_where_work_was_left_behind_a_session_does_not_decide_by_itself(repo: Place) -> None:
    leave_behind(repo, "claude:1", "src")
    refusal = error(repo.as_("builder-2", "init", "--non-interactive"))
    details = cast("Row", refusal["details"])
    assert refusal["code"] == "ambiguous_session"
    assert details["recommendation"] == {
        "action": "adopt",
        "agent_id": "claude:1",
        "name": None,
        "reason": "uncommitted_scope: 1 uncommitted file in src: src/left.py",
    }
    assert error(repo.as_("builder-2", "init", "--non-interactive"))["details"] == details
    listed = repo.run("--json", "agent", "list").rows("agents")
    assert [each["agent_id"] for each in listed] == ["claude:1"]


def test_adopting_goes_on_as_that_agent(repo: Place) -> None:
    leave_behind(repo, "claude:1", "src")
    done = repo.as_("builder-2", "init", "--adopt", "claude:1")
    assert done.data == {
        "mode": "adopt",
        "agent_id": "claude:1",
        "name": "claude:1",
        "room_id": done.data["room_id"],
        "session_id": "builder-2",
        "reason": "uncommitted_scope: 1 uncommitted file in src: src/left.py",
    }
    beat = repo.as_("builder-2", "agent", "heartbeat")
    assert beat.data["agent_id"] == "claude:1"
    events = repo.run("--json", "protocol", "list", "--event-type", "RESUME").rows("events")
    assert len(events) == 1


def test_an_adoption_that_nothing_speaks_for_is_refused_without_a_question(repo: Place) -> None:
    leave_behind(repo, "claude:1", "src")
    git(repo.workspace, "add", ".")
    git(repo.workspace, "commit", "-m", "done")
    refusal = error(repo.as_("builder-2", "init", "--adopt", "claude:1", "--non-interactive"))
    assert refusal["code"] == "adoption_rejected"
    assert "hint" in refusal
    elsewhere = error(repo.as_("builder-2", "init", "--adopt", "claude:1", "--scope", "docs"))
    assert elsewhere["code"] == "adoption_rejected"


def test_a_flag_is_no_persons_word_under_whatever_name(repo: Place) -> None:
    leave_behind(repo, "claude:1", "src")
    git(repo.workspace, "add", ".")
    git(repo.workspace, "commit", "-m", "done")
    room = repo.as_("builder-2", "join").data["room_id"]
    asked = json.dumps({"room_id": room, "agent_id": "claude:1", "confirm": True})
    assert error(repo.as_("zz", "call", "agents.adopt", "--input", asked))["code"] == "adoption_rejected"
    assert repo.orphaned("call", "agents.adopt", "--input", asked).error["code"] == "adoption_rejected"
    given = ("--room-id", str(room), "--agent-id", "claude:1", "--session-id", "builder-2")
    assert error(repo.as_("zz", "agents", "allow_adoption", *given))["code"] == "person_needed"
    with repo.terminal("agents", "allow_adoption", *given) as terminal:
        terminal.rest()
    assert terminal.process.returncode == 0
    assert repo.as_("builder-2", "init", "--adopt", "claude:1", "--non-interactive").data["agent_id"] == "claude:1"


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 130)])
def test_at_a_terminal_a_person_is_asked(repo: Place, answer: str, code: int) -> None:
    leave_behind(repo, "claude:1", "src")
    git(repo.workspace, "add", ".")
    git(repo.workspace, "commit", "-m", "done")
    with repo.terminal("init", "--adopt", "claude:1") as terminal:
        terminal.until("Go on as claude:1 all the same?")
        terminal.type(f"{answer}\n")
        terminal.rest()
    assert terminal.process.returncode == code
    found = repo.run("--json", "protocol", "list", "--event-type", "RESUME").rows("events")
    assert len(found) == (1 if answer == "y" else 0)


def test_a_person_without_a_wish_is_shown_what_was_left_and_asked(repo: Place) -> None:
    leave_behind(repo, "claude:1", "src")
    with repo.terminal("init") as terminal:
        shown = terminal.until("Go on as claude:1?")
        terminal.type("y\n")
        terminal.rest()
    assert "1 uncommitted file in src: src/left.py" in shown
    assert terminal.process.returncode == 0


def test_adopt_and_register_exclude_each_other(repo: Place) -> None:
    done = repo.run("--json", "init", "--adopt", "a", "--register", "b")
    assert (done.code, done.error["code"]) == (2, "usage")


def test_agents_reserve_release_and_see_each_other(repo: Place) -> None:
    for name in ("amber-otter", "cobalt-harbor"):
        repo.as_(name, "init", "--register", f"{name}-1")
    mine = repo.run(
        "--json", "agent", "reserve", "--agent", "amber-otter-1", "--scope", "src/*", "--bead", "T-1", "--ttl", "30"
    )
    assert (mine.code, cast("Row", mine.data["reservation"])["agent_id"]) == (0, "amber-otter")
    below = repo.workspace / "src"
    refusal = repo.run("--json", "agent", "reserve", "--agent", "cobalt-harbor", "--scope", "parser.py", cwd=below)
    assert (refusal.code, refusal.error["code"]) == (1, "reservation_conflict")
    assert cast("Row", refusal.error["details"])["name"] == "amber-otter-1"
    shared = repo.run("--json", "agent", "reserve", "--agent", "cobalt-harbor", "--scope", "src/parser.py", "--shared")
    assert shared.data["status"] == "granted"
    listed = repo.run("--json", "agent", "status").rows("reservations")
    assert [(each["agent_id"], each["path"]) for each in listed] == [
        ("amber-otter", "src/*"),
        ("cobalt-harbor", "src/parser.py"),
    ]
    assert len(repo.run("--json", "agent", "status", "--bead", "T-1").rows("reservations")) == 1
    assert (
        repo.run("--json", "agent", "release", "--agent", "amber-otter", "--scope", "src").data["status"] == "released"
    )
    lost = repo.run("--json", "agent", "release", "--agent", "amber-otter", "--scope", "src")
    assert (lost.code, lost.error["code"]) == (1, "reservation_lost")


def test_agents_send_read_and_accept(repo: Place) -> None:
    for name in ("amber-otter", "cobalt-harbor"):
        repo.as_(name, "join")
    ways = ["--from", "amber-otter", "--to", "cobalt-harbor", "--bead", "T-1", "--subject", "parser", "--body", "done"]
    handed = repo.run("--json", "agent", "send", "--category", "HANDOFF", "--next-action", "review it", *ways)
    assert (handed.code, cast("Row", handed.data["event"])["event_type"]) == (0, "HANDOFF")
    incomplete = repo.run("--json", "agent", "send", "--category", "HANDOFF", *ways)
    assert (incomplete.code, incomplete.error["code"]) == (1, "invalid_payload")
    blocked = repo.run("--json", "agent", "send", "--category", "BLOCKED", "--requested-action", "help", *ways)
    assert cast("Row", cast("Row", blocked.data["event"])["payload"])["urgency"] == "medium"
    repo.run("--json", "agent", "send", "--category", "INFO", *ways[:3], "broadcast", *ways[4:])

    inbox = repo.run("--json", "agent", "inbox", "--agent", "cobalt-harbor", "--state", "unread")
    assert (inbox.data["unread"], inbox.data["unacked"]) == (3, 2)
    message = str(cast("Row", handed.data["ack"])["message_id"])
    assert repo.run("--json", "agent", "ack", "--agent", "cobalt-harbor", "--message", message).data["already"] is False
    assert repo.run("--json", "agent", "read", "--agent", "cobalt-harbor", "--message", message).data["unread"] == 2
    acked = repo.run("--json", "agent", "inbox", "--agent", "cobalt-harbor", "--state", "acked").rows("messages")
    assert [cast("Row", each["event"])["id"] for each in acked] == [message]
    assert repo.run("--json", "agent", "inbox", "--agent", "cobalt-harbor", "--state", "read").rows("messages") == []
    wrong = repo.run("--json", "agent", "ack", "--agent", "amber-otter", "--message", message)
    assert (wrong.code, wrong.error["code"]) == (1, "own_message")


@pytest.mark.parametrize(("to", "kept"), [("role:peer", "@peers"), ("broadcast", "@all")])
def test_a_handoff_to_a_role_keeps_to_it(repo: Place, to: str, kept: str) -> None:
    for name in ("amber-otter", "cobalt-harbor", "jade-lynx"):
        repo.as_(name, "join")

    words = ("--bead", "T-1", "--subject", "s", "--body", "b", "--requested-action", "help")
    sent = repo.as_("amber-otter", "agent", "send", "--category", "BLOCKED", "--to", to, *words)

    assert cast("Row", sent.data["event"])["to_agent"] == kept
    assert [repo.as_(name, "inbox").data["unacked"] for name in ("cobalt-harbor", "jade-lynx")] == [1, 1]


def test_a_remark_keeps_its_task_and_its_path(repo: Place) -> None:
    for name in ("amber-otter", "cobalt-harbor"):
        repo.as_(name, "join")

    words = ("--bead", "BEAD-42", "--scope", "src/parser.py", "--subject", "s", "--body", "b")
    repo.as_("amber-otter", "agent", "send", "--category", "DECISION", "--to", "cobalt-harbor", *words)

    (message,) = repo.as_("cobalt-harbor", "inbox").rows("messages")
    said = cast("Row", cast("Row", message["event"])["data"])
    path = str(repo.workspace / "src" / "parser.py")
    assert said["refs"] == [{"kind": "task_ref", "task_id": "BEAD-42"}, {"kind": "file", "path": path}]


def test_an_unknown_agent_is_refused_with_the_envelope_and_a_code(repo: Place) -> None:
    repo.as_("amber-otter", "join")
    for command in (["heartbeat"], ["inbox"], ["release", "--scope", "src"], ["show"]):
        done = repo.run("--json", "agent", *command, "--agent", "nobody")
        assert (done.code, done.error["code"]) == (1, "agent_not_found"), command
        assert json.loads(done.out)["command"] == f"agent {command[0]}"


def test_agents_are_listed_by_role_and_liveness(repo: Place) -> None:
    repo.as_("amber-otter", "init", "--register", "jade-lynx")
    repo.run("--json", "agents", "update", "--agent-id", "jade-lynx", "--role", "foreman")
    leave_behind(repo, "claude:1", "src")
    for flags, expected in (
        ([], ["amber-otter", "claude:1"]),
        (["--role", "foreman"], ["amber-otter"]),
        (["--status", "evicted"], ["claude:1"]),
    ):
        listed = repo.run("--json", "agent", "list", *flags).rows("agents")
        assert [each["agent_id"] for each in listed] == expected


def test_the_status_of_agents_counts_what_they_have_to_accept(repo: Place) -> None:
    for name in ("amber-otter", "cobalt-harbor"):
        repo.as_(name, "join")
    repo.as_("amber-otter", "send", "cobalt-harbor", "look at this", "--attention")

    mine = repo.as_("cobalt-harbor", "agent", "status").data
    theirs = repo.as_("amber-otter", "agent", "status", "--agent", "cobalt-harbor").data
    told = repo.run("--as", "cobalt-harbor", "agent", "status").out

    assert (mine["unacked"], theirs["unacked"], repo.as_("amber-otter", "agent", "status").data["unacked"]) == (1, 1, 0)
    assert told.splitlines()[-1].startswith("1 to accept: `tally ")


def test_looking_at_an_inbox_does_not_make_its_owner_look_alive(repo: Place) -> None:
    leave_behind(repo, "claude:1", "src")
    repo.as_("amber-otter", "join")
    repo.as_("amber-otter", "send", "claude:1", "hello")

    shown = repo.as_("amber-otter", "agent", "inbox", "--agent", "claude:1")

    assert len(shown.rows("messages")) == 1
    assert repo.run("--json", "agent", "show", "--agent", "claude:1").data["liveness"] == "evicted"
