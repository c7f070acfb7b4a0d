"""The hub's log: one JSON object per line in `hub.log`, never a token, a body or a query.

At ten megabytes the file becomes `hub.log.1`, so two of them is all the room it takes. A disk that is full or fails
never stops whoever logs: the newest lines are kept and written when it takes them again, the others are counted.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import traceback
from contextlib import suppress
from pathlib import Path

import msgspec

from tallystick.kernel.clock import system_clock, to_wire

SIZE_LIMIT = 10_000_000
GATHERED = 200
KEPT = 1000
"""So many lines wait for a disk that refuses them."""
FLUSH_SECONDS = 0.2

_encode = msgspec.json.Encoder(enc_hook=str).encode


class Log:
    """Lines are gathered and written together: a write for each would let go of the interpreter for every request."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open()
        self._waiting: list[bytes] = []
        self._rest = b""
        """What a full disk took only a part of."""
        self._lost = 0
        self._writing = threading.Lock()

    def line(self, level: str, **facts: object) -> None:
        self._waiting.append(_encoded(level, **facts))
        if level != "info" or len(self._waiting) >= GATHERED:
            self.flush()

    def flush(self) -> None:
        with self._writing:
            lines, self._waiting = self._waiting, []
            if not lines:
                return
            if self._lost:
                lines.insert(0, _encoded("warning", message=f"{self._lost} lines of log were lost: the disk was full"))
            try:
                self._write(self._rest + b"\n".join([*lines, b""]))
            except OSError:
                self._keep(lines[1:] if self._lost else lines)
            else:
                self._lost = 0
                with suppress(OSError):
                    self._turn_over()

    def _write(self, text: bytes) -> None:
        written = os.write(self._file, text)
        self._size += written
        self._rest = text[written:]

    def _keep(self, lines: list[bytes]) -> None:
        kept = [*lines, *self._waiting]
        self._lost += max(0, len(kept) - KEPT)
        self._waiting = kept[-KEPT:]

    def _turn_over(self) -> None:
        if self._size > SIZE_LIMIT:
            full = self._file
            with suppress(FileNotFoundError):  # the last attempt may have come as far as this
                self._path.replace(self._path.with_name(self._path.name + ".1"))
            self._open()
            os.close(full)

    async def keep_flushing(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            self.flush()

    def close(self) -> None:
        self.flush()
        os.close(self._file)

    def _open(self) -> None:
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self._size = os.fstat(self._file).st_size


def _encoded(level: str, **facts: object) -> bytes:
    return _encode({"ts": to_wire(system_clock()), "level": level, **facts})


class Handler(logging.Handler):
    """Brings the records of libraries into the same log."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        facts: dict[str, object] = {"logger": record.name, "message": record.getMessage()}
        if record.exc_info:
            facts["traceback"] = "".join(traceback.format_exception(*record.exc_info))
        self._log.line(record.levelname.lower(), **facts)
