"""A small schema and the queries that the storage tests run on it."""

from __future__ import annotations

from dataclasses import dataclass

from tallystick.storage.sql_files import Migration, Query

SCHEMA = [
    Migration(
        id="items/0001_items",
        sql="""
        CREATE TABLE items (
            id TEXT NOT NULL PRIMARY KEY,
            count BIGINT NOT NULL CHECK (count >= 0),
            weight DOUBLE PRECISION,
            body BLOB
        );
        CREATE TABLE parts (item_id TEXT NOT NULL REFERENCES items (id), name TEXT NOT NULL);
        """,
    ),
    Migration(id="items/0002_label", sql="ALTER TABLE items ADD COLUMN label TEXT NOT NULL DEFAULT ''"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    id: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole(Item):
    weight: float | None
    body: bytes | None
    label: str


def query(text: str, postgres: str | None = None) -> Query:
    return Query("test", text, postgres or text)


ADD = query("INSERT INTO items (id, count) VALUES (:id, :count)")
ADD_WHOLE = query("INSERT INTO items (id, count, weight, body, label) VALUES (:id, :count, :weight, :body, :label)")
ADD_IF_NEW = query("INSERT INTO items (id, count) VALUES (:id, :count) ON CONFLICT (id) DO NOTHING")
ADD_PART = query("INSERT INTO parts (item_id, name) VALUES (:item_id, :name)")
RAISE = query("UPDATE items SET count = count + :by")
TAKE = query("UPDATE items SET count = count + 1 WHERE id = :id RETURNING id, count")
ITEM = query("SELECT id, count FROM items WHERE id = :id")
ITEMS = query("SELECT id, count FROM items ORDER BY id")
WHOLE = query("SELECT id, count, weight, body, label FROM items WHERE id = :id")
TOTAL = query("SELECT count(*) AS id, coalesce(sum(count), 0) AS count FROM items")
