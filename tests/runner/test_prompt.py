"""The prompt of a slice: its sections, their order, and what of the thread goes into it."""

from __future__ import annotations

import re
from dataclasses import replace

from tallystick.runner import prompt
from tallystick.runner.rules import ManagerWord, Prior, Surroundings
from tests.runner.samples import JOB, SLICE, entry


def sections(text: str) -> dict[str, str]:
    parts = re.split(r"^=== (.+) ===\n", text, flags=re.MULTILINE)[1:]
    return {title: body.strip() for title, body in zip(parts[::2], parts[1::2], strict=True)}


def test_the_sections_come_in_their_order() -> None:
    around = Surroundings(
        task="TASK-001",
        anchor="a:sheep",
        thread=[entry(4, "question", "Lambs too?")],
        words=[ManagerWord(seq=5, ref="JOB-007@5", message="Count lambs too")],
        artifacts=["artifact://jobs/JOB-007/report"],
    )

    found = sections(
        prompt.build(JOB, SLICE, pack="be brave", prior=Prior(summary="one", refs=("CARD-001",)), around=around)
    )

    assert list(found) == [
        "MANAGER",
        "RULES",
        "SKILL PACK",
        "FEEDBACK LOOP",
        "MANAGER CONTROL",
        "TIME",
        "JOB SPEC",
        "PRIOR SLICES",
        "PRIOR REFS",
        "ARTIFACTS",
        "TASK",
        "ANCHOR",
        "JOB THREAD",
    ]
    assert found["SKILL PACK"] == "be brave"
    assert found["JOB THREAD"] == "question: Lambs too?"


def test_what_the_manager_said_stands_whole_and_first_whatever_else_there_is_to_say() -> None:
    long = "never touch the public API; " * 14
    words = [
        ManagerWord(seq=3, ref="JOB-007@3", message="Count lambs too.", refs=("CARD-001",)),
        ManagerWord(seq=9, ref="JOB-007@9", message=long),
    ]
    noise = [entry(seq, "progress", f"step {seq}") for seq in range(10, 60)]

    text = prompt.build(JOB, SLICE, around=Surroundings(thread=noise, words=words, read_seq=3))

    assert text.startswith(
        "=== MANAGER ===\nThe person in charge says this now. It goes before everything below:\n"
        f"JOB-007@9: {long}\n\n"
        "Said in earlier slices, and still in force:\nJOB-007@3: Count lambs too. [CARD-001]\n\n=== RULES ==="
    )


def test_an_agent_is_told_how_to_report_by_itself() -> None:
    told = sections(prompt.build(JOB, SLICE))["FEEDBACK LOOP"]

    assert (
        'tally jobs report --room room-1 --job JOB-007 --runner-id r1 --claim-revision 3 --kind question --message "…"'
    ) in told
    assert '"claim_revision": 3, "kind": "question"' in told


def test_a_section_with_nothing_to_say_is_left_out() -> None:
    found = sections(prompt.build(JOB, SLICE))

    assert list(found) == ["RULES", "FEEDBACK LOOP", "MANAGER CONTROL", "TIME", "JOB SPEC"]


def test_the_job_is_told_whole_however_long_it_is() -> None:
    job = replace(JOB, prompt="x" * 50_000, task_id="TASK-002", anchor_id="a:sheep")

    spec = sections(prompt.build(job, SLICE))["JOB SPEC"]

    assert spec == (
        "title: Count the sheep\nkind: codex_cli\npriority: MEDIUM\nprofile: fast\ntask: TASK-002\nanchor: a:sheep\n\n"
        + "x" * 50_000
    )


def test_an_urgent_job_and_one_with_checks_and_artifacts_is_told_what_done_needs() -> None:
    meta = {"checks": ["pytest -q"], "expected_artifacts": ["report"]}
    found = sections(prompt.build(replace(JOB, priority="HIGH", meta=meta), SLICE))

    assert found["JOB SPEC"].splitlines()[4:7] == [
        "before DONE: an event of kind checkpoint, and a FILE: or CMD: among the refs, because it is HIGH",
        "before DONE, run this and see it end with 0: pytest -q",
        "expected: report, put with jobs.artifact.put under the key report, or named as FILE: path",
    ]


def test_the_slice_is_told_its_number_its_time_and_whom_it_works_for() -> None:
    found = sections(prompt.build(JOB, SLICE))

    assert "slice 2" in found["TIME"]
    assert "1800 seconds" in found["TIME"]
    assert found["FEEDBACK LOOP"].startswith("room=room-1 job=JOB-007 runner=r1 claim_revision=3\n")


def test_the_thread_has_its_newest_lines_oldest_first_without_noise() -> None:
    entries = [
        entry(30, "heartbeat", "alive"),
        entry(29, "slice", "runner: slice 1 started"),
        *(entry(number, "progress", f"step {number}") for number in range(28, 0, -1)),
    ]

    assert list(prompt.thread(entries)) == [f"progress: step {number}" for number in range(17, 29)]


def test_a_line_of_the_thread_is_one_line_with_few_refs() -> None:
    (line,) = prompt.thread([entry(1, "question", "may\nI " + "x" * 400, "CARD-001", "CARD-002", "a:x", "a:y")])

    text, _, refs = line.partition(" [")
    assert text.startswith("question: may I xxx")
    assert len(text) == 160
    assert refs == "CARD-001, CARD-002, a:x]"
