"""The words and simple commands that a command line is made of, and what braces in a word stand for."""

from __future__ import annotations

import re

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
OPEN, COMMA, SHUT = "\ue000", "\ue001", "\ue002"
"""Stand for unquoted `{`, `,` and `}` until the word is whole."""
MOST_BRACES = 4
"""Pairs in one word; more would multiply beyond what anybody writes by hand."""
_BRACES = re.compile(f"{OPEN}([^{OPEN}{SHUT}]*{COMMA}[^{OPEN}{SHUT}]*){SHUT}")


class Word:
    """One word: its text, the same as a glob pattern where it is one, and whether it could be read at all."""

    __slots__ = ("pattern", "readable", "text")

    def __init__(self, text: str, pattern: str | None = None, *, readable: bool = True) -> None:
        self.text, self.pattern, self.readable = text, pattern, readable


class Command:
    """A simple command. `level` counts the subshells around it."""

    __slots__ = ("bodies", "level", "words", "writes")

    def __init__(self, level: int) -> None:
        self.level = level
        self.words: list[Word] = []
        self.writes: list[Word] = []
        """Where its output is redirected to."""
        self.bodies: list[str] = []
        """The texts of its here-documents."""


def braced(text: str, glob: str | None, *, readable: bool) -> list[Word]:
    """The word, or the words that its braces stand for."""
    found, in_glob = _BRACES.search(text), _BRACES.search(glob) if glob else None
    readable = readable and text.count(OPEN) <= MOST_BRACES
    if not found or not readable:
        return [Word(_spelled(text), _spelled(glob) if glob else None, readable=readable)]
    words = list[Word]()
    for number, part in enumerate(found[1].split(COMMA)):
        same = in_glob[1].split(COMMA)[number] if in_glob else ""
        words += braced(
            text[: found.start()] + part + text[found.end() :],
            glob[: in_glob.start()] + same + glob[in_glob.end() :] if glob and in_glob else None,
            readable=readable,
        )
    return words


def _spelled(text: str) -> str:
    return text.replace(OPEN, "{").replace(COMMA, ",").replace(SHUT, "}")
