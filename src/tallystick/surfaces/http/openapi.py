"""The OpenAPI 3.1 description of the whole API, derived from the registry and from the tree of refusals."""

from __future__ import annotations

from functools import cache

import msgspec

from tallystick import __version__
from tallystick.hub.blobs_rooms import BlobView, DescribeBlob
from tallystick.hub.feed import Cursor
from tallystick.hub.registry import OPERATIONS
from tallystick.kernel import schemas
from tallystick.kernel.operation import AnyOperation
from tallystick.surfaces.http.bus_face import StreamBus
from tallystick.surfaces.http.calls import only_reads
from tallystick.surfaces.http.openapi_parts import (
    CONNECTION,
    ENVELOPE,
    IDEMPOTENCY_KEY,
    LAST_EVENT_ID,
    REFUSAL,
    Schema,
    content,
    parameter,
    parameters,
    refusals,
    responses,
)

_TEXT: Schema = {"type": "string"}
_BYTES: Schema = {"type": "string", "format": "binary"}
_FRAME: Schema = {
    "type": "object",
    "description": "One Server-Sent Event: the seq, the kind and the envelope; `bye` or `error` is the last one.",
    "properties": {"id": _TEXT, "event": _TEXT, "data": {**_TEXT, "contentMediaType": "application/json"}},
}
_OK: Schema = {"type": "object", "required": ["ok"], "properties": {"ok": {"type": "boolean"}}}


class Shapes:
    """The schema of every input and answer, with the definitions they share."""

    def __init__(self) -> None:
        kinds: dict[tuple[str, str], object] = {
            ("follow", "ask"): Cursor,
            ("bus", "ask"): StreamBus,
            ("describe", "ask"): DescribeBlob,
            ("blob", "answer"): BlobView,
        }
        for name, operation in OPERATIONS.items():
            kinds |= {(name, "ask"): operation.ask, (name, "answer"): operation.answer}
        found, self.definitions = schemas.several(kinds.values(), ref_template="#/components/schemas/{name}")
        self._found = dict(zip(kinds, found, strict=True))

    def asked(self, name: str) -> Schema:
        return self._found[name, "ask"]

    def answered(self, name: str) -> Schema:
        return self._found[name, "answer"]

    def query(self, name: str) -> list[Schema]:
        """An input's fields as query parameters."""
        return parameters(self._model(name))

    def demanding(self, name: str) -> bool:
        """Whether an input has fields that cannot be left out; without any, the whole body may be."""
        return bool(self._model(name).get("required"))

    def _model(self, name: str) -> Schema:
        return self.definitions[str(self.asked(name)["$ref"]).rpartition("/")[2]]


@cache
def document(cookie: str) -> bytes:
    """The description as JSON; `cookie` is the name of this hub's session cookie."""
    shapes = Shapes()
    paths = {f"/v1/{name}": _operation(each, shapes) for name, each in sorted(OPERATIONS.items())}
    paths["/v1/blobs.put"]["put"] = _upload(shapes)
    whole: Schema = {
        "openapi": "3.1.0",
        "info": {
            "title": "Tallystick",
            "version": __version__,
            "description": "Every operation is POST /v1/<operation> with a JSON body; those that only read also take "
            "GET with a query. Over the hub's Unix socket no token is needed.",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}, {"session": []}],
        "paths": {**paths, **_other_paths(shapes)},
        "components": {
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "As `tally token issue` printed it."},
                "session": {"type": "apiKey", "in": "cookie", "name": cookie},
            },
            "schemas": {**shapes.definitions, "Refusal": REFUSAL},
            "responses": refusals(),
        },
    }
    return msgspec.json.encode(whole)


def _operation(operation: AnyOperation, shapes: Shapes) -> Schema:
    common: Schema = {"summary": operation.summary, "description": operation.doc, "tags": [operation.noun]}
    answer = content("application/json", shapes.answered(operation.name))
    examples = {f"example{at}": {"value": each} for at, each in enumerate(operation.examples, start=1)}
    body = {"schema": shapes.asked(operation.name), **({"examples": examples} if examples else {})}
    post: Schema = {
        **common,
        "operationId": operation.name,
        "parameters": [IDEMPOTENCY_KEY] if operation.writes else [],
        "requestBody": {"required": shapes.demanding(operation.name), "content": {"application/json": body}},
        "responses": responses(answer, 409, 413, 415),
    }
    if not only_reads(operation):
        return {"post": post}
    get: Schema = {
        **common,
        "operationId": f"{operation.name}.get",
        "parameters": shapes.query(operation.name),
        "responses": responses(answer, 409, 413),
    }
    return {"post": post, "get": get}


def _upload(shapes: Shapes) -> Schema:
    return {
        "operationId": "blobs.put.bytes",
        "summary": "Put a file of at most 32 MiB into a room as plain bytes.",
        "tags": ["blobs"],
        "parameters": shapes.query("describe"),
        "requestBody": {"required": True, "content": {"application/octet-stream": {"schema": _BYTES}}},
        "responses": responses(content("application/json", shapes.answered("blob")), 409, 413),
    }


def _other_paths(shapes: Shapes) -> Schema:
    listing = {each["name"]: each for each in (*shapes.query("events.list"), *shapes.query("follow"))}
    follow = parameter("follow", {"type": "boolean"}, "Stay and stream new events as Server-Sent Events.")
    events = {
        **content("application/json", shapes.answered("events.list")),
        **content("text/event-stream", _FRAME),
    }
    sha256 = {**parameter("sha256", _TEXT, "The content's SHA-256, in hex."), "in": "path", "required": True}
    room = parameter("room_id", _TEXT, "The room whose blob it is; any within reach when left out.")
    return {
        "/v1/bus": {"post": _bus()},
        "/v1/bus/stream": _get(
            "A connection of the bus: the way back for envelopes that are posted.",
            content("text/event-stream", _FRAME),
            *shapes.query("bus"),
            LAST_EVENT_ID,
        ),
        "/v1/events": _get(
            "A room's events, as a page or as a stream.", events, *listing.values(), follow, LAST_EVENT_ID
        ),
        "/v1/blobs/{sha256}": _get("A blob's content.", content("*/*", _BYTES), sha256, room),
        "/v1/status": _get("What this hub is doing.", content("application/json", {"type": "object"})),
        "/v1/openapi.json": _get("This description.", content("application/json", {"type": "object"})),
        "/metrics": _get("Figures for Prometheus.", content("text/plain", _TEXT)),
        "/healthz": {"get": _open("Whether the hub answers.", content("application/json", _OK))},
    }


def _bus() -> Schema:
    reply: Schema = {"type": "object", "required": ["v", "type", "id", "ts", "src", "status"]}
    return {
        "operationId": "bus.post",
        "summary": "One envelope of the bus; the answer is the reply's envelope.",
        "tags": ["bus"],
        "parameters": [IDEMPOTENCY_KEY, CONNECTION],
        "requestBody": {"required": True, "content": content("application/json", ENVELOPE)},
        "responses": responses(content("application/json", reply), 409, 413, 415),
    }


def _get(summary: str, answer: Schema, *given: Schema) -> Schema:
    return {"get": {"summary": summary, "parameters": list(given), "responses": responses(answer, 409, 413)}}


def _open(summary: str, answer: Schema) -> Schema:
    """An address that needs no token."""
    ok = {"description": "It answers and its store can be read.", "content": answer}
    failing = {"description": "Its store cannot be read.", "content": answer}
    return {"summary": summary, "security": [], "responses": {**responses(answer), "200": ok, "503": failing}}
