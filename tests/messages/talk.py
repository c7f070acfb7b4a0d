"""Short words for what the tests of messages do again and again."""

from __future__ import annotations

import hashlib
from typing import cast

from tallystick.kernel.caller import Caller, SessionKind
from tallystick.kernel.envelope import Draft
from tests.scene import Actor, Row, Scene


def say(actor: Actor, text: str = "hello", /, **given: object) -> Row:
    """Send a message and give its event."""
    return cast("Row", actor.here("messages.send", text=text, **given)["event"])


def ask_attention(actor: Actor, text: str = "please look", /, **given: object) -> Row:
    return say(actor, text, priority="attention", **given)


def file(actor: Actor, content: str = "a log") -> str:
    """Put a file into the room and give the path that an attachment names."""
    sha256 = hashlib.sha256(content.encode()).hexdigest()
    data: Row = {"sha256": sha256, "bytes": len(content), "mime_type": "text/plain", "name": "log.txt"}
    with actor.scene.hub.writing() as tx:
        tx.lock(actor.room_id)
        tx.append(actor.room_id, actor.caller.agent_id, [Draft(kind="x.tally.blob.put", data=data)])
    return f"blobs/{sha256}"


def notify(actor: Actor, kind: str = "info", **given: object) -> Row:
    """Send a notification and give its event."""
    return cast("Row", actor.here("notifications.send", kind=kind, **given)["event"])


def inbox(actor: Actor, **given: object) -> Row:
    return actor.here("messages.inbox", **given)


def texts(actor: Actor, **given: object) -> list[str]:
    """What an inbox shows, oldest first."""
    return [each["event"]["data"]["text"] for each in inbox(actor, **given)["messages"]]


def counts(actor: Actor) -> tuple[int, int]:
    """How many are unread, and how many acks are owed."""
    found = inbox(actor)
    return found["unread"], found["unacked"]


def kinds(actor: Actor) -> list[str]:
    """The kinds of the room's conversation, in order."""
    return [event["kind"] for event in actor.events(limit=1000) if event["kind"].startswith(("chat.", "system."))]


def human(scene: Scene, room_id: str, terminal: str = "pts1") -> Actor:
    """A person at a terminal."""
    return Actor(scene, Caller(agent_id=f"human:eve:{terminal}", session=SessionKind.HUMAN_CLI), room_id)


def principal(scene: Scene, room_id: str, name: str) -> Actor:
    """`user`, `system` or a service, as a token names it."""
    return Actor(scene, Caller(agent_id=name, session=SessionKind.NAMED), room_id)


def elsewhere(actor: Actor, title: str = "elsewhere") -> Actor:
    """The same agent as a member of another room."""
    room_id = cast("str", actor.call("rooms.create", title=title)["room_id"])
    actor.call("rooms.join", room_id=room_id)
    return Actor(actor.scene, actor.caller, room_id)
