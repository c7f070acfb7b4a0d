"""`/rooms/<id>/jobs`: the radar as a board, one job's thread with its tail live, runners, and the merge report."""

from __future__ import annotations

from tallystick.capabilities.jobs.radar_views import Radar
from tallystick.capabilities.jobs.views import JobOpened, Jobs
from tallystick.capabilities.tasks.contract import Cards, CardView
from tallystick.surfaces.web import page
from tallystick.surfaces.web.page import PageReader, PageRequest, PageView, needs_of

COLUMNS = ("QUEUED", "RUNNING", "DONE", "FAILED", "CANCELED")
LIMIT = 100
EVENTS = 100
MERGED = 50
"""Jobs that one report takes."""


def view(snapshot: PageReader, asked: PageRequest) -> PageView:
    if asked.item:
        return _thread(snapshot, asked)
    around = page.framed(snapshot, asked)
    radar = snapshot.read("jobs.radar", Radar, room_id=asked.room_id, limit=LIMIT, runners_limit=50, offline_limit=10)
    ended = [
        job
        for status in COLUMNS[2:]
        for job in snapshot.read("jobs.list", Jobs, room_id=asked.room_id, status=status, limit=15).jobs
    ]
    board = {status: [each for each in radar.jobs if each.job.status == status] for status in COLUMNS[:2]}
    context: dict[str, object] = {
        **around.context,
        "radar": radar,
        "needs": [need for need in needs_of(around.room, around.waiting).needs if need.item.job],
        "board": board,
        "ended": sorted(ended, key=lambda job: job.updated_at, reverse=True)[:30],
        "runners": [*radar.runner_leases, *radar.runner_leases_offline],
        "mergeable": [*ended, *(each.job for each in radar.jobs)][:MERGED],
        "report": _report(snapshot, asked.room_id),
    }
    return PageView(template="jobs.html", context=context)


def _thread(snapshot: PageReader, asked: PageRequest) -> PageView:
    around = page.framed(snapshot, asked)
    before = asked.number("before")
    opened = snapshot.read(
        "jobs.open",
        JobOpened,
        room_id=asked.room_id,
        job=asked.item,
        include_prompt=True,
        include_meta=True,
        include_artifacts=True,
        max_events=EVENTS,
        **({"before_seq": before} if before else {}),
    )
    job, events = opened.job, opened.events
    context: dict[str, object] = {
        **around.context,
        "opened": opened,
        "job": job,
        "events": events,
        "older": events[-1].seq if events and opened.has_more_events else None,
        "running": job.status == "RUNNING",
        "active": job.status in COLUMNS[:2],
    }
    return PageView(template="job.html", context=context)


def _report(snapshot: PageReader, room_id: str) -> CardView | None:
    """The newest merge report, which is a pinned card."""
    cards = snapshot.read("cards.list", Cards, room_id=room_id, type="report", limit=1).cards
    return cards[0] if cards else None
