"""Which runner and executor a job is for: filter by what they can do, rank by preference, availability and queue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tallystick.capabilities.jobs.model import AUTO, PROFILES, Needs, Routing, Runner


def route(needs: Needs, runners: Sequence[Runner]) -> Routing | None:
    """The one place where a job should run, the same for the same facts in any order; None when nobody can do it."""
    fits = [(runner, executor) for runner in runners for executor in suited(needs, runner)]
    if not fits:
        return None
    runner, executor = min(fits, key=lambda fit: _rank(needs, *fit))
    return Routing(executor=executor, runner_id=runner.runner_id)


def suited(needs: Needs, runner: Runner) -> list[str]:
    """The runner's executors that may do the job."""
    return [executor for executor in runner.executors if not _lacks(needs, runner, executor)]


def lacking(needs: Needs, runner: Runner) -> str:
    """In words, why the runner cannot do the job; empty when it can."""
    if suited(needs, runner):
        return ""
    reasons = [_lacks(needs, runner, executor) for executor in runner.executors]
    return reasons[0] if reasons else "it has no executor"


def _lacks(needs: Needs, runner: Runner, executor: str) -> str:
    if needs.executor not in {AUTO, executor}:
        return f"the job needs {needs.executor}, and it has {_listed(runner.executors)}"
    if executor in needs.policy.forbid:
        return f"the job forbids {_listed(needs.policy.forbid)}"
    if needs.profile not in runner.profiles:
        return f"the job needs the profile {needs.profile}, and it has {_listed(runner.profiles)}"
    if _level(needs.profile) < _level(needs.policy.min_profile):
        return f"the job's profile {needs.profile} is below its own min_profile {needs.policy.min_profile}"
    missing = [made for made in needs.artifacts if runner.supports_artifacts and made not in runner.supports_artifacts]
    return f"it cannot make {_listed(missing)}" if missing else ""


def _rank(needs: Needs, runner: Runner, executor: str) -> tuple[int, int, int, str, str]:
    prefer = needs.policy.prefer
    preference = prefer.index(executor) if executor in prefer else len(prefer)
    return preference, int(runner.status != "idle"), runner.jobs, runner.runner_id, executor


def _level(profile: str | None) -> int:
    return PROFILES.index(profile) if profile in PROFILES else 0


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
