"""What an inbox costs: every question is an indexed look-up or range, so a long history makes none of them slower."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tallystick.capabilities.messages.queries import SQL
from tallystick.storage.port import Value
from tallystick.storage.sql_files import Query
from tests.scene import Scene

assert SQL["inbox"]  # reads them all; before that there is none
READS = [name for name, query in SQL.items() if query.sqlite.lstrip().startswith("SELECT") and name != "search"]
VALUES: dict[str, Value] = {
    "room_id": "r",
    "actor_id": "a",
    "recipient": "a",
    "sender": "a",
    "agent_id": "a",
    "client_id": "c",
    "kind": "chat.message",
    "emoji": "e",
    "seq": 1,
    "first": 1,
    "last": 2,
    "cutoff": 1,
    "limit": 10,
}


@dataclass(frozen=True, kw_only=True)
class Step:
    """One line of SQLite's plan."""

    id: int
    parent: int
    notused: int
    detail: str


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)  # the plan is SQLite's; both have the same indexes
@pytest.mark.parametrize("name", READS)
def test_no_question_about_messages_reads_a_whole_table(scene: Scene, name: str) -> None:
    explained = f"EXPLAIN QUERY PLAN {SQL[name].sqlite}"
    used = {key: value for key, value in VALUES.items() if f":{key}" in explained}
    with scene.hub.reading() as tx:
        steps = tx.all(Query(name, explained, explained), Step, **used)
    # What was found by a search may be sorted: it is as much as was asked for, however large the table is.
    assert [step.detail for step in steps if not step.detail.startswith(("SEARCH", "USE TEMP B-TREE"))] == []


def test_the_questions_are_all_there() -> None:
    assert {"inbox", "delivery", "delivered", "delivered_of_kind", "delivered_owed", "overdue", "awaiting"} < set(READS)
