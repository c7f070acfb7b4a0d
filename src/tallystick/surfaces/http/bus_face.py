"""The bus over HTTP: `POST /v1/bus` takes one envelope and answers with one, `GET /v1/bus/stream` is the way back.

A stream is a connection of the bus. Its first event names it, and envelopes that are posted with that name in the
header `Tally-Bus` belong to it: they are counted together, and deliveries and records come on the stream.
"""

from __future__ import annotations

import asyncio
import secrets

import msgspec
from starlette.types import Receive, Scope, Send

from tallystick.bus import commands, payloads
from tallystick.bus.dispatcher import Bus
from tallystick.bus.envelope import LINE_LIMIT, Request
from tallystick.bus.errors import UnknownConnection
from tallystick.bus.party import Party, Reply
from tallystick.hub.tokens_reach import Visitor
from tallystick.kernel import inputs
from tallystick.kernel.errors import InvalidField
from tallystick.surfaces.http import frames, query, refusals
from tallystick.surfaces.http.bus_outbox import BusOutbox
from tallystick.surfaces.http.errors import MethodNotAllowed, WrongMediaType
from tallystick.surfaces.http.keyring import Keyring
from tallystick.surfaces.http.limits import Allowances
from tallystick.surfaces.http.sending import send_stream
from tallystick.surfaces.http.stream import resumed
from tallystick.surfaces.http.visit import Visit, answer, body, departure, visit_of, while_welcome

LAST_WORD_SECONDS = 5.0
"""Short: until then the agent counts as connected, and what is meant for it is not handed to anybody else."""


class StreamBus(payloads.FollowEvents):
    """What a stream follows from its beginning, if anything."""

    session: payloads.Id | None = None


class BusFace:
    def __init__(self, bus: Bus, keyring: Keyring, allowances: Allowances) -> None:
        self._bus, self._keyring, self._allowances = bus, keyring, allowances
        self._open: dict[str, tuple[Party, Visitor]] = {}

    async def post(self, scope: Scope, receive: Receive, send: Send) -> None:
        visit = visit_of(scope)
        visit.operation = "bus.post"
        if scope["method"] != "POST":
            raise MethodNotAllowed("/v1/bus takes POST.", allow="POST")
        if visit.head.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
            raise WrongMediaType
        content = await body(scope, receive, LINE_LIMIT)
        party = self._party(visit)
        request = party.read(content)
        reply = request if isinstance(request, Reply) else await self._answer(visit, receive, party, request)
        if reply.error:
            visit.notes["code"] = reply.error.code
        status = refusals.status_of(type(reply.error)) if reply.error else 200
        more = refusals.headers_of(reply.error, reply.line)[2:] if reply.error else []
        await answer(send, reply.line, *more, status=status)

    async def _answer(self, visit: Visit, receive: Receive, party: Party, request: Request) -> Reply:
        request = _keyed(request, visit.head.get(b"idempotency-key"))
        if not commands.waits(request.type):
            return await party.answered(request)
        principal = visit.visitor.caller.agent_id
        with self._allowances.stream(principal), self._keyring.minding(visit.visitor) as revoked:
            return await while_welcome(receive, revoked, party.answered(request))

    def _party(self, visit: Visit) -> Party:
        name = visit.head.get(b"tally-bus")
        if name is None:
            return self._bus.once(visit.visitor)
        party, owner = self._open.get(name.decode("latin-1"), (None, None))
        if party is None or owner is None or owner.caller.agent_id != visit.visitor.caller.agent_id:
            raise UnknownConnection
        return party

    async def stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        visit = visit_of(scope)
        visit.operation = "bus.stream"
        if scope["method"] != "GET":
            raise MethodNotAllowed("/v1/bus/stream takes GET.", allow="GET")
        ask = inputs.read(StreamBus, resumed(query.read(StreamBus, scope["query_string"]), visit))
        principal = visit.visitor.caller.agent_id
        with self._allowances.stream(principal), self._keyring.minding(visit.visitor) as revoked:
            outbox, name = BusOutbox(), secrets.token_urlsafe(16)
            party = self._bus.connect(visit.visitor, outbox)
            try:
                outbox.welcome(name, await self._following(party, ask))
                self._open[name] = (party, visit.visitor)
                await send({"type": "http.response.start", "status": 200, "headers": frames.HEADERS})
                leaving = departure(receive, revoked)
                await send_stream(scope, send, outbox, leaving, last_word_seconds=LAST_WORD_SECONDS)
            finally:
                self._open.pop(name, None)
                party.close()

    async def _following(self, party: Party, ask: StreamBus) -> int | None:
        """Begin with a session's events, where the address names one; the place from which on."""
        if ask.session is None:
            return None
        room_id = party.visible(ask.session)
        follower = await party.follow(room_id, ask)
        asyncio.get_running_loop().call_soon(party.streaming("stream", follower, follow=ask.follow))
        return follower.cursor


def _keyed(request: Request, header: bytes | None) -> Request:
    """The request under the key of its header, where it has none itself."""
    if header is None:
        return request
    key = header.decode("latin-1")
    if request.idempotency_key not in {None, key}:
        raise InvalidField("The header and the envelope carry different idempotency keys.", field="Idempotency-Key")
    return msgspec.structs.replace(request, idempotency_key=key)
