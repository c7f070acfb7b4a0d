"""`tally events` and `tally verify`, in pipes and at a terminal."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
from contextlib import closing

from tests.surfaces.cli.place import TALLY, Place


def _kinds(text: str) -> list[str]:
    return [json.loads(line)["kind"] for line in text.splitlines()]


def test_events_are_read_from_the_end_or_from_a_cursor(place: Place) -> None:
    place.as_("ann", "join")
    for text in ("one", "two"):
        place.as_("ann", "note", text)

    latest = place.run("events", "--limit", "1").out.splitlines()
    first = place.run("events", "--since", "0", "--limit", "1").out.splitlines()

    assert [line.split(maxsplit=2)[0::2] for line in latest] == [["5", "ann noted: two"]]
    assert [line.split(maxsplit=2)[0::2] for line in first] == [["1", "ann opened the room: workspace"]]
    assert place.run("log", "--limit", "1").out.splitlines() == latest


def test_raw_events_are_the_envelopes_one_a_line(place: Place) -> None:
    place.as_("ann", "join")

    raw = place.run("events", "--raw").out

    assert [json.loads(line) for line in raw.splitlines()] == place.run("--json", "events").rows("events")
    assert _kinds(raw) == ["group.create", "group.attach", "actor.add"]


def test_kinds_may_be_repeated_or_joined_by_commas(place: Place) -> None:
    place.as_("ann", "join")
    place.as_("ann", "note", "one")
    place.as_("ann", "wait")
    note, claim = "x.tally.note.add", "x.tally.stick.claim"

    joined = place.as_("ann", "events", "--kinds", f"{note},{claim}").rows("events")
    repeated = place.as_("ann", "events", "--kinds", note, "--kinds", claim).rows("events")

    assert joined == repeated
    assert [event["kind"] for event in joined] == [note, claim]


def test_following_shows_what_was_and_what_comes_until_ctrl_c(place: Place) -> None:
    place.as_("ann", "join")

    with place.terminal("events", "--follow") as terminal:
        terminal.until("ann joined")
        place.as_("ann", "note", "now \x1b]0;x\x07")
        terminal.until("now \\x1b]0;x\\x07")
        terminal.type("\x03")
        terminal.rest()

    assert terminal.process.returncode == 0
    assert "Traceback" not in terminal.text


def test_following_as_json_is_one_event_a_line(place: Place) -> None:
    place.as_("ann", "join")
    with place.running("events", "--follow", "--json", "--kinds", "x.tally.note.add") as process:
        assert process.stdout is not None
        place.as_("ann", "note", "hello")
        line = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, err = process.communicate()

    assert _kinds(line) == ["x.tally.note.add"]
    assert (process.returncode, rest, err) == (0, "", "")


def test_watching_the_state_shows_it_again_when_it_changes(place: Place) -> None:
    place.as_("ann", "join")
    with place.running("state", "--watch", "--json") as process:
        assert process.stdout is not None
        before = json.loads(process.stdout.readline())
        place.as_("ann", "wait")
        after = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        process.communicate()

    assert (before["owner"], after["owner"], process.returncode) == (None, "ann", 0)


def test_watching_the_state_goes_on_with_the_clock(place: Place) -> None:
    place.as_("ann", "join")
    place.as_("ann", "rooms", "set-policy", "--owner-lease-ttl-ms", "50000", "--heartbeat-interval-ms", "1000")
    assert place.as_("ann", "wait").code == 0
    with place.running("state", "--watch") as process:
        assert process.stdout is not None
        told = (re.search(r"lease (\d+ s left)", line) for line in process.stdout)
        first = next(found[1] for found in told if found)
        assert next(found[1] for found in told if found and found[1] != first)
        process.send_signal(signal.SIGINT)
        process.communicate()


def test_a_reader_that_leaves_is_no_error(place: Place) -> None:
    place.as_("ann", "join")
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [TALLY, "events"], env=place.env, cwd=place.workspace, stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)

    assert (done.returncode, done.stderr) == (141, b"")


def test_a_reader_that_leaves_the_help_is_no_error_either(place: Place) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([TALLY, "--help"], env=place.env, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)

    assert (done.returncode, done.stderr) == (141, b"")


def test_verify_prints_each_rooms_head_and_counts_what_it_checked(alone: Place) -> None:
    room = str(alone.as_("ann", "join").data["room_id"])

    done = alone.run("verify")

    head, last = done.out.splitlines()
    assert (done.code, last) == (0, "3 events in 1 room. All is as it was written.")
    assert re.fullmatch(f"{room}=[0-9a-f]{{64}}", head)
    alone.as_("ann", "note", "it grows")
    expected, other = alone.run("verify", "--expect", head), alone.run("verify", "--expect", f"{room}={'0' * 64}")
    assert (expected.code, other.code) == (0, 4)
    assert other.out.splitlines()[0] == f"{room}: no event of it has the hash that was expected."


def test_what_was_signed_is_checked_with_the_ledger_and_by_whose_key(alone: Place) -> None:
    alone.as_("ann", "join")
    signed = alone.run("--json", "checkpoint", "sign")
    kept = alone.root / "kept.json"
    alone.run("checkpoint", "export", str(kept))
    sound = alone.run("verify", "--checkpoint", str(kept))
    with closing(sqlite3.connect(alone.data_dir / "tally.sqlite", isolation_level=None)) as store:
        other = "CASE substr(signature, 1, 1) WHEN 'f' THEN '0' ELSE 'f' END"
        store.execute(f"UPDATE checkpoints SET signature = {other} || substr(signature, 2)")
    changed = alone.run("verify")
    (alone.data_dir / "checkpoint.key").unlink()
    alone.run("checkpoint", "sign")
    stranger = alone.run("verify", "--checkpoint", str(kept), "--key", "0" * 64)

    assert (signed.data["number"], signed.data["rooms"], sound.code) == (1, 1, 0)
    assert sound.out.splitlines()[-3] == f"{kept}: all that it names of what is here is as it was, or has grown."
    assert sound.out.splitlines()[-2].startswith("1 signed checkpoint, the newest of ")
    assert (changed.code, "The signature of checkpoint 1 does not fit it." in changed.out) == (4, True)
    assert (stranger.code, f"is signed by {signed.data['key']}, which is not known here." in stranger.out) == (4, True)


def test_a_character_the_terminal_cannot_show_ends_nothing(place: Place) -> None:
    place.as_("ann", "join")
    place.as_("ann", "note", "grün")

    done = place.run("events", env={"PYTHONIOENCODING": "ascii"})

    assert done.code == 0
    assert "gr\\xfcn" in done.out


def test_a_checkpoint_under_a_key_that_is_not_known_here_proves_nothing(alone: Place) -> None:
    alone.as_("ann", "join")
    elsewhere = {"TALLYSTICK_CHECKPOINT_KEY": str(alone.root / "other.key")}
    key = str(alone.run("--json", "checkpoint", "sign", env=elsewhere).data["key"])
    without = alone.run("verify")
    alone.as_("ann", "note", "it grows")
    alone.run("checkpoint", "sign")

    beside, named = alone.run("--json", "verify"), alone.run("verify", "--key", key)

    told = f"Checkpoints are signed by {key}, which is not known here; if it is yours, give it with --key."
    assert (without.code, without.out.splitlines()[1:]) == (
        4,
        [told, "3 events in 1 room. They fit each other; whether they are what was signed here cannot be told."],
    )
    assert (beside.code, beside.data["ok"], beside.data["problems"]) == (4, False, [told])
    assert (named.code, named.out.splitlines()[-1]) == (0, "4 events in 1 room. All is as it was written.")
