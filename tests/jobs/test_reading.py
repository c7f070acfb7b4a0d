"""Looking at jobs: bounded pages, budgets that never make a follower miss an event, and prompts that come whole."""

from __future__ import annotations

import pytest

from tests.jobs.shop import PROOF, SEEN, Held, Shop


@pytest.fixture
def held(shop: Shop) -> Held:
    shop.create("work", prompt="p" * 50_000)
    held = shop.runner().claim()
    for number in range(30):
        held.report(f"step {number} " + "x" * 300)
    return held


def test_open_shows_the_newest_events_first_and_says_whether_there_are_more(shop: Shop, held: Held) -> None:
    opened = shop.open("JOB-001")
    assert [event["message"][:7] for event in opened["events"][:2]] == ["step 29", "step 28"]
    assert (opened["count"], opened["has_more_events"], opened["prompt"], opened["meta"]) == (10, True, None, None)

    older = shop.open("JOB-001", before_seq=opened["events"][-1]["seq"], max_events=200)
    assert [event["kind"] for event in older["events"]][-2:] == ["claimed", "created"]
    assert older["has_more_events"] is False
    assert shop.open("JOB-001", include_events=False)["events"] == []


def test_a_prompt_is_never_cut_by_a_budget(shop: Shop, held: Held) -> None:
    opened = shop.open("JOB-001", include_prompt=True, max_chars=8000, max_events=40)
    assert opened["prompt"] == "p" * 50_000
    assert opened["truncated"] is True
    assert 1 <= opened["count"] < 32


def lines(shop: Shop, **given: object) -> list[str]:
    return [
        line.replace(shop.boss.room_id, "ROOM")
        for line in shop.open("JOB-001", fmt="lines", **given)["text"].splitlines()
    ]


def test_a_job_reads_as_a_page_of_lines(shop: Shop) -> None:
    shop.task("The parser")
    shop.create("parser", task="TASK-001", anchor="a:core", prompt="Make it linear.\nProve it.", checks=["pytest -q"])
    shop.create("later")
    held = shop.runner().claim("JOB-001")
    asked = held.report("May I change | the API?", kind="question")["event"]["ref"]
    held.report("half way", percent=50)

    assert lines(shop, include_prompt=True, max_events=1) == [
        "JOB-001 (RUNNING) parser",
        "MEDIUM, auto fast, TASK-001, a:core, by boss, runner r1",
        "why: question open",
        f'? {asked}: May I change ¦ the API? | reply reply_job=JOB-001 reply_message="..."',
        "prompt:",
        "    Make it linear.",
        "    Prove it.",
        "events, newest first:",
        f"- JOB-001@{int(asked.partition('@')[2]) + 1} progress: half way",
        f"MORE: before_seq={int(asked.partition('@')[2]) + 1}",
    ]
    told = shop.say("JOB-001", "No.")["event"]["ref"]
    assert lines(shop, max_events=0)[2:] == [f"your message {told} is sent", f"- {told}: No."]


def test_the_page_of_an_ended_job_says_what_each_of_its_proofs_is_worth(shop: Shop) -> None:
    shop.create("parser", expected_artifacts=["report"])
    held = shop.runner().claim()
    held.put("report", "text")
    branch = {
        "name": "tally/job-001",
        "base": "main",
        "commit": "a" * 40,
        "commits": 1,
        "files": 1,
        "insertions": 2,
        "conflicts": [{"branch": "tally/job-002", "paths": ["a.py"]}],
    }
    held.complete(refs=[PROOF, "CMD: make (exit 0)", "CARD-404"], observed=[SEEN], summary="Linear.", branch=branch)

    assert lines(shop, max_events=0) == [
        "JOB-001 (DONE) parser",
        "MEDIUM, auto fast, by boss, runner r1",
        "summary: Linear.",
        "proof:",
        "- CMD: pytest -q (exit 0): observed, exit 0",
        "- CMD: make (exit 0): claimed, exit 0, nobody saw it, proves nothing",
        "- CARD-404: missing, there is no such thing in this room, proves nothing",
        "expected: report",
        "branch tally/job-001 from main: 1 files, +2 -0, 1 commits",
        "! conflicts with tally/job-002 in a.py",
    ]


def test_a_list_reads_as_lines_too(shop: Shop) -> None:
    shop.create("parser")
    shop.scene.clock.forward(ms=1)
    shop.create("lexer", priority="HIGH")

    found = shop.ask("jobs.list", fmt="lines", limit=1)

    assert found["jobs"] == []
    assert found["text"].replace(shop.boss.room_id, "ROOM").splitlines() == [
        "ROOM jobs count=1 has_more=true",
        f"{shop.open('JOB-002')['job']['last_ref']} JOB-002 (QUEUED) HIGH lexer | open id=JOB-002",
        f"MORE: cursor={found['cursor']}",
    ]


@pytest.mark.parametrize("max_chars", [100, 1000, 5000, 100_000])
@pytest.mark.parametrize("limit", [1, 7, 200])
def test_following_with_any_budget_sees_every_event_once_and_in_order(
    shop: Shop, held: Held, max_chars: int, limit: int
) -> None:
    seen, cursor = list[int](), 0
    for _ in range(40):
        page = shop.tail("JOB-001", after_seq=cursor, limit=limit, max_chars=max_chars)
        seen += [event["seq"] for event in page["events"]]
        assert page["next_after_seq"] == (seen[-1] if page["events"] else cursor)
        cursor = page["next_after_seq"]
        if not page["has_more"]:
            break
    assert seen == [event["seq"] for event in shop.tail("JOB-001", limit=200)["events"]]
    assert len(seen) == 32


def test_a_tail_without_news_keeps_its_cursor(shop: Shop, held: Held) -> None:
    end = shop.tail("JOB-001", limit=200)["next_after_seq"]
    again = shop.tail("JOB-001", after_seq=end)
    assert (again["events"], again["next_after_seq"], again["has_more"]) == ([], end, False)


def test_the_tail_reads_as_lines(shop: Shop) -> None:
    shop.create()
    shop.runner().claim().report("half\nway", percent=50)
    lines = shop.tail("JOB-001", fmt="lines", limit=2)["text"].splitlines()
    first, second = (event["seq"] for event in shop.tail("JOB-001", limit=2)["events"])

    assert lines == [
        f"{shop.boss.room_id} job JOB-001 tail after_seq=0 next_after_seq={second} count=2 has_more=true",
        "events:",
        f"- JOB-001@{first} created: created",
        f"- JOB-001@{second} claimed: claimed by r1",
        f"MORE: after_seq={second}",
    ]


def test_lists_come_in_pages_the_most_recently_changed_first(shop: Shop) -> None:
    for number in range(5):
        shop.scene.clock.forward(ms=1)
        shop.create(f"job {number}")
    shop.scene.clock.forward(ms=1)
    shop.say("JOB-002", "bump")
    seen, cursor = list[str](), None
    while True:
        page = shop.ask("jobs.list", limit=2, cursor=cursor)
        seen += [job["job_id"] for job in page["jobs"]]
        cursor = page["cursor"]
        if not page["has_more"]:
            break
    assert seen == ["JOB-002", "JOB-005", "JOB-004", "JOB-003", "JOB-001"]


def test_lists_can_be_filtered_and_fit_a_budget(shop: Shop) -> None:
    shop.task()
    shop.create("a", task="TASK-001")
    shop.create("b", anchor="a:core")
    shop.runner().claim("JOB-002")

    def ids(**given: object) -> list[str]:
        return [job["job_id"] for job in shop.ask("jobs.list", **given)["jobs"]]

    assert ids(status="QUEUED") == ids(task="TASK-001") == ["JOB-001"]
    assert ids(status="RUNNING") == ids(anchor="a:core") == ["JOB-002"]
    assert ids(status="RUNNING", task="TASK-001") == []
    small = shop.ask("jobs.list", max_chars=100)
    assert (small["count"], small["has_more"], small["truncated"]) == (1, True, True)


def test_anything_can_be_opened_by_its_id_or_ref(shop: Shop, held: Held) -> None:
    shop.task()
    shop.card()
    note = shop.ask("notes.add", body="a note")["ref"]
    ref = held.put("report", "text")["ref"]
    event = shop.boss.events(limit=1)[0]["id"]
    shop.ask("anchors.create", anchor="a:core")

    kinds = {
        name: shop.ask("open.ref", id=name)["kind"]
        for name in ["JOB-001", "runner:r1", "TASK-001", "CARD-001", "a:core", note, ref, event]
    }
    assert list(kinds.values()) == ["job", "runner", "task", "card", "anchor", "note", "artifact", "event"]
    last = held.report()["event"]
    assert shop.ask("open.ref", id=last["ref"]) == {"ref": last["ref"], "kind": "job_event", "value": last}
    assert shop.ask("open.ref", id="JOB-001")["value"]["prompt"] == "p" * 50_000


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("JOB-404", "unknown_job"),
        ("JOB-001@1", "unknown_job"),
        ("runner:nobody", "unknown_runner"),
        ("TASK-404", "unknown_task"),
        ("CARD-404", "unknown_card"),
        ("a:nowhere", "unknown_anchor"),
        ("notes@1", "event_not_found"),
        ("artifact://jobs/JOB-001/none", "unknown_artifact"),
        ("artifact://jobs/JOB-001/../odd key?", "unknown_ref"),
        ("artifact://jobs/JOB-001/%00/x", "unknown_artifact"),
        ("01890000-0000-7000-8000-000000000000", "unknown_ref"),
        ("anything else", "unknown_ref"),
    ],
)
def test_what_names_nothing_is_refused(shop: Shop, name: str, code: str) -> None:
    shop.create()
    with shop.scene.refused(code):
        shop.ask("open.ref", id=name)
