"""What an agent may be called, and names that are given out."""

from __future__ import annotations

import re

import pytest

from tallystick.capabilities.agents import rules
from tests.scene import refused


@pytest.mark.parametrize("name", ["amber-otter", "abc", "a1-b2-c3", "a" * 48, "007"])
def test_a_name_is_3_to_48_characters_with_single_hyphens_between(name: str) -> None:
    assert rules.check_registered_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", "ab", "a" * 49, "Amber-otter", "amber_otter", "-amber", "amber-", "amber--otter", "amber otter", "é-otter"],
)
def test_anything_else_is_refused(name: str) -> None:
    with refused("invalid_agent_name"):
        rules.check_registered_name(name)


@pytest.mark.parametrize("name", ["Bob", "ab", "amber_otter", "Ada.L", "worker-1"])
def test_besides_registering_a_name_is_one_plain_word(name: str) -> None:
    assert rules.check_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "   ", "a b", "@all", "svc:x", "a\nb", "a\x1bb", "\u202eab", "a\u200bb", "é", "-a", "a--b", "a" * 49]
)
def test_what_could_be_taken_for_a_sentence_or_for_nothing_is_no_name(name: str) -> None:
    with refused("invalid_agent_name"):
        rules.check_name(name)


@pytest.mark.parametrize("name", ["user", "User", "SYSTEM", "you"])
def test_a_name_that_looks_like_a_principals_is_reserved(name: str) -> None:
    with refused("reserved_name"):
        rules.check_name(name)


def test_a_name_that_is_given_out_is_an_adjective_and_a_noun_and_depends_only_on_the_seed() -> None:
    given = rules.pick_name([], "room:claude:1c4e")
    assert given == rules.pick_name([], "room:claude:1c4e")
    assert re.fullmatch(r"[a-z]+-[a-z]+", given)
    assert rules.is_registered_name(given)


def test_no_name_is_given_twice_and_numbers_come_when_the_words_are_used_up() -> None:
    pairs = [f"{adjective}-{noun}" for adjective in rules.ADJECTIVES for noun in rules.NOUNS]
    assert len(set(pairs)) == len(pairs) == 8091
    last = rules.pick_name(pairs[:-1], "any")
    assert last == pairs[-1]
    numbered = rules.pick_name(pairs, "any")
    assert re.fullmatch(r"[a-z]+-[a-z]+-2", numbered)
    assert rules.pick_name([*pairs, numbered], "any") not in {*pairs, numbered}


def test_one_seed_meets_every_pair_of_words_before_a_number() -> None:
    taken: set[str] = set()
    for _ in range(200):
        taken.add(rules.pick_name(taken, "one seed"))
    assert len(taken) == 200
    assert not any(name[-1].isdigit() for name in taken)
