"""Group commit: writes that share a transaction succeed and fail each for itself, on both engines."""

from __future__ import annotations

import threading
from collections.abc import Generator
from concurrent.futures import Future

import pytest

from tallystick.hub import registry
from tallystick.hub.engine import CallResponse
from tallystick.hub.hub import Hub
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.kernel.errors import TallyError
from tallystick.ledger.errors import RoomClosed
from tallystick.ledger.tx import Tx
from tallystick.storage.port import Store
from tests.steps import written

ME = Caller(agent_id="svc:writer", session=SessionKind.NAMED)
ANN = Caller(agent_id="ann", session=SessionKind.NAMED)


class Group:
    """A hub whose committing thread is held up, so that everything submitted meanwhile becomes one group."""

    def __init__(self, store: Store) -> None:
        store.migrate(registry.schema())
        self.hub = Hub(store, grouped=True)
        assert self.hub.committer
        self.writer = self.hub.committer
        self.sizes: list[int] = []
        self.writer.on_commit = self.sizes.append
        self._free, self._held = threading.Event(), threading.Event()

    def hold(self) -> None:
        def wait(_: Tx) -> None:
            self._held.set()
            self._free.wait()

        self.writer.submit(wait, None)
        self._held.wait()

    def let_go(self) -> None:
        self._free.set()

    def room(self) -> str:
        created = self.hub.call("rooms.create", {"title": "a room"}, ME)
        return str(created.to_data()["room_id"])

    def append(self, room: str, kind: str = "x.test.event", key: str | None = None) -> Future[object]:
        return self.writer.submit(written("events.append", ME, key, room_id=room, kind=kind, data={}), room)

    def seqs(self, room: str) -> list[int]:
        listed = self.hub.call("events.list", {"room_id": room}, ME).to_data()
        return [event["seq"] for event in listed["events"]]


@pytest.fixture
def group(store: Store) -> Generator[Group]:
    group = Group(store)
    yield group
    group.let_go()
    group.writer.close()


def outcome(done: Future[object]) -> object:
    failed = done.exception(30)
    if isinstance(failed, TallyError):
        return failed.code
    assert failed is None, failed
    response = done.result()
    assert isinstance(response, CallResponse)
    return response.answer.to_data()["event"]["seq"]


def test_writes_that_wait_are_committed_together(group: Group) -> None:
    room = group.room()
    group.hold()
    pending = [group.append(room) for _ in range(20)]

    group.let_go()

    assert [outcome(each) for each in pending] == list(range(2, 22))
    assert group.sizes[-1] == 20
    assert group.seqs(room) == list(range(1, 22))


def test_a_refusal_rolls_back_alone(group: Group) -> None:
    room = group.room()
    group.hold()
    pending = [
        group.append(room),
        group.append(room, kind="chat.message"),
        group.append("nowhere"),
        group.append(room),
    ]

    group.let_go()

    assert [outcome(each) for each in pending] == [2, "reserved_kind", "room_not_found", 3]
    assert group.seqs(room) == [1, 2, 3]


def test_a_write_that_was_half_done_when_it_was_refused_leaves_nothing(group: Group) -> None:
    room = group.room()
    caller = Caller(agent_id="joiner", session=SessionKind.NAMED)

    def join_and_fail(tx: Tx) -> None:
        written("rooms.join", caller, room_id=room)(tx)
        written("events.append", caller, room_id=room, kind="bad.kind", data={})(tx)

    group.hold()
    failed = group.writer.submit(join_and_fail, room)
    good = group.append(room)

    group.let_go()

    assert isinstance(failed.exception(30), TallyError)
    assert outcome(good) == 2
    members = group.hub.call("rooms.show", {"room_id": room}, ME).to_data()["members"]
    assert (members, group.seqs(room)) == ([], [1, 2])


def test_what_stands_around_a_write_that_failed_late_is_committed_together_and_in_order(group: Group) -> None:
    room = group.room()

    def append_and_fail(tx: Tx) -> None:
        written("events.append", ME, room_id=room, kind="x.test.lost", data={})(tx)
        raise RoomClosed(room_id=room)

    group.hold()
    before = [group.append(room), group.append(room)]
    failed = group.writer.submit(append_and_fail, room)
    after = [group.append(room), group.append(room)]

    group.let_go()

    assert isinstance(failed.exception(30), RoomClosed)
    assert [outcome(each) for each in [*before, *after]] == [2, 3, 4, 5]
    assert group.sizes[-2:] == [2, 2]


def test_a_room_that_is_closed_in_a_group_is_closed_for_the_rest_of_it(group: Group) -> None:
    room = group.room()
    group.hub.call("rooms.join", {"room_id": room}, ANN)
    group.hold()
    closed = group.writer.submit(written("rooms.close", ANN, room_id=room), room)
    late = group.append(room)

    group.let_go()

    assert closed.exception(30) is None
    assert outcome(late) == "room_closed"


def test_a_bug_in_one_write_reaches_its_caller_and_nobody_else(group: Group) -> None:
    room = group.room()

    def broken(_: Tx) -> None:
        raise ZeroDivisionError

    group.hold()
    before, failed, after = group.append(room), group.writer.submit(broken, room), group.append(room)

    group.let_go()

    assert isinstance(failed.exception(30), ZeroDivisionError)
    assert [outcome(before), outcome(after)] == [2, 3]


def test_the_same_key_twice_in_one_group_is_done_once(group: Group) -> None:
    room = group.room()
    group.hold()
    pending = [group.append(room, key="k") for _ in range(3)]

    group.let_go()

    assert [outcome(each) for each in pending] == [2, 2, 2]
    assert group.seqs(room) == [1, 2]


def test_rooms_in_one_group_do_not_mix(group: Group) -> None:
    rooms = [group.room() for _ in range(3)]
    group.hold()
    pending = [group.append(room) for _ in range(4) for room in rooms]

    group.let_go()

    assert [outcome(each) for each in pending] == [2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5]
    assert [group.seqs(room) for room in rooms] == [[1, 2, 3, 4, 5]] * 3


def test_an_answer_is_given_only_after_the_commit(group: Group) -> None:
    room = group.room()
    group.hold()
    pending = group.append(room)

    before = group.seqs(room)
    group.let_go()

    assert (before, outcome(pending), group.seqs(room)) == ([1], 2, [1, 2])
