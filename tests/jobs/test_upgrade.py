"""A store from before jobs counted who comes after them."""

from __future__ import annotations

from pathlib import Path

from tallystick.capabilities.jobs.queries import SQL
from tallystick.hub import registry
from tallystick.storage.sql_files import Query
from tallystick.storage.sqlite import SqliteStore

NEWER = "jobs/0002_followers"
WORDS = ("title", "kind", "executor", "profile", "created_by")
NUMBERS = (
    *("revision", "priority", "place", "active", "ready", "blocked", "created_seq", "created_at", "updated_at"),
    *("last_seq", "shown_seq", "said_seq", "said_at", "question_seq", "manager_seq", "error_seq", "checkpoint_seq"),
    *("gate_seq", "proof_seq"),
)
_FIXED = {"room_id": "'R'", "status": "'DONE'", "meta": "'{}'", "refs": "'[]'"}
OLD = _FIXED | dict.fromkeys(WORDS, "'x'") | dict.fromkeys(NUMBERS, "0")


def followers(*, number: int, followers: int) -> tuple[int, int]:
    return number, followers


def test_an_older_store_learns_how_many_jobs_come_after_each(tmp_path: Path) -> None:
    schema = registry.schema()
    store = SqliteStore(tmp_path / "tally.sqlite")
    store.migrate([each for each in schema if each.id != NEWER])
    with store.write() as rows:
        for number in (1, 2, 3):
            row = OLD | {"number": str(number), "job_id": f"'JOB-00{number}'"}
            rows.run(Query("job", f"INSERT INTO jobs ({', '.join(row)}) VALUES ({', '.join(row.values())})", ""))
        for later in (2, 3):
            rows.run(SQL["add_edge"], room_id="R", number=later, after_number=1)

    store.migrate(schema)

    with store.read() as rows:
        query = Query("followers", "SELECT number, followers FROM jobs ORDER BY number", "")
        found = rows.all(query, followers)
    store.close()
    assert found == [(1, 2), (2, 0), (3, 0)]
