"""`cards.*`: findings that outlive the job or the talk in which they were made."""

from __future__ import annotations

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.tasks import queries, rules
from tallystick.capabilities.tasks.contract import Cards, CardView, CreateCard, ListCards, ShowCard, UpdateCard
from tallystick.capabilities.tasks.events import CardCreated
from tallystick.capabilities.tasks.model import numbered
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft
from tallystick.kernel.operation import Reach, operation
from tallystick.ledger.tx import Tx


@operation(
    "cards.create",
    reach=Reach.WORK,
    writes=True,
    examples=({"room_id": "ROOM", "title": "Parser is quadratic", "body": "See …", "tags": ["a:parser"]},),
)
def create(tx: Tx, me: Caller, ask: CreateCard) -> CardView:
    """Keep a finding as a card, with tags to find it by; its id is proof that a job can name."""
    tx.check_open(ask.room_id)
    return create_card(tx, me, ask)


def create_card(tx: Tx, me: Caller, ask: CreateCard) -> CardView:
    number = queries.next_card(tx, ask.room_id)
    card_id = numbered("CARD", number)
    body = CardCreated(
        card_id=card_id,
        number=number,
        title=ask.title,
        body=ask.body,
        type=ask.type,
        tags=rules.tags(ask.tags),
        refs=ask.refs,
        pinned=ask.pinned,
    )
    tx.append(ask.room_id, agent_rules.principal(me.agent_id), [Draft.of(body)])
    return CardView.of(queries.card(tx, ask.room_id, card_id))


@operation(
    "cards.update", reach=Reach.WORK, writes=True, examples=({"room_id": "ROOM", "card": "CARD-001", "pinned": True},)
)
def update(tx: Tx, me: Caller, ask: UpdateCard) -> CardView:
    """Change a card, or pin it; only the fields that are given change."""
    tx.check_open(ask.room_id)
    card = queries.card(tx, ask.room_id, ask.card)
    tx.append(ask.room_id, agent_rules.principal(me.agent_id), [Draft.of(rules.card_changes(card, ask))])
    return CardView.of(queries.card(tx, ask.room_id, ask.card))


@operation("cards.list", reach=Reach.READ, examples=({"room_id": "ROOM", "tag": "a:parser"},))
def list_cards(tx: Tx, me: Caller, ask: ListCards) -> Cards:
    """List cards, pinned ones first; filter by tag, anchor or type."""
    rooms.room(tx, ask.room_id)
    found = queries.cards(tx, ask.room_id, tag=ask.tag, type=ask.type, pinned=ask.pinned, limit=ask.limit + 1)
    return Cards(cards=[CardView.of(card) for card in found[: ask.limit]], has_more=len(found) > ask.limit)


@operation("cards.show", reach=Reach.READ, examples=({"room_id": "ROOM", "card": "CARD-001"},))
def show(tx: Tx, me: Caller, ask: ShowCard) -> CardView:
    """Show one card."""
    return CardView.of(queries.card(tx, ask.room_id, ask.card))
