"""OpenAI's Responses API as Codex uses it: what a request says, and an answer as its server-sent events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, cast

from tests.loopback.saying import Answer, Ask, Give, Say, Use

Json: TypeAlias = Mapping[str, object]


def read(body: Json) -> Ask:
    items = cast("Sequence[Json]", body["input"])
    calls = ("function_call", "custom_tool_call")
    spoken = [each for each in items if each.get("type") in calls or each.get("role") == "assistant"]
    results = [each for each in items if str(each.get("type")) in {f"{call}_output" for call in calls}]
    return Ask(
        prompt="\n".join(_text(each["content"]) for each in items if each.get("role") == "user"),
        turn=len(spoken),
        results=tuple(_text(each["output"]) for each in results),
        tools=tuple(_names(cast("Sequence[Json]", body.get("tools", [])))),
        told="\n".join(_text(each["content"]) for each in items if each.get("role") == "developer"),
    )


def write(saying: Answer, *, number: int) -> Iterator[tuple[str, Json]]:
    """The events of one answer, each with its name."""
    response = {"id": f"resp_{number}"}
    counts = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None}
    usage = {**counts, "total_tokens": 2}
    yield "response.created", {"type": "response.created", "response": response}
    yield "response.output_item.done", {"type": "response.output_item.done", "item": _item(saying, number)}
    yield "response.completed", {"type": "response.completed", "response": {**response, "usage": usage}}


def _item(saying: Answer, number: int) -> Json:
    match saying:
        case Use(tool=tool, given=given):
            namespace, _, name = tool.rpartition(".")
            call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": name}
            return {
                **call,
                "arguments": json.dumps(dict(given)),
                **({"namespace": namespace} if namespace else {}),
            }
        case Say(text=text):
            pass
        case Give(answer=answer):
            text = json.dumps(dict(answer))
    content: list[Json] = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}


def _names(tools: Sequence[Json], within: str = "") -> Iterator[str]:
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from _names(cast("Sequence[Json]", tool["tools"]), f"{tool['name']}.")
        else:
            yield f"{within}{tool.get('name', tool.get('type'))}"


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        found = cast("Json", content)
        return _text(found.get("text", found.get("content", "")))
    return "\n".join(_text(each) for each in cast("Sequence[object]", content))
