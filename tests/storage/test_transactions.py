"""What every engine promises about reading and writing rows."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tallystick.kernel.errors import TallyError
from tallystick.storage.errors import (
    BadStatement,
    ConstraintBroken,
    DuplicateRow,
    StoreClosed,
    StoreDamaged,
    TransactionFailed,
    TransactionOver,
    UnstorableValue,
    WriteInRead,
)
from tallystick.storage.port import Store, Write
from tests.places import Place
from tests.storage.items import (
    ADD,
    ADD_PART,
    ADD_WHOLE,
    ITEM,
    ITEMS,
    RAISE,
    SCHEMA,
    TAKE,
    TOTAL,
    WHOLE,
    Item,
    Whole,
    query,
)


@pytest.fixture
def items(store: Store) -> Store:
    """A store with the items a=1, b=2, c=3."""
    store.migrate(SCHEMA)
    with store.write() as rows:
        for number, id in enumerate("abc", start=1):
            rows.run(ADD, id=id, count=number)
    return store


class Stop(Exception):
    """What a block raises to be rolled back."""


def add_and_stop(rows: Write, id: str) -> None:
    rows.run(ADD, id=id, count=1)
    raise Stop


def contents(store: Store) -> dict[str, int]:
    with store.read() as rows:
        return {item.id: item.count for item in rows.all(ITEMS, Item)}


def test_a_row_comes_back_through_its_constructor_with_every_kind_of_value(items: Store) -> None:
    with items.write() as rows:
        rows.run(ADD_WHOLE, id="ü ✓ 𝄞", count=2**62, weight=0.5, body=b"\x00\xff", label="it's 100 %")
    with items.read() as rows:
        whole = rows.one(WHOLE, Whole, id="ü ✓ 𝄞")
        empty = rows.one(WHOLE, Whole, id="a")

    assert whole == Whole(id="ü ✓ 𝄞", count=2**62, weight=0.5, body=b"\x00\xff", label="it's 100 %")
    assert empty == Whole(id="a", count=1, weight=None, body=None, label="")


def test_one_gives_the_first_row_or_none(items: Store) -> None:
    with items.read() as rows:
        assert rows.one(ITEMS, Item) == Item(id="a", count=1)
        assert rows.one(ITEM, Item, id="zebra") is None


def test_all_gives_every_row_in_order(items: Store) -> None:
    with items.read() as rows:
        assert rows.all(ITEMS, Item) == [Item(id="a", count=1), Item(id="b", count=2), Item(id="c", count=3)]
        assert rows.all(ITEM, Item, id="zebra") == []


def test_a_stream_leaves_room_for_other_statements_between_its_rows(items: Store) -> None:
    with items.write() as rows:
        seen: list[str] = []
        for item in rows.stream(ITEMS, Item):
            seen.append(item.id)
            rows.run(ADD_PART, item_id=item.id, name="wheel")
            assert rows.one(ITEM, Item, id=item.id) == item

    assert seen == ["a", "b", "c"]


def test_a_stream_of_many_rows_gives_each_once(items: Store) -> None:
    with items.write() as rows:
        for number in range(1500):
            rows.run(ADD, id=f"x{number:04}", count=number)
    with items.read() as rows:
        assert [item.count for item in rows.stream(ITEMS, Item)] == [1, 2, 3, *range(1500)]


def test_a_change_can_return_its_row(items: Store) -> None:
    with items.write() as rows:
        assert rows.one(TAKE, Item, id="b") == Item(id="b", count=3)
        assert rows.one(TAKE, Item, id="zebra") is None

    assert contents(items) == {"a": 1, "b": 3, "c": 3}


def test_a_sum_of_whole_numbers_is_a_whole_number(items: Store) -> None:
    with items.read() as rows:
        total = rows.one(TOTAL, Item)

    assert repr(total) == "Item(id=3, count=6)"


def test_truth_is_one_or_zero_on_both_engines(items: Store) -> None:
    with items.write() as rows:
        rows.run(ADD, id="yes", count=True)

    assert contents(items)["yes"] == 1


def test_a_block_that_raises_changes_nothing(items: Store) -> None:
    with pytest.raises(Stop), items.write() as rows:
        add_and_stop(rows, "d")

    assert contents(items) == {"a": 1, "b": 2, "c": 3}


def test_a_reader_keeps_the_view_it_began_with(items: Store) -> None:
    with items.read() as reader:
        before = reader.all(ITEMS, Item)
        with items.write() as writer:
            writer.run(RAISE, by=1)
        after = reader.all(ITEMS, Item)

    assert after == before
    assert contents(items) == {"a": 2, "b": 3, "c": 4}


def test_what_is_not_committed_is_not_seen_by_others(items: Store) -> None:
    with items.write() as rows:
        rows.run(RAISE, by=1)
        assert contents(items) == {"a": 1, "b": 2, "c": 3}


def test_after_a_failed_statement_a_transaction_only_rolls_back(items: Store) -> None:
    def swallow(rows: Write) -> None:
        rows.run(ADD, id="d", count=1)
        with pytest.raises(DuplicateRow):
            read_after_adding(rows)
        with pytest.raises(TransactionFailed):
            rows.one(ITEM, Item, id="a")

    def read_after_adding(rows: Write) -> None:
        rows.run(ADD, id="a", count=1)
        rows.one(ITEM, Item, id="a")

    with pytest.raises(TransactionFailed) as failed, items.write() as rows:
        swallow(rows)

    assert isinstance(failed.value.__cause__, DuplicateRow)
    assert contents(items) == {"a": 1, "b": 2, "c": 3}


def test_a_failed_statement_without_a_read_after_it_fails_the_commit(items: Store) -> None:
    with pytest.raises(DuplicateRow), items.write() as rows:
        rows.run(ADD, id="a", count=1)

    assert contents(items) == {"a": 1, "b": 2, "c": 3}


def test_a_transaction_of_many_statements_commits_all_of_them(items: Store) -> None:
    with items.write() as rows:
        for number in range(1000):
            rows.run(ADD, id=f"x{number}", count=number)

    assert len(contents(items)) == 1003


@pytest.mark.parametrize(
    ("expected", "sql", "values"),
    [
        pytest.param(DuplicateRow, "INSERT INTO items (id, count) VALUES ('a', 1)", {}, id="primary key"),
        pytest.param(ConstraintBroken, "INSERT INTO items (id, count) VALUES ('x', -1)", {}, id="check"),
        pytest.param(ConstraintBroken, "INSERT INTO items (id, count) VALUES ('x', NULL)", {}, id="not null"),
        pytest.param(ConstraintBroken, "INSERT INTO parts (item_id, name) VALUES ('x', 'y')", {}, id="foreign key"),
        pytest.param(BadStatement, "INSERT INTO nowhere (id) VALUES (1)", {}, id="no such table"),
        pytest.param(BadStatement, "INSERT INTO items", {}, id="syntax"),
        pytest.param(BadStatement, "UPDATE items SET count = :count", {}, id="parameter missing"),
        pytest.param(UnstorableValue, "UPDATE items SET label = :label", {"label": "\ud800"}, id="half a character"),
        pytest.param(UnstorableValue, "UPDATE items SET count = :count", {"count": 2**70}, id="beyond 64 bits"),
    ],
)
def test_no_error_of_a_driver_leaves_the_store(
    items: Store, expected: type[TallyError], sql: str, values: dict[str, str | int]
) -> None:
    with pytest.raises(TallyError) as refused, items.write() as rows:
        rows.run(query(sql), **values)

    assert type(refused.value) is expected
    assert refused.value.advice
    assert contents(items) == {"a": 1, "b": 2, "c": 3}


def test_a_read_cannot_change_rows(items: Store) -> None:
    with pytest.raises(WriteInRead), items.read() as rows:
        rows.one(TAKE, Item, id="a")

    assert contents(items) == {"a": 1, "b": 2, "c": 3}


def test_a_transaction_cannot_be_used_after_its_end(items: Store) -> None:
    with items.write() as rows:
        stream = rows.stream(ITEMS, Item)
        assert next(stream) == Item(id="a", count=1)

    with pytest.raises(TransactionOver):
        rows.run(RAISE, by=1)
    with pytest.raises(TransactionOver):
        rows.all(ITEMS, Item)
    with pytest.raises(TransactionOver):
        next(stream)
    with pytest.raises(TransactionOver):
        rows.stream(ITEMS, Item)


def test_an_error_in_a_constructor_reaches_the_caller_as_it_is(items: Store) -> None:
    def into(**columns: object) -> Item:
        raise KeyError(*columns)

    with items.read() as rows:
        with pytest.raises(KeyError):
            rows.one(ITEMS, into)
        with pytest.raises(KeyError):
            next(rows.stream(ITEMS, into))


def test_a_row_that_holds_what_we_never_write_is_told_as_damage(items: Store) -> None:
    def into(count: int, **_: object) -> int:
        if count == 2:
            raise ValueError(f"{count} is not a count")
        return count

    with items.read() as rows:
        stream = rows.stream(ITEMS, into)
        assert next(stream) == 1
        with pytest.raises(StoreDamaged, match="2 is not a count"):
            next(stream)
        with pytest.raises(StoreDamaged, match="2 is not a count"):
            rows.all(ITEMS, into)
        with pytest.raises(StoreDamaged, match="unexpected keyword argument"):
            rows.one(ITEM, lambda: None, id="a")


def test_a_stream_left_unfinished_does_not_keep_its_view_open(items: Store) -> None:
    def first() -> Generator[Item]:
        with items.read() as rows:
            yield from rows.stream(ITEMS, Item)

    assert next(first()) == Item(id="a", count=1)
    with items.write() as rows:
        rows.run(RAISE, by=1)

    assert contents(items) == {"a": 2, "b": 3, "c": 4}


def test_a_closed_store_refuses(items: Store) -> None:
    items.close()

    with pytest.raises(StoreClosed), items.read():
        pass
    with pytest.raises(StoreClosed), items.write():
        pass
    items.close()


def test_a_store_opened_again_holds_what_was_committed(items: Store, place: Place) -> None:
    items.close()

    again = place.open()
    assert contents(again) == {"a": 1, "b": 2, "c": 3}
    again.close()


def test_a_question_is_answered_however_many_statements_stand_before_it(items: Store) -> None:
    """Of a server's many answers the one that was asked for must not get lost among those that nobody asked for."""
    asked, told = list[int | None](), list[int | None]()
    for before in range(90, 110):
        with items.write() as rows:
            for _ in range(before):
                rows.run(TAKE, id="a")
            found = rows.one(ITEM, Item, id="b")
            asked.append(found and found.count)
            for _ in range(before):
                rows.run(TAKE, id="a")
            told.extend(item.count for item in rows.stream(ITEMS, Item) if item.id == "b")

    assert (asked, told) == ([2] * 20, [2] * 20)
    assert contents(items)["a"] == 1 + 2 * sum(range(90, 110))
