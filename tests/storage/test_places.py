"""Where a SQLite store may lie, what is refused there, and what is created."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from tallystick.kernel.errors import TallyError
from tallystick.storage import sqlite_file
from tallystick.storage.errors import (
    BackupExists,
    DiskFull,
    EngineTooOld,
    NetworkFilesystem,
    NotOurFile,
    StoreDamaged,
    StoreReadOnly,
)
from tallystick.storage.sqlite import SqliteStore
from tallystick.storage.sqlite_file import APPLICATION_ID, Mount
from tests.storage.items import ADD, ITEMS, SCHEMA, Item

MOUNTINFO = r"""
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
23 22 0:21 / /proc rw,nosuid - proc proc rw
30 22 0:30 / /mnt/my\040share rw,relatime - nfs4 server:/export rw,vers=4.2
31 30 0:31 / /mnt/my\040share/local rw - xfs /dev/vdb rw
32 22 0:32 / /home rw - ext4 /dev/vdc rw
33 32 0:33 / /home rw - fuse.sshfs me@far:/ rw
""".strip()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "tally.sqlite"


@pytest.fixture
def filled(path: Path) -> Path:
    """A sound store with many rows in its file, closed."""
    store = SqliteStore(path)
    store.migrate(SCHEMA)
    with store.write() as rows:
        for number in range(2000):
            rows.run(ADD, id=f"item {number:05} {'x' * 50}", count=number)
    store.close()
    return path


@pytest.fixture
def small_disk(tmp_path: Path) -> Generator[Path]:
    """A disk of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", str(folder)]
    mounted = subprocess.run(mount, capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"this user may not mount: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def refusal(store: SqliteStore) -> TallyError:
    with pytest.raises(TallyError) as refused, store.read():
        pass
    assert refused.value.advice
    return refused.value


def test_nothing_is_touched_until_the_store_is_used(path: Path) -> None:
    SqliteStore(path).close()

    assert not path.parent.exists()


def test_only_this_user_can_read_what_is_created(path: Path) -> None:
    store = SqliteStore(path)
    store.migrate(SCHEMA)
    store.watch("room").close()

    modes = {each.name: each.stat().st_mode & 0o777 for each in [path.parent, *path.parent.rglob("*")]}
    assert modes == {
        "data": 0o700,
        "tally.sqlite": 0o600,
        "tally.sqlite-line": 0o600,
        "tally.sqlite-shm": 0o600,
        "tally.sqlite-wal": 0o600,
        "tally.sqlite-writer": 0o600,
        "wake": 0o700,
        "room": 0o600,
    }
    store.close()


@pytest.mark.parametrize(
    "kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "afs", "ceph", "lustre", "fuse.sshfs", "FUSE.S3FS"]
)
def test_a_network_file_system_is_refused_and_nothing_is_created(path: Path, kind: str) -> None:
    table = [Mount(point="/", kind="ext4"), Mount(point=str(path.parents[1]), kind=kind)]

    refused = refusal(SqliteStore(path, mounts=lambda: table))

    assert isinstance(refused, NetworkFilesystem)
    assert kind in refused.message
    assert "TALLYSTICK_DATA_DIR" in refused.advice
    assert "TALLYSTICK_ALLOW_NETWORK_FS=1" in refused.advice
    assert not path.parent.exists()


def test_a_network_file_system_is_used_when_the_user_insists(path: Path) -> None:
    table = [Mount(point="/", kind="nfs")]
    store = SqliteStore(path, allow_network_fs=True, mounts=lambda: table)

    store.migrate(SCHEMA)

    assert store.describe()["file_system"] == "nfs"
    store.close()


@pytest.mark.parametrize("kind", ["ext4", "btrfs", "tmpfs", "overlay", "apfs", "fuse", "fuse.encfs", "fuseblk"])
def test_a_local_file_system_is_welcome(kind: str) -> None:
    assert not Mount(point="/", kind=kind).network


def test_the_mount_of_a_path_is_the_deepest_and_newest_above_it() -> None:
    table = sqlite_file.parse(MOUNTINFO)

    found = {name: sqlite_file.mount_of(Path(name), table) for name in ("/srv", "/mnt/my share/a", "/home/me", "/home")}
    local = sqlite_file.mount_of(Path("/mnt/my share/local/a/b"), table)

    assert found == {
        "/srv": Mount(point="/", kind="ext4"),
        "/mnt/my share/a": Mount(point="/mnt/my share", kind="nfs4"),
        "/home/me": Mount(point="/home", kind="fuse.sshfs"),
        "/home": Mount(point="/home", kind="fuse.sshfs"),
    }
    assert local == Mount(point="/mnt/my share/local", kind="xfs")


def test_this_machine_s_own_mounts_are_read(tmp_path: Path) -> None:
    assert sqlite_file.mount_of(tmp_path, sqlite_file.mount_table()) is not None


@pytest.mark.parametrize(("version", "fits"), [("3.51.2", False), ("3.9.9", False), ("3.51.3", True), ("4.0.0", True)])
def test_a_sqlite_that_can_damage_the_store_is_refused(path: Path, version: str, fits: bool) -> None:
    store = SqliteStore(path, sqlite_version=version)

    if fits:
        store.migrate(SCHEMA)
    else:
        assert isinstance(refusal(store), EngineTooOld)
        assert not path.parent.exists()
    store.close()


@pytest.mark.parametrize("content", [b"hello", b"SQLite format 3", b"a line of text\n" * 1000, b"\x00" * 8192])
def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)

    assert isinstance(refusal(SqliteStore(path)), NotOurFile)
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_refused_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE migrations (id TEXT)")
    other.close()
    before = path.read_bytes()

    assert isinstance(refusal(SqliteStore(path)), NotOurFile)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == ["tally.sqlite"]


def test_a_directory_in_the_store_s_place_is_refused(path: Path) -> None:
    path.mkdir(parents=True)

    assert isinstance(refusal(SqliteStore(path)), NotOurFile)


def test_a_file_in_the_place_of_the_data_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")

    assert isinstance(refusal(SqliteStore(tmp_path / "data" / "tally.sqlite")), NotOurFile)


def test_a_truncated_store_is_reported_as_damaged(filled: Path) -> None:
    with filled.open("r+b") as file:
        file.truncate(filled.stat().st_size // 2)

    assert isinstance(refusal(SqliteStore(filled)), StoreDamaged)


def test_a_page_of_rubbish_is_reported_as_damaged_where_it_is_met(filled: Path) -> None:
    size = filled.stat().st_size
    with filled.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xa5" * (size - 8192))
    store = SqliteStore(filled)

    with pytest.raises(StoreDamaged), store.read() as rows:
        rows.all(ITEMS, Item)
    store.close()


@pytest.mark.parametrize("gone", [True, False])
def test_a_log_without_its_database_is_not_thrown_away(filled: Path, gone: bool) -> None:
    log = filled.with_name("tally.sqlite-wal")
    log.write_bytes(b"the newest writes")
    if gone:
        filled.unlink()
    else:
        filled.write_bytes(b"")

    assert isinstance(refusal(SqliteStore(filled)), StoreDamaged)
    assert log.read_bytes() == b"the newest writes"


def test_a_store_whose_creation_was_interrupted_is_finished(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"")
    store = SqliteStore(path)

    store.migrate(SCHEMA)

    assert store.describe()["journal_mode"] == "wal"
    store.close()


def test_a_read_only_disk_is_refused(small_disk: Path) -> None:
    store = SqliteStore(small_disk / "tally.sqlite")
    store.migrate(SCHEMA)
    store.close()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)

    refused = refusal(SqliteStore(small_disk / "tally.sqlite"))
    fresh = refusal(SqliteStore(small_disk / "new" / "tally.sqlite"))

    assert (type(refused), type(fresh)) == (StoreReadOnly, StoreReadOnly)


def test_a_full_disk_refuses_the_write_and_keeps_what_was_there(small_disk: Path) -> None:
    store = SqliteStore(small_disk / "tally.sqlite")
    store.migrate(SCHEMA)
    with store.write() as rows:
        rows.run(ADD, id="kept", count=1)

    def fill() -> None:
        with store.write() as rows:
            for number in range(10_000):
                rows.run(ADD, id=f"{number} {'x' * 500}", count=1)

    for _ in range(2):
        with pytest.raises(DiskFull):
            fill()

    with store.read() as rows:
        assert rows.all(ITEMS, Item) == [Item(id="kept", count=1)]
    with store.write() as rows:
        rows.run(ADD, id="also", count=2)
    store.close()


def test_a_backup_is_a_store_of_its_own(filled: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.sqlite"
    store = SqliteStore(filled)
    with store.write() as rows:
        rows.run(ADD, id="newest", count=1)
    store.backup(target)
    with store.write() as rows:
        rows.run(ADD, id="too late", count=1)
    store.close()

    copy = SqliteStore(target)
    copy.migrate(SCHEMA)
    with copy.read() as rows:
        found = [item.id for item in rows.all(ITEMS, Item)]
    copy.close()
    assert (len(found), found[-1]) == (2001, "newest")
    assert target.stat().st_mode & 0o777 == 0o600


def test_a_backup_never_overwrites(filled: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.sqlite"
    target.write_text("precious")
    store = SqliteStore(filled)

    with pytest.raises(BackupExists):
        store.backup(target)

    assert target.read_text() == "precious"
    store.close()


def test_a_backup_that_does_not_fit_leaves_no_half_file(filled: Path, small_disk: Path) -> None:
    store = SqliteStore(filled)
    with store.write() as rows:
        rows.run(ADD, id="x" * 2_000_000, count=1)

    with pytest.raises(DiskFull):
        store.backup(small_disk / "copy.sqlite")

    assert list(small_disk.iterdir()) == []
    store.close()


def test_the_store_describes_itself(path: Path) -> None:
    store = SqliteStore(path, full_sync=True, busy_timeout_ms=1234, watcher="poll")
    about = store.describe()
    store.close()

    assert about == {
        "engine": "sqlite",
        "version": apsw.sqlite_lib_version(),
        "driver": f"apsw {apsw.apsw_version()}",
        "location": str(path),
        "file_system": about["file_system"],
        "bytes": about["bytes"],
        "journal_mode": "wal",
        "foreign_keys": 1,
        "busy_timeout": 1234,
        "synchronous": "full",
        "watcher": "poll",
    }


def test_a_new_store_has_small_pages_and_an_older_one_keeps_its_own(path: Path) -> None:
    older = path.with_name("older.sqlite")
    path.parent.mkdir()
    with closing(sqlite3.connect(older)) as made:
        made.executescript(f"PRAGMA page_size = 4096; PRAGMA application_id = {APPLICATION_ID}")

    found = dict[str, object]()
    for each in (path, older):
        store = SqliteStore(each)
        store.migrate(SCHEMA)
        with store.read() as rows:
            found[each.name] = rows.connection.pragma("page_size")
        store.close()

    assert found == {"tally.sqlite": 2048, "older.sqlite": 4096}
