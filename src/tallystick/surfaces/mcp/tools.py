"""Which tools there are: Talking Stick's nine, the ones it put off, and the portals, in three sets.

Everything a client reads about a tool comes from the operation behind it; only names and hints are kept here. A portal
is one tool per noun, `{op, cmd?, args, workspace?}`: `op` is a verb of its own noun, a whole name, or `call` with the
whole name in `cmd`. A schema cannot list the fields of all that is behind it, so each of its refusals carries a whole
correct call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias, get_args

import msgspec
from mcp_types import Tool, ToolAnnotations

from tallystick.hub.registry import OPERATIONS
from tallystick.kernel import hints, inputs
from tallystick.kernel.errors import InvalidField, InvalidInput, Refused, UnknownOperation, did_you_mean, nearest
from tallystick.kernel.hints import CALL
from tallystick.kernel.inputs import Schema
from tallystick.kernel.operation import AnyOperation, Ask, JsonObject

_Definitions: TypeAlias = Mapping[str, Schema]

_KEPT = ("type", "description", "enum", "maximum", "default")
UNSHOWN = "x-not-for-models"
"""Marks a field that programs and tests set; a model that sets it is understood too."""
SPELT_OUT = 4
"""An answer's enumeration with more values is a text: it costs every model its words, and is read and not written."""
_NO_LIMIT = 2**31
"""A maximum from here on only keeps numbers storable."""


def of_ask(ask: type[Ask]) -> Schema:
    """What an operation takes."""
    schema = inputs.schema_of(ask)
    return _asked(schema, _definitions(schema))


def of_answer(answer: object) -> Schema:
    """What an operation answers: its fields and their types, one level deep; several answers become one object."""
    fields: dict[str, Schema] = {}
    for variant in get_args(answer) or (answer,):
        schema = inputs.schema_of(variant)
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
        if "enum" in lean["items"]:
            lean["items"].pop("description", None)
    if node.get("minItems") == node.get("maxItems"):
        lean |= {key: node[key] for key in ("minItems", "maxItems") if key in node}
    if properties := _properties(node):
        lean["properties"] = {name: _asked(each, defs) for name, each in properties.items() if not each.get(UNSHOWN)}
        lean |= {"required": node["required"]} if node.get("required") else {}
    return lean


def _shape(node: Schema, defs: _Definitions) -> Schema:
    node = _written_out(node, defs)
    if "anyOf" in node:
        kept = _not_null(node)
        return _or_null(_shape(kept[0], defs)) if len(kept) == 1 else {}
    if "const" in node:
        return {"enum": [node["const"]]}
    if "enum" in node:
        return {"enum": node["enum"]} if len(node["enum"]) <= SPELT_OUT else {"type": "string"}
    return {"type": node["type"]} if "type" in node else {}


def _or_null(shape: Schema) -> Schema:
    if "enum" in shape:
        return {"enum": [*shape["enum"], None]}
    return {}


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


_ABOUT: Mapping[str, str] = {
    "rooms": "Leave a note for the others (notes.add), read notes and events; a room's members, policy, history.",
    "agents": "Reserve a file or folder before you edit it (reservations.reserve), release or check reservations, see "
    "who reserved what and which agents are here; say HANDOFF or BLOCKED (protocol.send).",
    "messages": "Send a message to another agent, read your mail (inbox), read, ack, reply (send with reply_to), "
    "search; attach files as blobs.",
    "actions": "Ask an agent on the bus to do something, and answer what you are asked to do.",
    "tasks": "Tasks, cards, anchors to plan with; fan work out to jobs and merge their reports (macros).",
    "jobs": "Delegate work to background runners: create, watch (radar, tail), answer, cancel; claim and report.",
    "open": "Show one thing by its id or reference: an event, message, job, task, card or artifact.",
    hints.MANAGE: "End what others have: close a room for good, remove a member, end a living holder's turn.",
}
_HINTS: Mapping[str, str] = {
    "pass_stick": "hand over to one agent",
    "rooms": "leave a note, read notes",
    "agents": "reserve file, lock path before edit",
    "messages": "send message to another agent, read my mail, inbox",
    "actions": "ask an agent on the bus",
    "tasks": "plan, delegate",
    "jobs": "background work, delegate to a runner",
    "open": "look up an id",
    hints.MANAGE: "close room, remove member",
}
"""What somebody searches for who needs the tool: a harness that puts tools off finds them by these words."""
EVERYDAY = frozenset({"join_path", "wait_for_turn", "heartbeat", "release_stick"})
"""Without these nobody can begin, so a harness that puts tools off is asked to keep them loaded."""
_ARGS = "Put the command's own fields into args; `example` is a whole correct call."


class PortalCall(Ask):
    op: str
    cmd: str | None = None
    args: JsonObject = msgspec.field(default_factory=dict)
    workspace: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PortalCommand:
    """A portal call, read: the operation, its input, and the workspace that may fill in a room or a path."""

    operation: AnyOperation
    given: Mapping[str, object]
    workspace: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Portal:
    name: str
    nouns: tuple[str, ...]

    @property
    def commands(self) -> list[str]:
        """What is behind it; of another noun only what has no tool of its own."""
        if self.name == hints.MANAGE:
            return list(hints.MANAGED)
        return [
            name
            for noun in self.nouns
            for name, operation in OPERATIONS.items()
            if operation.noun == noun and name not in hints.MANAGED and (noun == self.name or name not in hints.TOOLS)
        ]

    @property
    def description(self) -> str:
        return _ABOUT[self.name]

    @property
    def schema(self) -> Schema:
        own = f"{self.name}."
        verbs = [name.removeprefix(own) for name in self.commands if name.startswith(own)]
        others = [name for name in self.commands if not name.startswith(own)]
        cmd = (
            {"cmd": {"type": "string", "description": f"With op call: {', '.join(others)}"}} if others and verbs else {}
        )
        properties: Schema = {
            "op": {"type": "string", "enum": [*verbs, CALL] if cmd else verbs or others},
            **cmd,
            "args": {"type": "object"},
            "workspace": {"type": "string", "description": "Room id or path."},
        }
        return {"type": "object", "properties": properties, "required": ["op"]}

    def read(self, arguments: Mapping[str, object]) -> PortalCommand:
        try:
            asked = inputs.read(PortalCall, arguments)
        except InvalidInput as wrong:
            meant = f"{self.name}.{arguments.get('op')}"
            name = meant if meant in self.commands else self.commands[0]
            raise self.with_example(wrong, name, hint=_ARGS) from None
        name = self._named(asked)
        return PortalCommand(operation=OPERATIONS[name], given=asked.args, workspace=asked.workspace)

    def with_example(self, refusal: Refused, name: str, *, hint: str) -> Refused:
        """The refusal, with a whole correct call of that operation."""
        operation = OPERATIONS[name]
        call = hints.portal_call(self.name, name)
        example = {**call, "args": dict(operation.examples[0]) if operation.examples else {}}
        return type(refusal)(refusal.message, hint=hint, details={**refusal.details, "example": example})

    def _named(self, asked: PortalCall) -> str:
        name = asked.cmd if asked.op == CALL else asked.op if asked.op in self.commands else f"{self.name}.{asked.op}"
        if name is None:
            wrong = InvalidField("op 'call' needs the operation's name in cmd.", field="cmd")
            raise self.with_example(wrong, self.commands[-1], hint=_ARGS)
        if asked.cmd not in {None, name}:
            wrong = InvalidField(f"op says {name} and cmd says {asked.cmd}: give one of them.", field="cmd")
            raise self.with_example(wrong, name if name in self.commands else self.commands[0], hint=wrong.declared)
        if name not in self.commands:
            text = f"'{name[:80]}' is not behind the tool '{self.name}'.{did_you_mean(name, self.commands)}"
            unknown = UnknownOperation(text, operation=name[:80], valid=self.commands)
            likely = nearest(name, self.commands) or self.commands[0]
            raise self.with_example(unknown, likely, hint="Send one of the commands in `valid`.")
        return name


_EVERY = [
    *(Portal(name=name, nouns=nouns) for name, nouns in hints.PORTALS.items()),
    Portal(name=hints.MANAGE, nouns=()),
]


PORTALS: Mapping[str, Portal] = {portal.name: portal for portal in _EVERY if portal.commands}
"""Those that have operations."""


NINE: Mapping[str, str] = {tool: name for name, tool in hints.TOOLS.items()}


PUT_OFF: Mapping[str, str] = {
    "append_note": "notes.add",
    "leave_path": "rooms.leave",
    "close_room": "rooms.close",
    "reorder_members": "rooms.reorder",
    "set_room_policy": "rooms.set_policy",
}
DESTRUCTIVE = frozenset(hints.MANAGED)
"""A takeover is not: it is open only when the holder has failed, and it is an event with a reason."""


class ToolSet(StrEnum):
    CORE = "core"
    """The nine."""
    DAILY = "daily"
    """The nine and the portals."""
    FULL = "full"
    """Those, and the tools that Talking Stick put off under names of their own."""

    @property
    def named(self) -> Mapping[str, str]:
        """Tools that are one operation each."""
        return {**NINE, **PUT_OFF} if self is ToolSet.FULL else NINE

    @property
    def portals(self) -> Mapping[str, Portal]:
        return {} if self is ToolSet.CORE else PORTALS

    def listed(self) -> list[Tool]:
        named = [_named(tool, name) for tool, name in self.named.items()]
        return [*named, *(_portal(portal) for portal in self.portals.values())]


def _named(tool: str, name: str) -> Tool:
    operation = OPERATIONS[name]
    return Tool(
        name=tool,
        description=operation.doc,
        input_schema=of_ask(operation.ask),
        output_schema=of_answer(operation.answer),
        annotations=_annotations(
            reads=not operation.writes and not operation.waits,
            destructive=name in DESTRUCTIVE,
        ),
        _meta=_found_by(tool),
    )


def _portal(portal: Portal) -> Tool:
    commands = [OPERATIONS[name] for name in portal.commands]
    return Tool(
        name=portal.name,
        description=portal.description,
        input_schema=portal.schema,
        annotations=_annotations(
            reads=not any(operation.writes for operation in commands),
            destructive=any(operation.name in DESTRUCTIVE for operation in commands),
        ),
        _meta=_found_by(portal.name),
    )


def _found_by(tool: str) -> dict[str, object] | None:
    """For harnesses that show their model a tool only when it searches for one."""
    if tool in EVERYDAY:
        return {"anthropic/alwaysLoad": True}
    return {"anthropic/searchHint": _HINTS[tool]} if tool in _HINTS else None


def _annotations(*, reads: bool, destructive: bool) -> ToolAnnotations:
    """Hints for a harness that asks its user before a call; no harness asks for the sake of any other hint."""
    if reads:
        return ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return ToolAnnotations(destructive_hint=destructive, open_world_hint=False)
