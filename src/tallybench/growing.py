"""One room that grows to a given size, with the mix of events a busy room has, through the ledger itself.

Many events share a transaction, so that a million take a minute; hashes and projections are those of any other event.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tallybench import rooms
from tallystick.hub import registry
from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.kernel.envelope import Draft
from tallystick.kernel.operation import as_record
from tallystick.ledger.tx import Tx

MEMBERS = ("ada", "bo", "cleo", "dov", "eve")
SMALL_ROOMS = 20
JOBS = 100
"""How many jobs the smallest room has; a large one has one more for every hundred events."""
RUNNER, TASK = "bench", "TASK-001"
BATCH = 200
"""Events of one transaction have one time: few enough that a room of a thousand has several."""
HANDOFF = {"status": "added the lexer's missing cases, tests green", "next_action": "review src/lexer.py"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Grown:
    events: int
    settings: Settings
    room_id: str


def grow(folder: Path, sizes: tuple[int, ...], tell: Callable[[str], None]) -> list[Grown]:
    """Stores that hold the same rooms and differ in how many events one of them has, smallest first."""
    seedling = Settings(data_dir=folder / "growing")
    room_id = rooms.make_room(seedling, "the large one")
    found = list[Grown]()
    with rooms.opened(seedling) as hub:
        for name in MEMBERS:
            hub.call("rooms.join", {"room_id": room_id}, member(name))
        for number in range(SMALL_ROOMS - 1):
            hub.call("rooms.create", {"title": f"small {number}"}, member("ada"))
        for size in sizes:
            tell(f"size: growing a room to {size:,} events")
            grow_to(hub, room_id, size)
            copy = Settings(data_dir=folder / f"grown-{size}")
            copy.data_dir.mkdir(mode=0o700)
            hub.store.backup(copy.data_dir / "tally.sqlite")
            found.append(Grown(events=size, settings=copy, room_id=room_id))
    return found


def member(name: str) -> Caller:
    return Caller(agent_id=name, session=SessionKind.NAMED)


def _delegate(hub: Hub, room_id: str) -> None:
    """A task in everybody's focus with a hundred jobs, the first taken by a runner that will report on it; once."""
    if hub.call("jobs.list", {"room_id": room_id, "limit": 1}, member("ada")).to_data()["jobs"]:
        return
    task = {"room_id": room_id, "title": "Make the parser linear", "definition_of_done": ["10,000 lines in a second"]}
    hub.call("tasks.create", task, member("ada"))
    for name in MEMBERS:
        hub.call("tasks.focus", {"room_id": room_id, "task": TASK}, member(name))
    for number in range(JOBS):
        hub.call("jobs.create", _job(room_id, number), member("ada"))
    beat = {"room_id": room_id, "runner_id": RUNNER, "status": "idle", "executors": ["codex"]}
    hub.call("runners.heartbeat", beat, member("bo"))
    hub.call("jobs.claim", {"room_id": room_id, "runner_id": RUNNER, "job": "JOB-001"}, member("bo"))


def _job(room_id: str, number: int) -> dict[str, object]:
    about = {"title": f"part {number}", "prompt": "Make it linear.", "executor": "codex"}
    return {"room_id": room_id, "task": TASK, **about}


def grow_to(hub: Hub, room_id: str, size: int) -> None:
    _delegate(hub, room_id)
    seq = 0
    while seq < size:
        with hub.writing() as tx:
            seq = tx.lock(room_id).seq
            for _ in range(min(size - seq, BATCH)):
                seq += 1
                _add(tx, room_id, seq)


def _add(tx: Tx, room_id: str, seq: int) -> None:
    """Add the event at `seq`: of a hundred, ten are the stick's, one each a note, a message, a job and a report."""
    turn_id = seq // 20
    holder = MEMBERS[turn_id % len(MEMBERS)]
    if seq % 100 == 70:
        send = registry.find("messages.send")
        ask = as_record(send.ask, {"room_id": room_id, "text": "Can you look at the lexer?", "to": ["bo", "cleo"]})
        send.run(tx, member("ada"), ask)
        return
    if seq % 100 == 75:
        create = registry.find("jobs.create")
        create.run(tx, member("ada"), as_record(create.ask, _job(room_id, seq)))
        return
    if seq % 100 == 85:
        report = registry.find("jobs.report")
        held = {"room_id": room_id, "job": "JOB-001", "runner_id": RUNNER, "claim_revision": 1, "message": "on it"}
        report.run(tx, member("bo"), as_record(report.ask, held))
        return
    if seq % 20 == 0:
        draft = _claim(turn_id, holder, seq)
    elif seq % 20 == 1 and turn_id:
        draft = _release(turn_id, holder)
    elif seq % 100 == 50:
        draft = Draft(kind="x.tally.note.add", data={"body": "CI is slow today.", "turn_id": turn_id})
    else:
        draft = Draft(kind="x.bench.report", data=rooms.BODY)
    tx.append(room_id, holder, [draft])


def _claim(turn_id: int, holder: str, seq: int) -> Draft:
    handoff_seq = seq - 19 if turn_id > 1 else None
    before = MEMBERS[(turn_id - 1) % len(MEMBERS)] if turn_id > 1 else None
    data: dict[str, object] = {
        "turn_id": turn_id,
        "from_agent_id": before,
        "to_agent_id": holder,
        "reason": "sequence" if handoff_seq else "open_claim",
        "handoff_seq": handoff_seq,
    }
    return Draft(kind="x.tally.stick.claim", data=data)


def _release(turn_id: int, holder: str) -> Draft:
    data: dict[str, object] = {
        "turn_id": turn_id,
        "from_agent_id": holder,
        "to_agent_id": None,
        "reserved_for": MEMBERS[(turn_id + 1) % len(MEMBERS)],
        "handoff": HANDOFF,
    }
    return Draft(kind="x.tally.stick.release", data=data)
