"""Messages as others see them: what a wait may bring (the `Mail` protocol of `rooms`), and a sign of unread mail."""

from __future__ import annotations

from collections.abc import Collection

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.messages import overdue, queries, rules
from tallystick.capabilities.messages.queries import SQL
from tallystick.capabilities.rooms.model import Mail, Post, Room
from tallystick.kernel.caller import Caller
from tallystick.ledger.tx import Tx

AT_MOST = 50


class MailPost:
    def begin(self, tx: Tx, room_id: str, me: Caller, *, wait_ms: int) -> str:
        present = queries.listener(tx, room_id, me.agent_id)
        if present:
            rules.check_listener(present, tx.process_state(present.process), now=tx.now)
        listener_id = tx.new_id()
        tx.run(
            SQL["listen"],
            room_id=room_id,
            agent_id=me.agent_id,
            listener_id=listener_id,
            since=tx.now,
            until=tx.now + wait_ms + rules.LISTENER_GRACE_MS,
            host_id=me.process.host_id if me.process else None,
            pid=me.process.pid if me.process else None,
            process_started_at=me.process.started_at if me.process else None,
        )
        return listener_id

    def end(self, tx: Tx, room_id: str, me: Caller, listener_id: str) -> None:
        tx.run(SQL["stop_listening"], room_id=room_id, agent_id=me.agent_id, listener_id=listener_id)

    def waiting(self, tx: Tx, room: Room, me: Caller, *, kinds: Collection[str], after: int | None) -> Post:
        if tx.writable:
            overdue.nudge(tx, room)
        room_id, actor_id = room.room_id, agent_rules.principal(me.agent_id)
        start = self._start(tx, room_id, me) if after is None else after
        kind = next(iter(kinds)) if len(kinds) == 1 else None
        letters = queries.letters(tx, room_id, actor_id, start, kind=kind, limit=AT_MOST)
        events = [letter.event for letter in letters]
        # A page that is not full has seen everything up to the head.
        cursor = events[-1].seq if len(events) == AT_MOST else max(start, tx.head(room_id).seq)
        if tx.writable and events:
            tx.run(SQL["heard"], room_id=room_id, agent_id=me.agent_id, seq=cursor)
        return Post(events=events, cursor=cursor, act=bool(events) or overdue.due(tx, room))

    def _start(self, tx: Tx, room_id: str, me: Caller) -> int:
        """Where this member's last wait ended, or what it has read since, whichever is later."""
        listener = queries.listener(tx, room_id, me.agent_id)
        read_seq = queries.inbox(tx, room_id, agent_rules.principal(me.agent_id)).read_seq
        return max(listener.heard_seq if listener else 0, read_seq)


def notice(tx: Tx, room_id: str, me: Caller) -> str | None:
    """What a member who called about something else should know."""
    inbox = queries.inbox(tx, room_id, agent_rules.principal(me.agent_id))
    if not inbox.unread and not inbox.unacked:
        return None
    unread = f"{inbox.unread} unread message{'s' if inbox.unread != 1 else ''}"
    owed = f", {inbox.unacked} need{'s' if inbox.unacked == 1 else ''} your ack" if inbox.unacked else ""
    return f"{unread}{owed}: messages.inbox"


OFFERS: dict[type, object] = {Mail: MailPost()}
