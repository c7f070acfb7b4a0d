"""Google's generateContent API as Gemini CLI uses it: what a request says, and an answer as one event."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, cast

from tests.loopback.saying import Answer, Ask, Give, Say, Use

Json: TypeAlias = Mapping[str, object]

STREAM = ":streamGenerateContent"
"""How the address of the conversation ends; the model's name stands before it."""
ASIDE = ":generateContent"
"""How the address of small questions ends that the program asks for itself."""
CONTEXT = "<session_context>"
COUNTS: Json = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}


def read(body: Json) -> Ask:
    contents = cast("Sequence[Json]", body["contents"])
    spoken = [each for each in contents if each.get("role") == "model"]
    parts = [part for each in contents if each.get("role") == "user" for part in _parts(each)]
    texts = [str(part["text"]) for part in parts if "text" in part]
    results = [cast("Json", part["functionResponse"]) for part in parts if "functionResponse" in part]
    tools = [cast("Sequence[Json]", tool.get("functionDeclarations", [])) for tool in _list(body.get("tools"))]
    return Ask(
        prompt="\n".join(text for text in texts if not text.startswith(CONTEXT)),
        turn=len(spoken),
        results=tuple(json.dumps(each.get("response")) for each in results),
        tools=tuple(str(each["name"]) for group in tools for each in group),
        told="\n".join(text for text in texts if text.startswith(CONTEXT)),
    )


def write(saying: Answer, *, number: int) -> Iterator[tuple[str, Json]]:
    """The one event of an answer; Google's have no name."""
    content: Json = {"role": "model", "parts": [_part(saying, number)]}
    candidate: Json = {"content": content, "finishReason": "STOP", "index": 0}
    yield "", {"candidates": [candidate], "usageMetadata": COUNTS, "modelVersion": "scripted"}


def aside() -> Json:
    """An answer that says nothing, for what the program wants to know beside the conversation."""
    content: Json = {"role": "model", "parts": [{"text": "{}"}]}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": COUNTS}


def _part(saying: Answer, number: int) -> Json:
    match saying:
        case Use(tool=tool, given=given):
            return {"functionCall": {"id": f"call_{number}", "name": tool, "args": dict(given)}}
        case Say(text=text):
            return {"text": text}
        case Give(answer=answer):
            return {"text": json.dumps(dict(answer))}


def _parts(content: Json) -> Sequence[Json]:
    return _list(content.get("parts"))


def _list(value: object) -> Sequence[Json]:
    return cast("Sequence[Json]", value or [])
