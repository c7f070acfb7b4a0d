"""Refusals about jobs and runners. Those about a claim carry job_id, status, runner_id and revision as they are now."""

from __future__ import annotations

from tallystick.kernel.errors import Conflict, InvalidInput, NotAllowed, NotFound
from tallystick.kernel.hints import known, step

JOB = known("job_id", "job", otherwise="JOB-001")


class UnknownJob(NotFound):
    """There is no such job in this room."""

    hint = f"{step('jobs.radar')} shows the jobs there are."


class UnknownRunner(NotFound):
    """No runner of that name ever sent a heartbeat to this room."""

    hint = f"{step('runners.list')} lists those that did."


class UnknownArtifact(NotFound):
    """The job has no artifact under that key."""

    hint = f"{step('jobs.open', job=JOB, include_artifacts=True)} lists the keys that are there."


class ClaimRefused(Conflict):
    """This runner does not get that job; why says the refusal below."""


class JobNotClaimable(ClaimRefused):
    """That job cannot be claimed now."""

    hint = "Leave `job` out to get the next one that you may take."


class JobBlocked(ClaimRefused):
    """That job comes after others that are not done yet."""

    hint = (
        f"Finish the jobs named in `after` first; one that failed is queued again with {step('jobs.requeue', job=JOB)}."
    )


class ClaimHeld(ClaimRefused):
    """Another claim on that job is still valid."""

    hint = "Wait until claim_expires_at and claim it with allow_stale, or take another job."


class PreferredElsewhere(ClaimRefused):
    """A runner with an executor that the job prefers is there and free; it goes first for a few seconds."""

    hint = "Leave `job` out to get the next one that is yours, or claim it again after `until`."


class JobAwaitsAnswer(ClaimRefused):
    """That job asked its manager something and waits for the answer."""

    hint = f"Take another job. Its manager answers with {step('jobs.message', job=JOB, message='…')}."


class CapabilityMissing(ClaimRefused):
    """This runner cannot do what the job asks for."""

    hint = "Advertise what you can do with the next heartbeat, or leave `job` out to get one that suits you."


class RunnerOffline(Conflict):
    """A runner without an active lease cannot claim: nobody knows what it can do or whether it is there."""

    hint = "Send runners.heartbeat with your executors first, and keep sending it; `tally runner` does both."


class RunnerBusy(Conflict):
    """This runner has as many jobs as it said it can run at once."""

    hint = "Complete one of them first, or raise max_parallel with the next heartbeat."


class ClaimMismatch(Conflict):
    """That claim is not the job's current one."""

    hint = "Stop working on this job and write nothing more: somebody else has it. Claim another."


class JobNotRunning(Conflict):
    """That job is not running."""

    hint = f"Stop working on it: {step('jobs.open', job=JOB)} says what happened."


class JobWasCanceled(Conflict):
    """That job was canceled."""

    code = "job_canceled"
    hint = "Stop working on it at once and clean up; there is nothing to report."


class JobOver(Conflict):
    """That job has ended."""

    hint = f"Queue it again if there is more to do: {step('jobs.requeue', job=JOB)}."


class StillRunning(Conflict):
    """That job is running."""

    hint = (
        f"Tell it what you want with {step('jobs.message', job=JOB, message='…')}, or end it with "
        f"{step('jobs.cancel', job=JOB, force_running=True)}; its runner learns it next."
    )


class NotRequeueable(Conflict):
    """Only a job that has ended can be queued again."""

    hint = f"Cancel it first with {step('jobs.cancel', job=JOB)}, or wait until it ends."


class RevisionMismatch(Conflict):
    """The job has moved on since you looked."""

    hint = f"Look again with {step('jobs.open', job=JOB)} and decide anew."


class ProofMissing(Conflict):
    """DONE needs proof, and none of the refs is any."""

    hint = "Continue the job, name in `refs` what came of it, and complete it again."


class ManagerSpoke(Conflict):
    """The manager has said something that the agent did not have when it ended the job."""

    hint = f"Give the agent what {step('jobs.open', job=JOB)} shows as unread, go on, and complete the job after that."


class OwnWaiver(Conflict):
    """Only who manages a job may waive its proof: who created it, a foreman or a person, and never who runs it."""

    hint = "Bring evidence, or ask whoever manages the job to waive it, in a report of kind question."


class TooManyArtifacts(Conflict):
    """The job already has as many artifacts as it may have."""

    hint = "Write over one of its keys, or put the rest into a card."


class NotFailed(Conflict):
    """Only a failure that nobody has acknowledged yet can be acknowledged."""

    hint = f"{step('jobs.radar')} shows what waits for you."


class ContradictoryLimits(InvalidInput):
    """No runner could ever take such a job: what it asks for rules itself out."""

    hint = "Raise executor_profile to min_profile, and take out of policy.forbid what the job needs or prefers."


class ReservedReportKind(InvalidInput):
    """That kind of event is written by the hub."""

    hint = "Report progress, checkpoint, question, error, or a word of your own."


class ReservedMeta(InvalidInput):
    """That key of meta is written by the hub."""

    hint = "Use the field of that name when creating the job; a report keeps its own facts under other keys."


class ReplyIncomplete(InvalidInput):
    """A reply needs both: reply_job, the job that asked, and reply_message, the answer."""

    hint = 'Send reply_job="JOB-001" and reply_message="…" together.'


class RunnerNotYours(NotAllowed):
    """That runner, with what it has claimed, belongs to another agent."""

    hint = "Use a runner_id of your own."
