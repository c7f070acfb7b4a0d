"""Refs: the short texts by which a job points at durable things and at receipts of what was done.

`JOB-001`, `JOB-001@17`, `TASK-001`, `CARD-001`, `notes@17`, `a:parser`, `artifact://jobs/JOB-001/report`, and the
receipts `CMD: …`, `LINK: …`, `FILE: …`. A command says how it ended and may say what it printed, as in `CMD: pytest
(exit 0, sha256 1f3a…)`; a file may say which content is meant, as in `FILE: src/a.py (sha256 9c0e…)`.

`salvage` finds receipts that somebody wrote into a text instead: deterministic, bounded, nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

import msgspec

from tallystick.proof.commands import ending


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
    failed: bool = False
    """Whether it says, in whatever words, that it went wrong."""
    sha256: str | None = None
    """What was printed, or the file's content; at least its first 12 digits."""


REFS_LIMIT = 32
REF_LIMIT = 128
"""How many refs a report may name, and how many characters each may have."""
LINE_LIMIT = 400
"""How much of a line is read for its ending."""
ANCHOR = r"a:[a-z0-9][a-z0-9-]{0,63}"
_ID = re.compile(r"(JOB|TASK|CARD)-(\d{3,18})(?:@(\d{1,18}))?", re.IGNORECASE)
_NOTE = re.compile(r"notes@(\d{1,18})", re.IGNORECASE)
_ANCHOR = re.compile(ANCHOR)
_ARTIFACT = re.compile(r"artifact://jobs/(JOB-\d{3,18}/\S+)")
_URL = re.compile(r"<?((?:https?|file)://[^\s>]+)>?", re.IGNORECASE)
_RECEIPT = re.compile(r"(CMD|LINK|FILE)(?::\s*|$)(.*)", re.IGNORECASE | re.DOTALL)
_CONTENT = re.compile(r"\s*\(sha256[ :]+([0-9a-f]{12,64})\)$", re.IGNORECASE)
_QUOTES = "`'\""


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
    match kind:
        case RefKind.CMD:
            end = ending(value)
            return Ref(
                text=text, kind=kind, value=end.command, exit_code=end.exit_code, failed=end.failed, sha256=end.sha256
            )
        case RefKind.FILE if found := _CONTENT.search(value):
            return Ref(text=text, kind=kind, value=value[: found.start()].strip(_QUOTES), sha256=found[1].lower())
        case _:
            return Ref(text=text, kind=kind, value=value.strip(_QUOTES))


def command(text: str, *, exit_code: int, output_sha256: str = "") -> str:
    """A receipt for a command that was run."""
    printed = f", sha256 {output_sha256[:16]}" if output_sha256 else ""
    return f"CMD: {text} (exit {exit_code}{printed})"


def file(path: str, sha256: str) -> str:
    """A receipt for a file with just this content."""
    return f"FILE: {path} (sha256 {sha256[:16]})"


_LIST_MARK = re.compile(r"^(?:[>\-*+•]\s+|\d{1,3}[.)]\s+)+")
_PROMPT = re.compile(r"^\$\s+")
_RECEIPT_LINE = re.compile(r"^(CMD|LINK|FILE):(.*)", re.IGNORECASE)
_SPLIT = re.compile(r"[\s,;()\[\]{}<>\"']+")
_TRIM = ".,;:!?`*"


def salvage(given: Sequence[str], text: str) -> list[str]:
    """The refs that were given, in their order, then the receipts among the lines of a text; never its prose.

    A receipt is a line that begins with `CMD:`, `LINK:` or `FILE:`, or one in a fenced block or after `$ ` that says
    with which status it ended.
    """
    return _bounded(given, _receipts(text))


def pointers(given: Sequence[str], text: str) -> list[str]:
    """The refs that were given, then whatever a text points at: receipts, ids and addresses. They prove nothing."""
    return _bounded(given, [*_receipts(text), *_ids(text)])


def _bounded(given: Sequence[str], more: Iterable[str]) -> list[str]:
    found = dict.fromkeys(each.strip() for each in given if each.strip())
    for ref in more:
        if len(found) >= REFS_LIMIT:
            break
        found.setdefault(_clipped(ref))
    return list(found)


def _receipts(text: str) -> Iterator[str]:
    fenced = False
    for line in text.splitlines():
        plain = _LIST_MARK.sub("", line.strip())
        if plain.startswith(("```", "~~~")):
            fenced = not fenced
        elif found := _RECEIPT_LINE.match(plain.strip("`")):
            yield f"{found[1].upper()}: {found[2].strip()}".rstrip()
        elif fenced or _PROMPT.match(plain.strip("`")):
            command = _PROMPT.sub("", plain.strip("`"))[:LINE_LIMIT]
            if ending(command).exit_code is not None:
                yield f"CMD: {command}"


def _ids(text: str) -> Iterator[str]:
    for token in _SPLIT.split(text):
        ref = parse(token.strip(_TRIM))
        if ref.kind is RefKind.LINK and "://" in ref.value:
            yield f"LINK: {ref.value}"
        elif ref.kind in {RefKind.JOB_EVENT, RefKind.NOTE} or (
            ref.kind in {RefKind.JOB, RefKind.TASK, RefKind.CARD, RefKind.ANCHOR, RefKind.ARTIFACT} and ref.value
        ):
            yield f"{ref.value}@{ref.seq}" if ref.kind is RefKind.JOB_EVENT else _written(ref.kind, ref.value)


def _written(kind: RefKind, value: str) -> str:
    return f"artifact://jobs/{value}" if kind is RefKind.ARTIFACT else value


def _clipped(ref: str) -> str:
    return ref if len(ref) <= REF_LIMIT else ref[: REF_LIMIT - 1] + "…"
