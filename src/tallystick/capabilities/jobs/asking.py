"""Questions of jobs as a waiting manager gets them: answers the `Questions` protocol of `rooms`."""

from __future__ import annotations

from collections.abc import Sequence

from tallystick.capabilities.jobs import queries
from tallystick.capabilities.jobs.model import Kind
from tallystick.capabilities.rooms.model import Questions
from tallystick.kernel.envelope import Event
from tallystick.ledger import reading
from tallystick.ledger.tx import Tx

AT_MOST = 50


class JobQuestions:
    def asked(self, tx: Tx, room_id: str, *, after: int | None) -> Sequence[Event]:
        if after is not None:
            return reading.since(tx, room_id, after, kinds=[Kind.QUESTION], limit=AT_MOST)
        return queries.unanswered(tx, room_id, AT_MOST)


OFFERS: dict[type, object] = {Questions: JobQuestions()}
