"""Files that refs name are looked at, hashed, and never followed out of the workspace."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tallystick.proof.files import survey
from tallystick.proof.verdict import EvidenceState, FileFact


def test_a_file_below_a_root_is_hashed(tmp_path: Path) -> None:
    file = tmp_path / "src" / "a.py"
    file.parent.mkdir()
    file.write_bytes(b"print()\n")

    (fact,) = survey(["FILE: src/a.py", "CARD-001"], [tmp_path]).values()
    assert fact.sha256 == hashlib.sha256(b"print()\n").hexdigest()
    assert fact.changed_at == file.stat().st_mtime_ns // 1_000_000


def test_what_is_not_there_or_no_file_is_missing(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    missing = FileFact(state=EvidenceState.MISSING)
    assert survey(["FILE: gone.py", "FILE: folder"], [tmp_path]) == {"folder": missing, "gone.py": missing}


def test_nothing_outside_the_roots_is_looked_at(tmp_path: Path) -> None:
    inside = tmp_path / "repo"
    inside.mkdir()
    (tmp_path / "secret").write_text("x")
    (inside / "link").symlink_to(tmp_path / "secret")
    outside = FileFact(state=EvidenceState.OUTSIDE)

    found = survey(["FILE: ../secret", "FILE: link", f"FILE: {tmp_path}/secret"], [inside])
    assert set(found.values()) == {outside}


def test_a_path_that_no_file_system_takes_is_missing(tmp_path: Path) -> None:
    assert survey(["FILE: a\0b", f"FILE: {'x' * 100}/{'y' * 300}"], [tmp_path]).keys()
    assert {fact.state for fact in survey(["FILE: a\0b"], [tmp_path]).values()} == {EvidenceState.MISSING}


def test_without_a_root_on_this_machine_nothing_can_be_said(tmp_path: Path) -> None:
    assert survey(["FILE: a.py"], [tmp_path / "elsewhere"]) == {"a.py": FileFact(state=EvidenceState.UNREACHABLE)}
