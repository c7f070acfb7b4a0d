"""Very many commands in one place, each a process of its own that need not load the program first.

For what compares answers. How a command starts, and what it loads, is seen by those that `Place.run` starts.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeAlias

from tests.surfaces.cli.place import PROGRAMS, TALLY, Done, Place

Run: TypeAlias = Callable[..., Done]


@contextmanager
def forking(place: Place) -> Generator[Run]:
    """Runs commands with the environment and in the workspace of a place, one after the other."""
    ours, theirs = socket.socketpair()
    command = [sys.executable, PROGRAMS / "forking.py", str(theirs.fileno()), TALLY]
    with (
        ours,
        subprocess.Popen(command, env=place.env, cwd=place.workspace, pass_fds=[theirs.fileno()]) as server,
    ):
        theirs.close()

        def run(*words: str) -> Done:
            nothing, writer = os.pipe()
            os.close(writer)
            with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
                socket.send_fds(ours, [json.dumps(words).encode()], [nothing, out.fileno(), err.fileno()])
                os.close(nothing)
                code = int(ours.recv(16))
                out.seek(0)
                err.seek(0)
                return Done(code=code, out=out.read().decode(), err=err.read().decode())

        yield run
        ours.close()
        assert server.wait() == 0
