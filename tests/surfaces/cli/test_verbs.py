"""The verbs a person types: positional, short, with ids as short as they may be."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys

import pytest

from tallystick.kernel.json_values import object_of
from tests.surfaces.cli.place import DETACHED, TALLY, Done, Place, at_terminal, lines_until


def data_of(received: dict[str, object]) -> dict[str, object]:
    """What an event in an inbox says."""
    return object_of(object_of(received["event"])["data"])


TYPED = re.compile(r"`tally ([^`]+)`")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-")


@pytest.fixture
def room(place: Place) -> Place:
    place.as_("ann", "join")
    place.as_("ben", "join")
    return place


def test_a_message_is_sent_read_accepted_and_answered_by_its_number(room: Place) -> None:
    sent = room.run("--as", "ann", "send", "ben", "May I?", "--attention")
    inbox = room.run("--as", "ben", "inbox").out.splitlines()
    accepted = room.run("--as", "ben", "ack", "5")
    answered = room.run("--as", "ben", "reply", "5", "You may.")

    assert sent.out == "Sent to ben as event 5.\n"
    assert [re.sub(r", (just now|\d+ s ago):", ", NOW:", line) for line in inbox[:3]] == [
        "5  ann, NOW: new, needs your ack",
        "    May I?",
        "1 unread, 1 to accept.",
    ]
    assert accepted.out == "Accepted.\n"
    assert answered.out == "Sent to ann as event 7.\n"
    (reply,) = room.as_("ann", "inbox").rows("messages")
    question = room.as_("ann", "log", "--since", "4", "--limit", "1").rows("events")[0]
    assert data_of(reply)["reply_to"] == question["id"]


def test_answering_accepts_what_asked_to_be_accepted(room: Place) -> None:
    room.run("--as", "ann", "send", "ben", "May I?", "--attention")

    room.run("--as", "ben", "reply", "5", "You may.")

    assert room.as_("ben", "inbox").data["unacked"] == 0


def test_an_event_is_named_by_its_seq_its_id_or_the_beginning_of_it(room: Place) -> None:
    room.run("--as", "ann", "send", "ben", "one", "--attention")
    event_id = str(room.as_("ann", "log", "--limit", "1").rows("events")[0]["id"])

    codes = [
        room.as_("ben", *words, named).code
        for words in (["ack"], ["messages", "ack", "--event-id"], ["agent", "ack", "--message"])
        for named in ("5", event_id, event_id[:-2])
    ]
    unknown = room.as_("ben", "ack", "77")
    several = room.as_("ben", "ack", event_id[:4])

    assert set(codes) == {0}
    assert (unknown.code, unknown.error["code"]) == (1, "event_not_found")
    assert (several.code, several.error["code"], several.error["hint"]) == (
        1,
        "ambiguous_id",
        "Type more of it, or all of it.",
    )


def test_a_room_may_be_named_by_the_beginning_of_its_id(room: Place) -> None:
    room_id = str(room.as_("ann", "state").data["room_id"])

    assert room.as_("ann", "state", "--room", room_id[:-3]).data["room_id"] == room_id
    assert room.as_("ann", "turns", "state", "--room", room_id[:-3]).data["room_id"] == room_id


def test_a_room_is_known_by_its_beginning_wherever_one_is_named(alone: Place) -> None:
    room_id = str(alone.as_("ann", "join").data["room_id"])
    short = room_id[:13]
    elsewhere = alone.home

    def typed(*words: str) -> Done:
        return alone.run("--as", "ben", *words, cwd=elsewhere)

    joined, verified = typed("join", "--room", short), typed("verify", "--room", short)
    with at_terminal([TALLY, "--as", "ben", "hold", "--room", short], env=alone.env, cwd=elsewhere) as holder:
        holder.until("It is your turn")
    runner = typed("--json", "runner", "--room", short, "--once", "--executors", "command", "--command", "true")
    taken = typed("takeover", "--room", short, "--reason", "ended")
    closed, archived = typed("close", "--room", short, "--yes"), typed("--json", "archive", short)

    assert joined.out.splitlines()[-1] == (
        f"Next: `tally --as ben wait --room {room_id}` for your turn, "
        f"`tally --as ben state --room {room_id}` to look around."
    )
    assert verified.out.splitlines()[-1].endswith(" in 1 room. All is as it was written.")
    assert runner.data["room_id"] == room_id
    assert (taken.code, closed.code) == (0, 0), (taken, closed)
    assert [each["room_id"] for each in archived.rows("archived")] == [room_id]


def test_a_message_is_relayed_by_its_number_in_the_room_that_it_comes_from(room: Place) -> None:
    source = str(room.as_("ann", "state").data["room_id"])
    room.as_("ann", "send", "ben", "Fog tonight.")
    (room.workspace / "inner").mkdir()
    target = str(room.as_("ann", "join", "inner", "--force-new").data["room_id"])

    relayed = room.as_(
        *("ann", "messages", "relay", "--room", target[:-2], "--src-group-id", source[:-2], "--src-event-id", "5"),
        *("--to", "user"),
    )

    assert data_of(relayed.data)["src_event_id"] == room.as_("ann", "log", "--since", "4").rows("events")[0]["id"]


def test_an_event_is_opened_by_the_beginning_of_its_id(room: Place) -> None:
    room.run("--as", "ann", "send", "ben", "Are you there?")
    event_id = str(room.as_("ann", "log", "--limit", "1").rows("events")[0]["id"])

    assert room.run("open", event_id[:-2]).out == room.run("open", "5").out != ""


def test_a_recipient_is_known_by_the_beginning_of_a_name_that_nobody_else_has(room: Place) -> None:
    room.as_("bea", "join")

    assert room.run("--as", "ann", "send", "an,ben", "hello").out == "Sent to ann, ben as event 6.\n"
    assert room.as_("ann", "send", "be", "hello").error["code"] == "ambiguous_id"
    assert room.as_("ann", "send", "zoe", "hello").error["code"] == "agent_not_found"


def test_agents_reservations_and_tokens_are_known_by_a_beginning_that_nothing_else_has(room: Place) -> None:
    room.as_("ann", "wait")
    room.as_("ann", "reserve", "src")
    held = str(room.as_("ann", "reservations", "status").rows("reservations")[0]["reservation_id"])
    token = str(room.run("--json", "token", "issue", "--any-room", "--for", "zoe").data["id"])

    shown = room.as_("ann", "agents", "show", "--agent-id", "be")
    renewed = room.as_("ann", "reservations", "renew", "--reservation-id", held[:-2])
    by = room.as_("ann", "log", "--by", "be")
    passed = room.as_("ann", "pass", "be", "--status", "done", "--next-action", "more")
    revoked = room.run("token", "revoke", token[:8])

    assert (shown.data["agent_id"], renewed.code, passed.data["reserved_for"]) == ("ben", 0, "ben")
    assert {each["by"] for each in by.rows("events")} == {"ben"}
    assert revoked.out == f"token {token} of zoe is revoked\n"
    assert room.as_("ann", "agents", "show", "--agent-id", "zo").error["code"] == "agent_not_found"


def test_a_job_is_known_by_its_number(room: Place) -> None:
    created = room.run("job", "count the sheep\nall of them", "--as", "ann")

    shown = [room.as_("ann", "jobs", "open", "--job", named).data["job"] for named in ("1", "job-1", "JOB-001")]

    assert created.out.splitlines() == [
        "JOB-001 is queued: count the sheep",
        "No runner is there to take it. Start one where it is to work: `tally runner`",
    ]
    assert shown[0] == shown[1] == shown[2]


def test_asking_waits_for_the_answer_and_prints_it(room: Place) -> None:
    with room.running("--as", "ann", "ask", "ben", "what is 2+2?") as process:
        lines_until(process, "Waiting for an answer")
        room.run("--as", "ben", "send", "@all", "good morning")
        room.run("--as", "ben", "reply", "5", "Four.\nAs ever.")
        out, _ = process.communicate()

    assert (process.returncode, out) == (0, "Four.\nAs ever.\n")
    # To mark the answer as read would hide what came before it.
    assert room.as_("ann", "inbox").data["unread"] == 2


def test_an_answer_that_forgets_what_it_answers_counts_when_it_comes_from_whom_was_asked(room: Place) -> None:
    with room.running("--as", "ann", "ask", "ben", "what is 2+2?") as process:
        lines_until(process, "Waiting for an answer")
        room.run("--as", "ben", "send", "ann", "Four.")
        out, err = process.communicate()

    assert (process.returncode, out, err) == (0, "Four.\n", "")
    assert room.as_("ann", "inbox").data["unread"] == 0


def test_a_question_without_an_answer_in_time_says_where_it_will_be(room: Place) -> None:
    done = room.run("--as", "ann", "ask", "ben", "anyone?", "--timeout", "0")
    as_json = room.as_("ann", "ask", "ben", "anyone?", "--timeout", "0")

    assert (done.code, done.out) == (5, "")
    assert done.err.splitlines()[-1] == "No answer yet. It will be in `tally --as ann inbox`."
    assert (as_json.code, as_json.data["answer"]) == (5, None)


def test_a_path_is_reserved_and_given_back_without_flags(room: Place) -> None:
    reserved = room.run("--as", "ann", "reserve", "src/x.py", "--for", "30m")
    refused = room.run("--as", "ben", "reserve", "src")
    released = room.run("--as", "ann", "release", "src/x.py")

    assert re.fullmatch(r"src/x\.py is reserved for ann until \d\d:\d\d \(in (30|29) min( \d+ s)?\)\.\n", reserved.out)
    assert 'Ask its holder with `tally --as ben send ann "…"`' in refused.err
    assert released.out == "src/x.py is free again.\n"


def test_a_heartbeat_finds_its_own_lease(room: Place) -> None:
    room.as_("ann", "wait")

    kept = room.run("--as", "ann", "heartbeat")
    other = room.run("--as", "ben", "heartbeat")

    assert kept.out.startswith("The stick is yours: turn 1, until ")
    assert (other.code, other.err.splitlines()[0]) == (1, "error: You do not hold the stick: ann does.")


@pytest.mark.parametrize("words", [["release"], ["pass", "ann"]])
def test_who_holds_nothing_is_not_told_about_a_lease(room: Place, words: list[str]) -> None:
    room.as_("ann", "wait")

    done = [room.run("--as", "ben", *words, *more) for more in ([], ["--status", "done", "--next-action", "more"])]

    assert [each.err.splitlines() for each in done] == [
        [
            "error: You do not hold the stick: ann does.",
            "hint: Stop working: you do not hold the stick. `tally --as ben wait` waits for your turn.",
        ]
    ] * 2


def test_who_passes_the_stick_without_a_word_is_told_how_to_pass_it(room: Place) -> None:
    room.as_("ann", "wait")

    (line,) = TYPED.findall(room.run("--as", "ann", "pass", "ben").err)
    done = room.run(*shlex.split(line))

    assert line == '--as ann pass ben --status "…" --next-action "…"'
    assert done.out == "Handed over to ben.\n"


def test_a_stick_that_nobody_is_left_to_take_waits_for_whoever_joins(alone: Place) -> None:
    with alone.running("--as", "ann", "hold") as holder:
        lines_until(holder, "It is your turn")
        holder.kill()
        holder.wait()

    shown = alone.run("state").out.splitlines()

    assert shown[-1] == "The stick may be taken over (owner_gone) by: whoever joins"


def test_the_state_knows_who_is_next(room: Place) -> None:
    room.as_("ann", "wait")

    shown = dict(line.split(": ", 1) for line in room.run("state").out.splitlines() if ": " in line)

    assert shown["next"].strip() == "ben"


def test_an_inbox_shows_attachments_references_and_where_a_message_comes_from(room: Place) -> None:
    room.as_("ann", "tasks", "create", "--title", "t")
    blob = room.as_("ann", "blobs", "put", "--content-base64", "eA==", "--mime-type", "text/plain").data
    attached = [{"kind": "file", "path": blob["path"], "sha256": blob["sha256"], "bytes": 1, "title": "x.txt"}]
    given = {
        "room_id": room.as_("ann", "state").data["room_id"],
        "to": ["ben"],
        "text": "",
        "attachments": attached,
        "refs": [{"kind": "task_ref", "task_id": "TASK-001"}],
        "src_group_id": "elsewhere",
        "src_event_id": "gone",
    }
    sent = room.as_("ann", "call", "messages.send", "--input", json.dumps(given))

    shown = room.run("--as", "ben", "inbox").out.splitlines()

    assert sent.code == 0, sent.out
    assert shown[1:4] == [
        f"    attached: x.txt ({blob['path']})",
        "    about: task_ref TASK-001",
        "    relayed from event gone of room elsewhere: source unavailable",
    ]


def test_an_inbox_ends_with_the_newest_however_much_there_is(room: Place) -> None:
    room_id = room.as_("ann", "state").data["room_id"]
    for number in range(60):
        text = json.dumps({"room_id": room_id, "to": ["ben"], "text": f"m{number}"})
        room.as_("ann", "call", "messages.send", "--input", text)
    room.as_("ben", "messages", "read", "--event-id", "5")

    newest = room.as_("ben", "agent", "inbox").rows("messages")
    read = room.as_("ben", "agent", "inbox", "--state", "read", "--limit", "1").rows("messages")

    texts = [data_of(each)["text"] for each in newest]
    assert texts == [f"m{number}" for number in range(10, 60)]
    assert [data_of(each)["text"] for each in read] == ["m0"]


def test_the_old_spellings_keep_working(room: Place) -> None:
    room.as_("ann", "wait")
    lease = room.as_("ann", "state").data["lease_id"]
    calls = [
        ["messages", "send", "--to", "ben", "--text", "hi"],
        ["messages", "inbox"],
        ["reservations", "reserve", "--path", "a.py"],
        ["reservations", "release", "--path", "a.py"],
        ["turns", "heartbeat", "--lease-id", str(lease), "--expected-turn-id", "1"],
        ["jobs", "create", "--title", "t", "--prompt", "p"],
        ["agents", "list"],
        ["events"],
        ["release", ".", "--status", "done", "--next-action", "more"],
    ]

    assert [(words, room.as_("ann", *words).code) for words in calls] == [(words, 0) for words in calls]


def test_what_commands_say_holds_no_id_that_nobody_needs(room: Place) -> None:
    said = [
        room.run("--as", "ann", *words).out
        for words in (["send", "ben", "hi"], ["inbox"], ["who"], ["log"], ["job", "x"], ["reserve", "a"], ["heartbeat"])
    ]

    assert [text for text in said if UUID.search(text)] == []


def test_what_a_command_says_to_do_next_works_as_it_is_printed(room: Place) -> None:
    """From joining to handing over, by typing nothing but what was printed last."""
    joined = room.run("--as", "ann", "join").out
    (wait, _) = TYPED.findall(joined)
    turn = room.run(*shlex.split(wait)).out
    heartbeat, release = TYPED.findall(turn)

    done = [room.run(*shlex.split(line)) for line in (heartbeat, release)]

    assert [wait, heartbeat] == ["--as ann wait", "--as ann heartbeat"]
    assert [(each.code, each.err) for each in done] == [(0, ""), (0, "")]
    assert done[1].out == "Handed over to ben.\n"


def test_a_person_who_joins_is_told_of_the_command_that_can_hold(place: Place) -> None:
    done = subprocess.run(
        [sys.executable, str(DETACHED), TALLY, "join"],
        env=place.env,
        cwd=place.workspace,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        text=True,
    )

    assert TYPED.findall(done.stdout) == ["hold", "state"]
    assert TYPED.findall(str(place.orphaned("heartbeat").error["hint"])) == ["hold"]


def test_beginning_a_session_under_a_name_keeps_the_name(place: Place) -> None:
    first = place.as_("cobalt-harbor", "init").data
    again = place.as_("cobalt-harbor", "init").data

    assert [first["name"], again["name"]] == ["cobalt-harbor", "cobalt-harbor"]


def test_an_empty_id_is_refused_where_an_id_is_meant(room: Place) -> None:
    for field in ("reply_to", "src_group_id", "src_event_id", "dst_group_id"):
        given = {"room_id": room.as_("ann", "state").data["room_id"], "text": "hi", field: ""}

        assert room.as_("ann", "call", "messages.send", "--input", json.dumps(given)).error["code"] == "invalid_input"


WIRE = re.compile(r"\d{4}-\d\d-\d\dT")


def test_times_in_refusals_and_in_the_log_are_those_of_this_machine(room: Place) -> None:
    room.run("--as", "ann", "reserve", "src/a.py")
    refused = room.run("--as", "ben", "reserve", "src")
    written = "Meet me at 2026-01-31T12:00:00.000Z."
    room.run("--as", "ben", "send", "ann", written)

    log = room.run("log")
    exact = room.as_("ben", "reserve", "src").error

    assert re.match(r"error: src is not free: .* until \d\d:\d\d \(in 2 h\)\.", refused.err)
    assert [line for line in log.out.splitlines() if WIRE.search(line) and written not in line] == []
    assert written in log.out, "what somebody wrote stays as it was written"
    assert WIRE.search(str(exact["message"]))


def test_any_event_is_opened_by_its_number(room: Place) -> None:
    room.run("--as", "ann", "send", "ben", "Are you there?")

    opened, missing = room.run("open", "5"), room.run("open", "99")

    assert re.fullmatch(r"    5  \d\d:\d\d  ann to ben: Are you there\?\n", opened.out)
    assert (missing.code, missing.err.splitlines()[0]) == (1, "error: Nothing in this room is called '99'.")


def test_the_history_of_the_stick_is_told_in_sentences(room: Place) -> None:
    room.run("--as", "ann", "wait")
    room.run("--as", "ann", "release", "--status", "Half of it.", "--next-action", "The rest.")
    room.run("--as", "ben", "wait")

    told = room.run("turns", "history").out

    assert re.sub(r"\d\d:\d\d", "NOW", told).splitlines() == [
        "    5  NOW  ann has the stick: turn 1",
        "    6  NOW  ann released the stick",
        "              Half of it.",
        "              Next: The rest.",
        "    7  NOW  ben has the stick: turn 2",
    ]


def test_nothing_is_shown_of_paging_where_there_is_no_more(room: Place) -> None:
    assert [room.run(*words).out for words in (["tasks", "list"], ["cards", "list"], ["notes", "list"])] == [
        "There are no tasks.\n",
        "There are no cards.\n",
        "There are no notes.\n",
    ]


def test_a_token_is_for_the_room_whose_id_begins_so(alone: Place) -> None:
    room_id = str(alone.as_("ann", "join").data["room_id"])

    made = alone.run("--json", "token", "issue", "--room", room_id[:10], "--for", "ann")

    assert made.data["room_id"] == room_id
    assert WIRE.search(alone.run("token", "list").out) is None


def test_at_a_terminal_lines_are_folded_below_their_sentence_and_ids_are_short(room: Place) -> None:
    room_id = str(room.as_("ann", "state").data["room_id"])
    room.run("--as", "ann", "note", "word " * 60)

    with room.terminal("log") as terminal:
        log = terminal.rest().splitlines()
    with room.terminal("rooms") as terminal:
        rooms = terminal.rest()

    note = log[4:]
    assert all(line.startswith(" " * 14) for line in note[1:]), log
    assert len(note) > 1
    assert (room_id[:13] in rooms, room_id in rooms, "nobody" in rooms) == (True, False, True)
    assert room.run("state", "--room", room_id[:13]).code == 0
