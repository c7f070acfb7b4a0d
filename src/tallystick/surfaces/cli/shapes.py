"""Operations seen through their types: what the catalogue and the reference say about inputs and answers.

Only what makes the catalogue and the reference loads this; `tally` itself reads the catalogue.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from tallystick.kernel import inputs
from tallystick.kernel.operation import AnyOperation, Record

if TYPE_CHECKING:
    from tallystick.surfaces.cli.catalogue import Field, Kind, Shape

JsonSchema = Mapping[str, Any]
_KINDS: dict[str, Kind] = {"string": "text", "integer": "integer", "number": "number", "boolean": "boolean"}


def shape(operation: AnyOperation) -> Shape:
    schema = inputs.schema_of(operation.ask)
    required = schema.get("required", [])
    return {
        "summary": operation.summary,
        "doc": operation.doc,
        "fields": [
            _field(name, field, schema.get("$defs", {}), required=name in required)
            for name, field in schema.get("properties", {}).items()
        ],
    }


def _field(name: str, schema: JsonSchema, defs: JsonSchema, *, required: bool) -> Field:
    plain = without_null(schema, defs)
    many = plain.get("type") == "array" and _kind(name, resolved(plain["items"], defs)) != "json"
    inner = resolved(plain["items"], defs) if many else plain
    kind = _kind(name, inner)
    field: Field = {"name": name, "kind": kind, "help": _help(schema, plain, defs)}
    if required:
        field["required"] = True
    if many:
        field["many"] = True
    if kind == "choice":
        field["choices"] = inner.get("enum") or [inner["const"]]
    if schema.get("default") is not None:
        field["default"] = schema["default"]
    return field


def _help(schema: JsonSchema, plain: JsonSchema, defs: JsonSchema) -> str:
    text = schema.get("description") or plain.get("description", "")
    inner = resolved(plain.get("items", plain), defs)
    return f"{text} Keys: {', '.join(inner['properties'])}." if "properties" in inner else text


def _kind(name: str, schema: JsonSchema) -> Kind:
    if "enum" in schema or "const" in schema:
        return "choice"
    if name == "context_path":
        return "path"
    return _KINDS.get(schema.get("type", ""), "json")


def resolved(schema: JsonSchema, defs: JsonSchema) -> JsonSchema:
    return defs[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def without_null(schema: JsonSchema, defs: JsonSchema) -> JsonSchema:
    """The type of a field that may also be null or left out."""
    kept = [part for part in schema.get("anyOf", []) if part.get("type") != "null"]
    return resolved(kept[0] if len(kept) == 1 else schema, defs)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRow:
    """One field of an input or an answer, in words."""

    name: str
    type: str
    required: bool
    text: str


def rows(model: type[Record]) -> Iterator[FieldRow]:
    schema = inputs.schema_of(model)
    said = _said_beside(model)
    for name, field in schema.get("properties", {}).items():
        yield FieldRow(
            name=name,
            type=in_words(field, schema.get("$defs", {})),
            required=name in schema.get("required", []),
            text=field.get("description") or said.get(name, ""),
        )


def in_words(schema: JsonSchema, defs: JsonSchema) -> str:
    """A type as the reference writes it: `integer 1..1000`, `array of MemberView`, `string or null`."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return in_words(defs[name], defs) if "enum" in defs[name] else f"[{name}](#{name.lower()})"
    if "properties" in schema:
        return f"[{schema['title']}](#{schema['title'].lower()})"
    if "anyOf" in schema:
        return " or ".join(in_words(part, defs) for part in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return " or ".join(f"`{value}`" for value in schema.get("enum") or [schema["const"]])
    if schema.get("type") == "array":
        return f"array of {in_words(schema.get('items', {}), defs)}"
    kind = "time" if schema.get("format") == "date-time" else schema.get("type", "any")
    low, high = schema.get("minimum", ""), schema.get("maximum", "")
    return f"{kind} {low}..{high}" if low != "" or high != "" else kind


def answers(operation: AnyOperation) -> list[type[Record]]:
    """The models an operation may answer with."""
    return list(_models(operation.answer))


def parts(model: type[Record]) -> Iterator[type[Record]]:
    """The models that a model's fields are made of, at any depth."""
    for annotation in get_type_hints(model).values():
        for inner in _models(annotation):
            yield inner
            yield from parts(inner)


def _models(annotation: object) -> Iterator[type[Record]]:
    shapes: tuple[type[Record], ...] = getattr(annotation, "shapes", ())
    if isinstance(annotation, type) and issubclass(annotation, Record):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)
    yield from shapes


def _said_beside(model: type[Record]) -> dict[str, str]:
    """The docstrings below a model's fields, its own and those that it inherits."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    said: dict[str, str] = {}
    for parent in reversed(model.__bases__):
        if issubclass(parent, Record) and parent is not Record:
            said.update(_said_beside(parent))
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    for field, beside in itertools.pairwise(body):
        match field, beside:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as text)):
                said[name] = inspect.cleandoc(text).replace("\n", " ")
            case _:
                pass
    return said
