"""An attached agent's connection to the one room that it works in, over the bus, and all that it reports there.

Every report has a key of its own: however often it is sent, it counts once. What happens is also logged on a terminal,
one line each, and nothing that somebody else wrote reaches it unescaped.
"""

from __future__ import annotations

import base64
import math
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TextIO, TypeAlias

from tallystick.capabilities.blobs.contract import INLINE_LIMIT
from tallystick.capabilities.permissions.contract import PermissionList, PermissionView
from tallystick.capabilities.permissions.events import OptionKind
from tallystick.capabilities.rooms.contract import JoinRoomResult, Rooms
from tallystick.client import typed
from tallystick.client.bus import BusClient
from tallystick.client.bus_protocol import BusClosed, Envelope
from tallystick.commandline.output import visible
from tallystick.harnesses.acp.protocol import AcpOption
from tallystick.harnesses.acp.turn import WantedAction
from tallystick.harnesses.headless import protocol
from tallystick.kernel import ids
from tallystick.kernel.errors import Refused, TallyError
from tallystick.kernel.ids import digest, new_id
from tallystick.runtime import rules
from tallystick.runtime.rules import ActionDelivery, ActionEnding, SettledPermission

Tell: TypeAlias = Callable[[str], None]

WIDTH = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteHub:
    """A hub on another machine."""

    url: str
    token: str = field(repr=False)


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
        """Become a member of a room, by its id or the beginning of it, or as the one of a folder."""
        if room_id and ids.is_beginning(room_id):
            rooms = typed.read(self.ask("rooms.list", {"limit": 1000}), Rooms).rooms
            room_id = ids.meant(room_id, [each.room_id for each in rooms])
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

PERMISSION_WAIT_MS = 60_000
"""One look at whether a request is settled; there is no limit to how often it is taken."""
PATHS_ASKED = 100
_KINDS = frozenset[str](OptionKind)


class BusRequests(Protocol):
    """The part of a line that is needed here."""

    agent: str

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
        stopped = {"interrupted_by": ending.interrupted_by} if ending.interrupted_by else None
        self.result(action, ending.status, ending.detail, stopped)

    def _reply(self, action: ActionDelivery, text: str) -> None:
        """To whoever asked, in the room or not: it is on the ledger, and in that one's inbox."""
        name = f"reply:{digest(action.action_id, length=40)}"
        about = {"kind": "reply", "reply_to_action_id": action.action_id, "task_id": action.task_id, **_context(action)}
        message: dict[str, object] = {"to": [action.src], "text": text, "conversation": about, "client_id": name}
        if action.message_id:
            message["reply_to"] = action.message_id
        if rules.too_long(text):
            message |= {"text": rules.beginning(text), "attachments": [*self._attached(text, name)]}
        self._said("messages.send", message, f"{name}:message")

    def _attached(self, text: str, name: str) -> Iterator[dict[str, object]]:
        """A text that is longer than a message may be, as files that go with one."""
        whole = text.encode()
        parts = [whole[at : at + INLINE_LIMIT] for at in range(0, len(whole), INLINE_LIMIT)]
        for number, content in enumerate(parts, 1):
            title = "answer.txt" if len(parts) == 1 else f"answer-{number}-of-{len(parts)}.txt"
            encoded = base64.b64encode(content).decode()
            given = {"content_base64": encoded, "mime_type": "text/plain", "name": title}
            stored = self._line.ask("blobs.put", given, key=_key(f"{name}:{number}"))
            yield {"kind": "text", "path": stored["path"], "title": title, "mime_type": "text/plain"}

    def _said(self, type: str, payload: Mapping[str, object], key: str, *, dst: str | None = None) -> bool:
        try:
            self._line.ask(type, payload, key=_key(key), dst=dst)
        except Refused as refused:
            if refused.code not in SAID_BEFORE:
                self._tell(f"{type} was refused: {refused.message}")
            return False
        return True


class PermissionRequests:
    """What an agent may not do unasked, put to the room."""

    def __init__(self, line: BusRequests) -> None:
        self._line = line

    def ask(self, action: WantedAction, options: Sequence[AcpOption], action_id: str) -> SettledPermission:
        known = [each for each in options if each.kind in _KINDS]
        given: dict[str, object] = {
            "tool": action.tool,
            "title": action.title,
            "paths": list(action.paths[:PATHS_ASKED]),
            "options": [{"option_id": each.option_id, "name": each.name, "kind": each.kind} for each in known],
            "action_id": action_id,
        }
        more = {"command": action.command, "diff": action.diff}
        given |= {name: value for name, value in more.items() if value is not None}
        return _settled(self._line.ask("permissions.ask", given, key=new_id()))

    def wait(self, number: int) -> SettledPermission:
        return _settled(self._line.ask("permissions.show", {"permission": number, "max_wait_ms": PERMISSION_WAIT_MS}))

    def withdraw(self, number: int, why: str) -> None:
        with suppress(TallyError):
            self._line.ask("permissions.withdraw", {"permission": number, "reason": why})

    def withdraw_all(self, why: str) -> None:
        """What an earlier life of this agent had asked: its harness waits for no answer any more."""
        found = typed.read(self._line.ask("permissions.list", {"agent_id": self._line.agent}), PermissionList)
        for each in found.permissions:
            self.withdraw(each.permission, why)


def _settled(found: Mapping[str, object]) -> SettledPermission:
    view = typed.read(found, PermissionView)
    return SettledPermission(
        number=view.permission,
        title=view.title,
        state=view.state.value,
        by=view.settled_by if view.settled_by and not view.policy else "",
        why=view.message or view.policy or "",
        option_id=view.option_id,
    )


def _key(name: str) -> str:
    """An action's id may be as long as a key may be, so the key is made from it."""
    return digest(name, length=40)


def _context(action: ActionDelivery) -> dict[str, str]:
    return {"context_id": action.context_id} if action.context_id else {}
