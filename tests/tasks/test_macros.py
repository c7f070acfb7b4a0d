"""One call to delegate, to fan out and to merge; what it makes is the same every time."""

from __future__ import annotations

import pytest

from tests.jobs.shop import PROOF, SEEN, Shop
from tests.scene import Row, Scene, refused

GOLDEN_REPORT = """# Merge report — TASK-001 Parser: make it linear
task: TASK-001

## What changed
- JOB-001 (DONE) anchor=a:lexer last=JOB-001@{done}
  summary: Rewrote it. All green.
- JOB-002 (FAILED) anchor=a:parser last=JOB-002@{failed} [MISSING_PROOF]
  summary: no idea
- JOB-003 (RUNNING) anchor=a:tests last=JOB-003@{asked} [MISSING_PROOF]

## What was observed
- JOB-001 CMD: pytest -q (exit 0) (observed)

## What was claimed
- JOB-001 LINK: https://ci.example/1

## Branches
- JOB-001 tally/job-001 from main: 2 files, +3 -1, 1 commits
  conflicts with tally/job-002 in src/a.py

## Refs
- CMD: pytest -q (exit 0) (JOB-001)
- LINK: https://ci.example/1 (JOB-001)
- CARD-404 (JOB-001)

## Open risks
- JOB-001 names CARD-404: missing, there is no such thing in this room
- JOB-001 tally/job-001 conflicts with tally/job-002 in src/a.py
- JOB-002 is FAILED
- JOB-002 has no proof
- JOB-003 is still RUNNING
- JOB-003 asks: Which one?
- JOB-003 has no proof

## Next actions
- merge tally/job-001 into main, after its conflict with tally/job-002 is settled
- look at JOB-002@{failed}, then queue JOB-002 again or acknowledge it
- answer JOB-003: JOB-003@{asked}
"""

BRANCH = {
    "name": "tally/job-001",
    "base": "main",
    "commit": "a" * 40,
    "commits": 1,
    "files": 2,
    "insertions": 3,
    "deletions": 1,
    "conflicts": [{"branch": "tally/job-002", "paths": ["src/a.py"]}],
}


@pytest.fixture
def shop(scene: Scene) -> Shop:
    return Shop.opened(scene)


def test_delegating_makes_a_task_an_anchor_a_pinned_card_and_a_job(shop: Shop) -> None:
    made = shop.ask("tasks.macro.delegate", task_title="Parser: make it linear", description="It is quadratic.")

    assert (made["task"]["task_id"], made["anchor_id"], made["card"]["card_id"]) == ("TASK-001", "a:parser", "CARD-001")
    assert made["task"]["definition_of_done"]
    assert made["task"]["steps"]
    assert (made["card"]["pinned"], made["card"]["type"], made["card"]["tags"]) == (
        True,
        "frame",
        ["a:parser", "v:canon"],
    )
    job = shop.open("JOB-001", include_prompt=True, include_meta=True)
    assert made["job"] == {"job_id": "JOB-001", "anchor": "a:parser", "created_ref": job["job"]["last_ref"]}
    assert (job["job"]["task"], job["job"]["anchor"]) == ("TASK-001", "a:parser")
    assert (job["meta"]["skill_profile"], job["meta"]["skill_max_chars"]) == ("strict", 1200)
    assert "It is quadratic." in job["prompt"]
    assert "TASK-001" in job["prompt"]
    assert shop.ask("tasks.snapshot")["task"]["task_id"] == "TASK-001"


def test_delegating_takes_what_is_given_and_can_leave_the_job_out(shop: Shop) -> None:
    made = shop.ask(
        "tasks.macro.delegate",
        task_title="x",
        anchor="a:core",
        definition_of_done=["it works"],
        steps=[{"text": "look at it"}],
        cockpit="# Frame",
        job=False,
    )
    assert (made["anchor_id"], made["card"]["body"], made["job"]) == ("a:core", "# Frame", None)
    assert made["task"]["definition_of_done"] == ["it works"]


def test_delegating_is_all_or_nothing(shop: Shop) -> None:
    before = shop.scene.dump()
    with refused("invalid_input"):
        shop.ask("tasks.macro.delegate", task_title="x", executor="perl")
    assert shop.scene.dump() == before


@pytest.mark.parametrize(
    ("title", "anchor"),
    [("Parser: x", "a:parser"), ("Über Größe", "a:uber-groe"), ("!!!", "a:work"), ("a" * 100, "a:" + "a" * 64)],
)
def test_an_anchor_is_made_from_the_title(shop: Shop, title: str, anchor: str) -> None:
    assert shop.ask("tasks.macro.delegate", task_title=title, job=False)["anchor_id"] == anchor


def fanned(shop: Shop) -> Row:
    shop.ask("tasks.macro.delegate", task_title="Parser: make it linear", job=False)
    return shop.ask("tasks.macro.fanout_jobs", anchors=["a:tests", "a:lexer", "a:parser", "a:lexer"], prompt="Do it.")


def test_fanning_out_makes_one_job_for_each_anchor_in_their_order(shop: Shop) -> None:
    made = fanned(shop)

    assert made["task_id"] == "TASK-001"
    assert [(job["job_id"], job["anchor"]) for job in made["jobs"]] == [
        ("JOB-001", "a:lexer"),
        ("JOB-002", "a:parser"),
        ("JOB-003", "a:tests"),
    ]
    first = shop.open("JOB-001", include_prompt=True)
    assert first["prompt"] == "Do it.\n\nAnchor: a:lexer"
    assert first["job"]["title"] == "a:lexer — Parser: make it linear"
    assert made["jobs"][0]["created_ref"] == first["job"]["last_ref"]


def test_the_titles_of_a_fan_out_can_be_given_and_the_task_left_out(shop: Shop) -> None:
    made = shop.ask("tasks.macro.fanout_jobs", anchors=["a:x"], prompt="p", title_prefix="Audit")
    assert made["task_id"] is None
    assert shop.open("JOB-001")["job"]["title"] == "Audit — a:x"
    shop.ask("tasks.macro.fanout_jobs", anchors=["a:y"], prompt="p")
    assert shop.open("JOB-002")["job"]["title"] == "a:y"
    task_id = shop.task("the parser", focus=True)
    assert shop.ask("tasks.macro.fanout_jobs", anchors=["a:z"], prompt="p")["task_id"] == task_id
    assert shop.open("JOB-003")["job"]["task"] == task_id


@pytest.mark.parametrize("anchors", [[], [f"a:{number}" for number in range(11)], ["nonsense"]])
def test_a_fan_out_over_nothing_or_too_much_is_refused(shop: Shop, anchors: list[str]) -> None:
    with pytest.raises(Exception, match="anchors") as caught:
        shop.ask("tasks.macro.fanout_jobs", anchors=anchors, prompt="p")
    assert getattr(caught.value, "code", "") in {"invalid_input", "too_large"}


def merged_three(shop: Shop) -> Row:
    fanned(shop)
    runner = shop.runner()
    one, two, three = (runner.claim(f"JOB-00{number}") for number in (1, 2, 3))
    refs = [PROOF, "LINK: https://ci.example/1", "CARD-404"]
    one.complete(refs=refs, summary="Rewrote it.\nAll green.", observed=[SEEN], branch=BRANCH)
    two.complete("FAILED", refs=[], summary="no idea")
    three.report("Which one?", kind="question")
    return shop.ask("tasks.macro.merge_report", jobs=["JOB-003", "JOB-001", "JOB-002", "JOB-001"])


def test_a_merge_report_says_what_changed_what_was_observed_what_was_claimed_and_what_is_open(shop: Shop) -> None:
    made = merged_three(shop)
    seqs = {
        job_id: shop.open(job_id)["job"]["last_ref"].partition("@")[2] for job_id in ("JOB-001", "JOB-002", "JOB-003")
    }

    assert made["card"]["body"] == GOLDEN_REPORT.format(
        done=seqs["JOB-001"], failed=seqs["JOB-002"], asked=seqs["JOB-003"]
    )
    assert made["missing_proof"] == ["JOB-002", "JOB-003"]
    assert (made["card"]["pinned"], made["card"]["type"]) == (True, "report")
    assert made["card"]["refs"] == ["TASK-001", "JOB-001", "JOB-002", "JOB-003"]


def test_a_merge_report_made_again_is_the_same_card_byte_for_byte(shop: Shop) -> None:
    first = merged_three(shop)
    events = shop.boss.events()
    shop.scene.clock.forward(minutes=5)
    again = shop.ask("tasks.macro.merge_report", jobs=["JOB-001", "JOB-002", "JOB-003"])

    assert again == {**first, "changed": False}
    assert shop.boss.events() == events


def test_a_merge_report_is_brought_up_to_date_in_place(shop: Shop) -> None:
    first = merged_three(shop)
    shop.say("JOB-003", "the second")
    later = shop.ask("tasks.macro.merge_report", jobs=["JOB-001", "JOB-002", "JOB-003"])

    assert later["card"]["card_id"] == first["card"]["card_id"]
    assert (later["changed"], later["card"]["revision"]) == (True, 2)
    assert "asks" not in later["card"]["body"]


def test_a_merge_report_about_a_job_that_is_not_there_is_refused_as_a_whole(shop: Shop) -> None:
    fanned(shop)
    before = shop.scene.dump()
    with refused("unknown_job"):
        shop.ask("tasks.macro.merge_report", jobs=["JOB-001", "JOB-404"])
    assert shop.scene.dump() == before


def test_a_delegation_as_long_as_allowed_is_kept_within_the_bounds(shop: Shop) -> None:
    made = shop.ask(
        "tasks.macro.delegate",
        task_title="long",
        description="d" * 16_384,
        definition_of_done=[str(number) + "x" * 990 for number in range(50)],
        job=False,
    )
    assert len(made["card"]["body"]) == 64 * 1024


def test_a_report_over_many_areas_is_still_found_again(shop: Shop) -> None:
    jobs = [shop.create(anchor=f"a:area-{number:02d}")["job_id"] for number in range(25)]
    first = shop.ask("tasks.macro.merge_report", jobs=jobs)
    assert len(first["card"]["tags"]) == 20
    assert shop.ask("tasks.macro.merge_report", jobs=jobs) == {**first, "changed": False}


@pytest.mark.parametrize("given", [{"description": "a\0b"}, {"definition_of_done": ["a\0b"]}, {"cockpit": "a\0b"}])
def test_a_delegation_with_text_that_cannot_be_stored_is_refused(shop: Shop, given: dict[str, object]) -> None:
    with shop.scene.refused("invalid_input"):
        shop.ask("tasks.macro.delegate", **{"task_title": "x", "job": False, **given})
