"""Refs: the short texts by which a job points at durable things and at receipts of what was done.

`JOB-001`, `JOB-001@17`, `TASK-001`, `CARD-001`, `notes@17`, `a:parser`, `artifact://jobs/JOB-001/report`, and the
receipts `CMD: …`, `LINK: …`, `FILE: …`. A command may say how it ended and what it printed, as in `CMD: pytest (exit 0,
sha256 1f3a…)`; a file may say which content is meant, as in `FILE: src/a.py (sha256 9c0e…)`.
"""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec


class RefKind(StrEnum):
    JOB = "job"
    JOB_EVENT = "job_event"
    TASK = "task"
    CARD = "card"
    NOTE = "note"
    ANCHOR = "anchor"
    ARTIFACT = "artifact"
    CMD = "cmd"
    LINK = "link"
    FILE = "file"
    OTHER = "other"

    @property
    def receipt(self) -> bool:
        return self in {RefKind.CMD, RefKind.LINK, RefKind.FILE}


class Ref(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    kind: RefKind
    value: str
    """The id, command, address or path that is meant."""
    seq: int | None = None
    """The event, where one is named."""
    exit_code: int | None = None
    sha256: str | None = None
    """What was printed, or the file's content; at least its first 12 digits."""


REFS_LIMIT = 32
REF_LIMIT = 128
"""How many refs a report may name, and how many characters each may have."""
ANCHOR = r"a:[a-z0-9][a-z0-9-]{0,63}"
_ID = re.compile(r"(JOB|TASK|CARD)-(\d{3,18})(?:@(\d{1,18}))?", re.IGNORECASE)
_NOTE = re.compile(r"notes@(\d{1,18})", re.IGNORECASE)
_ANCHOR = re.compile(ANCHOR)
_ARTIFACT = re.compile(r"artifact://jobs/(JOB-\d{3,18}/\S+)")
_URL = re.compile(r"<?((?:https?|file)://[^\s>]+)>?", re.IGNORECASE)
_RECEIPT = re.compile(r"(CMD|LINK|FILE)(?::\s*|\s+|$)(.*)", re.IGNORECASE | re.DOTALL)
_CLAIM = re.compile(r"\s*\((?:exit (-?\d{1,5}))?(?:,? ?sha256[ :]([0-9a-f]{12,64}))?\)$")


def parse(text: str) -> Ref:
    """What a ref names; `OTHER` when it is none of ours."""
    plain = text.strip()
    if found := _ID.fullmatch(plain):
        return _numbered(plain, found)
    if found := _NOTE.fullmatch(plain):
        return Ref(text=plain, kind=RefKind.NOTE, value=f"notes@{int(found[1])}", seq=int(found[1]))
    if _ANCHOR.fullmatch(plain):
        return Ref(text=plain, kind=RefKind.ANCHOR, value=plain)
    if found := _ARTIFACT.fullmatch(plain):
        return Ref(text=plain, kind=RefKind.ARTIFACT, value=found[1])
    if found := _URL.fullmatch(plain):
        return Ref(text=plain, kind=RefKind.LINK, value=found[1])
    if found := _RECEIPT.fullmatch(plain):
        return _receipt(plain, RefKind(found[1].lower()), found[2].strip())
    return Ref(text=plain, kind=RefKind.OTHER, value=plain)


def _numbered(text: str, found: re.Match[str]) -> Ref:
    noun, value = found[1].upper(), f"{found[1].upper()}-{found[2]}"
    if found[3] is None:
        return Ref(text=text, kind=RefKind(noun.lower()), value=value)
    if noun == "JOB":
        return Ref(text=text, kind=RefKind.JOB_EVENT, value=value, seq=int(found[3]))
    return Ref(text=text, kind=RefKind.OTHER, value=text)


def _receipt(text: str, kind: RefKind, value: str) -> Ref:
    ending = _CLAIM.search(value) if kind is not RefKind.LINK else None
    if ending is None or ending[1] is ending[2] is None:
        return Ref(text=text, kind=kind, value=value)
    return Ref(
        text=text,
        kind=kind,
        value=value[: ending.start()].strip(),
        exit_code=int(ending[1]) if ending[1] else None,
        sha256=ending[2],
    )


def command(text: str, *, exit_code: int, output_sha256: str = "") -> str:
    """A receipt for a command that was run."""
    printed = f", sha256 {output_sha256[:16]}" if output_sha256 else ""
    return f"CMD: {text} (exit {exit_code}{printed})"


def file(path: str, sha256: str) -> str:
    """A receipt for a file with just this content."""
    return f"FILE: {path} (sha256 {sha256[:16]})"
