"""Our end of the bus: requests that are answered however often the hub goes and comes back, and what it brings us.

One thread connects, adds the agent and reads. Everybody else asks: a request that found no hub, or whose hub went away
before it answered, is sent again under its key, so it is done once.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

from tallystick.client import refusals
from tallystick.client.calling import FIRST_PAUSE, LONGEST_PAUSE
from tallystick.client.place import HubNotRunning
from tallystick.kernel.clock import system_clock, to_wire
from tallystick.kernel.errors import TallyError, TooLarge, Unavailable
from tallystick.kernel.ids import new_id
from tallystick.runtime.wires import Wire

Envelope = Mapping[str, object]
LINE_LIMIT = 1024 * 1024


class LineClosed(Unavailable):
    """This agent has hung up."""

    hint = "Attach it again with `tally attach`."


class Line:
    def __init__(
        self,
        connect: Callable[[], Wire],
        agent: str,
        *,
        brought: Callable[[Envelope], None],
        ended: Callable[[TallyError], None],
        tell: Callable[[str], None],
    ) -> None:
        """Refused at once when no hub runs.

        `brought` gets whatever comes unasked, `ended` is called when all is over; both on another thread.
        """
        self.agent, self.room_id = agent, ""
        self._connect, self._brought, self._ended, self._tell = connect, brought, ended, tell
        self._change = threading.Condition()
        self._wire: Wire | None = None
        self._asked: dict[str, queue.SimpleQueue[Envelope | None]] = {}
        self._closed = self._added = False
        self._wrong: TallyError | None = None
        threading.Thread(target=self._keep, args=(connect(),), daemon=True).start()

    def enter(self, room_id: str | None, path: Path) -> str:
        """Become a member of a room, by its id or as the one of a folder."""
        where = {"room_id": room_id} if room_id else {"context_path": str(path)}
        self.room_id = cast("str", self.ask("rooms.join", where)["room_id"])
        return self.room_id

    def add(self) -> None:
        """From now on, and after every reconnection, what is asked of this agent comes here."""
        self._added = True
        self.ask("agent.add", {"id": self.agent})

    def ask(
        self, type: str, payload: Mapping[str, object], *, key: str | None = None, dst: str | None = None
    ) -> dict[str, object]:
        """The reply's payload; raises the hub's own refusal."""
        envelope = self._envelope(type, payload, dst=dst, idempotency_key=key)
        line = _line(envelope)
        pause = FIRST_PAUSE
        while True:
            reply = self._once(cast("str", envelope["id"]), line)
            if reply is None:
                continue
            if reply.get("status") != "error":
                return cast("dict[str, object]", reply.get("payload") or {})
            refusal = _refusal(cast("Mapping[str, object]", reply.get("error") or {}))
            if not isinstance(refusal, Unavailable):
                raise refusal
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    @property
    def connected(self) -> bool:
        return self._wire is not None

    def close(self) -> None:
        with self._change:
            self._closed = True
            self._hang_up()
            self._change.notify_all()

    def _envelope(self, type: str, payload: Mapping[str, object], **more: object) -> Envelope:
        head = {"v": 1, "type": type, "id": new_id(), "ts": to_wire(system_clock()), "src": self.agent}
        given = {name: value for name, value in more.items() if value is not None}
        session = {"session": self.room_id} if self.room_id else {}
        return {**head, **session, **given, "payload": payload}

    def _once(self, corr: str, line: bytes) -> Envelope | None:
        """One reply; None when the connection went away first."""
        answer = queue.SimpleQueue[Envelope | None]()
        with self._change:
            while self._wire is None:
                if self._wrong or self._closed:
                    raise self._wrong or LineClosed()
                self._change.wait()
            self._asked[corr] = answer
            try:
                self._wire.send(line)
            except OSError:
                self._asked.pop(corr, None)
                self._hang_up()
                self._change.wait(LONGEST_PAUSE)
                return None
        return answer.get()

    def _keep(self, wire: Wire) -> None:
        """Read until there is nothing more to read; then find the hub again, and go on."""
        try:
            while True:
                self._read(wire)
                wire = self._again()
        except TallyError as wrong:
            over = self._wrong or wrong
        with self._change:
            self._wrong = over
            self._hang_up()
            self._change.notify_all()
        self._ended(over)

    def _read(self, wire: Wire) -> None:
        if self._added:
            self._add(wire)
        with self._change:
            if self._closed:
                wire.cut()
                raise LineClosed
            self._wire = wire
            self._change.notify_all()
        try:
            for line in wire.lines():
                self._take(cast("Envelope", json.loads(line)))
        except (OSError, ValueError):
            pass  # Cut off, perhaps in the middle of a line: as good as its end.
        with self._change:
            self._wire = None
            for waiting in self._asked.values():
                waiting.put(None)
            self._asked.clear()

    def _add(self, wire: Wire) -> None:
        """The first words after a reconnection; the reply comes with the rest, and a refusal ends it all."""
        envelope = self._envelope("agent.add", {"id": self.agent})
        answer = queue.SimpleQueue[Envelope | None]()
        self._asked[cast("str", envelope["id"])] = answer
        try:
            wire.send(_line(envelope))
        except OSError:
            return  # The reading that follows notices.
        threading.Thread(target=self._check, args=(answer,), daemon=True).start()

    def _check(self, answer: queue.SimpleQueue[Envelope | None]) -> None:
        reply = answer.get()
        if reply and reply.get("status") == "error":
            refusal = _refusal(cast("Mapping[str, object]", reply.get("error") or {}))
            if not isinstance(refusal, Unavailable):
                self._wrong = refusal
                self.close()

    def _take(self, envelope: Envelope) -> None:
        corr = envelope.get("corr")
        waiting = self._asked.pop(corr, None) if isinstance(corr, str) else None
        if waiting:
            waiting.put(envelope)
        else:
            self._brought(envelope)

    def _again(self) -> Wire:
        self._tell("the hub is away; waiting for it")
        pause = FIRST_PAUSE
        while True:
            with self._change:
                if self._closed:
                    raise self._wrong or LineClosed()
                self._change.wait(pause)
            try:
                wire = self._connect()
            except HubNotRunning:
                pause = min(pause * 2, LONGEST_PAUSE)
            else:
                self._tell("the hub is back")
                return wire

    def _hang_up(self) -> None:
        wire, self._wire = self._wire, None
        if wire:
            wire.cut()


def _line(envelope: Envelope) -> bytes:
    # Halves of characters, which JSON can hold and UTF-8 cannot, would make it a line that nobody can answer.
    line = json.dumps(envelope, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    if len(line) > LINE_LIMIT:
        raise TooLarge(f"One envelope has at most {LINE_LIMIT} bytes.", limit=LINE_LIMIT)
    return line


def _refusal(error: Mapping[str, object]) -> TallyError:
    return refusals.of(503 if error.get("retryable") else 400, error)
