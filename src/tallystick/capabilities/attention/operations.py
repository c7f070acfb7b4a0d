"""`attention.*`: what waits for the person, and putting an item of that list aside."""

from __future__ import annotations

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.attention import queries, rules
from tallystick.capabilities.attention.contract import (
    DismissItem,
    ItemChanged,
    ListWaiting,
    RestoreItem,
    SnoozeItem,
    WaitingItems,
)
from tallystick.capabilities.attention.events import ItemRestored, ItemSetAside
from tallystick.capabilities.rooms import queries as rooms
from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Draft
from tallystick.kernel.operation import Reach, moment, operation
from tallystick.ledger.capability import Capability
from tallystick.ledger.tx import Tx


@operation("attention.list", reach=Reach.READ, examples=({"room_id": "ROOM"},))
def list_waiting(tx: Tx, me: Caller, ask: ListWaiting) -> WaitingItems:
    """List what waits for the person in a room, the most urgent first, with the reason and since when.

    The stick that is kept for them, questions, messages that ask for an ack, proof that is missing, failed jobs, open
    takeovers, overdue acks, attempts to enter what is reserved, and how many messages are unread. What is settled is
    gone from the list by itself.
    """
    seen = queries.facts(tx, me, ask.room_id)
    aside = queries.put_aside(tx, ask.room_id)
    items = rules.shown(rules.waiting(seen), aside)
    beyond = max(0, seen.counts.unacked - len(seen.owed))
    return WaitingItems(room_id=ask.room_id, items=items, count=len(items) + beyond, unread=seen.counts.unread)


@operation(
    "attention.dismiss", reach=Reach.MANAGE, writes=True, examples=({"room_id": "ROOM", "item": "incursion:17"},)
)
def dismiss(tx: Tx, me: Caller, ask: DismissItem) -> ItemChanged:
    """Take an item off the person's list for good, as that person; nothing else changes, and it can be taken back."""
    return _put_aside(tx, me, ask, None)


@operation(
    "attention.snooze",
    reach=Reach.MANAGE,
    writes=True,
    examples=({"room_id": "ROOM", "item": "message:17", "minutes": 60},),
)
def snooze(tx: Tx, me: Caller, ask: SnoozeItem) -> ItemChanged:
    """Take an item off the person's list for a while, as that person."""
    return _put_aside(tx, me, ask, tx.now + ask.minutes * rules.MINUTE)


def _put_aside(tx: Tx, me: Caller, ask: DismissItem | SnoozeItem, until: Instant | None) -> ItemChanged:
    rooms.open_room(tx, ask.room_id)
    by = _person(me)
    rules.check_waiting(rules.waiting(queries.facts(tx, me, ask.room_id)), ask.item, dismiss=until is None)
    tx.append(ask.room_id, by, [Draft.of(ItemSetAside(item=ask.item, until=moment(until)))])
    return ItemChanged(room_id=ask.room_id, item=ask.item, changed=True, until=moment(until))


@operation(
    "attention.restore", reach=Reach.MANAGE, writes=True, examples=({"room_id": "ROOM", "item": "incursion:17"},)
)
def restore(tx: Tx, me: Caller, ask: RestoreItem) -> ItemChanged:
    """Put an item back on the person's list that was dismissed or snoozed; it is there if it still waits."""
    rooms.open_room(tx, ask.room_id)
    by = _person(me)
    changed = ask.item in queries.put_aside(tx, ask.room_id)
    if changed:
        tx.append(ask.room_id, by, [Draft.of(ItemRestored(item=ask.item))])
    return ItemChanged(room_id=ask.room_id, item=ask.item, changed=changed)


def _person(me: Caller) -> str:
    """The list is the person's: an agent does not tidy it, except by a token that may manage."""
    agent_rules.check_person_or_token(me)
    return agent_rules.principal(me.own_id)


CAPABILITY = Capability(
    name="attention",
    package="tallystick.capabilities.attention",
    operations=(list_waiting, dismiss, snooze, restore),
    folds=queries.FOLDS,
    tables=("set_aside",),
)
