"""The client for an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Sequence
from types import TracebackType
from typing import Any, Self

import httpx2

from tallystick.client import calling
from tallystick.client.calling import Dialogue, Lost, Outcome, Pause, Reply, Send, Step
from tallystick.client.following import Following
from tallystick.client.link import TIMEOUT, Link, Name
from tallystick.client.place import HubNotRunning
from tallystick.kernel.ids import new_id


class AsyncClient(Link):
    """Calls a hub: `await client.call("turns.state", room_id=…)` or `await client.turns.state(room_id=…)`."""

    _http: httpx2.AsyncClient | None = None

    async def call(self, operation: str, /, **given: object) -> dict[str, object]:
        """The operation's result; raises the hub's own refusal, once trying again did not help."""
        return await self._carry_out(calling.call(operation, given, self._patience(), met=self._met, key=new_id()))

    async def follow(
        self, room_id: str, since_seq: int = 0, *, kinds: Sequence[str] = ()
    ) -> AsyncGenerator[dict[str, object]]:
        """A room's events after `since_seq`, as they happen: each once and in order, also when the hub starts again."""
        following = Following(room_id, since_seq, kinds, self._seconds, met=self._met)
        while True:
            outcome: Outcome = None
            send = following.request
            try:
                async with (await self._connected()).stream("GET", send.path, headers=send.headers) as got:
                    if got.status_code == 200:
                        following.opened()
                        async for chunk in got.aiter_raw():
                            for event in following.feed(chunk):
                                yield event
                    else:
                        outcome = Reply(status=got.status_code, body=await got.aread())
            except httpx2.TransportError as error:
                outcome = self._lost(error)
            except HubNotRunning as absent:
                outcome = Lost(connected=False, why=absent.message)
            await asyncio.sleep(following.ended(outcome).seconds)

    async def close(self) -> None:
        http, self._http = self._http, None
        if http:
            await http.aclose()

    async def _carry_out(self, dialogue: Dialogue) -> dict[str, object]:
        step = next(dialogue)
        try:
            while True:
                step = dialogue.send(await self._do(step))
        except StopIteration as done:
            return done.value

    async def _do(self, step: Step) -> Outcome:
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
            return None
        try:
            return await self._send(step)
        except httpx2.TransportError as error:
            return self._lost(error)
        except HubNotRunning as absent:
            return Lost(connected=False, why=absent.message)

    async def _send(self, step: Send) -> Reply:
        got = await (await self._connected()).post(step.path, content=step.body, headers=step.headers)
        self._met = True
        return Reply(status=got.status_code, body=got.content)

    async def _connected(self) -> httpx2.AsyncClient:
        if self._http and not self._moved:
            return self._http
        address = self._place.find()
        if self._http is None or address != self._at:
            await self.close()
            self._http = httpx2.AsyncClient(
                transport=httpx2.AsyncHTTPTransport(uds=address.socket, verify=address.url.startswith("https:")),
                base_url=address.url,
                headers=self._headers(address),
                timeout=TIMEOUT,
            )
        self._at, self._moved = address, False
        return self._http

    def __getattr__(self, noun: str) -> Name[Coroutine[Any, Any, dict[str, object]]]:
        if noun.startswith("_"):
            raise AttributeError(noun)
        return Name(self.call, noun)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
