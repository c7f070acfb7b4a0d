"""The bus: requests that outlive any number of hubs, and what the hub brings.

One thread connects, takes the seats and reads. Everybody else asks: a request that found no hub, or whose hub went away
before it answered, is sent again under its key, so it is done once.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from tallystick.client import bus_talk
from tallystick.client.bus_talk import Asked, BusClosed, Envelope, Talk
from tallystick.client.bus_wires import Wire, wires
from tallystick.client.calling import Patience
from tallystick.client.place import HubNotRunning, Place
from tallystick.kernel.errors import TallyError, Unavailable
from tallystick.kernel.ids import new_id

if TYPE_CHECKING:
    from tallystick.client.place import Over

Answer = queue.SimpleQueue[Envelope | None]


class BusClient:
    """One agent's end of the bus. Threads may share it."""

    def __init__(
        self,
        *,
        agent: str,
        data_dir: Path | str | None = None,
        over: Over = "socket",
        url: str | None = None,
        token: str | None = None,
        patience: float = 30.0,
        noticed: Callable[[bool], None] = lambda _: None,
    ) -> None:
        """Connect to the hub of a data directory, or to the one at `url` with a `token` for this agent.

        Refused at once when no hub runs; later an absent one is waited for, `patience` seconds long. `noticed` is
        called with False when the hub went away and with True when it is back.
        """
        self._talk = Talk(agent)
        self._connect = wires(Place(data_dir=data_dir, over=over, url=url, token=token))
        self._seconds, self._noticed = patience, noticed
        self._change = threading.Condition()
        self._wire: Wire | None = None
        self._asked: dict[str, Answer] = {}
        self._came: queue.SimpleQueue[Envelope | TallyError] = queue.SimpleQueue()
        self._over: TallyError | None = None
        """Why there will be no more connections."""
        threading.Thread(target=self._keep, args=(self._connect(),), daemon=True).start()

    @property
    def agent(self) -> str:
        return self._talk.agent

    @property
    def connected(self) -> bool:
        return self._wire is not None

    def ask(
        self,
        type: str,
        payload: Mapping[str, object] | None = None,
        *,
        session: str | None = None,
        dst: str | None = None,
        key: str | None = None,
    ) -> dict[str, object]:
        """The reply's payload; raises the hub's own refusal."""
        return self._answer(self._talk.ask(type, payload or {}, session=session, dst=dst, key=key or new_id()))

    def join(self, session: str, *, name: str | None = None) -> dict[str, object]:
        """Be in a session: what is asked of this agent there comes by `deliveries`, also after a reconnection."""
        try:
            return self._answer(self._talk.join(session, name))
        except TallyError:
            self._talk.forget(session)
            raise

    def leave(self, session: str) -> dict[str, object]:
        return self._answer(self._talk.leave(session))

    def deliveries(self) -> Generator[Envelope]:
        """Every envelope that is no reply, until this client is closed; raises why there will be no more."""
        while not isinstance(came := self._came.get(), TallyError):
            yield came
        self._came.put(came)  # For whoever else listens.
        if not isinstance(came, BusClosed):
            raise came

    def close(self) -> None:
        self._end(BusClosed())

    def _answer(self, asked: Asked) -> dict[str, object]:
        patience = Patience(self._seconds)
        while True:
            reply = self._once(asked)
            if reply is None:
                continue
            try:
                return bus_talk.answer(reply)
            except Unavailable:
                pause = patience.pause()
                if pause is None:
                    raise
            time.sleep(pause.seconds)

    def _once(self, asked: Asked) -> Envelope | None:
        """One reply; None when the connection went away first."""
        answer = Answer()
        with self._change:
            while self._wire is None:
                if self._over:
                    raise self._over
                self._change.wait()
            self._asked[asked.id] = answer
            wire = self._wire
        try:
            # Outside the lock: a hub that does not read holds up whoever sends, and nobody else.
            wire.send(asked.line)
        except OSError:
            wire.cut()
        return answer.get()

    def _keep(self, wire: Wire) -> None:
        """Read until there is nothing more to read; then find the hub again, and go on."""
        try:
            while True:
                self._read(wire)
                wire = self._again()
        except TallyError as wrong:
            self._end(wrong)

    def _read(self, wire: Wire) -> None:
        try:
            self._sit(wire)
            with self._change:
                self._wire = wire
                self._change.notify_all()
            if self._over:
                wire.cut()
            for line in wire.lines():
                if (came := self._talk.hear(line)) is not None:
                    self._take(came)
        except (OSError, ValueError):
            pass  # Cut off, perhaps in the middle of a line: as good as its end.
        finally:
            wire.cut()
            with self._change:
                self._wire = None
                for waiting in self._asked.values():
                    waiting.put(None)
                self._asked.clear()

    def _sit(self, wire: Wire) -> None:
        """Take the seats again; the replies come with the rest."""
        with suppress(OSError):  # The reading that follows notices.
            for each in self._talk.seats():
                wire.send(each.line)

    def _take(self, envelope: Envelope) -> None:
        corr = envelope.get("corr")
        waiting = self._asked.pop(corr, None) if isinstance(corr, str) else None
        if waiting:
            waiting.put(envelope)
        else:
            self._came.put(envelope)

    def _again(self) -> Wire:
        self._noticed(False)
        patience = Patience(self._seconds)
        while True:
            pause = patience.pause()
            with self._change:
                if not self._over and pause:
                    self._change.wait(pause.seconds)
                if self._over:
                    raise self._over
            try:
                wire = self._connect()
            except HubNotRunning:
                if pause is None:
                    raise
            else:
                self._noticed(True)
                return wire

    def _end(self, why: TallyError) -> None:
        with self._change:
            if self._over is None:
                self._over = why
                self._came.put(why)
            if self._wire:
                self._wire.cut()
            self._change.notify_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
