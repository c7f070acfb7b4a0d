"""Looking at the files that refs name: the one module here that touches the disk, and it only reads."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from tallystick.proof.refs import RefKind, parse
from tallystick.proof.verdict import EvidenceState, FileFact

LARGEST = 64 * 1024 * 1024
_PIECE = 1 << 20


def survey(texts: Iterable[str], roots: Iterable[Path]) -> Mapping[str, FileFact]:
    """The facts about every file that the refs name, by the path as it was written."""
    known = [root.resolve() for root in roots if root.is_dir()]
    named = {ref.value for text in texts if (ref := parse(text)).kind is RefKind.FILE and ref.value}
    return {path: _fact(path, known) for path in sorted(named)}


def _fact(path: str, roots: list[Path]) -> FileFact:
    if not roots:
        return FileFact(state=EvidenceState.UNREACHABLE)
    try:
        inside = [real for root in roots if (real := (root / path).resolve()).is_relative_to(root)]
        found = next((real for real in inside if real.is_file()), None)
        if found is None:
            return FileFact(state=EvidenceState.MISSING if inside else EvidenceState.OUTSIDE)
        size, changed = found.stat().st_size, found.stat().st_mtime_ns // 1_000_000
        if size > LARGEST:
            return FileFact(state=EvidenceState.UNREACHABLE, changed_at=changed)
        return FileFact(sha256=_hash(found), changed_at=changed)
    except (OSError, ValueError):
        return FileFact(state=EvidenceState.MISSING)


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as opened:
        while piece := opened.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()
