"""Which store the settings ask for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tallystick.storage.errors import DriverMissing
from tallystick.storage.port import open_store


def test_without_an_address_the_store_is_a_file_in_the_data_directory(tmp_path: Path) -> None:
    store = open_store(None, tmp_path, full_sync=True)
    about = store.describe()
    store.close()

    assert (store.engine, about["location"], about["synchronous"]) == (
        "sqlite",
        str(tmp_path / "tally.sqlite"),
        "full",
    )


def test_with_an_address_the_store_is_that_server(tmp_path: Path) -> None:
    store = open_store("postgresql://nobody@127.0.0.1:1/none", tmp_path)
    store.close()

    assert store.engine == "postgres"
    assert list(tmp_path.iterdir()) == []


def test_a_driver_that_cannot_be_loaded_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("tallystick.storage.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)

    with pytest.raises(DriverMissing, match="psycopg"):
        open_store("postgresql://nobody@127.0.0.1:1/none", tmp_path)


def test_the_embedded_store_does_not_load_the_driver_of_the_other(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from tallystick.storage.port import open_store;"
        "store = open_store(None, Path(sys.argv[1]));\nwith store.write(): pass\n"
        "store.close(); sys.exit('psycopg' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False).returncode == 0
