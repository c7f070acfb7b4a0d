"""`tally hold`: a turn that lives and dies with its process."""

from __future__ import annotations

import os
import signal

import pytest

from tallystick.harnesses import processes
from tallystick.harnesses.identity import guardian
from tallystick.kernel.caller import Caller, Process, SessionKind
from tests.surfaces.cli.place import Place, Terminal, lines_until

WORDS = ("--status", "looked at it", "--next-action", "build it")
YOURS = "It is your turn"


def _state(place: Place) -> dict[str, object]:
    return place.as_("ben", "state").data


def _handoffs(place: Place) -> list[object]:
    events = place.as_("ben", "turns", "history").rows("events")
    return [event["handoff"] for event in events if event["handoff"]]


def test_hold_joins_claims_and_shows_the_handoff(place: Place) -> None:
    for agent in ("ben", "ann"):
        place.as_(agent, "join")
    place.as_("ben", "wait")
    place.as_("ben", "release", *WORDS)

    with place.terminal("hold", "--as", "ann") as terminal:
        shown = terminal.until("build it")

    assert f"Waiting for your turn in {place.workspace} as ann." in shown
    assert YOURS in shown
    assert "Handoff from ben" in shown


def test_ctrl_c_asks_for_the_handoff_and_passes_the_stick_on(place: Place) -> None:
    place.as_("ben", "join")

    with place.terminal("hold", "--as", "ann") as terminal:
        terminal.until(YOURS)
        _answer(terminal, "\x03", "What did you do, learn and leave open")
        _answer(terminal, "read the plan\n", "What should the next one do")
        terminal.type("write it\n")
        shown = terminal.rest()

    assert shown.endswith("Handed over to ben.\n")
    assert terminal.process.returncode == 0
    assert _handoffs(place) == [{"status": "read the plan", "next_action": "write it"}]


def _answer(terminal: Terminal, text: str, then: str) -> None:
    terminal.type(text)
    terminal.until(then)


def test_declining_to_answer_leaves_the_stick_to_be_taken_over(place: Place) -> None:
    place.as_("ben", "join")

    with place.terminal("hold", "--as", "ann") as terminal:
        terminal.until(YOURS)
        _answer(terminal, "\x03", "What did you do")
        terminal.type("\x04")
        shown = terminal.rest()

    assert "error: `tally hold` ended without a handoff" in shown
    assert terminal.process.returncode == 1
    assert (_state(place)["state"], _state(place)["takeover"]) == ("owner_gone", "owner_gone")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_releases_with_the_handoff_given_at_the_start(place: Place, number: signal.Signals) -> None:
    place.as_("ben", "join")

    with place.running("--json", "hold", "--as", "ann", *WORDS) as process:
        lines_until(process, YOURS)
        process.send_signal(number)
        out, _ = process.communicate()

    assert process.returncode == 0
    assert '"ok":true,"command":"hold"' in out
    assert _handoffs(place) == [{"status": "looked at it", "next_action": "build it"}]


def test_without_a_handoff_sigterm_leaves_the_stick_to_be_taken_over(place: Place) -> None:
    place.as_("ben", "join")

    with place.running("hold", "--as", "ann") as process:
        lines_until(process, YOURS)
        process.terminate()
        _, err = process.communicate()

    assert process.returncode == 1
    assert err.startswith("error: `tally hold` ended without a handoff; the others may take the stick over at once.\n")
    assert _state(place)["state"] == "owner_gone"


def test_a_killed_holder_is_gone_at_once(place: Place) -> None:
    place.as_("ben", "join")
    with place.running("hold", "--as", "ann") as process:
        lines_until(process, YOURS)
        alive = _state(place)
        process.kill()
        process.wait()

    gone = _state(place)

    assert (alive["state"], alive["takeover"]) == ("owned", None)
    assert (gone["state"], gone["takeover"], gone["takeover_candidates"]) == ("owner_gone", "owner_gone", ["ben"])
    assert place.as_("ben", "takeover", "--reason", "ann was killed").data["turn_id"] == 2


def test_a_killed_holder_comes_back_only_by_taking_over(place: Place) -> None:
    with place.running("hold", "--as", "ann") as process:
        lines_until(process, YOURS)

    refused = place.run("hold", "--as", "ann")
    with place.running("hold", "--as", "ann", "--takeover", "my window crashed") as process:
        lines_until(process, "It is your turn: turn 2")

    assert refused.code == 1
    assert "error: ann failed: owner_gone." in refused.err
    assert 'hint: Take it over on purpose: `tally hold --takeover "why"`.' in refused.err


def test_hold_renews_its_lease_by_the_rooms_policy(place: Place) -> None:
    place.as_("ben", "join")
    place.as_("ben", "rooms", "set_policy", "--owner-lease-ttl-ms", "2000", "--heartbeat-interval-ms", "50")

    with place.running("hold", "--as", "ann") as process:
        lines_until(process, YOURS)
        first = later = _state(place)
        while later["lease_expires_at"] == first["lease_expires_at"]:
            later = _state(place)

    assert (first["owner"], later["owner"]) == ("ann", "ann")
    assert str(later["lease_expires_at"]) > str(first["lease_expires_at"])


def test_whoever_loses_the_stick_is_told_and_fails(place: Place) -> None:
    place.as_("ben", "join")
    with place.running("hold", "--as", "ann") as process:
        lines_until(process, YOURS)
        place.as_("ann", "release", *WORDS)
        _, err = process.communicate()

    assert process.returncode == 1
    assert err.splitlines()[0] == "The stick is no longer yours."
    assert err.splitlines()[1].startswith("error: ")


def test_ctrl_c_while_waiting_leaves_everything_as_it_was(place: Place) -> None:
    place.as_("ben", "join")
    place.as_("ben", "wait")

    with place.terminal("hold", "--as", "ann") as terminal:
        terminal.until("Waiting for your turn")
        terminal.type("\x03")
        shown = terminal.rest()

    assert "You stopped waiting before your turn came." in shown
    assert terminal.process.returncode == 130
    assert _state(place)["owner"] == "ben"


def test_a_closed_room_ends_the_wait(place: Place) -> None:
    place.as_("ben", "join")
    place.as_("ben", "wait")

    with place.running("hold", "--as", "ann") as process:
        lines_until(process, "Waiting for your turn")
        place.as_("ben", "close", "--yes")
        _, err = process.communicate()

    assert (process.returncode, err) == (5, "The room was closed.\n")


def test_a_person_holds_with_this_process_and_a_harness_with_its_own() -> None:
    person = Caller(agent_id="human:ann:pts1", session=SessionKind.HUMAN_CLI)
    own = Process(host_id="host", pid=7, started_at="1")
    harness = Caller(agent_id="codex:1", session=SessionKind.MCP_HARNESS, process=own, harness="codex")

    assert guardian(person, os.getpid()) == Caller(
        agent_id="human:ann:pts1", session=SessionKind.HUMAN_GUARDIAN, process=processes.facts(os.getpid())
    )
    assert guardian(harness, os.getpid()) == harness
