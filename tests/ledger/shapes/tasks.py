"""Tasks, cards, anchors, and what makes several of them at once."""

from __future__ import annotations

from tests.jobs.shop import PROOF, Runner
from tests.ledger.shapes.writer import Writer
from tests.scene import Row


def tasks(w: Writer) -> None:
    ada, _bob = w.room("tasks", "ada", "bob")
    w.shape("task.create: as short as can be")
    ada.here("tasks.create", title="first")
    w.shape("anchor.create, task.create, task.focus: with all fields")
    ada.here(
        "tasks.create",
        title="second",
        description="what it is about",
        definition_of_done=["tests pass"],
        steps=[{"text": "pytest -q"}, {"text": "look", "done": True}],
        status="running",
        assignee="bob",
        anchor="a:parser",
        paths=["src/*"],
        refs=["CARD-001"],
        focus=True,
    )
    w.shape("task.focus: another")
    ada.here("tasks.focus", task="TASK-001")
    w.shape("task.focus: none")
    ada.here("tasks.focus")
    w.shape("task.update: one field")
    ada.here("tasks.update", task="TASK-001", status="running")
    w.shape("anchor.create, task.update: every field")
    ada.here(
        "tasks.update",
        task="TASK-001",
        title="first, really",
        description="",
        definition_of_done=[],
        steps=[{"text": "ruff", "done": True}],
        status="blocked",
        assignee="ada",
        anchor="a:lexer",
        paths=[],
        refs=["JOB-001"],
        summary="half of it",
        expected_revision=2,
    )
    w.shape("task.update: what can be taken away is")
    ada.here("tasks.update", task="TASK-001", assignee=None, anchor=None, summary=None)
    w.shape("task.update, action.task_updated: said of a task of the room")
    ada.here("actions.task", task_id="TASK-001", status="running")
    w.shape("task.update, action.task_done: said of a task of the room")
    ada.here("actions.task", task_id="TASK-001", status="done", summary="shipped")


def cards_and_anchors(w: Writer) -> None:
    ada, _bob = w.room("cards", "ada", "bob")
    w.shape("card.create: as short as can be")
    ada.here("cards.create", title="a finding")
    w.shape("card.create: with all fields")
    given: Row = {
        "body": "# It\nis",
        "type": "decision",
        "tags": ["b", "a:x", "b"],
        "refs": ["TASK-001"],
        "pinned": True,
    }
    ada.here("cards.create", title="another", **given)
    w.shape("card.update: one field")
    ada.here("cards.update", card="CARD-001", pinned=True)
    w.shape("card.update: every field")
    ada.here("cards.update", card="CARD-001", **given, title="renamed", expected_revision=2)
    w.shape("anchor.create: as short as can be")
    ada.here("anchors.create", anchor="a:parser")
    w.shape("anchor.create: with all fields")
    ada.here("anchors.create", anchor="a:lexer", title="The lexer", paths=["src/lexer.py"])
    w.shape("anchor.update: its title")
    ada.here("anchors.update", anchor="a:parser", title="The parser")
    w.shape("anchor.update: its paths")
    ada.here("anchors.update", anchor="a:parser", paths=["src/parser", "docs"])


def macros(w: Writer) -> None:
    ada, _bob = w.room("macros", "ada", "bob")
    w.shape("anchor.create, task.create, task.focus, card.create, job.create: a task is delegated")
    ada.here("tasks.macro.delegate", task_title="Parser: make it linear", description="It is quadratic now.")
    w.shape("anchor.create, task.create, task.focus, card.create: delegated with all fields but a job")
    ada.here(
        "tasks.macro.delegate",
        task_title="Lexer",
        definition_of_done=["fast"],
        steps=[{"text": "time it"}],
        anchor="a:lex",
        paths=["src/lexer.py"],
        refs=["TASK-001"],
        cockpit="read this first",
        job=False,
    )
    w.shape("anchor.create, job.create: one job for each area")
    knobs: Row = {"job_kind": "audit", "job_priority": "HIGH", "executor": "codex", "executor_profile": "deep"}
    ada.here("tasks.macro.fanout_jobs", anchors=["a:lex", "a:io"], prompt="Find it.", title_prefix="Find", **knobs)
    w.shape("card.create: a merge report")
    ada.here("tasks.macro.merge_report", jobs=["JOB-001", "JOB-002"])
    runner = Runner(ada, "r1")
    runner.beat()
    runner.claim("JOB-001").complete(refs=[PROOF], summary="linear now")
    w.shape("card.update: a merge report is brought up to date")
    ada.here("tasks.macro.merge_report", jobs=["JOB-001", "JOB-002"], title="Where we are", pin=False)
