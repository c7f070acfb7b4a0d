"""Files that refs name are looked at, hashed, and never followed out of the workspace."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from tallystick.proof import files
from tallystick.proof.files import FileFact, FilesToRead

MISSING = FileFact(why="there is no such file in the workspace")


def survey(refs: list[str], root: Path) -> Mapping[str, FileFact]:
    return files.survey(FilesToRead(refs=refs, roots=[root]))


def test_a_file_below_a_root_is_hashed(tmp_path: Path) -> None:
    file = tmp_path / "src" / "a.py"
    file.parent.mkdir()
    file.write_bytes(b"print()\n")

    (fact,) = survey(["FILE: src/a.py", "CARD-001"], tmp_path).values()
    assert fact.sha256 == hashlib.sha256(b"print()\n").hexdigest()
    assert fact.changed_at == file.stat().st_mtime_ns // 1_000_000


def test_what_is_not_there_or_no_file_is_missing(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert survey(["FILE: gone.py", "FILE: folder"], tmp_path) == {"folder": MISSING, "gone.py": MISSING}


def test_nothing_outside_the_roots_is_looked_at(tmp_path: Path) -> None:
    inside = tmp_path / "repo"
    inside.mkdir()
    (tmp_path / "secret").write_text("x")
    (inside / "link").symlink_to(tmp_path / "secret")

    found = survey(["FILE: ../secret", "FILE: link", f"FILE: {tmp_path}/secret"], inside)
    assert list(found.values()) == [MISSING] * 3


def test_a_path_that_no_file_system_takes_is_missing(tmp_path: Path) -> None:
    long = f"{'x' * 100}/{'y' * 300}"
    (tmp_path / "around").symlink_to("around")
    refs = ["FILE: a\0b", f"FILE: {long}", "FILE: around"]
    assert survey(refs, tmp_path) == {"a\0b": MISSING, long: MISSING, "around": MISSING}


def test_without_a_root_on_this_machine_nothing_can_be_said(tmp_path: Path) -> None:
    (fact,) = survey(["FILE: a.py"], tmp_path / "elsewhere").values()
    assert fact == FileFact(reachable=False, why="this hub cannot see the files of the job")
