"""The bus's commands: each reads its payload, calls operations of the hub, and says what to reply.

Whatever is no command is looked up among the operations, whose names the bus takes as types.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from tallystick.bus import envelope, records
from tallystick.bus.envelope import BusRequest, Payload, SessionRequired, SrcMismatch
from tallystick.hub import registry
from tallystick.hub.engine import CallResponse
from tallystick.kernel import inputs
from tallystick.kernel.clock import to_wire
from tallystick.kernel.errors import UnknownField, UnknownOperation
from tallystick.kernel.operation import AnyOperation

if TYPE_CHECKING:
    from tallystick.bus.connection import BusConnection

Row: TypeAlias = dict[str, Any]
NO_SUCH_TYPE = "Use a bus command such as action.submit, or an operation by its name (hub.capabilities lists them)."


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """What to reply, and what begins once the reply is on its way."""

    payload: Payload
    session: str | None = None
    then: Callable[[], None] | None = None


CommandHandler: TypeAlias = "Callable[[BusConnection, BusRequest], CommandResult | Awaitable[CommandResult]]"
"""Says what to reply where that takes no time, otherwise what to await for it."""


def session_of(request: BusRequest) -> str:
    if request.session is None:
        raise SessionRequired(f"{request.type} is about a session.")
    return request.session


def _own(request: BusRequest, named: str) -> str:
    if named != request.src:
        raise SrcMismatch(f"'{request.src}' cannot speak for '{named}'.", src=request.src, id=named)
    return named


async def create_session(connection: BusConnection, request: BusRequest) -> CommandResult:
    ask = inputs.read(envelope.CreateSession, request.given)
    made = await connection.call(request, "rooms.create", {"title": ask.name})
    return CommandResult(payload={"session": {"id": made["room_id"], "name": ask.name}}, session=made["room_id"])


async def list_sessions(connection: BusConnection, request: BusRequest) -> CommandResult:
    ask = inputs.read(envelope.ListSessions, request.given)
    rooms: list[Row] = (await connection.call(request, "rooms.list", {"limit": ask.limit}))["rooms"]
    ids: list[str] = [room["room_id"] for room in rooms]
    changed = await records.changed_at(connection.serving, ids)
    sessions = [
        {
            "id": room["room_id"],
            "name": room["title"],
            "status": "closed" if room["closed_at"] else "open",
            "created_at": room["created_at"],
            "updated_at": to_wire(changed[room["room_id"]]),
        }
        for room in rooms
    ]
    return CommandResult(payload={"sessions": sessions})


async def close_session(connection: BusConnection, request: BusRequest) -> CommandResult:
    ask = inputs.read(envelope.CloseSession, request.given)
    closed = await connection.call(request, "rooms.close", {"room_id": session_of(request), "reason": ask.reason})
    return CommandResult(payload={"status": "closed", "seq": closed["event_seq"]}, session=request.session)


async def add_agent(connection: BusConnection, request: BusRequest) -> CommandResult:
    """Join the session and become the connection to which this agent's actions are delivered."""
    ask = inputs.read(envelope.AddAgent, request.given)
    agent, room_id = _own(request, ask.id), session_of(request)
    joined = await connection.call(request, "rooms.join", {"room_id": room_id})
    if ask.name is not None:
        await connection.call(request, "agents.update", {"room_id": room_id, "name": ask.name}, keyed=False)
    # Later results come by themselves; the cursor says up to where it is this agent's business to ask.
    cursor = ask.since_seq if ask.since_seq is not None else int(joined["cursor"])
    view = await _agent(connection, request, room_id, agent)
    return CommandResult(
        payload={"agent": {**view, "status": "online" if connection.listens else "offline"}, "cursor": cursor},
        session=room_id,
        then=lambda: connection.attach(room_id, agent, cursor),
    )


async def list_agents(connection: BusConnection, request: BusRequest) -> CommandResult:
    inputs.read(envelope.ListSessionAgents, request.given)
    room_id = session_of(request)
    found: list[Row] = (await connection.call(request, "agents.list", {"room_id": room_id}))["agents"]
    return CommandResult(payload={"agents": [_shown(connection, room_id, each) for each in found]}, session=room_id)


async def update_agent(connection: BusConnection, request: BusRequest) -> CommandResult:
    ask = inputs.read(envelope.UpdateSessionAgent, request.given)
    agent, room_id = _own(request, ask.id), session_of(request)
    await connection.call(request, "agents.update", {"room_id": room_id, "name": ask.name})
    return CommandResult(payload={"agent": await _agent(connection, request, room_id, agent)}, session=room_id)


async def remove_agent(connection: BusConnection, request: BusRequest) -> CommandResult:
    ask = inputs.read(envelope.RemoveAgent, request.given)
    agent, room_id = _own(request, ask.id), session_of(request)
    left = await connection.call(request, "rooms.leave", {"room_id": room_id})
    connection.detach(room_id, agent)
    return CommandResult(payload={"id": agent, "removed": left["left"]}, session=room_id)


async def _agent(connection: BusConnection, request: BusRequest, room_id: str, agent_id: str) -> Row:
    return _shown(
        connection, room_id, await connection.call(request, "agents.show", {"room_id": room_id, "agent_id": agent_id})
    )


def _shown(connection: BusConnection, room_id: str, agent: Row) -> Row:
    online = connection.online(room_id, agent["agent_id"])
    return {
        "id": agent["agent_id"],
        "name": agent["name"],
        "role": agent["role"],
        "status": "online" if online else "offline",
        "last_seen_at": agent["last_seen_at"],
    }


async def create_message(connection: BusConnection, request: BusRequest) -> CommandResult:
    ask = envelope.spoken(request.given)
    given: Row = {"text": ask.text, "to": [request.dst] if request.dst else None, "conversation": ask.conversation()}
    sent = await connection.call(request, "messages.send", {"room_id": session_of(request), **given})
    event: Row = sent["event"]
    return CommandResult(
        payload={"message_id": event["id"], "seq": event["seq"], "recipients": sent["recipients"]},
        session=request.session,
    )


async def update_task(connection: BusConnection, request: BusRequest) -> CommandResult:
    ask = inputs.read(envelope.UpdateSessionTask, request.given)
    given: Row = {"task_id": ask.task_id, "status": ask.status, "context": ask.context()}
    done = await connection.call(request, "actions.task", {"room_id": session_of(request), **given})
    return CommandResult(payload=done, session=request.session)


async def finish_task(connection: BusConnection, request: BusRequest) -> CommandResult:
    ask = inputs.read(envelope.FinishTask, request.given)
    given: Row = {"task_id": ask.task_id, "status": "done", "summary": ask.summary, "context": ask.context()}
    done = await connection.call(request, "actions.task", {"room_id": session_of(request), **given})
    return CommandResult(payload=done, session=request.session)


async def read_history(connection: BusConnection, request: BusRequest) -> CommandResult:
    """The newest records, or those after a cursor."""
    ask = inputs.read(envelope.ReadHistory, request.given)
    room_id = connection.visible(session_of(request))
    kinds = records.kinds_of(ask.types)
    events, cursor = await records.page(
        connection.serving, room_id, since_seq=ask.since_seq, kinds=kinds, limit=ask.limit
    )
    return CommandResult(
        payload={"records": [records.record(event) for event in events], "cursor": cursor}, session=room_id
    )


async def stream_events(connection: BusConnection, request: BusRequest) -> CommandResult:
    ask = inputs.read(envelope.StreamEvents, request.given)
    room_id = connection.visible(session_of(request))
    follower = await connection.follow(room_id, ask)
    begin = connection.streaming(request.id, follower, follow=ask.follow)
    return CommandResult(payload={"cursor": follower.cursor}, session=room_id, then=begin)


def _as(operation: str) -> CommandHandler:
    """A command that is an operation about its session, under another name."""

    async def command(connection: BusConnection, request: BusRequest) -> CommandResult:
        if "room_id" in request.given:
            raise UnknownField("Unknown field 'room_id': the envelope names the session.", field="room_id")
        payload = await connection.call(request, operation, {"room_id": session_of(request), **request.given})
        return CommandResult(
            payload={name: value for name, value in payload.items() if name != "room_id"}, session=request.session
        )

    return command


def call_operation(connection: BusConnection, request: BusRequest) -> CommandResult | Awaitable[CommandResult]:
    """An operation by its own name; the session fills in the room that it is about."""
    operation = found(request.type)
    given = request.given
    if request.session is not None and "room_id" not in given and operation.takes_room:
        given = {**given, "room_id": request.session}
    responding = connection.respond(request, operation.name, given)
    return _result(request, responding) if isinstance(responding, CallResponse) else _result_of(request, responding)


async def _result_of(request: BusRequest, responding: Awaitable[CallResponse]) -> CommandResult:
    return _result(request, await responding)


def _result(request: BusRequest, response: CallResponse) -> CommandResult:
    return CommandResult(payload=msgspec.Raw(response.answer.to_json()), session=request.session)


def found(name: str) -> AnyOperation:
    try:
        return registry.find(name)
    except UnknownOperation as unknown:
        text = unknown.message.replace("operation", "command or operation")
        raise UnknownOperation(text, hint=NO_SUCH_TYPE, type=name) from None


COMMANDS: Mapping[str, CommandHandler] = {
    "session.create": create_session,
    "session.list": list_sessions,
    "session.close": close_session,
    "agent.add": add_agent,
    "agent.list": list_agents,
    "agent.update": update_agent,
    "agent.remove": remove_agent,
    "action.submit": _as("actions.submit"),
    "action.result": _as("actions.result"),
    "message.created": create_message,
    "task.updated": update_task,
    "task.done": finish_task,
    "events.history": read_history,
    "events.stream": stream_events,
}


def waits(type: str) -> bool:
    """Whether answering may take as long as the asker has patience."""
    operation = None if type in COMMANDS else registry.OPERATIONS.get(type)
    return operation is not None and operation.waits
