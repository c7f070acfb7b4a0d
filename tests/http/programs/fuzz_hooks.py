"""Hooks for the fuzzer: some of its guesses become rooms that exist, and nothing waits or streams for long."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any, cast

import schemathesis

from tallystick.hub.registry import OPERATIONS

hook = cast("Callable[[Callable[..., object]], object]", cast("Any", schemathesis).hook)
ROOMS = os.environ.get("FUZZ_ROOMS", "").split()
WAITS = {f"/v1/{name}" for name, operation in OPERATIONS.items() if operation.waits}


@hook
def map_body(context: Any, body: object) -> object:
    if not isinstance(body, dict):
        return body
    given = cast("dict[str, object]", body)
    _aim(given)
    wait = given.get("max_wait_ms", 0)
    if context.operation and context.operation.path in WAITS and isinstance(wait, int) and 0 <= wait <= 110_000:
        given["max_wait_ms"] = 5
    return given


@hook
def map_query(context: Any, query: dict[str, object] | None) -> dict[str, object] | None:
    if query:
        _aim(query)
        query.pop("follow", None)
    return query


def _aim(given: dict[str, object]) -> None:
    """Half of the time, name a room that is there, unless the name is what is wrong with this case."""
    room = given.get("room_id")
    if ROOMS and isinstance(room, str) and len(room) <= 200 and random.random() < 0.5:
        given["room_id"] = random.choice(ROOMS)
