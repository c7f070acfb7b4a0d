"""What reaches a job while it runs: a cancel, the manager's words, the end of its runner, a hub that restarts."""

from __future__ import annotations

import signal
import socket
import textwrap
from pathlib import Path

import pytest

from tests.runner.shift import TALLY, Shift
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
    # Its heartbeats are so far apart that only the cancel itself can tell it.
    with shift.runner(ENDLESS, "--heartbeat-ms", "100000") as runner:
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
            end("FAILED", " / ".join(word["message"] for word in job["manager"] if word["new"]))
        """
    ) as runner:
        until(lambda: shift.job(job_id)["waits_until"] is not None)
        until(lambda: f'answer with: tally radar --reply {job_id} "your answer"\n' in runner.said)
        assert f"{job_id} asks: Lambs too?\n" in runner.said

        shift.here("jobs.message", job=job_id, message="Yes, lambs too.")

        assert shift.ended(job_id)["summary"] == "Yes, lambs too."
    assert shift.job(job_id)["message_state"] == "read"
    assert "released" in [event["kind"] for event in shift.events(job_id)]


DIRECT = """
    ask = ["tally", "jobs", "report", "--room", os.environ["TALLYSTICK_ROOM"], "--job", os.environ["TALLYSTICK_JOB"]]
    ask += ["--runner-id", os.environ["TALLYSTICK_RUNNER"], "--claim-revision", os.environ["TALLYSTICK_CLAIM_REVISION"]]
    if job["slice"]["number"] == 1:
        subprocess.run([*ask, "--kind", "question", "--message", "Lambs too?"], check=True, stdout=sys.stderr)
        end("CONTINUE", "need a word")
    else:
        end("FAILED", job["manager"][0]["message"])
"""
STREAMED = """
    if job["slice"]["number"] == 1:
        say(kind="question", message="Lambs too?")
        end("CONTINUE", "need a word")
    else:
        end("FAILED", job["manager"][0]["message"])
"""


@pytest.mark.parametrize("code", [DIRECT, STREAMED], ids=["direct report", "streamed note"])
def test_a_question_is_waited_for_however_it_was_asked_and_its_slot_is_free_meanwhile(shift: Shift, code: str) -> None:
    job_id = shift.create()
    env = {**shift.env(), "PATH": f"{Path(TALLY).parent}:/usr/bin:/bin"}
    quick = "if job['title'] == 'quick': end('FAILED', 'quick'); sys.exit()\n"
    with shift.runner(f"{quick}{textwrap.dedent(code)}", "--max-slices", "2", env=env):
        until(lambda: shift.job(job_id)["waits_until"] is not None)
        other = shift.create(title="quick")
        assert shift.ended(other)["summary"] == "quick"
        assert shift.job(job_id)["slices"] == 1

        shift.here("jobs.message", job=job_id, message="Yes, lambs too.")

        assert shift.ended(job_id)["summary"] == "Yes, lambs too."


def test_another_runner_may_act_on_the_answer(shift: Shift) -> None:
    job_id = shift.create()
    with shift.runner(STREAMED) as first:
        until(lambda: shift.job(job_id)["waits_until"] is not None)
        first.signal(signal.SIGKILL)
    shift.here("jobs.message", job=job_id, message="Yes, lambs too.")

    with shift.runner(STREAMED, runner_id="r2"):
        assert shift.ended(job_id)["summary"] == "Yes, lambs too."


WORKS_ON = """
    if job["manager"]:
        end("FAILED", f"slice {job['slice']['number']}: {job['manager'][0]['message']} {job['manager'][0]['new']}")
        sys.exit()
    say(message="begun")
"""


def test_a_message_to_a_job_that_is_at_work_is_whole_at_the_top_of_its_next_slice(shift: Shift) -> None:
    long = "never touch the public API; " * 14
    job_id = shift.create()
    code = (
        WORKS_ON
        + """
    for step in range(60):
        say(message=f"step {step}")
    poll_until(lambda: os.path.exists("go"))
    end("DONE", "dropped the table", "CMD: drop (exit 0)")
    """
    )
    with shift.runner(code):
        shift.until_told(job_id, "begun")
        shift.here("jobs.message", job=job_id, message=long)
        shift.until_told(job_id, "step 59")
        (shift.workspace / "go").touch()

        assert shift.ended(job_id)["summary"] == f"slice 2: {long} True"
    assert shift.told(job_id, "slice")[1] == (
        "runner: slice 1 answered DONE before it had the manager's message; the job goes on: dropped the table"
    )


def test_a_command_that_reads_on_is_told_while_it_works(shift: Shift) -> None:
    job_id = shift.create()
    code = """
        say(message="begun")
        word = json.loads(sys.stdin.readline())
        end("FAILED", f"{word['kind']} {word['message'].partition(': ')[2]}")
    """
    with shift.runner(code, "--stdin-notes"):
        shift.until_told(job_id, "begun")
        word = shift.here("jobs.message", job=job_id, message="Stop, count goats instead.")["event"]

        assert shift.ended(job_id)["summary"] == f"manager {word['ref']}: Stop, count goats instead."
    assert shift.told(job_id, "delivered", "read") == [
        f"runner: the agent was given {word['ref']}",
        f"runner: the agent acted on {word['ref']}",
    ]
    assert (shift.job(job_id)["message_state"], shift.job(job_id)["slices"]) == ("read", 1)


def test_a_message_that_comes_while_the_work_is_checked_is_acted_on_before_the_job_ends(shift: Shift) -> None:
    (shift.workspace / "check.sh").write_text("touch checking; until test -e go; do sleep 0.02; done")
    job_id = shift.create(checks=["sh check.sh"])
    code = """
        if job["manager"]:
            end("FAILED", f"slice {job['slice']['number']}: {job['manager'][0]['message']}")
        else:
            end("DONE", "dropped the table")
    """
    with shift.runner(code):
        until(lambda: (shift.workspace / "checking").exists())
        shift.here("jobs.message", job=job_id, message="Stop, rename it instead.")
        (shift.workspace / "go").touch()

        assert shift.ended(job_id)["summary"] == "slice 2: Stop, rename it instead."
    assert shift.job(job_id)["message_state"] == "read"


RESUMED = """
    if job["slice"]["number"] == 1:
        end("CONTINUE", "SECRET-STATE-42", "CARD-001")
    elif job["slice"]["number"] == 2:
        say(message="begun")
        signal.pause()
    else:
        end("FAILED", f"slice {job['slice']['number']}: {job['prior']['summary']} {job['prior']['refs']}")
"""


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGKILL])
def test_a_job_goes_on_with_another_runner_where_it_was(shift: Shift, sign: signal.Signals) -> None:
    job_id = shift.create()
    with shift.runner(RESUMED) as first:
        shift.until_told(job_id, "begun")
        first.signal(sign)
        first.finished()

    with shift.runner(RESUMED, runner_id="r2"):
        assert shift.ended(job_id)["summary"] == "slice 3: SECRET-STATE-42 ['CARD-001']"


def test_what_an_earlier_slice_kept_is_named_to_the_next(shift: Shift) -> None:
    job_id = shift.create()
    env = {**shift.env(), "PATH": f"{Path(TALLY).parent}:/usr/bin:/bin"}
    code = """
        if job["slice"]["number"] == 1:
            given = {"room_id": job["room_id"], "job": job["job_id"], "runner_id": os.environ["TALLYSTICK_RUNNER"],
                     "claim_revision": job["claim_revision"], "artifact_key": "report", "content": "three"}
            subprocess.run(["tally", "call", "jobs.artifact.put", "--input", "-"], input=json.dumps(given), text=True,
                           check=True, stdout=sys.stderr)
            end("CONTINUE", "kept")
        else:
            end("FAILED", str(job["artifacts"]))
    """
    with shift.runner(code, env=env):
        assert shift.ended(job_id)["summary"] == f"['artifact://jobs/{job_id}/report']"


def test_a_job_may_ask_for_shorter_slices_than_the_runner_allows(shift: Shift) -> None:
    wants = {"title": "Count", "meta": {"slice_s": 60}}, {"title": "Count", "meta": {"slice_s": 100_000}}
    short, long = (shift.create(**given) for given in wants)

    shift.once("end('FAILED', str(job['slice']['seconds']))", "--slice-s", "600")

    assert (shift.job(short)["summary"], shift.job(long)["summary"]) == ("60", "600")


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
            end("FAILED", job["manager"][0]["message"])
        """
    ):
        shift.until_told(job_id, "Lambs too?")
        shift.here("jobs.message", job=job_id, message="Yes, lambs too.")

        assert shift.ended(job_id)["summary"] == "Yes, lambs too."


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
    assert shift.job(job_id)["status"] == "QUEUED"
    assert shift.told(job_id, "released") == ["released by r1: the runner stops; another one goes on"]
    with shift.runner("end('FAILED', f\"again: {job['slice']['number']}\")", runner_id="r2"):
        assert shift.ended(job_id)["summary"] == "again: 2"


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


def test_a_runner_that_has_lost_its_claim_ends_what_it_runs(shift: Shift) -> None:
    job_id = shift.create()
    with shift.runner(ENDLESS, *("--heartbeat-ms", "400")) as old:
        started = pids(shift, job_id)
        old.signal(signal.SIGSTOP)
        with shift.runner("end('FAILED', 'taken over')", runner_id="r2"):
            shift.ended(job_id)
        assert not any(gone(pid) for pid in started)

        old.signal(signal.SIGCONT)

        until(lambda: all(gone(pid) for pid in started))
        until(lambda: f"{job_id}: stopped (lost)" in old.said)


def test_a_job_that_loses_every_runner_is_given_up(shift: Shift) -> None:
    job_id = shift.create()
    for number in range(2):
        with shift.runner("os.kill(os.getppid(), 0); say(message='begun'); signal.pause()") as runner:
            until(lambda number=number: shift.told(job_id, "progress").count("begun") == number + 1)
            runner.signal(signal.SIGKILL)
            runner.finished()

    with shift.runner("end('FAILED', 'never reached')", "--max-claims", "1", runner_id="r2"):
        job = shift.ended(job_id)

    assert job["summary"] == "gave up: 2 runners were lost with it"


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
    assert runner["profiles"] == ["fast", "deep", "audit", "xhigh"]
    assert runner["meta"] | {"pid": 0} == {
        "host": socket.gethostname(),
        "pid": 0,
        "cwd": str(shift.workspace.resolve()),
    }


def test_a_dry_run_says_what_is_there_and_leaves_no_trace(shift: Shift) -> None:
    shift.create(title="Count the goats", executor="command")
    urgent = shift.create(title="Count the wolves", priority="HIGH", after=["JOB-001"])
    before = shift.here("events.list")["head"]

    with shift.runner("end('FAILED', 'never reached')", "--dry-run") as runner:
        assert runner.finished() == 0

    assert runner.said.splitlines() == [
        f"r1: would serve room {shift.room_id} with command in {shift.workspace.resolve()}",
        f"r1: queued: {urgent} (HIGH, auto) Count the wolves: waits for JOB-001",
        "r1: queued: JOB-001 (MEDIUM, command) Count the goats: no runner is there",
    ]
    assert shift.here("events.list")["head"] == before
    assert shift.here("runners.list")["runners"] == []


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
