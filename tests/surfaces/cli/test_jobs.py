"""`tally radar` and `tally open`, in pipes and at a terminal."""

from __future__ import annotations

import re
import shlex
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
    assert " ? JOB-001 (RUNNING) parser [2J | `tally --as boss open JOB-001@6` | " in shown[-1]
    assert place.run("--as", "boss", "jobs", "radar").out.splitlines() == shown
    assert shown[0].partition(" ")[2].startswith("jobs_radar count=1 runner=idle runners=live:0 idle:1 offline:0")

    with place.terminal("--as", "boss", "radar", "--watch") as terminal:
        terminal.until("question: Which one?")
        place.as_("boss", "radar", "--reply", "JOB-001", "The second.")
        terminal.until("manager: The second.")
        terminal.type("\x03")
        terminal.rest()
    assert terminal.process.returncode == 0
    assert "Traceback" not in terminal.text
    assert "\x1b[3J" not in terminal.text


def test_the_radar_of_the_noun_is_the_same_lines(place: Place) -> None:
    _asking(place)

    assert place.run("--as", "boss", "jobs", "radar").out == place.run("--as", "boss", "radar").out


def test_the_moves_of_the_radar_can_be_typed_as_they_stand(place: Place) -> None:
    _asking(place)
    line = place.run("--as", "boss", "radar").out.splitlines()[-1]
    opened, answered = (shlex.split(move)[1:] for move in re.findall(r"`(tally [^`]+)`", line))

    assert place.run(*opened).code == 0
    assert place.run(*answered).code == 0
    assert place.as_("boss", "radar").rows("jobs")[0]["marker"] == ""


def test_a_job_is_created_from_a_title_a_file_and_an_executor_as_the_guide_says(place: Place) -> None:
    place.as_("boss", "join")
    (place.workspace / "prompt.md").write_text("Make it linear.\n")

    made = place.as_("boss", "jobs", "create", "parser", "--prompt-file", "prompt.md", "--executor", "claude_code")

    job = cast("dict[str, Any]", made.data["job"])
    assert (job["title"], job["executor"]) == ("parser", "claude_code")
    opened = place.as_("boss", "jobs", "open", "--job", "JOB-001", "--include-prompt")
    assert opened.data["prompt"] == "Make it linear.\n"
    assert place.as_("boss", "jobs", "create", "parser").error["code"] == "usage"
    file = ("--prompt-file", "prompt.md")
    assert place.as_("boss", "jobs", "create", "one", "--title", "other", *file).error["code"] == "usage"
    assert place.as_("boss", "jobs", "create", "one", "--prompt", "other", *file).error["code"] == "usage"


def test_the_exit_code_of_a_wait_says_how_the_job_ended(place: Place) -> None:
    place.as_("boss", "join")
    place.as_("r1", "runners", "heartbeat", "--runner-id", "r1", "--status", "idle", "--max-parallel", "9")
    codes = list[int]()
    for number, status in enumerate(("DONE", "FAILED", "CANCELED"), start=1):
        place.as_("boss", "jobs", "create", status, "--prompt", "x")
        place.as_("r1", "jobs", "claim", "--runner-id", "r1")
        held = ("--job", f"JOB-00{number}", "--runner-id", "r1", "--claim-revision", "1")
        place.as_("r1", "jobs", "artifact", "put", *held, "--artifact-key", "report", "--content", "done")
        ref = f"artifact://jobs/JOB-00{number}/report"
        place.as_("r1", "jobs", "complete", *held, "--status", status, "--refs", ref, "--summary", "One.\nTwo.")
        waited = place.run("--as", "boss", "jobs", "wait", "--job", f"JOB-00{number}")
        assert waited.out.splitlines()[-2:] == [f"JOB-00{number} is {status}: One.", "Two."]
        codes.append(waited.code)
    place.as_("boss", "jobs", "create", "still there", "--prompt", "x")
    codes.append(place.run("--as", "boss", "jobs", "wait", "--job", "JOB-004", "--max-wait-ms", "0").code)

    assert codes == [0, 3, 4, 5]
    assert "Exits 0 when the job is DONE, 3 when it FAILED" in place.run("jobs", "wait", "--help").out


def test_a_job_is_followed_until_it_has_ended(place: Place) -> None:
    _asking(place)
    with place.terminal("--as", "boss", "jobs", "tail", "1", "--follow") as terminal:
        terminal.until("question: Which one?")
        place.as_("boss", "jobs", "message", "--job", "JOB-001", "--message", "The second.")
        terminal.until("manager: The second.")
        place.as_("boss", "jobs", "cancel", "--job", "JOB-001", "--force-running")
        terminal.until("canceled: canceled")
        terminal.rest()
    assert terminal.process.returncode == 0


def test_the_radar_as_json_is_the_operations_answer(place: Place) -> None:
    _asking(place)
    rows = place.as_("boss", "radar").rows("jobs")
    assert [cast("dict[str, Any]", row["job"])["job_id"] for row in rows] == ["JOB-001"]
    assert place.as_("boss", "radar", "--status", "DONE").rows("jobs") == []


def test_a_reply_and_a_watch_do_not_go_together(place: Place) -> None:
    _asking(place)
    assert place.as_("boss", "radar", "--watch", "--reply", "JOB-001", "x").error["code"] == "usage"


def test_a_job_is_named_by_a_plain_word_and_read_as_lines(place: Place) -> None:
    _asking(place)
    shown = place.run("--as", "boss", "jobs", "open", "1").out.splitlines()
    assert shown[0] == "JOB-001 (RUNNING) parser [2J"
    assert "? JOB-001@6: Which one? | `tally --as boss jobs message JOB-001 ...`" in shown
    opened = place.run("--as", "boss", "open", "JOB-001").out.splitlines()
    assert opened[0] == shown[0]
    assert "    Make it linear." in opened

    told = place.run("--as", "boss", "jobs", "message", "JOB-001", "The second.").out
    assert told.startswith("Told JOB-001. Its agent reads it inside its running slice where its harness can, else")
    assert place.run("--as", "boss", "jobs", "tail", "1").out.splitlines()[-1].endswith("manager: The second.")
    assert place.as_("boss", "jobs", "message", "JOB-001").error["code"] == "usage"
    assert place.as_("boss", "jobs", "cancel", "JOB-001", "--job", "JOB-001").error["code"] == "usage"
    assert place.run("--as", "boss", "jobs", "cancel", "1", "--force-running").out == "JOB-001 is canceled.\n"
    assert place.run("--as", "boss", "jobs", "wait", "1").code == 4
    assert place.run("--as", "boss", "jobs", "requeue", "job-1").out.startswith("JOB-001 is queued again")


def test_jobs_are_named_by_their_numbers_in_lists_too_and_a_waiver_is_said(place: Place) -> None:
    _asking(place)
    place.as_("boss", "jobs", "create", "later", "--prompt", "x", "--after", "1")
    assert "after JOB-001" in place.run("--as", "boss", "jobs", "open", "2").out
    assert place.run("--as", "boss", "open", "job-2").out.startswith("JOB-002 (QUEUED) later")
    assert (
        "told JOB-001@" in place.run("--as", "boss", "radar", "--status", "running", "--reply", "1", "The second.").out
    )
    assert place.run("--as", "boss", "tasks", "macro", "merge-report", "--jobs", "1", "--jobs", "2").code == 0
    assert place.run("--as", "boss", "jobs", "waive", "1", "I looked.").out == (
        "JOB-001 may be DONE without proof, and that stays on its record: I looked.\n"
    )
    place.as_("boss", "jobs", "cancel", "1", "--force-running", "--reason", "enough")
    assert place.run("--as", "boss", "jobs", "tail", "1").out.splitlines()[-1] == "JOB-001@11  canceled: enough"


def test_lists_and_messages_are_lines_where_that_is_asked_for(place: Place) -> None:
    _asking(place)
    place.as_("boss", "jobs", "create", "lexer", "--prompt", "x")

    listed = place.run("--as", "boss", "jobs", "list", "--fmt", "lines").out.splitlines()
    assert listed[0].endswith(" jobs count=2 has_more=false")
    assert "(QUEUED) MEDIUM lexer | `tally --as boss open JOB-002`" in listed[1]
    told = place.run("--as", "boss", "jobs", "message", "1", "The second.", "--fmt", "lines").out
    assert told == "told JOB-001@8 (RUNNING): The second. | `tally --as boss open JOB-001`\n"

    first = place.run("--as", "boss", "jobs", "list", "--limit", "1").out
    cursor = first.split("--cursor ")[1].rstrip(".\n")
    assert "lexer" in place.run("--as", "boss", "jobs", "list", "--cursor", cursor).out


def test_runners_are_listed_with_what_they_have_and_where_they_are(place: Place) -> None:
    place.as_("boss", "join")
    assert place.run("--as", "boss", "runners", "list").out == "No runner has been here.\n"
    meta = '{"cwd": "/work", "host": "vm", "pid": 7}'
    beat = ("runners", "heartbeat", "--runner-id", "r1", "--status", "idle", "--lease-ttl-ms", "300000", "--meta", meta)
    place.as_("r1", *beat)
    place.as_("boss", "jobs", "create", "parser", "--prompt", "x")
    place.as_("r1", "jobs", "claim", "--runner-id", "r1")

    assert place.run("--as", "boss", "runners", "list").out.splitlines() == [
        "runner\tstate\tjobs\texecutors\tat once\twhere",
        "r1\tidle\tJOB-001\tcodex\t1\t/work, on vm, process 7",
    ]


def test_anything_is_opened_by_its_ref(place: Place) -> None:
    _asking(place)
    opened = place.as_("boss", "open", "JOB-001").data
    assert (opened["kind"], opened["ref"]) == ("job", "JOB-001")
    assert place.as_("boss", "open", "CARD-404").error["code"] == "unknown_card"
