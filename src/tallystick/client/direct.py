"""The same calls without a hub: in this process, straight on the store that this machine shares."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from getpass import getuser
from pathlib import Path
from typing import TYPE_CHECKING

from tallystick.hub.settings import Settings

if TYPE_CHECKING:
    from tallystick.hub.hub import Hub
    from tallystick.kernel.caller import Caller


class Direct:
    """Calls operations as the agent of that name, or as whoever runs this process. Threads may share it."""

    def __init__(self, *, data_dir: Path | str | None = None, agent: str | None = None) -> None:
        settings = Settings.of(os.environ)
        self._settings = replace(settings, data_dir=Path(data_dir)) if data_dir else settings
        self._agent = agent
        self._hub: Hub | None = None
        self._opening = threading.Lock()

    def call(self, operation: str, given: Mapping[str, object], *, key: str | None = None) -> dict[str, object]:
        """The operation's result, or its refusal raised; with a key, a call that was done before is only answered."""
        return self._opened().call(operation, given, self._caller, key=key).model_dump(mode="json")

    def close(self) -> None:
        with self._opening:
            hub, self._hub = self._hub, None
        if hub:
            hub.close()

    def _opened(self) -> Hub:
        with self._opening:
            if self._hub is None:
                # Late: whoever only talks to a running hub never needs the store.
                from tallystick.hub.hub import Hub

                self._hub = Hub.open(self._settings)
            return self._hub

    @cached_property
    def _caller(self) -> Caller:
        from tallystick.harnesses import identity, processes

        pid = os.getpid()
        return identity.resolve(
            os.environ, pid=pid, user=getuser(), tty=processes.terminal(pid), surface="cli", explicit=self._agent
        )
