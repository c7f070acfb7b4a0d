"""Fields that the inputs and answers of `jobs.*` and `runners.*` share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Meta

from tallystick.kernel.operation import JsonObject
from tallystick.ledger.contract import SEQ_LIMIT, Text
from tallystick.proof import limits


class PriorityName(StrEnum):
    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"

    @classmethod
    def _missing_(cls, value: object) -> PriorityName | None:
        """In any case, and NORMAL for MEDIUM."""
        given = value.upper() if isinstance(value, str) else ""
        return cls.__members__.get("MEDIUM" if given == "NORMAL" else given)


JobId = Annotated[Text, Meta(max_length=40, description="Such as JOB-001.")]
RunnerId = Annotated[
    str,
    Meta(
        max_length=limits.RUNNER_ID,
        pattern=r"^[^\s|\x00-\x1f\x7f]+\Z",
        description="The runner's stable name, without spaces.",
    ),
]
ClaimRevision = Annotated[
    int, Meta(ge=1, le=SEQ_LIMIT, description="The claim_revision that jobs.claim gave; it fences off older claims.")
]
Message = Annotated[Text, Meta(min_length=1, max_length=limits.MESSAGE)]
Refs = Annotated[
    list[Annotated[str, Meta(max_length=limits.REF)]],
    Meta(max_length=limits.REFS, description="Stable refs: CARD-…, notes@…, TASK-…, CMD: …, LINK: …, FILE: …"),
]
JobMeta = Annotated[JsonObject, Meta(description="Facts for programs; merged into the job's meta.")]
LeaseTtl = Annotated[
    Annotated[int, Meta(ge=1, le=SEQ_LIMIT)] | None,
    Meta(description="How long the lease should last, in ms; kept within 1 s and 5 min."),
]
Percent = Annotated[Annotated[int, Meta(ge=0, le=100)] | None, Meta(description="How far it is.")]
MaxChars = Annotated[
    Annotated[int, Meta(ge=100, le=1_000_000)] | None,
    Meta(description="At most about this much text; what is left out can be paged."),
]
Limit = Annotated[int, Meta(ge=1, le=limits.PAGE, description="At most this many.")]
StatusName = Literal["QUEUED", "RUNNING", "DONE", "FAILED", "CANCELED"]
ExecutorName = Literal["codex", "claude_code", "gemini", "command"]
ProfileName = Literal["fast", "deep", "audit", "xhigh"]
ArtifactName = Literal["report", "diff", "patch", "bench", "docs_update"]
TaskId = Annotated[
    Annotated[Text, Meta(max_length=40)] | None, Meta(description="The task it is work for, such as TASK-001.")
]
AnchorId = Annotated[
    Annotated[str, Meta(pattern=r"^a:[a-z0-9][a-z0-9-]{0,63}\Z")] | None,
    Meta(description="The area it is about; made when new."),
]
