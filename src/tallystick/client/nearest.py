"""Calls that work with and without a hub: through it while one runs, on the store when there is none."""

from __future__ import annotations

import gc
import os
import time

from tallystick.client.calls import Patience
from tallystick.client.client import Client, new_key
from tallystick.client.connection import HubNotRunning, Stopped
from tallystick.kernel.errors import NotAllowed, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from tallystick.client.calls import Answered
    from tallystick.client.direct import Direct
    from tallystick.hub.hub import Interest

    class Stop(Interest, Protocol):
        """What ends a wait early: a signal, most often."""

        def fileno(self) -> int:
            """Readable once it is over."""
            ...


WAITING = frozenset(
    {
        "actions.outcomes",
        "actions.pending",
        "events.follow",
        "jobs.radar",
        "jobs.wait",
        "messages.inbox",
        "permissions.show",
        "turns.wait",
    }
)
"""The operations that take `max_wait_ms`: only these are left in the middle. Any other is heard to its end."""

LONGEST_WAIT_SECONDS = 120.0
GUARDIAN = {"tally-session": "guardian"}


class Nearest:
    """A hub may come, go and come back between any two calls, or in the middle of one. Threads may share it.

    Both ways lead to the same store and carry the same key, so a call that a dying hub may have done is done once.
    A hub that works on another database, or cannot see this process, is left alone. With a `url` there is only that
    hub, and it is waited for instead.
    """

    def __init__(
        self,
        *,
        data_dir: str | os.PathLike[str] | None = None,
        agent: str | None = None,
        url: str | None = None,
        token: str | None = None,
        patience: float = 30.0,
        seconds: float | None = None,
        guardian: bool = False,
        told: str = "",
    ) -> None:
        """As for `Client`. A hub that needs more than `seconds` for an answer is done without.

        With `guardian` what is held is held by this very process (`tally hold`). `told` is the session that a harness
        named to this process, as it does to its hooks.
        """
        headers = {"tally-pid": str(os.getpid()), **(GUARDIAN if guardian else {})}
        # A hub sees the environment that this process was started with, not what became of it since.
        if not agent and (name := os.environ.get("TALLYSTICK_AGENT")):
            headers["tally-agent-variable"] = name
        if told:
            headers["tally-told"] = told
        self._client = Client(data_dir=data_dir, agent=agent, url=url, token=token, patience=0, headers=headers)
        self._agent, self._guardian, self._told = agent, guardian, told
        self._patience, self._seconds = patience, seconds
        self._direct: Direct | None = None
        self._alone = False
        """Whether the hub here is none for us."""

    def call(self, operation: str, /, **given: object) -> dict[str, object]:
        """The operation's result; raises the hub's own refusal."""
        return self.ask(operation, given).data

    def ask(self, operation: str, given: Mapping[str, object], *, stop: Stop | None = None) -> Answered:
        """The same, with the notices beside it; a wait ends early once `stop` says so."""
        key, patience, asked = new_key(), Patience(self._patience), False
        while True:
            try:
                if self._has_hub:
                    asked = True
                    return self._once(key, operation, given, stop)
                # The key costs a row, and is worth that only where a hub may have done it already.
                return self.direct.call(operation, given, stop, key=key if asked else None)
            except Unavailable:
                pause = patience.pause()
                if pause is None:
                    raise
                time.sleep(pause.seconds)

    def close(self) -> None:
        self._client.close()
        if self._direct:
            self._direct.close()

    def _once(self, key: str, operation: str, given: Mapping[str, object], stop: Stop | None) -> Answered:
        try:
            return self._through(key, operation, given, stop)
        except Unavailable:
            # A hub that is going down, or gone. What keeps the store itself from answering will show below.
            if self._client.place.url is not None:
                raise
        except NotAllowed as refusal:
            if refusal.code != "nameless_caller":
                raise
            # It cannot see this process, perhaps because of a sandbox, and would take it for somebody else.
            self._alone = True
        return self.direct.call(operation, given, stop, key=key)

    def _through(self, key: str, operation: str, given: Mapping[str, object], stop: Stop | None) -> Answered:
        waits = operation in WAITING
        seconds = self._seconds + LONGEST_WAIT_SECONDS if self._seconds and waits else self._seconds
        ending = stop.fileno() if stop and waits else None
        try:
            return self._client.call_with(key, operation, given, seconds=seconds, stop=ending)
        except Stopped:
            # What the wait has come to, which may be a turn given in the last moment.
            return self._client.call_with(new_key(), operation, {**given, "max_wait_ms": 0}, seconds=seconds)

    @property
    def _has_hub(self) -> bool:
        place = self._client.place
        if place.url is not None:
            return True
        try:
            return not self._alone and place.serves(os.environ.get("TALLYSTICK_DATABASE_URL"))
        except HubNotRunning:
            return False

    @property
    def direct(self) -> Direct:
        """The way without a hub."""
        if self._direct is None:
            gc.disable()  # What is loaded stays: the collector would look at all of it a dozen times for nothing.
            from tallystick.client.direct import Direct

            gc.enable()
            gc.freeze()
            self._direct = Direct(
                data_dir=self._client.place.data_dir, agent=self._agent, guardian=self._guardian, told=self._told
            )
        return self._direct
