"""The messages of ACP v1, line by line: JSON-RPC 2.0 over a program's stdin and stdout, without any I/O.

Tolerant on purpose: kinds of update, stop reasons and options that are new are passed on or ignored, never an error,
because harnesses add them faster than anybody follows, and nobody watches an attached agent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from tallystick.harnesses.headless.protocol import line_object, part, rows
from tallystick.kernel.json_values import is_object

VERSION: Final = 1
METHOD_NOT_FOUND: Final = -32601

RequestId: TypeAlias = int | str
"""Agents number their requests, or name them; ours are numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcpResponse:
    """What a request of ours came to."""

    id: int
    result: Mapping[str, object] = field(default_factory=dict[str, object])
    error: str = ""
    """Why it was refused; empty when it was not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionUpdate:
    """Something happened in a session."""

    session_id: str
    kind: str
    data: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class AcpOption:
    option_id: str
    name: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionWanted:
    """The agent waits until somebody chooses an option."""

    id: RequestId
    session_id: str
    call: Mapping[str, object]
    options: Sequence[AcpOption]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestWithdrawn:
    """A request of the agent needs no answer any more."""

    id: RequestId


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownRequest:
    """A request for something that we never offered."""

    id: RequestId
    method: str


AcpMessage: TypeAlias = AcpResponse | SessionUpdate | PermissionWanted | RequestWithdrawn | UnknownRequest


def read(line: str) -> AcpMessage | None:
    """What a line says; None for what is no message, or for a notification that concerns nobody."""
    found = line_object(line)
    id, method, params = _id(found.get("id")), found.get("method"), part(found, "params")
    match method:
        case None if isinstance(id, int):
            return _response(id, found)
        case "session/update":
            update = part(params, "update")
            return SessionUpdate(session_id=text(params, "sessionId"), kind=text(update, "sessionUpdate"), data=update)
        case "session/request_permission" if id is not None:
            return PermissionWanted(
                id=id, session_id=text(params, "sessionId"), call=part(params, "toolCall"), options=_options(params)
            )
        case "$/cancel_request":
            withdrawn = _id(params.get("requestId"))
            return RequestWithdrawn(id=withdrawn) if withdrawn is not None else None
        case str() if id is not None:
            return UnknownRequest(id=id, method=method)
        case _:
            return None


def _id(given: object) -> RequestId | None:
    return given if isinstance(given, int | str) and not isinstance(given, bool) else None


def _response(id: int, found: Mapping[str, object]) -> AcpResponse:
    if "error" in found:
        error = part(found, "error")
        data = error.get("data")
        why = text(error, "message") or "refused without a word"
        more = text(data, "details") or text(data, "message") if is_object(data) else str(data or "")
        return AcpResponse(id=id, error=f"{why}: {more}" if more and more not in why else why)
    return AcpResponse(id=id, result=part(found, "result"))


def _options(params: Mapping[str, object]) -> list[AcpOption]:
    return [
        AcpOption(option_id=text(each, "optionId"), name=text(each, "name"), kind=text(each, "kind"))
        for each in rows(params, "options")
        if text(each, "optionId")
    ]


def text(found: Mapping[str, object], name: str) -> str:
    value = found.get(name)
    return value if isinstance(value, str) else ""


def request(id: int, method: str, params: Mapping[str, object]) -> str:
    return _line({"id": id, "method": method, "params": params})


def notification(method: str, params: Mapping[str, object]) -> str:
    return _line({"method": method, "params": params})


def chosen(id: RequestId, option_id: str | None) -> str:
    """The answer to a request for permission; None where nobody chose, so that the agent must not go on with it."""
    outcome = {"outcome": "selected", "optionId": option_id} if option_id else {"outcome": "cancelled"}
    return _line({"id": id, "result": {"outcome": outcome}})


def not_offered(wanted: UnknownRequest) -> str:
    error = {"code": METHOD_NOT_FOUND, "message": f"{wanted.method[:200]} is not offered"}
    return _line({"id": wanted.id, "error": error})


def _line(message: Mapping[str, object]) -> str:
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")) + "\n"


def initialize(version: str) -> dict[str, object]:
    """No file system and no terminal of ours: half of the harnesses would use them and half would not."""
    client = {"name": "tallystick", "title": "Tallystick", "version": version}
    return {
        "protocolVersion": VERSION,
        "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
        "clientInfo": client,
    }


def prompt(session_id: str, words: str) -> dict[str, object]:
    return {"sessionId": session_id, "prompt": [{"type": "text", "text": words}]}


def stdio_server(name: str, argv: Sequence[str], env: Mapping[str, str]) -> dict[str, object]:
    """An MCP server that the harness starts."""
    listed = [{"name": key, "value": value} for key, value in env.items()]
    return {"name": name, "command": argv[0], "args": list(argv[1:]), "env": listed}


def http_server(name: str, url: str, token: str) -> dict[str, object]:
    headers = [{"name": "Authorization", "value": f"Bearer {token}"}]
    return {"type": "http", "name": name, "url": url, "headers": headers}
