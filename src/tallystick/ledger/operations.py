"""`events.*`: read, follow, extend and verify the ledger."""

from __future__ import annotations

from tallystick.kernel import envelope
from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Draft
from tallystick.kernel.operation import Pending, Reach, moment, operation
from tallystick.ledger import reading, verification
from tallystick.ledger.capability import Authors, Capability, Opened
from tallystick.ledger.contract import (
    Appended,
    AppendEvent,
    CheckpointsVerdict,
    Envelope,
    Events,
    FollowEvents,
    Heads,
    HeadView,
    ListEvents,
    ListHeads,
    Page,
    RoomVerdict,
    Verified,
    VerifyEvents,
)
from tallystick.ledger.errors import ReservedKind
from tallystick.ledger.tx import SQL, Tx


def _events(
    tx: Tx,
    ask: Page,
    *,
    newest: bool = False,
    before: int | None = None,
    by: str | None = None,
    task_id: str | None = None,
) -> Events:
    head = tx.head(ask.room_id)
    start = reading.start(tx, ask.room_id, ask) or 0
    end = head.seq + 1 if before is None else before
    if newest:
        past = reading.before(tx, ask.room_id, end, kinds=ask.kinds, by=by, task_id=task_id, limit=ask.limit)
        found = [event for event in past if event.seq > start]
    else:
        after = reading.since(tx, ask.room_id, start, kinds=ask.kinds, by=by, task_id=task_id, limit=ask.limit)
        found = [event for event in after if event.seq < end]
    # A page that is not full has seen everything up to the end, also what the filter left out.
    cursor = found[-1].seq if len(found) == ask.limit else max(min(head.seq, end - 1), start)
    return Events(events=[Envelope.of(event) for event in found], cursor=cursor, head=head.seq)


@operation(
    "events.list", reach=Reach.READ, short="events", examples=({"room_id": "ROOM", "since_seq": 0, "limit": 50},)
)
def list_events(tx: Tx, me: Caller, ask: ListEvents) -> Events:
    """Read a room's events in the order they were committed, from any cursor.

    Page on with the returned cursor as `since_seq`. `kinds`, `by` and `task_id` filter, and find what fits however
    long the ledger is; `newest` gives the latest instead of the first; with `before_seq` it pages back.
    """
    by = tx.use(Authors).named(tx, ask.room_id, ask.by) if ask.by else None
    return _events(tx, ask, newest=ask.newest, before=ask.before_seq, by=by, task_id=ask.task_id)


@operation("events.follow", reach=Reach.READ, waits=True, examples=({"room_id": "ROOM", "since_seq": 17},))
def follow_events(tx: Tx, me: Caller, ask: FollowEvents) -> Events | Pending[Events]:
    """Wait for events after a cursor; returns as soon as there are any, or empty when the time is up.

    Call again with the returned cursor: nothing is lost between two calls.
    """
    found = _events(tx, ask)
    return found if found.events else Pending(found, wait_ms=ask.max_wait_ms)


@operation(
    "events.append",
    reach=Reach.WORK,
    writes=True,
    examples=({"room_id": "ROOM", "kind": "x.acme.build", "data": {"result": "green"}},),
)
def append_event(tx: Tx, me: Caller, ask: AppendEvent) -> Appended:
    """Append an extension event of your own kind (`x.<vendor>.*` or `vendor.<name>.*`) to a room's ledger.

    Members of the room, services (`svc:…`) and the person at the hub may; others join first.
    """
    vendor = ask.kind.split(".")
    if vendor[0] not in {"x", "vendor"} or len(vendor) < 3 or not all(vendor) or vendor[:2] == ["x", "tally"]:
        raise ReservedKind(f"'{ask.kind}' is not an extension kind you may append.", kind=ask.kind)
    body = envelope.check_body(ask.data)
    tx.check_open(ask.room_id)
    by, scope_key = tx.use(Authors).author(tx, ask.room_id, me)
    (event,) = tx.append(ask.room_id, by, [Draft(kind=ask.kind, data=ask.data, scope_key=scope_key, body=body)])
    return Appended(event=Envelope.of(event))


def _head(*, room_id: str, seq: int, ts: Instant, closed: int) -> HeadView:
    return HeadView(room_id=room_id, seq=seq, ts=moment(ts), closed=bool(closed))


@operation("events.heads", reach=Reach.READ, examples=({},))
def list_heads(tx: Tx, me: Caller, ask: ListHeads) -> Heads:
    """Say where the ledger of each room ends, those that moved last first: whoever watches many rooms looks here."""
    return Heads(heads=tx.all(SQL["heads"], _head, limit=ask.limit))


@operation("events.verify", reach=Reach.READ, short="verify", examples=({},))
def verify_events(tx: Tx, me: Caller, ask: VerifyEvents) -> Verified:
    """Recompute the hash chain, and check every signed checkpoint of it.

    The chain shows any event that was changed, removed or reordered by accident, or by somebody who did not compute it
    anew. Against somebody who did, only a checkpoint helps, or a hash that you kept: give it as `expect`. Without a
    room it goes through all of them, and through the database's own pages and indexes as well.
    """
    rooms = [ask.room_id] if ask.room_id else reading.every_room(tx)
    signed = verification.check_all(tx, rooms)
    verdicts = [_verdict(tx, room_id, signed.get(room_id, ""), ask.expect.get(room_id)) for room_id in rooms]
    verdicts += [_unknown(tx, room_id) for room_id in sorted(ask.expect.keys() - set(rooms))]
    ok = all(verdict.ok for verdict in verdicts) and not signed.get("")
    if ok and ask.room_id is None:
        verification.check_engine(tx)
    return Verified(
        ok=ok,
        events=sum(verdict.events for verdict in verdicts),
        rooms=verdicts,
        checkpoints=_checkpoints(tx, signed.get("", "")),
    )


def _verdict(tx: Tx, room_id: str, signed: str, expected: str | None) -> RoomVerdict:
    found = verification.verify(tx, room_id)
    place = tx.one(SQL["by_hash"], reading.Place, room_id=room_id, hash=expected) if expected else None
    problem = found.problem or signed
    if expected and place is None:
        problem = problem or "no event of it has the hash that was expected"
    return RoomVerdict(
        room_id=room_id,
        ok=not problem,
        events=found.events,
        hash=found.hash,
        bad_seq=found.bad_seq,
        problem=problem,
        expected_seq=place.seq if place else None,
    )


def _unknown(tx: Tx, room_id: str) -> RoomVerdict:
    problem = "it is not among the rooms verified here"
    if file_hash := verification.archive_of(tx, room_id):
        problem = f"it was archived to the file with the SHA-256 {file_hash}"
    return RoomVerdict(room_id=room_id, ok=False, events=0, hash="", problem=problem)


def _checkpoints(tx: Tx, problem: str) -> CheckpointsVerdict:
    found = verification.every_checkpoint(tx)
    return CheckpointsVerdict(
        count=len(found),
        newest_at=found[-1].said.at if found and not problem else None,
        keys=sorted({each.public_key for each in found}),
        problem=problem,
    )


def open_ref(tx: Tx, room_id: str, me: Caller, text: str) -> Opened | None:
    """An event by its id."""
    event = reading.find_event(tx, room_id, text)
    return Opened.of("event", text, Envelope.of(event)) if event else None


CAPABILITY = Capability(
    name="events",
    package="tallystick.ledger",
    operations=(list_events, follow_events, append_event, list_heads, verify_events),
    tables=("event_tasks",),
    opens=open_ref,
)
