"""One agent in a race for paths: round after round it reserves one of a chain of paths that all overlap."""

from __future__ import annotations

from tests.chaos.worker import Agent, Plan

CHAIN = ("", "/a", "/a/b", "/a/b/*")
"""Within a round every two of these overlap."""


def path_of(agent_id: str, number: int) -> str:
    return f"round-{number}{CHAIN[int(agent_id[-2:]) % len(CHAIN)]}"


def race(plan: Plan) -> None:
    """Go through all rounds, and once more when restarted; nobody gives anything back."""
    agent = Agent(plan)
    agent.here("rooms.join")
    if plan.start:
        plan.start.wait()
    for number in range(plan.times):
        agent.here("reservations.reserve", path=path_of(plan.agent_id, number))
    agent.hub.close()
