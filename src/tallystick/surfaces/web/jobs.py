"""`/rooms/<id>/jobs`: the radar as a board, one job's thread with its tail live, runners, and the merge report."""

from __future__ import annotations

from collections.abc import Sequence

from tallystick.surfaces.web import page
from tallystick.surfaces.web.page import Facts, PageReader, PageRequest, PageView

COLUMNS = ("QUEUED", "RUNNING", "DONE", "FAILED", "CANCELED")
LIMIT = 100
EVENTS = 100
MERGED = 50
"""Jobs that one report takes."""


def view(snapshot: PageReader, asked: PageRequest) -> PageView:
    if asked.item:
        return _thread(snapshot, asked)
    around = page.framed(snapshot, asked)
    radar = snapshot.ask("jobs.radar", room_id=asked.room_id, limit=LIMIT, runners_limit=50, offline_limit=10)
    ended = [
        job
        for status in COLUMNS[2:]
        for job in snapshot.rows("jobs.list", "jobs", room_id=asked.room_id, status=status, limit=15)
    ]
    board = {status: [each for each in radar["jobs"] if each["job"]["status"] == status] for status in COLUMNS[:2]}
    context: dict[str, object] = {
        **around.context,
        "radar": radar,
        "waiting": [each for each in radar["jobs"] if each["marker"]],
        "board": board,
        "ended": sorted(ended, key=lambda job: job["updated_at"], reverse=True)[:30],
        "runners": [*radar["runner_leases"], *radar["runner_leases_offline"]],
        "mergeable": [*ended, *(each["job"] for each in radar["jobs"])][:MERGED],
        "report": _report(snapshot, asked.room_id),
    }
    return PageView(template="jobs.html", context=context)


def _thread(snapshot: PageReader, asked: PageRequest) -> PageView:
    around = page.framed(snapshot, asked)
    before = asked.number("before")
    opened = snapshot.ask(
        "jobs.open",
        room_id=asked.room_id,
        job=asked.item,
        include_prompt=True,
        include_meta=True,
        include_artifacts=True,
        max_events=EVENTS,
        **({"before_seq": before} if before else {}),
    )
    events: Sequence[Facts] = opened["events"]
    context: dict[str, object] = {
        **around.context,
        "opened": opened,
        "job": opened["job"],
        "events": events,
        "older": events[-1]["seq"] if events and opened["has_more_events"] else None,
        "running": opened["job"]["status"] == "RUNNING",
        "active": opened["job"]["status"] in COLUMNS[:2],
    }
    return PageView(template="job.html", context=context)


def _report(snapshot: PageReader, room_id: str) -> Facts | None:
    """The newest merge report, which is a pinned card."""
    cards = snapshot.rows("cards.list", "cards", room_id=room_id, type="report", limit=1)
    return cards[0] if cards else None
