"""Process facts from real processes: running, stopped, ended, replaced, hidden, and seen from elsewhere."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tallystick.harnesses import processes
from tallystick.harnesses.processes import ProcessSighting
from tallystick.kernel.caller import Process, ProcessState

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A process that waits for us."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as started:
        yield started
        started.kill()


def exactly(pid: int) -> Process:
    found = processes.facts(pid)
    assert found is not None
    return found


def run(program: str, *args: str, under: Sequence[str] = ()) -> str:
    """What one of our programs says, run as the leader of a session without a terminal."""
    command = [*under, sys.executable, PROGRAMS / program, *args]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, start_new_session=True).stdout


def test_a_running_process_is_alive(child: subprocess.Popen[bytes]) -> None:
    assert processes.state(exactly(child.pid)) is ProcessState.ALIVE


def test_a_stopped_process_is_alive(child: subprocess.Popen[bytes]) -> None:
    process = exactly(child.pid)

    os.kill(child.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)

    assert processes.state(process) is ProcessState.ALIVE


def test_an_ended_process_is_gone(child: subprocess.Popen[bytes]) -> None:
    process = exactly(child.pid)

    child.kill()
    child.wait()

    assert processes.state(process) is ProcessState.GONE
    assert processes.facts(child.pid) is None


def test_an_ended_process_that_nobody_collected_is_gone(child: subprocess.Popen[bytes]) -> None:
    process = exactly(child.pid)

    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

    assert processes.state(process) is ProcessState.GONE
    assert processes.facts(child.pid) is None


def test_a_process_whose_main_thread_ended_before_the_others_is_alive() -> None:
    program = [sys.executable, PROGRAMS / "headless.py"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "main thread ended\n"

        assert processes.state(exactly(started.pid)) is ProcessState.ALIVE


def test_another_process_under_the_same_pid_is_not_the_one_that_ended() -> None:
    said = run("reuse.py", under=_unshare("--pid", "--fork", "--mount-proc"))

    assert said == "same pid, first gone, second alive\n"


@pytest.mark.parametrize("host_id", ["", "0123456789abcdef"])
def test_a_process_of_another_host_is_unknown(host_id: str) -> None:
    assert processes.state(replace(exactly(os.getpid()), host_id=host_id)) is ProcessState.UNKNOWN


@pytest.mark.parametrize("pid", [0, -1, 2**31, 2**63])
def test_what_cannot_be_a_pid_is_gone(pid: int) -> None:
    assert processes.state(replace(exactly(os.getpid()), pid=pid)) is ProcessState.GONE
    assert processes.facts(pid) is None
    assert list(processes.ancestors(pid)) == []


def test_a_hidden_process_is_unknown() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a /proc that hides processes")

    assert run("hidden.py", str(os.getpid()), under=_unshare("--mount")) == "unknown\n"


def test_a_name_with_spaces_and_parentheses_is_read_whole(tmp_path: Path) -> None:
    odd = Path(shutil.copy(shutil.which("cat") or "/bin/cat", tmp_path / "a) Z 1 (b"))
    with subprocess.Popen([odd], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        # Only a program that runs has its arguments; while it is being loaded it has none.
        assert started.stdin
        assert started.stdout
        started.stdin.write(b"here\n")
        started.stdin.flush()
        started.stdout.readline()
        seen = processes.look(started.pid)

        assert seen is not None
        assert (seen.name, seen.parent, seen.dead) == ("a) Z 1 (b", os.getpid(), False)
        assert seen.started_at == exactly(started.pid).started_at
        assert processes.command_line(started.pid) == (str(odd),)


@pytest.mark.parametrize("look", [processes.look_in_proc, processes.look_with_psutil])
def test_both_sources_tell_the_same_story(
    child: subprocess.Popen[bytes], look: Callable[[int], ProcessSighting | None]
) -> None:
    running = look(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    ended = look(child.pid)
    child.wait()

    assert running is not None
    assert running == replace(running, parent=os.getpid(), name="cat", dead=False)
    assert ended is not None
    assert ended == replace(running, dead=True, terminal=ended.terminal)
    assert look(child.pid) is None


def test_the_ancestors_go_from_the_parent_up_to_the_first_process() -> None:
    above = list(processes.ancestors(os.getpid()))

    assert [each.pid for each in above] == [each.pid for each in psutil.Process().parents()]
    assert [each.parent for each in above] == [each.pid for each in above[1:]] + [0]
    assert [each.process for each in above] == [exactly(each.pid) for each in above]
    assert above[0].argv == processes.command_line(os.getppid())


def test_a_forked_child_knows_itself_and_its_parent_on_the_same_host() -> None:
    assert run("forked.py") == "True True alive alive"


def test_the_terminal_is_found_when_every_stream_is_redirected() -> None:
    found, expected = run("terminal.py").split()

    assert found == expected


def test_a_process_without_a_terminal_has_none() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, start_new_session=True) as started:
        assert processes.terminal(started.pid) is None


def test_host_and_machine_are_told_apart_and_stay_the_same() -> None:
    assert processes.host_id() == processes.host_id() != processes.machine_id()
    assert processes.machine_id() == processes.machine_id()


def test_another_pid_namespace_is_another_host_on_the_same_machine() -> None:
    ask = "from tallystick.harnesses.processes import *; print(host_id(), machine_id())"
    command = [*_unshare("--pid", "--fork", "--mount-proc"), sys.executable, "-c", ask]

    host_id, machine_id = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.split()

    assert host_id != processes.host_id()
    assert machine_id == processes.machine_id()


def _unshare(*options: str) -> list[str]:
    if subprocess.run(["unshare", *options, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this user may not make namespaces")
    return ["unshare", *options]
