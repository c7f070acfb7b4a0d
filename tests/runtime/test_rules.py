"""What an attached agent does with an action, and what it remembers."""

from __future__ import annotations

import pytest

from tallystick.harnesses.headless.protocol import Failed, HarnessAnswer
from tallystick.runtime import memory, rules
from tallystick.runtime.memory import TRANSCRIPT_CHARS, Context, Exchange
from tallystick.runtime.model import Errand
from tallystick.runtime.rules import Ending, Verdict

ASKED = Errand(action_id="a1", src="boss", context_id="c1", task_id="t1", text="count", kind="user")


def errand(command: str = "", kind: str = "") -> Errand:
    return Errand(action_id="a2", src="boss", context_id="c1", task_id="t1", command=command, kind=kind)


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        (errand(kind="user"), Verdict.RUN),
        (errand(kind="reply"), Verdict.NOTE),
        (errand("new"), Verdict.RENEW),
        (errand("compact"), Verdict.RUN),
        (errand("review"), Verdict.RUN),
        (errand("interrupt"), Verdict.IDLE),
        (errand("dance"), Verdict.UNKNOWN),
        (errand(kind="system"), Verdict.UNKNOWN),
    ],
)
def test_an_idle_agent_takes_up_what_comes(given: Errand, verdict: Verdict) -> None:
    assert rules.verdict(given, running=None, held=False, known=False) is verdict


@pytest.mark.parametrize("given", [errand(kind="user"), errand(kind="reply"), errand("new"), errand("review")])
def test_whatever_comes_while_something_runs_or_waits_comes_after_it(given: Errand) -> None:
    assert rules.verdict(given, running=ASKED, held=False, known=False) is Verdict.HOLD
    assert rules.verdict(given, running=None, held=True, known=False) is Verdict.HOLD


def test_an_interrupt_waits_for_nothing() -> None:
    assert rules.verdict(errand("interrupt"), running=ASKED, held=True, known=False) is Verdict.STOP


@pytest.mark.parametrize("given", [errand(kind="user"), errand("interrupt"), errand("new")])
def test_what_is_delivered_again_is_not_taken_up_again(given: Errand) -> None:
    assert rules.verdict(given, running=ASKED, held=False, known=True) is Verdict.DROP


def test_whoever_interrupts_has_the_last_word() -> None:
    assert rules.ending(ASKED, HarnessAnswer(text="three", data=None), "user") == Ending(
        errand=ASKED, status="error", detail="interrupted by user", task_status="ready"
    )


def test_an_answer_is_a_reply_and_a_failure_is_none() -> None:
    assert rules.ending(ASKED, HarnessAnswer(text=" three\nsheep ", data=None), None) == Ending(
        errand=ASKED, status="completed", detail="three sheep", reply="three\nsheep", task_status="done"
    )
    assert rules.ending(ASKED, Failed(why="no sheep"), None) == Ending(
        errand=ASKED, status="error", detail="no sheep", task_status="blocked"
    )


def test_a_session_of_the_harness_replaces_what_was_said() -> None:
    before = Context(exchanges=(Exchange(asked="a", answered="b"),))

    assert memory.grown(before, ASKED, "three", "s1") == Context(session_id="s1")
    assert memory.prompt(ASKED, Context(session_id="s1")) == "count"


def test_the_oldest_of_what_was_said_is_forgotten_first() -> None:
    long = Exchange(asked="x" * (TRANSCRIPT_CHARS - 12), answered="y")

    after = memory.grown(Context(exchanges=(Exchange(asked="old", answered="old"), long)), ASKED, "three", None)

    assert after.exchanges == (long, Exchange(asked="count", answered="three"))
    longer = Exchange(asked="x" * TRANSCRIPT_CHARS, answered="y")
    after = memory.grown(Context(exchanges=(longer,)), ASKED, "three", None)
    assert after.exchanges == (Exchange(asked="count", answered="three"),)
