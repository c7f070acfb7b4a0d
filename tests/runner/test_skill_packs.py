"""Behaviour packs: which one a job gets, how long it may be, and what cutting leaves of it."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tallystick.runner import prompt
from tallystick.runner.prompt import CUT, PACKS, Profile, pack

every_profile = pytest.mark.parametrize("profile", list(Profile))
metas = st.dictionaries(
    st.sampled_from(["skill_profile", "skill_max_chars", "other"]),
    st.one_of(
        st.none(), st.booleans(), st.integers(-10, 20_000), st.floats(), st.text(max_size=10), st.sampled_from(Profile)
    ),
)


@every_profile
def test_every_pack_fits_the_usual_budget_and_begins_with_its_own_rules(profile: Profile) -> None:
    whole = pack(profile, prompt.DEFAULT_CHARS)

    assert CUT not in whole[-1]
    assert whole.splitlines()[:3] == [f"skill profile={profile} version=1", "", f"[{profile.upper()}]"]
    assert whole == PACKS[profile].strip()


@every_profile
@given(max_chars=st.integers(0, 3000))
def test_a_pack_keeps_its_budget_and_says_where_it_was_cut(profile: Profile, max_chars: int) -> None:
    cut = pack(profile, max_chars)

    assert len(cut) <= max_chars
    assert cut == "" or cut == PACKS[profile].strip() or (cut.endswith(CUT) and PACKS[profile].startswith(cut[:-1]))


def test_no_budget_means_no_pack() -> None:
    assert pack(Profile.STRICT, 0) == ""


@given(meta=metas, kind=st.text(max_size=12) | st.sampled_from(["research", "Deep-Research", "codex_cli"]))
def test_the_choice_of_a_pack_follows_the_job_then_its_kind_then_the_runner(meta: dict[str, object], kind: str) -> None:
    asked = meta.get("skill_profile")

    chosen = prompt.chosen(meta, kind, Profile.DAILY)

    if isinstance(asked, str) and asked in {"daily", "strict", "research", "teamlead"}:
        assert chosen == asked
    else:
        assert chosen == (Profile.RESEARCH if "research" in kind.lower() else Profile.DAILY)
    assert prompt.chosen(meta, kind, Profile.DAILY) == chosen


@given(meta=metas, default=st.integers(0, 8000))
@example(meta={"skill_max_chars": 8001}, default=0)
@example(meta={"skill_max_chars": -1}, default=0)
def test_the_budget_follows_the_job_when_it_names_a_number_and_stays_within_bounds(
    meta: dict[str, object], default: int
) -> None:
    asked = meta.get("skill_max_chars")

    budget = prompt.budget(meta, default)

    if isinstance(asked, int) and not isinstance(asked, bool):
        assert budget == min(max(asked, 0), 8000)
    else:
        assert budget == default
