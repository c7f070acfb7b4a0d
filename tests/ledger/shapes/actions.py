"""Actions of agents for each other, and what comes of them."""

from __future__ import annotations

from typing import cast

from tests.ledger.shapes.writer import Writer
from tests.scene import Row


def actions(w: Writer) -> None:
    ada, bob = w.room("actions", "ada", "bob")
    task = cast("str", ada.here("tasks.create", title="a task")["task_id"])
    first: Row = {
        "type": "message",
        "dst": "bob",
        "action_id": "a1",
        "action_index": 0,
        "kind": "user",
        "text": "plan it",
    }
    w.shape("chat.message, action.submit: a message, as short as can be")
    ada.here("actions.submit", group_id="g1", actions=[first])
    said = cast("str", ada.events(kinds=["chat.message"])[0]["id"])
    w.shape("chat.message, action.submit: a message and controls with all fields")
    follow: Row = {
        **first,
        "action_id": "a2",
        "reply_to_action_id": "a1",
        "plan": {"steps": ["read"], "note": "slowly"},
    }
    review: Row = {"type": "control", "dst": "bob", "action_id": "a3", "action_index": 1, "command": "review"}
    new: Row = {**review, "action_id": "a4", "action_index": 2, "command": "new"}
    ada.here(
        "actions.submit",
        group_id="g2",
        actions=[follow, {**review, "args": "only src"}, new],
        context={"context_id": "g1", "owner_id": "ada", "parent_message_id": said},
        task_id=task,
    )
    w.shape("chat.message, action.submit: a plan without a note, by a person")
    by_name: Row = {**first, "action_id": "p1", "plan": {"steps": []}}
    w.person(ada.room_id).here("actions.submit", group_id="p", actions=[by_name])
    w.shape("action.result: as short as can be")
    bob.here("actions.result", action_id="a1", status="accepted")
    w.shape("chat.message, action.submit: a reply")
    reply: Row = {**first, "dst": "ada", "action_id": "b1", "kind": "reply", "text": "done", "reply_to_action_id": "a1"}
    bob.here("actions.submit", group_id="g3", actions=[reply])
    w.shape("action.result: with all fields")
    bob.here(
        "actions.result",
        action_id="a1",
        status="completed",
        group_id="g1",
        action_index=0,
        detail="d",
        data={"b": 1, "a": {}},
    )
    for status in ("queued", "blocked", "rejected"):
        w.shape(f"action.result: {status}")
        bob.here("actions.result", action_id="a2", status=status)
    w.shape("action.result: error")
    bob.here("actions.result", action_id="a3", status="error", detail="no diff")
    w.shape("action.result: a new conversation was opened")
    bob.here("actions.result", action_id="a4", status="completed", data={"new_context_id": "k2", "new_task_id": "t2"})
    w.shape("chat.message: a reply to an action, by messages.send")
    bob.here("messages.send", text="yes", to=["@user"], conversation={"kind": "reply", "reply_to_action_id": "p1"})
    w.shape("action.task_updated: as short as can be")
    bob.here("actions.task", task_id="own", status="running")
    w.shape("action.task_updated: with all fields")
    context: Row = {"context_id": "g1", "owner_id": "ada", "parent_message_id": said}
    bob.here("actions.task", task_id="own", status="blocked", detail="waiting", context=context)
    w.shape("action.task_done: as short as can be")
    bob.here("actions.task", task_id="own", status="done")
    w.shape("action.task_done: with all fields")
    bob.here("actions.task", task_id="own", status="done", detail="d", summary="s", context={"context_id": "g1"})


def action_relays(w: Writer) -> None:
    ada, _bob = w.room("relaying actions", "ada", "bob")
    w.shape("chat.message, action.submit: by actions.relay")
    control: Row = {"type": "control", "dst": "bob", "command": "interrupt"}
    message: Row = {"type": "message", "dst": "bob", "text": "plan it", "plan": {"steps": ["read"], "note": "slowly"}}
    relayed = ada.here("actions.relay", actions=[control, message])
    w.shape("chat.message, action.submit: by actions.relay, about a task")
    short: Row = {"type": "message", "dst": "bob", "text": "build it"}
    ada.here("actions.relay", actions=[short], context_id=relayed["context_id"], task_id="t1")
    w.shape("action.task_done: by actions.relay, with a summary")
    ada.here("actions.relay", context_id=relayed["context_id"], done={"summary": "planned and built"})
    w.shape("action.task_done: by actions.relay, about a task, without a summary")
    ada.here("actions.relay", context_id=relayed["context_id"], task_id="t1", done={})
