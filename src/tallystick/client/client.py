"""The client: carries out the dialogues of `calls` over connections that it keeps open, and follows rooms.

A room is followed through any number of connections: which one to open next, and what came in, each event once.
"""

from __future__ import annotations

import json
import os
import threading
import time

from tallystick.client import calls
from tallystick.client.calls import Answered, HttpReply, Lost, Patience, Pause, Send
from tallystick.client.connection import Connection, HubLocation, HubNotRunning, Unreachable
from tallystick.kernel.errors import TallyError, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import Self

    from tallystick.client.calls import Dialogue, Outcome, Step
    from tallystick.client.connection import Address, HttpResponse, Over

IDLE = 8
"""So many connections are kept for the next call."""


class Name:
    """A noun, or an operation when it is called: `client.turns.state()` is `client.call("turns.state")`."""

    def __init__(self, call: Callable[..., dict[str, object]], name: str) -> None:
        self._call, self._name = call, name

    def __getattr__(self, verb: str) -> Name:
        if verb.startswith("_"):
            raise AttributeError(verb)
        return Name(self._call, f"{self._name}.{verb}")

    def __call__(self, **given: object) -> dict[str, object]:
        return self._call(self._name, **given)


class Client:
    """Calls a hub: `client.call("turns.state", room_id=…)` or `client.turns.state(room_id=…)`. Threads may share it."""

    def __init__(
        self,
        *,
        data_dir: str | os.PathLike[str] | None = None,
        over: Over = "socket",
        url: str | None = None,
        token: str | None = None,
        agent: str | None = None,
        patience: float = 30.0,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Find the hub of a data directory (by default, the one commands use), or take it from `url` and `token`.

        `agent` is the name to act under on this machine's socket; a token has its own. `patience` is how many seconds
        to wait for a hub that was there and is away, or cannot answer right now.
        """
        self.place = HubLocation(data_dir=data_dir, over=over, url=url, token=token)
        self._agent, self._patience = agent, patience
        self._headers = dict(headers or {})
        self._met = False
        self._idle: list[Connection] = []
        self._lock = threading.Lock()

    def call(self, operation: str, /, **given: object) -> dict[str, object]:
        """The operation's result; raises the hub's own refusal, once trying again did not help."""
        return self.call_with(new_key(), operation, given).data

    def call_with(
        self,
        key: str,
        operation: str,
        given: Mapping[str, object],
        *,
        seconds: float | None = None,
        stop: int | None = None,
    ) -> Answered:
        """A call under an idempotency key of the caller's own: it is done once, however often it is asked for.

        A hub that takes more than `seconds` does not answer. Raises `Stopped` when the descriptor `stop` becomes
        readable before there is an answer.
        """
        dialogue = calls.dialogue(operation, given, Patience(self._patience), met=self._met, key=key)
        return self._carry_out(dialogue, seconds, stop)

    def get(self, path: str, *, seconds: float | None = None) -> HttpReply:
        """One request that is no operation, such as `/v1/status`; raises `HubNotRunning` when nobody answers."""
        try:
            return self._exchange("GET", calls.Send(path=path, headers={}), seconds, None)
        except OSError as error:
            raise HubNotRunning(_lost(error).why) from error

    def follow(self, room_id: str, since_seq: int = 0, *, kinds: Sequence[str] = ()) -> Generator[dict[str, object]]:
        """A room's events after `since_seq`, as they happen: each once and in order, also when the hub starts again."""

        following = Following(room_id, since_seq, kinds, self._patience, met=self._met)
        while True:
            outcome: Outcome = None
            try:
                connection = Connection(self.place.find())
                try:
                    got = self._request(connection, "GET", following.request)
                    if got.status == 200:
                        self._met = True
                        following.opened()
                        for piece in got.pieces():
                            yield from following.feed(piece)
                    else:
                        outcome = HttpReply(status=got.status, body=got.read())
                finally:
                    connection.close()
            except HubNotRunning as absent:
                outcome = Lost(connected=False, why=absent.message)
            except OSError as error:
                outcome = _lost(error)
            time.sleep(following.ended(outcome).seconds)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for each in idle:
            each.close()

    def _carry_out(self, dialogue: Dialogue, seconds: float | None, stop: int | None) -> Answered:
        step = next(dialogue)
        try:
            while True:
                step = dialogue.send(self._do(step, seconds, stop))
        except StopIteration as done:
            return done.value

    def _do(self, step: Step, seconds: float | None, stop: int | None) -> Outcome:
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            return None
        try:
            return self._exchange("POST", step, seconds, stop)
        except OSError as error:
            return _lost(error)
        except HubNotRunning as absent:
            return Lost(connected=False, why=absent.message)

    def _exchange(self, method: str, send: Send, seconds: float | None, stop: int | None) -> HttpReply:
        connection = self._taken() or Connection(self.place.find())
        try:
            try:
                got = self._request(connection, method, send, seconds, stop)
            except ConnectionError:
                if not connection.used:
                    raise
                # A hub lets idle connections go, or has been replaced. Every call may be sent again.
                connection.close()
                connection = Connection(self.place.find())
                got = self._request(connection, method, send, seconds, stop)
            body = got.read()
        except BaseException:
            connection.close()
            raise
        self._met = True
        self._keep(connection)
        return HttpReply(status=got.status, body=body, notices=[v for name, v in got.headers if name == "tally-notice"])

    def _request(
        self,
        connection: Connection,
        method: str,
        send: Send,
        seconds: float | None = None,
        stop: int | None = None,
    ) -> HttpResponse:
        address = connection.address
        headers = {**self._own(address), **send.headers}
        path = address.prefix + send.path
        return connection.request(method, path, headers, send.body, seconds=seconds, stop=stop)

    def _own(self, address: Address) -> dict[str, str]:
        if address.token:
            return {"authorization": f"Bearer {address.token}"}
        if not address.socket:
            return {}
        return {**self._headers, "tally-agent": self._agent} if self._agent else self._headers

    def _taken(self) -> Connection | None:
        with self._lock:
            while self._idle:
                connection = self._idle.pop()
                if connection.reusable:
                    return connection
                connection.close()
        return None

    def _keep(self, connection: Connection) -> None:
        with self._lock:
            if connection.reusable and len(self._idle) < IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def __getattr__(self, noun: str) -> Name:
        if noun.startswith("_"):
            raise AttributeError(noun)
        return Name(self.call, noun)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def new_key() -> str:
    return os.urandom(16).hex()


def _lost(error: OSError) -> Lost:
    why = f"The hub does not answer: {error or type(error).__name__}."
    return Lost(connected=not isinstance(error, Unreachable), why=why)


class Following:
    def __init__(self, room_id: str, since_seq: int, kinds: Sequence[str], patience: float, *, met: bool) -> None:
        from urllib.parse import urlencode  # Here: most callers follow nothing.

        self._query = urlencode([("room_id", room_id), *(("kinds", kind) for kind in kinds), ("follow", "true")])
        self._cursor = since_seq
        self._seconds = patience
        self._patience = Patience(patience)
        self._met = met
        self._rest = b""

    @property
    def request(self) -> Send:
        """The next connection, from the last event that was handed out."""
        return Send(path=f"/v1/events?{self._query}", headers={"last-event-id": str(self._cursor)})

    def opened(self) -> None:
        """A stream has begun."""
        self._met, self._patience, self._rest = True, Patience(self._seconds), b""

    def feed(self, chunk: bytes) -> Iterator[dict[str, object]]:
        """The events that this piece of the stream completes."""
        *frames, self._rest = (self._rest + chunk).split(b"\n\n")
        for frame in frames:
            fields = dict(_field(line) for line in frame.split(b"\n") if line and not line.startswith(b":"))
            if b"id" in fields:
                seq = int(fields[b"id"])
                if seq > self._cursor:
                    self._cursor = seq
                    yield json.loads(fields[b"data"])
            elif fields.get(b"event") == b"error":
                _check(calls.refusal_of(500, json.loads(fields[b"data"])["error"]))

    def ended(self, outcome: HttpReply | Lost | None) -> Pause:
        """How long to pause before the next connection; raises when there should be none."""
        failed: TallyError = HubNotRunning(outcome.why if isinstance(outcome, Lost) else None)
        if isinstance(outcome, HttpReply):
            self._met = True
            try:
                calls.answer_of(outcome)
            except TallyError as refusal:
                _check(refusal)
                failed = refusal
        pause = self._patience.pause() if self._met else None
        if pause is None:
            raise failed
        return pause


def _field(line: bytes) -> tuple[bytes, bytes]:
    name, _, value = line.partition(b":")
    return name, value.removeprefix(b" ")


def _check(refusal: TallyError) -> None:
    """Raise what another connection would not mend."""
    if not isinstance(refusal, Unavailable):
        raise refusal
