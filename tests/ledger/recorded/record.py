"""Made the recording: `python -m tests.ledger.recorded.record`; with `answers` it asks the kept store again."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec

from tallystick.demo import page
from tallystick.hub import maintenance
from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.ledger import reading
from tallystick.storage.port import FILE, open_store
from tests.ledger.recorded.store import (
    ANSWERS,
    EXPORT,
    STORE,
    Question,
    Recorded,
    answer,
    exported,
    imported,
    later,
    unpacked,
)
from tests.ledger.shapes.everything import write_everything

TALLY = (sys.executable, "-m", "tallystick.surfaces.cli.main")
PER_ROOM: tuple[tuple[str, dict[str, object]], ...] = (
    ("rooms.show", {}),
    ("rooms.replay", {"seq": 5}),
    ("turns.state", {}),
    ("turns.history", {"limit": 100}),
    ("events.list", {"limit": 500}),
    ("events.list", {"limit": 5, "newest": True, "by": "ada"}),
    ("events.list", {"limit": 100, "task_id": "TASK-001"}),
    ("events.verify", {}),
    ("agents.list", {}),
    ("notes.list", {}),
    ("messages.receipts", {"first_seq": 1, "last_seq": 500}),
    ("messages.search", {"query": "the"}),
    ("messages.search", {"query": "plan", "kinds": ["handoff"]}),
    ("tasks.list", {}),
    ("tasks.snapshot", {}),
    ("cards.list", {}),
    ("anchors.list", {}),
    ("jobs.list", {"limit": 50}),
    ("jobs.radar", {"fmt": "lines"}),
    ("jobs.replay", {"seq": 15}),
    ("runners.list", {}),
    ("reservations.status", {}),
    ("reservations.status", {"ended": True}),
    ("reservations.replay", {"seq": 12}),
    ("reservations.check", {"paths": ["src/parser.py", "docs/guide.md", "lib", "elsewhere"]}),
    ("protocol.list", {}),
)
PER_MEMBER: tuple[tuple[str, dict[str, object]], ...] = (
    ("agents.show", {}),
    ("messages.inbox", {"since_seq": 0, "limit": 200}),
    ("messages.inbox", {"owed": True}),
    ("actions.pending", {}),
)
PER_THING = {
    "job_id": "jobs.open",
    "task_id": "tasks.show",
    "card_id": "cards.show",
    "anchor_id": "anchors.show",
}
WHOLE_JOB = {"include_prompt": True, "include_meta": True, "include_artifacts": True, "max_events": 50}


class _Line(msgspec.Struct):
    group_id: str
    id: str
    by: str
    kind: str
    data: dict[str, object]


def questions() -> Iterator[Question]:
    lines = [msgspec.json.decode(line, type=_Line) for line in exported().split(b"\n")[:-2]]
    yield Question(operation="rooms.list", by="ada", given={"limit": 1000})
    yield Question(operation="events.heads", by="ada", given={})
    for room_id in dict.fromkeys(line.group_id for line in lines):
        here = [line for line in lines if line.group_id == room_id]
        for operation, given in PER_ROOM:
            yield Question(operation=operation, by="ada", given={"room_id": room_id, **given})
        for member in sorted({line.by for line in here}):
            for operation, given in PER_MEMBER:
                yield Question(operation=operation, by=member, given={"room_id": room_id, **given})
        yield from _about_things(room_id, here)


def _about_things(room_id: str, here: list[_Line]) -> Iterator[Question]:
    for field, operation in PER_THING.items():
        noun = field.removesuffix("_id")
        things = [line.data.get(field) for line in here]
        for thing in sorted({each for each in things if isinstance(each, str)}):
            more = WHOLE_JOB if noun == "job" else {}
            yield Question(operation=operation, by="ada", given={"room_id": room_id, noun: thing, **more})
            yield Question(operation="open.ref", by="ada", given={"room_id": room_id, "id": thing})
            if noun == "job":
                tail = {"room_id": room_id, "job": thing, "fmt": "lines"}
                yield Question(operation="jobs.tail", by="ada", given=tail)
    groups = [(line.by, line.data["group_id"]) for line in here if line.kind == "x.tally.action.submit"]
    for by, group_id in dict.fromkeys(groups):
        yield Question(operation="actions.outcomes", by=by, given={"room_id": room_id, "group_id": group_id})
    for line in here:
        if action_id := line.data.get("action_id"):
            yield Question(operation="open.ref", by="ada", given={"room_id": room_id, "id": action_id})


def record_store(folder: Path) -> None:
    """The demo as a reader sees it, then what its page is filled with, then everything else."""
    environ = {**os.environ, "TALLYSTICK_DATA_DIR": str(folder / "data"), "LOGNAME": "keeper", "TMPDIR": str(folder)}
    subprocess.run([*TALLY, "demo", "--fast", "--keep", "--here"], env=environ, check=True)
    hub = Hub.open(Settings.of(environ))
    with hub.reading() as tx:
        (demo,) = reading.every_room(tx)
    page.fill(hub, demo)
    hub.close()
    with closing(open_store(None, folder / "data")) as store:
        scene = write_everything(store, folder).scene
        _keep(EXPORT, b"".join(maintenance.export(scene.hub)))
        maintenance.backup(scene.hub, folder / FILE)
    _keep(STORE, (folder / FILE).read_bytes())


def record_answers(folder: Path) -> None:
    with closing(open_store(None, unpacked(folder / "kept"))) as store:
        hub = later(store)
        kept = [(each, answer(hub, each)) for each in questions()]
    with closing(open_store(None, folder / "imported")) as store:
        hub = imported(store)
        found = [Recorded(question=each, kept=said, imported=answer(hub, each)) for each, said in kept]
    _keep(ANSWERS, msgspec.json.Encoder().encode_lines(found))


def _keep(file: Path, content: bytes) -> None:
    file.write_bytes(gzip.compress(content, mtime=0))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="t-") as scratch:
        if sys.argv[1:] != ["answers"]:
            record_store(Path(scratch))
        record_answers(Path(scratch))
