"""Deferred projections, folded while nobody waits for it: a thread of a hub that serves many.

It takes rooms that were written to and have been quiet for a moment, in steps of a few milliseconds which queue behind
whatever else is to be committed. Nothing depends on it but speed: a search reads what is not indexed yet, and whoever
writes to a room that is far behind folds some of it itself (see `Tx.catch_up`).
"""

from __future__ import annotations

import threading

from tallystick.hub.hub import Hub
from tallystick.kernel.errors import TallyError
from tallystick.ledger import reading

LAG = 100
"""So many events are sooner read at a search than indexed."""
QUIET_MS = 1000
EVERY_SECONDS = 2.0


def catch_up(hub: Hub) -> bool:
    """Fold one step in the room that has been quiet for the longest time; whether there was one."""
    with hub.reading() as tx:
        room_id = reading.lagging_room(tx, lag=LAG, until=tx.now - QUIET_MS)
    if room_id is None:
        return False
    hub.writer.run(lambda tx: tx.catch_up(room_id), room_id)
    return True


class Indexer:
    def __init__(self, hub: Hub, every_seconds: float = EVERY_SECONDS) -> None:
        self._hub, self._every_seconds = hub, every_seconds
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="tally-index", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop after the step that is under way; to be called before the hub is closed."""
        self._stopped.set()
        self._thread.join()

    def _serve(self) -> None:
        while not self._stopped.wait(self._every_seconds):
            try:
                while catch_up(self._hub) and not self._stopped.is_set():
                    pass
            except TallyError:
                # The store is busy, say. Nobody waits for this, and there is another time.
                continue
