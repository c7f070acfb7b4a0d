"""One connection of the bus, whatever carries it: who it is, how far it has counted, what it follows and waits for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Protocol, cast

import msgspec
from msgspec import structs

from tallystick.bus import commands, envelope, records
from tallystick.bus.commands import CommandResult
from tallystick.bus.envelope import (
    BusRequest,
    ConnectionReplaced,
    Line,
    NoStream,
    SeqOutOfOrder,
    SrcMismatch,
    StreamEvents,
    TooManyAtOnce,
)
from tallystick.hub import engine
from tallystick.hub.engine import CallResponse
from tallystick.hub.feed import Follower
from tallystick.hub.serving import Serving
from tallystick.hub.visitor import Visitor
from tallystick.kernel import inputs
from tallystick.kernel.caller import Caller, SessionKind, check_speaker
from tallystick.kernel.errors import HubClosed, InternalFault, TallyError, TooSlow
from tallystick.kernel.ids import digest
from tallystick.ledger.contract import Cursor, Since

if TYPE_CHECKING:
    from tallystick.bus.delivery import Bus

AT_ONCE = 32
"""Streams and waits of one connection."""

log = logging.getLogger("tallystick.bus")


class BusReply(msgspec.Struct, frozen=True, kw_only=True):
    line: bytes
    error: TallyError | None = None
    """What was refused, for a transport that shows it in its own way too."""


class Outbox(Protocol):
    """Where lines for the other end go. It is bounded: a peer that does not read is cut off."""

    def put(self, line: bytes) -> None: ...

    async def drained(self) -> None:
        """Until there is room for more."""
        ...

    def cut(self, reason: TallyError) -> None:
        """Close, with a last word if it can still be said."""
        ...


class BusConnection:
    def __init__(self, bus: Bus, visitor: Visitor, outbox: Outbox | None) -> None:
        self._bus, self._outbox = bus, outbox
        self._base = visitor
        self._visitor: Visitor | None = None
        self._src: str | None = None
        self._seq = 0
        self._rooms: set[tuple[str, str]] = set()
        self._replaced: set[tuple[str, str]] = set()
        """Where another connection has the agent's actions now."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    def read(self, line: Line) -> BusRequest | BusReply:
        """The request in a line, admitted and counted; or the refusal to send back."""
        try:
            request = envelope.read(line)
        except TallyError as refused:
            return BusReply(line=envelope.refusal(refused, corr=envelope.corr_of(line)), error=refused)
        try:
            self._admit(request)
        except TallyError as refused:
            return refusal(request, refused)
        return request

    def answer(self, request: BusRequest) -> BusReply | Awaitable[BusReply]:
        """Do what is asked: the reply itself when it takes no time, otherwise what to await for it.

        What begins with the reply, such as a stream, begins right after it.
        """
        command = commands.COMMANDS.get(request.type, commands.call_operation)
        try:
            said = command(self, request)
        except Exception as failed:  # noqa: BLE001 - the outermost of a command: one that fails ends no connection
            return _failure(request, failed)
        return _reply(request, said) if isinstance(said, CommandResult) else self._answer(request, said)

    async def _answer(self, request: BusRequest, saying: Awaitable[CommandResult]) -> BusReply:
        try:
            return _reply(request, await saying)
        except Exception as failed:  # noqa: BLE001 - as above
            return _failure(request, failed)

    async def answered(self, request: BusRequest) -> BusReply:
        reply = self.answer(request)
        return reply if isinstance(reply, BusReply) else await reply

    def answer_later(self, request: BusRequest) -> BusReply | None:
        """Answer a wait beside whatever else comes; a refusal when too many are open."""

        async def later() -> None:
            self.push((await self.answered(request)).line)

        try:
            self._begin(later)
        except TallyError as refused:
            return refusal(request, refused)
        return None

    def _admit(self, request: BusRequest) -> None:
        if self._src is None:
            self._visitor = claimed(self._base, request.src)
            self._src = request.src
        elif request.src != self._src:
            raise SrcMismatch(f"This connection is '{self._src}'.", src=request.src, expected=self._src)
        if request.seq is not None:
            if request.seq <= self._seq:
                raise SeqOutOfOrder(f"seq {request.seq} does not follow {self._seq}.", seq=request.seq, last=self._seq)
            self._seq = request.seq

    @property
    def visitor(self) -> Visitor:
        return self._visitor or self._base

    async def call(
        self, request: BusRequest, operation: str, given: Mapping[str, object], *, keyed: bool = True
    ) -> dict[str, Any]:
        """What an operation answers, for a command that says it in its own words."""
        responding = self.respond(request, operation, given, keyed=keyed)
        response = responding if isinstance(responding, CallResponse) else await responding
        return response.answer.to_data()

    def respond(
        self, request: BusRequest, operation: str, given: Mapping[str, object], *, keyed: bool = True
    ) -> CallResponse | Awaitable[CallResponse]:
        """Run an operation for this connection's principal, once per idempotency key and session."""
        if operation == "actions.result" and (given.get("room_id"), self._src) in self._replaced:
            raise ConnectionReplaced(f"Another connection speaks for '{self._src}' now.", src=self._src)
        key = request.idempotency_key if keyed else None
        scoped = f"bus:{digest(request.session or '', key, length=40)}" if key else None
        return self._bus.serving.begin(
            engine.CallRequest(visitor=self.visitor, operation=operation, given=given, key=scoped)
        )

    @property
    def serving(self) -> Serving:
        return self._bus.serving

    def visible(self, room_id: str) -> str:
        self.visitor.may_see(room_id)
        return room_id

    def online(self, room_id: str, agent: str) -> bool:
        return self._bus.online(room_id, agent)

    @property
    def listens(self) -> bool:
        """Whether anything can be sent to it later."""
        return self._outbox is not None

    def attach(self, room_id: str, agent: str, results_after: int) -> None:
        if self._outbox:
            self._rooms.add((room_id, agent))
            self._replaced.discard((room_id, agent))
            self._bus.attach(self, room_id, agent, results_after)

    def detach(self, room_id: str, agent: str) -> None:
        self._rooms.discard((room_id, agent))
        self._bus.detach(self, room_id, agent)

    def replaced(self, room_id: str, agent: str) -> None:
        """Another connection speaks for the agent now."""
        self._rooms.discard((room_id, agent))
        self._replaced.add((room_id, agent))
        payload = {"id": agent, "reason": "replaced by another connection"}
        self.push(envelope.write("agent.replaced", dst=agent, session=room_id, payload=payload))

    def push(self, line: bytes) -> None:
        if self._outbox:
            self._outbox.put(line)

    async def follow(self, room_id: str, ask: StreamEvents) -> Follower:
        """Where a stream begins; what is wrong with it is refused now.

        Without a cursor it begins now, or with the first event when it is not to stay.
        """
        if self._outbox is None:
            raise NoStream
        self._check_room()
        place = {name: getattr(ask, name) for name in Since.__struct_fields__}
        cursor = inputs.read(Cursor, {"room_id": room_id, "kinds": list(records.kinds_of(ask.types)), **place})
        return await self._bus.feeds.follow(cursor, from_now=ask.follow)

    def streaming(self, corr: str, follower: Follower, *, follow: bool) -> Callable[[], None]:
        """What begins the stream."""
        return lambda: self._begin(lambda: self._send(corr, follower, follow=follow))

    async def _send(self, corr: str, follower: Follower, *, follow: bool) -> None:
        outbox = cast("Outbox", self._outbox)
        follower.on_cut = lambda: outbox.cut(TooSlow(cursor=follower.cursor))
        reason = "head"
        if follow:
            async with aclosing(follower.frames()) as chunks:
                async for chunk in chunks:
                    outbox.put(records.addressed(chunk, corr))
                    await outbox.drained()
            reason = str(follower.ending)
        else:
            full = True
            while full:
                page = await self._bus.feeds.page(follower.ask, follower.cursor)
                follower.cursor, full = page.last, page.full
                outbox.put(records.addressed(page.data, corr))
                await outbox.drained()
        payload = {"cursor": follower.cursor, "reason": reason}
        outbox.put(envelope.write("events.end", corr=corr, session=follower.ask.room_id, payload=payload))

    def _check_room(self) -> None:
        if len(self._tasks) >= AT_ONCE:
            raise TooManyAtOnce(f"At most {AT_ONCE} streams and waits may be open.", limit=AT_ONCE)

    def _begin(self, work: Callable[[], Awaitable[None]]) -> None:
        if self._closed:
            return  # It hung up between its request and now.
        self._check_room()
        task = asyncio.ensure_future(_logged(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def dismiss(self) -> None:
        """The hub is about to end."""
        if self._outbox:
            self._outbox.cut(HubClosed(hint="Connect again; what was not answered is delivered then."))

    def close(self) -> None:
        """The other end is gone, or has to go."""
        self._closed = True
        for room_id, agent in tuple(self._rooms):
            self.detach(room_id, agent)
        for task in tuple(self._tasks):
            task.cancel()
        self._bus.forget(self)


async def _logged(work: Callable[[], Awaitable[None]]) -> None:
    """Call `work` inside the task, so that a task cancelled before it starts leaves no coroutine behind."""
    try:
        await work()
    except (asyncio.CancelledError, ConnectionError):
        raise
    except Exception:
        log.exception("a stream or wait failed")


def _reply(request: BusRequest, said: CommandResult) -> BusReply:
    if said.then:
        # The reply is written by whoever asked for it, before the loop comes to anything else of ours.
        asyncio.get_running_loop().call_soon(said.then)
    line = envelope.write(
        request.type, dst=request.src, session=said.session, corr=request.id, status="ok", payload=said.payload
    )
    return BusReply(line=line)


def _failure(request: BusRequest, failed: Exception) -> BusReply:
    if isinstance(failed, TallyError):
        return refusal(request, failed)
    log.error("a command failed: %s", request.type, exc_info=failed)
    return refusal(request, InternalFault())


def refusal(request: BusRequest, refused: TallyError) -> BusReply:
    line = envelope.refusal(refused, type=request.type, corr=request.id, dst=request.src)
    return BusReply(line=line, error=refused)


def claimed(visitor: Visitor, src: str) -> Visitor:
    """The visitor under the name it gives itself: any agent's on this machine's sockets, its token's elsewhere."""
    if src == visitor.caller.agent_id:
        return visitor
    if not visitor.trusted:
        raise SrcMismatch(f"Your token is for '{visitor.caller.agent_id}'.", src=src, expected=visitor.caller.agent_id)
    if src == "user":
        return structs.replace(visitor, caller=Caller(agent_id=src, session=SessionKind.HUMAN_CLI))
    caller = Caller(agent_id=check_speaker(src), session=SessionKind.NAMED, process=visitor.caller.process)
    return structs.replace(visitor, caller=caller)
