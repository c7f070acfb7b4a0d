"""Refusals over HTTP: a status by family, one shape for all of them, and every one of them documented."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from tallystick.kernel.errors import (
    Conflict,
    Fault,
    InvalidInput,
    NotAllowed,
    NotFound,
    TallyError,
    Unavailable,
    every_error,
)
from tallystick.kernel.hints import request
from tallystick.server import run
from tallystick.surfaces.http import errors
from tests.http.running import Client, RunningHub

FAMILIES = {InvalidInput: 400, NotFound: 404, NotAllowed: 403, Conflict: 409, Unavailable: 503, Fault: 500}
SPECIAL = {
    "token_missing": 401,
    "token_invalid": 401,
    "method_not_allowed": 405,
    "too_late": 408,
    "too_large": 413,
    "wrong_media_type": 415,
    "no_such_range": 416,
    "wrong_host": 421,
    "too_many_requests": 429,
    "too_many_streams": 429,
    "head_too_large": 431,
}


def every() -> list[type[TallyError]]:
    """All that a served hub can answer instead of a result."""
    assert run  # Importing the whole server makes every refusal known.
    return sorted(
        (each for each in every_error() if each.__module__.startswith("tallystick.")), key=lambda each: each.code
    )


def told(kind: type[TallyError]) -> tuple[int, object, bool, bool]:
    """Status and body of a refusal, and whether it says when to try again and how to sign in."""
    error = kind("What went wrong.", details={"allow": "POST", "number": 1, "path": Path("/x")})
    status, body = errors.status_of(kind), errors.body_of(error)
    fields = dict(errors.headers_of(error, body))
    return status, json.loads(body), b"retry-after" in fields, b"www-authenticate" in fields


def expected(kind: type[TallyError]) -> tuple[int, object, bool, bool]:
    family = next((status for family, status in FAMILIES.items() if issubclass(kind, family)), 400)
    status = SPECIAL.get(kind.code, family)
    shown = {
        "code": kind.code,
        "message": "What went wrong.",
        "hint": kind("What went wrong.").advice_in(request),
        "retryable": kind.retryable,
        "details": {"allow": "POST", "number": 1, "path": "/x"},
    }
    return status, {"error": shown}, issubclass(kind, Unavailable), status == 401


def test_every_refusal_has_its_status_and_the_one_shape() -> None:
    assert {kind.__name__: told(kind) for kind in every()} == {kind.__name__: expected(kind) for kind in every()}


def test_a_busy_store_is_unavailable_and_worth_another_try(process_hub: RunningHub) -> None:
    user = process_hub.user
    room = user.room()
    other = sqlite3.connect(process_hub.data_dir / "tally.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    reply = user.post("events.append", {"room_id": room, "kind": "x.test.event", "data": {}})

    other.execute("ROLLBACK")
    other.close()
    assert reply.refused == (503, "store_busy")
    assert (reply.headers["retry-after"], reply.error["retryable"]) == ("1", True)
    assert user.append(room) == 2


def test_reading_goes_on_while_writing_cannot(process_hub: RunningHub) -> None:
    user = process_hub.user
    room = user.room()
    other = sqlite3.connect(process_hub.data_dir / "tally.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    reply = user.get(f"/v1/rooms.show?room_id={room}")

    other.execute("ROLLBACK")
    other.close()
    assert reply.status == 200


def test_a_damaged_store_is_a_fault_that_says_so(tmp_path: Path) -> None:
    hub = RunningHub(tmp_path / "data").start()
    try:
        room = hub.user.room()
        _tear(hub.data_dir)

        reply = hub.user.post("events.list", {"room_id": room})
        health = Client(hub).get("/healthz")

        assert (reply.status, reply.error["retryable"]) == (500, False)
        assert sorted(reply.error) == ["code", "details", "hint", "message", "retryable"]
        assert (health.status, health.json) == (503, {"ok": False})
    finally:
        hub.stop()


def _tear(folder: Path) -> None:
    """Make the store unreadable behind the hub's back."""
    for name in ("tally.sqlite", "tally.sqlite-wal", "tally.sqlite-shm"):
        path = folder / name
        if path.exists():
            path.write_bytes(b"\xff" * path.stat().st_size)
