"""A recording of terminals as one SVG that moves without a script, so that a code host shows it like any picture."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby, pairwise

CELL_W, CELL_H, SIZE = 8.4, 17, 14
BAR, GAP, MARGIN = 24, 10, 10
INK, PAPER, FRAME, TITLE = "#d4d7dc", "#14171c", "#0b0d10", "#8b93a1"
BASIC = (
    *("#2b2f37", "#e5686e", "#7fbf7a", "#d9b25f", "#6ea8e6", "#c08bdc", "#5fb8b8", "#d4d7dc"),
    *("#6b7280", "#ff8a8f", "#a0dc9a", "#f0cd7d", "#93c3f7", "#d9adf0", "#84d6d6", "#ffffff"),
)
LONGEST_S, LAST_S = 2.2, 5.0
"""Nobody has to look at a picture that does not move for longer; the last stays a while."""

_RARE = {ord("⎿"): "└", ord("✻"): "*", ord("✽"): "*", ord("✢"): "*", ord("✶"): "*"}
"""Signs that many fonts lack, and what stands for them."""
_SWITCHES: dict[int, dict[str, bool]] = {
    1: {"bold": True},
    2: {"dim": True},
    3: {"italic": True},
    4: {},
    7: {"swapped": True},
    22: {"bold": False, "dim": False},
    23: {"italic": False},
    24: {},
    27: {"swapped": False},
}
_SGR = re.compile(r"\x1b\[([\d;:]*)m")
_OTHER = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[^\[\]]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    ink: str | None = None
    paper: str | None = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    swapped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What is to be seen for so many seconds: a screen of lines for each terminal."""

    seconds: float
    screens: tuple[tuple[str, ...], ...]


def paced(looks: Sequence[tuple[float, tuple[tuple[str, ...], ...]]], least: float = 0.4) -> list[Picture]:
    """Pictures from looks with their moments: none shorter than `least`, and no long silence."""
    kept = list[tuple[float, tuple[tuple[str, ...], ...]]]()
    for look in looks:
        if kept and look[0] - kept[-1][0] < least:
            kept[-1] = (kept[-1][0], look[1])
        else:
            kept.append(look)
    found = [
        Picture(seconds=min(after[0] - before[0], LONGEST_S), screens=before[1]) for before, after in pairwise(kept)
    ]
    return [*found, Picture(seconds=LAST_S, screens=kept[-1][1])]


def svg(pictures: Sequence[Picture], titles: Sequence[str], columns: int, rows: Sequence[int], label: str) -> str:
    """The moving picture; each different line is drawn once and used wherever it stands."""
    width = columns * CELL_W + 2 * MARGIN
    tops = [MARGIN + sum(BAR + GAP + row * CELL_H for row in rows[:number]) for number in range(len(rows))]
    height = tops[-1] + BAR + rows[-1] * CELL_H + MARGIN
    names = dict[str, str]()
    frames = [_frame(picture, tops, names) for picture in pictures]
    total = sum(picture.seconds for picture in pictures)
    drawn = "".join(f'<g id="{name}">{_line(text)}</g>' for text, name in names.items())
    windows = "".join(
        f'<rect x="{MARGIN / 2}" y="{top}" width="{width - MARGIN}" height="{BAR + row * CELL_H}" rx="6"'
        f' fill="{PAPER}"/><text x="{MARGIN + 4}" y="{top + 16}" fill="{TITLE}">{escape(title)}</text>'
        for title, top, row in zip(titles, tops, rows, strict=True)
    )
    moving = "".join(
        f'<g transform="translate({number * width:g} 0)">{frame}</g>' for number, frame in enumerate(frames)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}"'
        f' height="{height:g}" role="img" aria-label="{escape(label)}"'
        f' font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="{SIZE}">'
        f"<title>{escape(label)}</title><style>{_style(pictures, total, width)}</style>"
        f'<defs>{drawn}</defs><rect width="100%" height="100%" rx="8" fill="{FRAME}"/>{windows}'
        f'<g class="reel" xml:space="preserve">{moving}</g></svg>\n'
    )


def _style(pictures: Sequence[Picture], total: float, width: float) -> str:
    """The reel stands still at each picture, and jumps to the next; at the last for whoever wants no motion."""
    at, steps = 0.0, list[str]()
    for number, picture in enumerate(pictures):
        steps.append(f"{100 * at / total:.3f}%{{transform:translateX({-number * width:g}px)}}")
        at += picture.seconds
    last = f"transform:translateX({-(len(pictures) - 1) * width:g}px)"
    return (
        f".reel{{animation:reel {total:.1f}s step-end infinite}}@keyframes reel{{{''.join(steps)}100%{{{last}}}}}"
        f"text{{white-space:pre}}@media (prefers-reduced-motion){{.reel{{animation:none;{last}}}}}"
    )


def _frame(picture: Picture, tops: Sequence[float], names: dict[str, str]) -> str:
    uses = list[str]()
    for top, screen in zip(tops, picture.screens, strict=True):
        for row, line in enumerate(screen):
            if _SGR.sub("", line).strip() or "\x1b[4" in line:
                name = names.setdefault(line, f"l{len(names)}")
                uses.append(f'<use href="#{name}" x="{MARGIN}" y="{top + BAR + row * CELL_H:g}"/>')
    return "".join(uses)


def _line(text: str) -> str:
    drawn, column = list[str](), 0
    for style, letters in _runs(text):
        wide = sum(_cells(letter) for letter in letters)
        ink, paper = style.ink or INK, style.paper
        if style.swapped:
            ink, paper = paper or PAPER, ink
        x, width = column * CELL_W, wide * CELL_W
        if paper:
            drawn.append(f'<rect x="{x:g}" width="{width:g}" height="{CELL_H}" fill="{paper}"/>')
        if letters.strip():
            # Each run is as wide as its cells, whatever the reader's font is.
            looks = [
                ' font-weight="700"' * style.bold,
                ' opacity=".6"' * style.dim,
                ' font-style="italic"' * style.italic,
            ]
            place = f'x="{x:g}" y="13" textLength="{width:g}" lengthAdjust="spacingAndGlyphs"'
            head = f'<text {place} fill="{ink}"{"".join(looks)}>'
            drawn.append(f"{head}{escape(letters.translate(_RARE), quote=False)}</text>")
        column += wide
    return "".join(drawn)


def _runs(text: str) -> Iterable[tuple[Style, str]]:
    """The letters of a line with what they look like; wide blanks stand alone, so that words keep their place."""
    text, style, at = _OTHER.sub("", text), Style(), 0
    pieces = list[tuple[Style, str]]()
    for found in _SGR.finditer(text):
        pieces.append((style, text[at : found.start()]))
        style, at = _changed(style, found[1]), found.end()
    pieces.append((style, text[at:]))
    for style, group in groupby(pieces, key=lambda piece: piece[0]):
        whole = "".join(letters for _, letters in group)
        yield from ((style, part) for part in re.findall(r"\s{2,}|(?:\S|\s(?!\s))+|\s", whole))


def _changed(style: Style, codes: str) -> Style:
    rest = [int(code or 0) for code in re.split("[;:]", codes)]
    while rest:
        code = rest.pop(0)
        if code in (38, 48):
            colour = _palette(rest)
            style = replace(style, ink=colour) if code == 38 else replace(style, paper=colour)
        else:
            style = _simple(style, code)
    return style


def _simple(style: Style, code: int) -> Style:
    if code == 0:
        return Style()
    if code in _SWITCHES:
        return replace(style, **_SWITCHES[code])
    # 30 to 37 and 90 to 97 are inks, 40 to 47 and 100 to 107 papers, 39 and 49 what it was at first.
    name, first = ("ink", 30) if code // 10 in {3, 9} else ("paper", 40)
    number = code - first if code < 90 else code - first - 52
    if code == first + 9:
        return replace(style, **{name: None})
    return replace(style, **{name: BASIC[number]}) if 0 <= number < len(BASIC) else style


def _palette(rest: list[int]) -> str | None:
    """The colour that `5;N` or `2;R;G;B` names, taken off the list."""
    kind = rest.pop(0) if rest else 0
    if kind == 2:
        red, green, blue = rest[:3]
        del rest[:3]
        return f"#{red:02x}{green:02x}{blue:02x}"
    number = rest.pop(0)
    if number < 16:
        return BASIC[number]
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    levels = (0, 95, 135, 175, 215, 255)
    number -= 16
    return "#" + "".join(f"{levels[number // size % 6]:02x}" for size in (36, 6, 1))


def _cells(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1
