"""Which session a harness process has open, for what is below it and is not told.

Gemini CLI names its session to its hooks alone; Claude Code gives its MCP server the one that the window began with.
So the hook at a session's start leaves a stamp in the data directory, by the exact process. `/clear` begins a session
of another name in the same window: its agent goes on, also when that session is resumed later.
"""

from __future__ import annotations

import os
from hashlib import sha256
from time import time

from tallystick.kernel import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tallystick.kernel.caller import Process

KEPT_SECONDS = 30 * 24 * 3600
LONGEST = 256


def of(process: Process) -> str | None:
    """The session of this process's window."""
    return _read(_window(process))


def first_name(session_id: str) -> str:
    """What the session was called before its window gave it a new name."""
    return _read(_hashed(session_id)) or session_id


def begin(process: Process, session_id: str, *, same_agent: bool) -> str:
    """Note that a window has opened a session, and say as which it goes on.

    With `same_agent` it only has a new name for what the window works at.
    """
    before = of(process)
    kept = (before if same_agent else None) or first_name(session_id)
    if kept != before:
        _write(_window(process), kept)
    if kept != session_id:
        _write(_hashed(session_id), kept)
    return kept


def note_call(call_id: str, subagent: str) -> None:
    """Note which sub-agent makes a call of ours, for the server that is only told the call's id."""
    _write(_hashed(call_id), subagent)


def subagent_of(call_id: str) -> str:
    """The sub-agent that makes this call; empty for the session itself."""
    return _read(_hashed(call_id)) or ""


def sweep() -> None:
    """Remove what was noted long ago and not again since."""
    try:
        for entry in os.scandir(_folder()):
            if time() - entry.stat().st_mtime > KEPT_SECONDS:
                os.unlink(entry.path)  # noqa: PTH108
    except OSError:
        return  # There is nothing, or another was faster.


def _folder() -> str:
    return f"{places.data_dir()}/sessions"


def _window(process: Process) -> str:
    return f"{_folder()}/{process.host_id}-{process.pid}-{process.started_at}"


def _hashed(given_id: str) -> str:
    return f"{_folder()}/{sha256(given_id.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib would double the start of a hook
            return file.read(LONGEST) or None
    except (OSError, ValueError):
        return None


def _write(path: str, session_id: str) -> None:
    part = f"{path}.{os.getpid()}"
    try:
        if not os.path.isdir(_folder()):  # noqa: PTH112
            # Not the data directory: where there is none, nobody has joined anything.
            os.mkdir(_folder(), mode=0o700)  # noqa: PTH102
        with open(part, "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(session_id[:LONGEST])
        os.replace(part, path)  # noqa: PTH105
    except OSError:
        return  # A home that cannot be written to: the process alone names the agent then.
