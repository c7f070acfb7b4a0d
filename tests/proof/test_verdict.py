"""What proves that a job is done, and what only looks like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.proof.files import FileFact
from tallystick.proof.refs import Ref, RefKind
from tallystick.proof.verdict import Evidence, EvidenceState, Known, Observation, Own, ProofVerdict, Thing, judge

OWN = Own(job_id="JOB-001", task_id="TASK-001", began_at=1000)
SHA = "ab" * 32
CLAIMED, FOUND, OBSERVED, STALE, FAILED, MISSING, UNREACHABLE = EvidenceState


def there(_: Ref) -> Thing:
    return Thing()


def nowhere(_: Ref) -> None:
    return None


def judged(*refs: str, known: Known | None = None) -> ProofVerdict:
    return judge(refs, OWN, known or Known(found=there))


def evidence(ref: str, known: Known | None = None) -> Evidence:
    (found,) = judged(ref, known=known).evidence
    return found


def saw(exit_code: int, at: int = 0) -> Known:
    seen = {"pytest -q": Observation(command="pytest -q", exit_code=exit_code, at=at)}
    return Known(found=there, observed=seen.get, files={"a.py": FileFact(sha256=SHA, changed_at=2000)})


@pytest.mark.parametrize("ref", ["CARD-001", "TASK-002", "notes@3", "artifact://jobs/JOB-001/report"])
def test_a_thing_that_was_written_for_the_job_is_found_and_proves_it(ref: str) -> None:
    assert (evidence(ref).state, evidence(ref).proves) == (FOUND, True)


@pytest.mark.parametrize(
    ("ref", "why"),
    [
        ("JOB-001", "the job itself"),
        ("JOB-001@7", "the job itself"),
        ("JOB-002", "another job"),
        ("JOB-002@7", "another job"),
        ("TASK-001", "the job's own task"),
        ("a:parser", "an area, no result"),
        ("artifact://jobs/JOB-002/report", "an artifact of another job"),
    ],
)
def test_what_exists_and_is_not_this_jobs_work_proves_nothing(ref: str, why: str) -> None:
    assert evidence(ref) == Evidence(ref=ref, kind=evidence(ref).kind, state=FOUND, proves=False, why=why)


def test_what_is_older_than_the_work_proves_nothing_unless_the_manager_named_it() -> None:
    def old(_: Ref) -> Thing:
        return Thing(belongs=False)

    frame = evidence("CARD-001", Known(found=old))
    named = evidence("CARD-001", Known(found=old, named=frozenset({"CARD-001", "JOB-002"})))
    other = evidence("JOB-002", Known(found=old, named=frozenset({"CARD-001", "JOB-002"})))
    assert (frame.state, frame.proves, frame.why) == (FOUND, False, "older than the work on this job")
    assert (named.state, named.proves) == (FOUND, True)
    assert (other.state, other.proves) == (FOUND, False)


@pytest.mark.parametrize(
    "ref", ["CARD-999", "TASK-999", "JOB-999", "JOB-002@9", "notes@99", "artifact://jobs/JOB-002/x", "a:nowhere"]
)
def test_an_id_of_ours_that_does_not_exist_is_no_proof(ref: str) -> None:
    found = evidence(ref, Known(found=nowhere))
    assert (found.state, found.proves) == (MISSING, False)


@pytest.mark.parametrize(
    "ref",
    [
        *("CMD:", "LINK:", "FILE:", "CMD", "", "n/a", "CMD: ...", "LINK: TODO", "CMD: .", "CMD: todo: run tests"),
        *("CMD: <fill: command you ran>", "LINK: <fill: CI run>", "CMD: <command>", "CMD: `<fill>`"),
        *(
            "PLAN-001",
            "done, trust me",
            "src/a.py",
            "LINK: x",
            "LINK: foo",
            "LINK: javascript:alert(1)",
            "LINK: https://",
        ),
    ],
)
def test_what_names_nothing_is_missing(ref: str) -> None:
    for claims_suffice in (False, True):
        found = evidence(ref, Known(found=there, claims_suffice=claims_suffice))
        assert (found.state, found.proves) == (MISSING, False)


@pytest.mark.parametrize("ref", ["CMD: pytest (exit 0)", "LINK: https://ci.example/1", "https://ci.example/1"])
def test_a_receipt_that_nobody_saw_is_a_claim_which_suffices_only_where_the_room_says_so(ref: str) -> None:
    here, elsewhere = evidence(ref), evidence(ref, Known(found=there, claims_suffice=True))
    assert (here.state, here.proves, here.why) == (CLAIMED, False, "nobody saw it")
    assert (elsewhere.state, elsewhere.proves, elsewhere.why) == (CLAIMED, True, "this room takes a claim for proof")
    assert judged(ref, known=Known(found=there, claims_suffice=True)).claimed_only


@pytest.mark.parametrize(
    "ref",
    [
        *("CMD: pytest (should exit 0)", "CMD: pytest (exit 0?)", "CMD: pytest (not run, exit 0 erwartet)"),
        *("CMD: pytest", "CMD: make it so", "CMD: docker is not available here", "CMD: false"),
    ],
)
def test_a_command_that_does_not_say_how_it_ended_proves_nothing_anywhere(ref: str) -> None:
    found = evidence(ref, Known(found=there, claims_suffice=True))
    assert (found.state, found.proves, found.why) == (CLAIMED, False, "it does not say how it ended")


def test_a_command_that_the_runner_saw_end_well_is_observed() -> None:
    assert evidence("CMD: pytest -q (exit 0)", saw(0)) == Evidence(
        ref="CMD: pytest -q (exit 0)", kind=RefKind.CMD, state=OBSERVED, proves=True, exit_code=0
    )
    assert evidence("CMD: pytest -q", saw(0)).proves
    assert evidence("CMD: pytest -q tests (exit 0)", saw(0)).state is CLAIMED


def test_what_the_runner_saw_goes_before_what_is_claimed() -> None:
    found = evidence("CMD: pytest -q (exit 0)", saw(2))
    assert (found.state, found.exit_code, found.why) == (FAILED, 2, "it was seen to end with 2")
    assert evidence("CMD: pytest -q (exit 1)", saw(0)).state is FAILED


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("true", "it cannot fail"),
        ("echo all tests pass", "it cannot fail"),
        ("/bin/true", "it cannot fail"),
        ("CI=1 env true", "it cannot fail"),
        ("ls -la", "it cannot fail"),
        ("git status --short && git log -1", "it cannot fail"),
        ("(pytest -q || :)", "it hides how it ended"),
        ("pytest -q & wait", "it went on in the background"),
        ("pytest -q || true", "it hides how it ended"),
        ("pytest -q; echo done", "its status is that of its last part"),
        ("pytest -q | tail -3", "its status is that of the last program in the pipe"),
        ("pytest -q &", "it went on in the background"),
    ],
)
def test_a_status_that_says_nothing_proves_nothing_even_when_it_was_seen(command: str, why: str) -> None:
    def seen(_: str) -> Observation:
        return Observation(command=command, exit_code=0)

    found = evidence(f"CMD: {command} (exit 0)", Known(found=there, observed=seen))
    assert (found.state, found.proves, found.why) == (OBSERVED, False, why)


@pytest.mark.parametrize(
    "command",
    [
        *("ls src", "cat README.md", "grep -rn parser src", "git diff --stat", "mkdir -p build && touch build/x"),
        *("sed -n 1,20p a.py", "cd src && cat a.py", "bash -lc 'rg --files'", "git show HEAD && ls -la"),
    ],
)
def test_a_command_that_only_looks_proves_a_job_only_when_the_job_asks_for_it(command: str) -> None:
    def seen(_: str) -> Observation:
        return Observation(command=command, exit_code=0)

    known = Known(found=there, observed=seen)
    found = evidence(f"CMD: {command} (exit 0)", known)
    assert (found.state, found.proves, found.why) == (OBSERVED, False, "it checks nothing")

    asked = Own(job_id="JOB-001", checks=(command,))
    assert judge([f"CMD: {command}"], asked, known).proven


@pytest.mark.parametrize(
    "command", ["test -s a.py", "git diff --exit-code", "! grep -r foo src", "ls src && pytest -q"]
)
def test_a_command_that_could_tell_that_the_work_is_not_done_proves_it(command: str) -> None:
    def seen(_: str) -> Observation:
        return Observation(command=command, exit_code=0)

    assert evidence(f"CMD: {command} (exit 0)", Known(found=there, observed=seen)).proves


def test_a_file_is_found_where_the_job_worked_with_its_hash() -> None:
    files = {
        "a.py": FileFact(sha256=SHA, changed_at=1000),
        "old.py": FileFact(sha256=SHA, changed_at=999),
        "gone.py": FileFact(why="there is no such file"),
        "far.py": FileFact(reachable=False, why="this hub cannot see it"),
    }
    known = Known(found=there, files=files)

    def told(ref: str) -> tuple[EvidenceState, bool, str]:
        found = evidence(ref, known)
        return found.state, found.proves, found.why

    assert evidence("FILE: a.py", known).sha256 == SHA
    assert told("FILE: a.py") == (FOUND, True, "")
    assert told(f"FILE: a.py (sha256 {SHA[:16]})") == (FOUND, True, "")
    assert told(f"FILE: a.py (sha256 {'0' * 16})") == (STALE, False, "its content is another than was named")
    assert told("FILE: old.py") == (FOUND, False, "untouched since the job began")
    assert told("FILE: gone.py") == (MISSING, False, "there is no such file")
    assert told("FILE: far.py") == (UNREACHABLE, False, "this hub cannot see it")
    assert told(f"FILE: other.py (sha256 {SHA})")[:2] == (UNREACHABLE, False)


def test_a_receipt_older_than_the_last_change_to_a_file_beside_it_is_stale() -> None:
    def states(known: Known) -> list[EvidenceState]:
        return [each.state for each in judged("CMD: pytest -q (exit 0)", "FILE: a.py", known=known).evidence]

    def said(at: int) -> Known:
        return Known(found=there, files=saw(0).files, said_at={"CMD: pytest -q (exit 0)": at}.get)

    assert states(saw(0, at=1999)) == [STALE, FOUND]
    assert states(saw(0, at=2000)) == [OBSERVED, FOUND]
    assert states(said(1999)) == [STALE, FOUND]
    assert states(said(2000)) == [CLAIMED, FOUND]


def test_a_receipt_is_a_command_a_link_or_a_file() -> None:
    assert not judged("CARD-001").receipt
    assert judged("CARD-001", "CMD: pytest -q", known=saw(0)).receipt
    assert not judged("CARD-001", "CMD:").receipt


def test_every_ref_that_proves_nothing_is_named_with_the_reason() -> None:
    assert judged("CMD:", "a:x", "CARD-001").problems == [
        "CMD:: missing, it says nothing",
        "a:x: found, an area, no result",
    ]


@given(st.lists(st.text(max_size=140), max_size=10), st.booleans(), st.booleans())
def test_the_verdict_depends_on_each_ref_alone_and_never_fails(
    texts: list[str], exists: bool, claims_suffice: bool
) -> None:
    known = Known(found=there if exists else nowhere, claims_suffice=claims_suffice)
    whole = judged(*texts, known=known)
    single = [evidence(text, known) for text in texts]
    assert list(whole.evidence) == single
    assert whole.proven == any(each.proves for each in single)
    assert all(each.kind is not RefKind.ANCHOR or not each.proves for each in single)
