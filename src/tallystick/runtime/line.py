"""An attached agent's line: its end of the bus, bound to the one room that it works in."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

from tallystick.client.bus import BusClient
from tallystick.client.bus_protocol import BusClosed, Envelope
from tallystick.kernel.errors import TallyError
from tallystick.runtime.telling import Tell


class Line:
    def __init__(
        self,
        agent: str,
        *,
        data_dir: Path,
        url: str | None = None,
        token: str | None = None,
        brought: Callable[[Envelope], None],
        ended: Callable[[TallyError], None],
        tell: Tell,
    ) -> None:
        """Refused at once when no hub runs; one that goes away later is waited for without end.

        `brought` gets whatever comes unasked, `ended` is called when all is over; both on another thread.
        """

        def noticed(there: bool) -> None:
            tell("the hub is back" if there else "the hub is away; waiting for it")

        self.agent, self.room_id = agent, ""
        self._brought, self._ended = brought, ended
        self._bus = BusClient(agent=agent, data_dir=data_dir, url=url, token=token, patience=math.inf, noticed=noticed)
        threading.Thread(target=self._listen, daemon=True).start()

    def enter(self, room_id: str | None, path: Path) -> str:
        """Become a member of a room, by its id or as the one of a folder."""
        where = {"room_id": room_id} if room_id else {"context_path": str(path)}
        self.room_id = cast("str", self.ask("rooms.join", where)["room_id"])
        return self.room_id

    def add(self) -> None:
        """From now on what is asked of this agent comes here."""
        self._bus.join(self.room_id)

    def ask(
        self, type: str, payload: Mapping[str, object], *, key: str | None = None, dst: str | None = None
    ) -> dict[str, object]:
        """The reply's payload; raises the hub's own refusal."""
        return self._bus.ask(type, payload, session=self.room_id or None, dst=dst, key=key)

    @property
    def connected(self) -> bool:
        return self._bus.connected

    def close(self) -> None:
        self._bus.close()

    def _listen(self) -> None:
        why: TallyError = BusClosed()
        try:
            for envelope in self._bus.deliveries():
                self._brought(envelope)
        except TallyError as wrong:
            why = wrong
        self._ended(why)
