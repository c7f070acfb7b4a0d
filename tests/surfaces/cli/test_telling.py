"""What people read of messages, reservations, agents and jobs: words and tables, not a list of fields."""

from __future__ import annotations

import re
from typing import cast

from tests.surfaces.cli.place import Place

TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")


def lines(text: str) -> list[list[str]]:
    """Lines of tab-separated cells, with every time the same."""
    return [TIME.sub("TIME", line).split("\t") for line in text.splitlines()]


def test_an_inbox_is_read_message_by_message(place: Place) -> None:
    place.as_("ann", "join")
    place.as_("ben", "join")
    sent = place.run(
        "--as", "ann", "messages", "send", "--to", "ben", "--text", "May I?\nSoon?", "--priority", "attention"
    )
    event_id = sent.out.removeprefix("Sent to ben: ").strip()

    done = place.run("--as", "ben", "messages", "inbox")

    assert lines(done.out) == [
        [f"{event_id}  TIME  ann: new, needs your ack"],
        ["  chat.message 5"],
        ["    May I?"],
        ["    Soon?"],
        ["1 unread, 1 to acknowledge."],
    ]
    assert place.run("--as", "ann", "messages", "inbox").out.splitlines() == [
        "0 unread, 0 to acknowledge.",
        f"You wait for the ack of ben: {event_id}",
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

    assert lines(reserved.out) == [["src is reserved for ann until TIME (exclusive, fence 5)."]]
    assert lines(shared.out) == [
        ["src/a.py is reserved for ben until TIME (shared, fence 7)."],
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
        ["ann", "ann", "peer", "active", "-", "TIME"],
    ]
    assert lines(place.run("jobs", "list").out) == [
        ["last", "status", "priority", "title", "task", "runner"],
        ["JOB-001@4", "QUEUED", "MEDIUM", "Look around", "-", "-"],
    ]
