"""Finding the refs that somebody wrote into a text instead of into `refs`: deterministic, bounded, nothing is run.

The job's own id is never added: a text without a pointer salvages nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tallystick.proof.refs import REF_LIMIT, REFS_LIMIT, RefKind, parse

SHELL = (
    "bun", "cargo", "deno", "docker", "git", "go test", "helm", "just", "kubectl", "make", "node", "npm", "pnpm",
    "pytest", "python", "python3", "rg", "terraform", "uv run", "yarn",
)  # fmt: skip
"""Commands that a line can hardly begin with by accident."""

_LIST_MARK = re.compile(r"^(?:[>\-*+•]\s+|\d{1,3}[.)]\s+)+")
_PROMPT = re.compile(r"^[$>]\s+")
_RECEIPT_LINE = re.compile(r"^(?:CMD|LINK|FILE)(?::|\s)", re.IGNORECASE)
_SHELL_LINE = re.compile(rf"^(?:{'|'.join(re.escape(word) for word in SHELL)})\s+\S")
_SPLIT = re.compile(r"[\s,;()\[\]{}<>\"']+")
_TRIM = ".,;:!?`*"


def salvage(given: Sequence[str], text: str) -> list[str]:
    """The refs that were given, in their order, then those found in the text; each once, at most as many as allowed."""
    found = dict.fromkeys(each.strip() for each in given if each.strip())
    lines = [_LIST_MARK.sub("", line.strip()) for line in text.splitlines()]
    for ref in [*_receipts(lines), *_commands(lines), *_ids(text)]:
        if len(found) >= REFS_LIMIT:
            break
        found.setdefault(_clipped(ref))
    return list(found)


def _receipts(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        plain = line.strip("`")
        if _RECEIPT_LINE.match(plain):
            kind, value = plain.split(":" if ":" in plain[:5] else None, 1)
            yield f"{kind.upper()}: {value.strip()}".rstrip()
        elif (ref := parse(plain)).kind is RefKind.LINK:
            yield f"LINK: {ref.value}"


def _commands(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        plain = _PROMPT.sub("", line.strip("`"))
        if _SHELL_LINE.match(plain):
            yield f"CMD: {plain}"


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
