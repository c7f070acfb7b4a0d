"""Refusals about jobs and runners. Those about a claim carry job_id, status, runner_id and revision as they are now."""

from __future__ import annotations

from tallystick.kernel.errors import Conflict, InvalidInput, NotFound


class UnknownJob(NotFound):
    """There is no such job in this room."""

    hint = "List the jobs with jobs.list, or look at the radar: `tally radar`."


class UnknownRunner(NotFound):
    """No runner of that name ever sent a heartbeat to this room."""

    hint = "List the runners with runners.list."


class UnknownArtifact(NotFound):
    """The job has no artifact under that key."""

    hint = "jobs.open with include_artifacts lists the keys that are there."


class ClaimRefused(Conflict):
    """This runner does not get that job; why says the refusal below."""


class JobNotClaimable(ClaimRefused):
    """That job cannot be claimed now."""

    hint = "Leave `job` out to get the next one that you may take."


class JobBlocked(ClaimRefused):
    """That job comes after others that are not done yet."""

    hint = "Finish the jobs named in `after` first; one that failed can be queued again with jobs.requeue."


class ClaimHeld(ClaimRefused):
    """Another claim on that job is still valid."""

    hint = "Wait until claim_expires_at and claim it with allow_stale, or take another job."


class RoutedElsewhere(ClaimRefused):
    """That job is meant for another runner, which is there."""

    hint = "Leave `job` out to get the next one that is yours; the routing is redone when that runner is gone."


class CapabilityMissing(ClaimRefused):
    """This runner cannot do what the job asks for."""

    hint = "Advertise what you can do with runners.heartbeat, or leave `job` out to get one that suits you."


class RunnerOffline(Conflict):
    """A runner without an active lease cannot claim: nobody knows what it can do or whether it is there."""

    hint = "Send runners.heartbeat with your executors first, and keep sending it."


class RunnerBusy(Conflict):
    """This runner has as many jobs as it said it can run at once."""

    hint = "Complete one of them first, or raise max_parallel with runners.heartbeat."


class ClaimMismatch(Conflict):
    """That claim is not the job's current one."""

    hint = "Stop working on this job and write nothing more: somebody else has it. Claim another with jobs.claim."


class JobNotRunning(Conflict):
    """That job is not running."""

    hint = "Stop working on it; jobs.open says what happened."


class JobWasCanceled(Conflict):
    """That job was canceled."""

    code = "job_canceled"
    hint = "Stop working on it at once and clean up; there is nothing to report."


class JobOver(Conflict):
    """That job has ended."""

    hint = "Queue it again with jobs.requeue if there is more to do."


class StillRunning(Conflict):
    """That job is running."""

    hint = "Send it a message with jobs.message, or cancel it with force_running=true; its runner learns it next."


class NotRequeueable(Conflict):
    """Only a job that has ended can be queued again."""

    hint = "Cancel it first with jobs.cancel, or wait until it ends."


class RevisionMismatch(Conflict):
    """The job has moved on since you looked."""

    hint = "Look again with jobs.open and decide anew."


class ProofMissing(Conflict):
    """DONE needs proof, and none of the refs is any."""

    hint = (
        "Continue the job: name a CARD-…, notes@…, FILE: path or artifact that holds the result, or a receipt such as "
        "`CMD: pytest -q (exit 0)` or `LINK: https://…`, and complete it again."
    )


class TooManyArtifacts(Conflict):
    """The job already has as many artifacts as it may have."""

    hint = "Write over one of its keys, or put the rest into a card."


class ReservedMeta(InvalidInput):
    """That key of meta is written by the hub."""

    hint = "Use the field of that name when creating the job; a report keeps its own facts under other keys."


class ReplyIncomplete(InvalidInput):
    """A reply needs both: reply_job, the job that asked, and reply_message, the answer."""

    hint = 'Send reply_job="JOB-001" and reply_message="…" together.'
