"""A store that an earlier version made, kept for good: a whole demo, and every shape of every event besides.

`export.jsonl.gz` is what `tally export` printed of it, `tally.sqlite.gz` the store itself as `tally backup` wrote it,
`answers.jsonl.gz` what the reading operations said about it. Neither the export nor the store is ever made again: they
stand for the stores out there. Where an answer is meant to change, `python -m tests.ledger.recorded.record answers`
asks the same store again.
"""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tallystick.hub import maintenance, registry
from tallystick.hub.hub import Hub
from tallystick.kernel.caller import Caller, ProcessState, SessionKind
from tallystick.kernel.errors import Refused
from tallystick.storage.port import FILE, Store
from tests.scene import Row

FOLDER = Path(__file__).parent
EXPORT, STORE, ANSWERS = (FOLDER / f"{name}.gz" for name in ("export.jsonl", "tally.sqlite", "answers.jsonl"))
LATER = 1_800_000_000_000


class Question(msgspec.Struct, frozen=True):
    operation: str
    by: str
    given: Mapping[str, object]


class Recorded(msgspec.Struct, frozen=True):
    question: Question
    kept: Row
    """Of the store itself."""
    imported: Row
    """Of one that its export was imported into: nobody was seen there, and no lease runs."""


def exported() -> bytes:
    return gzip.decompress(EXPORT.read_bytes())


def unpacked(data_dir: Path) -> Path:
    """The store, where a hub finds it."""
    data_dir.mkdir(mode=0o700)
    (data_dir / FILE).write_bytes(gzip.decompress(STORE.read_bytes()))
    return data_dir


def recorded() -> list[Recorded]:
    return msgspec.json.Decoder(Recorded).decode_lines(gzip.decompress(ANSWERS.read_bytes()))


def later(store: Store) -> Hub:
    """A hub on another machine, a while after the last event, so that what it says depends on nothing but the store."""
    store.migrate(registry.schema())
    ids = (f"new-{number:04}" for number in itertools.count(1))
    return Hub(
        store,
        clock=lambda: LATER,
        new_id=lambda: next(ids),
        machine_id="another-machine",
        process_state=lambda _process: ProcessState.UNKNOWN,
    )


def imported(store: Store) -> Hub:
    """Such a hub, on a store that had nothing in it and now has what the export says."""
    hub = later(store)
    maintenance.import_(hub, exported().splitlines(keepends=True))
    return hub


def answer(hub: Hub, question: Question) -> Row:
    """What the hub says, as JSON says it; a refusal is an answer too."""
    caller = Caller(agent_id=question.by, session=SessionKind.NAMED)
    try:
        return msgspec.json.decode(msgspec.json.encode(hub.call(question.operation, question.given, caller).to_data()))
    except Refused as refusal:
        return {"refused": refusal.code, "message": refusal.message}
