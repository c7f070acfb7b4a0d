"""Many runners, random kills, pauses past the lease and hub restarts: every job ends once, nothing forged or lost."""

from __future__ import annotations

import sys

import pytest

from tests.runner import history, upheaval
from tests.runner.shift import Shift
from tests.runner.upheaval import LEASE_MS, Upheaval
from tests.waiting import until


def check(shift: Shift, jobs: list[str], rough: Upheaval) -> None:
    happened = upheaval.events(shift)
    assert history.problems(happened, LEASE_MS) == []
    assert {event["data"]["job_id"] for event in happened} == set(jobs)
    assert upheaval.verified(shift)
    # What was called done was done, by whoever said so.
    ran = {(line["job"], line["revision"]) for line in rough.diary if line["what"] == "done"}
    told = [event["data"] for event in happened if event["data"]["event"] == "completed"]
    assert [data for data in told if (data["job_id"], data["claim_revision"]) not in ran] == []
    until(lambda: rough.survivors() == [])


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_every_job_ends_once_while_runners_die_and_stand_still_and_the_hub_restarts(any_shift: Shift) -> None:
    jobs = [any_shift.create(title=f"field {number}") for number in range(16)]
    rough = Upheaval(any_shift, seed=7, longest_slice_s=0.6)

    rough.run(runners=3, every_s=0.4, deadline_s=200)

    check(any_shift, jobs, rough)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", [1])
def test_sixteen_runners_finish_two_thousand_jobs_through_all_of_it(any_shift: Shift, seed: int) -> None:
    jobs = [any_shift.create(title=f"field {number}", priority=("LOW", "MEDIUM")[number % 2]) for number in range(2000)]
    rough = Upheaval(any_shift, seed=seed)

    rough.run(runners=16, every_s=1.0, deadline_s=3000)

    sys.stderr.write(f"{dict(rough.did)} {dict(rough.refusals)}\n")
    check(any_shift, jobs, rough)
    assert {"kill", "pause", "hub killed"} <= rough.did.keys()
    assert rough.refusals["is held by the runner"] > 0
