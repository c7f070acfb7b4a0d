"""Who may take a job is a pure function of what it asks for and who is there; it is decided when a job is claimed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from tallystick.capabilities.jobs.events import SelectedRunner
from tallystick.capabilities.jobs.model import (
    ARTIFACTS,
    AUTO,
    EXECUTOR_ORDER,
    EXECUTORS,
    PROFILES,
    Needs,
    RoutingPolicy,
    Runner,
)
from tallystick.capabilities.jobs.rules import PREFERENCE_MS
from tallystick.capabilities.jobs.rules import lacking as lacking_by
from tallystick.capabilities.jobs.rules import route as route_by
from tallystick.capabilities.jobs.rules import suited as suited_by
from tests.jobs.shop import Shop
from tests.scene import refused

RUNNER = Runner(
    runner_id="r1",
    status="idle",
    active_job_id=None,
    executors=("codex",),
    profiles=("fast", "deep", "audit"),
    supports_artifacts=(),
    max_parallel=1,
    sandbox_policy=None,
    meta="{}",
    agent_id="a",
    lease_expires_at=1,
    created_at=0,
    updated_at=0,
    jobs=0,
)
NEEDS = Needs(executor=AUTO, profile="fast", policy=RoutingPolicy(), artifacts=())


def route(asked: Needs, there: Sequence[Runner]) -> SelectedRunner | None:
    return route_by(asked, there, EXECUTOR_ORDER)


def suited(asked: Needs, there: Runner) -> list[str]:
    return suited_by(asked, there, EXECUTOR_ORDER)


def lacking(asked: Needs, there: Runner) -> str:
    return lacking_by(asked, there, EXECUTOR_ORDER)


def needs(**given: object) -> Needs:
    policy = RoutingPolicy(**{name: given.pop(name) for name in ("prefer", "forbid", "min_profile") if name in given})  # pyright: ignore[reportArgumentType]
    return structs.replace(NEEDS, policy=policy, **given)


def runner(runner_id: str, **given: object) -> Runner:
    return structs.replace(RUNNER, runner_id=runner_id, **given)


def test_the_preferred_executor_wins_over_everything_else() -> None:
    there = [runner("a", jobs=0), runner("b", executors=("claude_code",), status="live", jobs=9)]
    assert route(needs(prefer=("claude_code", "codex")), there) == SelectedRunner(
        selected_executor="claude_code", selected_runner_id="b"
    )


def test_without_the_preferred_executor_the_next_one_is_taken() -> None:
    assert route(needs(prefer=("claude_code", "codex")), [RUNNER]) == SelectedRunner(
        selected_executor="codex", selected_runner_id="r1"
    )


def test_an_idle_runner_goes_before_a_live_one_and_a_short_queue_before_a_long_one() -> None:
    there = [runner("a", status="live"), runner("b", jobs=3), runner("c", jobs=1)]
    assert route(NEEDS, there) == SelectedRunner(selected_executor="codex", selected_runner_id="c")
    assert route(NEEDS, there[:2]) == SelectedRunner(selected_executor="codex", selected_runner_id="b")


def test_a_tie_is_broken_by_the_runner_id() -> None:
    assert route(NEEDS, [runner("r2"), runner("r10"), runner("r1")]) == SelectedRunner(
        selected_executor="codex", selected_runner_id="r1"
    )


@pytest.mark.parametrize(
    ("asked", "there"),
    [
        (needs(executor="claude_code"), RUNNER),
        (needs(forbid=("codex",)), RUNNER),
        (needs(profile="xhigh"), RUNNER),
        (needs(profile="fast", min_profile="audit"), RUNNER),
        (needs(artifacts=("bench",)), runner("r1", supports_artifacts=("report", "patch"))),
        (NEEDS, runner("r1", executors=())),
    ],
)
def test_a_runner_that_cannot_do_the_job_is_left_out_and_it_is_said_why(asked: Needs, there: Runner) -> None:
    assert route(asked, [there]) is None
    assert lacking(asked, there)


def test_nobody_there_means_no_routing() -> None:
    assert route(NEEDS, []) is None


_names = st.sampled_from(["r1", "r2", "r3", "r10", "a", "b"])
_runners = st.lists(
    st.builds(
        runner,
        _names,
        status=st.sampled_from(["idle", "live"]),
        executors=st.lists(st.sampled_from(EXECUTORS), unique=True).map(tuple),
        profiles=st.lists(st.sampled_from(PROFILES), unique=True).map(tuple),
        supports_artifacts=st.lists(st.sampled_from(ARTIFACTS), unique=True).map(tuple),
        jobs=st.integers(0, 3),
    ),
    unique_by=lambda each: each.runner_id,
    max_size=5,
)
_needs = st.builds(
    Needs,
    executor=st.sampled_from([AUTO, *EXECUTORS]),
    profile=st.sampled_from(PROFILES),
    policy=st.builds(
        RoutingPolicy,
        prefer=st.lists(st.sampled_from(EXECUTORS), unique=True).map(tuple),
        forbid=st.lists(st.sampled_from(EXECUTORS), unique=True, max_size=2).map(tuple),
        min_profile=st.sampled_from([None, *PROFILES]),
    ),
    artifacts=st.lists(st.sampled_from(ARTIFACTS), unique=True, max_size=2).map(tuple),
)


@settings(max_examples=200)
@given(_needs, _runners.flatmap(lambda there: st.tuples(st.just(there), st.permutations(there))))
def test_the_same_facts_give_the_same_routing_in_any_order(
    asked: Needs, orders: tuple[list[Runner], list[Runner]]
) -> None:
    assert route(asked, orders[0]) == route(asked, orders[1])


@settings(max_examples=200)
@given(_needs, _runners)
def test_what_is_chosen_can_do_the_job_and_nothing_better_was_there(asked: Needs, there: list[Runner]) -> None:
    chosen = route(asked, there)
    able = {(each.runner_id, executor) for each in there for executor in suited(asked, each)}
    if chosen is None:
        assert not able
        return
    assert (chosen.selected_runner_id, chosen.selected_executor) in able

    prefer = list(asked.policy.prefer)
    places = {executor: prefer.index(executor) if executor in prefer else len(prefer) for _, executor in able}
    assert places[chosen.selected_executor] == min(places.values())


@settings(max_examples=200)
@given(_needs, _runners)
def test_a_runner_is_suited_exactly_when_the_specification_says_so(asked: Needs, there: list[Runner]) -> None:
    for each in there:
        expected = [
            executor
            for executor in each.executors
            if asked.executor in {AUTO, executor}
            and executor not in asked.policy.forbid
            and asked.profile in each.profiles
            and PROFILES.index(asked.profile) >= PROFILES.index(asked.policy.min_profile or "fast")
            and (not each.supports_artifacts or set(asked.artifacts) <= set(each.supports_artifacts))
        ]
        assert suited(asked, each) == expected
        assert bool(lacking(asked, each)) == (not expected)


def test_any_suited_runner_takes_the_oldest_of_the_highest_priority(shop: Shop) -> None:
    first = shop.runner("r1")
    for number, priority in enumerate(("LOW", "MEDIUM", "HIGH", "MEDIUM"), start=1):
        shop.create(f"number {number}", priority=priority)
    late = shop.runner("r2")

    assert [runner.claim().job_id for runner in (late, first, late, first)] == [
        "JOB-003",
        "JOB-002",
        "JOB-004",
        "JOB-001",
    ]


def test_a_runner_that_came_late_shares_the_queue_that_was_there_before_it(shop: Shop) -> None:
    shop.runner("r1", max_parallel=1).claim(shop.create()["job_id"])
    for _ in range(5):
        shop.create()

    late = shop.runner("r2")

    assert [late.claim().job_id for _ in range(5)] == [f"JOB-00{number}" for number in range(2, 7)]


def test_a_preferred_runner_that_is_free_goes_first_for_a_while_only(shop: Shop) -> None:
    other, best = shop.runner("r1", executors=["codex"]), shop.runner("r2", executors=["claude_code"], max_parallel=1)
    shop.create(policy={"prefer": ["claude_code", "codex"]})
    shop.create(policy={"prefer": ["claude_code"]})

    assert other.try_claim()["job"] is None
    with refused("preferred_elsewhere") as caught:
        other.claim("JOB-001")
    assert caught.value.details["preferred_runner"] == "r2"
    assert best.claim().job_id == "JOB-001"
    # It is busy now, so the second one need not wait for it.
    assert other.claim().job_id == "JOB-002"


def test_a_preference_delays_a_job_by_the_named_time_at_most(shop: Shop) -> None:
    other = shop.runner("r1", executors=["codex"])
    shop.runner("r2", executors=["claude_code"])
    shop.create(policy={"prefer": ["claude_code"]})
    shop.scene.clock.forward(ms=PREFERENCE_MS - 1)
    assert other.try_claim()["job"] is None

    shop.scene.clock.forward(ms=1)

    assert other.claim().answer["executor"] == "codex"


@pytest.mark.parametrize(
    ("profile", "executor"),
    [("fast", "codex"), ("deep", "claude_code"), ("audit", "claude_code"), ("xhigh", "codex")],
)
def test_a_runner_with_several_executors_takes_the_one_that_suits_the_profile(
    shop: Shop, profile: str, executor: str
) -> None:
    runner = shop.runner("r1", executors=["command", "claude_code", "codex"], profiles=list(PROFILES))
    shop.create(executor_profile=profile)

    assert runner.claim().answer["executor"] == executor


def test_which_executor_suits_a_profile_can_be_seen_and_changed(shop: Shop) -> None:
    assert shop.ask("runners.executors")["profiles"] == [
        {"profile": profile, "executors": list(EXECUTOR_ORDER[profile]), "changed": False} for profile in PROFILES
    ]
    runner = shop.runner("r1", executors=["codex", "gemini"])
    shop.create(executor_profile="deep")
    shop.create(executor_profile="deep")

    changed = shop.ask("runners.set_executors", profile="deep", executors=["gemini", "claude_code", "gemini"])

    assert changed["profiles"][1] == {"profile": "deep", "executors": ["gemini", "claude_code"], "changed": True}
    assert runner.claim().answer["executor"] == "gemini"
    with refused("capability_missing") as caught:
        shop.runner("r2", executors=["codex"]).claim("JOB-002")
    assert "codex does not suit the profile deep in this room" in caught.value.message


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"executor_profile": "fast", "policy": {"min_profile": "deep"}},
            "executor_profile fast is below policy.min_profile deep.",
        ),
        (
            {"executor": "codex", "policy": {"forbid": ["codex"]}},
            "policy.forbid rules out the executor codex itself.",
        ),
        ({"policy": {"forbid": list(EXECUTORS)}}, "policy.forbid rules out every executor."),
        ({"policy": {"prefer": ["codex"], "forbid": ["codex"]}}, "policy prefers and forbids codex."),
    ],
)
def test_a_job_whose_limits_contradict_each_other_is_refused_when_it_is_made(
    shop: Shop, asked: dict[str, object], message: str
) -> None:
    with refused("contradictory_limits") as caught:
        shop.create("contradictory", **asked)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("asked", "able"),
    [
        ({"executor": "claude_code"}, {"executors": ["codex"]}),
        ({"executor": "codex", "executor_profile": "xhigh"}, {"executors": ["codex"]}),
        ({"executor": "codex", "expected_artifacts": ["bench"]}, {"supports_artifacts": ["report"]}),
        ({"executor": "auto", "policy": {"forbid": ["codex"]}}, {"executors": ["codex"]}),
    ],
)
def test_a_runner_that_lacks_something_cannot_claim_and_does_not_fail_the_job(
    shop: Shop, asked: dict[str, object], able: dict[str, object]
) -> None:
    shop.create("picky", **asked)
    runner = shop.runner("r1", **able)

    with refused("capability_missing"):
        runner.claim("JOB-001")
    assert runner.try_claim()["job"] is None
    assert shop.status("JOB-001") == "QUEUED"


def test_a_job_made_while_nobody_was_there_is_for_whoever_can_do_it(shop: Shop) -> None:
    shop.create()
    assert shop.runner("late").claim().job_id == "JOB-001"


def test_a_model_can_be_asked_for(shop: Shop) -> None:
    shop.create(executor="claude_code", executor_model="opus")
    assert shop.runner().claim().answer["meta"]["executor_model"] == "opus"


def test_the_two_examples_of_the_protocol_are_accepted_as_they_are(shop: Shop) -> None:
    shop.task()
    shop.create(
        "Investigate <topic>",
        prompt="<what to do>",
        kind="research",
        priority="normal",
        task="TASK-001",
        anchor="a:core",
        executor="claude_code",
        executor_profile="fast",
        expected_artifacts=["report"],
        meta={"executor_model": "sonnet", "skill_profile": "research"},
    )
    shop.create(
        "Implement <feature>",
        prompt="<what to do>",
        kind="codex_cli",
        priority="high",
        task="TASK-001",
        anchor="a:core",
        executor="auto",
        executor_profile="deep",
        expected_artifacts=["patch"],
        policy={"prefer": ["claude_code", "codex"], "forbid": [], "min_profile": "fast"},
        meta={"executor_model": "opus", "skill_profile": "strict"},
    )
    first, second = (shop.open(job_id, include_meta=True) for job_id in ("JOB-001", "JOB-002"))
    assert (first["job"]["priority"], first["meta"]["executor_model"]) == ("MEDIUM", "sonnet")
    assert (second["job"]["priority"], second["meta"]["policy"]["prefer"]) == ("HIGH", ["claude_code", "codex"])
