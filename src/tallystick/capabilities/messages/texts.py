"""What of an event can be searched, cut into words, and the snippet that shows a hit; the same on both engines.

A word is a run of letters and digits, folded in case; a term matches every word that begins with it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import cast

from tallystick.capabilities.messages.model import Kind, Searched
from tallystick.kernel.envelope import Event

SEARCHED: dict[str, Searched] = {
    Kind.MESSAGE: "message",
    "x.tally.note.add": "note",
    "x.tally.stick.release": "handoff",
    "x.tally.stick.pass": "handoff",
}
"""Event kind -> what a searcher calls it."""

_WORD = re.compile(r"[^\W_]+")
_LONGEST_WORD = 64
_LONGEST_TEXT = 100_000
_WIDTH = 160
_BEFORE = 40


def words(text: str) -> list[str]:
    folded = unicodedata.normalize("NFKC", text[:_LONGEST_TEXT]).casefold()
    return sorted({word[:_LONGEST_WORD] for word in _WORD.findall(folded)})


def content(event: Event) -> str:
    """The text of an event that people search for."""
    match SEARCHED[event.kind]:
        case "message":
            return str(event.data["text"])
        case "note":
            return str(event.data["body"])
        case _:
            return "\n".join(_lines(cast("dict[str, object]", event.data["handoff"])))


def _lines(handoff: dict[str, object]) -> list[str]:
    artifacts = cast("list[dict[str, object]]", handoff.get("artifacts") or [])
    return [
        str(handoff["status"]),
        str(handoff["next_action"]),
        *cast("list[str]", handoff.get("open_questions") or []),
        *cast("list[str]", handoff.get("do_not") or []),
        *(f"{artifact['path']} {artifact.get('note') or ''}" for artifact in artifacts),
    ]


def matches(text: str, terms: Sequence[str]) -> bool:
    """Whether for every term some word begins with it: what the index of either engine says."""
    found = words(text)
    return all(any(word.startswith(term) for word in found) for term in terms)


def may_match(body: str, terms: Sequence[str]) -> bool:
    """False when an event's JSON text shows that it cannot match: cutting it into words takes ten times as long."""
    if not body.isascii() or "\\u" in body:
        return True
    lower = body.lower()
    return all(term in lower for term in terms)


def _begins(word: str, terms: tuple[str, ...]) -> bool:
    return any(part.startswith(terms) for part in words(word))


def snippet(text: str, terms: Sequence[str]) -> str:
    """The surroundings of the first hit on one line, every hit in it marked «so»."""
    flat = unicodedata.normalize("NFC", " ".join(text.split()))
    hits = [found for found in _WORD.finditer(flat) if _begins(found[0], tuple(terms))]
    start = max(0, hits[0].start() - _BEFORE) if hits else 0
    end = start + _WIDTH
    pieces, last = list[str](), start
    for hit in hits:
        if hit.start() >= end:
            break
        pieces += [flat[last : hit.start()], f"«{hit[0][:_WIDTH]}»"]
        last = hit.end()
    pieces.append(flat[last:end])
    return ("…" if start else "") + "".join(pieces) + ("…" if max(last, end) < len(flat) else "")
