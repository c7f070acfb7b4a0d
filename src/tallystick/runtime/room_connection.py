"""An attached agent's connection to the one room that it works in, over the bus, and all that it reports there.

Every report has a key of its own: however often it is sent, it counts once. What happens is also logged on a terminal,
one line each, and nothing that somebody else wrote reaches it unescaped.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, TextIO, TypeAlias

from tallystick.capabilities.rooms.contract import JoinRoomResult
from tallystick.client import typed
from tallystick.client.bus import BusClient
from tallystick.client.bus_protocol import BusClosed, Envelope
from tallystick.commandline.output import visible
from tallystick.harnesses.headless import protocol
from tallystick.kernel.errors import Refused, TallyError
from tallystick.kernel.ids import digest
from tallystick.runtime.rules import ActionDelivery, ActionEnding

Tell: TypeAlias = Callable[[str], None]

WIDTH = 300


def teller(name: str, out: TextIO = sys.stderr) -> Tell:
    lock = threading.Lock()

    def tell(text: str) -> None:
        with lock:
            print(f"{name}: {plain(text)}", file=out, flush=True)

    return tell


def plain(text: str) -> str:
    """On one line; what does not print is shown instead of sent."""
    return visible(protocol.one_line(text, WIDTH))


class RoomConnection:
    def __init__(
        self,
        agent: str,
        *,
        data_dir: Path,
        url: str | None = None,
        token: str | None = None,
        brought: Callable[[Envelope], None],
        ended: Callable[[TallyError], None],
        tell: Tell,
    ) -> None:
        """Refused at once when no hub runs; one that goes away later is waited for without end.

        `brought` gets whatever comes unasked, `ended` is called when all is over; both on another thread.
        """

        def noticed(there: bool) -> None:
            tell("the hub is back" if there else "the hub is away; waiting for it")

        self.agent, self.room_id = agent, ""
        self._brought, self._ended = brought, ended
        self._bus = BusClient(agent=agent, data_dir=data_dir, url=url, token=token, patience=math.inf, noticed=noticed)
        threading.Thread(target=self._listen, daemon=True).start()

    def enter(self, room_id: str | None, path: Path) -> str:
        """Become a member of a room, by its id or as the one of a folder."""
        where = {"room_id": room_id} if room_id else {"context_path": str(path)}
        self.room_id = typed.read(self.ask("rooms.join", where), JoinRoomResult).room_id
        return self.room_id

    def add(self) -> None:
        """From now on what is asked of this agent comes here."""
        self._bus.join(self.room_id)

    def ask(
        self, type: str, payload: Mapping[str, object], *, key: str | None = None, dst: str | None = None
    ) -> dict[str, object]:
        """The reply's payload; raises the hub's own refusal."""
        return self._bus.ask(type, payload, session=self.room_id or None, dst=dst, key=key)

    @property
    def connected(self) -> bool:
        return self._bus.connected

    def close(self) -> None:
        self._bus.close()

    def _listen(self) -> None:
        why: TallyError = BusClosed()
        try:
            for envelope in self._bus.deliveries():
                self._brought(envelope)
        except TallyError as wrong:
            why = wrong
        self._ended(why)


SAID_BEFORE = frozenset(
    {"duplicate_result", "action_finished", "already_replied", "duplicate_action_id", "duplicate_group"}
)
"""Refusals that mean: this is on the ledger already."""

ID_LIMIT = 200


class BusRequests(Protocol):
    """The part of a line that is needed here."""

    def ask(
        self, type: str, payload: Mapping[str, object], *, key: str | None = None, dst: str | None = None
    ) -> dict[str, object]: ...


class ActionReports:
    def __init__(self, line: BusRequests, tell: Tell) -> None:
        self._line, self._tell = line, tell

    def result(
        self, action: ActionDelivery, status: str, detail: str = "", data: Mapping[str, object] | None = None
    ) -> bool:
        """Whether it was taken; an action that is finished on the ledger takes no more results."""
        said = {"action_id": action.action_id, "status": status}
        payload: dict[str, object] = {**said, "detail": detail} if detail else {**said}
        if data:
            payload["data"] = data
        return self._said("action.result", payload, f"{action.action_id}:{status}")

    def task(self, action: ActionDelivery, status: str, detail: str = "", *, number: int = 0) -> None:
        payload: dict[str, object] = {"task_id": action.task_id, "status": status, "context": _context(action)}
        if detail:
            payload["detail"] = detail
        self._said("actions.task", payload, f"{action.action_id}:task:{status}:{number}")

    def end(self, ending: ActionEnding) -> None:
        """The reply first: whoever sees the result knows that the reply is there."""
        action = ending.action
        if ending.reply is not None:
            self._reply(action, ending.reply)
        if ending.task_status == "done":
            payload = {"task_id": action.task_id, "summary": ending.detail, **_context(action)}
            self._said("task.done", payload, f"{action.action_id}:done")
        elif ending.task_status:
            self.task(action, ending.task_status, ending.detail)
        self.result(action, ending.status, ending.detail)

    def _reply(self, action: ActionDelivery, text: str) -> None:
        name = f"reply:{action.action_id}"
        name = name if len(name) <= ID_LIMIT else f"reply:{digest(name, length=40)}"
        reply = {
            "type": "message",
            "dst": action.src,
            "action_id": name,
            "action_index": 0,
            "kind": "reply",
            "text": text,
            "reply_to_action_id": action.action_id,
        }
        payload: dict[str, object] = {"group_id": name, "actions": [reply], "task_id": action.task_id}
        try:
            self._line.ask("action.submit", payload, key=_key(name))
        except Refused as refused:
            if refused.code == "agent_not_found":
                # People and services have no queue; they find the reply in their inbox.
                message = {"text": text, "kind": "reply", "reply_to_action_id": action.action_id}
                self._said("message.created", message, f"{name}:message", dst=action.src)
            elif refused.code not in SAID_BEFORE:
                self._tell(f"the reply to {action.src} was refused: {refused.message}")

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


def _context(action: ActionDelivery) -> dict[str, str]:
    return {"context_id": action.context_id} if action.context_id else {}
