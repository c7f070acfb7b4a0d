"""Text that somebody else wrote, with the little Markdown that agents use made readable: headings, lists, code, bold.

Everything is escaped before anything is marked up, and no mark takes an address or an attribute from the text, so
there is nothing in here that a hostile text could use. What is not understood stays as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup, escape

from tallystick.kernel.errors import InvalidField
from tallystick.surfaces.web import words

_MARKED = re.compile(r"[`#]|\*\*|^\s*(?:[-*]|\d{1,3}[.)]) |\d{4}-\d\d-\d\dT", re.MULTILINE)
"""Most text has none of these, and is spared the rest."""
_FENCE = re.compile(r"\s{0,3}```")
_HEADING = re.compile(r"#{1,4} +(?P<said>\S.*)")
_BULLET = re.compile(r"\s{0,8}[-*] +(?P<said>\S.*)")
_NUMBERED = re.compile(r"\s{0,8}(?P<number>\d{1,3})[.)] +(?P<said>\S.*)")
_CODE = re.compile(r"(`[^`\n]+`)")
_BOLD = re.compile(r"\*\*([^*\n]+)\*\*")
_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?Z")


@dataclass(slots=True, kw_only=True)
class Block:
    """Lines that belong together."""

    sort: str
    """text, code, heading, ul or ol."""
    lines: list[str] = field(default_factory=list[str])
    start: int = 1


def prose(given: object) -> Markup:
    """A text as it is shown; safe whatever it says."""
    text = str(words.visible(str(given)))
    if not _MARKED.search(text):
        return escape(text)
    return Markup("").join(_markup(block) for block in _blocks(text.split("\n")))


def _blocks(lines: Sequence[str]) -> Iterator[Block]:
    now = Block(sort="text")
    for line in lines:
        sort, said, start = _sorted(line)
        if _FENCE.match(line):
            yield now
            now = Block(sort="text" if now.sort == "code" else "code")
        elif now.sort == "code":
            now.lines.append(line)
        elif sort == "text" and now.sort in {"ul", "ol"} and line.startswith("  ") and line.strip():
            # An indented line goes on with the item above it.
            now.lines[-1] += f"\n{line.strip()}"
        else:
            if sort != now.sort or sort == "heading":
                yield now
                now = Block(sort=sort, start=start)
            now.lines.append(said)
    yield now


def _sorted(line: str) -> tuple[str, str, int]:
    """What a line is by itself, what it says, and its number."""
    if found := _HEADING.fullmatch(line):
        return "heading", found["said"], 1
    if found := _BULLET.fullmatch(line):
        return "ul", found["said"], 1
    if found := _NUMBERED.fullmatch(line):
        return "ol", found["said"], int(found["number"])
    return "text", line, 1


def _markup(block: Block) -> Markup:
    match block.sort:
        case "code":
            return Markup("<pre><code>{}</code></pre>").format("\n".join(block.lines))
        case "heading":
            return Markup('<p class="hd">{}</p>').format(_inline(block.lines[0]))
        case "ul" | "ol":
            items = Markup("").join(Markup("<li>{}</li>").format(_inline(line)) for line in block.lines)
            number = Markup(' start="{}"').format(block.start) if block.start != 1 else ""
            return Markup("<{0}{1}>{2}</{0}>").format(block.sort, number, items)
        case _:
            text = "\n".join(block.lines).strip("\n")
            return Markup("<p>{}</p>").format(_inline(text)) if text.strip() else Markup("")


def _inline(text: str) -> Markup:
    """Code first: nothing inside it means anything."""
    parts = _CODE.split(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part[1:-1]) if number % 2 else _plain(part)
        for number, part in enumerate(parts)
    )


def _plain(text: str) -> Markup:
    safe = str(escape(text))
    # Escaping leaves stars and digits alone, so these patterns find in the escaped text what was written.
    return Markup(_TIME.sub(_time, _BOLD.sub(r"<b>\1</b>", safe)))  # noqa: S704 - escaped just before


def _time(found: re.Match[str]) -> str:
    try:
        return str(words.clock(found[0]))
    except InvalidField:
        return found[0]
