"""One call of an operation, without I/O: a generator that says what it needs next and returns the response.

It yields a `ReadStep`, a `WriteStep` under rooms' locks, a `WaitStep` for a room or an `OutsideStep`; a driver carries
each step out and sends back its result, or throws what it failed with. `Hub.respond` drives it in the calling thread,
`Serving` in an event loop. The reach of a token, validation, presence, idempotency, notices and metrics are decided
here and nowhere else.

A driver whose caller has left throws `CallerLeft`, carries out the detached writes that are yielded then, and forgets
the rest. It never calls `close()` on the generator.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from functools import partial
from time import monotonic
from typing import Any, Protocol, TypeAlias, TypeVar, cast

import msgspec
from msgspec import UNSET

from tallystick.capabilities.agents import queries as agents
from tallystick.hub import registry, writing
from tallystick.hub.visitor import Visitor, permit
from tallystick.hub.writing import CallerLeft
from tallystick.kernel import inputs
from tallystick.kernel.caller import Caller
from tallystick.kernel.errors import Refused, TallyError, Unavailable
from tallystick.kernel.operation import Answer, AnyOperation, Ask, Declined, Pending, Unannounced, WaitHooks, as_ask
from tallystick.ledger.tx import Tx

T = TypeVar("T")

Found: TypeAlias = Answer | Pending[Answer] | Declined
Look: TypeAlias = Callable[[Callable[[Tx], object]], object]
"""Runs a function in a read transaction, blocking."""
Observe: TypeAlias = Callable[[str, str, float], None]
"""Told of every finished call: operation, `ok` or the refusal's code, seconds."""

LEFT = "caller_left"
LOOK_SECONDS = 2.0
"""A wait that nothing happens to looks so often all the same, for whatever else time may have changed."""


class CallRequest(msgspec.Struct, frozen=True, kw_only=True):
    visitor: Visitor
    operation: str
    given: Mapping[str, object]
    key: str | None = None
    """Idempotency key: a write that was done under it before only gives its answer again."""
    with_notices: bool = False


class CallResponse(msgspec.Struct, frozen=True, kw_only=True):
    answer: Answer
    notices: Sequence[str] = ()
    """What the caller should know besides, with next steps as they were declared."""
    room_id: str | None = None
    """The room that they are about."""


class ReadStep(msgspec.Struct, frozen=True):
    """Run this in a read transaction."""

    run: Callable[[Tx], object]


class WriteStep(msgspec.Struct, frozen=True):
    """Commit this as the only writer of its rooms."""

    run: Callable[[Tx], object]
    room_id: str | None = None
    also: Sequence[str] = ()
    unless_left: bool = False
    """Raise `CallerLeft` inside the transaction, which may have had to queue, when the caller has left by then."""
    detached: bool = False
    """Nobody waits for the result; carried out for a caller that has left too."""


class Signal(Enum):
    """Why a `WaitStep` is over."""

    ARMED = "armed"
    """The room is watched from now on: look once more, since something may have happened before."""
    WOKEN = "woken"
    """Something was written to the room, or what the wait names has come."""
    TIMEOUT = "timeout"
    STOPPED = "stopped"
    """The caller, or the hub, will not wait any longer."""


class WaitStep(msgspec.Struct, frozen=True):
    """Sleep until something is written to the room or `until` has come, at most so many seconds, without a look.

    The result is a `Signal`.
    """

    room_id: str
    seconds: float
    elapsed: float
    total: float
    until: Unannounced


class OutsideStep(msgspec.Struct, frozen=True):
    """Work that is neither quick nor in the store (the file system, git); it may look at the store."""

    run: Callable[[Look], object]


class Respond(Protocol):
    """Makes the response of an answer, in the transaction that found it."""

    def __call__(self, tx: Tx, answer: Answer) -> CallResponse: ...


Looked: TypeAlias = CallResponse | Pending[Answer]
Answered: TypeAlias = Callable[[Tx, Found], Looked | Declined]
"""What a wait makes of what it found: its response, unless there is none yet and time left."""
Step: TypeAlias = ReadStep | WriteStep | WaitStep | OutsideStep
Steps: TypeAlias = Generator[Step, Any, T]


class Call(msgspec.Struct, frozen=True):
    """A request that was checked: what to run, with which input, for whom."""

    operation: AnyOperation
    ask: Ask
    caller: Caller
    room_id: str | None = None
    more: tuple[object, ...] = ()
    key: writing.IdempotencyKey | None = None
    also: Sequence[str] = ()
    """The rooms besides its own that it may write to."""

    def acting(self, tx: Tx) -> Caller:
        """The caller as the agent it acts for in this room."""
        return agents.acting(tx, self.room_id, self.caller)

    def run(self, tx: Tx, me: Caller | None = None) -> Found:
        return self.operation.run(tx, me or self.acting(tx), self.ask, *self.more)

    def read(self, tx: Tx) -> Answer | Pending[Answer]:
        found = self.run(tx)
        if isinstance(found, Declined):
            raise found.refusal
        return found

    def write(self, tx: Tx) -> Found:
        """Run as the room's only writer; a keyed call that was done before only gives its answer again."""
        if self.also:
            # In one order for everybody, so that no two calls wait for each other in a circle.
            for room_id in sorted({self.room_id or "", *self.also}):
                tx.try_lock(room_id)
        if self.room_id is not None:
            tx.lock(self.room_id)
        if self.key and (known := writing.recall_reply(tx, self.key, self.operation)):
            return known
        me = self.acting(tx)
        if me.by_token and me.session_id:
            tx.speaks_for(me.agent_id, me.session_id)
        if superseded := agents.come_in(tx, self.room_id, me):
            return Declined(superseded)
        answer = self.run(tx, me)
        if tx.appended and self.room_id is not None and not isinstance(answer, Declined):
            agents.note_progress(tx, self.room_id, me)
        if self.key and not isinstance(answer, Pending | Declined):
            writing.keep_reply(tx, self.key, answer)
        return answer

    def due(self, tx: Tx) -> bool:
        """Whether the caller's presence, or what it takes note of, wants writing."""
        if self.room_id is None:
            return False
        me, noting = self.acting(tx), self.operation.takes_note
        return agents.presence_due(tx, self.room_id, me) is not None or (
            noting is not None and noting.due(tx, me, self.ask)
        )

    def touch(self, tx: Tx) -> None:
        me = self.acting(tx)
        agents.refresh_presence(tx, self.room_id, me)
        self._note(tx, me)

    def come_in(self, tx: Tx) -> Refused | None:
        me = self.acting(tx)
        self._note(tx, me)
        return agents.come_in(tx, self.room_id, me)

    def _note(self, tx: Tx, me: Caller) -> None:
        if (noting := self.operation.takes_note) and self.room_id is not None:
            noting.note(tx, me, self.ask)

    @property
    def wait_hooks(self) -> WaitHooks[Any] | None:
        """What has to be written around this wait, if anything."""
        found = self.operation.wait_hooks
        return found if found and found.applies(self.ask) else None


def call(request: CallRequest, observe: Observe) -> Steps[CallResponse]:
    """The steps of one call, from its request to its response or refusal."""
    operation = registry.OPERATIONS.get(request.operation) or registry.find(request.operation)
    started, outcome = monotonic(), "ok"
    try:
        return (yield from _checked(operation, request))
    except TallyError as refusal:
        outcome = refusal.code
        refusal.asked = request.given
        raise
    except CallerLeft:
        outcome = LEFT
        raise
    finally:
        observe(operation.name, outcome, monotonic() - started)


def within(tx: Tx, visitor: Visitor, name: str, given: Mapping[str, object]) -> Answer:
    """The answer of an operation that only looks, in a transaction that shows several; a wait looks once."""
    operation = registry.find(name)
    permit(visitor, operation, given)
    ask = _validated(operation, given)
    more = (_gathered(operation, ask, visitor.caller, lambda run: run(tx)),) if operation.io_before else ()
    found = Call(operation, ask, visitor.caller, getattr(ask, "room_id", None), more).read(tx)
    return found.otherwise if isinstance(found, Pending) else found


def _checked(operation: AnyOperation, request: CallRequest) -> Steps[CallResponse]:
    caller = request.visitor.caller
    if not request.visitor.trusted:
        permit(request.visitor, operation, request.given)
    ask = _validated(operation, request.given)
    key = writing.IdempotencyKey.of(caller.agent_id, request.key, operation, ask) if request.key else None
    more = ()
    if operation.io_before:
        more = ((yield OutsideStep(lambda look: _gathered(operation, ask, caller, look))),)
    also = operation.also_locks(ask) if operation.also_locks else ()
    prepared = Call(operation, ask, caller, getattr(ask, "room_id", None), more, key, also)
    if operation.waits:
        return (yield from _wait(prepared, lambda tx, answer: _response(tx, request, prepared, answer)))
    if operation.writes:

        def write(tx: Tx) -> CallResponse | Declined:
            found = prepared.write(tx)
            return found if isinstance(found, Declined) else _response(tx, request, prepared, cast("Answer", found))

        return (yield from _write(prepared, write))

    def read(tx: Tx) -> tuple[CallResponse, bool]:
        answer = cast("Answer", prepared.read(tx))
        return _response(tx, request, prepared, answer), prepared.due(tx)

    response, due = yield ReadStep(read)
    if due:
        # What was read is worth more than a sign of life that a full disk or a busy store does not take.
        with suppress(Unavailable):
            yield WriteStep(prepared.touch)
    return response


def _validated(operation: AnyOperation, given: Mapping[str, object]) -> Ask:
    try:
        return as_ask(operation.ask, given)
    except msgspec.ValidationError as wrong:
        raise inputs.refusal(operation.ask, wrong) from None


def _gathered(operation: AnyOperation, ask: Ask, caller: Caller, look: Look) -> object:
    """What an operation wants to know of the world outside before its transaction opens."""
    io_before = cast("Callable[..., object]", operation.io_before)
    read_before = operation.read_before
    if read_before is None:
        return io_before(ask)
    return io_before(ask, lambda: look(lambda tx: read_before(tx, caller, ask)))


def _response(tx: Tx, request: CallRequest, prepared: Call, answer: Answer) -> CallResponse:
    if not request.with_notices:
        return CallResponse(answer=answer)
    found = beside(tx, prepared.operation, request.given, answer, prepared.caller)
    return CallResponse(answer=answer, notices=found, room_id=getattr(answer, "room_id", None) or prepared.room_id)


def _write(prepared: Call, run: Callable[[Tx], T | Declined], *, unless_left: bool = False) -> Steps[T]:
    try:
        found: T | Declined = yield WriteStep(run, prepared.room_id, prepared.also, unless_left)
        if isinstance(found, Declined):
            # What it appended is committed by now.
            raise found.refusal
    except Refused:
        # A refused call changed nothing, yet it shows that the caller is there.
        yield from _keep_present(prepared)
        raise
    return found


def _keep_present(prepared: Call) -> Steps[None]:
    """Refresh the caller's presence where nothing else is written; most often there is nothing to do."""
    if prepared.room_id is not None and (yield ReadStep(prepared.due)):
        yield WriteStep(prepared.touch)


def _wait(prepared: Call, respond: Respond) -> Steps[CallResponse]:
    hooks, room_id, started = prepared.wait_hooks, prepared.room_id, monotonic()
    if hooks is None:
        return (yield from _until_answered(prepared, respond, started))
    ask = prepared.ask
    token = yield WriteStep(lambda tx: hooks.begin(tx, prepared.acting(tx), ask), room_id)
    try:
        return (yield from _until_answered(prepared, respond, started))
    finally:
        # The answer is worth more than a tidy end: a listener that is left behind runs out by itself.
        yield WriteStep(lambda tx: hooks.end(tx, prepared.acting(tx), ask, token), room_id, detached=True)


def _until_answered(prepared: Call, respond: Respond, started: float) -> Steps[CallResponse]:
    """Look, and look again whenever the room is written to, until there is an answer or the time is up."""

    def answered(tx: Tx, found: Found) -> Looked | Declined:
        if isinstance(found, Declined):
            return found
        if not isinstance(found, Pending):
            return respond(tx, found)
        up = not found.act and monotonic() - started >= found.wait_ms / 1000
        return respond(tx, found.otherwise) if up else found

    found = yield from _first_look(prepared, answered)
    while isinstance(found, Pending):
        # What it asked to do was not done, because the caller has left.
        signal = Signal.STOPPED
        if not found.act:
            elapsed, total = monotonic() - started, found.wait_ms / 1000
            seconds = max(0, min(LOOK_SECONDS, total - elapsed))
            signal = yield WaitStep(prepared.room_id or "", seconds, elapsed, total, found.until)
            if signal is Signal.TIMEOUT and monotonic() - started >= total:
                # Whatever would change the answer would have woken it, and whoever calls again looks again.
                signal = Signal.STOPPED
        if signal is Signal.STOPPED:
            return (yield ReadStep(partial(respond, answer=found.otherwise)))
        found = yield from _look(prepared, answered, found if signal is Signal.WOKEN else None)
    return found


def _first_look(prepared: Call, answered: Answered) -> Steps[Looked]:
    """Look in the transaction that tells whether the caller's presence wants writing; if it does, after that."""

    def look(tx: Tx) -> Looked | Declined | None:
        return None if prepared.due(tx) else answered(tx, prepared.read(tx))

    found = yield ReadStep(look)
    if found is None:
        refusal: Refused | None = yield WriteStep(prepared.come_in)
        if refusal:
            raise refusal
        return (yield from _look(prepared, answered))
    return (yield from _acted(prepared, answered, found))


def _look(prepared: Call, answered: Answered, woken: Pending[Answer] | None = None) -> Steps[Looked]:
    """Read, and write only when there is something to do; who is next in line and woken writes at once."""
    if woken is not None and woken.next_in_line:
        return (yield from _act(prepared, answered, woken))
    found = yield ReadStep(lambda tx: answered(tx, prepared.read(tx)))
    return (yield from _acted(prepared, answered, found))


def _acted(prepared: Call, answered: Answered, found: Looked) -> Steps[Looked]:
    return (yield from _act(prepared, answered, found)) if isinstance(found, Pending) and found.act else found


def _act(prepared: Call, answered: Answered, found: Pending[Answer]) -> Steps[Looked]:
    try:
        written = yield from _write(prepared, lambda tx: answered(tx, prepared.write(tx)), unless_left=True)
    except CallerLeft:
        return found
    return written


MAIL = frozenset({"messages", "notifications"})
"""Whoever calls about these sees the mail itself."""


def beside(
    tx: Tx, operation: AnyOperation, given: Mapping[str, object], answer: Answer, caller: Caller
) -> Sequence[str]:
    """The notices for a caller who is just being answered, read in the answer's own transaction."""
    room_id = getattr(answer, "room_id", None) or given.get("room_id")
    if not isinstance(room_id, str) or operation.noun in MAIL or getattr(answer, "messages", UNSET):
        return ()
    return signs(tx, room_id, caller)


def signs(tx: Tx, room_id: str, caller: Caller) -> list[str]:
    me = agents.acting(tx, room_id, caller)
    found = (capability.notice(tx, room_id, me) for capability in registry.CAPABILITIES if capability.notice)
    return [notice for notice in found if notice]
