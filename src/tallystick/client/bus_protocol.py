"""One end of the bus without its wires: what to send, which reply answers what, and what to say after a reconnection.

It does no I/O; `bus` carries it out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tallystick.client import calls
from tallystick.kernel.clock import system_clock, to_wire
from tallystick.kernel.errors import TallyError, TooLarge, Unavailable
from tallystick.kernel.ids import new_id

Envelope: TypeAlias = Mapping[str, Any]
LINE_LIMIT = 1024 * 1024


class BusClosed(Unavailable):
    """This end of the bus has hung up."""

    hint = "Open another connection."


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """An envelope to send, and the id under which its reply comes."""

    id: str
    line: bytes


@dataclass(slots=True, kw_only=True)
class KeptSession:
    """A session in which this agent is."""

    name: str | None
    cursor: int | None = None
    """Results of our own actions up to here have come."""


class Talk:
    def __init__(self, agent: str) -> None:
        self.agent = agent
        self._kept: dict[str, KeptSession] = {}
        self._reattaching: set[str] = set()
        """What was asked to enter the sessions again on this connection."""

    def ask(
        self,
        type: str,
        payload: Mapping[str, object],
        *,
        session: str | None = None,
        dst: str | None = None,
        key: str | None = None,
    ) -> Asked:
        """A request; under its key it is done once, however often it is sent."""
        head = {"v": 1, "type": type, "id": (id := new_id()), "ts": to_wire(system_clock()), "src": self.agent}
        optional = {"session": session, "dst": dst, "idempotency_key": key}
        given = {name: value for name, value in optional.items() if value is not None}
        return Asked(id=id, line=_line({**head, **given, "payload": payload}))

    def join(self, session: str, name: str | None) -> Asked:
        """Enter a session, now and after every reconnection: what is asked of this agent comes to us."""
        return self._attach(session, self._kept.setdefault(session, KeptSession(name=name)))

    def forget(self, session: str) -> None:
        self._kept.pop(session, None)

    def leave(self, session: str) -> Asked:
        self.forget(session)
        return self.ask("agent.remove", {"id": self.agent}, session=session)

    def reattached(self) -> list[Asked]:
        """The first words on a new connection."""
        again = [self._attach(session, kept) for session, kept in self._kept.items()]
        self._reattaching = {each.id for each in again}
        return again

    def _attach(self, session: str, kept: KeptSession) -> Asked:
        optional = {"name": kept.name, "since_seq": kept.cursor}
        given = {name: value for name, value in optional.items() if value is not None}
        return self.ask("agent.add", {"id": self.agent, **given}, session=session)

    def hear(self, line: bytes) -> Envelope | None:
        """What came, or None when it only confirms a session; how far we have heard is noted.

        Raises the refusal of a session, or `ConnectionAbortedError` where the next connection may get it.
        """
        envelope: Envelope = json.loads(line)
        self._note(envelope)
        if envelope.get("corr") not in self._reattaching:
            return envelope
        try:
            answer(envelope)
        except Unavailable as busy:
            raise ConnectionAbortedError from busy
        return None

    def _note(self, envelope: Envelope) -> None:
        kept = self._kept.get(envelope.get("session", ""))
        if kept:
            payload: Mapping[str, Any] = envelope.get("payload") or {}
            match envelope.get("type"):
                case "agent.add" if kept.cursor is None and envelope.get("status") == "ok":
                    kept.cursor = payload["cursor"]
                case "action.result" if "corr" not in envelope:
                    kept.cursor = envelope["seq"]
                case "agent.replaced":
                    # Another connection speaks for this agent; to come back would only be to fight over it.
                    self.forget(envelope["session"])
                case _:
                    pass


def answer(reply: Envelope) -> dict[str, object]:
    """A reply's payload, or the hub's own refusal raised."""
    if reply.get("status") != "error":
        return reply.get("payload") or {}
    raise refusal(reply)


def refusal(reply: Envelope) -> TallyError:
    error: Mapping[str, object] = reply.get("error") or {}
    return calls.refusal_of(503 if error.get("retryable") else 400, error)


def _line(envelope: Envelope) -> bytes:
    # Halves of characters, which JSON can hold and UTF-8 cannot, would make it a line that nobody can answer.
    line = json.dumps(envelope, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    if len(line) > LINE_LIMIT:
        raise TooLarge(f"One envelope has at most {LINE_LIMIT} bytes.", limit=LINE_LIMIT)
    return line
