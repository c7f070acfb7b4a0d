"""The checker itself: a clean history passes, and every kind of wrong is found."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tests.runner import history
from tests.runner.history import Event

LEASE = 1000


def told(*events: tuple[int, str, dict[str, Any]]) -> list[Event]:
    return [
        {
            "seq": seq,
            "ts": datetime.fromtimestamp(at / 1000, UTC).isoformat(),
            "data": {"job_id": "JOB-001", "event": kind, **data},
        }
        for seq, (at, kind, data) in enumerate(events, 1)
    ]


def by(runner: str, revision: int) -> dict[str, Any]:
    return {"runner_id": runner, "claim_revision": revision}


CREATED = (0, "created", dict[str, Any]())
CLAIMED = (0, "claimed", {**by("r1", 1), "expires_at": LEASE})
TAKEN = (1500, "reclaimed", {**by("r2", 2), "expires_at": 2500})
DONE = (1600, "completed", by("r2", 2))


def test_a_clean_history_has_no_problems() -> None:
    assert history.problems(told(CREATED, CLAIMED, (100, "progress", by("r1", 1)), TAKEN, DONE), LEASE) == []


def test_a_write_of_a_fenced_runner_is_found() -> None:
    found = history.problems(told(CREATED, CLAIMED, TAKEN, (1550, "progress", by("r1", 1)), DONE), LEASE)

    assert found == ["JOB-001: progress at seq 4 by ('r1', 1), while held by ('r2', 2)"]


def test_a_claim_that_was_taken_too_early_is_found() -> None:
    found = history.problems(told(CREATED, CLAIMED, (900, "progress", by("r1", 1)), TAKEN, DONE), LEASE)

    assert found == ["JOB-001: taken from ('r1', 1) at seq 4, before its claim ran out"]


def test_a_second_end_and_anything_after_the_end_is_found() -> None:
    found = history.problems(told(CREATED, CLAIMED, (10, "failed", by("r1", 1)), (20, "completed", by("r1", 1))), LEASE)

    assert found == [
        "JOB-001: completed at seq 4 after it was failed",
        "JOB-001: completed at seq 4 by ('r1', 1), while held by None",
        "JOB-001: ended 2 times",
    ]


def test_two_claims_at_once_and_a_skipped_number_are_found() -> None:
    again = (10, "claimed", {**by("r2", 3), "expires_at": LEASE})

    found = history.problems(told(CREATED, CLAIMED, again, (20, "completed", by("r2", 3))), LEASE)

    assert found == [
        "JOB-001: claim 3 at seq 3 follows 1",
        "JOB-001: claimed at seq 3 while held by ('r1', 1)",
        "JOB-001: taken from ('r1', 1) at seq 3, before its claim ran out",
    ]


def test_a_job_that_was_forgotten_is_found() -> None:
    assert history.problems(told(CREATED), LEASE) == ["JOB-001: ended 0 times"]
