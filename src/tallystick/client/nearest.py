"""Calls that work with and without a hub: through it while one runs, on the store when there is none."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from tallystick.client.calling import Patience
from tallystick.client.client import Client
from tallystick.client.direct import Direct
from tallystick.kernel.errors import Unavailable
from tallystick.kernel.ids import new_id


class Nearest:
    """A hub may come, go and come back between any two calls, or in the middle of one. Threads may share it.

    Both ways lead to the same store and carry the same key, so a call that a dying hub may have done is done once. With
    a `url` there is only that hub, and it is waited for instead.
    """

    def __init__(
        self,
        *,
        data_dir: Path | str | None = None,
        agent: str | None = None,
        url: str | None = None,
        token: str | None = None,
        patience: float = 30.0,
    ) -> None:
        self._client = Client(data_dir=data_dir, agent=agent, url=url, token=token, patience=0)
        self._direct = None if url is not None else Direct(data_dir=data_dir, agent=agent)
        self._seconds = patience

    def call(self, operation: str, /, **given: object) -> dict[str, object]:
        """The operation's result; raises the hub's own refusal."""
        key, patience = new_id(), Patience(self._seconds)
        while True:
            try:
                return self._once(key, operation, given)
            except Unavailable:
                pause = patience.pause()
                if pause is None:
                    raise
                time.sleep(pause.seconds)

    def _once(self, key: str, operation: str, given: Mapping[str, object]) -> dict[str, object]:
        try:
            return self._client.call_with(key, operation, given)
        except Unavailable:
            # A hub that is going down, or gone. What keeps the store itself from answering will show below.
            if self._direct is None:
                raise
        return self._direct.call(operation, given, key=key)

    def close(self) -> None:
        self._client.close()
        if self._direct:
            self._direct.close()
