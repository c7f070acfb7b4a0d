"""What an attached agent does with an action, and what it remembers."""

from __future__ import annotations

import pytest

from tallystick.harnesses.headless.protocol import Failed, HarnessAnswer
from tallystick.runtime import rules
from tallystick.runtime.rules import (
    TRANSCRIPT_CHARS,
    ActionDelivery,
    ActionEnding,
    ActionVerdict,
    Context,
    PastExchange,
)

ASKED = ActionDelivery(action_id="a1", src="boss", context_id="c1", task_id="t1", text="count", kind="user")


def action(command: str = "", kind: str = "") -> ActionDelivery:
    return ActionDelivery(action_id="a2", src="boss", context_id="c1", task_id="t1", command=command, kind=kind)


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        (action(kind="user"), ActionVerdict.RUN),
        (action(kind="reply"), ActionVerdict.NOTE),
        (action("new"), ActionVerdict.RENEW),
        (action("compact"), ActionVerdict.RUN),
        (action("review"), ActionVerdict.RUN),
        (action("interrupt"), ActionVerdict.IDLE),
        (action("dance"), ActionVerdict.UNKNOWN),
        (action(kind="system"), ActionVerdict.UNKNOWN),
    ],
)
def test_an_idle_agent_takes_up_what_comes(given: ActionDelivery, verdict: ActionVerdict) -> None:
    assert rules.verdict(given, running=None, held=False, known=False) is verdict


@pytest.mark.parametrize("given", [action(kind="user"), action("new"), action("review")])
def test_whatever_comes_while_something_runs_or_waits_comes_after_it(given: ActionDelivery) -> None:
    assert rules.verdict(given, running=ASKED, held=False, known=False) is ActionVerdict.HOLD
    assert rules.verdict(given, running=None, held=True, known=False) is ActionVerdict.HOLD


def test_a_reply_waits_for_nothing() -> None:
    assert rules.verdict(action(kind="reply"), running=ASKED, held=True, known=False) is ActionVerdict.NOTE


def test_an_interrupt_waits_for_nothing() -> None:
    assert rules.verdict(action("interrupt"), running=ASKED, held=True, known=False) is ActionVerdict.STOP


@pytest.mark.parametrize("given", [action(kind="user"), action("interrupt"), action("new")])
def test_what_is_delivered_again_is_not_taken_up_again(given: ActionDelivery) -> None:
    assert rules.verdict(given, running=ASKED, held=False, known=True) is ActionVerdict.DROP


def test_whoever_interrupts_has_the_last_word() -> None:
    assert rules.ending(ASKED, HarnessAnswer(text="three", data=None), "user") == ActionEnding(
        action=ASKED, status="error", detail="interrupted by user", interrupted_by="user", task_status="ready"
    )


def test_an_answer_is_a_reply_and_a_failure_is_none() -> None:
    assert rules.ending(ASKED, HarnessAnswer(text=" three\nsheep ", data=None), None) == ActionEnding(
        action=ASKED, status="completed", detail="three sheep", reply="three\nsheep", task_status="done"
    )
    assert rules.ending(ASKED, Failed(why="no sheep"), None) == ActionEnding(
        action=ASKED, status="error", detail="no sheep", task_status="blocked"
    )


def test_a_session_of_the_harness_replaces_what_was_said() -> None:
    before = Context(exchanges=(PastExchange(asked="a", answered="b"),))

    assert rules.extended(before, ASKED, "three", "s1") == Context(session_id="s1")
    assert rules.prompt_for(ASKED, Context(session_id="s1")) == "count"


def test_the_oldest_of_what_was_said_is_forgotten_first() -> None:
    long = PastExchange(asked="x" * (TRANSCRIPT_CHARS - 12), answered="y")

    after = rules.extended(Context(exchanges=(PastExchange(asked="old", answered="old"), long)), ASKED, "three", None)

    assert after.exchanges == (long, PastExchange(asked="count", answered="three"))
    longer = PastExchange(asked="x" * TRANSCRIPT_CHARS, answered="y")
    after = rules.extended(Context(exchanges=(longer,)), ASKED, "three", None)
    assert after.exchanges == (PastExchange(asked="count", answered="three"),)
