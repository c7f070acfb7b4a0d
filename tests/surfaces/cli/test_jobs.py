"""`tally radar` and `tally open`, in pipes and at a terminal."""

from __future__ import annotations

from typing import Any, cast

from tests.surfaces.cli.place import Place


def _asking(place: Place) -> None:
    """A room in which a running job asks a question."""
    place.as_("boss", "join")
    place.as_("boss", "jobs", "create", "--title", "parser \x1b[2J", "--prompt", "Make it linear.")
    place.as_("r1", "runners", "heartbeat", "--runner-id", "r1", "--status", "idle", "--lease-ttl-ms", "300000")
    place.as_("r1", "jobs", "claim", "--runner-id", "r1")
    held = ("--job", "JOB-001", "--runner-id", "r1", "--claim-revision", "1")
    place.as_("r1", "jobs", "report", *held, "--kind", "question", "--message", "Which one?")


def test_the_radar_is_shown_answered_and_followed_on_a_terminal(place: Place) -> None:
    _asking(place)
    shown = place.run("--as", "boss", "radar").out.splitlines()
    assert " ? JOB-001 (RUNNING) parser [2J | open id=JOB-001@" in shown[-1]
    assert shown[0].partition(" ")[2].startswith("jobs_radar count=1 runner=idle runners=live:0 idle:1 offline:0")

    with place.terminal("--as", "boss", "radar", "--watch") as terminal:
        terminal.until("question: Which one?")
        place.as_("boss", "radar", "--reply", "JOB-001", "The second.")
        terminal.until("manager: The second.")
        terminal.type("\x03")
        terminal.rest()
    assert terminal.process.returncode == 0
    assert "Traceback" not in terminal.text


def test_the_radar_as_json_is_the_operations_answer(place: Place) -> None:
    _asking(place)
    rows = place.as_("boss", "radar").rows("jobs")
    assert [cast("dict[str, Any]", row["job"])["job_id"] for row in rows] == ["JOB-001"]
    assert place.as_("boss", "radar", "--status", "DONE").rows("jobs") == []


def test_a_reply_and_a_watch_do_not_go_together(place: Place) -> None:
    _asking(place)
    assert place.as_("boss", "radar", "--watch", "--reply", "JOB-001", "x").error["code"] == "usage"


def test_anything_is_opened_by_its_ref(place: Place) -> None:
    _asking(place)
    opened = place.as_("boss", "open", "JOB-001").data
    assert (opened["kind"], opened["ref"]) == ("job", "JOB-001")
    assert place.as_("boss", "open", "CARD-404").error["code"] == "unknown_card"
