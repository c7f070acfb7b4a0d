"""Which behaviour pack a job gets, and how much of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.runner.prompt import DEFAULT_CHARS, Profile, budget, chosen

_json = st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.floats(allow_nan=False) | st.just([1])


@pytest.mark.parametrize("name", ["daily", "strict", "research", "teamlead"])
def test_what_the_job_asks_for_is_taken(name: str) -> None:
    assert chosen({"skill_profile": name}, "research") is Profile(name)


def test_else_the_kind_decides_and_else_the_runner() -> None:
    assert chosen({}, "deep_Research_run") is Profile.RESEARCH
    assert chosen({}, "codex_cli") is Profile.STRICT
    assert chosen({"skill_profile": "nonsense"}, "codex_cli", Profile.DAILY) is Profile.DAILY


@given(st.dictionaries(st.sampled_from(["skill_profile", "x"]), _json), st.text(max_size=30), st.sampled_from(Profile))
def test_the_choice_follows_the_three_rules_for_any_input(meta: dict[str, object], kind: str, default: Profile) -> None:
    asked = meta.get("skill_profile")
    expected = (
        Profile(asked)
        if isinstance(asked, str) and asked in [each.value for each in Profile]
        else Profile.RESEARCH
        if "research" in kind.lower()
        else default
    )
    assert chosen(meta, kind, default) is expected


@pytest.mark.parametrize(
    ("asked", "granted"),
    [
        (None, DEFAULT_CHARS),
        (0, 0),
        (500, 500),
        (10**6, 8000),
        (-5, 0),
        ("500", DEFAULT_CHARS),
        (True, DEFAULT_CHARS),
    ],
)
def test_the_budget_is_what_was_asked_for_within_a_safe_bound(asked: object, granted: int) -> None:
    assert budget({"skill_max_chars": asked} if asked is not None else {}) == granted


@given(_json, st.integers(0, 20_000))
def test_the_budget_is_never_negative_and_never_above_the_bound(asked: object, default: int) -> None:
    assert 0 <= budget({"skill_max_chars": asked}, default) <= 8000
