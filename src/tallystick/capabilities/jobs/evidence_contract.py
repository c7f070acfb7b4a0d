"""What a runner tells of a job's work at first hand: commands it saw end, files it measured, the branch it left."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from tallystick.kernel.operation import Ask
from tallystick.ledger.contract import SEQ_LIMIT, Text
from tallystick.proof.refs import REF_LIMIT, REFS_LIMIT

COMMAND_LIMIT = 2_000
BRANCH_LIMIT = 200


class ObservedAsk(Ask):
    command: Annotated[Text, Meta(min_length=1, max_length=COMMAND_LIMIT, description="As it was run.")]
    exit_code: Annotated[int, Meta(ge=-SEQ_LIMIT, le=SEQ_LIMIT, description="The status it ended with.")]
    ms_ago: Annotated[int, Meta(ge=0, le=SEQ_LIMIT, description="How long ago it ended.")] = 0


class FileAsk(Ask):
    path: Annotated[Text, Meta(min_length=1, max_length=REF_LIMIT, description="From the room's root.")]
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z", description="Of its content.")]
    ms_ago: Annotated[int, Meta(ge=0, le=SEQ_LIMIT, description="How long ago it last changed.")]
    elsewhere: Annotated[bool, Meta(description="Whether it lies outside the room's own folder.")] = False


Branch = Annotated[Text, Meta(min_length=1, max_length=BRANCH_LIMIT, description="Its name.")]
Count = Annotated[int, Meta(ge=0, le=SEQ_LIMIT, description="How many.")]


class ConflictAsk(Ask):
    branch: Branch
    paths: Annotated[
        list[Annotated[Text, Meta(max_length=1000)]], Meta(max_length=100, description="The files that conflict.")
    ]


class BranchAsk(Ask):
    name: Branch
    base: Annotated[Text, Meta(max_length=BRANCH_LIMIT, description="The branch it began from.")]
    commit: Annotated[str, Meta(pattern=r"^[0-9a-f]{40,64}\Z", description="Where it ends.")]
    commits: Count = 0
    files: Count = 0
    insertions: Count = 0
    deletions: Count = 0
    uncommitted: Count = 0
    conflicts: Annotated[list[ConflictAsk], Meta(max_length=100, description="What it cannot be merged with.")] = []


Observed = Annotated[
    list[ObservedAsk],
    Meta(max_length=REFS_LIMIT, description="Commands that you saw end yourself, the newest last; for runners."),
]
