"""What reaches a job while it runs: a cancel, the manager's words, the end of its runner, a hub that restarts."""

from __future__ import annotations

import signal
import subprocess
import textwrap

import pytest

from tests.runner.shift import Shift
from tests.surfaces.hubs import hub
from tests.waiting import gone, until

# Says which processes it consists of, then works for ever.
ENDLESS = """
    child = subprocess.Popen([sys.executable, "-S", "-c", "import signal; signal.pause()"], start_new_session=True)
    say(message=f"pids {os.getpid()} {child.pid}")
    signal.pause()
"""


def pids(shift: Shift, job_id: str) -> list[int]:
    shift.until_told(job_id, "pids")
    told = [message for message in shift.told(job_id, "progress") if message.startswith("pids")]
    return [int(pid) for pid in told[-1].split()[1:]]


def test_a_canceled_job_is_stopped_with_all_it_started(shift: Shift) -> None:
    job_id = shift.create()
    with shift.runner(ENDLESS) as runner:
        started = pids(shift, job_id)

        shift.here("jobs.cancel", job=job_id, force_running=True, reason="enough sheep")

        until(lambda: all(gone(pid) for pid in started))
        until(lambda: f"{job_id} was canceled" in runner.said)
    assert shift.job(job_id)["status"] == "CANCELED"
    assert shift.events(job_id)[-1]["kind"] == "canceled"


def test_a_runner_goes_on_with_other_jobs_after_a_cancel(shift: Shift) -> None:
    first = shift.create(title="endless")
    with shift.runner(f"if job['title'] == 'quick': end('FAILED', 'quick'); sys.exit()\n{textwrap.dedent(ENDLESS)}"):
        pids(shift, first)
        second = shift.create(title="quick")
        shift.here("jobs.cancel", job=first, force_running=True)

        assert shift.ended(second)["summary"] == "quick"


def test_a_question_waits_for_the_manager_and_the_answer_is_in_the_next_slice(shift: Shift) -> None:
    job_id = shift.create()
    with shift.runner(
        """
        if job["slice"]["number"] == 1:
            end("CONTINUE", "need a word", events=[{"kind": "question", "message": "Lambs too?"}])
        else:
            end("FAILED", " / ".join(f"{e['kind']}: {e['message']}" for e in reversed(job["thread"])))
        """
    ):
        shift.until_told(job_id, "Lambs too?")
        assert shift.job(job_id)["status"] == "RUNNING"

        shift.here("jobs.message", job=job_id, message="Yes, lambs too.")

        summary = shift.ended(job_id)["summary"]
    assert "question: Lambs too? / manager: Yes, lambs too." in summary


def test_an_answer_that_is_there_before_the_question_was_passed_on_is_not_waited_for_again(shift: Shift) -> None:
    """The second note is reported after the question, so its answer comes before the runner begins to wait."""
    job_id = shift.create()
    with shift.runner(
        """
        if job["slice"]["number"] == 1:
            notes = [{"kind": "question", "message": "Lambs too?"}]
            notes += [{"kind": "progress", "message": f"note {n}"} for n in range(5)]
            end("CONTINUE", "need a word", events=notes)
        else:
            end("FAILED", " / ".join(e["kind"] for e in reversed(job["thread"])))
        """
    ):
        shift.until_told(job_id, "Lambs too?")
        shift.here("jobs.message", job=job_id, message="Yes, lambs too.")

        assert "manager" in shift.ended(job_id)["summary"]


def test_a_question_nobody_answers_holds_the_job_only_so_long(shift: Shift) -> None:
    job_id = shift.create()

    shift.once(
        """
        if job["slice"]["number"] == 1:
            end("CONTINUE", "need a word", events=[{"kind": "question", "message": "Lambs too?"}])
        else:
            end("FAILED", "decided alone")
        """,
        *("--question-wait-s", "0"),
    )

    assert shift.job(job_id)["summary"] == "decided alone"


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_runner_that_is_told_to_stop_hands_its_job_back(shift: Shift, sign: signal.Signals) -> None:
    job_id = shift.create()
    with shift.runner(ENDLESS) as runner:
        started = pids(shift, job_id)

        runner.signal(sign)

        assert runner.finished() == 0
        assert all(gone(pid) for pid in started)
    assert shift.job(job_id)["status"] == "RUNNING"
    with shift.runner("end('FAILED', f\"again: {job['reclaimed']}\")", runner_id="r2"):
        assert shift.ended(job_id)["summary"] == "again: True"


def test_a_killed_runner_leaves_no_process_and_its_job_is_taken_over(shift: Shift) -> None:
    job_id = shift.create()
    with shift.runner(ENDLESS) as runner:
        started = pids(shift, job_id)
        runner.signal(signal.SIGKILL)
        until(lambda: all(gone(pid) for pid in started))

    with shift.runner("end('FAILED', 'taken over')", runner_id="r2"):
        assert shift.ended(job_id)["summary"] == "taken over"

    (reclaim,) = [event for event in shift.events(job_id) if event["kind"] == "reclaimed"]
    assert reclaim["meta"] == {"previous_runner_id": "r1", "reason": "ttl_expired"}


def test_a_runner_paused_past_its_lease_can_write_nothing_more(shift: Shift) -> None:
    job_id = shift.create()
    code = """
        say(message="begun")
        poll_until(lambda: os.path.exists("go"))
        end("DONE", "from the old runner", "CMD: old (exit 0)")
    """
    with shift.runner(code, *("--heartbeat-ms", "400")) as old:
        shift.until_told(job_id, "begun")
        old.signal(signal.SIGSTOP)
        with shift.runner("end('DONE', 'from the new one', 'CMD: new (exit 0)')", runner_id="r2"):
            shift.ended(job_id)
        before = shift.events(job_id)

        (shift.workspace / "go").touch()
        old.signal(signal.SIGCONT)
        until(lambda: f"{job_id} is DONE" in old.said)

    assert shift.job(job_id)["summary"] == "from the new one"
    assert shift.events(job_id) == before


def test_a_job_that_loses_every_runner_is_given_up(shift: Shift) -> None:
    job_id = shift.create()
    for number in range(2):
        with shift.runner("os.kill(os.getppid(), 0); say(message='begun'); signal.pause()") as runner:
            until(lambda number=number: shift.told(job_id, "progress").count("begun") == number + 1)
            runner.signal(signal.SIGTERM)
            runner.finished()

    with shift.runner("end('FAILED', 'never reached')", "--max-claims", "2", runner_id="r2"):
        job = shift.ended(job_id)

    assert job["summary"] == "gave up: claimed 3 times, and every runner before this one was lost"


def test_a_runner_lives_through_the_death_and_return_of_its_hub(lone_shift: Shift) -> None:
    env = {"TALLYSTICK_DATA_DIR": str(lone_shift.settings.data_dir)}
    code = """
        step = 0
        while not os.path.exists("stop"):
            say(message=f"step {step}")
            step += 1
            time.sleep(0.2)  # one step of its work
        end("DONE", "three sheep", "CMD: count (exit 0)")
    """
    with hub(env) as running, lone_shift.runner(code):
        job_id = lone_shift.create()
        lone_shift.until_told(job_id, "step 1")
        running.kill()
        told = len(lone_shift.events(job_id))
        until(lambda: len(lone_shift.events(job_id)) > told + 2)
        with hub(env):
            told = len(lone_shift.events(job_id))
            until(lambda: len(lone_shift.events(job_id)) > told + 2)
            (lone_shift.workspace / "stop").touch()

            assert lone_shift.ended(job_id)["status"] == "DONE"

    steps = [int(message.split()[1]) for message in lone_shift.told(job_id, "progress")]
    assert steps == list(range(len(steps)))


def test_a_runner_shows_itself_and_what_it_can_do(shift: Shift) -> None:
    job_id = shift.create()
    with shift.runner(ENDLESS, *("--max-parallel", "2", "--sandbox", "read-only")):
        pids(shift, job_id)
        until(lambda: shift.here("runners.list")["runners"][0]["state"] == "live")
        (runner,) = shift.here("runners.list")["runners"]

    assert (runner["runner_id"], runner["active_job_id"], runner["executors"]) == ("r1", job_id, ["command"])
    assert (runner["max_parallel"], runner["sandbox_policy"]) == (2, "read-only")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--executors", "emacs"), "There is no executor 'emacs'"),
        (("--executors", "gemini", "--command", "true"), "The executor 'gemini' was asked for and is not here."),
        (("--command", "no-such-program"), "'no-such-program' is no program that could be run."),
        (("--command", "true", "--cwd", "nowhere"), "--cwd nowhere is no folder."),
        (("--command", "true", "--sandbox", "soft"), "--sandbox is one of read-only, workspace-write, full-access."),
        (("--command", "true", "--skill-profile", "lazy"), "--skill-profile is one of daily, strict"),
        (("--command", "true", "--room", "nowhere"), "nowhere"),
        (("--command", "true", "--max-parallel", "0"), "'0' is no whole number from 1 to 64"),
    ],
)
def test_a_runner_that_cannot_work_says_why_and_ends(shift: Shift, args: tuple[str, ...], message: str) -> None:
    env = {**shift.env(), "PATH": "/usr/bin:/bin"}

    with shift.runner(None, *args, env=env) as runner:
        assert runner.finished() in {1, 2}
        assert message in runner.said


def test_a_setting_may_come_from_the_environment(shift: Shift) -> None:
    job_id = shift.create()
    command = shift.program("end('FAILED', 'by variable')")

    with shift.runner(None, "--once", env=shift.env(TALLYSTICK_RUNNER_COMMAND=command)) as runner:
        assert runner.finished() == 0

    assert shift.job(job_id)["summary"] == "by variable"


def test_a_job_in_a_worktree_leaves_the_workspace_alone(shift: Shift) -> None:

    for args in (
        ["init", "-q"],
        ["-c", "user.name=t", "-c", "user.email=t@e.org", "commit", "-q", "--allow-empty", "-m", "x"],
    ):
        subprocess.run(["git", "-C", str(shift.workspace), *args], check=True)
    job_id = shift.create(meta={"worktree": True})

    shift.once("open('new.txt', 'w').write('3'); end('DONE', 'counted', 'FILE: new.txt', 'CMD: count (exit 0)')")

    assert not (shift.workspace / "new.txt").exists()
    first, told = shift.job(job_id)["summary"].split("\n")
    assert first == "counted"
    assert told.startswith("Worktree: ")
    assert told.endswith("0 new commits, 1 uncommitted files.")
