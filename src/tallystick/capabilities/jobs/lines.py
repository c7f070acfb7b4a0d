"""Jobs as lines to read at a glance: every line begins with something to open and names one next move."""

from __future__ import annotations

from tallystick.capabilities.jobs.views import JobEvent, JobTail

PREVIEW = 120


def one_line(text: str, limit: int = PREVIEW) -> str:
    """Text that somebody else wrote, on one line and without control characters."""
    plain = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"


def tail(room_id: str, found: JobTail) -> str:
    head = (
        f"{room_id} job {found.job_id} tail after_seq={found.after_seq} next_after_seq={found.next_after_seq} "
        f"count={found.count} has_more={str(found.has_more).lower()}"
    )
    rows = [head, "events:", *(f"- {event_line(event)}" for event in found.events)]
    if found.heartbeat:
        rows.append(f"- {found.job_id} heartbeat: {one_line(found.heartbeat.message)}")
    if found.has_more:
        rows.append(f"MORE: after_seq={found.next_after_seq}")
    return "\n".join(rows)


def event_line(event: JobEvent) -> str:
    return f"{event.ref} {one_line(event.kind)}: {one_line(event.message)}"
