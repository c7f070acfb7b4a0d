"""The entry point of `tally hook HARNESS EVENT`. It stands before every edit, so it loads little until it must.

Whatever goes wrong on our side, the harness is told and its agent goes on.
"""

from __future__ import annotations

import _thread
import json
import os
import sys

from tallystick.commandline.global_options import quickly
from tallystick.harnesses import hook_protocol
from tallystick.harnesses.hook_protocol import (
    EDIT,
    END,
    EVENTS,
    NEWS,
    PERMISSION,
    START,
    STATUS,
    STOP,
    SUBAGENT,
    HookReply,
)
from tallystick.kernel import places

LARGEST = 32 * 1024 * 1024


class Payload:
    """What the harness said, as far as it matters."""

    __slots__ = ("event", "fields", "folder", "harness", "session")

    def __init__(self, harness: str, event: str, fields: dict[str, object]) -> None:
        self.harness, self.event, self.fields = harness, event, fields
        cwd, session = fields.get("cwd"), fields.get("session_id")
        self.folder = cwd if isinstance(cwd, str) and os.path.isabs(cwd) else os.getcwd()  # noqa: PTH109, PTH117
        self.session = session if isinstance(session, str) else ""

    @property
    def subagent(self) -> str:
        """The sub-agent that does it; empty for the session itself."""
        found = self.fields.get("agent_id")
        return found if isinstance(found, str) else ""

    @property
    def heard_by(self) -> str:
        """Who hears what a hook tells: the session or one sub-agent of it."""
        return f"{self.session} {self.subagent}".rstrip()

    @property
    def told(self) -> str:
        """The session as its harness names it, for `HarnessSession.read`; empty where the harness names none."""
        name = f"{hook_protocol.SLUGS.get(self.harness, self.harness)} {self.heard_by}"
        return name if self.session and name.isascii() and name.isprintable() else ""

    @property
    def goes_on(self) -> bool:
        """Whether a session begins or ends only by name, and its window goes on with the same work."""
        return {self.fields.get("source"), self.fields.get("reason")} & hook_protocol.CLEARED != set()

    @property
    def again(self) -> bool:
        """Whether the agent goes on only because a hook made it."""
        return self.fields.get("stop_hook_active") is True


def main(args: list[str]) -> int | None:
    """The short cut of `tally hook`, before click is loaded; None when click has to read the arguments."""
    found = quickly(args)
    if found is None or not found[0]:
        return None
    words, settings = found
    os.environ.update(settings)
    return answer(words)


def answer(words: list[str]) -> int:
    """Tell the harness what to do; the exit code is part of the answer."""
    fields: dict[str, object] = {}
    answering = _thread.allocate_lock()
    answering.acquire()
    if "PermissionRequest" not in words:  # Which waits for a person.
        _thread.start_new_thread(_give_up, (answering, words, fields))
    try:
        fields.update(_fields())
        reply = _answered(words, fields)
    except Exception as wrong:  # noqa: BLE001 - the outermost handler: a fault of ours stops no one's work
        reply = _open(words, fields, _said(wrong))
    answering.release()
    sys.stdout.write(reply.out)
    sys.stderr.write(reply.err)
    return reply.code


PATIENCE_SECONDS = 10.0
"""A store or disk that needs longer is not waited for; a harness would wait for us three times as long."""


def _give_up(answering: _thread.LockType, words: list[str], fields: dict[str, object]) -> None:
    """Answer for a hook that stands still, and end it: what it stands in may never come back."""
    if answering.acquire(timeout=PATIENCE_SECONDS):
        return
    reply = _open(words, fields, f"the store did not answer in {PATIENCE_SECONDS:.0f} seconds.")
    os.write(1, reply.out.encode())
    os.write(2, reply.err.encode())
    os._exit(reply.code)


def _open(words: list[str], fields: dict[str, object], what: str) -> HookReply:
    """Let everything pass; what was wrong is said to the person, once in a session."""
    from tallystick.surfaces.hook import session_files

    session = fields.get("session_id")
    if STATUS in words or (isinstance(session, str) and not session_files.hears_first(places.data_dir(), session)):
        return hook_protocol.ALLOW
    return hook_protocol.remark(f"Tallystick could not answer `tally hook {' '.join(words)}`: {what}{ALLOWED}")


ALLOWED = " Nothing was checked, and nothing is held up; run `tally doctor`."


def _said(wrong: Exception) -> str:
    text = f"{wrong}".strip() or type(wrong).__name__
    return text if text.endswith(".") else f"{text}."


def _answered(words: list[str], fields: dict[str, object]) -> HookReply:
    if len(words) != 2 or words[0] not in EVENTS or words[1] not in EVENTS[words[0]]:
        raise ValueError("there is no such hook; `tally hook --help` lists them")
    payload = Payload(words[0], words[1], fields)
    moment = EVENTS[payload.harness][payload.event]
    if moment == EDIT:
        return _before_edit(payload)
    if moment in {NEWS, STOP, END} and os.path.isdir(f"{places.data_dir()}/asking"):  # noqa: PTH112
        from tallystick.surfaces.hook import permission

        permission.close(payload)
    if moment != START and (not _has_store() or (moment == NEWS and _has_heard(payload))):
        return hook_protocol.ALLOW
    from tallystick.surfaces.hook import replies

    if moment == PERMISSION:
        from tallystick.surfaces.hook import permission

        return permission.at_permission(payload, _targets(payload)[0])
    answers = {
        START: replies.at_start,
        NEWS: replies.at_news,
        STOP: replies.at_stop,
        END: replies.at_end,
        SUBAGENT: replies.at_subagent,
        STATUS: replies.status_line,
    }
    return answers[moment](payload)


def _before_edit(payload: Payload) -> HookReply:
    if payload.subagent and str(payload.fields.get("tool_name")).startswith("mcp__"):
        from tallystick.harnesses import open_sessions

        # Only a hook is told whose call this is; the server hears the call's id.
        open_sessions.note_call(str(payload.fields.get("tool_use_id")), payload.subagent)
    paths, unclear = _targets(payload)
    # Somebody who writes nobody knows what may write anything here.
    asked = [*paths, payload.folder] if unclear else paths
    if not asked or not _has_store() or _passes(payload, asked):
        return hook_protocol.ALLOW
    from tallystick.surfaces.hook import replies

    return replies.before_edit(payload, paths, unclear)


def _has_heard(payload: Payload) -> bool:
    """Whether the agent has been told all there is, as far as a quick look can tell."""
    from tallystick.surfaces.hook import session_files

    folder = places.data_dir()
    database = None if os.environ.get("TALLYSTICK_DATABASE_URL") else f"{folder}/tally.sqlite"
    return session_files.nothing_new(database, session_files.told_so_far(folder, payload.heard_by))


def _fields() -> dict[str, object]:
    given: object = json.loads(sys.stdin.buffer.read(LARGEST))
    if not isinstance(given, dict):
        raise TypeError("the event is not a JSON object")
    return given  # pyright: ignore[reportUnknownVariableType] - JSON has text keys


def _targets(payload: Payload) -> tuple[list[str], list[str]]:
    """The paths that a tool call changes, and the commands in it of which that cannot be told."""
    from tallystick.harnesses.shell import tool_calls

    tool, given = payload.fields.get("tool_name"), payload.fields.get("tool_input")
    if not isinstance(tool, str) or not isinstance(given, dict):
        return [], []
    found = tool_calls.targets(tool, given, payload.folder, _Disk(), os.environ)  # pyright: ignore[reportUnknownArgumentType] - JSON
    return found.paths, found.unclear


class _Disk:
    """The file system, as far as a command line leaves questions to it."""

    def is_folder(self, path: str) -> bool:
        return os.path.isdir(path)  # noqa: PTH112 - pathlib would double the start

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def matching(self, pattern: str) -> list[str]:
        from glob import glob

        return glob(pattern)  # noqa: PTH207 - the pattern is absolute


def _has_store() -> bool:
    """Where nobody has ever joined, nothing is reserved and nothing need be opened."""
    return bool(os.environ.get("TALLYSTICK_DATABASE_URL")) or os.path.lexists(f"{places.data_dir()}/tally.sqlite")


def _passes(payload: Payload, paths: list[str]) -> bool:
    """Whether a first look, which costs next to nothing, is enough."""
    if os.environ.get("TALLYSTICK_DATABASE_URL"):
        return False
    from time import time

    from tallystick.hub import reservation_check
    from tallystick.surfaces.hook import session_files

    folder = places.data_dir()
    return reservation_check.concerns_nobody(
        f"{folder}/tally.sqlite", paths, session_files.remembered_agent(folder, payload.session), int(time() * 1000)
    )
