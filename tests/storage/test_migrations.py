"""Bringing a store up to this program's schema, and refusing one that is not ours to change."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tallystick.storage import sql_files
from tallystick.storage.errors import BadStatement, StoreDamaged, StoreTooNew
from tallystick.storage.port import Store
from tallystick.storage.sql_files import Migration
from tallystick.storage.sqlite import SqliteStore
from tests.places import Place
from tests.storage.items import ADD_WHOLE, ITEMS, SCHEMA, Item, query

APPLIED = query("SELECT id, position AS count FROM migrations ORDER BY position")


def applied(store: Store) -> list[str]:
    with store.read() as rows:
        return [each.id for each in rows.all(APPLIED, Item)]


def extra(id: str, sql: str) -> Migration:
    return Migration(id=id, sql=sql)


def test_migrations_are_applied_in_order_and_only_once(store: Store) -> None:
    store.migrate(SCHEMA)
    store.migrate(SCHEMA)

    with store.write() as rows:
        rows.run(ADD_WHOLE, id="a", count=1, weight=None, body=None, label="x")
    assert applied(store) == ["items/0001_items", "items/0002_label"]


def test_a_later_program_adds_what_is_missing_wherever_it_stands(store: Store) -> None:
    store.migrate(SCHEMA)

    store.migrate([extra("early/0001", "CREATE TABLE early (id TEXT)"), *SCHEMA])

    assert applied(store) == ["items/0001_items", "items/0002_label", "early/0001"]


def test_a_store_that_a_newer_program_migrated_is_refused(store: Store) -> None:
    store.migrate([*SCHEMA, extra("items/0003_future", "CREATE TABLE future (id TEXT)")])

    with pytest.raises(StoreTooNew, match="items/0003_future"):
        store.migrate(SCHEMA)


def test_a_migration_that_changed_after_it_was_applied_is_refused(store: Store) -> None:
    store.migrate(SCHEMA)

    with pytest.raises(StoreDamaged, match="items/0002_label"):
        store.migrate([SCHEMA[0], extra("items/0002_label", "ALTER TABLE items ADD COLUMN label TEXT")])


def test_a_migration_that_fails_leaves_the_store_as_it_was(store: Store) -> None:
    store.migrate(SCHEMA)

    with pytest.raises(BadStatement):
        store.migrate([*SCHEMA, extra("items/0003", "CREATE TABLE good (id TEXT); CREATE TABLE good (id TEXT)")])

    store.migrate(SCHEMA)
    with pytest.raises(BadStatement), store.read() as rows:
        rows.all(query("SELECT id, 1 AS count FROM good"), Item)
    assert applied(store) == ["items/0001_items", "items/0002_label"]


@pytest.mark.parametrize("change", ["DROP TABLE items", "ALTER TABLE items RENAME count TO counted"])
def test_a_schema_that_another_hand_has_changed_is_told_as_damage(tmp_path: Path, change: str) -> None:
    store = SqliteStore(tmp_path / "tally.sqlite")
    store.migrate(SCHEMA)
    with store.write() as rows:
        rows.script(change)

    with pytest.raises(StoreDamaged, match="schema is not what was made"), store.read() as rows:
        rows.all(ITEMS, Item)

    store.close()


def test_processes_that_migrate_at_once_do_not_disturb_each_other(place: Place) -> None:
    program = (
        "import sys; from pathlib import Path; from tallystick.storage.port import open_store;"
        "from tests.storage.items import SCHEMA;"
        "store = open_store(sys.argv[1] or None, Path(sys.argv[2])); print('ready', flush=True); input();"
        "store.migrate(SCHEMA)"
    )
    command = [sys.executable, "-c", program, place.database_url or "", str(place.data_dir)]
    pipe = subprocess.PIPE
    racers = [subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) for _ in range(4)]
    for racer in racers:
        assert racer.stdout
        assert racer.stdout.readline() == "ready\n"

    for racer in racers:
        assert racer.stdin
        racer.stdin.write("go\n")
        racer.stdin.flush()
    ended = [(racer.communicate()[1], racer.returncode) for racer in racers]

    store = place.open()
    assert ended == [("", 0)] * 4
    assert applied(store) == ["items/0001_items", "items/0002_label"]
    store.close()


def test_the_migrations_of_a_package_are_its_numbered_files_in_order(orchard: Path) -> None:
    schema = orchard / "schema"
    schema.mkdir()
    (schema / "0002_pears.sqlite.sql").write_text("CREATE VIRTUAL TABLE pears")
    (schema / "0002_pears.postgres.sql").write_text("CREATE TABLE pears")
    (schema / "0001_apples.sql").write_text("CREATE TABLE apples")
    (schema / "notes.txt").write_text("not a migration")

    assert sql_files.load_migrations("orchard") == [
        Migration(id="orchard/0001_apples", sql="CREATE TABLE apples"),
        Migration(id="orchard/0002_pears", sql="CREATE VIRTUAL TABLE pears", postgres_sql="CREATE TABLE pears"),
    ]


def test_a_migration_is_translated_for_postgres_outside_of_strings_and_comments() -> None:
    migration = extra(
        "x/1",
        "CREATE TABLE t (a TEXT NOT NULL DEFAULT 'plain TEXT', b BLOB); -- TEXT\n"
        "CREATE INDEX i ON t (CAST(b AS TEXT), context)",
    )

    assert migration.postgres == (
        "CREATE TABLE t (a TEXT COLLATE \"C\" NOT NULL DEFAULT 'plain TEXT', b BYTEA); -- TEXT\n"
        "CREATE INDEX i ON t (CAST(b AS TEXT), context)"
    )


@pytest.mark.postgres
def test_on_postgres_our_tables_live_in_their_own_schema_and_sort_by_bytes(postgres_url: str) -> None:
    from tallystick.storage.postgres import PostgresStore

    store = PostgresStore(postgres_url)
    store.migrate(SCHEMA)
    store.close()

    with psycopg.connect(postgres_url) as outside:
        found = outside.execute(
            "SELECT table_name, column_name, collation_name FROM information_schema.columns "
            "WHERE table_schema = 'tallystick' AND data_type = 'text' ORDER BY 1, 2"
        ).fetchall()
    assert found == [
        ("items", "id", "C"),
        ("items", "label", "C"),
        ("migrations", "checksum", "C"),
        ("migrations", "id", "C"),
        ("parts", "item_id", "C"),
        ("parts", "name", "C"),
    ]


def test_text_sorts_by_bytes_on_both_engines(store: Store) -> None:
    store.migrate(SCHEMA)
    with store.write() as rows:
        for id in ("é", "a", "Z", "_", "B", "z"):
            rows.run(ADD_WHOLE, id=id, count=1, weight=None, body=None, label="")

    with store.read() as rows:
        assert [item.id for item in rows.all(ITEMS, Item)] == ["B", "Z", "_", "a", "z", "é"]
