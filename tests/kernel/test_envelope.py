"""The envelope and its hash. The vectors here are the format: should one change, no older ledger verifies any more."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tallystick.kernel.envelope import GENESIS, Data, Event, to_json
from tests.scene import START, refused

FIRST = Event.sealed(
    room_id="0192f0c4-0000-7000-8000-000000000001",
    seq=1,
    id="0192f0c4-0000-7000-8000-000000000002",
    ts=START,
    kind="x.acme.build",
    scope_key="s_0123456789abcdef",
    by="codex:9b22d0aa",
    body=to_json({"result": "zelená", "n": 1, "odd": '"\\/\b\x00\x7f\u2028'}),
    prev_hash=GENESIS,
)
SECOND = Event.sealed(
    room_id=FIRST.room_id,
    seq=2,
    id="0192f0c4-0000-7000-8000-000000000003",
    ts=START + 1,
    kind="x.acme.build",
    scope_key="",
    by='human:"wren":pts1',
    body="{}",
    prev_hash=FIRST.hash,
)


def test_the_canonical_bytes_are_sorted_compact_utf8_json() -> None:
    assert FIRST.canonical() == (
        b'{"by":"codex:9b22d0aa",'
        b'"data":{"n":1,"odd":"\\"\\\\/\\b\\u0000\x7f\xe2\x80\xa8","result":"zelen\xc3\xa1"},'
        b'"group_id":"0192f0c4-0000-7000-8000-000000000001","id":"0192f0c4-0000-7000-8000-000000000002",'
        b'"kind":"x.acme.build","scope_key":"s_0123456789abcdef","seq":1,"ts":"2026-09-21T14:13:20.000Z","v":1}'
    )


def test_the_hash_covers_the_hash_before_and_the_canonical_bytes() -> None:
    assert FIRST.hash == "6841bb8caeb45007b8318f46fb31eb8d6187a5eb8a1c043ef37eec20f05f8e03"
    assert SECOND.hash == "ff1c071ea88961c8cea8c9c31c8eda7522be9469d5512dd9f611b9bbb70b314f"


def test_anybody_can_recompute_a_hash_with_an_ordinary_json_encoder() -> None:
    encoded = json.dumps(FIRST.wire(), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert hashlib.sha256(b"0" * 64 + encoded).hexdigest() == FIRST.hash


def test_the_wire_envelope_has_no_hashes() -> None:
    assert SECOND.wire() == {
        "v": 1,
        "id": "0192f0c4-0000-7000-8000-000000000003",
        "ts": "2026-09-21T14:13:20.001Z",
        "seq": 2,
        "kind": "x.acme.build",
        "group_id": "0192f0c4-0000-7000-8000-000000000001",
        "scope_key": "",
        "by": 'human:"wren":pts1',
        "data": {},
    }


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)
bodies = st.dictionaries(st.text(), values)


@given(bodies)
def test_a_body_comes_back_as_it_was_written(body: Data) -> None:
    event = replace(FIRST, body=to_json(body))
    assert event.data == body


@given(bodies)
def test_equal_bodies_are_equal_text(body: Data) -> None:
    assert to_json(dict(reversed(list(body.items())))) == to_json(body)


@pytest.mark.parametrize("body", [{"a": "\ud800"}, {"\ud800": 1}, {"a": {1: 2}}, {"a": object()}, {"a": 10**5000}])
def test_what_is_not_json_is_refused(body: dict[str, object]) -> None:
    with refused("invalid_input"):
        to_json(body)
