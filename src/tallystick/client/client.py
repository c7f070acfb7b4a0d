"""The client that blocks."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Mapping, Sequence
from types import TracebackType
from typing import Self

import httpx2

from tallystick.client import calling
from tallystick.client.calling import Dialogue, Lost, Outcome, Pause, Reply, Send, Step
from tallystick.client.following import Following
from tallystick.client.link import TIMEOUT, Link, Name
from tallystick.client.place import HubNotRunning
from tallystick.kernel.ids import new_id


class Client(Link):
    """Calls a hub: `client.call("turns.state", room_id=…)` or `client.turns.state(room_id=…)`. Threads may share it."""

    _http: httpx2.Client | None = None
    _opening = threading.Lock()

    def call(self, operation: str, /, **given: object) -> dict[str, object]:
        """The operation's result; raises the hub's own refusal, once trying again did not help."""
        return self.call_with(new_id(), operation, given)

    def call_with(self, key: str, operation: str, given: Mapping[str, object]) -> dict[str, object]:
        """A call under an idempotency key of the caller's own: it is done once, however often it is asked for."""
        return self._carry_out(calling.call(operation, given, self._patience(), met=self._met, key=key))

    def follow(self, room_id: str, since_seq: int = 0, *, kinds: Sequence[str] = ()) -> Generator[dict[str, object]]:
        """A room's events after `since_seq`, as they happen: each once and in order, also when the hub starts again."""
        following = Following(room_id, since_seq, kinds, self._seconds, met=self._met)
        while True:
            outcome: Outcome = None
            send = following.request
            try:
                with self._connected().stream("GET", send.path, headers=send.headers) as got:
                    if got.status_code == 200:
                        following.opened()
                        for chunk in got.iter_raw():
                            yield from following.feed(chunk)
                    else:
                        outcome = Reply(status=got.status_code, body=got.read())
            except httpx2.TransportError as error:
                outcome = self._lost(error)
            except HubNotRunning as absent:
                outcome = Lost(connected=False, why=absent.message)
            time.sleep(following.ended(outcome).seconds)

    def close(self) -> None:
        with self._opening:
            http, self._http = self._http, None
        if http:
            http.close()

    def _carry_out(self, dialogue: Dialogue) -> dict[str, object]:
        step = next(dialogue)
        try:
            while True:
                step = dialogue.send(self._do(step))
        except StopIteration as done:
            return done.value

    def _do(self, step: Step) -> Outcome:
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            return None
        try:
            return self._send(step)
        except httpx2.TransportError as error:
            return self._lost(error)
        except HubNotRunning as absent:
            return Lost(connected=False, why=absent.message)

    def _send(self, step: Send) -> Reply:
        got = self._connected().post(step.path, content=step.body, headers=step.headers)
        self._met = True
        return Reply(status=got.status_code, body=got.content)

    def _connected(self) -> httpx2.Client:
        with self._opening:
            if self._http and not self._moved:
                return self._http
            address = self._place.find()
            if self._http is None or address != self._at:
                if self._http:
                    self._http.close()
                self._http = httpx2.Client(
                    transport=httpx2.HTTPTransport(uds=address.socket, verify=address.url.startswith("https:")),
                    base_url=address.url,
                    headers=self._headers(address),
                    timeout=TIMEOUT,
                )
            self._at, self._moved = address, False
            return self._http

    def __getattr__(self, noun: str) -> Name[dict[str, object]]:
        if noun.startswith("_"):
            raise AttributeError(noun)
        return Name(self.call, noun)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
