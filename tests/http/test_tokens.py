"""`tally token`: made once, shown once, listed without secrets, ended at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

from tallystick.hub import tokens
from tallystick.hub.hub import Hub
from tallystick.kernel.clock import from_wire
from tests.http.running import Json, RunningHub
from tests.scene import Scene


def issued(hub: RunningHub, *args: str) -> Json:
    found = hub.control("token", "issue", *args, "--json")
    assert found.returncode == 0, found.stderr
    return cast("Json", json.loads(found.stdout)["data"])


@pytest.fixture
def nowhere(tmp_path: Path) -> RunningHub:
    """A data directory without a hub: tokens can be made before one runs."""
    return RunningHub(tmp_path / "data")


def test_the_token_is_all_that_is_printed(nowhere: RunningHub) -> None:
    found = nowhere.control("token", "issue", "--any-room", "--as", "builder")

    (token,) = found.stdout.splitlines()
    assert token.startswith("tally_")
    assert len(token) == 49
    assert "not shown again" in found.stderr


def test_a_token_is_listed_without_its_secret(nowhere: RunningHub) -> None:
    token = issued(nowhere, "--any-room", "--as", "svc:ci", "--label", "nightly", "--expires", "7d")

    listed = nowhere.control("token", "list", "--json").stdout

    (row,) = cast("list[Json]", cast("Json", json.loads(listed)["data"])["tokens"])
    assert row == {key: value for key, value in token.items() if key != "token"}
    assert cast("str", token["token"]) not in listed


def test_the_store_keeps_only_a_hash(nowhere: RunningHub) -> None:
    secret = cast("str", issued(nowhere, "--any-room", "--as", "builder")["token"])

    stored = b"".join(path.read_bytes() for path in nowhere.data_dir.rglob("*") if path.is_file())

    assert secret.encode() not in stored
    assert tokens.hash_of(secret).encode() in stored


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("system", "reserved_name"),
        ("human:root:pts0", "reserved_name"),
        ("svc:tally", "reserved_name"),
        ("svc:tally.page", "reserved_name"),
        ("svc:cccc.x", "reserved_name"),
        ("svc:", "invalid_input"),
        ("svc:A B", "invalid_input"),
        ("a b", "invalid_input"),
        ("@all", "invalid_input"),
    ],
)
def test_nobody_gets_a_token_for_a_reserved_or_impossible_name(nowhere: RunningHub, name: str, code: str) -> None:
    found = nowhere.control("token", "issue", "--any-room", "--as", name, "--json")

    assert found.returncode == 1
    assert cast("Json", json.loads(found.stdout)["error"])["code"] == code


def test_a_token_for_a_room_that_is_not_there_is_refused(nowhere: RunningHub) -> None:
    found = nowhere.control("token", "issue", "--room", "nowhere", "--as", "builder")

    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.startswith("error: There is no room 'nowhere'.\nhint: ")


@pytest.mark.parametrize(
    "args",
    [
        ("issue", "--as", "x"),
        ("issue", "--any-room"),
        ("issue", "--any-room", "--as", "x", "--expires", "soon"),
        ("revoke",),
    ],
)
def test_a_command_that_cannot_be_understood_is_a_usage_error(nowhere: RunningHub, args: tuple[str, ...]) -> None:
    assert nowhere.control("token", *args).returncode == 2


def test_an_unknown_id_cannot_be_revoked(nowhere: RunningHub) -> None:
    found = nowhere.control("token", "revoke", "000000000000", "--json")

    assert cast("Json", json.loads(found.stdout)["error"])["code"] == "token_not_found"


def test_a_token_ends_when_its_time_is_up(scene: Scene) -> None:
    secret = tokens.issue(scene.hub, principal="ann", lasts_ms=60_000).secret
    assert tokens.find(scene.hub, secret)

    scene.clock.forward(minutes=1)

    assert tokens.find(scene.hub, secret) is None


def test_a_revoked_token_is_found_no_more_and_revoking_it_again_changes_nothing(scene: Scene) -> None:
    made = tokens.issue(scene.hub, principal="ann")

    tokens.revoke(scene.hub, made.token.id)
    once = tokens.every_token(scene.hub)
    scene.clock.forward(minutes=1)
    tokens.revoke(scene.hub, made.token.id)

    assert tokens.find(scene.hub, made.secret) is None
    assert tokens.every_token(scene.hub) == once


def test_secrets_do_not_show_when_a_token_is_printed(scene: Scene) -> None:
    made = tokens.issue(scene.hub, principal="ann")

    assert made.secret not in repr(made)
    assert made.token.token_hash not in repr(made)


def test_a_token_needs_a_room_that_exists(scene: Scene) -> None:
    with scene.refused("room_not_found"):
        tokens.issue(scene.hub, principal="ann", room_id="nowhere")


def test_tokens_are_no_part_of_any_ledger(scene: Scene) -> None:
    hub: Hub = scene.hub
    before = scene.rows("events")

    tokens.issue(hub, principal="ann")

    assert scene.rows("events") == before


def test_a_token_works_for_thirty_days_unless_it_is_issued_otherwise(nowhere: RunningHub) -> None:
    usual = issued(nowhere, "--any-room", "--for", "builder")
    other = issued(nowhere, "--any-room", "--for", "builder", "--reach", "read", "--expires", "never")

    assert (usual["reach"], other["reach"], other["expires_at"]) == ("work", "read", None)
    assert from_wire(cast("str", usual["expires_at"])) - from_wire(cast("str", usual["created_at"])) == tokens.LASTS_MS
    listed = nowhere.control("token", "list").stdout.splitlines()
    assert [row.split("\t")[2:4] for row in listed] == [["read", "every room"], ["work", "every room"]]
