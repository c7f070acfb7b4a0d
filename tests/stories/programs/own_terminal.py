"""Runs a command as a person's shell does: the terminal on the given descriptor is its own, and nothing is above it.

Its streams may lead elsewhere. Whoever started this is no ancestor of the command, or a harness that runs the tests
would be taken for its caller; this process stays, because a terminal is lost with the leader of its session.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import termios

fcntl.ioctl(int(sys.argv[1]), termios.TIOCSCTTY, 0)
os.close(int(sys.argv[1]))
reading, writing = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        os.close(writing)
        os.read(reading, 1)
        os.execvp(sys.argv[2], sys.argv[2:])
    os._exit(0)
os.wait()
os.close(writing)
for stream in (0, 1, 2):
    os.close(stream)
signal.pause()
