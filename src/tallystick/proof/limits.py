"""How large the parts of a job may be, for those who write them and for the hub that refuses what is larger."""

from __future__ import annotations

TITLE = 200
PROMPT = 50_000
KIND = 64
RUNNER_ID = 128
SUMMARY = 128_000
EVENT_KIND = 32
MESSAGE = 400
REFS = 32
REF = 128
META = 16_384
"""Of a job's whole meta, in bytes of JSON."""
ARTIFACT = 512_000
ARTIFACTS = 8
ARTIFACT_KEY = 128
PAGE = 200

LEASE_MS = 180_000
"""How long a claim lasts without a report."""
RUNNER_LEASE_MS = 20_000
"""How long a runner counts as present without a heartbeat."""
SHORTEST_LEASE_MS = 1_000
LONGEST_LEASE_MS = 300_000


def lease(asked: int | None, default: int) -> int:
    """The lease that is granted: what was asked for, within what is safe."""
    return min(max(default if asked is None else asked, SHORTEST_LEASE_MS), LONGEST_LEASE_MS)
