"""Whatever a program starts is gone when the program ends, is stopped, or loses its runner."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tallystick.harnesses.process_group import ProcessGroup
from tests.waiting import gone, until

DEADLINE = 20.0

# A program with a child in its group, one in a session of its own, and an orphan of an orphan; all wait for ever.
FAMILY = """
    import os, signal, subprocess, sys
    wait = [sys.executable, "-S", "-c", "import signal; signal.pause()"]
    fork = "import os, subprocess, sys; print(subprocess.Popen(sys.argv[1:], start_new_session=True, stdout=-3).pid)"
    pids = [os.getpid(), subprocess.Popen(wait).pid, subprocess.Popen(wait, start_new_session=True).pid]
    pids.append(int(subprocess.run([sys.executable, "-S", "-c", fork, *wait], stdout=subprocess.PIPE).stdout))
    print(*pids, flush=True)
"""


class Watched:
    def __init__(self, folder: Path, code: str, *, stdin: str = "") -> None:
        self.lines = queue.SimpleQueue[str]()
        self.ended = queue.SimpleQueue[bool]()
        self.program = ProcessGroup(
            [sys.executable, "-S", "-c", textwrap.dedent(code)],
            stdin=stdin,
            cwd=folder,
            env={"PATH": os.environ["PATH"]},
            on_line=self.lines.put,
            on_end=lambda: self.ended.put(True),
        )

    def line(self) -> str:
        return self.lines.get(timeout=DEADLINE)

    def pids(self) -> list[int]:
        return [int(each) for each in self.line().split()]


def test_a_program_reads_its_stdin_and_its_lines_and_exit_code_come_back(tmp_path: Path) -> None:
    watched = Watched(
        tmp_path, "import os, sys; print(sys.stdin.read().upper()); print(os.getcwd()); sys.exit(3)", stdin="sheep"
    )

    assert watched.program.wait(DEADLINE) == 3
    assert (watched.line(), watched.line()) == ("SHEEP\n", f"{tmp_path}\n")
    assert watched.ended.get(timeout=DEADLINE)


def test_a_program_that_reads_nothing_may_end_before_its_stdin_was_written(tmp_path: Path) -> None:
    assert Watched(tmp_path, "pass", stdin="x" * 1_000_000).program.wait(DEADLINE) == 0


def test_the_end_of_stderr_is_kept(tmp_path: Path) -> None:
    watched = Watched(tmp_path, "import sys\nfor n in range(100): print(n, file=sys.stderr)")

    watched.program.wait(DEADLINE)

    assert watched.program.errors.split() == [str(number) for number in range(60, 100)]


def test_a_program_that_is_not_there_says_so(tmp_path: Path) -> None:
    program = ProcessGroup(["no-such-program"], stdin="", cwd=tmp_path, env={}, on_line=print, on_end=lambda: None)

    assert program.wait(DEADLINE) == 127
    assert program.errors == "no-such-program: No such file or directory\n"


def test_a_program_that_died_of_a_signal_has_a_negative_code(tmp_path: Path) -> None:
    assert Watched(tmp_path, "import os; os.kill(os.getpid(), 15)").program.wait(DEADLINE) == -signal.SIGTERM


def test_what_a_program_leaves_behind_does_not_outlive_it(tmp_path: Path) -> None:
    watched = Watched(tmp_path, FAMILY)

    code = watched.program.wait(DEADLINE)

    assert code == 0
    assert [gone(pid) for pid in watched.pids()] == [True] * 4


@pytest.mark.parametrize("polite_s", [0.0, 5.0])
def test_stopping_a_program_ends_all_it_started(tmp_path: Path, polite_s: float) -> None:
    watched = Watched(tmp_path, textwrap.dedent(FAMILY) + "signal.pause()")
    pids = watched.pids()

    code = watched.program.end(polite_s)

    assert code == (-signal.SIGTERM if polite_s else -signal.SIGKILL)
    assert [gone(pid) for pid in pids] == [True] * 4


def test_a_program_that_ignores_the_polite_signal_is_killed(tmp_path: Path) -> None:
    code = "import signal; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); signal.pause()"
    watched = Watched(tmp_path, code)
    watched.line()

    assert watched.program.end(0.1) == -signal.SIGKILL


def test_a_program_that_keeps_forking_is_killed(tmp_path: Path) -> None:
    code = """
        import os, signal, time
        print(os.getpid(), flush=True)
        while True:
            if os.fork() == 0:
                if os.fork():
                    os._exit(0)
                os.setsid()
            else:
                os.wait()
                signal.pause()
            time.sleep(0.01)  # slow enough for the rest of the machine
    """
    watched = Watched(tmp_path, code)
    pids = watched.pids()

    watched.program.end(0)

    assert [gone(pid) for pid in pids] == [True]


RUNNER = """
    import sys
    from pathlib import Path
    from tallystick.harnesses.process_group import ProcessGroup
    say = lambda line: print(line, end="", flush=True)
    program = ProcessGroup(sys.argv[1:], stdin="", cwd=Path("."), env={}, on_line=say, on_end=lambda: None)
    print(program.pid, flush=True)
    program.wait()
"""


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_a_runner_that_was_killed(tmp_path: Path, sign: signal.Signals) -> None:
    family = [sys.executable, "-S", "-c", textwrap.dedent(FAMILY) + "signal.pause()"]
    runner = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(RUNNER), *family], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert runner.stdout
    with runner, runner.stdout as said:
        pids = [int(each) for line in (said.readline(), said.readline()) for each in line.split()]

        runner.send_signal(sign)
        runner.wait(DEADLINE)

    assert len(pids) == 5
    until(lambda: all(gone(pid) for pid in pids))


def test_the_program_goes_down_with_its_subreaper(tmp_path: Path) -> None:
    watched = Watched(tmp_path, "import os, signal; print(os.getpid(), flush=True); signal.pause()")
    (pid,) = watched.pids()

    os.kill(watched.program.pid, signal.SIGKILL)

    assert watched.program.wait(DEADLINE) == -signal.SIGKILL
    until(lambda: gone(pid))
