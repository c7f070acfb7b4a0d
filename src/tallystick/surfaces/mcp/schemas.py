"""Lean JSON Schemas of operations: small enough for a model's context, plain enough for every provider.

References are written out, titles and lengths dropped, and `null` is left to `required`, so an input needs no unions.
They describe; the hub checks every input against the whole type and names the bound to whoever reaches it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, get_args

from tallystick.kernel import schemas
from tallystick.kernel.operation import Ask
from tallystick.kernel.schemas import Schema

_Definitions: TypeAlias = Mapping[str, Schema]

_KEPT = ("type", "description", "enum", "maximum", "default")
_NO_LIMIT = 2**31
"""A maximum from here on only keeps numbers storable."""


def of_ask(ask: type[Ask]) -> Schema:
    """What an operation takes."""
    schema = schemas.of(ask)
    return _asked(schema, _definitions(schema))


def of_answer(answer: object) -> Schema:
    """What an operation answers: its fields and their types, one level deep; several answers become one object."""
    fields: dict[str, Schema] = {}
    for variant in get_args(answer) or (answer,):
        schema = schemas.of(variant)
        for name, field in _properties(schema).items():
            shape = _shape(field, _definitions(schema))
            fields[name] = _either(fields[name], shape) if name in fields else shape
    return {"type": "object", "properties": fields}


def _asked(node: Schema, defs: _Definitions) -> Schema:
    node = _without_null(_written_out(node, defs), defs)
    lean = {key: node[key] for key in _KEPT if node.get(key) is not None}
    if lean.get("maximum", 0) >= _NO_LIMIT:
        del lean["maximum"]
    if "items" in node:
        lean["items"] = _asked(node["items"], defs)
    if node.get("minItems") == node.get("maxItems"):
        lean |= {key: node[key] for key in ("minItems", "maxItems") if key in node}
    if properties := _properties(node):
        lean["properties"] = {name: _asked(each, defs) for name, each in properties.items()}
        lean["required"] = node.get("required", [])
    return lean


def _shape(node: Schema, defs: _Definitions) -> Schema:
    node = _written_out(node, defs)
    if "anyOf" in node:
        kept = _not_null(node)
        return _or_null(_shape(kept[0], defs)) if len(kept) == 1 else {}
    if "const" in node:
        return {"enum": [node["const"]]}
    if "enum" in node:
        return {"enum": node["enum"]}
    return {"type": node["type"]} if "type" in node else {}


def _or_null(shape: Schema) -> Schema:
    if "enum" in shape:
        return {"enum": [*shape["enum"], None]}
    return {"type": [shape["type"], "null"]} if shape else {}


def _either(one: Schema, other: Schema) -> Schema:
    """A shape that both satisfy."""
    if one == other:
        return one
    if "enum" in one and "enum" in other:
        return {"enum": list(dict.fromkeys([*one["enum"], *other["enum"]]))}
    return {}


def _without_null(node: Schema, defs: _Definitions) -> Schema:
    """A field that may be null is one that may be left out."""
    kept = _not_null(node)
    return {**_written_out(kept[0], defs), **node} if len(kept) == 1 else node


def _not_null(node: Schema) -> list[Schema]:
    parts: Sequence[Schema] = node.get("anyOf", ())
    return [part for part in parts if part.get("type") != "null"]


def _written_out(node: Schema, defs: _Definitions) -> Schema:
    """The node with its reference resolved; what stands beside the reference wins."""
    return {**defs[str(node["$ref"]).rpartition("/")[2]], **node} if "$ref" in node else node


def _definitions(schema: Schema) -> _Definitions:
    found: _Definitions = schema.get("$defs", {})
    return found


def _properties(node: Schema) -> Mapping[str, Schema]:
    found: Mapping[str, Schema] = node.get("properties", {})
    return found
