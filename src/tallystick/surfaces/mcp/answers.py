"""Answers and refusals in MCP: structured content, and the same JSON as text for clients that read only text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import msgspec
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, CallToolResult, TextContent

from tallystick.kernel.errors import Refused, TallyError
from tallystick.kernel.operation import Answer

NOTICES = "tallystick/notices"


def answered(answer: Answer, notices: Sequence[str] = ()) -> CallToolResult:
    """The answer first; what else the caller should know stands beside it and never in it."""
    content = [TextContent(text=answer.to_json().decode()), *(TextContent(text=f"Notice: {each}") for each in notices)]
    result = CallToolResult(content=list(content), structured_content=answer.to_data())
    return result.model_copy(update={"meta": {NOTICES: list(notices)}}) if notices else result


def refused(error: TallyError) -> CallToolResult:
    payload = flat(error)
    return CallToolResult(
        content=[TextContent(text=msgspec.json.encode(payload).decode())], structured_content=payload, is_error=True
    )


def flat(error: TallyError) -> dict[str, object]:
    """Talking Stick's shape: the details stand beside the code, and never in its place."""
    own = {"error": error.code, "message": error.message, "hint": error.advice, "retryable": error.retryable}
    details = cast("dict[str, object]", msgspec.json.decode(msgspec.json.encode(dict(error.details), enc_hook=str)))
    return {**own, **details, **own}


def protocol_error(error: TallyError) -> MCPError:
    """A refusal where MCP has no result to put one into: reading a resource, naming a tool that is not there."""
    code = INVALID_PARAMS if isinstance(error, Refused) else INTERNAL_ERROR
    return MCPError(code=code, message=f"{error.message} {error.advice}".strip(), data=flat(error))
