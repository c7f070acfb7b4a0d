"""Signed checkpoints: what a person with the store's file, but without the key, cannot do unseen."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tallystick.hub import signing
from tallystick.hub.settings import Settings
from tallystick.hub.signing import SigningKey
from tallystick.kernel.envelope import Event, to_json
from tallystick.ledger import reading
from tests.scene import Actor, Row, Scene, refused


@pytest.fixture
def key() -> SigningKey:
    return SigningKey(Ed25519PrivateKey.generate())


@pytest.fixture
def ada(scene: Scene) -> Actor:
    (ada,) = scene.joined("ada")
    for number in range(3):
        ada.here("events.append", kind="x.acme.tick", data={"number": number})
    return ada


def verified(actor: Actor, **given: object) -> Row:
    return actor.call("events.verify", room_id=actor.room_id, **given)


def room(verdict: Row) -> Row:
    (found,) = cast("list[Row]", verdict["rooms"])
    return found


def rewrite(scene: Scene, room_id: str, seq: int) -> None:
    """Change an event and compute the chain anew from there, as anybody can who may write to the store."""
    with scene.hub.reading() as tx:
        events = list(reading.every_event(tx, room_id))
    last = events[seq - 2].hash
    for old in events[seq - 1 :]:
        body = to_json({"forged": True}) if old.seq == seq else old.body
        new = Event.sealed(
            room_id=room_id, seq=old.seq, id=old.id, ts=old.ts, kind=old.kind, scope_key=old.scope_key, by="user",
            body=body, prev_hash=last,
        )  # fmt: skip
        scene.sql(
            "UPDATE events SET body = :body, author = 'user', prev_hash = :prev, hash = :hash "
            "WHERE room_id = :room_id AND seq = :seq",
            body=body, prev=last, hash=new.hash, room_id=room_id, seq=old.seq,
        )  # fmt: skip
        last = new.hash
    scene.sql("UPDATE heads SET hash = :hash WHERE room_id = :room_id", hash=last, room_id=room_id)


def test_a_checkpoint_names_the_rooms_that_moved_since_the_last_one(scene: Scene, key: SigningKey, ada: Actor) -> None:
    first, nothing = signing.sign(scene.hub, key), signing.sign(scene.hub, key)
    ada.call("rooms.create", title="second")
    second = signing.sign(scene.hub, key)

    assert first
    assert second
    assert (list(first.said.heads), nothing, len(second.said.heads)) == ([ada.room_id], None, 1)
    assert ada.room_id not in second.said.heads
    assert verified(ada)["checkpoints"] == {
        "count": 2,
        "newest_at": second.said.at,
        "keys": [key.public],
        "problem": "",
    }


def test_a_ledger_that_was_rewritten_with_all_its_hashes_does_not_fit_what_was_signed(
    scene: Scene, key: SigningKey, ada: Actor
) -> None:
    made = signing.sign(scene.hub, key)
    assert made
    rewrite(scene, ada.room_id, 4)

    found = verified(ada)

    assert (found["ok"], room(found)["bad_seq"]) == (False, None)
    assert room(found)["problem"] == f"up to event 6 it is not what was signed at {made.said.at}"


def test_what_was_rewritten_after_the_last_checkpoint_is_found_by_a_hash_that_was_kept(
    scene: Scene, key: SigningKey, ada: Actor
) -> None:
    kept = cast("str", room(verified(ada))["hash"])
    grown = ada.here("events.append", kind="x.acme.tick", data={})
    before = verified(ada, expect={ada.room_id: kept})
    rewrite(scene, ada.room_id, 4)

    plain, expected = verified(ada), verified(ada, expect={ada.room_id: kept})

    assert grown
    assert (before["ok"], room(before)["expected_seq"]) == (True, 6)
    assert (plain["ok"], expected["ok"]) == (True, False)
    assert room(expected)["problem"] == "no event of it has the hash that was expected"


def test_a_hash_for_a_room_that_is_not_there_is_no_proof(ada: Actor) -> None:
    found = verified(ada, expect={"nowhere": "0" * 64})
    assert (found["ok"], cast("list[Row]", found["rooms"])[1]["problem"]) == (
        False,
        "it is not among the rooms verified here",
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("UPDATE checkpoints SET body = replace(body, 'seq\":6', 'seq\":5') WHERE number = 1", "signature"),
        ("DELETE FROM checkpoints WHERE number = 1", "one is missing"),
        ("UPDATE checkpoints SET signature = 'zz' WHERE number = 2", "signature"),
    ],
)
def test_a_checkpoint_that_was_changed_or_taken_out_is_noticed(
    scene: Scene, key: SigningKey, ada: Actor, change: str, problem: str
) -> None:
    signing.sign(scene.hub, key)
    ada.here("events.append", kind="x.acme.tick", data={})
    signing.sign(scene.hub, key)
    scene.sql(change)

    found = verified(ada)

    assert found["ok"] is False
    assert problem in cast("Row", found["checkpoints"])["problem"]


def test_a_kept_checkpoint_tells_a_shortened_ledger_from_one_that_grew(
    scene: Scene, key: SigningKey, ada: Actor
) -> None:
    kept = signing.export(scene.hub, key)
    text = msgspec.json.encode(kept)
    ada.here("events.append", kind="x.acme.tick", data={})
    grown = signing.check_kept(scene.hub, text)
    scene.sql("DELETE FROM events WHERE room_id = :room_id AND seq > 5", room_id=ada.room_id)

    shortened = signing.check_kept(scene.hub, text)

    assert (grown, shortened) == ({}, {ada.room_id: f"event 6 is gone, which was signed at {kept.said.at}"})


def test_a_key_is_made_once_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    assert SigningKey.known(settings) is None
    made, again = SigningKey.of(settings), SigningKey.of(settings)
    file = tmp_path / "data" / "checkpoint.key"
    assert (made.public, file.stat().st_mode & 0o777) == (again.public, 0o600)

    file.chmod(0o644)
    with refused("bad_signing_key"):
        SigningKey.of(settings)
