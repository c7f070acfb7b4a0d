"""`tally rooms|join|note|leave|close`, run as people and agents run them."""

from __future__ import annotations

from tests.surfaces.cli.place import Done, Place


def _room(done: Done) -> str:
    return str(done.data["room_id"])


def test_joining_opens_the_room_and_says_who_you_are(place: Place) -> None:
    done = place.run("join", "--as", "ann")

    assert (done.code, done.err) == (0, "")
    first, *pairs, last = done.out.splitlines()
    assert first == f"Opened the room of {place.workspace} as ann."
    assert [pair.split(":")[0] for pair in pairs] == ["room", "state", "holder", "members"]
    assert last == "Next: `tally --as ann wait` for your turn, `tally --as ann state` to look around."


def test_an_agent_anywhere_in_the_workspace_finds_the_same_room(place: Place) -> None:
    below = place.workspace / "src" / "deep"
    below.mkdir(parents=True)
    opened = place.as_("ann", "join")

    found = place.run("--json", "--as", "ben", "join", cwd=below)

    assert _room(found) == _room(opened)
    assert found.data["joined_existing_room"] is True


def test_rooms_are_tab_separated_lines_in_a_pipe(place: Place) -> None:
    room = _room(place.as_("ann", "join"))
    place.as_("ben", "join")

    done = place.run("rooms")

    assert [line.split("\t") for line in done.out.splitlines()] == [
        ["ROOM", "STATE", "HOLDER", "TURN", "MEMBERS", "PATH"],
        [room, "idle", "nobody", "0", "ann, ben", str(place.workspace)],
    ]


def test_rooms_are_a_table_on_a_terminal(place: Place) -> None:
    place.as_("ann", "join")

    with place.terminal("rooms", "--all") as terminal:
        shown = terminal.rest()

    assert "\t" not in shown
    assert "ann" in shown
    assert terminal.process.returncode == 0


def test_force_new_opens_a_nested_room_and_warns(place: Place) -> None:
    nested = place.workspace / "part"
    nested.mkdir()
    outer = _room(place.as_("ann", "join"))

    done = place.run("join", "part", "--force-new", "--as", "ann")

    assert done.out.startswith(f"Opened the room of {nested} as ann.")
    assert done.err.startswith("warning: ")
    assert outer not in done.out


def test_a_folder_named_like_a_verb_is_reached_with_a_dot(place: Place) -> None:
    (place.workspace / "list").mkdir()
    room = _room(place.as_("ann", "join"))

    as_path, as_verb = place.run("rooms", "./list"), place.run("--json", "rooms", "list", "--limit", "1")

    assert as_path.out.splitlines()[1].startswith(room)
    assert as_verb.envelope["command"] == "rooms list"


def test_looking_on_a_fresh_machine_creates_nothing(alone: Place) -> None:
    seen = [
        alone.run("rooms"),
        alone.run("--json", "rooms", "--all"),
        alone.run("--json", "state"),
        alone.run("--json", "events"),
        alone.run("--json", "turns", "wait", "--room-id", "R"),
        alone.run("--json", "verify"),
        alone.run("whoami"),
    ]

    assert [done.code for done in seen] == [0, 0, 1, 1, 1, 0, 0]
    assert seen[1].data == {"rooms": []}
    assert [done.error["code"] for done in seen[2:5]] == ["no_room_here", "no_room_here", "room_not_found"]
    assert alone.files() == []


def test_a_reader_who_is_no_member_leaves_no_trace(place: Place) -> None:
    room = _room(place.as_("ann", "join"))
    before = place.as_("ann", "events").data

    for command in (["rooms"], ["state"], ["events"], ["notes", "list"], ["rooms", "show"], ["turns", "history"]):
        assert place.as_("stranger", *command).code == 0

    assert place.as_("ann", "events").data == before
    members = place.as_("stranger", "rooms", "show", "--room-id", room).rows("members")
    assert [member["agent_id"] for member in members] == ["ann"]


def test_a_note_can_come_from_stdin_and_hostile_text_in_it_does_no_harm(place: Place) -> None:
    place.as_("ann", "join")

    noted = place.run("note", "-", "--as", "ann", stdin="CI is \x1b[31mred\x1b[0m\nsince noon")
    read = place.run("events", "--kinds", "x.tally.note.add")

    assert noted.out == "Noted as notes@4.\n"
    first, second = read.out.splitlines()
    assert first.split(maxsplit=2)[2] == "ann noted: CI is \\x1b[31mred\\x1b[0m"
    assert second == f"{'':14}since noon"


def test_leaving_twice_says_so(place: Place) -> None:
    place.as_("ann", "join")

    assert [place.run("leave", "--as", "ann").out for _ in range(2)] == [
        "ann left the room.\n",
        "ann was not in this room.\n",
    ]


def test_closing_asks_first(place: Place) -> None:
    place.as_("ann", "join")

    unasked = place.as_("ann", "close")
    with place.terminal("close", "--as", "ann") as terminal:
        terminal.until("Close it for good?")
        terminal.type("n\n")
        terminal.rest()
    closed = place.as_("ann", "close", "--yes", "--reason", "shipped")

    assert (unasked.code, unasked.error["code"]) == (2, "usage")
    assert terminal.process.returncode == 130
    assert closed.data["status"] == "closed"
    assert place.as_("ann", "state").error["code"] == "no_room_here"


def test_a_room_can_be_named_instead_of_a_path(place: Place) -> None:
    room = _room(place.as_("ann", "join"))

    both = place.as_("ann", "state", ".", "--room", room)
    elsewhere = place.run("--json", "state", "--room", room, cwd=place.home)

    assert (both.code, both.error["code"]) == (2, "usage")
    assert elsewhere.data["room_id"] == room
