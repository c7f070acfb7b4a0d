"""Reserving in tests: short calls, and the facts that most of them look at."""

from __future__ import annotations

from typing import cast

from tests.scene import Actor, Row


def reserve(actor: Actor, path: str, **given: object) -> Row:
    """The reservation that was granted."""
    return cast("Row", actor.here("reservations.reserve", path=path, **given)["reservation"])


def check(actor: Actor, *paths: str) -> list[Row]:
    return cast("list[Row]", actor.here("reservations.check", paths=list(paths))["paths"])


def verdicts(actor: Actor, *paths: str) -> list[str]:
    return [each["verdict"] for each in check(actor, *paths)]


def held(actor: Actor, **given: object) -> list[Row]:
    return cast("list[Row]", actor.here("reservations.status", **given)["reservations"])


def paths(actor: Actor, **given: object) -> list[tuple[str, str]]:
    """Who holds what."""
    return [(each["agent_id"], each["path"]) for each in held(actor, **given)]


def incursions(actor: Actor) -> list[Row]:
    return [event["data"] for event in actor.events(kinds=["x.tally.protocol.incursion"], limit=1000)]


def archived(actor: Actor) -> list[Row]:
    return [event["data"] for event in actor.events(kinds=["x.tally.reservation.expire"], limit=1000)]
