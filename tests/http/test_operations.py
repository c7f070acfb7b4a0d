"""Operations over HTTP: one address each, JSON in and out, and every way in which that can go wrong."""

from __future__ import annotations

from typing import cast

import pytest

from tallystick.hub.registry import OPERATIONS
from tests.http.running import Client, Json, RunningHub


def test_an_operation_answers_what_it_answers_everywhere(user: Client, room: str) -> None:
    user.append(room, note="first")

    listed = user.call("events.list", room_id=room, kinds=["x.test.event"])

    (event,) = cast("list[Json]", listed["events"])
    assert listed == {"events": [event], "cursor": 2, "head": 2}
    assert {key: event[key] for key in ("seq", "kind", "group_id", "by", "data", "scope_key", "v")} == {
        "seq": 2,
        "kind": "x.test.event",
        "group_id": room,
        "by": "user",
        "data": {"note": "first"},
        "scope_key": "",
        "v": 1,
    }


def test_the_unix_socket_gives_the_same_answer_without_a_token(hub: RunningHub, room: str) -> None:
    over_tcp = hub.user.call("rooms.show", room_id=room)

    assert hub.local.call("rooms.show", room_id=room) == over_tcp


def test_a_read_also_takes_a_query(user: Client, room: str) -> None:
    for number in range(5):
        user.append(room, number=number)

    reply = user.get(f"/v1/events.list?room_id={room}&since_seq=2&limit=2&kinds=x.test.event&kinds=x.other&newest=true")

    assert reply.json == user.call(
        "events.list", room_id=room, since_seq=2, limit=2, kinds=["x.test.event", "x.other"], newest=True
    )
    assert [event["seq"] for event in cast("list[Json]", reply.json["events"])] == [5, 6]


def test_events_without_follow_are_a_page(user: Client, room: str) -> None:
    user.append(room)

    reply = user.get(f"/v1/events?room_id={room}&since_seq=1")

    assert reply.json == user.call("events.list", room_id=room, since_seq=1)


def test_every_operation_has_an_address(user: Client) -> None:
    refused = {name: user.post(name, {"no_such_field": 1}).refused for name in OPERATIONS}

    assert refused == dict.fromkeys(OPERATIONS, (400, "unknown_field"))


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("since_seq=two", "invalid_input"),
        ("since_seq=1&since_seq=2", "invalid_input"),
        ("newest=maybe", "invalid_input"),
        ("since_seq=-1", "invalid_input"),
        ("limit=99999", "invalid_input"),
        ("sinse_seq=1", "unknown_field"),
        ("since_seq=1&since_ts=2026-01-01T00:00:00Z", "ambiguous_cursor"),
        ("kinds=%ff", "invalid_input"),
    ],
)
def test_a_query_is_checked_like_a_body(user: Client, room: str, query: str, code: str) -> None:
    assert user.get(f"/v1/events.list?room_id={room}&{query}").refused == (400, code)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "invalid_input"),
        (b"[]", "invalid_input"),
        (b'"text"', "invalid_input"),
        (b"\xff\xfe", "invalid_input"),
        (b'{"room_id": "\\ud800"}', "invalid_input"),
        (b'{"room_id": 1}', "invalid_input"),
        (b"{}", "invalid_input"),
        (b"", "invalid_input"),
        (b'{"room_id": NaN}', "invalid_input"),
    ],
)
def test_a_body_that_is_no_input_is_refused(user: Client, body: bytes, code: str) -> None:
    reply = user.request("POST", "/v1/rooms.show", body, Content_Type="application/json")

    assert reply.refused == (400, code)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'{"room_id": "\\ud800"}', "it holds one half of a surrogate pair, which is no character"),
        (b'{"room_id": "', "Input data was truncated"),
        (b'{"room_id": "\\ud800', "Input data was truncated"),
    ],
)
def test_a_body_that_is_no_json_is_told_why(user: Client, body: bytes, why: str) -> None:
    reply = user.request("POST", "/v1/rooms.show", body, Content_Type="application/json")

    assert reply.error["message"] == f"The body is not JSON: {why}."


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"room_id":' + b"[" * 5_000 + b"]" * 5_000 + b"}"])
def test_a_body_nested_deeper_than_any_parser_goes_is_too_large(user: Client, body: bytes) -> None:
    reply = user.request("POST", "/v1/rooms.show", body, Content_Type="application/json")

    assert reply.refused == (413, "too_large")


def test_a_misspelt_field_comes_with_the_right_name(user: Client, room: str) -> None:
    reply = user.post("events.append", {"room_id": room, "kind": "x.a.b", "dta": {}})

    assert reply.refused == (400, "unknown_field")
    assert "Did you mean 'data'?" in cast("str", reply.error["message"])


def test_a_form_is_not_json(user: Client) -> None:
    reply = user.request("POST", "/v1/rooms.create", b"title=x", Content_Type="application/x-www-form-urlencoded")

    assert reply.refused == (415, "wrong_media_type")


def test_a_write_takes_post_only(user: Client) -> None:
    reply = user.get("/v1/rooms.create?title=x")

    assert reply.refused == (405, "method_not_allowed")
    assert reply.headers["allow"] == "POST"


def test_the_radar_is_a_read_but_an_answer_given_with_it_is_a_write(user: Client, room: str) -> None:
    user.call("jobs.create", room_id=room, title="parser", prompt="Make it linear.")

    seen = user.get(f"/v1/jobs.radar?room_id={room}&fmt=lines")
    waited = user.get(f"/v1/jobs.wait?room_id={room}&job=JOB-001&max_wait_ms=0")
    told = user.get(f"/v1/jobs.radar?room_id={room}&reply_job=JOB-001&reply_message=yes")

    assert "JOB-001 (QUEUED) parser" in cast("str", seen.json["text"])
    assert waited.json["timed_out"] is True
    assert told.refused == (405, "method_not_allowed")
    assert 'message_ref":null' in user.get(f"/v1/jobs.open?room_id={room}&job=JOB-001").body.decode()


@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v2/rooms.list", "/v1/blobs/", "/v1/a/b/c", "/static/x.js"])
def test_an_address_without_anything_is_refused_in_the_same_shape(user: Client, path: str) -> None:
    reply = user.get(path)

    assert reply.status == 404
    assert sorted(reply.error) == ["code", "details", "hint", "message", "retryable"]


def test_an_unknown_operation_suggests_the_nearest(user: Client) -> None:
    reply = user.post("turns.realease", {})

    assert reply.refused == (404, "unknown_operation")
    assert "turns.release" in cast("str", reply.error["message"])


def test_a_repeated_key_is_done_once_and_answered_alike(user: Client, room: str) -> None:
    given: Json = {"room_id": room, "kind": "x.test.event", "data": {}}

    first = user.post("events.append", given, Idempotency_Key="k-1")
    again = user.post("events.append", given, Idempotency_Key="k-1")

    assert (first.status, first.body) == (200, again.body)
    assert user.call("events.list", room_id=room)["head"] == 2


def test_a_key_used_for_something_else_is_a_conflict(user: Client, room: str) -> None:
    given: Json = {"room_id": room, "kind": "x.test.event", "data": {}}
    user.post("events.append", given, Idempotency_Key="k-2")

    reply = user.post("events.append", {**given, "data": {"other": 1}}, Idempotency_Key="k-2")

    assert reply.refused == (409, "idempotency_conflict")


def test_keys_of_two_principals_have_nothing_to_do_with_each_other(hub: RunningHub, room: str) -> None:
    given: Json = {"room_id": room, "kind": "x.test.event", "data": {}}
    mine = hub.user.post("events.append", given, Idempotency_Key="k-3")

    builder = hub.agent("builder")
    builder.call("rooms.join", room_id=room)
    theirs = builder.post("events.append", given, Idempotency_Key="k-3")

    assert mine.json != theirs.json


def test_a_key_with_spaces_is_refused(user: Client, room: str) -> None:
    reply = user.post("events.append", {"room_id": room, "kind": "x.a.b", "data": {}}, Idempotency_Key="a b")

    assert reply.refused == (400, "invalid_input")


def test_hostile_text_comes_back_as_it_was_and_never_as_html(user: Client, room: str) -> None:
    text = "<script>alert(1)</script> \x1b[31m \u202e \x07 \r\n id: 9 \u2028 \N{PILE OF POO}"

    user.append(room, text=text)
    reply = user.get(f"/v1/events?room_id={room}&since_seq=1")

    (event,) = cast("list[Json]", reply.json["events"])
    assert event["data"] == {"text": text}
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers["x-content-type-options"] == "nosniff"


def test_head_answers_like_get_without_a_body(user: Client, room: str) -> None:
    got = user.get(f"/v1/rooms.show?room_id={room}")

    head = user.request("HEAD", f"/v1/rooms.show?room_id={room}")

    assert (head.status, head.headers["content-length"], head.body) == (200, str(len(got.body)), b"")
