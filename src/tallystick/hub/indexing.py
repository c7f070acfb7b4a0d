"""Deferred projections, folded while nobody waits for it: a background task of a hub that serves many.

It takes rooms that were written to and have been quiet for a moment, in steps of a few milliseconds which queue behind
whatever else is to be committed. Nothing depends on it but speed: a search reads what is not indexed yet, and whoever
writes to a room that is far behind folds some of it itself (see `Tx.catch_up`).
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from tallystick.hub.hub import Hub
from tallystick.hub.serving import Serving
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
    hub.write(lambda tx: tx.catch_up(room_id), room_id)
    return True


async def keep_indexed(serving: Serving, every_seconds: float = EVERY_SECONDS) -> None:
    """Do so now and then, until cancelled."""
    while True:
        await asyncio.sleep(every_seconds)
        # The store is busy, say: nobody waits for this, and there is another time.
        with suppress(TallyError):
            while await serving.read(lambda: catch_up(serving.hub)):
                pass
