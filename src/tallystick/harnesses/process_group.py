"""One program at work: its output as it comes, and an end that takes everything it started with it."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

SUBREAPER = Path(__file__).with_name("subreaper.py")
LONGEST_LINE = 4 * 1024 * 1024
LAST_WORDS = 40
"""Lines of stderr that are kept."""
KILL_PATIENCE = 15.0
"""Longer than the subreaper's own sweep; after that the group is killed over its head."""


class ProcessGroup:
    """Starts at once. `on_line` gets every line of stdout, `on_end` is called when it is gone; both elsewhere."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        stdin: str,
        stdin_open: bool = False,
        cwd: Path,
        env: Mapping[str, str],
        on_line: Callable[[str], None],
        on_end: Callable[[], None],
    ) -> None:
        held, self._life_pipe = os.pipe()
        self._pipe_lock = threading.Lock()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(SUBREAPER), str(held), *argv],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd,
                env=env,
                pass_fds=[held],
                start_new_session=True,
                encoding="utf-8",
                errors="replace",
            )
        except BaseException:
            os.close(self._life_pipe)
            raise
        finally:
            os.close(held)
        self._errors = deque[str](maxlen=LAST_WORDS)
        # Written by one thread, so that a program which does not read holds up nobody.
        self._input = queue.SimpleQueue[str | None]()
        self._input.put(stdin)
        if not stdin_open:
            self._input.put(None)
        self._threads = [
            _thread(_send, self._process.stdin, self._input),
            _thread(self._watch, on_line, on_end),
            _thread(_listen, self._process.stderr, self._errors.append),
        ]

    @property
    def pid(self) -> int:
        """Of the subreaper, which leads the group and the session."""
        return self._process.pid

    @property
    def errors(self) -> str:
        """The last lines of stderr."""
        return "".join(self._errors)

    def send(self, text: str) -> None:
        """Write more to its standard input; for one that was started with it open."""
        self._input.put(text)

    def wait(self, timeout: float | None = None) -> int:
        """The exit code once the program and all it started are gone; a signal counts negative, as in `subprocess`."""
        code = self._process.wait(timeout)
        self._let_go()
        self._input.put(None)
        for thread in self._threads:
            thread.join()
        return 128 - code if code > 128 else code

    def end(self, polite_s: float) -> int:
        """Ask the group to stop, and after that time kill it with everything that ever left it."""
        if polite_s > 0:
            self._signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                return self.wait(polite_s)
        self._let_go()
        try:
            return self.wait(KILL_PATIENCE)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            return self.wait()

    def _watch(self, on_line: Callable[[str], None], on_end: Callable[[], None]) -> None:
        if self._process.stdout is not None:
            _listen(self._process.stdout, on_line)
        # A program may close its output and go on; it is over when it is gone.
        self._process.wait()
        on_end()

    def _signal(self, sign: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, sign)

    def _let_go(self) -> None:
        with self._pipe_lock:
            pipe, self._life_pipe = self._life_pipe, -1
        if pipe >= 0:
            os.close(pipe)


def _thread(target: Callable[..., None], *args: object) -> threading.Thread:
    thread = threading.Thread(target=target, args=args, daemon=True)
    thread.start()
    return thread


def _send(pipe: IO[str], texts: queue.SimpleQueue[str | None]) -> None:
    with suppress(BrokenPipeError), pipe:
        while (text := texts.get()) is not None:
            pipe.write(text)
            pipe.flush()


def _listen(pipe: IO[str], on_line: Callable[[str], None]) -> None:
    with pipe:
        while line := pipe.readline(LONGEST_LINE):
            on_line(line)
