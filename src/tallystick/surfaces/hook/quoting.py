"""What others wrote, as a hook's answer holds it: on one line, with nothing that a terminal would obey, and quoted."""

from __future__ import annotations

import re

LONGEST = 300
LONGEST_PATH = 120
_PLAIN_PATH = re.compile(r"[\w./*@+~-]{1,240}")


def plain(text: object) -> str:
    """On one line, and printable."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in str(text)).split())


def clipped(text: object, longest: int) -> str:
    """The same, and not at length."""
    line = plain(text)
    return f"{line[:longest]}…" if len(line) > longest else line


def quoted(text: object, longest: int = LONGEST) -> str:
    # A quotation mark in it would end the quotation for whoever reads on.
    inside = str(text).replace('"', "'")
    return f'"{clipped(inside, longest)}"'


def path(given: object) -> str:
    """A path as it stands, unless it could be taken for a sentence: then it is a quotation."""
    text = str(given)
    return text if _PLAIN_PATH.fullmatch(text) else quoted(text, LONGEST_PATH)
