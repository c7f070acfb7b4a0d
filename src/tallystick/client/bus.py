"""The bus: requests that outlive any number of hubs, and what the hub brings, over its Unix socket or over HTTP.

One thread connects, joins the sessions and reads. Everybody else asks: a request that found no hub, or whose hub went
away before it answered, is sent again under its key, so it is done once.
"""

from __future__ import annotations

import json
import queue
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from tallystick.client import bus_protocol, calls
from tallystick.client.bus_protocol import Asked, BusClosed, Envelope, Talk
from tallystick.client.calls import Patience
from tallystick.client.connection import Address, Connection, HubLocation, HubNotRunning
from tallystick.kernel import places
from tallystick.kernel.errors import TallyError, Unavailable
from tallystick.kernel.ids import new_id

if TYPE_CHECKING:
    from tallystick.client.connection import Over


STREAM, POST = "/v1/bus/stream", "/v1/bus"


class Wire(Protocol):
    """One connection of the bus. Every failure of it is an OSError."""

    def send(self, line: bytes) -> None: ...

    def lines(self) -> Iterator[bytes]:
        """What comes, replies included, until there is no more."""
        ...

    def cut(self) -> None:
        """End `lines`, from any thread."""
        ...


def wires(place: HubLocation) -> Callable[[], Wire]:
    """How to connect to the hub of a place; refuses when none is there."""

    def connect() -> Wire:
        if place.url is None and place.over == "socket":
            return SocketWire(place.bus_socket())
        return HttpWire(place.find())

    return connect


class SocketWire:
    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.connect(path)
            if not places.is_ours(self._socket):
                raise ConnectionRefusedError
        except OSError as absent:
            self._socket.close()
            raise HubNotRunning(f"No hub is running at {path}.") from absent

    def send(self, line: bytes) -> None:
        self._socket.sendall(line)

    def lines(self) -> Iterator[bytes]:
        with self._socket, self._socket.makefile("rb") as lines:
            yield from lines

    def cut(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)


class HttpWire:
    """Envelopes go out by `POST /v1/bus`, what comes is on one stream of events."""

    def __init__(self, address: Address) -> None:
        """Opens the stream; raises the hub's refusal, or that there is none."""
        self._address = address
        self._token = {"authorization": f"Bearer {address.token or ''}"}
        self._came: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._stream = _connected(address)
        try:
            got = self._stream.request("GET", f"{address.prefix}{STREAM}", self._token)
            if got.status != 200:
                raise turned_away(got.status, got.read())
            lines = _envelopes(got.pieces())
            welcome = json.loads(next(lines))
        except (OSError, ValueError, StopIteration) as wrong:
            self._stream.close()
            raise _lost(wrong) from wrong
        except TallyError:
            self._stream.close()
            raise
        connection = str(welcome["payload"]["connection"])
        self._headers = {**self._token, "content-type": "application/json", "tally-bus": connection}
        threading.Thread(target=self._listen, args=(lines,), daemon=True).start()

    def send(self, line: bytes) -> None:
        # Each in its own time: a wait on the bus holds up nobody else's request.
        threading.Thread(target=self._post, args=(line,), daemon=True).start()

    def lines(self) -> Iterator[bytes]:
        while (line := self._came.get()) is not None:
            yield line

    def cut(self) -> None:
        self._came.put(None)
        self._stream.cut()

    def _post(self, line: bytes) -> None:
        try:
            connection = Connection(self._address)
            try:
                content = connection.request("POST", f"{self._address.prefix}{POST}", self._headers, line).read()
            finally:
                connection.close()
        except OSError:
            # Lost on the way, or closed meanwhile: whoever waits sends it again on the next connection.
            self._came.put(None)
        else:
            self._came.put(replied(line, content))

    def _listen(self, lines: Iterator[bytes]) -> None:
        try:
            for line in lines:
                self._came.put(line)
        except OSError:
            pass  # Cut off: as good as its end.
        finally:
            self._stream.close()
            self._came.put(None)


def _connected(address: Address) -> Connection:
    try:
        return Connection(address)
    except OSError as absent:
        raise _lost(absent) from absent


def _lost(error: Exception) -> HubNotRunning:
    return HubNotRunning(f"The hub does not answer: {error or type(error).__name__}.")


def _envelopes(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The envelopes in a stream of events."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        yield from (line.removeprefix(b"data:").strip() for line in lines if line.startswith(b"data:"))


def replied(sent: bytes, content: bytes) -> bytes | None:
    """The line that answers an envelope; None when the connection is not there any more."""
    try:
        found: dict[str, Any] = json.loads(content)
    except ValueError:
        return None
    if "corr" in found:
        return content
    error: dict[str, object] = found.get("error") or {}
    if error.get("code") == "unknown_connection":
        return None
    # Refused before the bus saw it.
    return json.dumps({"corr": json.loads(sent)["id"], "status": "error", "error": error}).encode()


def turned_away(status: int, content: bytes) -> TallyError:
    """Why there is no stream."""
    try:
        error: dict[str, object] = json.loads(content)["error"]
    except (ValueError, KeyError, TypeError):
        return HubNotRunning(f"What answers with status {status} is no hub.")
    refusal = calls.refusal_of(status, error)
    return HubNotRunning(refusal.message) if isinstance(refusal, Unavailable) else refusal


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
        self._connect = wires(HubLocation(data_dir=data_dir, over=over, url=url, token=token))
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
                return bus_protocol.answer(reply)
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
            self._reattach(wire)
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

    def _reattach(self, wire: Wire) -> None:
        """Enter every session again; the replies come with the rest."""
        with suppress(OSError):  # The reading that follows notices.
            for each in self._talk.reattached():
                wire.send(each.line)

    def _take(self, envelope: Envelope) -> None:
        corr = envelope.get("corr")
        waiting = self._asked.pop(corr, None) if isinstance(corr, str) else None
        if waiting:
            waiting.put(envelope)
        else:
            self._came.put(envelope)

    def _again(self) -> Wire:
        with self._change:
            if self._over:
                raise self._over
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
