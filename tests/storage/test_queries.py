"""The loader of named queries."""

from __future__ import annotations

from pathlib import Path

import pytest

from tallystick.storage.port import Store
from tallystick.storage.sql_files import Queries
from tests.storage.items import Item, query


def test_a_file_is_split_into_named_blocks(orchard: Path) -> None:
    (orchard / "queries.sql").write_text(
        "-- ripe -- what can be picked\nSELECT id FROM apples\nWHERE ripe = 1;\n\n-- pick --\nDELETE FROM apples\n"
    )

    queries = Queries("orchard")

    assert queries["ripe"].sqlite == "SELECT id FROM apples\nWHERE ripe = 1"
    assert queries["pick"].sqlite == "DELETE FROM apples"
    assert set(queries) == {"ripe", "pick"}


def test_an_override_replaces_single_blocks_for_postgres_only(orchard: Path) -> None:
    (orchard / "queries.sql").write_text("-- one --\nSELECT 1\n-- two --\nSELECT 2\n")
    (orchard / "queries.postgres.sql").write_text("-- two --\nSELECT 2 FOR UPDATE\n")

    queries = Queries("orchard")

    assert (queries["one"].sqlite, queries["one"].numbered) == ("SELECT 1", "SELECT 1")
    assert (queries["two"].sqlite, queries["two"].numbered) == ("SELECT 2", "SELECT 2 FOR UPDATE")


def test_an_override_of_nothing_is_an_error(orchard: Path) -> None:
    (orchard / "queries.sql").write_text("-- one --\nSELECT 1\n")
    (orchard / "queries.postgres.sql").write_text("-- tow --\nSELECT 2\n")

    with pytest.raises(LookupError, match="tow"):
        Queries("orchard")["one"]


def test_a_name_that_is_not_there_is_an_error_even_after_the_first_query(orchard: Path) -> None:
    (orchard / "queries.sql").write_text("-- one --\nSELECT 1\n")
    queries = Queries("orchard")

    assert queries["one"].sqlite == "SELECT 1"
    with pytest.raises(KeyError, match="two"):
        queries["two"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("WHERE a = :a AND b = :b_2", "WHERE a = $1 AND b = $2"),
        ("WHERE a = :a OR b = :b OR c = :a", "WHERE a = $1 OR b = $2 OR c = $1"),
        ("SELECT ':a', 'it''s :b', :c", "SELECT ':a', 'it''s :b', $1"),
        ("SELECT a::text, :b::bigint", "SELECT a::text, $1::bigint"),
        ("SELECT 7 % 4, '50 %', :a", "SELECT 7 % 4, '50 %', $1"),
        ("SELECT 1 -- 100 % of :a\n, :b", "SELECT 1 -- 100 % of :a\n, $1"),
        ('SELECT ":a" AS "50 %", :b', 'SELECT ":a" AS "50 %", $1'),
        ("SELECT 1 /* 100 % of :a */ + :b", "SELECT 1 /* 100 % of :a */ + $1"),
    ],
)
def test_parameters_are_translated_for_postgres(written: str, expected: str) -> None:
    assert query(written).numbered == expected


def test_a_query_means_the_same_on_both_engines(store: Store) -> None:
    with store.read() as rows:
        found = rows.one(query("SELECT ':a 100 %' AS id, 7 % 4 + :a AS count -- 5 % of :b"), Item, a=1)

    assert found == Item(id=":a 100 %", count=4)
