"""Event streams: nothing missed, nothing twice, whoever is slow or goes away."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import cast

import pytest

from tallystick.hub.hub import Hub
from tallystick.hub.serving import READERS
from tallystick.hub.settings import Settings
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.kernel.envelope import Draft
from tests.http.running import Client, Frame, Json, RunningHub
from tests.waiting import until


def seqs(frames: list[Frame]) -> list[int | None]:
    return [frame.id for frame in frames]


def waiting_follower(hub: RunningHub, count: int) -> None:
    """Return once so many streams are open."""
    until(lambda: hub.local.get("/v1/status").json["followers"] == count)


def test_a_frame_carries_the_seq_the_kind_and_the_envelope(user: Client, room: str) -> None:
    user.append(room, note="hello")

    (frame,) = user.stream(room, "&since_seq=1").take(1)

    (event,) = cast("list[Json]", user.call("events.list", room_id=room, since_seq=1)["events"])
    assert (frame.id, frame.event, frame.json) == (2, "x.test.event", event)


def test_a_follower_gets_what_happened_and_then_what_happens(user: Client, room: str) -> None:
    for _ in range(3):
        user.append(room)
    stream = user.stream(room)
    past = stream.take(4)

    for _ in range(3):
        user.append(room)

    assert seqs(past) == [1, 2, 3, 4]
    assert seqs(stream.take(3)) == [5, 6, 7]


def test_a_write_that_did_not_go_through_the_hub_reaches_followers_too(hub: RunningHub, room: str) -> None:
    stream = hub.user.stream(room, "&since_seq=1")
    waiting_follower(hub, 1)

    directly = Hub.open(Settings(data_dir=hub.data_dir, database_url=hub.database_url))
    caller = Caller(agent_id="svc:elsewhere", session=SessionKind.NAMED)
    directly.call("events.append", {"room_id": room, "kind": "x.test.event", "data": {}}, caller)
    directly.close()

    assert seqs(stream.take(1)) == [2]


def test_last_event_id_resumes_and_beats_the_cursor_in_the_address(user: Client, room: str) -> None:
    for _ in range(4):
        user.append(room)

    stream = user.stream(room, "&since_seq=1", Last_Event_ID="3")

    assert seqs(stream.take(2)) == [4, 5]


def test_a_stream_starts_after_an_event_or_a_time(user: Client, room: str) -> None:
    user.append(room)
    events = cast("list[Json]", user.call("events.list", room_id=room)["events"])

    after_event = user.stream(room, f"&since_event_id={events[0]['id']}")
    after_time = user.stream(room, "&since_ts=2020-01-01T00:00:00Z")

    assert seqs(after_event.take(1)) == [2]
    assert seqs(after_time.take(2)) == [1, 2]


def test_kinds_filter_the_past_and_the_present(user: Client, room: str) -> None:
    def append(kind: str) -> None:
        user.call("events.append", room_id=room, kind=kind, data={})

    append("x.test.wanted")
    append("x.test.other")
    stream = user.stream(room, "&kinds=x.test.wanted&kinds=x.test.also")
    past = stream.take(1)

    append("x.test.other")
    append("x.test.also")

    assert (seqs(past), seqs(stream.take(1))) == ([2], [5])


def test_events_that_were_not_asked_for_send_nothing(user: Client, room: str) -> None:
    stream = user.stream(room, "&kinds=x.test.wanted")
    for _ in range(20):
        user.append(room)

    user.call("events.append", room_id=room, kind="x.test.wanted", data={})

    assert stream.raw_until(b"event: x.test.wanted") == [b"retry: 1000", b"", b"id: 22"]


def test_a_cursor_beyond_the_end_waits_for_what_comes_after_it(user: Client, room: str) -> None:
    stream = user.stream(room, "&since_seq=3")

    for _ in range(4):
        user.append(room)

    assert seqs(stream.take(2)) == [4, 5]


@pytest.mark.parametrize(
    ("query", "refused"),
    [
        ("room_id=nowhere&follow=true", (404, "room_not_found")),
        ("follow=true", (400, "invalid_input")),
        ("room_id=ROOM&follow=perhaps", (400, "invalid_input")),
        ("room_id=ROOM&follow=true&since_seq=1&since_ts=2026-01-01", (400, "ambiguous_cursor")),
        ("room_id=ROOM&follow=true&since_event_id=none", (404, "event_not_found")),
        ("room_id=ROOM&follow=true&since_ts=yesterday", (400, "invalid_input")),
        ("room_id=ROOM&follow=true&limit=5", (400, "unknown_field")),
    ],
)
def test_a_stream_that_cannot_start_is_refused_like_any_request(
    user: Client, room: str, query: str, refused: tuple[int, str]
) -> None:
    assert user.get(f"/v1/events?{query.replace('ROOM', room)}").refused == refused


def test_head_asks_whether_a_stream_could_start_and_starts_none(user: Client, room: str) -> None:
    reply = user.request("HEAD", f"/v1/events?room_id={room}&follow=true")

    assert (reply.status, reply.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")


def test_a_last_event_id_that_is_none_of_ours_is_refused(user: Client, room: str) -> None:
    reply = user.get(f"/v1/events?room_id={room}&follow=true", Last_Event_ID="abc")

    assert reply.refused == (400, "invalid_input")


def test_followers_see_the_same_order_whatever_writers_do(user: Client, room: str) -> None:
    writers = [threading.Thread(target=lambda: [user.append(room) for _ in range(25)]) for _ in range(8)]
    early = user.stream(room)

    for writer in writers:
        writer.start()
    joining = [user.stream(room) for _ in range(4)]
    for writer in writers:
        writer.join()

    expected = list(range(1, 202))
    assert [seqs(stream.take(201)) for stream in (early, *joining)] == [expected] * 5


def test_reconnecting_again_and_again_misses_nothing_and_repeats_nothing(user: Client, room: str) -> None:
    writer = threading.Thread(target=lambda: [user.append(room) for _ in range(120)])
    writer.start()

    seen: list[int | None] = []
    while len(seen) < 121:
        stream = user.stream(room, Last_Event_ID=str(len(seen)))
        seen += seqs(stream.take(min(10, 121 - len(seen))))
        stream.close()
    writer.join()

    assert seen == list(range(1, 122))


def test_a_reader_that_leaves_is_forgotten(hub: RunningHub, user: Client, room: str) -> None:
    stream = user.stream(room)
    stream.take(1)
    waiting_follower(hub, 1)

    stream.close()

    waiting_follower(hub, 0)


def test_a_reader_that_stops_reading_is_cut_off_and_nobody_else_notices(process_hub: RunningHub) -> None:
    room = process_hub.user.room()
    user = process_hub.user
    slow, healthy = user.stream(room, "&since_seq=1"), user.stream(room, "&since_seq=1")
    waiting_follower(process_hub, 2)

    for number in range(120):
        user.append(room, number=number, padding="x" * 200_000)
        assert seqs(healthy.take(1)) == [2 + number]

    frames = list(slow)
    last = cast("Json", frames[-1].json["error"])
    assert (frames[-1].event, last["code"], last["retryable"]) == ("error", "too_slow", True)
    assert seqs(frames[:-1]) == list(range(2, 2 + len(frames) - 1))
    assert cast("Json", last["details"])["cursor"] == frames[-2].id
    assert len(frames) < 120
    resumed = user.stream(room, Last_Event_ID=str(frames[-2].id))
    assert seqs(resumed.take(121 - cast("int", frames[-2].id))) == list(range(cast("int", frames[-2].id) + 1, 122))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_follower_that_was_away_for_fifty_thousand_events_resumes_without_a_gap(hub: RunningHub, room: str) -> None:
    directly = Hub.open(Settings(data_dir=hub.data_dir, database_url=hub.database_url))
    with directly.writing() as tx:
        tx.lock(room)
        tx.append(room, "user", [Draft(kind="x.test.event", data={"number": number}) for number in range(50_000)])
    directly.close()

    stream = hub.user.stream(room, Last_Event_ID="1")

    assert seqs(stream.take(50_000)) == list(range(2, 50_002))
    stream.close()


def test_text_cannot_break_out_of_a_frame(user: Client, room: str) -> None:
    text = "a\n\nevent: forged\ndata: {}\r\rid: 99\u2028"

    user.append(room, text=text)
    (frame,) = user.stream(room, "&since_seq=1").take(1)

    assert (frame.id, frame.event, cast("Json", frame.json["data"])["text"]) == (2, "x.test.event", text)


def test_streams_cost_no_threads(process_hub: RunningHub) -> None:
    user = process_hub.user
    room = user.room()
    for _ in range(20):
        user.stream(room)
    waiting_follower(process_hub, 20)
    before = _threads(process_hub)

    for _ in range(50):
        user.stream(room)
    waiting_follower(process_hub, 70)

    # The few threads that read for everybody start when they are first needed.
    assert _threads(process_hub) < before + READERS


def _threads(hub: RunningHub) -> int:
    return len(list(Path(f"/proc/{hub.process.pid}/task").iterdir()))
