"""Makes the terminal on stdin its own and runs a command there: Ctrl-C typed at it arrives as a person's would."""

from __future__ import annotations

import fcntl
import os
import sys
import termios

fcntl.ioctl(sys.stdin.fileno(), termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
