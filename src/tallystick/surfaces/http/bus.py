"""The bus over HTTP: `POST /v1/bus` takes one envelope and answers with one, `GET /v1/bus/stream` is the way back.

A stream is a connection of the bus. Its first event names it, and envelopes that are posted with that name in the
header `Tally-Bus` belong to it: they are counted together, and deliveries and records come on the stream.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncGenerator, Callable

import msgspec
from starlette.types import Receive, Scope, Send

from tallystick.bus import commands, envelope
from tallystick.bus.connection import BusConnection, BusReply, refusal
from tallystick.bus.delivery import Bus
from tallystick.bus.envelope import LINE_LIMIT, BusRequest, UnknownConnection
from tallystick.hub.visitor import Visitor
from tallystick.kernel import inputs
from tallystick.kernel.errors import InvalidField, TallyError, TooSlow
from tallystick.surfaces.http import calls, errors, sse
from tallystick.surfaces.http.authentication import TokenCache
from tallystick.surfaces.http.errors import MethodNotAllowed, WrongMediaType
from tallystick.surfaces.http.middleware import Allowances
from tallystick.surfaces.http.request_context import RequestContext, answer, body, context_of, departure, while_welcome
from tallystick.surfaces.http.sse import resumed, send_stream

LAST_WORD_SECONDS = 5.0
"""Short: until then the agent counts as connected, and what is meant for it is not handed to anybody else."""


class StreamBus(envelope.StreamEvents):
    """What a stream follows from its beginning, if anything."""

    session: envelope.Id | None = None


class BusOverHttp:
    def __init__(self, bus: Bus, tokens: TokenCache, allowances: Allowances) -> None:
        self._bus, self._tokens, self._allowances = bus, tokens, allowances
        self._open: dict[str, tuple[BusConnection, Visitor]] = {}

    async def post(self, scope: Scope, receive: Receive, send: Send) -> None:
        context = context_of(scope)
        context.operation = "bus.post"
        if scope["method"] != "POST":
            raise MethodNotAllowed("/v1/bus takes POST.", allow="POST")
        if context.head.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
            raise WrongMediaType
        content = await body(scope, receive, LINE_LIMIT)
        connection = self._connection(context)
        request = connection.read(content)
        reply = request if isinstance(request, BusReply) else await self._answer(context, receive, connection, request)
        if reply.error:
            context.notes["code"] = reply.error.code
        status = errors.status_of(type(reply.error)) if reply.error else 200
        more = errors.headers_of(reply.error, reply.line)[2:] if reply.error else []
        await answer(send, reply.line, *more, status=status)

    async def _answer(
        self, context: RequestContext, receive: Receive, connection: BusConnection, request: BusRequest
    ) -> BusReply:
        try:
            request = _keyed(request, context.head.get(b"idempotency-key"))
        except InvalidField as refused:
            return refusal(request, refused)
        if not commands.waits(request.type):
            return await connection.answered(request)
        principal = context.visitor.caller.agent_id
        with self._allowances.stream(principal), self._tokens.until_revoked(context.visitor) as revoked:
            return await while_welcome(receive, revoked, connection.answered(request))

    def _connection(self, context: RequestContext) -> BusConnection:
        name = context.head.get(b"tally-bus")
        if name is None:
            return self._bus.once(context.visitor)
        connection, owner = self._open.get(name.decode("latin-1"), (None, None))
        if connection is None or owner is None or not _same(owner, context.visitor):
            raise UnknownConnection
        return connection

    async def stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        context = context_of(scope)
        context.operation = "bus.stream"
        if scope["method"] != "GET":
            raise MethodNotAllowed("/v1/bus/stream takes GET.", allow="GET")
        ask = inputs.read(StreamBus, resumed(calls.read(StreamBus, scope["query_string"]), context))
        principal = context.visitor.caller.agent_id
        with self._allowances.stream(principal), self._tokens.until_revoked(context.visitor) as revoked:
            outbox, name = BusOutbox(), secrets.token_urlsafe(16)
            connection = self._bus.connect(context.visitor, outbox)
            try:
                outbox.welcome(name, await self._following(connection, ask))
                self._open[name] = (connection, context.visitor)
                await send({"type": "http.response.start", "status": 200, "headers": sse.HEADERS})
                leaving = departure(receive, revoked)
                await send_stream(scope, send, outbox, leaving, last_word_seconds=LAST_WORD_SECONDS)
            finally:
                self._open.pop(name, None)
                connection.close()

    async def _following(self, connection: BusConnection, ask: StreamBus) -> int | None:
        """Begin with a session's events, where the address names one; the place from which on."""
        if ask.session is None:
            return None
        room_id = connection.visible(ask.session)
        follower = await connection.follow(room_id, ask)
        asyncio.get_running_loop().call_soon(connection.streaming("stream", follower, follow=ask.follow))
        return follower.cursor


def _same(owner: Visitor, visitor: Visitor) -> bool:
    """A connection goes as far as the token it was opened with: another token of the same principal may not use it."""
    return (owner.caller.agent_id, owner.token_id) == (visitor.caller.agent_id, visitor.token_id)


def _keyed(request: BusRequest, header: bytes | None) -> BusRequest:
    """The request under the key of its header, where it has none itself."""
    if header is None:
        return request
    key = header.decode("latin-1")
    if request.idempotency_key not in {None, key}:
        raise InvalidField("The header and the envelope carry different idempotency keys.", field="Idempotency-Key")
    return msgspec.structs.replace(request, idempotency_key=key)


UNREAD_BYTES = 8 * 1024 * 1024
FULL_BYTES = 256 * 1024
QUIET_SECONDS = 15.0


class _EnvelopePayload(msgspec.Struct):
    seq: int | None = None


class _SeenEnvelope(msgspec.Struct):
    """As much of a line as its frame shows outside."""

    type: str
    payload: _EnvelopePayload | None = None


_see = msgspec.json.Decoder(_SeenEnvelope).decode


class BusOutbox:
    def __init__(self) -> None:
        self.ending: TallyError | None = None
        self._interrupt: Callable[[], object] = lambda: None
        self._lines: deque[bytes] = deque()
        self._bytes = 0
        self._some, self._room = asyncio.Event(), asyncio.Event()

    def welcome(self, name: str, cursor: int | None) -> None:
        """The first event: the connection's name, and where its records begin."""
        payload = {"connection": name} if cursor is None else {"connection": name, "cursor": cursor}
        self._lines.appendleft(envelope.write("bus.welcome", payload=payload))
        self._some.set()

    def put(self, line: bytes) -> None:
        if self.ending:
            return
        self._lines.append(line)
        self._bytes += len(line)
        self._some.set()
        if self._bytes > UNREAD_BYTES:
            self.cut(TooSlow())

    async def drained(self) -> None:
        while self._bytes > FULL_BYTES and not self.ending:
            self._room.clear()
            await self._room.wait()

    def cut(self, reason: TallyError) -> None:
        if self.ending is None:
            self.ending = reason
            self._some.set()
            self._room.set()
            self._interrupt()

    def on_cut(self, interrupt: Callable[[], None]) -> None:
        self._interrupt = interrupt

    async def chunks(self) -> AsyncGenerator[bytes]:
        """Everything that waits, as frames, until the end; an empty chunk when it was quiet for a while."""
        while not self.ending:
            try:
                async with asyncio.timeout(QUIET_SECONDS):
                    await self._some.wait()
            except TimeoutError:
                yield b""
            else:
                if not self.ending:
                    yield self._take()

    def last_word(self) -> bytes:
        return sse.failure(self.ending) if self.ending else b""

    def _take(self) -> bytes:
        self._some.clear()
        lines = b"".join(self._lines).splitlines()
        self._lines.clear()
        self._bytes = 0
        self._room.set()
        return b"".join(_frame(line) for line in lines)


def _frame(line: bytes) -> bytes:
    seen = _see(line)
    head = b"event: %b\n" % seen.type.encode()
    if seen.type == "events.record" and seen.payload and seen.payload.seq is not None:
        head = b"id: %d\n%b" % (seen.payload.seq, head)
    return b"%bdata: %b\n\n" % (head, line)
