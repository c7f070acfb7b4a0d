"""The hub's log: one JSON object per line in `hub.log`, never a token, a body or a query.

At ten megabytes the file becomes `hub.log.1`, so two of them is all the room it takes.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import traceback
from pathlib import Path

import msgspec

from tallystick.kernel.clock import system_clock, to_wire

SIZE_LIMIT = 10_000_000
GATHERED = 200
FLUSH_SECONDS = 0.2

_encode = msgspec.json.Encoder(enc_hook=str).encode


class Log:
    """Lines are gathered and written together: a write for each would let go of the interpreter for every request."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open()
        self._waiting: list[bytes] = []
        self._writing = threading.Lock()

    def line(self, level: str, **facts: object) -> None:
        self._waiting.append(_encode({"ts": to_wire(system_clock()), "level": level, **facts}))
        if level != "info" or len(self._waiting) >= GATHERED:
            self.flush()

    def flush(self) -> None:
        with self._writing:
            lines, self._waiting = self._waiting, []
            if not lines:
                return
            text = b"\n".join([*lines, b""])
            os.write(self._file, text)
            self._size += len(text)
            if self._size > SIZE_LIMIT:
                os.close(self._file)
                self._path.replace(self._path.with_name(self._path.name + ".1"))
                self._open()

    async def keep_flushing(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            self.flush()

    def close(self) -> None:
        self.flush()
        os.close(self._file)

    def _open(self) -> None:
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._file).st_size


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
