"""Pieces of the OpenAPI description: refusals by status, query parameters, responses."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import TypeAlias, cast

from tallystick.kernel.errors import every_error
from tallystick.surfaces.http.refusals import status_of

Schema: TypeAlias = "dict[str, object]"

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
    required = cast("list[str]", model.get("required", []))
    fields = cast("Mapping[str, Schema]", model.get("properties", {}))
    found: list[Schema] = []
    for name, field in fields.items():
        schema = {key: value for key, value in field.items() if key not in {"description", "title", "default", "anyOf"}}
        for part in cast("list[Schema]", field.get("anyOf", [])):
            if part.get("type") != "null":
                schema |= part
        text = str(field.get("description", ""))
        found.append({**parameter(name, schema, text), "required": name in required})
    return found
