"""What an executor may answer, and that anything else is refused in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.capabilities.jobs.contract import MESSAGE_LIMIT
from tallystick.proof.refs import REF_LIMIT, REFS_LIMIT
from tallystick.runner import rules
from tallystick.runner.rules import ANSWER_SCHEMA, BadAnswer, ExecutorAnswer, ExecutorNote


def test_a_whole_answer_is_read_as_it_is() -> None:
    data: dict[str, object] = {
        "status": "DONE",
        "summary": " three sheep ",
        "refs": ["CARD-001", " ", "CARD-001"],
        "events": [{"kind": "checkpoint", "message": "counted", "percent": 100, "refs": ["CMD: count"]}],
    }

    assert rules.read_answer(data) == ExecutorAnswer(
        status="DONE",
        summary="three sheep",
        refs=("CARD-001",),
        events=(ExecutorNote(kind="checkpoint", message="counted", percent=100, refs=("CMD: count",)),),
    )


def test_a_plain_program_may_leave_refs_and_events_out() -> None:
    assert rules.read_answer({"status": "FAILED", "summary": "no sheep"}) == ExecutorAnswer(
        status="FAILED", summary="no sheep"
    )


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (None, "no JSON object in its answer: I did it!"),
        ({}, "an answer of another shape: Object missing required field `status`"),
        ({"status": "OK", "summary": ""}, "an answer of another shape: Invalid enum value 'OK' - at `$.status`"),
        (
            {"status": "DONE", "summary": "", "mood": "fine"},
            "an answer of another shape: Object contains unknown field `mood`",
        ),
        ({"status": "DONE", "summary": 3}, "an answer of another shape: Expected `str`, got `int` - at `$.summary`"),
    ],
)
def test_an_answer_of_another_shape_is_refused_with_the_reason(data: dict[str, object] | None, why: str) -> None:
    with pytest.raises(BadAnswer) as refusal:
        rules.read_answer(data, "I did it!")

    assert str(refusal.value) == why


def test_an_executor_cannot_speak_as_the_hub_or_the_runner() -> None:
    for kind in ("completed", "proof_gate", "manager", "heartbeat", "claimed", ""):
        assert rules.read_note({"kind": kind, "message": "m"}) == ExecutorNote(kind="progress", message="m")


def test_what_is_no_note_is_none() -> None:
    assert rules.read_note({"status": "DONE", "summary": "s"}) is None
    assert rules.read_note({"message": 3}) is None


def test_the_schema_requires_every_property_and_allows_no_other() -> None:
    def check(part: object) -> None:
        if isinstance(part, dict) and part.get("type") == "object":  # pyright: ignore[reportUnknownMemberType]
            assert part["additionalProperties"] is False
            assert sorted(part["required"]) == sorted(part["properties"])  # pyright: ignore[reportUnknownArgumentType]
        for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():  # pyright: ignore[reportUnknownVariableType]
            check(each)  # pyright: ignore[reportUnknownArgumentType]

    check(ANSWER_SCHEMA)


# Half characters and control characters too: programs write them.
texts = st.text(st.characters(codec=None), max_size=600)
notes = st.fixed_dictionaries({"message": texts}, optional={"kind": texts, "refs": st.lists(texts, max_size=50)})


@given(refs=st.lists(texts, max_size=60), events=st.lists(notes, max_size=40), summary=texts)
def test_whatever_is_read_fits_the_limits_of_the_hub(
    refs: list[str], events: list[dict[str, object]], summary: str
) -> None:
    found = rules.read_answer({"status": "DONE", "summary": summary, "refs": refs, "events": events})

    assert len(found.every_ref) <= REFS_LIMIT
    assert all(0 < len(ref) <= REF_LIMIT for ref in found.every_ref)
    assert len(found.events) <= rules.MOST_NOTES
    whole = "".join([found.summary, *found.every_ref, *(note.message for note in found.events)])
    assert "\0" not in whole
    assert whole.encode().decode() == whole
    assert all(0 < len(note.message) <= MESSAGE_LIMIT and note.kind in rules.NOTE_KINDS for note in found.events)
