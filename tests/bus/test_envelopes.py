"""Envelopes: what every one must have, how replies look, and how each wrong one is answered; on both transports."""

from __future__ import annotations

import json
from typing import cast

import pytest

from tallystick.bus.envelope import InvalidEnvelope, read
from tallystick.hub.registry import OPERATIONS
from tests.bus.talking import BusSession, Row, envelope

GOOD = {"v": 1, "type": "session.list", "id": "x1", "ts": "2026-01-31T12:00:00Z", "src": "boss"}


def without(name: str) -> bytes:
    return json.dumps({key: value for key, value in GOOD.items() if key != name}).encode()


def with_(**more: object) -> bytes:
    return json.dumps({**GOOD, **more}).encode()


def test_a_reply_names_its_request_and_leaves_out_what_is_absent(bus_session: BusSession) -> None:
    boss = bus_session.peer("boss")

    good = boss.ask("hub.health")
    bad = boss.ask("hub.wealth")

    assert set(good) == {"v", "type", "id", "ts", "src", "dst", "corr", "status", "payload"}
    assert (good["v"], good["type"], good["src"], good["dst"], good["status"]) == (
        1,
        "hub.health",
        "system",
        "boss",
        "ok",
    )
    assert set(bad) == {"v", "type", "id", "ts", "src", "dst", "corr", "status", "error"}
    assert (bad["status"], bad["error"]["code"], bad["error"]["retryable"]) == ("error", "unknown_operation", False)
    assert bad["error"]["message"] == "There is no command or operation 'hub.wealth'. Did you mean 'hub.health'?"


def test_a_line_with_half_a_character_is_told_so() -> None:
    with pytest.raises(InvalidEnvelope) as wrong:
        read(b'{"v":1,"type":"\\ud800"}')

    assert wrong.value.message == "The line is not JSON: it holds one half of a surrogate pair, which is no character."


@pytest.mark.parametrize(
    ("line", "code", "corr"),
    [
        (b"{", "invalid_envelope", None),
        (b"nonsense", "invalid_envelope", None),
        (b"\xff\xfe{}", "invalid_envelope", None),
        (b'{"v":1,"type":"\\ud800"}', "invalid_envelope", None),
        (b"[]", "invalid_envelope", None),
        (b"7", "invalid_envelope", None),
        (b"null", "invalid_envelope", None),
        (b"{}", "invalid_envelope", None),
        (b'{"a":' * 3000 + b"1" + b"}" * 3000, "invalid_envelope", None),
        (without("v"), "invalid_envelope", "x1"),
        (without("type"), "invalid_envelope", "x1"),
        (without("id"), "invalid_envelope", None),
        (without("ts"), "invalid_envelope", "x1"),
        (without("src"), "invalid_envelope", "x1"),
        (with_(v=2), "unsupported_version", "x1"),
        (with_(v="1"), "unsupported_version", "x1"),
        (with_(v=None), "unsupported_version", "x1"),
        (with_(type=""), "invalid_envelope", "x1"),
        (with_(type=7), "invalid_envelope", "x1"),
        (with_(type="no.such.thing"), "unknown_operation", "x1"),
        (with_(id=""), "invalid_envelope", None),
        (with_(id=7), "invalid_envelope", None),
        (with_(id="x" * 201), "invalid_envelope", None),
        (with_(ts=7), "invalid_envelope", "x1"),
        (with_(ts="garbage"), "invalid_envelope", "x1"),
        (with_(src=""), "invalid_envelope", "x1"),
        (with_(src="system"), "reserved_name", "x1"),
        (with_(src="svc:tally"), "reserved_name", "x1"),
        (with_(src="two words"), "invalid_input", "x1"),
        (with_(seq=0), "invalid_envelope", "x1"),
        (with_(seq=1.5), "invalid_envelope", "x1"),
        (with_(seq=2**70), "invalid_envelope", "x1"),
        (with_(payload=[]), "invalid_envelope", "x1"),
        (with_(payload_ref="blobs/1"), "unknown_field", "x1"),
        (with_(sesion="S"), "unknown_field", "x1"),
        (with_(idempotency_key="x" * 201), "invalid_envelope", "x1"),
    ],
)
def test_whatever_is_no_envelope_is_answered_with_a_code(
    bus_session: BusSession, line: bytes, code: str, corr: str | None
) -> None:
    boss = bus_session.peer("boss")

    reply = boss.way.exchange(line)

    error = cast("Row", reply["error"])
    assert (reply["status"], error["code"], reply.get("corr")) == ("error", code, corr)
    assert error["hint"]
    assert boss.do("hub.health")["ok"] is True


def test_what_is_null_is_absent(bus_session: BusSession) -> None:
    line = with_(dst=None, session=None, seq=None, idempotency_key=None, corr=None, payload=None)

    assert bus_session.peer("boss").way.exchange(line)["status"] == "ok"


def test_an_unknown_field_comes_with_the_nearest_name(bus_session: BusSession) -> None:
    reply = bus_session.peer("boss").way.exchange(with_(sesion="S"))

    assert reply["error"]["message"] == "Unknown field 'sesion'. Did you mean 'session'?"


def test_a_connection_has_one_src(bus_session: BusSession) -> None:
    boss = bus_session.peer("boss")
    boss.do("hub.health")

    other = boss.way.exchange(json.dumps(envelope("hub.health", "worker")).encode())

    assert (other["error"]["code"], other["error"]["details"]) == (
        "src_mismatch",
        {"src": "worker", "expected": "boss"},
    )


def test_seq_rises_strictly_per_connection(bus_session: BusSession) -> None:
    boss = bus_session.peer("boss")
    boss.do("hub.health", seq=1)
    boss.do("hub.health")
    boss.do("hub.health", seq=7)

    for stale in (7, 6, 1):
        assert boss.refused("hub.health", seq=stale) == "seq_out_of_order"
    assert boss.refused("no.such.thing", seq=8) == "unknown_operation"
    assert boss.refused("hub.health", seq=8) == "seq_out_of_order"
    boss.do("hub.health", seq=9)

    bus_session.peer("boss").do("hub.health", seq=1)


def test_every_operation_is_reachable_by_its_name(bus_session: BusSession) -> None:
    (boss,) = bus_session.agents("boss")

    codes = {name: boss.ask(name, {"no_such_field": 1}).get("error", {}).get("code") for name in sorted(OPERATIONS)}

    assert set(codes.values()) == {"unknown_field"}
    assert boss.do("turns.state")["room_id"] == bus_session.session
