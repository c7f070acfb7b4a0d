"""One word of a command line: what it says, as far as that can be known, and what its braces stand for."""

from __future__ import annotations

OPEN, COMMA, SHUT = "\ue000", "\ue001", "\ue002"
"""Stand for unquoted `{`, `,` and `}` until the word is whole."""
MOST_BRACES = 4
"""Pairs in one word; more would multiply beyond what anybody writes by hand."""
MOST_LETTERS = 1_000_000
"""That the variables and braces of a whole command line may be spelled out to."""


class Word:
    """One word: its text, the same as a glob pattern where it is one, and whether it could be read at all."""

    __slots__ = ("pattern", "readable", "text")

    def __init__(self, text: str, pattern: str | None = None, *, readable: bool = True) -> None:
        self.text, self.pattern, self.readable = text, pattern, readable


class Spelling:
    """What is left of the letters that a command line may be spelled out to: a doubled variable has no end."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MOST_LETTERS

    def allows(self, letters: int) -> bool:
        self.left -= letters
        return self.left >= 0


def braced(text: str, glob: str | None, spelling: Spelling, *, readable: bool) -> list[Word]:
    """The word, or the words that its braces stand for."""
    texts = _expanded(text, spelling) if readable and OPEN in text else None
    if texts is None:
        readable = readable and OPEN not in text
        return [Word(_spelled(text), _spelled(glob) if glob else None, readable=readable)]
    globs = _expanded(glob, spelling) if glob else None
    return [Word(each, globs[at] if globs and at < len(globs) else None) for at, each in enumerate(texts)]


def _expanded(text: str, spelling: Spelling) -> list[str] | None:
    """What a word with braces stands for; None when that is too much."""
    if text.count(OPEN) > MOST_BRACES:
        return None
    done, todo = list[str](), [text]
    while todo:
        each = todo.pop()
        pair = _pair(each)
        if pair is None:
            done.append(_spelled(each))
            continue
        start, end = pair
        parts = each[start + 1 : end].split(COMMA)
        if not spelling.allows(len(parts) * len(each)):
            return None
        todo += [each[:start] + part + each[end + 1 :] for part in reversed(parts)]
    return done


def _pair(text: str) -> tuple[int, int] | None:
    """The first innermost braces that hold alternatives."""
    start = text.find(OPEN)
    while start >= 0:
        end, inner = text.find(SHUT, start), text.find(OPEN, start + 1)
        if end < 0:
            return None
        if not (start < inner < end) and COMMA in text[start:end]:
            return start, end
        start = inner
    return None


def _spelled(text: str) -> str:
    return text.replace(OPEN, "{").replace(COMMA, ",").replace(SHUT, "}")
