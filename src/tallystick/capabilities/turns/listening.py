"""What a wait brings besides a turn, so that an agent needs one loop: mail, actions, questions of jobs.

A wait that listens is attended: it is the only one of its name, and writes once when it begins and once when it ends.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tallystick.capabilities.actions.operations import next_action
from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.jobs import queries as jobs
from tallystick.capabilities.messages import inbox
from tallystick.capabilities.messages.events import MessageSent, NotificationSent
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.rooms.model import Room
from tallystick.capabilities.turns.contract import WaitTarget, WaitTurn
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Event
from tallystick.kernel.operation import WaitHooks
from tallystick.ledger.contract import Envelope
from tallystick.ledger.tx import Tx

KINDS: Mapping[WaitTarget, str] = {
    WaitTarget.MESSAGES: MessageSent.kind,
    WaitTarget.NOTIFICATIONS: NotificationSent.kind,
}


class WaitNews(msgspec.Struct, frozen=True, kw_only=True):
    """What came in. Without anything to listen for, nothing ever does."""

    events: tuple[Event, ...] = ()
    wanted: tuple[WaitTarget, ...] = ()
    actions: tuple[Mapping[str, object], ...] | None = None
    questions: tuple[Event, ...] | None = None
    cursor: int | None = None
    act: bool = False

    @property
    def something(self) -> bool:
        return bool(self.events or self.actions or self.questions)

    @property
    def fields(self) -> dict[str, object]:
        """The part of an answer that carries it: one list for each thing that was asked for."""
        found: dict[str, object] = {
            wanted.value: [Envelope.of(event) for event in self.events if event.kind == KINDS[wanted]]
            for wanted in self.wanted
        }
        if self.actions is not None:
            found[WaitTarget.ACTIONS.value] = [dict(each) for each in self.actions]
        if self.questions is not None:
            found[WaitTarget.JOBS.value] = [Envelope.of(event) for event in self.questions]
        return found


def read(tx: Tx, room: Room, me: Caller, ask: WaitTurn) -> WaitNews:
    wanted = tuple(each for each in WaitTarget if each in ask.include and each in KINDS)
    actions = _actions(tx, room, me) if WaitTarget.ACTIONS in ask.include else None
    after = int(ask.cursor) if ask.cursor is not None else None
    asked = tuple(jobs.questions(tx, room.room_id, after=after)) if WaitTarget.JOBS in ask.include else None
    if not wanted:
        return WaitNews(actions=actions, questions=asked)
    news = inbox.new_mail(tx, room, me, kinds=[KINDS[each] for each in wanted], after=after)
    return WaitNews(
        events=tuple(news.events),
        wanted=wanted,
        actions=actions,
        questions=asked,
        cursor=news.cursor,
        act=news.act,
    )


def _actions(tx: Tx, room: Room, me: Caller) -> tuple[Mapping[str, object], ...]:
    found = next_action(tx, room.room_id, me)
    return (found.to_data(),) if found else ()


def _listens(ask: WaitTurn) -> bool:
    return ask.max_wait_ms != 0 and not KINDS.keys().isdisjoint(ask.include)


def _begin(tx: Tx, me: Caller, ask: WaitTurn) -> str:
    tx.lock(ask.room_id)
    room = rooms.room(tx, ask.room_id)
    agent_rules.membership(agents.roster(tx, room.room_id), me)
    return inbox.begin_listening(tx, room.room_id, me, wait_ms=wait_ms(room, ask))


def _end(tx: Tx, me: Caller, ask: WaitTurn, listener_id: str) -> None:
    inbox.end_listening(tx, ask.room_id, me, listener_id)


def wait_ms(room: Room, ask: WaitTurn) -> int:
    return room.policy.wait_for_turn_max_wait_ms if ask.max_wait_ms is None else ask.max_wait_ms


WAIT_HOOKS = WaitHooks(applies=_listens, begin=_begin, end=_end)
