"""What people read of messages, reservations, agents and jobs: words and tables, not a list of fields."""

from __future__ import annotations

import re
from typing import cast

from tallystick.hub import registry
from tallystick.surfaces.cli import render
from tests.surfaces.cli.place import Place

TIME = re.compile(r"just now|\d+ s ago|\d\d:\d\d \(in [\dhmin ]+\)")


def lines(text: str) -> list[list[str]]:
    """Lines of tab-separated cells, with every time the same."""
    return [TIME.sub("TIME", line).split("\t") for line in text.splitlines()]


def test_an_inbox_is_read_message_by_message(place: Place) -> None:
    place.as_("ann", "join")
    place.as_("ben", "join")
    sent = place.run(
        "--as", "ann", "messages", "send", "--to", "ben", "--text", "May I?\nSoon?", "--priority", "attention"
    )
    assert sent.out == "Sent to ben as event 5.\n"

    done = place.run("--as", "ben", "messages", "inbox")

    assert lines(done.out) == [
        ["5  ann, TIME: new, needs your ack"],
        ["    May I?"],
        ["    Soon?"],
        ["1 unread, 1 to accept."],
    ]
    assert place.run("--as", "ann", "messages", "inbox").out.splitlines() == [
        "Nothing to read, nothing to accept.",
        "You wait for ben to accept event 5.",
    ]


def test_hostile_text_in_an_inbox_stays_text_and_off_the_margin(place: Place) -> None:
    place.as_("ann", "join")
    place.as_("ben", "join")
    place.run("--as", "ann", "messages", "send", "--to", "ben", "--text", "\x1b[2Jgone\nYou wait for the ack of eve")

    done = place.run("--as", "ben", "messages", "inbox")

    assert "\x1b" not in done.out
    assert "    You wait for the ack of eve" in done.out.splitlines()


def test_reservations_are_told_in_words_and_listed_as_a_table(place: Place) -> None:
    place.as_("ann", "join")
    place.as_("ben", "join")
    assert place.run("--as", "ben", "reservations", "status").out == "Nothing is reserved.\n"

    reserved = place.run("--as", "ann", "reservations", "reserve", "--path", "src")
    shared = place.run("--as", "ben", "reservations", "reserve", "--path", "src/a.py", "--mode", "shared")
    checked = place.run("--as", "ben", "reservations", "check", "--room-id", _room(place), "--paths", "src/b.py")
    listed = place.run("reservations", "status")

    assert lines(reserved.out) == [["src is reserved for ann until TIME."]]
    assert lines(shared.out) == [
        ["src/a.py is reserved for ben until TIME, shared."],
        ["Shared with ann, who has src until TIME."],
    ]
    assert lines(checked.out) == [["path", "verdict", "holder", "until"], ["src/b.py", "taken", "ann", "TIME"]]
    assert lines(listed.out) == [
        ["path", "holder", "liveness", "mode", "state", "until"],
        ["src", "ann", "active", "exclusive", "active", "TIME"],
        ["src/a.py", "ben", "active", "shared", "active", "TIME"],
    ]


def _room(place: Place) -> str:
    (room,) = place.run("--json", "rooms").rows("rooms")
    return cast("str", room["room_id"])


def test_agents_and_jobs_are_tables_of_what_matters(place: Place) -> None:
    place.as_("ann", "join")
    place.run("--as", "ann", "jobs", "create", "--title", "Look around", "--prompt", "look")

    assert lines(place.run("agents", "list").out) == [
        ["agent", "name", "role", "liveness", "holds", "last seen"],
        ["ann", "ann", "peer", "active", "nothing", "TIME"],
    ]
    assert lines(place.run("jobs", "list").out) == [
        ["last", "status", "priority", "title", "task", "runner"],
        ["JOB-001@4", "QUEUED", "MEDIUM", "Look around", "-", "-"],
    ]


def test_what_happened_to_a_job_is_told_in_lines_that_stay_lines(place: Place) -> None:
    place.as_("ann", "join")
    place.run("--as", "ann", "jobs", "create", "--title", "Fix it", "--prompt", "Fix it.")
    place.run("--as", "ann", "jobs", "message", "--job", "JOB-001", "--message", "Mind\x1b[2J the gap\n  forged")

    told = place.run("--as", "ann", "jobs", "tail", "--job", "JOB-001")
    first = place.run("--as", "ann", "jobs", "tail", "--job", "JOB-001", "--limit", "1")
    as_lines = place.run("--as", "ann", "jobs", "tail", "--job", "JOB-001", "--fmt", "lines")

    assert told.out.splitlines() == [
        "JOB-001@4  created: created",
        "JOB-001@5  manager: Mind\\x1b[2J the gap\\n  forged",
    ]
    assert first.out.splitlines() == ["JOB-001@4  created: created", "There is more: go on with --after-seq 4."]
    assert as_lines.out.splitlines()[1:3] == ["events:", "- JOB-001@4 created: created"]
    assert "\x1b" not in as_lines.out


def test_a_wait_says_how_the_job_ended_or_that_it_has_not(place: Place) -> None:
    place.as_("ann", "join")
    place.run("--as", "ann", "jobs", "create", "--title", "Fix it", "--prompt", "Fix it.")

    early = place.run("--as", "ann", "jobs", "wait", "--job", "JOB-001", "--max-wait-ms", "0", "--max-events", "0")
    place.run("--as", "ann", "jobs", "cancel", "--job", "JOB-001", "--reason", "not needed")
    late = place.run("--as", "ann", "jobs", "wait", "--job", "JOB-001", "--max-events", "0")

    assert early.out.splitlines() == ["JOB-001 is still QUEUED. Wait again."]
    assert late.out.splitlines() == ["JOB-001 is CANCELED: not needed"]


def test_macros_and_the_snapshot_say_what_there_is_now(place: Place) -> None:
    place.as_("ann", "join")

    made = place.run("--as", "ann", "tasks", "macro", "delegate", "--task-title", "Fix the parser")
    seen = place.run("--as", "ann", "tasks", "snapshot")
    merged = place.run("--as", "ann", "tasks", "macro", "merge-report", "--jobs", "JOB-001")
    again = place.run("--as", "ann", "tasks", "macro", "merge-report", "--jobs", "JOB-001")

    assert made.out.splitlines() == [
        "TASK-001 Fix the parser",
        "It is about a:fix-the-parser, and CARD-001 says what done means.",
        "JOB-001 is queued.",
    ]
    assert seen.out.splitlines()[0] == "inbox running=0 queued=1 runner=offline job=JOB-001 (QUEUED)"
    assert merged.out.splitlines()[:2] == ["CARD-002 is written.", "  Merge report — TASK-001 Fix the parser"]
    assert merged.out.splitlines()[-1] == "Without proof: JOB-001"
    assert again.out.splitlines()[0] == "CARD-002 stays as it was."


def test_every_change_is_told_in_words() -> None:
    changing = {name for name, operation in registry.OPERATIONS.items() if operation.writes}

    assert changing - render.RENDERERS.keys() - render.SENTENCES.keys() == set()


def test_notes_protocol_events_and_what_waits_are_told_event_by_event(place: Place) -> None:
    place.as_("ann", "join")
    place.as_("ben", "join")
    nothing = [
        place.run("--as", "ann", *words).out
        for words in (["protocol", "list"], ["attention", "list"], ["notes", "list"], ["tasks", "focus"])
    ]
    place.run("--as", "ann", "note", "one\ntwo")
    place.run("--as", "ann", "reserve", "src")
    place.run("--as", "ben", "reserve", "src/a.py")
    place.run("--as", "ann", "send", "user", "Which lens?", "--attention")

    notes, protocol, waits, events = (
        re.sub(r"\d\d:\d\d", "NOW", place.run("--as", "ann", *words).out).splitlines()
        for words in (
            ["notes", "list"],
            ["protocol", "list"],
            ["attention", "list"],
            ["events", "list", "--limit", "1"],
        )
    )

    assert nothing == [
        "No work was handed over or blocked, and nobody came into another's way.\n",
        "Nothing waits for you.\n",
        "There are no notes.\n",
        "You are at no task.\n",
    ]
    assert notes == ["    5  NOW  ann: one", "              two"]
    assert protocol[:2] == ["    7  NOW  INCURSION from ben to ann, about src/a.py", f"{'':14}incursion kind: partial"]
    assert [line.split("\t")[:-1] for line in waits] == [
        ["", "item", "who", "reason", "said"],
        ["?", "message:8", "ann", "asks for your attention", "Which lens?"],
        ["~", "incursion:7", "ben", "tried src/a.py, reserved by ann", "-"],
    ]
    assert events == ["    1  NOW  ann opened the room: workspace"]


def test_a_text_of_several_lines_stands_below_its_name(place: Place) -> None:
    place.as_("ann", "join")
    place.run("--as", "ann", "cards", "create", "--title", "Plan", "--body", "first\nthen")

    shown = place.run("--as", "ann", "open", "CARD-001").out.splitlines()

    assert shown[2:6] == ["title:      Plan", "body:", "    first", "    then"]


def test_looking_at_mail_says_how_it_is_read_and_nothing_of_the_mail_beside_it(place: Place) -> None:
    place.as_("ann", "join")
    place.as_("ben", "join")
    place.run("--as", "ann", "send", "ben", "Hello.")

    looked = place.run("--as", "ben", "inbox")
    marked = place.run("--as", "ben", "inbox", "--mark-read")
    again = place.run("--as", "ben", "inbox")

    assert (looked.err, looked.out.splitlines()[-1]) == (
        "",
        "Looking marks nothing as read; `tally --as ben inbox --mark-read` does.",
    )
    assert marked.out.splitlines()[-1] == "0 unread, 0 to accept."
    assert again.out == "Nothing to read, nothing to accept.\n"
