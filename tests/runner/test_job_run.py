"""`tally runner` as a process: jobs claimed, carried out by a program, gated, continued, retried and given up."""

from __future__ import annotations

import json

import pytest

from tests.install.machine import codex_home
from tests.runner.shift import Shift

DONE = "end('DONE', 'three sheep', 'CMD: count sheep (exit 0)')"


def test_a_job_is_done_with_proof(shift: Shift) -> None:
    job_id = shift.create()

    shift.once(
        """
        say(kind="checkpoint", message="two so far", percent=60)
        end("DONE", "three sheep", "CMD: count sheep (exit 0)",
            events=[{"kind": "progress", "message": "counted twice", "percent": 100, "refs": []}])
        """
    )

    job = shift.job(job_id)
    assert (job["status"], job["summary"], job["refs"]) == ("DONE", "three sheep", ["CMD: count sheep (exit 0)"])
    assert [(event["kind"], event["message"]) for event in shift.events(job_id)] == [
        ("created", "created"),
        ("claimed", "claimed by r1"),
        ("slice", "runner: slice 1 started with command"),
        ("checkpoint", "two so far"),
        ("progress", "counted twice"),
        ("completed", "done"),
    ]


def test_an_executor_is_given_its_job_and_its_place(shift: Shift) -> None:
    job_id = shift.create(meta={"flock": 7}, priority="HIGH", executor_profile="deep")

    shift.once(
        """
        given = {"job": job, "cwd": os.getcwd(), "env": {k: v for k, v in os.environ.items() if "TALLYSTICK_" in k}}
        open("given.json", "w").write(json.dumps(given))
        end("FAILED", "only looking")
        """,
        env={**shift.env(), "TALLYSTICK_AGENT": "boss"},
    )

    given = json.loads((shift.workspace / "given.json").read_text())
    assert given["cwd"] == str(shift.workspace)
    assert given["job"]["job_id"] == job_id
    assert (given["job"]["prompt"], given["job"]["profile"], given["job"]["priority"]) == (
        "Count them.",
        "deep",
        "HIGH",
    )
    assert given["job"]["meta"]["flock"] == 7
    assert given["env"]["TALLYSTICK_JOB"] == job_id
    assert given["env"]["TALLYSTICK_RUNNER"] == "r1"
    # Its `tally` is the runner's: not the person's, and not that of the manager who started the runner.
    assert given["env"]["TALLYSTICK_AGENT"] == "r1"
    assert {event["by"] for event in shift.events(job_id)} == {"boss", "r1"}


def test_a_done_without_proof_goes_on_in_a_second_slice_that_knows_why(shift: Shift) -> None:
    job_id = shift.create()

    shift.once(
        """
        if job["slice"]["number"] == 1:
            end("DONE", "all done", job["job_id"])
        else:
            ok = "without proof" in job["prior"]["summary"]
            end("DONE", f"now proven, told: {ok}", "CMD: count sheep (exit 0)")
        """
    )

    assert shift.job(job_id)["summary"] == "now proven, told: True"
    assert shift.told(job_id, "proof_gate") == [
        "runner: proof gate (slice 1): DONE without proof: JOB-001: found, the job itself"
    ]


def test_a_ref_that_only_the_hub_can_judge_is_gated_by_the_hub(shift: Shift) -> None:
    job_id = shift.create()

    shift.once(
        """
        end("DONE", "all done", "CARD-999" if job["slice"]["number"] == 1 else "CMD: count sheep (exit 0)")
        """
    )

    assert shift.job(job_id)["status"] == "DONE"
    (gate,) = shift.told(job_id, "proof_gate")
    assert "CARD-999: missing, there is no such thing in this room" in gate


def test_a_file_that_is_there_is_proof_and_one_that_is_not_is_none(shift: Shift) -> None:
    job_id = shift.create()

    shift.once(
        """
        if job["slice"]["number"] == 2:
            open("count.txt", "w").write("3")
        end("DONE", "counted", "FILE: count.txt")
        """
    )

    why = "FILE: count.txt: missing, there is no such file where the job worked"
    assert shift.told(job_id, "proof_gate") == [f"runner: proof gate (slice 1): DONE without proof: {why}"]
    evidence = shift.here("jobs.open", job=job_id)["evidence"]
    assert [(each["ref"], each["state"]) for each in evidence] == [("FILE: count.txt", "found")]


def test_a_job_that_never_brings_proof_is_given_up_cleanly(shift: Shift) -> None:
    job_id = shift.create()

    shift.once("end('DONE', 'trust me')", "--max-failures", "2")

    job = shift.job(job_id)
    assert (job["status"], job["summary"]) == (
        "FAILED",
        "gave up: DONE 2 times without proof (no refs); the last said: trust me",
    )


def test_a_slice_that_continues_hands_on_what_it_knows(shift: Shift) -> None:
    job_id = shift.create()

    shift.once(
        """
        if job["slice"]["number"] < 3:
            end("CONTINUE", f"part {job['slice']['number']}", f"LINK: https://example.org/{job['slice']['number']}")
        else:
            end("FAILED", json.dumps(job["prior"]))
        """
    )

    assert json.loads(shift.job(job_id)["summary"]) == {
        "summary": "part 1\n\npart 2",
        "refs": ["LINK: https://example.org/1", "LINK: https://example.org/2"],
    }


def test_failed_slices_are_tried_again_a_bounded_number_of_times(shift: Shift) -> None:
    job_id = shift.create()

    shift.once("print('no sheep', file=sys.stderr); sys.exit(3)")

    assert shift.job(job_id)["summary"] == "gave up after 3 failed slices in a row: exited with 3: no sheep"
    assert shift.told(job_id, "error") == [
        f"runner: slice {number} failed ({number} of 3): exited with 3: no sheep" for number in (1, 2)
    ]


def test_an_answer_of_another_shape_is_a_failed_slice(shift: Shift) -> None:
    job_id = shift.create()

    shift.once("print(json.dumps({'status': 'DONE'}))", "--max-failures", "1")

    assert shift.job(job_id)["summary"] == (
        "gave up after 1 failed slices in a row: an answer of another shape: Object missing required field `summary`"
    )


def test_a_slice_over_its_time_and_grace_is_killed_and_tried_again(shift: Shift) -> None:
    job_id = shift.create()

    shift.once(
        f"""
        if job["slice"]["number"] == 1:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.pause()
        {DONE}
        """,
        *("--slice-s", "1", "--slice-grace-s", "0"),
    )

    assert shift.job(job_id)["status"] == "DONE"
    assert shift.told(job_id, "error") == ["runner: slice 1 failed (1 of 3): killed after 1 seconds without an answer"]


def test_jobs_are_taken_by_priority_and_then_the_oldest_first(shift: Shift) -> None:
    for priority in ("LOW", "MEDIUM", "HIGH", "MEDIUM"):
        shift.create(title=priority, priority=priority)

    shift.once("open('order', 'a').write(job['title'] + job['job_id'][-1] + ' '); end('FAILED', 'x')")

    assert (shift.workspace / "order").read_text() == "HIGH3 MEDIUM2 MEDIUM4 LOW1 "


def test_several_jobs_run_at_the_same_time_when_allowed(shift: Shift) -> None:
    jobs = [shift.create() for _ in range(3)]

    # Each waits until all three have begun, which never happens one after the other.
    shift.once(
        f"""
        open("here-" + job["job_id"], "w").close()
        poll_until(lambda: len([name for name in os.listdir(".") if name.startswith("here-")]) == 3)
        {DONE}
        """,
        *("--max-parallel", "3"),
    )

    assert [shift.job(job_id)["status"] for job_id in jobs] == ["DONE"] * 3


def test_whatever_characters_an_executor_writes_the_job_ends_and_they_are_kept_harmless(shift: Shift) -> None:
    job_id = shift.create()

    shift.once(
        r"""
        say(message="bell \u0007 nul \u0000 half \ud800")
        end("DONE", "nul \u0000 half \ud800 \x1b[31m", "CMD: count \u0000 (exit 0)")
        """
    )

    job = shift.job(job_id)
    assert (job["status"], job["summary"]) == ("DONE", "nul \ufffd half \ufffd \ufffd[31m")
    assert shift.told(job_id, "progress") == ["bell \ufffd nul \ufffd half \ufffd"]


def test_a_job_that_cannot_work_where_it_wants_fails_with_the_reason(shift: Shift) -> None:
    job_id = shift.create(meta={"cwd": "../elsewhere"})

    shift.once(DONE)

    assert shift.job(job_id)["summary"] == "cannot work there: meta.cwd '../elsewhere' is outside the runner's folder"


def test_a_job_comes_with_its_task_its_anchor_and_their_cards(shift: Shift) -> None:
    task = shift.here("tasks.create", title="Sheep", description="All of them", anchor="a:sheep")["task_id"]
    shift.here("cards.create", title="Where", body="Behind the hill", tags=["a:sheep"], pinned=True)
    job_id = shift.create(task=task, anchor="a:sheep")

    shift.once("end('FAILED', job['task'] + '|' + job['anchor'])")

    summary = shift.job(job_id)["summary"]
    assert "Sheep" in summary
    assert "All of them" in summary
    assert "CARD-001 Where: Behind the hill" in summary
    assert "|a:sheep" in summary


@pytest.mark.parametrize("trusted", [False, True])
def test_that_codex_will_not_run_our_hooks_is_said_before_it_works(shift: Shift, trusted: bool) -> None:
    home = codex_home(shift.folder / "codex", trusted=trusted)
    binary = shift.folder / "codex-binary"
    binary.write_text("#!/bin/sh\n")
    binary.chmod(0o755)
    options = ("--once", "--executors", "codex", "--codex-bin", str(binary))

    with shift.runner(None, *options, env=shift.env(CODEX_HOME=str(home))) as runner:
        assert runner.finished() == 0
        said = runner.said

    warned = said.count("Codex runs no hook that nobody has looked at")
    assert (warned, said.count("its edits are not checked")) == ((0, 0) if trusted else (1, 1))
