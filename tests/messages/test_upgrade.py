"""A store from before texts were indexed later: what it holds is indexed, and only what comes now is not yet."""

from __future__ import annotations

from pathlib import Path

from tallystick.hub import maintenance, registry
from tallystick.hub.hub import Hub
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.ledger import rebuild
from tallystick.storage.sql_files import Query
from tallystick.storage.sqlite import SqliteStore

ADA = Caller(agent_id="ada", session=SessionKind.NAMED)
AS_BEFORE = (
    "DELETE FROM migrations WHERE id = 'ledger/0005_deferred'; ALTER TABLE heads DROP COLUMN deferred_seq;"
    " PRAGMA user_version = 1"
)


def found(hub: Hub, room_id: str) -> list[int]:
    hits = hub.call("messages.search", {"room_id": room_id, "query": "needle"}, ADA).to_data()["hits"]
    return [hit["seq"] for hit in hits]


def test_an_older_store_is_searched_as_before(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "tally.sqlite")
    store.migrate(registry.schema())
    hub = Hub(store)
    room_id = hub.call("rooms.create", {"title": "old"}, ADA).to_data()["room_id"]
    hub.call("rooms.join", {"room_id": room_id}, ADA)
    hub.call("messages.send", {"room_id": room_id, "text": "needle one"}, ADA)
    with hub.writing() as tx:
        rebuild.catch_up(tx, room_id)
    with store.write() as rows:
        rows.run(Query("as_before", AS_BEFORE, ""))
    store.close()

    store = SqliteStore(tmp_path / "tally.sqlite")
    store.migrate(registry.schema())
    hub = Hub(store)
    before = found(hub, room_id)
    hub.call("messages.send", {"room_id": room_id, "text": "needle two"}, ADA)
    with hub.reading() as tx:
        head = tx.head(room_id)

    assert (before, found(hub, room_id)) == ([3], [4, 3])
    assert head.seq - head.deferred_seq == 1
    assert maintenance.check(hub) == []
    store.close()
