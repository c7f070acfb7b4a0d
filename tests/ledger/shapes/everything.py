"""Writes every kind of event that the product writes, in all its shapes, through the operations that write it.

With a fixed clock and fixed ids it always writes the same bytes: `bodies.txt` has them, shape by shape, and they never
change, because stores out there are full of them. New shapes get a new room at the end of a section, or a section of
their own at the end of `SECTIONS`, whose ids and times do not depend on the others; `python -m
tests.ledger.shapes.everything` then only adds lines. Which operations write which kinds is noted at the end; the
reference of events is made from that file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tallystick.storage.port import FILE, Store
from tallystick.storage.sqlite import SqliteStore
from tests.agents.repository import repository
from tests.ledger.shapes import actions, jobs, messages, permissions, reservations, rooms, tasks
from tests.ledger.shapes.writer import ELSEWHERE, CountedIds, Line, Writer
from tests.scene import START, Scene

DAY = 24 * 60 * 60_000
BODIES = Path(__file__).with_name("bodies.txt")
FOREIGN = {"x.acme.build", "vendor.acme.ping"}
"""Kinds that belong to somebody else's program, written to see that any kind can be."""
RETIRED = {"x.tally.job.route"}
"""Kinds that were written once and are no more; stores out there have them."""
WRITERS = "each kind and the operations that write it"
HASHES = "the last hash of each room, in the order in which the rooms were made"

SECTIONS: Sequence[Callable[[Writer], None]] = (
    rooms.rooms,
    rooms.members,
    rooms.turns,
    rooms.takeovers,
    rooms.notes_and_own_events,
    messages.messages,
    messages.message_extras,
    messages.relays,
    messages.notifications,
    tasks.tasks,
    tasks.cards_and_anchors,
    tasks.macros,
    jobs.jobs_created,
    jobs.jobs_run,
    jobs.jobs_ended,
    jobs.files_as_proof,
    actions.actions,
    actions.action_relays,
    reservations.reservations,
    reservations.incursions,
    reservations.protocol,
    reservations.adoptions,
    rooms.closing,
    reservations.expired_meanwhile,
    messages.overdue_acks,
    rooms.sessions,
    jobs.jobs_resumed,
    rooms.persons_word,
    jobs.evidence,
    rooms.persons_orders,
    permissions.permissions,
    rooms.being_seen,
    messages.put_aside,
    permissions.attached,
)


def write_everything(store: Store, folder: Path) -> Writer:
    """Write all of it into an open store; what else it takes comes into the folder."""
    repo = repository(folder / "left-behind").resolve()
    (repo / "src/parser.py").write_text("two\n")
    (repo / "src/new.py").write_text("new\n")
    ids = CountedIds()
    writer = Writer(Scene(store, repo, new_id=ids, blobs=folder / "blobs"), ids, repo)
    for number, section in enumerate(SECTIONS):
        ids.begin(number)
        writer.scene.clock.now = START + number * DAY
        section(writer)
    return writer


def pinnable(lines: Sequence[Line]) -> dict[str, list[str]]:
    """The lines of each shape; what has a path of this machine in it is left out."""
    shapes = dict[str, list[str]]()
    for line in lines:
        if not line.shape.startswith(ELSEWHERE):
            shapes.setdefault(line.shape, []).append(line.text)
    return {**shapes, WRITERS: _writers(lines), HASHES: _heads(lines)}


def _heads(lines: Sequence[Line]) -> list[str]:
    last = {line.room_id: line.hash for line in lines}
    elsewhere = {line.room_id for line in lines if line.shape.startswith(ELSEWHERE)}
    return [hash for room_id, hash in last.items() if room_id not in elsewhere]


def _writers(lines: Sequence[Line]) -> list[str]:
    """Each kind of ours, followed by the operations that write it."""
    found = dict[str, set[str]]()
    for line in lines:
        found.setdefault(line.text.split(" ")[0], set()).add(line.operation)
    return [" ".join((kind, *sorted(found[kind]))) for kind in sorted(found.keys() - FOREIGN)]


def golden() -> Iterator[tuple[str, str]]:
    """Every event of ours whose bytes are pinned: its kind and its body."""
    for shape, lines in pinned().items():
        for kind, _by, _scope, body in (line.split(" ", 3) for line in lines if shape not in {WRITERS, HASHES}):
            if kind not in FOREIGN:
                yield kind, body


def pinned() -> dict[str, list[str]]:
    """The golden lines of each shape."""
    blocks = BODIES.read_text("utf-8").removeprefix("# ").split("\n\n# ")
    return {shape: lines for shape, *lines in (block.rstrip("\n").split("\n") for block in blocks)}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / FILE)
        lines = write_everything(store, Path(folder)).lines()
        store.close()
    shapes = pinnable(lines)
    BODIES.write_text("\n".join("\n".join([f"# {shape}", *lines, ""]) for shape, lines in shapes.items()), "utf-8")


if __name__ == "__main__":
    main()
