"""What an attached agent must not forget when it is killed: its contexts, what it had begun, what it has yet to say.

One small file per agent and room, replaced as a whole with every change, and locked while the agent is attached.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import cast

from tallystick.kernel.errors import Conflict
from tallystick.kernel.ids import digest
from tallystick.runtime.memory import Context, Exchange
from tallystick.runtime.model import Errand
from tallystick.runtime.rules import Ending

CONTEXT_LIMIT = 200
"""So many conversations are remembered; the longest unused goes first."""


class AlreadyAttached(Conflict):
    """That agent is attached to this room already."""

    hint = "Stop the other `tally attach`, or choose another --name."


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
        self.begun: dict[str, Errand] = {}
        """Accepted, and not known to be finished."""
        self.owed: dict[str, Ending] = {}
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

    def begin(self, errand: Errand) -> None:
        self.begun[errand.action_id] = errand
        self.save()

    def owe(self, ending: Ending) -> None:
        self.begun.pop(ending.errand.action_id, None)
        self.owed[ending.errand.action_id] = ending
        self.save()

    def settle(self, action_id: str) -> None:
        self.begun.pop(action_id, None)
        self.owed.pop(action_id, None)
        self.save()

    def save(self) -> None:
        whole = {
            "contexts": {context_id: asdict(context) for context_id, context in self.contexts.items()},
            "begun": [asdict(errand) for errand in self.begun.values()],
            "owed": [asdict(ending) for ending in self.owed.values()],
        }
        descriptor = os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            json.dump(whole, opened)
            opened.flush()
            os.fsync(descriptor)
        self._part.replace(self._file)

    def close(self) -> None:
        os.close(self._lock)

    def _load(self) -> None:
        try:
            found = cast("dict[str, object]", json.loads(self._file.read_bytes()))
            contexts = cast("dict[str, dict[str, object]]", found["contexts"])
            self.contexts = {context_id: _context(each) for context_id, each in contexts.items()}
            self.begun = {
                each.action_id: each for each in map(_errand, cast("list[dict[str, object]]", found["begun"]))
            }
            owed = map(_ending, cast("list[dict[str, object]]", found["owed"]))
            self.owed = {each.errand.action_id: each for each in owed}
        except FileNotFoundError:
            return
        except (ValueError, KeyError, TypeError):
            # A file that is not ours any more is no reason not to work: contexts begin anew, the hub knows the rest.
            self.contexts, self.begun, self.owed = {}, {}, {}


def _context(found: Mapping[str, object]) -> Context:
    exchanges = cast("list[dict[str, str]]", found["exchanges"])
    return Context(
        session_id=cast("str | None", found["session_id"]), exchanges=tuple(Exchange(**each) for each in exchanges)
    )


def _errand(found: dict[str, object]) -> Errand:
    return Errand(**cast("dict[str, str]", found))


def _ending(found: dict[str, object]) -> Ending:
    errand = _errand(cast("dict[str, object]", found.pop("errand")))
    return Ending(errand=errand, **cast("dict[str, str]", found))
