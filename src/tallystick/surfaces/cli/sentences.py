"""One sentence for each operation that changes something, filled in from its answer."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SENTENCES: Mapping[str, str] = {
    "actions.relay": "Sent as group {group_id} in conversation {context_id}.",
    "actions.result": "Action {action_id} is {status}.",
    "actions.submit": "Submitted as group {group_id} in conversation {context_id}.",
    "actions.task": "{task_id} is {status}.",
    "agents.adopt": "You go on for {name} ({reason}): {evidence}",
    "agents.heartbeat": "{name} is {liveness}.",
    "agents.register": "You are {agent[name]} ({agent[agent_id]}), {agent[role]}.",
    "agents.update": "{agent[agent_id]} is called {agent[name]}, {agent[role]}{unchanged}.",
    "anchors.create": "{anchor_id} is there: {title}",
    "anchors.update": "{anchor_id} is now: {title}",
    "blobs.put": "Stored {size} bytes as {path}.",
    "cards.create": "{card_id} is written: {title}",
    "cards.update": "{card_id} is now: {title}",
    "context.sync": "The context is at revision {revision}{unchanged}.",
    "events.append": "Appended as event {event[seq]}.",
    "jobs.artifact.put": "Stored {size} characters as {ref}.",
    "jobs.cancel": "{job[job_id]} is canceled.",
    "jobs.claim": "You have {job[job_id]} under claim {claim_revision}: {job[title]}",
    "jobs.complete": "{job[job_id]} is {job[status]}: {job[title]}",
    "jobs.create": "{job[job_id]} is queued: {job[title]}",
    "jobs.message": "Told {job[job_id]}.",
    "jobs.release": "{job[job_id]} is {job[status]} again: {job[title]}",
    "jobs.report": "Reported on {job[job_id]}.",
    "jobs.requeue": "{job[job_id]} is queued again: {job[title]}",
    "messages.ack": "Accepted{already}.",
    "messages.react": "Reacted with {emoji}{already}.",
    "messages.read": "Read up to event {read_seq}; {unread} unread.",
    "notes.add": "Noted as {ref}.",
    "jobs.acknowledge": "Seen: {count} jobs.",
    "notifications.ack": "Accepted{already}.",
    "protocol.send": "Sent to {event[to_agent]} as event {seq}.",
    "reservations.release": "{path} is free again.",
    "rooms.attach_scope": "{root} belongs to this room{unchanged}.",
    "rooms.close": "Closed.",
    "rooms.create": "Opened the room {room_id}.",
    "rooms.leave": "{agent_id} left the room.",
    "rooms.reorder": "The order is now: {sequence}{unchanged}.",
    "rooms.set_policy": "The policy of the room is set{unchanged}.",
    "runners.heartbeat": "The runner {lease[runner_id]} is here.",
    "runners.set_executors": "The executors of this room are set.",
    "tasks.create": "{task_id} is open: {title}",
    "tasks.update": "{task_id} is {status}: {title}",
    "turns.heartbeat": "The stick is yours: turn {turn_id}.",
}


def of(operation: str, data: Mapping[str, Any]) -> str | None:
    """The sentence; None for an operation that is better shown in another way."""
    text = SENTENCES.get(operation)
    if text is None:
        return None
    known = {
        **data,
        "already": ", as it was before" if data.get("already") else "",
        "unchanged": ", as it was before" if data.get("changed") is False else "",
        "sequence": ", ".join(data.get("sequence") or ()),
    }
    return text.format_map(known)
