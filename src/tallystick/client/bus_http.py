"""The bus over HTTP, without I/O: envelopes go out by `POST /v1/bus`, what comes is on one stream of events."""

from __future__ import annotations

import json
from typing import cast

from tallystick.client import refusals
from tallystick.client.place import HubNotRunning
from tallystick.kernel.errors import TallyError, Unavailable

STREAM, POST = "/v1/bus/stream", "/v1/bus"


def headers(connection: str) -> dict[str, str]:
    """Of an envelope that belongs to this connection."""
    return {"content-type": "application/json", "tally-bus": connection}


def replied(sent: bytes, content: bytes) -> bytes | None:
    """The line that answers an envelope; None when the connection is not there any more."""
    try:
        found = cast("dict[str, object]", json.loads(content))
    except ValueError:
        return None
    if "corr" in found:
        return content
    error = cast("dict[str, object]", found.get("error") or {})
    if error.get("code") == "unknown_connection":
        return None
    # The door refused it before the bus saw it.
    return json.dumps({"corr": json.loads(sent)["id"], "status": "error", "error": error}).encode()


def came(line: str) -> bytes | None:
    """The envelope in a line of the stream, if that has one."""
    return line.removeprefix("data:").strip().encode() if line.startswith("data:") else None


def connection_of(welcome: bytes) -> str:
    """The name of the connection, which the first envelope tells."""
    return cast("str", json.loads(welcome)["payload"]["connection"])


def lost(error: Exception) -> HubNotRunning:
    return HubNotRunning(f"The hub does not answer: {error or type(error).__name__}.")


def turned_away(status: int, content: bytes) -> TallyError:
    """Why there is no stream."""
    try:
        error = cast("dict[str, object]", json.loads(content)["error"])
    except (ValueError, KeyError, TypeError):
        return HubNotRunning(f"What answers with status {status} is no hub.")
    refusal = refusals.of(status, error)
    return HubNotRunning(refusal.message) if isinstance(refusal, Unavailable) else refusal
