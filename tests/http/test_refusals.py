"""Refusals over HTTP: a status by family, one shape for all of them, and every one of them documented."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import cast

import pytest

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
from tallystick.server import run
from tallystick.surfaces.http import refusals
from tests.http.running import Client, RunningHub

FAMILIES = {InvalidInput: 400, NotFound: 404, NotAllowed: 403, Conflict: 409, Unavailable: 503, Fault: 500}
SPECIAL = {
    "token_missing": 401,
    "token_invalid": 401,
    "method_not_allowed": 405,
    "too_late": 408,
    "too_large": 413,
    "wrong_media_type": 415,
    "wrong_host": 421,
    "too_many_requests": 429,
    "too_many_streams": 429,
    "head_too_large": 431,
}


def every() -> list[type[TallyError]]:
    """All that a served hub can answer instead of a result."""
    assert run
    return sorted(
        (each for each in every_error() if each.__module__.startswith("tallystick.")), key=lambda each: each.code
    )


@pytest.mark.parametrize("kind", every(), ids=lambda kind: cast("type[TallyError]", kind).__name__)
def test_every_refusal_has_its_status_and_the_one_shape(kind: type[TallyError]) -> None:
    error = kind("What went wrong.", details={"allow": "POST", "number": 1, "path": Path("/x")})

    status, body = refusals.status_of(kind), refusals.body_of(error)
    fields = dict(refusals.headers_of(error, body))

    family = next((status for family, status in FAMILIES.items() if issubclass(kind, family)), 400)
    assert status == SPECIAL.get(kind.code, family)
    assert json.loads(body) == {
        "error": {
            "code": kind.code,
            "message": "What went wrong.",
            "hint": error.advice,
            "retryable": kind.retryable,
            "details": {"allow": "POST", "number": 1, "path": "/x"},
        }
    }
    assert (b"retry-after" in fields) == issubclass(kind, Unavailable)
    assert (b"www-authenticate" in fields) == (status == 401)


def test_a_busy_store_is_unavailable_and_worth_another_try(sqlite_hub: RunningHub) -> None:
    user = sqlite_hub.user
    room = user.room()
    other = sqlite3.connect(sqlite_hub.data_dir / "tally.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    reply = user.post("events.append", {"room_id": room, "kind": "x.test.event", "data": {}})

    other.execute("ROLLBACK")
    other.close()
    assert reply.refused == (503, "store_busy")
    assert (reply.headers["retry-after"], reply.error["retryable"]) == ("1", True)
    assert user.append(room) == 2


def test_reading_goes_on_while_writing_cannot(sqlite_hub: RunningHub) -> None:
    user = sqlite_hub.user
    room = user.room()
    other = sqlite3.connect(sqlite_hub.data_dir / "tally.sqlite", isolation_level=None)
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
