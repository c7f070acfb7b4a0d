"""What an attached agent must not forget when it is killed: its contexts, what it had begun, what it has yet to say.

One small file per agent and room, replaced as a whole with every change, and locked while the agent is attached.
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path

import msgspec

from tallystick.kernel.errors import Conflict
from tallystick.kernel.ids import digest
from tallystick.runtime.rules import ActionDelivery, ActionEnding, Context

CONTEXT_LIMIT = 200
"""So many conversations are remembered; the longest unused goes first."""


class AlreadyAttached(Conflict):
    """That agent is attached to this room already."""

    hint = "Stop the other `tally attach`, or choose another --name."


class _Saved(msgspec.Struct, frozen=True, kw_only=True):
    """The journal as it lies in its file."""

    contexts: dict[str, Context]
    begun: list[ActionDelivery]
    owed: list[ActionEnding]


class Journal:
    def __init__(self, folder: Path, room_id: str, agent: str) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = digest(room_id, agent, length=32)
        self._file, self._part = folder / f"{name}.json", folder / f"{name}.part"
        self.scratch = folder / f"{name}.files"
        """For the files that a call needs. One place, so that a kill leaves no new one behind."""
        self.scratch.mkdir(mode=0o700, exist_ok=True)
        self._lock = os.open(folder / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise AlreadyAttached(f"'{agent}' is attached to this room already.", agent=agent) from None
        self.contexts: dict[str, Context] = {}
        self.begun: dict[str, ActionDelivery] = {}
        """Accepted, and not known to be finished."""
        self.owed: dict[str, ActionEnding] = {}
        """Finished, and not known to have been said."""
        self._load()

    def context(self, context_id: str) -> Context:
        return self.contexts.get(context_id, Context())

    def remember(self, context_id: str, context: Context) -> None:
        self.contexts.pop(context_id, None)
        self.contexts[context_id] = context
        for oldest in list(self.contexts)[:-CONTEXT_LIMIT]:
            del self.contexts[oldest]

    def forget(self, context_id: str) -> None:
        self.contexts.pop(context_id, None)

    def begin(self, action: ActionDelivery) -> None:
        self.begun[action.action_id] = action
        self.save()

    def owe(self, ending: ActionEnding) -> None:
        self.begun.pop(ending.action.action_id, None)
        self.owed[ending.action.action_id] = ending
        self.save()

    def settle(self, action_id: str) -> None:
        self.begun.pop(action_id, None)
        self.owed.pop(action_id, None)
        self.save()

    def save(self) -> None:
        whole = _Saved(contexts=self.contexts, begun=list(self.begun.values()), owed=list(self.owed.values()))
        descriptor = os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            # Not msgspec's JSON: what programs write may hold halves of characters, which that does not encode.
            json.dump(msgspec.to_builtins(whole), opened)
            opened.flush()
            os.fsync(descriptor)
        self._part.replace(self._file)

    def close(self) -> None:
        os.close(self._lock)

    def _load(self) -> None:
        try:
            found = msgspec.convert(json.loads(self._file.read_bytes()), _Saved)
        except (FileNotFoundError, ValueError):
            # A file that is not ours any more is no reason not to work: contexts begin anew, the hub knows the rest.
            return
        self.contexts = found.contexts
        self.begun = {each.action_id: each for each in found.begun}
        self.owed = {each.action.action_id: each for each in found.owed}
