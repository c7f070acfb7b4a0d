"""Radar and tail in a room that has grown: the same answers as from reading everything, whatever its size.

What they cost at a million events is measured by `tally bench size`.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from tallybench.growing import MEMBERS, grow_to, member
from tallystick.capabilities.jobs import reading as job_reading
from tallystick.capabilities.jobs.events import JOB_KINDS
from tallystick.capabilities.jobs.model import Job, job_id
from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.kernel.envelope import Event
from tallystick.ledger import reading
from tests.scene import Row, Scene

BOSS = member("ada")
PAGE = 200


def grown(hub: Hub, events: int) -> str:
    room_id = cast("str", hub.call("rooms.create", {"title": "the large one"}, BOSS).to_data()["room_id"])
    for name in MEMBERS:
        hub.call("rooms.join", {"room_id": room_id}, member(name))
    grow_to(hub, room_id, events)
    return room_id


def told(hub: Hub, room_id: str) -> list[Event]:
    """Every event about jobs, read from the ledger alone."""
    with hub.reading() as tx:
        return list(reading.until(tx, room_id, tx.head(room_id).seq, kinds=JOB_KINDS))


def ask(hub: Hub, operation: str, room_id: str, **given: object) -> Row:
    return hub.call(operation, {"room_id": room_id, **given}, BOSS).to_data()


def check_radar(hub: Hub, room_id: str, jobs: list[Job]) -> None:
    found = ask(hub, "jobs.radar", room_id, limit=PAGE)
    lines = cast("str", ask(hub, "jobs.radar", room_id, limit=PAGE, fmt="lines")["text"]).splitlines()

    assert [each["job"]["job_id"] for each in found["jobs"]] == [job.job_id for job in jobs[:PAGE]]
    assert found["has_more"] is (len(jobs) > PAGE)
    assert [line.split()[0] for line in lines if line.startswith("JOB-")] == [
        each["last"]["ref"] for each in found["jobs"]
    ]


def check_tail(hub: Hub, room_id: str, events: list[Event]) -> None:
    wanted = [event.seq for event in events if event.data["job_id"] == job_id(1)]
    seen: list[int] = []
    page: Row = {"next_after_seq": 0, "has_more": True}
    while page["has_more"]:
        page = ask(hub, "jobs.tail", room_id, job=job_id(1), after_seq=page["next_after_seq"], limit=PAGE)
        seen += [event["seq"] for event in page["events"]]

    assert seen == wanted


def check(hub: Hub, room_id: str) -> int:
    """Both against the ledger; gives the number of jobs."""
    events = told(hub, room_id)
    jobs = job_reading.replayed(events)
    check_radar(hub, room_id, jobs)
    check_tail(hub, room_id, events)
    snapshot = ask(hub, "tasks.snapshot", room_id)
    assert (snapshot["job"]["job_id"], snapshot["inbox"]["running"]) == (job_id(1), 1)
    return len(jobs)


def test_radar_tail_and_snapshot_of_a_grown_room_are_what_its_ledger_tells(scene: Scene) -> None:
    room_id = grown(scene.hub, 1_500)

    assert check(scene.hub, room_id) > 100


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_so_they_are_at_ten_thousand_jobs_and_a_million_events(tmp_path: Path) -> None:
    with closing(Hub.open(Settings(data_dir=tmp_path / "data"))) as hub:
        room_id = grown(hub, 1_000_000)

        assert check(hub, room_id) > 10_000
