"""Takes a terminal as its controlling one, with none of its streams on it. It must lead a session of its own."""

from __future__ import annotations

import fcntl
import os
import pty
import sys
import termios

from tallystick.harnesses import processes

_, terminal = pty.openpty()
fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
sys.stdout.write(f"{processes.terminal(os.getpid())} {os.ttyname(terminal)}\n")
