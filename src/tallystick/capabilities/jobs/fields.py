"""Fields that the inputs and answers of `jobs.*` and `runners.*` share."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from tallystick.ledger.contract import SEQ_LIMIT, Text
from tallystick.proof import limits


def _priority(given: object) -> object:
    if isinstance(given, str):
        return {"NORMAL": "MEDIUM"}.get(given.upper(), given.upper())
    return given


JobId = Annotated[Text, Field(max_length=40, description="Such as JOB-001.")]
RunnerId = Annotated[
    str,
    Field(
        max_length=limits.RUNNER_ID,
        pattern=r"^[^\s|\x00-\x1f\x7f]+$",
        description="The runner's stable name, without spaces.",
    ),
]
ClaimRevision = Annotated[
    int, Field(ge=1, le=SEQ_LIMIT, description="The claim_revision that jobs.claim gave; it fences off older claims.")
]
Message = Annotated[Text, Field(min_length=1, max_length=limits.MESSAGE)]
Refs = Annotated[
    list[Annotated[str, Field(max_length=limits.REF)]],
    Field(max_length=limits.REFS, description="Stable refs: CARD-…, notes@…, TASK-…, CMD: …, LINK: …, FILE: …"),
]
Meta = Annotated[dict[str, object], Field(description="Facts for programs; merged into the job's meta.")]
LeaseTtl = Annotated[
    int | None,
    Field(ge=1, le=SEQ_LIMIT, description="How long the lease should last, in ms; kept within 1 s and 5 min."),
]
Percent = Annotated[int | None, Field(ge=0, le=100, description="How far it is.")]
MaxChars = Annotated[
    int | None, Field(ge=100, le=1_000_000, description="At most about this much text; what is left out can be paged.")
]
Limit = Annotated[int, Field(ge=1, le=limits.PAGE, description="At most this many.")]
StatusName = Literal["QUEUED", "RUNNING", "DONE", "FAILED", "CANCELED"]
PriorityName = Annotated[Literal["LOW", "MEDIUM", "HIGH"], BeforeValidator(_priority)]
ExecutorName = Literal["codex", "claude_code", "gemini", "command"]
ProfileName = Literal["fast", "deep", "audit", "xhigh"]
ArtifactName = Literal["report", "diff", "patch", "bench", "docs_update"]
TaskId = Annotated[Text | None, Field(max_length=40, description="The task it is work for, such as TASK-001.")]
AnchorId = Annotated[
    str | None, Field(pattern=r"^a:[a-z0-9][a-z0-9-]{0,63}$", description="The area it is about; made when new.")
]
