"""What of a slice reaches the hub: notes at once, steps every so often, and a refusal that means stop."""

from __future__ import annotations

from tallystick.capabilities.jobs.errors import ClaimMismatch
from tallystick.capabilities.jobs.views import JobView, Reported
from tallystick.harnesses.headless.protocol import Began, HarnessStep, Told
from tallystick.kernel.errors import Unavailable
from tallystick.kernel.operation import Moment
from tallystick.runner.executors import Progress
from tallystick.runner.job_source import Abilities, HeldJob, JobSource, StopReason
from tests.runner.samples import JOB

ABLE = Abilities(executors=("codex",), profiles=("fast",), max_parallel=1, sandbox_policy="read-only")


REPORTED = Reported(
    job=JobView(
        job_id=JOB.job_id,
        revision=3,
        status="RUNNING",
        title=JOB.title,
        kind=JOB.kind,
        priority="MEDIUM",
        task=None,
        anchor=None,
        executor="codex",
        executor_profile="fast",
        runner="r1",
        blocked=0,
        claim_expires_at=None,
        waits_until=None,
        slices=1,
        message_ref=None,
        message_state=None,
        summary=None,
        refs=[],
        created_by="boss",
        created_at=Moment(0),
        updated_at=Moment(0),
        completed_at=None,
        last_ref="JOB-007@1",
    ),
    event=None,
    claim_expires_at=Moment(0),
    manager_seq=0,
    needs_manager=False,
)


class Wire:
    """A line to nowhere that keeps what was said, or refuses it."""

    def __init__(self, refusal: Exception | None = None) -> None:
        self.said: list[tuple[str, object]] = []
        self._refusal = refusal

    def call(self, operation: str, /, **given: object) -> dict[str, object]:
        assert operation == "jobs.report"
        self.said.append((str(given.get("kind", "progress")), given["message"]))
        if self._refusal:
            raise self._refusal
        return REPORTED.to_data()


def told(wire: Wire, every_s: float = 0) -> tuple[HeldJob, Progress]:
    held = HeldJob(JOB)
    return held, Progress(JobSource(wire, "room-1", "r1", ABLE, 1000), held, every_s, lambda _: None)


def test_steps_are_reported_with_how_many_there_were() -> None:
    wire = Wire()
    _, progress = told(wire)

    for sign in (Began(session_id="s"), HarnessStep(text="ran make"), HarnessStep(text="ran pytest", ok=False)):
        progress(sign)

    assert wire.said == [("progress", "ran make"), ("progress", "ran pytest (failed)")]


def test_steps_in_between_are_only_counted_and_shown_as_what_it_is_doing() -> None:
    wire = Wire()
    held, progress = told(wire, every_s=3600)

    progress(HarnessStep(text="ran make"))

    assert (wire.said, held.doing) == ([], "ran make")


def test_notes_of_a_plain_program_are_reported_at_once_and_its_answer_is_not() -> None:
    wire = Wire()
    _, progress = told(wire, every_s=3600)

    progress(Told(data={"kind": "checkpoint", "message": "half"}))
    progress(Told(data={"status": "DONE", "summary": "all"}))

    assert wire.said == [("checkpoint", "half")]


def test_a_report_that_is_refused_because_the_job_is_lost_stops_the_slice() -> None:
    wire = Wire(ClaimMismatch())
    held, progress = told(wire)
    stops = list[StopReason]()
    held.listen(stops.append)

    progress(HarnessStep(text="ran make"))
    progress(HarnessStep(text="ran more"))

    assert stops == [StopReason.LOST]
    assert len(wire.said) == 1


def test_a_hub_that_cannot_answer_stops_nothing() -> None:
    held, progress = told(Wire(Unavailable()))

    progress(HarnessStep(text="ran make"))

    assert held.stopped is None
