"""Anthropic's Messages API as Claude Code uses it: what a request says, and an answer as its server-sent events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, cast

from tests.loopback.saying import Answer, Ask, Give, Say, Use

Json: TypeAlias = Mapping[str, object]

STRUCTURED = "StructuredOutput"
"""The tool through which Claude Code takes an answer that must fit a schema."""


def read(body: Json) -> Ask:
    messages = cast("Sequence[Json]", body["messages"])
    blocks = [(message["role"], block) for message in messages for block in _blocks(message["content"])]
    return Ask(
        prompt="\n".join(_text(block) for role, block in blocks if role == "user" and block.get("type") == "text"),
        turn=sum(message["role"] == "assistant" for message in messages),
        results=tuple(_text(block) for _, block in blocks if block.get("type") == "tool_result"),
        tools=tuple(str(tool["name"]) for tool in cast("Sequence[Json]", body.get("tools", []))),
        told="\n".join(_text(block) for role, block in blocks if role == "system"),
    )


def write(saying: Answer, *, number: int) -> Iterator[tuple[str, Json]]:
    """The events of one answer, each with its name."""
    usage = {"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    message: Json = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    block, delta = _block(saying, f"toolu_{number}")
    yield "message_start", {"type": "message_start", "message": message}
    yield "content_block_start", {"type": "content_block_start", "index": 0, "content_block": block}
    yield "content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}
    yield "content_block_stop", {"type": "content_block_stop", "index": 0}
    reason = "end_turn" if isinstance(saying, Say) else "tool_use"
    stop = {"stop_reason": reason, "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": stop, "usage": usage}
    yield "message_stop", {"type": "message_stop"}


def _block(saying: Answer, call_id: str) -> tuple[Json, Json]:
    match saying:
        case Say(text=text):
            return {"type": "text", "text": ""}, {"type": "text_delta", "text": text}
        case Use(tool=tool, given=given):
            pass
        case Give(answer=given):
            tool = STRUCTURED
    block: Json = {"type": "tool_use", "id": call_id, "name": tool, "input": {}}
    return block, {"type": "input_json_delta", "partial_json": json.dumps(dict(given))}


def _blocks(content: object) -> Sequence[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else cast("Sequence[Json]", content)


def _text(block: Json) -> str:
    content = block.get("text", block.get("content", ""))
    return content if isinstance(content, str) else "\n".join(_text(each) for each in _blocks(content))
