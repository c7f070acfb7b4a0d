"""What comes after a slice: the end, another slice, or giving up; whatever happens, it ends."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tallystick.capabilities.jobs.contract import MESSAGE_LIMIT, SUMMARY_LIMIT
from tallystick.runner import rules
from tallystick.runner.rules import (
    GATE,
    AnswerStatus,
    ContinueJob,
    EndJob,
    ExecutorAnswer,
    ExecutorNote,
    JobLimits,
    Next,
    Prior,
    SliceCount,
)

NOTHING = Prior()
BOUNDS = JobLimits(max_failures=3, max_slices=5, max_claims=4)


def said(status: AnswerStatus, summary: str = "three sheep", *refs: str) -> ExecutorAnswer:
    return ExecutorAnswer(status=status, summary=summary, refs=refs)


def test_a_finished_slice_ends_the_job_with_the_refs_of_its_events_too() -> None:
    answer = ExecutorAnswer(
        status="DONE",
        summary="three sheep",
        refs=("CARD-001",),
        events=(ExecutorNote(message="counted", refs=("CMD: count (exit 0)", "CARD-001")),),
    )

    assert rules.answered(answer, NOTHING, SliceCount(), BOUNDS) == EndJob(
        status="DONE", summary="three sheep", refs=("CARD-001", "CMD: count (exit 0)")
    )


def test_a_failed_job_ends_without_a_retry() -> None:
    assert rules.answered(said("FAILED", "no sheep"), NOTHING, SliceCount(), BOUNDS) == EndJob(
        status="FAILED", summary="no sheep"
    )


def test_a_slice_that_continues_hands_its_summary_and_refs_to_the_next() -> None:
    count = SliceCount(slices=1, failures=2, gates=1)

    assert rules.answered(said("CONTINUE", "one so far", "CARD-002"), NOTHING, count, BOUNDS) == ContinueJob(
        kind="slice",
        message="runner: slice 2 continues: one so far",
        prior=Prior(summary="one so far", refs=("CARD-002",)),
        count=SliceCount(slices=2),
    )


def test_a_job_that_always_continues_is_given_up() -> None:
    assert rules.answered(said("CONTINUE", "more"), NOTHING, SliceCount(slices=4), BOUNDS) == EndJob(
        status="FAILED", summary="gave up after 5 slices that all wanted to continue; the last said: more"
    )


def test_a_done_without_proof_goes_on_and_is_told_what_is_missing() -> None:
    assert rules.unproven(
        said("DONE", "all done", "JOB-007"), ["JOB-007: own"], NOTHING, SliceCount(), BOUNDS
    ) == ContinueJob(
        kind="proof_gate",
        message="runner: proof gate (slice 1): DONE without proof: JOB-007: own",
        prior=Prior(summary=f"all done\n\n{GATE}\nWhat was offered: JOB-007: own", refs=("JOB-007",)),
        count=SliceCount(slices=1, gates=1),
    )


def test_a_job_that_never_brings_proof_is_given_up() -> None:
    assert rules.unproven(said("DONE"), [], NOTHING, SliceCount(slices=2, gates=2), BOUNDS) == EndJob(
        status="FAILED", summary="gave up: DONE 3 times without proof (no refs); the last said: three sheep"
    )


def test_a_failed_slice_is_tried_again_and_the_next_learns_why() -> None:
    prior = Prior(summary="one so far", refs=("CARD-002",))

    assert rules.failed("exited with 1", prior, SliceCount(slices=1), BOUNDS) == ContinueJob(
        kind="error",
        message="runner: slice 2 failed (1 of 3): exited with 1",
        prior=Prior(summary="one so far\n\nThe last slice failed: exited with 1", refs=("CARD-002",)),
        count=SliceCount(slices=2, failures=1),
    )


def test_a_job_whose_slices_keep_failing_is_given_up_with_the_last_reason() -> None:
    assert rules.failed("exited with 1", NOTHING, SliceCount(slices=2, failures=2), BOUNDS) == EndJob(
        status="FAILED", summary="gave up after 3 failed slices in a row: exited with 1"
    )


def test_an_answer_forgets_the_failures_before_it() -> None:
    found = rules.answered(said("CONTINUE"), NOTHING, SliceCount(slices=2, failures=2), BOUNDS)

    assert isinstance(found, ContinueJob)
    assert found.count == SliceCount(slices=3)


def test_a_job_that_lost_too_many_runners_ends_before_it_begins() -> None:
    assert rules.worn_out(4, BOUNDS) is None
    assert rules.worn_out(5, BOUNDS) == EndJob(status="FAILED", summary="gave up: 5 runners were lost with it")


outcomes = st.sampled_from(["CONTINUE", "unproven", "failed"])
texts = st.text(max_size=6000)


@given(st.lists(st.tuples(outcomes, texts), min_size=200, max_size=200), st.integers(1, 4), st.integers(1, 20))
def test_every_job_ends_whatever_its_slices_answer(
    turns: list[tuple[str, str]], max_failures: int, max_slices: int
) -> None:
    bounds = JobLimits(max_failures=max_failures, max_slices=max_slices)
    prior, count = NOTHING, SliceCount()
    for number, (outcome, text) in enumerate(turns):
        found: Next
        if outcome == "failed":
            found = rules.failed(text, prior, count, bounds)
        elif outcome == "unproven":
            found = rules.unproven(said("DONE", text), [text], prior, count, bounds)
        else:
            found = rules.answered(said("CONTINUE", text), prior, count, bounds)
        if isinstance(found, EndJob):
            assert len(found.summary) <= SUMMARY_LIMIT
            # A gate neither counts as a failure nor forgives one for ever.
            assert number < max_slices * max_failures
            return
        assert len(found.message) <= MESSAGE_LIMIT
        assert len(found.prior.summary) <= rules.PRIOR_CHARS
        prior, count = found.prior, found.count
    raise AssertionError("the job never ended")
