"""Following a room through any number of connections: which one to open next, and what came in, each event once."""

from __future__ import annotations

import json
from urllib.parse import urlencode

from tallystick.client import calls
from tallystick.client.calls import HttpReply, Lost, Patience, Pause, Send
from tallystick.client.connection import HubNotRunning
from tallystick.kernel.errors import TallyError, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Following:
    def __init__(self, room_id: str, since_seq: int, kinds: Sequence[str], patience: float, *, met: bool) -> None:
        self._query = urlencode([("room_id", room_id), *(("kinds", kind) for kind in kinds), ("follow", "true")])
        self._cursor = since_seq
        self._seconds = patience
        self._patience = Patience(patience)
        self._met = met
        self._rest = b""

    @property
    def request(self) -> Send:
        """The next connection, from the last event that was handed out."""
        return Send(path=f"/v1/events?{self._query}", headers={"last-event-id": str(self._cursor)})

    def opened(self) -> None:
        """A stream has begun."""
        self._met, self._patience, self._rest = True, Patience(self._seconds), b""

    def feed(self, chunk: bytes) -> Iterator[dict[str, object]]:
        """The events that this piece of the stream completes."""
        *frames, self._rest = (self._rest + chunk).split(b"\n\n")
        for frame in frames:
            fields = dict(_field(line) for line in frame.split(b"\n") if line and not line.startswith(b":"))
            if b"id" in fields:
                seq = int(fields[b"id"])
                if seq > self._cursor:
                    self._cursor = seq
                    yield json.loads(fields[b"data"])
            elif fields.get(b"event") == b"error":
                _check(calls.refusal_of(500, json.loads(fields[b"data"])["error"]))

    def ended(self, outcome: HttpReply | Lost | None) -> Pause:
        """How long to pause before the next connection; raises when there should be none."""
        failed: TallyError = HubNotRunning(outcome.why if isinstance(outcome, Lost) else None)
        if isinstance(outcome, HttpReply):
            self._met = True
            try:
                calls.answer_of(outcome)
            except TallyError as refusal:
                _check(refusal)
                failed = refusal
        pause = self._patience.pause() if self._met else None
        if pause is None:
            raise failed
        return pause


def _field(line: bytes) -> tuple[bytes, bytes]:
    name, _, value = line.partition(b":")
    return name, value.removeprefix(b" ")


def _check(refusal: TallyError) -> None:
    """Raise what another connection would not mend."""
    if not isinstance(refusal, Unavailable):
        raise refusal
