"""`tally wait|release|pass|takeover|state`: a turn from one shell to the next."""

from __future__ import annotations

import json

import pytest

from tallystick.surfaces.cli.options import artifact, period
from tests.surfaces.cli.place import Place

WORDS = ("--status", "fixed the parser", "--next-action", "review it")


def _joined(place: Place, *agents: str) -> None:
    for agent in agents:
        assert place.as_(agent, "join").code == 0


def test_a_turn_goes_from_one_agent_to_the_next_with_its_handoff(place: Place) -> None:
    _joined(place, "ann", "ben")

    got = place.run("wait", "--as", "ann")
    gave = place.run(
        *("release", "--as", "ann", *WORDS, "--artifact", "src/parser.py:10-20:review", "--artifact", "notes.md"),
        *("--question", "is it fast?", "--do-not", "touch main"),
    )
    next_ = place.run("wait", "--as", "ben")

    assert (got.code, gave.code, next_.code) == (0, 0, 0)
    assert got.out.startswith("It is your turn: turn 1.\n")
    assert gave.out == "Handed over to ben.\n"
    assert next_.out.splitlines()[1:-1] == [
        "Handoff from ann",
        "  Status",
        "    fixed the parser",
        "  Next action",
        "    review it",
        "  Artifacts",
        "    - src/parser.py:10-20 (review)",
        "    - notes.md (examine)",
        "  Open questions",
        "    - is it fast?",
        "  Do not",
        "    - touch main",
    ]


def test_waiting_without_getting_the_turn_does_not_exit_zero(place: Place) -> None:
    _joined(place, "ann", "ben")
    place.as_("ann", "wait")

    done = place.run("wait", "--as", "ben", "--timeout", "0")
    as_json = place.as_("ben", "wait", "--timeout", "1ms")

    assert (done.code, done.out) == (5, "Not yet: ann has the stick. Next: `tally --as ben wait` again.\n")
    assert (as_json.code, as_json.data["status"]) == (5, "not_yet")


def test_a_wait_for_a_stick_that_is_kept_for_somebody_says_for_whom(place: Place) -> None:
    _joined(place, "ann", "ben", "cid")
    place.as_("ann", "wait")
    place.as_("ann", "pass", "cid", "--status", "Half of it.", "--next-action", "The rest.")

    spoken = [
        place.run("--as", "ben", *words).out
        for words in (["wait", "--timeout", "0"], ["turns", "wait", "--max-wait-ms", "0"])
    ]

    assert spoken == ["Not yet: the stick is kept for cid. Next: `tally --as ben wait` again.\n"] * 2


def test_a_handoff_can_be_piped_in_as_json(place: Place) -> None:
    _joined(place, "ann", "ben")
    place.as_("ann", "wait")
    given = {"status": "done", "next_action": "go on", "artifacts": [{"path": "a.py", "lines": [1, 2], "role": "edit"}]}

    gave = place.as_("ann", "pass", "ben", "--stdin", stdin=json.dumps(given))

    assert gave.data["reserved_for"] == "ben"
    assert place.as_("ben", "wait").data["handoff"] == given


def test_a_release_without_a_handoff_says_what_is_missing(place: Place) -> None:
    _joined(place, "ann")
    place.as_("ann", "wait")

    done = place.run("release", "--as", "ann", "--status", "done")

    assert done.code == 1
    release = '`tally --as ann release --status "…" --next-action "…"`'
    assert done.err.splitlines() == [
        "error: A hand-over says how far you are and what comes next: --status and --next-action.",
        f"hint: Say what you did, learned and left open, and what to do next: {release}.",
    ]


def test_a_release_by_somebody_else_is_fenced_off(place: Place) -> None:
    _joined(place, "ann", "ben")
    place.as_("ann", "wait")

    found = place.as_("ben", "release", *WORDS)
    stale = place.as_("ann", "release", *WORDS, "--turn", "7")

    assert (found.code, found.error["code"], found.error["details"]) == (
        1,
        "stale_lease",
        {"current_owner": "ann", "current_turn_id": 1, "room_state": "owned"},
    )
    assert stale.error["code"] == "turn_mismatch"


def test_a_takeover_before_its_time_is_refused(place: Place) -> None:
    _joined(place, "ann", "ben")
    place.as_("ann", "wait")

    done = place.as_("ben", "takeover", "--reason", "impatience")

    assert (done.code, done.error["code"]) == (1, "takeover_not_available")


def test_a_lease_that_ran_out_is_taken_over(place: Place) -> None:
    _joined(place, "ann", "ben")
    place.as_("ann", "rooms", "set_policy", "--owner-lease-ttl-ms", "100", "--heartbeat-interval-ms", "50")
    place.as_("ann", "wait")

    offered = place.run("wait", "--as", "ben", "--timeout", "20s")
    taken = place.run("takeover", "--as", "ben", "--reason", "no answer")

    assert offered.code == 5
    assert offered.out.splitlines() == [
        "Not your turn, but ann failed (owner_timeout) at turn 1.",
        "Next: `tally --as ben takeover --reason why`, if you mean it.",
    ]
    assert taken.out.startswith("It is your turn: turn 2.")


def test_a_one_shot_command_of_a_person_owns_nothing(place: Place) -> None:
    joined = place.orphaned("join")

    waited = place.orphaned("wait")

    assert str(joined.data["agent_id"]).startswith("human:")
    assert waited.error == {
        "code": "observer_cannot_hold",
        "message": "A one-shot command cannot hold the stick: nothing would be left to keep it alive.",
        "hint": "Hold it from a terminal with `tally hold`, or name yourself with --as if a script keeps the turn.",
        "retryable": False,
        "details": {},
    }


def test_state_shows_the_holder_its_lease_and_nobody_else(place: Place) -> None:
    _joined(place, "ann", "ben")
    lease = place.as_("ann", "wait").data["lease_id"]

    mine, theirs = place.run("state", "--as", "ann"), place.run("state", "--as", "ben")

    assert f"your lease: {lease}" in mine.out
    assert "lease:" not in theirs.out
    assert [line.split("\t")[:3] for line in theirs.out.splitlines()[-2:]] == [
        ["*", "ann", "active"],
        [" ", "ben", "active"],
    ]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a.py", {"path": "a.py", "role": "examine"}),
        ("a.py:7", {"path": "a.py", "lines": [7, 7], "role": "examine"}),
        ("a.py:7-9", {"path": "a.py", "lines": [7, 9], "role": "examine"}),
        ("a.py:edit", {"path": "a.py", "role": "edit"}),
        ("a.py:7-9:review", {"path": "a.py", "lines": [7, 9], "role": "review"}),
        ("C:/a.py:7-9:output", {"path": "C:/a.py", "lines": [7, 9], "role": "output"}),
        ("odd:name.py", {"path": "odd:name.py", "role": "examine"}),
        ("edit", {"path": "edit", "role": "examine"}),
        ("12", {"path": "12", "role": "examine"}),
    ],
)
def test_an_artifact_is_read_from_its_end(text: str, meant: dict[str, object]) -> None:
    assert artifact(text) == meant


@pytest.mark.parametrize(
    ("text", "meant"), [("30s", 30_000), ("500ms", 500), ("2m", 120_000), ("1h", 3_600_000), ("1.5", 1_500), ("0", 0)]
)
def test_a_time_has_a_unit_or_counts_seconds(text: str, meant: int) -> None:
    assert period(text) == meant
