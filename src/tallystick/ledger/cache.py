"""What one process remembers of a room between its transactions: one object per room, a bounded number of rooms.

Four kinds of knowledge, each with one rule for when it is true:

- `rows` follow from the room's events alone, so they are true while its newest event is the one whose hash was stored
  with them. Whoever locks the room takes them away and puts them back at the end: a transaction that fails loses them.
- `seen` and `progressed` are moments at which something was last written: they only spare a write that is not due yet,
  for as long as the interval that whoever asks compares them with. `progressed` holds whatever others write; `seen`
  ends when another process adds to the room, because that may be a newer session of the same agent.
- `alive` are moments at which an agent's process was looked at and had not ended; they spare the next look for as long.
- What others may change without an event is not remembered here at all, only within a transaction (`Tx.live`).
"""

from __future__ import annotations

from typing import TypeAlias

from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import Instant

ROOMS_REMEMBERED = 100
ROWS_REMEMBERED = 1000
"""Of each room; a rebuild folds a whole store in one transaction."""
CALLERS_REMEMBERED = 1000

Rows: TypeAlias = "dict[tuple[object, ...], object]"


class RoomCache:
    __slots__ = ("_at", "_hash", "_rows", "alive", "progressed", "seen")

    def __init__(self) -> None:
        self._at = ""
        """The newest event that this process wrote or knew of."""
        self._hash = ""
        self._rows: Rows = {}
        self.seen: dict[str, tuple[Caller, Instant]] = {}
        """Agent -> the caller it last was, and when the store says it was seen."""
        self.progressed: dict[str, Instant] = {}
        """Agent -> when its progress was last written."""
        self.alive: dict[str, Instant] = {}
        """Agent -> when its process was last looked at, and had not ended."""

    def take(self, newest: str) -> Rows:
        """The rows, if they are true for a room whose newest event has this hash; from now on they are the taker's."""
        rows = self._rows if self._hash == newest else {}
        self._hash, self._rows = "", {}
        self.find_at(newest)
        return rows

    def put(self, newest: str, rows: Rows) -> None:
        # Called before the commit: should that fail, no event will ever have this hash.
        self._rows, self._hash = rows, newest
        self._at = newest

    def find_at(self, newest: str) -> None:
        """Forget who was seen if the room is not where this process left it."""
        if self._at != newest:
            self.seen.clear()
            self._at = newest

    def saw(self, caller: Caller, at: Instant) -> None:
        if len(self.seen) >= CALLERS_REMEMBERED:
            self.seen.clear()
        self.seen[caller.agent_id] = (caller, at)

    def got_on(self, agent_id: str, at: Instant) -> None:
        if len(self.progressed) >= CALLERS_REMEMBERED:
            self.progressed.clear()
        self.progressed[agent_id] = at

    def lives(self, agent_id: str, at: Instant) -> None:
        if len(self.alive) >= CALLERS_REMEMBERED:
            self.alive.clear()
        self.alive[agent_id] = at


class RoomCaches:
    """The rooms that were used last."""

    def __init__(self) -> None:
        self._rooms: dict[str, RoomCache] = {}

    def of(self, room_id: str) -> RoomCache:
        # Taken out and put at the end, so that the first is the one that was not used for the longest time.
        cache = self._rooms.pop(room_id, None) or RoomCache()
        self._rooms[room_id] = cache
        if len(self._rooms) > ROOMS_REMEMBERED:
            self._rooms.pop(next(iter(self._rooms)), None)
        return cache

    def drop(self, room_id: str) -> None:
        self._rooms.pop(room_id, None)

    def clear(self) -> None:
        self._rooms.clear()
