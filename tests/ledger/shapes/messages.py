"""Messages with all they can carry, files, notifications and shared values."""

from __future__ import annotations

import base64
from typing import cast

from tallystick.capabilities.agents.events import MemberUpdated
from tallystick.kernel.caller import Caller, SessionKind
from tests.ledger.shapes.writer import Writer
from tests.scene import Row


def event_id(answer: Row) -> str:
    return cast("str", answer["event"]["id"])


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def messages(w: Writer) -> None:
    ada, bob, cyd = w.room("messages", "ada", "bob", "cyd")
    w.shape("chat.message: as short as can be")
    first = event_id(ada.here("messages.send", text="hello"))
    w.shape("chat.message: with all simple fields")
    asked = event_id(
        bob.here(
            "messages.send",
            text="**see** above",
            format="markdown",
            priority="attention",
            to=["ada", "@user"],
            reply_to=first,
            quote_text="hello",
            thread="t1",
            client_id="c1",
            client_ts="2026-09-21T16:13:20+02:00",
        )
    )
    w.shape("chat.message: from and to elsewhere, for the record")
    elsewhere: Row = {"src_group_id": "g9", "src_event_id": "e9", "dst_group_id": "g8", "dst_to": ["@all"]}
    ada.here("messages.send", text="moved", to=["@peers"], **elsewhere)
    w.shape("chat.message: from and to elsewhere, without its readers")
    ada.here("messages.send", text="moved", to=[], dst_group_id="g8")
    w.shape("chat.message: to the foreman, by a person")
    w.written_before(bob, "agents.update", MemberUpdated(actor_id="bob", name="bob", role="foreman"))
    w.person(ada.room_id).here("messages.send", text="how far?", to=["@foreman"])
    w.shape("chat.message: by a service")
    service = w.caller(ada.room_id, Caller(agent_id="svc:ci", session=SessionKind.NAMED))
    service.here("messages.send", text="build 7 is green")
    w.shape("chat.ack")
    ada.here("messages.ack", event_id=asked)
    w.shape("chat.read: one's own")
    cyd.here("messages.read", event_id=first)
    w.shape("chat.read: by a person for an agent")
    w.person(ada.room_id).here("messages.read", event_id=asked, actor_id="ada")
    w.shape("chat.reaction: an emoji")
    cyd.here("messages.react", event_id=first, emoji="👍")
    w.shape("chat.reaction: by a person, a word")
    w.person(ada.room_id).here("messages.react", event_id=asked, emoji="seen")
    w.shape("context.sync: values are set")
    values: list[Row] = [
        {"op": "set", "name": "goal", "value": {"ship": 2.0}},
        {"op": "set", "name": "x", "value": None},
    ]
    ada.here("context.sync", ops=values)
    w.shape("context.sync: one is deleted, what changes nothing is left out")
    ada.here("context.sync", ops=[values[0], {"op": "delete", "name": "x"}, {"op": "delete", "name": "y"}])


def message_extras(w: Writer) -> None:
    ada, bob = w.room("attachments", "ada", "bob")
    w.shape("blob.put: without a description")
    plain = cast("str", ada.here("blobs.put", content_base64=encoded(b"log\n"))["path"])
    w.shape("blob.put: described")
    described = {"mime_type": "image/png", "name": "žlutý kůň.png"}
    image = cast("str", ada.here("blobs.put", content_base64=encoded(b"\x89PNG"), **described)["path"])
    task: Row = ada.here("tasks.create", title="a task")
    w.shape("chat.message: attachments carry it")
    ada.here("messages.send", text="", attachments=[{"path": plain}])
    w.shape("chat.message: attachments with all fields and one we do not know")
    whole: Row = {"kind": "image", "path": image, "title": "a horse", "mime_type": "image/png", "bytes": 4}
    sha256 = image.removeprefix("blobs/")
    ada.here(
        "messages.send", text="look", attachments=[{**whole, "sha256": sha256, "x_alt": ["a", 1]}, {"path": plain}]
    )
    w.shape("chat.message: every shape of reference")
    slot: Row = {"kind": "presentation_ref", "v": 1, "slot_id": "s1", "status": "needs_user", "locator": {"page": 3}}
    snapshot: Row = {"path": image, "mime_type": "image/png", "width": 2, "height": 1, "source": "screen"}
    references: list[Row] = [
        {"url": "https://example.org/"},
        {"kind": "file", "path": "src/a.py", "title": "a", "bytes": 3, "x_more": {"b": 1, "a": 2}},
        {"kind": "commit", "sha": "abc123"},
        {**slot, "label": "l", "excerpt": "…", "snapshot": snapshot},
        {"kind": "task_ref", "task_id": task["task_id"], "title": "a task", "status": "ready"},
    ]
    ada.here("messages.send", text="see", refs=references)
    w.shape("chat.message: opens a conversation")
    talk: Row = {"context_id": "k1", "owner_id": "ada", "kind": "user", "task_id": "t", "sender_name": "ada"}
    said = event_id(ada.here("messages.send", text="plan it", to=["bob"], conversation=talk))
    w.shape("chat.message: goes on with a conversation, a message before it")
    ada.here("messages.send", text="and?", to=["bob"], conversation={"context_id": "k1", "parent_message_id": said})
    del bob


def relays(w: Writer) -> None:
    ada, bob = w.room("the source of relays", "ada", "bob")
    path = ada.here("blobs.put", content_base64=encoded(b"log\n"), mime_type="text/plain", name="log.txt")["path"]
    task: Row = ada.here("tasks.create", title="bound to its room")
    refs: list[Row] = [{"url": "https://example.org/"}, {"kind": "task_ref", "task_id": task["task_id"]}]
    given: Row = {"attachments": [{"path": path}], "refs": refs, "format": "markdown"}
    whole = event_id(ada.here("messages.send", text="_all_ of it", **given))
    source: Row = {"src_group_id": ada.room_id, "src_event_id": whole}
    here, there = w.room("the target of relays", "ada", "cyd")
    w.shape("chat.message, blob.put: relayed word for word")
    here.here("messages.relay", **source)
    w.shape("chat.message: relayed as a summary, with all fields")
    given = {"summary": "in short", "to": ["cyd"], "priority": "attention", "client_id": "r1"}
    here.here("messages.relay", **source, **given)
    w.shape("chat.message: relayed, and noted where it came from")
    here.here("messages.relay", **source, record=True)
    w.shape("chat.message: relayed and noted by a person")
    w.person(here.room_id).here("messages.relay", **source, record=True, to=["cyd"])
    del bob, there


def notifications(w: Writer) -> None:
    ada, bob = w.room("notifications", "ada", "bob")
    w.shape("system.notify: as short as can be")
    ada.here("notifications.send", kind="info")
    w.shape("system.notify: with all fields")
    note = event_id(ada.here("messages.send", text="hello"))
    told = event_id(
        ada.here(
            "notifications.send",
            kind="status_change",
            priority="urgent",
            title="CI is red",
            message="since 14:00",
            target_actor_id="bob",
            context={"z": 1, "a": {"y": None, "b": [1.5]}},
            requires_ack=True,
            related_event_id=note,
        )
    )
    w.shape("system.notify_ack")
    bob.here("notifications.ack", notify_event_id=told)
    ada.here("messages.send", text="please look", to=["bob", "@user"], priority="attention")
    w.shape("system.notify: an ack is overdue")
    w.scene.clock.forward(minutes=31)
    ada.here("messages.send", text="anybody?")


def overdue_acks(w: Writer) -> None:
    ada, bob = w.room("acks that are overdue", "ada", "bob")
    for operation in ("messages.inbox", "turns.wait"):
        ada.here("messages.send", text="please look", to=["bob"], priority="attention")
        w.scene.clock.forward(minutes=31)
        w.shape(f"system.notify: an ack is overdue, found by {operation}")
        bob.here(operation, **({"include": ["messages"], "max_wait_ms": 0} if operation == "turns.wait" else {}))


def put_aside(w: Writer) -> None:
    (ada,) = w.room("what waits for the person", "ada")
    person = w.person(ada.room_id)
    for text in ("one", "two"):
        ada.here("messages.send", text=text, to=["@user"], priority="attention")
    kept, gone = (each["item"] for each in cast("list[Row]", person.here("attention.list")["items"]))
    w.shape("attention.set_aside: for a while")
    person.here("attention.snooze", item=kept, minutes=60)
    w.shape("attention.set_aside: for good")
    person.here("attention.dismiss", item=gone)
    w.shape("attention.restore")
    person.here("attention.restore", item=gone)
