"""What people mistype gets an answer that helps, in the form they asked for."""

from __future__ import annotations

import pytest

from tests.surfaces.cli.place import Place


def _shown(value: list[str] | str) -> str:
    return " ".join(value)[:40] if isinstance(value, list) else ""


@pytest.mark.parametrize(
    ("args", "line", "hint"),
    [
        (["stat"], "No such command 'stat'. Did you mean 'state'?", "tally --help"),
        (["xyzzy"], "No such command 'xyzzy'.", "tally --help"),
        (["turns", "relase"], "No such command 'relase'. Did you mean 'release'?", "tally turns --help"),
        (["state", "--wach"], "No such option '--wach'. Did you mean '--watch'?", "tally state --help"),
        (
            ["turns", "wait", "--rom-id", "R"],
            "No such option '--rom-id'. Did you mean '--room-id'?",
            "tally turns wait --help",
        ),
        (
            ["events", "--limit", "many"],
            "Invalid value for '--limit': 'many' is not a valid integer range.",
            "tally events --help",
        ),
        (
            ["events", "--limit", "0"],
            "Invalid value for '--limit': 0 is not in the range 1<=x<=1000.",
            "tally events --help",
        ),
        (
            ["wait", "--timeout", "soon"],
            "Invalid value for '--timeout': 'soon' is not a time such as 30s, 500ms or 2m.",
            "tally wait --help",
        ),
        (
            ["turns", "release", "--handoff", "{"],
            "Invalid value for '--handoff': this is not JSON: ",
            "tally turns release --help",
        ),
        (["pass"], "Missing argument 'AGENT'.", "tally pass --help"),
        (["takeover"], "Missing option '--reason'.", "tally takeover --help"),
        (["state", "a", "b"], "Got unexpected extra argument (b)", "tally state --help"),
        (["call"], "Name an operation, or list them with --list.", "tally call --help"),
        (["call", "hub.health", "--input", "nope"], "The input is not JSON: ", "tally call --help"),
        (["call", "hub.health", "--input", "[]"], "The input must be a JSON object.", "tally call --help"),
        (
            ["release", "--stdin", "--status", "x"],
            "--stdin brings the whole handoff: leave the other flags out.",
            "tally --help",
        ),
        (["release", "--stdin"], "stdin is not JSON: ", "tally --help"),
        (["token", "isue"], "No such command 'isue'. Did you mean 'issue'?", "tally token --help"),
        (
            ["token", "issue", "--rom", "R"],
            "No such option '--rom'. Did you mean '--room'?",
            "tally token issue --help",
        ),
        (["token", "issue", "--for", "x"], "Missing option '--room' or '--any-room'.", "tally token issue --help"),
        (["token", "issue", "--any-room"], "Missing option '--for'.", "tally token issue --help"),
        (["up", "--prot", "1"], "No such option '--prot'. Did you mean '--port'?", "tally up --help"),
        (
            ["up", "--port", "99999"],
            "Invalid value for '--port': '99999' is no whole number from 0 to 65535.",
            "tally up --help",
        ),
        (["up", "--tls-key", "k"], "Give --tls-cert and --tls-key together.", "tally up --help"),
        (["status", "now"], "Got unexpected extra argument (now)", "tally status --help"),
        (["down", "--nwo"], "No such option '--nwo'.", "tally down --help"),
        (
            ["runner", "--max-parallel", "0"],
            "Invalid value for '--max-parallel' (env var: 'TALLYSTICK_RUNNER_MAX_PARALLEL'): '0' is no whole number",
            "tally runner --help",
        ),
        (["attach", "--name", "w"], "Name a program after --, for example: -- claude.", "tally attach --help"),
        (["attach", "claude"], "Missing option '--name'.", "tally attach --help"),
        (["relay", "--name", "w"], "Missing argument 'TASK'.", "tally relay --help"),
        (["demo", "--page", "--here"], "--page has a store and a hub of its own;", "tally demo --help"),
        (["bench", "apend"], "Invalid value for '[NAME]...': there is no bench 'apend'; choose ", "tally bench --help"),
        (
            ["mcp", "--tools", "all"],
            "Invalid value for '--tools' (env var: 'TALLYSTICK_MCP_TOOLS'): 'all' is not one of 'core', ",
            "tally mcp --help",
        ),
        (["join", "--room", "R", "--force-new"], "--room goes with neither PATH nor --force-new.", "tally --help"),
    ],
    ids=_shown,
)
def test_wrong_usage_is_one_line_and_a_hint(alone: Place, args: list[str], line: str, hint: str) -> None:
    plain, as_json = alone.run(*args), alone.run(*args, "--json")

    error, where = plain.err.splitlines()
    assert (plain.code, plain.out, where) == (2, "", f"hint: See `{hint}`.")
    assert error.startswith(f"error: {line}")
    assert (as_json.code, as_json.error["code"]) == (2, "usage")
    assert str(as_json.error["message"]).startswith(line)
    assert alone.files() == []


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (
            ["call", "turns.relase"],
            "unknown_operation",
            "There is no operation 'turns.relase'. Did you mean 'turns.release'?",
        ),
        (["call", "turns.state"], "invalid_input", "room_id: Field required."),
        (
            ["call", "turns.state", "--input", '{"room_id": "R", "roomid": 1}'],
            "unknown_field",
            "Unknown field 'roomid'. Did you mean 'room_id'?",
        ),
        (
            ["call", "events.list", "--input", '{"room_id": "R", "limit": "5"}'],
            "invalid_input",
            "limit: Expected `int`, got `str`.",
        ),
        (["events", "list", "--room-id", "R", "--limit", "5000"], "invalid_input", "limit: "),
        (["state", "--room", "R"], "room_not_found", "There is no room 'R'."),
        (["join", "no/such/folder"], "workspace_not_found", "There is nothing at "),
        (["note", "x" * 16_385, "--room", "R"], "too_large", "body is longer than 16384."),
        (["state", "--as", "human:eve"], "reserved_name", "'human:eve' is reserved."),
        (
            ["state", "--as", "two words"],
            "invalid_input",
            "An agent id is 1 to 128 printable characters without spaces.",
        ),
    ],
    ids=_shown,
)
def test_wrong_values_are_refused_by_the_hub(place: Place, args: list[str], code: str, message: str) -> None:
    place.as_("ann", "join")

    done = place.run("--json", *args)

    assert (done.code, done.error["code"]) == (1, code)
    assert str(done.error["message"]).startswith(message)
    assert done.error["hint"]


def test_global_options_stand_before_or_after_the_command(place: Place) -> None:
    place.as_("ann", "join")
    other = str(place.root / "other")

    ways = [
        ["--json", "--as", "ann", "state"],
        ["state", "--json", "--as", "ann"],
        ["--as=ann", "turns", "--json", "state"],
        ["turns", "state", "--as=ann", "--json"],
    ]

    assert {str(place.run(*way).data["room_id"]) for way in ways} == {str(place.as_("ann", "state").data["room_id"])}
    assert [
        place.run("--json", *way).data for way in (["--data-dir", other, "rooms"], ["rooms", "--data-dir", other])
    ] == [{"rooms": []}] * 2


def test_flags_may_be_spelled_like_the_fields(place: Place) -> None:
    room = place.as_("ann", "join").data["room_id"]

    hyphens = place.as_("ann", "rooms", "set-policy", "--room-id", str(room), "--claim-ttl-ms", "5000")
    as_declared = place.as_("ann", "rooms", "set_policy", "--room_id", str(room), "--claim_ttl_ms", "5000")

    assert (hyphens.data["changed"], as_declared.data["changed"]) == (True, False)


def test_lists_booleans_and_paths_are_flags_too(place: Place) -> None:
    (place.workspace / "part").mkdir()
    place.as_("ann", "join")
    place.as_("ben", "join")

    order = place.as_("ann", "rooms", "reorder", "--sequence", "ben", "--sequence", "ann")
    nested = place.as_("ann", "rooms", "join", "--context-path", "part", "--force-new")
    plain = place.as_("ann", "rooms", "join", "--context-path", "part", "--no-force-new")

    assert order.data["sequence"] == ["ben", "ann"]
    assert nested.data["joined_existing_room"] is False
    assert nested.data["room_id"] == plain.data["room_id"]


def test_a_derived_command_shows_its_answer_to_people(alone: Place) -> None:
    alone.as_("ann", "join")

    done = alone.run("hub", "health")

    assert done.out == "ok:    yes\nrooms: 1\n"
