"""Each kind of event in plain words: its label, whom it concerns and what it says. The labels are the protocols'."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from tallystick.surfaces.web import filters
from tallystick.surfaces.web.page import Facts

Words: TypeAlias = Mapping[str, Any]
"""Fields of a row: tag, tone, to, text, handoff, speech."""


def _message(data: Facts) -> Words:
    tag = "asks for attention" if data.get("priority") == "attention" else ""
    return {"text": data.get("text", ""), "to": data.get("to") or ["@all"], "tag": tag, "tone": "b", "speech": True}


def _notice(data: Facts) -> Words:
    said = [data.get("title"), data.get("message")]
    to = [data["target_actor_id"]] if data.get("target_actor_id") else ["@all"]
    return {"tag": data.get("kind", "notice"), "text": "\n".join(each for each in said if each), "to": to}


def _handed(data: Facts) -> Words:
    to = [data["reserved_for"]] if data.get("reserved_for") else []
    return {"tag": "Passed to" if to else "Released", "tone": "h", "to": to, "handoff": data.get("handoff")}


def _taken(data: Facts) -> Words:
    lost = data.get("from_agent_id")
    text = f"turn {data['turn_id']}" + (f", from {filters.person(lost)}" if lost else "")
    return {"tag": "Took over", "tone": "i", "text": f"{text}: {data.get('reason') or ''}"}


def _to(data: Facts) -> list[str]:
    return [data["to_agent"]] if data.get("to_agent") else []


def _payload(data: Facts) -> Facts:
    found: object = data.get("payload")
    return cast("Facts", found) if isinstance(found, dict) else {}


def _passed_on(data: Facts) -> Words:
    said = _payload(data)
    handoff = {"status": said.get("summary", ""), "next_action": said.get("next_action", "")}
    return {
        "tag": "Passed to",
        "tone": "h",
        "to": _to(data),
        "text": said.get("subject", ""),
        "handoff": handoff,
        "speech": True,
    }


def _blocked(data: Facts) -> Words:
    said = _payload(data)
    lines = [said.get("subject", ""), f"blocked by: {said.get('blocker', '')}", said.get("requested_action", "")]
    text = "\n".join(line for line in lines if line)
    return {"tag": "Needs input", "tone": "b", "to": _to(data), "text": text, "speech": True}


def _incursion(data: Facts) -> Words:
    said = _payload(data)
    owner = filters.person(str(data.get("to_agent") or said.get("owner_agent", "")))
    incoming = filters.person(str(data.get("from_agent") or said.get("incoming_agent", "")))
    held = f"reserved by {owner} ({said.get('owner_liveness', 'unknown')}, {said.get('incursion_kind', '')})"
    return {"tag": "Incursion", "tone": "i", "text": f"{incoming} tried {data.get('scope')}, {held}. {_hint(said)}"}


def _hint(said: Facts) -> str:
    return str(said.get("resolution_hint") or "")


def _resumed(data: Facts) -> Words:
    said = _payload(data)
    session = filters.person(str(data.get("from_agent") or data.get("session_id") or ""))
    text = f"{session} adopted {filters.person(str(said.get('adopted_agent', '')))}: {said.get('evidence', '')}"
    return {"tag": "Resumed", "tone": "r", "text": text}


def _reserved(data: Facts) -> Words:
    return {"tag": "Reserved", "text": f"{data.get('path')} ({data.get('mode')})"}


def _action(data: Facts) -> Words:
    said = data.get("text") or data.get("args") or ""
    label = f"Control: {data['command']}" if data.get("command") else "Action"
    return {"tag": label, "tone": "h", "to": [data["dst"]] if data.get("dst") else [], "text": said}


def _result(data: Facts) -> Words:
    status = str(data.get("status", ""))
    tone = {"completed": "r", "accepted": "r", "error": "i", "rejected": "i", "blocked": "b"}.get(status, "")
    return {"tag": f"Result: {status}", "tone": tone, "text": data.get("detail") or str(data.get("action_id", ""))}


def _job(data: Facts) -> Words:
    event = str(data.get("event", ""))
    tones = {"question": "b", "proof_gate": "i", "error": "i", "failed": "i", "completed": "r", "done": "r"}
    first = {"created": "title", "completed": "summary"}.get(event, "message")
    said = data.get(first) or data.get("message") or data.get("summary") or ""
    return {"tag": f"Job {filters.spaced(event)}", "tone": tones.get(event, ""), "text": said}


def _thing(label: str) -> Callable[[Facts], Words]:
    """A task, card or anchor that was made or changed."""

    def tell(data: Facts) -> Words:
        name = data.get("card_id") or data.get("anchor_id") or ""
        said = [str(each) for each in (name, data.get("title"), data.get("status")) if each]
        return {"tag": label, "text": " · ".join(said)}

    return tell


TOLD: Mapping[str, Callable[[Facts], Words]] = {
    "chat.message": _message,
    "system.notify": _notice,
    "x.tally.stick.release": _handed,
    "x.tally.stick.pass": _handed,
    "x.tally.stick.claim": lambda data: {"tag": "Has the stick", "tone": "r", "text": f"turn {data['turn_id']}"},
    "x.tally.stick.takeover": _taken,
    "x.tally.stick.close": lambda data: {"tag": "Closed the room", "tone": "i", "text": data.get("reason") or ""},
    "x.tally.note.add": lambda data: {"tag": "Note", "text": data.get("body", "")},
    "group.create": lambda data: {"tag": "Opened the room", "tone": "r", "text": data.get("title", "")},
    "actor.add": lambda data: {"tag": "Joined", "tone": "r", "text": data.get("harness") or ""},
    "actor.remove": lambda _: {"tag": "Left"},
    "x.tally.protocol.handoff": _passed_on,
    "x.tally.protocol.blocked": _blocked,
    "x.tally.protocol.incursion": _incursion,
    "x.tally.protocol.resume": _resumed,
    "x.tally.reservation.grant": _reserved,
    "x.tally.reservation.renew": lambda data: {"tag": "Keeps", "text": str(data.get("path", ""))},
    "x.tally.reservation.release": lambda data: {"tag": "Gave back", "text": str(data.get("path", ""))},
    "x.tally.reservation.expire": lambda data: {"tag": "Reservation over", "text": str(data.get("path", ""))},
    "x.tally.task.create": _thing("New task"),
    "x.tally.task.update": _thing("Task changed"),
    "x.tally.card.create": _thing("New card"),
    "x.tally.card.update": _thing("RoomCard changed"),
    "x.tally.anchor.create": _thing("New anchor"),
    "x.tally.anchor.update": _thing("Anchor changed"),
    "actor.update": lambda data: {"tag": "Is called", "text": data.get("name") or ""},
    "group.reorder": lambda data: {"tag": "New order", "text": ", ".join(data.get("sequence") or [])},
    "x.tally.action.submit": _action,
    "x.tally.action.result": _result,
}
_FAMILIES: Mapping[str, Callable[[Facts], Words]] = {"x.tally.job.": _job}


def told(kind: str, data: Facts) -> Words:
    """The words for an event; a kind the page knows nothing of is called by its name."""
    found = TOLD.get(kind) or next((tell for start, tell in _FAMILIES.items() if kind.startswith(start)), None)
    return found(data) if found else {"tag": kind, **_otherwise(data)}


def _otherwise(data: Facts) -> Words:
    """The first words there are, whatever they are called."""
    for name in ("text", "message", "title", "summary", "body", "did", "status"):
        if isinstance(said := data.get(name), str) and said:
            return {"text": said}
    return {"text": ", ".join(f"{name}: {value}" for name, value in data.items())}
