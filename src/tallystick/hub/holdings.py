"""Everything that is held in a room, gathered from all capabilities; answers the `Holdings` protocol of `agents`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tallystick.ledger.capability import Holding
from tallystick.ledger.tx import Tx


class AllHoldings:
    def __init__(self, sources: Sequence[Callable[[Tx, str], Sequence[Holding]]]) -> None:
        self._sources = sources

    def held(self, tx: Tx, room_id: str) -> Sequence[Holding]:
        return [holding for source in self._sources for holding in source(tx, room_id)]
