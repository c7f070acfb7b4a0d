"""Whether a room's events are all there, in order and unchanged: the hash chain, and signed checkpoints of its heads.

The chain alone proves that nothing was changed by accident: who can write to the store can compute it anew. A
checkpoint cannot be made anew without the key. Each names the rooms that moved since the one before, and the hash of
that one, so that none can be taken out of the middle.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tallystick.kernel.clock import to_wire
from tallystick.kernel.envelope import GENESIS, Event
from tallystick.ledger.errors import BadCheckpoint
from tallystick.ledger.tx import SQL, Head, Tx
from tallystick.storage.errors import StoreDamaged

VERSION = 1


class ChainVerdict(msgspec.Struct, frozen=True, kw_only=True):
    room_id: str
    events: int
    hash: str
    bad_seq: int | None = None
    problem: str = ""


def flaw(event: Event, seq: int, prev_hash: str) -> str:
    """What is wrong with an event that should stand at `seq` after `prev_hash`; empty when nothing is."""
    if event.seq != seq:
        return f"expected seq {seq}, found {event.seq}: an event is missing or was moved"
    if event.prev_hash != prev_hash:
        return "prev_hash is not the hash of the event before"
    try:
        seal = event.seal()
    except (TypeError, ValueError, OverflowError, OSError, AttributeError):
        return "the event holds what Tallystick never writes"  # such as a time beyond the calendar
    return "" if event.hash == seal else "the event was changed after it was written"


def check(room_id: str, events: Iterable[Event], head: Head | None) -> ChainVerdict:
    seq, last = 0, GENESIS
    for event in events:
        if problem := flaw(event, seq + 1, last):
            return ChainVerdict(room_id=room_id, events=seq, hash=last, bad_seq=seq + 1, problem=problem)
        seq, last = event.seq, event.hash
    if head is not None and (head.seq, head.hash) != (seq, last):
        problem = f"the ledger ends at seq {seq}, but seq {head.seq} was acknowledged"
        return ChainVerdict(room_id=room_id, events=seq, hash=last, bad_seq=seq + 1, problem=problem)
    return ChainVerdict(room_id=room_id, events=seq, hash=last)


def check_engine(tx: Tx) -> None:
    """Refuse a store in which the engine itself finds damage: a broken index hides events that are all there."""
    found = tx.all(SQL["engine_problems"], _problem)
    if found:
        raise StoreDamaged(f"The database is damaged: {found[0]}.", problems=found)


def _problem(*, problem: str) -> str:
    return problem


def verify(tx: Tx, room_id: str) -> ChainVerdict:
    head = tx.head(room_id)
    return check(room_id, tx.stream(SQL["whole"], Event, room_id=room_id), head)


class SignedHead(msgspec.Struct, frozen=True, kw_only=True):
    seq: int
    hash: str


class CheckpointBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is signed, as JSON with sorted keys."""

    tallystick_checkpoint: int
    number: int
    at: str
    previous: str
    """The SHA-256 of the body before; zeros for the first, and for one that was exported."""
    heads: dict[str, SignedHead]


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    body: str
    public_key: str
    """In hex, like the signature."""
    signature: str

    @property
    def said(self) -> CheckpointBody:
        try:
            said = msgspec.json.decode(self.body, type=CheckpointBody)
        except msgspec.MsgspecError as wrong:
            raise BadCheckpoint(f"Checkpoint {self.number} cannot be read: {wrong}.") from wrong
        if said.tallystick_checkpoint != VERSION or said.number != self.number:
            raise BadCheckpoint(f"Checkpoint {self.number} is not what it says it is.")
        return said


class _RoomHead(msgspec.Struct, frozen=True, kw_only=True):
    room_id: str
    seq: int
    hash: str


def body_of_unsigned(tx: Tx) -> tuple[int, str] | None:
    """Number and text of the checkpoint to sign next; None when no room has moved since the last one."""
    moved = tx.all(SQL["unsigned_heads"], _RoomHead)
    if not moved:
        return None
    last = tx.one(SQL["last_checkpoint"], Checkpoint)
    number = last.number + 1 if last else 1
    return number, _body(tx, number, _digest(last.body) if last else GENESIS, moved)


def body_of_everything(tx: Tx) -> str:
    """The text of a checkpoint of every room, to be kept outside the store."""
    return _body(tx, 0, GENESIS, tx.all(SQL["every_head"], _RoomHead))


def _body(tx: Tx, number: int, previous: str, heads: Iterable[_RoomHead]) -> str:
    said = CheckpointBody(
        tallystick_checkpoint=VERSION,
        number=number,
        at=to_wire(tx.now),
        previous=previous,
        heads={each.room_id: SignedHead(seq=each.seq, hash=each.hash) for each in heads},
    )
    return msgspec.json.encode(said, order="sorted").decode()


def record(tx: Tx, checkpoint: Checkpoint) -> None:
    tx.run(
        SQL["add_checkpoint"],
        number=checkpoint.number,
        body=checkpoint.body,
        public_key=checkpoint.public_key,
        signature=checkpoint.signature,
    )
    for room_id, head in checkpoint.said.heads.items():
        tx.run(SQL["mark_signed"], room_id=room_id, seq=head.seq)


def every_checkpoint(tx: Tx) -> Sequence[Checkpoint]:
    return tx.all(SQL["checkpoints"], Checkpoint)


def check_all(tx: Tx, rooms: Iterable[str]) -> Mapping[str, str]:
    """What is wrong with the ledger of each room, or with the checkpoints themselves (under ""); empty when nothing is.

    What a checkpoint says of other rooms than these is left alone.
    """
    wanted, found, last = set(rooms), dict[str, str](), GENESIS
    for each in every_checkpoint(tx):
        try:
            _check_signature(each)
            before = each.said.previous
            wrong_heads = _check_heads(tx, each, wanted)
        except BadCheckpoint as wrong:
            found.setdefault("", wrong.message)
        else:
            if before != last:
                found.setdefault("", f"Checkpoint {each.number} does not follow the one before: one is missing.")
            for room_id, problem in wrong_heads.items():
                found.setdefault(room_id, problem)
        last = _digest(each.body)
    return found


def check_one(tx: Tx, checkpoint: Checkpoint) -> Mapping[str, str]:
    """The same for a checkpoint that was kept elsewhere; refuses one whose signature does not fit."""
    _check_signature(checkpoint)
    return _check_heads(tx, checkpoint, set(checkpoint.said.heads))


def archived(tx: Tx, checkpoint: Checkpoint) -> Mapping[str, str]:
    """The rooms of a checkpoint that lie in files by now, with each file's hash: whoever has the file can check it."""
    found = {room_id: archive_of(tx, room_id) for room_id in checkpoint.said.heads}
    return {room_id: file_hash for room_id, file_hash in found.items() if file_hash}


def archive_of(tx: Tx, room_id: str) -> str | None:
    """The hash of the file that holds the room, where the store has only its stub."""
    return tx.one(SQL["archive_of"], _file_hash, room_id=room_id)


def _file_hash(*, archive: str) -> str:
    return archive


def signed_head(checkpoint: Checkpoint, room_id: str) -> SignedHead:
    """What a checkpoint says of a room; refuses one whose signature does not fit, or that says nothing."""
    _check_signature(checkpoint)
    head = checkpoint.said.heads.get(room_id)
    if head is None:
        raise BadCheckpoint(f"The checkpoint says nothing of room {room_id}.")
    return head


def body_of_room(tx: Tx, room_id: str) -> str:
    """The text of a checkpoint of one room, to stand beside its ledger in a file."""
    head = tx.head(room_id)
    return _body(tx, 0, GENESIS, [_RoomHead(room_id=room_id, seq=head.seq, hash=head.hash)])


def _check_heads(tx: Tx, checkpoint: Checkpoint, wanted: set[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for room_id, head in checkpoint.said.heads.items():
        if room_id in wanted and head.seq:
            event = tx.one(SQL["at"], Event, room_id=room_id, seq=head.seq)
            if event is None:
                if not archive_of(tx, room_id):
                    found[room_id] = f"event {head.seq} is gone, which was signed at {checkpoint.said.at}"
            elif event.hash != head.hash:
                found[room_id] = f"up to event {head.seq} it is not what was signed at {checkpoint.said.at}"
    return found


def _check_signature(checkpoint: Checkpoint) -> None:
    # Late: few who read a ledger check a signature.
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(checkpoint.public_key))
        key.verify(bytes.fromhex(checkpoint.signature), checkpoint.body.encode())
    except (ValueError, InvalidSignature) as wrong:
        raise BadCheckpoint(f"The signature of checkpoint {checkpoint.number} does not fit it.") from wrong


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()
