"""Reading a room's events from any cursor: nothing lost, nothing twice, in the order they were committed."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.scene import Actor, Row, Scene, refused


def append(actor: Actor, kind: str = "x.acme.tick", **data: object) -> Row:
    return cast("Row", actor.here("events.append", kind=kind, data=data)["event"])


def seqs(events: list[Row]) -> list[int]:
    return [event["seq"] for event in events]


def test_an_event_has_the_standard_envelope(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    scene.clock.forward(ms=7)
    event = append(ada, result="green")
    assert event == {
        "v": 1,
        "id": event["id"],
        "ts": "2026-09-21T14:13:20.007Z",
        "seq": 4,
        "kind": "x.acme.tick",
        "group_id": ada.room_id,
        "scope_key": ada.events(kinds=["actor.add"])[0]["scope_key"],
        "by": "ada",
        "data": {"result": "green"},
    }
    assert ada.events(since_seq=3) == [event]


def test_seq_is_dense_and_two_rooms_count_separately(scene: Scene) -> None:
    ada, bob = scene.agent("ada"), scene.agent("bob")
    ada.join()
    bob.join(scene.folder("nested"), force_new=True)
    for _ in range(3):
        append(ada)
        append(bob)
    assert seqs(ada.events()) == seqs(bob.events()) == [1, 2, 3, 4, 5, 6]
    assert {event["group_id"] for event in bob.events()} == {bob.room_id}


def test_events_are_read_in_the_order_they_were_committed(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    for number in range(5):
        scene.clock.forward(minutes=-1)
        append(ada, number=number)
    events = ada.events(kinds=["x.acme.tick"])
    assert [event["data"]["number"] for event in events] == [0, 1, 2, 3, 4]
    assert len({event["ts"] for event in events}) == 1


def test_a_seq_is_a_cursor(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    append(ada)
    assert seqs(ada.events(since_seq=0)) == [1, 2, 3, 4]
    assert seqs(ada.events(since_seq=2)) == [3, 4]
    assert seqs(ada.events(since_seq=4)) == []


def test_an_event_id_is_a_cursor(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    first, second = append(ada), append(ada)
    assert ada.events(since_event_id=first["id"]) == [second]


def test_another_rooms_event_is_no_cursor_here(scene: Scene) -> None:
    ada, bob = scene.agent("ada"), scene.agent("bob")
    ada.join()
    bob.join(scene.folder("nested"), force_new=True)
    foreign = append(bob)["id"]
    for event_id in (foreign, "no-such-event"):
        with refused("event_not_found") as caught:
            ada.events(since_event_id=event_id)
        assert caught.value.details == {"room_id": ada.room_id, "event_id": event_id}


def test_a_time_is_a_cursor_and_of_equal_times_all_count_as_seen(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    first, twin = append(ada), append(ada)
    scene.clock.forward(ms=1)
    younger = append(ada)
    assert first["ts"] == twin["ts"]
    assert ada.events(since_ts=first["ts"]) == [younger]
    assert seqs(ada.events(since_ts="2026-09-21T14:13:19.999Z")) == [1, 2, 3, 4, 5, 6]
    assert ada.events(since_ts="2026-09-21T14:13:20.001Z") == []
    assert ada.events(since_ts="2026-09-21T16:13:20.000+02:00") == [younger]


@pytest.mark.parametrize("cursor", [{"since_seq": 99}, {"since_ts": "2999-01-01T00:00:00Z"}])
def test_beyond_the_end_there_is_nothing_yet(scene: Scene, cursor: dict[str, object]) -> None:
    (ada,) = scene.joined("ada")
    page = ada.here("events.list", **cursor)
    assert (page["events"], page["head"]) == ([], 3)
    assert page["cursor"] == cursor.get("since_seq", 3)


@pytest.mark.parametrize(
    "given",
    [
        {"since_seq": 0, "since_ts": "2026-09-21T14:13:20.000Z"},
        {"since_seq": 1, "since_event_id": "some-event"},
        {"since_event_id": "some-event", "since_ts": "2026-09-21T14:13:20.000Z"},
    ],
)
def test_two_cursors_at_once_are_refused(scene: Scene, given: dict[str, object]) -> None:
    (ada,) = scene.joined("ada")
    for operation in ("events.list", "events.follow"):
        with scene.refused("ambiguous_cursor"):
            ada.here(operation, **given)


@pytest.mark.parametrize("given", [{"since_seq": -1}, {"since_seq": 2**63}, {"since_ts": "soon"}, {"limit": 0}])
def test_a_cursor_that_makes_no_sense_is_refused(scene: Scene, given: dict[str, object]) -> None:
    (ada,) = scene.joined("ada")
    with scene.refused("invalid_input"):
        ada.events(**given)


def test_a_kind_filter_merges_in_order(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    for kind in ("x.acme.b", "x.acme.a", "x.acme.c", "x.acme.a", "x.acme.b"):
        append(ada, kind)
    found = ada.events(kinds=["x.acme.b", "x.acme.a", "x.acme.b", "x.acme.none"])
    assert [(event["seq"], event["kind"]) for event in found] == [
        (4, "x.acme.b"),
        (5, "x.acme.a"),
        (7, "x.acme.a"),
        (8, "x.acme.b"),
    ]


def test_a_filtered_page_that_is_not_full_has_seen_everything_up_to_the_head(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    append(ada, "x.acme.a")
    append(ada, "x.acme.b")
    page = ada.here("events.list", kinds=["x.acme.a"])
    assert (page["cursor"], page["head"]) == (5, 5)


def test_the_newest_are_the_last_ones_oldest_first(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    for number in range(6):
        append(ada, f"x.acme.{'even' if number % 2 == 0 else 'odd'}", number=number)
    assert seqs(ada.events(newest=True, limit=3)) == [7, 8, 9]
    assert seqs(ada.events(newest=True, limit=2, kinds=["x.acme.even"])) == [6, 8]
    assert seqs(ada.events(newest=True, limit=5, since_seq=8)) == [9]
    assert seqs(ada.events(newest=True, limit=100)) == list(range(1, 10))


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    kinds=st.lists(st.sampled_from("abc"), min_size=1, max_size=12),
    wanted=st.sets(st.sampled_from("abc")),
    limit=st.integers(1, 5),
)
def test_paging_loses_nothing_and_repeats_nothing(scene: Scene, kinds: list[str], wanted: set[str], limit: int) -> None:
    ada = scene.agent("ada")
    ada.room_id = cast("str", ada.call("rooms.create", title="paged")["room_id"])
    ada.here("rooms.join")
    appended = [append(ada, f"x.acme.{kind}") for kind in kinds]
    filter_ = [f"x.acme.{kind}" for kind in sorted(wanted)]
    pages: list[Row] = []
    cursor: object = 2
    while page := ada.here("events.list", since_seq=cursor, limit=limit, kinds=filter_):
        pages += cast("list[Row]", page["events"])
        cursor = page["cursor"]
        if cursor == page["head"]:
            break
    assert pages == [event for event in appended if not wanted or event["kind"][-1] in wanted]


def test_a_room_that_is_not_there_has_no_events(scene: Scene) -> None:
    ada = scene.agent("ada")
    for operation in ("events.list", "events.follow", "events.verify"):
        with scene.refused("room_not_found"):
            ada.call(operation, room_id="no-such-room")


def test_with_before_seq_the_newest_page_back_without_gap_or_duplicate(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    for number in range(7):
        append(ada, kind="x.acme.odd" if number % 2 else "x.acme.even")
    pages: list[list[int]] = []
    end = 1000
    while page := ada.events(newest=True, limit=4, before_seq=end):
        pages.append(seqs(page))
        end = page[0]["seq"]
    assert pages == [[7, 8, 9, 10], [3, 4, 5, 6], [1, 2]]
    assert seqs(ada.events(newest=True, limit=2, before_seq=9, kinds=["x.acme.odd"])) == [5, 7]


def test_before_seq_bounds_a_forward_page_and_its_cursor(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    for _ in range(3):
        append(ada)
    page = ada.here("events.list", since_seq=3, before_seq=6)
    assert (seqs(cast("list[Row]", page["events"])), page["cursor"], page["head"]) == ([4, 5], 5, 6)


def test_heads_say_where_each_ledger_ends_the_last_moved_first(scene: Scene) -> None:
    ada, bob = scene.agent("ada"), scene.agent("bob")
    ada.join()
    scene.clock.forward(ms=1)
    bob.join(scene.folder("nested"), force_new=True)
    bob.here("rooms.close")
    scene.clock.forward(ms=1)
    append(ada)
    assert ada.call("events.heads")["heads"] == [
        {"room_id": ada.room_id, "seq": 4, "ts": "2026-09-21T14:13:20.002Z", "closed": False},
        {"room_id": bob.room_id, "seq": 4, "ts": "2026-09-21T14:13:20.001Z", "closed": True},
    ]
    assert len(cast("list[Row]", ada.call("events.heads", limit=1)["heads"])) == 1


def test_heads_of_no_room_and_of_a_wrong_number_of_them(scene: Scene) -> None:
    ada = scene.agent("ada")
    assert ada.call("events.heads") == {"heads": []}
    with refused("invalid_input"):
        ada.call("events.heads", limit=0)
