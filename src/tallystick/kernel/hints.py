"""The next step, declared once and said in the words of whoever reads it.

A hint or a notice is a sentence in which `step("jobs.requeue", job="JOB-001")` stands for the call to make. Until
somebody shows the sentence the step stays in it as a mark, through the engine and over the wire. `said` puts the words
of a surface in its place: a `tally` line in a terminal, a tool call in MCP, a request over HTTP, the label of a button
on the page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from tallystick.kernel.json_values import is_list, is_object

ROOM = "room_id"
ANY_ROOM = "ROOM"
"""Stands for the reader's own room where nobody knows which that is."""
WITHOUT_ROOM = frozenset({"hub.capabilities", "hub.health", "rooms.create", "rooms.join", "rooms.list"})
"""Operations that need no room; every other step is about the room that its refusal is about."""

_MARK = re.compile(r"<<([a-z_]+(?:\.[a-z_]+)+)(?: (\{[^<>]*\}))?>>")
_KNOWN = re.compile(r"\{([a-z_,]+)\|([^{}]*)\}")

TOOLS = {
    "rooms.list": "list_rooms",
    "rooms.join": "join_path",
    "turns.wait": "wait_for_turn",
    "turns.heartbeat": "heartbeat",
    "turns.release": "release_stick",
    "turns.pass": "pass_stick",
    "turns.takeover": "takeover_stick",
    "turns.state": "get_room_state",
    "turns.history": "get_room_events",
}
"""Operations that are an MCP tool of their own in every set."""
PORTALS = {
    "rooms": ("rooms", "notes", "events", "hub", "turns"),
    "agents": ("agents", "reservations", "protocol"),
    "messages": ("messages", "notifications", "blobs", "context", "permissions", "attention"),
    "actions": ("actions",),
    "tasks": ("tasks", "cards", "anchors"),
    "jobs": ("jobs", "runners"),
    "open": ("open",),
}
"""MCP's portal tools and the nouns behind each, its own first."""
MANAGE = "manage"
"""The portal for what ends something of others: a harness that asks before such things asks for nothing else."""
MANAGED = ("rooms.close", "rooms.remove", "turns.revoke")
"""The operations behind it, each by its whole name."""
CALL = "call"
"""What a portal is asked for an operation of another noun than its own."""

_FENCE = {"lease_id": "", "expected_turn_id": ""}
COMMANDS: Mapping[str, tuple[str, tuple[str, ...], Mapping[str, str]]] = {
    "agents.list": ("who", (), {}),
    "events.list": ("log", (), {"since_seq": "since"}),
    "jobs.acknowledge": ("jobs acknowledge", ("job",), {}),
    "jobs.cancel": ("jobs cancel", ("job",), {}),
    "jobs.create": ("job", ("prompt",), {}),
    "jobs.message": ("jobs message", ("job", "message"), {}),
    "jobs.open": ("jobs open", ("job",), {}),
    "jobs.requeue": ("jobs requeue", ("job",), {}),
    "jobs.tail": ("jobs tail", ("job",), {}),
    "jobs.wait": ("jobs wait", ("job",), {}),
    "jobs.waive": ("jobs waive", ("job", "reason"), {}),
    "messages.ack": ("ack", ("event_id",), {}),
    "messages.inbox": ("inbox", (), {}),
    "messages.read": ("inbox --mark-read", (), {"event_id": ""}),
    "messages.send": ("send", ("to", "text"), {}),
    "notes.add": ("note", ("body",), {}),
    "open.ref": ("open", ("id",), {}),
    "jobs.radar": ("radar", (), {}),
    "reservations.release": ("release", ("path",), {}),
    "reservations.reserve": ("reserve", ("path",), {}),
    "rooms.close": ("close", (), {}),
    "rooms.join": ("join", ("context_path",), {}),
    "rooms.leave": ("leave", (), {}),
    "rooms.list": ("rooms", ("context_path",), {}),
    "turns.heartbeat": ("heartbeat", (), _FENCE),
    "turns.pass": ("pass", ("to_agent_id",), _FENCE),
    "turns.release": ("release", (), _FENCE),
    "turns.state": ("state", (), {}),
    "turns.takeover": ("takeover", (), _FENCE),
    "turns.wait": ("wait", (), {}),
}
"""Operations with a command of their own: its name, the fields that need no flag, and flags of another name.

A flag without a name is left out: the command finds that by itself.
"""

LABELS = {
    "attention.list": "Needs a human",
    "agents.list": "Agents",
    "events.list": "History",
    "jobs.acknowledge": "Acknowledge",
    "jobs.cancel": "Cancel…",
    "jobs.list": "Jobs",
    "jobs.message": "Reply",
    "jobs.open": "Jobs",
    "jobs.radar": "Jobs",
    "jobs.requeue": "Queue again…",
    "jobs.tail": "Jobs",
    "jobs.waive": "Waive…",
    "messages.ack": "Accept",
    "messages.inbox": "Needs a human",
    "messages.read": "Mark read",
    "messages.send": "Send",
    "open.ref": "Search",
    "permissions.list": "Needs a human",
    "reservations.reserve": "Reserve",
    "reservations.status": "Reservations",
    "rooms.join": "Take the stick",
    "rooms.list": "Overview",
    "runners.list": "Runners",
    "turns.release": "Release…",
    "turns.state": "Stick",
    "turns.takeover": "Take over…",
    "turns.wait": "Take the stick",
}
"""What the page calls them; for others, the verb."""


class NextStep:
    """An operation to call, with what is known of its input."""

    __slots__ = ("given", "operation", "room_id")

    def __init__(self, operation: str, given: Mapping[str, object], room_id: str | None = None) -> None:
        self.operation, self.given, self.room_id = operation, given, room_id

    @property
    def input(self) -> dict[str, object]:
        """The whole input, for those who have to name the room."""
        room = {} if self.operation in WITHOUT_ROOM else {ROOM: self.room_id or ANY_ROOM}
        return {**room, **self.given}


Spelling: TypeAlias = Callable[[NextStep], str]
"""How one surface writes a step down."""


def step(operation: str, /, **given: object) -> str:
    """A call to make next, as a part of a hint or a notice."""
    fields = json.dumps(given, separators=(",", ":")).replace("<", "\\u003c").replace(">", "\\u003e") if given else ""
    return f"<<{operation} {fields}>>" if fields else f"<<{operation}>>"


def known(*names: str, otherwise: str) -> str:
    """A value of a step that is found, by the first of these names, in a refusal's details or in what was asked for."""
    return f"{{{','.join(names)}|{otherwise}}}"


def said(text: str, spelling: Spelling | None, about: Mapping[str, object] | None = None) -> str:
    """The sentence with its steps in the words of a surface; as declared for one that says it to somebody else."""
    if "<<" not in text:
        return text

    def spelt(found: re.Match[str]) -> str:
        next_step = _read(found, about or {})
        return f"`{spelling(next_step)}`" if spelling else step(next_step.operation, **next_step.given)

    return _MARK.sub(spelt, text)


def steps_in(text: str) -> Iterator[NextStep]:
    """The steps that a sentence names."""
    for found in _MARK.finditer(text):
        yield _read(found, {})


def _read(found: re.Match[str], about: Mapping[str, object]) -> NextStep:
    given: dict[str, object] = json.loads(found[2]) if found[2] else {}
    room_id = about.get(ROOM)
    filled = {name: _filled(value, about) for name, value in given.items()}
    return NextStep(found[1], filled, room_id if isinstance(room_id, str) else None)


def _filled(value: object, about: Mapping[str, object]) -> object:
    if is_list(value):
        return [_filled(each, about) for each in value]
    wanted = _KNOWN.fullmatch(value) if isinstance(value, str) else None
    if wanted is None:
        return value
    return next((about[name] for name in wanted[1].split(",") if isinstance(about.get(name), str | int)), wanted[2])


def request(step: NextStep) -> str:
    """Over HTTP: `POST /v1/jobs.requeue {"room_id": …}`."""
    return f"POST /v1/{step.operation} {json.dumps(step.input, ensure_ascii=False)}"


def operation(step: NextStep) -> str:
    """By its name, as the bus and the Python client call it; the room is the one the reader is in."""
    return f"{step.operation} {json.dumps(step.given, ensure_ascii=False)}" if step.given else step.operation


def tool_call(step: NextStep) -> str:
    """In MCP: the tool and its arguments."""
    if tool := TOOLS.get(step.operation):
        return f"{tool} {json.dumps(step.input, ensure_ascii=False)}"
    portal = portal_of(step.operation)
    call = {**portal_call(portal, step.operation), "args": step.input}
    return f"{portal} {json.dumps(call, ensure_ascii=False)}"


def portal_of(operation: str) -> str:
    """The portal tool that an operation is behind."""
    noun = operation.partition(".")[0]
    return MANAGE if operation in MANAGED else next((name for name, nouns in PORTALS.items() if noun in nouns), noun)


def portal_call(portal: str, operation: str) -> dict[str, str]:
    """How a portal is asked for an operation."""
    noun, _, verb = operation.partition(".")
    if operation in MANAGED:
        return {"op": operation}
    return {"op": verb} if noun == portal else {"op": CALL, "cmd": operation}


def label(step: NextStep) -> str:
    """On the page: the words on the button, link or card that does it."""
    noun, _, verb = step.operation.partition(".")
    return LABELS.get(step.operation) or f"{verb.replace('_', ' ').replace('.', ' ').capitalize()} ({noun})"


class CommandLine:
    """In a terminal: a line to type. What the reader typed of the global options and the room is in it again."""

    __slots__ = ("_is_person", "_options", "_room")

    def __init__(
        self,
        options: Mapping[str, str] | None = None,
        room_id: str | None = None,
        is_person: Callable[[], bool] = lambda: False,
    ) -> None:
        self._options, self._room, self._is_person = options or {}, room_id, is_person

    def __call__(self, step: NextStep) -> str:
        command, places, flags = COMMANDS.get(step.operation) or (step.operation.replace(".", " "), (), {})
        # A person's command ends at once, so it could not keep a turn that it was given.
        if step.operation == "turns.wait" and self._is_person():
            command = "hold"
        given = dict(step.given)
        words = ["tally", *(f"{flag} {quoted(value)}" for flag, value in self._options.items()), command]
        words += [quoted(_one(given.pop(name))) for name in places if name in given]
        for name, value in given.items():
            if flag := "room" if name == "room_id" else flags.get(name, name):
                words += _flags(flag, value)
        if self._room and step.operation not in WITHOUT_ROOM and "room_id" not in step.given:
            words += ["--room", quoted(self._room)]
        return " ".join(words)


def _one(value: object) -> object:
    """A list in one word, as commands take several names."""
    return ",".join(str(each) for each in value) if is_list(value) else value


def _flags(name: str, value: object) -> Iterator[str]:
    flag = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        yield flag if value else f"--no-{flag[2:]}"
    elif is_object(value) and name == "handoff":
        for part, text in value.items():
            yield from _flags(part, text)
    elif is_object(value):
        yield f"{flag} {quoted(json.dumps(value, ensure_ascii=False))}"
    elif is_list(value):
        for each in value:
            yield f"{flag} {quoted(each)}"
    else:
        yield f"{flag} {quoted(value)}"


def quoted(value: object) -> str:
    """A word as a shell reads it."""
    text = str(value)
    if re.fullmatch(r"[\w@%+=:,./-]+", text, re.ASCII):
        return text
    if not re.search(r'["$`\\!]', text):
        return f'"{text}"'
    return "'" + text.replace("'", "'\"'\"'") + "'"
