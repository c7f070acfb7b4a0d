"""The same calls without a hub: in this process, straight on the store that this machine shares.

Loading this loads all that a hub is made of.
"""

from __future__ import annotations

import os
import threading
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from tallystick.client.calls import Answered
from tallystick.harnesses import identity
from tallystick.harnesses.registry import HarnessSession
from tallystick.hub import diagnosis, registry
from tallystick.hub.engine import CallRequest
from tallystick.hub.hub import Hub, Interest
from tallystick.hub.settings import Settings
from tallystick.hub.visitor import Visitor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tallystick.kernel.caller import Caller


class Direct:
    """Calls operations as the agent of that name, or as whoever runs this process. Threads may share it."""

    def __init__(
        self,
        *,
        data_dir: str | os.PathLike[str] | None = None,
        agent: str | None = None,
        guardian: bool = False,
        told: str = "",
    ) -> None:
        settings = Settings.of(os.environ)
        self._settings = structs.replace(settings, data_dir=Path(data_dir)) if data_dir else settings
        self._agent, self._guardian, self._told = agent, guardian, told
        self._hub: Hub | None = None
        self._opening = threading.Lock()

    def call(
        self,
        operation: str,
        given: Mapping[str, object],
        interest: Interest | None = None,
        *,
        key: str | None = None,
    ) -> Answered:
        """The operation's result, or its refusal raised; with a key, a call that was done before is only answered."""
        if not registry.find(operation).writes and not self._settings.has_store:
            # Reading creates nothing: a store that is not there reads like an empty one.
            with diagnosis.empty_hub() as empty:
                return Answered(empty.call(operation, given, self.caller, interest).to_data())
        visitor = Visitor(caller=self.caller, trusted=True)
        request = CallRequest(visitor=visitor, operation=operation, given=given, key=key, with_notices=True)
        response = self.hub.respond(request, interest)
        return Answered(response.answer.to_data(), response.notices)

    @property
    def hub(self) -> Hub:
        """The hub of this process, on a store that is created when there is none."""
        with self._opening:
            if self._hub is None:
                self._hub = Hub.open(self._settings)
            return self._hub

    def close(self) -> None:
        with self._opening:
            hub, self._hub = self._hub, None
        if hub:
            hub.close()

    @cached_property
    def caller(self) -> Caller:
        found = identity.of_this_process(self._agent, told=HarnessSession.read(self._told))
        return identity.guardian(found, os.getpid()) if self._guardian else found
