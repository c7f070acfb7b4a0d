"""What happens, said on a terminal: one line each, and nothing that somebody else wrote reaches it unescaped."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TextIO, TypeAlias

from tallystick.commandline.visible import visible
from tallystick.harnesses.headless import protocol

Tell: TypeAlias = Callable[[str], None]

WIDTH = 300


def teller(name: str, out: TextIO = sys.stderr) -> Tell:
    lock = threading.Lock()

    def tell(text: str) -> None:
        with lock:
            print(f"{name}: {plain(text)}", file=out, flush=True)

    return tell


def plain(text: str) -> str:
    """On one line; what does not print is shown instead of sent."""
    return visible(protocol.one_line(text, WIDTH))
