"""What proves that a job is done, and what only looks like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.proof.refs import Ref, RefKind
from tallystick.proof.verdict import EvidenceState, FileFact, Own, ProofVerdict, judge

OWN = Own(job_id="JOB-001", task_id="TASK-001")
SHA = "ab" * 32


def judged(*refs: str, there: bool = True, files: dict[str, FileFact] | None = None, **said: int) -> ProofVerdict:
    return judge(refs, OWN, exists=lambda _: there, files=files or {}, said_at={"CMD: pytest": said.get("at", 10**15)})


def state(ref: str, *, there: bool = True, files: dict[str, FileFact] | None = None) -> EvidenceState:
    (evidence,) = judged(ref, there=there, files=files).evidence
    return evidence.state


@pytest.mark.parametrize(
    "ref",
    [
        "CARD-001",
        "TASK-002",
        "JOB-002",
        "JOB-002@7",
        "notes@3",
        "artifact://jobs/JOB-001/report",
        "CMD: pytest -q",
        "CMD: pytest -q (exit 0)",
        "LINK: https://ci.example/1",
        "https://ci.example/1",
    ],
)
def test_durable_things_that_exist_and_receipts_are_proof(ref: str) -> None:
    assert state(ref) is EvidenceState.PROOF


@pytest.mark.parametrize(
    ("ref", "why"),
    [
        ("JOB-001", EvidenceState.OWN),
        ("JOB-001@7", EvidenceState.OWN),
        ("TASK-001", EvidenceState.OWN),
        ("a:parser", EvidenceState.ANCHOR),
        ("CMD:", EvidenceState.BARE),
        ("LINK:", EvidenceState.BARE),
        ("FILE:", EvidenceState.BARE),
        ("CMD: <fill: command you ran>", EvidenceState.PLACEHOLDER),
        ("LINK: <fill: CI run / artifact / log>", EvidenceState.PLACEHOLDER),
        ("CMD: <command>", EvidenceState.PLACEHOLDER),
        ("CMD: ...", EvidenceState.PLACEHOLDER),
        ("LINK: TODO", EvidenceState.PLACEHOLDER),
        ("CMD: `<fill>`", EvidenceState.PLACEHOLDER),
        ("n/a", EvidenceState.PLACEHOLDER),
        ("CMD: pytest (exit 1)", EvidenceState.FAILED),
        ("FILE: src/a.py", EvidenceState.UNREACHABLE),
        ("PLAN-001", EvidenceState.UNRECOGNISED),
        ("done, trust me", EvidenceState.UNRECOGNISED),
        ("", EvidenceState.UNRECOGNISED),
    ],
)
def test_what_only_looks_like_proof_is_none(ref: str, why: EvidenceState) -> None:
    assert state(ref) is why
    assert not judged(ref).proven


@pytest.mark.parametrize(
    "ref", ["CARD-999", "TASK-999", "JOB-999", "JOB-002@9", "notes@99", "artifact://jobs/JOB-002/x"]
)
def test_an_id_of_ours_that_does_not_exist_is_no_proof(ref: str) -> None:
    assert state(ref, there=False) is EvidenceState.UNKNOWN


def test_a_file_is_proof_when_it_is_there_and_has_the_content_that_was_named() -> None:
    files = {
        "a.py": FileFact(sha256=SHA),
        "gone.py": FileFact(state=EvidenceState.MISSING),
        "../x": FileFact(state=EvidenceState.OUTSIDE),
    }

    assert state("FILE: a.py", files=files) is EvidenceState.PROOF
    assert state(f"FILE: a.py (sha256 {SHA[:16]})", files=files) is EvidenceState.PROOF
    assert state(f"FILE: a.py (sha256 {'0' * 16})", files=files) is EvidenceState.CHANGED
    assert state("FILE: gone.py", files=files) is EvidenceState.MISSING
    assert state("FILE: ../x", files=files) is EvidenceState.OUTSIDE


def test_a_file_on_another_machine_is_proof_only_with_its_hash() -> None:
    files = {"a.py": FileFact(state=EvidenceState.UNREACHABLE)}
    assert state("FILE: a.py", files=files) is EvidenceState.UNREACHABLE
    assert state(f"FILE: a.py (sha256 {SHA[:16]})", files=files) is EvidenceState.PROOF


def test_a_receipt_older_than_the_last_change_to_a_file_beside_it_is_stale() -> None:
    files = {"a.py": FileFact(sha256=SHA, changed_at=200)}
    old = judged("CMD: pytest", "FILE: a.py", files=files, at=100)
    new = judged("CMD: pytest", "FILE: a.py", files=files, at=300)

    assert [each.state for each in old.evidence] == [EvidenceState.STALE, EvidenceState.PROOF]
    assert [each.state for each in new.evidence] == [EvidenceState.PROOF, EvidenceState.PROOF]


def test_a_receipt_is_a_command_a_link_or_a_file() -> None:
    assert not judged("CARD-001").receipt
    assert judged("CARD-001", "CMD: pytest").receipt
    assert not judged("CARD-001", "CMD:").receipt


def test_every_ref_that_proves_nothing_is_named_with_the_reason() -> None:
    assert judged("CMD:", "a:x", "CARD-001").problems == ["CMD:: bare", "a:x: anchor"]


@given(st.lists(st.text(max_size=140), max_size=10), st.booleans())
def test_the_verdict_depends_on_each_ref_alone_and_never_fails(texts: list[str], there: bool) -> None:
    def exists(_: Ref) -> bool:
        return there

    whole = judge(texts, OWN, exists=exists, files={})
    single = [judge([text], OWN, exists=exists, files={}).evidence[0] for text in texts]
    assert list(whole.evidence) == single
    assert whole.proven == any(each.state is EvidenceState.PROOF for each in single)
    assert all(each.kind is not RefKind.ANCHOR or each.state is not EvidenceState.PROOF for each in single)
