"""The guide's own example, run as it stands there."""

from __future__ import annotations

import re
import sys

from tests.frame.checkout import ROOT
from tests.runner.shift import Shift
from tests.waiting import until


def test_the_example_of_the_guide_asks_is_gated_and_ends_with_proof(shift: Shift) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/guides/runner.md").read_text("utf-8"), flags=re.DOTALL)
    (shift.workspace / "worker.py").write_text(code)
    job_id = shift.create()

    with shift.runner(None, "--executors", "command", "--command", f"{sys.executable} worker.py", "--once") as runner:
        until(lambda: shift.job(job_id)["waits_until"] is not None)
        shift.here("jobs.message", job=job_id, message="Yes, lambs too.")
        assert runner.finished() == 0

    job = shift.job(job_id)
    assert (job["status"], job["summary"]) == ("DONE", "Counted again: three")
    assert [event["kind"] for event in shift.events(job_id)] == [
        *("created", "claimed", "slice", "question", "slice", "released", "manager", "claimed", "slice", "read"),
        *("proof_gate", "slice", "completed"),
    ]
