"""Answers lines that are no JSON-RPC. The SDK drops them without a word, and their sender then waits for ever.

It happens to honest clients: JavaScript writes half of a torn emoji as a lone surrogate, which is not valid JSON text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Protocol, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

from tallystick.kernel.json_values import is_object


class MessageSource(Protocol):
    async def receive(self) -> SessionMessage | Exception: ...

    async def aclose(self) -> None: ...


class MessageSink(Protocol):
    async def send(self, item: SessionMessage, /) -> None: ...


class Screened:
    """What comes in, with everything unreadable answered on the way out instead."""

    def __init__(self, incoming: MessageSource, outgoing: MessageSink) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    async def receive(self) -> SessionMessage | Exception:
        while isinstance(item := await self._incoming.receive(), Exception):
            if complaint := _complaint(item):
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await self._outgoing.send(SessionMessage(complaint))
        return item

    async def aclose(self) -> None:
        await self._incoming.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


def _complaint(wrong: Exception) -> JSONRPCError | None:
    """The error response to a line; None for an empty one."""
    if not isinstance(wrong, ValidationError):
        return _error(PARSE_ERROR, str(wrong), [])
    problems = wrong.errors(include_url=False)
    inputs: list[object] = [each["input"] for each in problems]
    if problems[0]["type"] != "json_invalid":
        return _error(INVALID_REQUEST, "The line is no JSON-RPC request, notification or response.", inputs)
    line = str(inputs[0])
    if not line.strip():
        return None
    message = f"{problems[0]['msg']}. Send valid JSON in UTF-8, without lone surrogates."
    try:
        return _error(PARSE_ERROR, message, [json.loads(line)])
    except (ValueError, RecursionError):
        return _error(PARSE_ERROR, message, [])


def _error(code: int, message: str, inputs: Sequence[object]) -> JSONRPCError:
    request_id = next((found for each in inputs if (found := _request_id(each)) is not None), None)
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=code, message=message))


def _request_id(line: object) -> str | int | None:
    """The id of the request that a line was meant to be. A response's id belongs to somebody else's request."""
    if not is_object(line) or "method" not in line:
        return None
    given = line.get("id")
    return given if isinstance(given, str | int) and not isinstance(given, bool) else None
