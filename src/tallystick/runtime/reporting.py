"""All that an attached agent says on the bus, each with a key of its own: however often it is said, it is said once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tallystick.kernel.errors import Refused
from tallystick.kernel.ids import digest
from tallystick.runtime.model import Errand
from tallystick.runtime.rules import Ending
from tallystick.runtime.telling import Tell

SAID_BEFORE = frozenset(
    {"duplicate_result", "action_finished", "already_replied", "duplicate_action_id", "duplicate_group"}
)
"""Refusals that mean: this is on the ledger already."""

ID_LIMIT = 200


class Asking(Protocol):
    """The part of a line that is needed here."""

    def ask(
        self, type: str, payload: Mapping[str, object], *, key: str | None = None, dst: str | None = None
    ) -> dict[str, object]: ...


class Reports:
    def __init__(self, line: Asking, tell: Tell) -> None:
        self._line, self._tell = line, tell

    def result(self, errand: Errand, status: str, detail: str = "", data: Mapping[str, object] | None = None) -> bool:
        """Whether it was taken; an action that is finished on the ledger takes no more results."""
        said = {"action_id": errand.action_id, "status": status}
        payload: dict[str, object] = {**said, "detail": detail} if detail else {**said}
        if data:
            payload["data"] = data
        return self._said("action.result", payload, f"{errand.action_id}:{status}")

    def task(self, errand: Errand, status: str, detail: str = "", *, number: int = 0) -> None:
        payload: dict[str, object] = {"task_id": errand.task_id, "status": status, "context": _context(errand)}
        if detail:
            payload["detail"] = detail
        self._said("actions.task", payload, f"{errand.action_id}:task:{status}:{number}")

    def end(self, ending: Ending) -> None:
        """The reply first: whoever sees the result knows that the reply is there."""
        errand = ending.errand
        if ending.reply is not None:
            self._reply(errand, ending.reply)
        if ending.task_status == "done":
            payload = {"task_id": errand.task_id, "summary": ending.detail, **_context(errand)}
            self._said("task.done", payload, f"{errand.action_id}:done")
        elif ending.task_status:
            self.task(errand, ending.task_status, ending.detail)
        self.result(errand, ending.status, ending.detail)

    def _reply(self, errand: Errand, text: str) -> None:
        name = f"reply:{errand.action_id}"
        name = name if len(name) <= ID_LIMIT else f"reply:{digest(name, length=40)}"
        action = {
            "type": "message",
            "dst": errand.src,
            "action_id": name,
            "action_index": 0,
            "kind": "reply",
            "text": text,
            "reply_to_action_id": errand.action_id,
        }
        payload: dict[str, object] = {"group_id": name, "actions": [action], "task_id": errand.task_id}
        try:
            self._line.ask("action.submit", payload, key=_key(name))
        except Refused as refused:
            if refused.code == "agent_not_found":
                # People and services have no queue; they find the reply in their inbox.
                message = {"text": text, "kind": "reply", "reply_to_action_id": errand.action_id}
                self._said("message.created", message, f"{name}:message", dst=errand.src)
            elif refused.code not in SAID_BEFORE:
                self._tell(f"the reply to {errand.src} was refused: {refused.message}")

    def _said(self, type: str, payload: Mapping[str, object], key: str, *, dst: str | None = None) -> bool:
        try:
            self._line.ask(type, payload, key=_key(key), dst=dst)
        except Refused as refused:
            if refused.code not in SAID_BEFORE:
                self._tell(f"{type} was refused: {refused.message}")
            return False
        return True


def _key(name: str) -> str:
    """An action's id may be as long as a key may be, so the key is made from it."""
    return digest(name, length=40)


def _context(errand: Errand) -> dict[str, str]:
    return {"context_id": errand.context_id} if errand.context_id else {}
