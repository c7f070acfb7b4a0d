"""The OpenAPI 3.1 description of the whole API, derived from the registry and from the tree of refusals."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from http import HTTPStatus

import msgspec

from tallystick import __version__
from tallystick.capabilities.blobs.contract import BlobView, DescribeBlob
from tallystick.hub.feed import Cursor
from tallystick.hub.registry import OPERATIONS
from tallystick.kernel import inputs
from tallystick.kernel.errors import every_error
from tallystick.kernel.inputs import Schema
from tallystick.kernel.operation import AnyOperation
from tallystick.surfaces.http.bus import StreamBus
from tallystick.surfaces.http.calls import only_reads
from tallystick.surfaces.http.errors import status_of

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
        found, self.definitions = inputs.schemas_of(kinds.values(), ref_template="#/components/schemas/{name}")
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


ANYWHERE = (400, 401, 403, 404, 405, 408, 421, 429, 431, 500, 503)
"""Statuses that any address may answer."""

REFUSAL: Schema = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "hint", "retryable", "details"],
            "properties": {
                "code": {"type": "string", "description": "The same on every surface."},
                "message": {"type": "string", "description": "What is wrong, and with what."},
                "hint": {"type": "string", "description": "What to do next."},
                "retryable": {"type": "boolean", "description": "Whether the same request may succeed later."},
                "details": {"type": "object"},
            },
        }
    },
}

IDEMPOTENCY_KEY: Schema = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Done once under this key; asked again within 24 hours, the first answer is given again.",
    "schema": {"type": "string", "pattern": "^[!-~]{1,200}$"},
}
LAST_EVENT_ID: Schema = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "description": "The id of the last event seen; resumes a stream there and beats the cursors in the query.",
    "schema": {"type": "string", "pattern": "^[0-9]{1,18}$"},
}
CONNECTION: Schema = {
    "name": "Tally-Bus",
    "in": "header",
    "required": False,
    "description": "The connection that this envelope belongs to, as the stream's first event names it.",
    "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
}
_NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 200}
_MAYBE: Schema = {"anyOf": [_NAME, {"type": "null"}]}
ENVELOPE: Schema = {
    "type": "object",
    "required": ["v", "type", "id", "ts", "src"],
    "additionalProperties": False,
    "properties": {
        "v": {"const": 1},
        "type": _NAME,
        "id": _NAME,
        "ts": {"type": "string", "maxLength": 60},
        "src": _NAME,
        "dst": _MAYBE,
        "session": _MAYBE,
        "seq": {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 2**63 - 1}, {"type": "null"}]},
        "idempotency_key": _MAYBE,
        "corr": _MAYBE,
        "payload": {"type": "object"},
        "status": {"type": ["string", "null"]},
        "error": {"type": ["object", "null"]},
    },
}


def refusals() -> Schema:
    """A response for every status that a refusal can have, with the codes it may carry."""
    codes: dict[int, set[str]] = {}
    for each in every_error():
        codes.setdefault(status_of(each), set()).add(each.code)
    return {f"Refused{status}": _refused(status, sorted(each)) for status, each in sorted(codes.items())}


def _refused(status: int, codes: list[str]) -> Schema:
    exact: Schema = {"properties": {"error": {"properties": {"code": {"enum": codes}}}}}
    schema: Schema = {"allOf": [{"$ref": "#/components/schemas/Refusal"}, exact]}
    return {"description": HTTPStatus(status).phrase, "content": content("application/json", schema)}


def content(kind: str, schema: Schema) -> Schema:
    return {kind: {"schema": schema}}


def responses(answer: Schema, *more: int) -> Schema:
    """The answer, and every refusal that may come instead."""
    refused = {
        str(status): {"$ref": f"#/components/responses/Refused{status}"} for status in sorted({*ANYWHERE, *more})
    }
    return {"200": {"description": "The answer.", "content": answer}, **refused}


def parameter(name: str, schema: Schema, description: str = "") -> Schema:
    return {"name": name, "in": "query", "required": False, "description": description, "schema": schema}


def parameters(model: Schema) -> list[Schema]:
    """A model's fields as query parameters. In a query nothing is null: a field is there or it is not."""
    required: list[str] = model.get("required", [])
    fields: Mapping[str, Schema] = model.get("properties", {})
    found: list[Schema] = []
    for name, field in fields.items():
        schema = {key: value for key, value in field.items() if key not in {"description", "title", "default", "anyOf"}}
        parts: list[Schema] = field.get("anyOf", [])
        for part in parts:
            if part.get("type") != "null":
                schema |= part
        text = str(field.get("description", ""))
        found.append({**parameter(name, schema, text), "required": name in required})
    return found
