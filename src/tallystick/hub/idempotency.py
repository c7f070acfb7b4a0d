"""Idempotency: a write that carries a key is done once; asked again, it gives the answer it gave then.

The answer is stored in the transaction of the write itself, so a caller that lost the reply can always ask again.
"""

from __future__ import annotations

import msgspec

from tallystick.kernel.errors import Conflict, InvalidField, TooLarge
from tallystick.kernel.ids import digest
from tallystick.kernel.operation import Answer, AnyOperation, Ask
from tallystick.ledger.tx import Tx
from tallystick.storage.queries import Queries

SQL = Queries("tallystick.hub")
KEY_LIMIT = 200
KEPT_MS = 24 * 60 * 60 * 1000


class IdempotencyConflict(Conflict):
    """That idempotency key was already used for a different request."""

    hint = "Use a new key for a new request; repeat a key only with exactly the same request."


class StoredReply(msgspec.Struct, frozen=True, kw_only=True):
    digest: str
    answer: str


class IdempotencyKey(msgspec.Struct, frozen=True, kw_only=True):
    """One keyed request of one principal."""

    principal: str
    key: str
    digest: str

    @classmethod
    def of(cls, principal: str, key: str, operation: AnyOperation, ask: Ask) -> IdempotencyKey:
        if len(key) > KEY_LIMIT:
            raise TooLarge(f"An idempotency key has at most {KEY_LIMIT} characters.", limit=KEY_LIMIT)
        if not key.isprintable():
            raise InvalidField("An idempotency key is printable text.")
        try:
            asked = ask.to_json().decode()
        except (TypeError, ValueError, OverflowError, RecursionError) as wrong:
            raise InvalidField(f"The request cannot be written as JSON: {wrong}.") from wrong
        return cls(principal=principal, key=key, digest=digest(operation.name, asked, length=64))


def recall(tx: Tx, key: IdempotencyKey, operation: AnyOperation) -> Answer | None:
    """The answer given before, if this very request was already done."""
    kept = tx.one(SQL["reply"], StoredReply, principal=key.principal, key=key.key)
    if kept is None:
        return None
    if kept.digest != key.digest:
        raise IdempotencyConflict(key=key.key)
    return operation.read_answer(kept.answer)


def keep(tx: Tx, key: IdempotencyKey, answer: Answer) -> None:
    tx.run(SQL["forget_older"], principal=key.principal, before=tx.now - KEPT_MS)
    tx.run(
        SQL["keep"],
        principal=key.principal,
        key=key.key,
        digest=key.digest,
        answer=answer.to_json().decode(),
        created_at=tx.now,
    )
