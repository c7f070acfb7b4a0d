"""The bus for an event loop: the same talk as in `bus`, carried out by one task that connects and reads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tallystick.client import bus_talk
from tallystick.client.bus_asynchronous_wires import AsyncWire, wires
from tallystick.client.bus_talk import Asked, BusClosed, Envelope, Talk
from tallystick.client.calling import Patience
from tallystick.client.link import folder_of
from tallystick.client.place import HubNotRunning, Over, Place
from tallystick.kernel.errors import TallyError, Unavailable
from tallystick.kernel.ids import new_id


class AsyncBusClient:
    """One agent's end of the bus, open within `async with`."""

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
        """The same choices as for `BusClient`."""
        self._talk = Talk(agent)
        self._connect = wires(Place(data_dir=folder_of(data_dir), over=over, url=url, token=token))
        self._seconds, self._noticed = patience, noticed
        self._wire: AsyncWire | None = None
        self._asked: dict[str, asyncio.Future[Envelope | None]] = {}
        self._came: asyncio.Queue[Envelope | TallyError] = asyncio.Queue()
        self._over: TallyError | None = None
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def agent(self) -> str:
        return self._talk.agent

    @property
    def connected(self) -> bool:
        return self._wire is not None

    async def ask(
        self,
        type: str,
        payload: Mapping[str, object] | None = None,
        *,
        session: str | None = None,
        dst: str | None = None,
        key: str | None = None,
    ) -> dict[str, object]:
        """The reply's payload; raises the hub's own refusal."""
        return await self._answer(self._talk.ask(type, payload or {}, session=session, dst=dst, key=key or new_id()))

    async def join(self, session: str, *, name: str | None = None) -> dict[str, object]:
        """Be in a session: what is asked of this agent there comes by `deliveries`, also after a reconnection."""
        try:
            return await self._answer(self._talk.join(session, name))
        except TallyError:
            self._talk.forget(session)
            raise

    async def leave(self, session: str) -> dict[str, object]:
        return await self._answer(self._talk.leave(session))

    async def deliveries(self) -> AsyncGenerator[Envelope]:
        """Every envelope that is no reply, until this client is closed; raises why there will be no more."""
        while not isinstance(came := await self._came.get(), TallyError):
            yield came
        self._came.put_nowait(came)  # For whoever else listens.
        if not isinstance(came, BusClosed):
            raise came

    async def close(self) -> None:
        self._end(BusClosed())
        task, self._task = self._task, None
        if task:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _answer(self, asked: Asked) -> dict[str, object]:
        patience = Patience(self._seconds)
        while True:
            reply = await self._once(asked)
            if reply is None:
                continue
            try:
                return bus_talk.answer(reply)
            except Unavailable:
                pause = patience.pause()
                if pause is None:
                    raise
            await asyncio.sleep(pause.seconds)

    async def _once(self, asked: Asked) -> Envelope | None:
        """One reply; None when the connection went away first."""
        while self._wire is None:
            if self._over:
                raise self._over
            self._changed.clear()
            await self._changed.wait()
        answer = self._asked[asked.id] = asyncio.get_running_loop().create_future()
        with suppress(OSError):  # Whoever reads notices too, and then there is no reply.
            await self._wire.send(asked.line)
        return await answer

    async def _keep(self, wire: AsyncWire) -> None:
        """Read until there is nothing more to read; then find the hub again, and go on."""
        try:
            while True:
                await self._read(wire)
                wire = await self._again()
        except TallyError as wrong:
            self._end(wrong)

    async def _read(self, wire: AsyncWire) -> None:
        try:
            await self._sit(wire)
            self._wire = wire
            self._changed.set()
            async for line in wire.lines():
                if (came := self._talk.hear(line)) is not None:
                    self._take(came)
        except (OSError, ValueError):
            pass  # Cut off, perhaps in the middle of a line: as good as its end.
        finally:
            self._wire = None
            await wire.close()
            asked, self._asked = self._asked, {}
            for waiting in asked.values():
                if not waiting.done():
                    waiting.set_result(None)

    async def _sit(self, wire: AsyncWire) -> None:
        """Take the seats again; the replies come with the rest."""
        for each in self._talk.seats():
            await wire.send(each.line)

    def _take(self, envelope: Envelope) -> None:
        corr = envelope.get("corr")
        waiting = self._asked.pop(corr, None) if isinstance(corr, str) else None
        if waiting is None:
            self._came.put_nowait(envelope)
        elif not waiting.done():
            waiting.set_result(envelope)

    async def _again(self) -> AsyncWire:
        self._noticed(False)
        patience = Patience(self._seconds)
        while True:
            pause = patience.pause()
            if pause:
                await asyncio.sleep(pause.seconds)
            try:
                wire = await self._connect()
            except HubNotRunning:
                if pause is None:
                    raise
            else:
                self._noticed(True)
                return wire

    def _end(self, why: TallyError) -> None:
        if self._over is None:
            self._over = why
            self._came.put_nowait(why)
        self._changed.set()

    async def __aenter__(self) -> Self:
        self._task = asyncio.ensure_future(self._keep(await self._connect()))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
