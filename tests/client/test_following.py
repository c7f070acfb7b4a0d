"""Following a room: every event once and in order, through any cut of the stream and through restarts of the hub."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice, pairwise
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallystick
from tallystick.client.calls import HttpReply, Lost
from tallystick.client.client import Following
from tallystick.client.connection import HubNotRunning
from tallystick.kernel.errors import TooSlow
from tallystick.surfaces.http.sse import ending
from tests.scene import refused
from tests.surfaces.hubs import RunningHub, hub


def frame(seq: int) -> bytes:
    return b"id: %d\nevent: x.a\ndata: %b\n\n" % (seq, json.dumps({"seq": seq}).encode())


def seqs(following: Following, *chunks: bytes) -> list[object]:
    return [event["seq"] for chunk in chunks for event in following.feed(chunk)]


def following(since: int = 0) -> Following:
    return Following("R", since, (), 1.0, met=True)


@given(st.lists(st.integers(1, 60), max_size=6))
def test_however_the_stream_is_cut_the_events_are_whole(cuts: list[int]) -> None:
    text = b": hello\n\n" + frame(1) + b"retry: 1000\n\n" + frame(2) + frame(3)
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[start:end] for start, end in pairwise(edges)]

    assert seqs(following(), *pieces) == [1, 2, 3]


def test_an_event_that_was_handed_out_is_not_handed_out_again() -> None:
    room = following(1)

    assert seqs(room, frame(1), frame(2), frame(2), frame(3)) == [2, 3]
    assert room.request.headers == {"last-event-id": "3"}


def test_half_an_event_of_a_lost_connection_is_forgotten() -> None:
    room = following()
    seqs(room, frame(1) + frame(2)[:10])
    room.ended(Lost())
    room.opened()

    assert seqs(room, frame(2)) == [2]


def test_a_stream_that_says_goodbye_or_was_too_slow_is_taken_up_again() -> None:
    room = following()

    assert seqs(room, ending("bye", 0), ending("too_slow", 0)) == []
    assert room.ended(None).seconds > 0


def test_a_refusal_that_no_other_connection_would_mend_is_raised() -> None:
    body = json.dumps({"error": {"code": "room_not_found", "message": "no"}}).encode()

    with refused("room_not_found"):
        following().ended(HttpReply(status=404, body=body))


def test_patience_has_an_end() -> None:
    room = following()

    pauses = [room.ended(Lost()).seconds for _ in range(5)]
    with pytest.raises(HubNotRunning):
        room.ended(Lost())

    assert pauses == pytest.approx([0.05, 0.1, 0.2, 0.4, 0.25])


def test_a_stream_cut_off_for_slowness_is_retryable() -> None:
    assert TooSlow.retryable


def test_a_follower_misses_and_repeats_nothing_through_a_restart(data_dir: Path, running: RunningHub) -> None:
    with tallystick.Client(data_dir=data_dir, agent="ada") as client:
        room_id = str(client.rooms.create(title="a room")["room_id"])
        client.rooms.join(room_id=room_id)
        events = client.follow(room_id, kinds=["x.acme.n"])
        for number in range(3):
            client.events.append(room_id=room_id, kind="x.acme.n", data={"n": number})
        seen = [_number(event) for event in islice(events, 2)]
        running.stop()
        with hub(running.env):
            for number in range(3, 6):
                client.events.append(room_id=room_id, kind="x.acme.n", data={"n": number})
            seen += [_number(event) for event in islice(events, 4)]
            events.close()

    assert seen == [0, 1, 2, 3, 4, 5]


def _number(event: Mapping[str, object]) -> object:
    return cast("Mapping[str, object]", event["data"])["n"]
