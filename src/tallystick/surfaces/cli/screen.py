"""Results before a person: tables on a terminal, tab-separated lines in a pipe, blocks for what has several lines.

Everything that comes from a room was written by somebody else, so every cell and line goes through `visible`.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tallystick.commandline import output
from tallystick.commandline.output import visible, visible_json, visible_lines
from tallystick.kernel.json_values import is_list, is_object, list_of, objects_of

if TYPE_CHECKING:
    from tallystick.capabilities.turns.contract import Artifact, Handoff


NOTHING: tuple[object, ...] = (None, "", [], {})
"""What is not worth a line, because nothing is known or there."""
MARGIN = 14
"""Where an event's sentence begins, after its number and time."""
SHORT_ID = 13
"""The moment of a UUIDv7: two ids that were made in one millisecond are told apart by no person."""
PAGING = frozenset({"count", "cursor", "has_more", "has_more_events", "next_cursor", "truncated"})
"""How to read on. Where there is no more of it, that is not worth a line either."""


def cell(value: object) -> str:
    """A value on one line."""
    match value:
        case None | "" | []:
            return "-"
        case bool():
            return "yes" if value else "no"
        case str():
            return visible(value)
        case _ if is_list(value):
            return visible_json(value) if any(isinstance(item, dict | list) for item in value) else _joined(value)
        case _ if is_object(value):
            return visible_json(value)
        case _:
            return visible(str(value))


def _joined(items: Sequence[object]) -> str:
    return ", ".join(cell(item) for item in items)


def say(*lines: str) -> None:
    for line in lines:
        print(visible(line))


def short_id(given: str) -> str:
    """The beginning of an id, which is enough to type; whole in a pipe, for programs."""
    return given[:SHORT_ID] if sys.stdout.isatty() else given


def folded(line: str, indent: int) -> list[str]:
    """A line as a terminal shows it below an indent, broken between words; whole in a pipe."""
    if not sys.stdout.isatty():
        return [line]
    width = shutil.get_terminal_size().columns - indent
    return textwrap.wrap(line, max(width, 20), break_on_hyphens=False) or [""]


def event(seq: int, ts: str, sentence: str) -> None:
    """One line, and what was said in more lines below it: nobody else's words reach the margin."""
    first, *more = (part for line in visible_lines(sentence) for part in folded(line, MARGIN))
    print(f"{seq:>5}  {visible(output.local_time(ts) or ''):<6} {first}")
    for line in more:
        print(f"{'':{MARGIN}}{line}".rstrip())


def clear() -> None:
    """Begin a terminal's screen anew, for what is drawn again and again; what was scrolled off it stays."""
    if sys.stdout.isatty() and not _plain():
        print("\x1b[H\x1b[2J", end="")


def _plain() -> bool:
    """Whether the person wants no escapes at all."""
    return "NO_COLOR" in os.environ


def table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    cells = [[cell(value) for value in row] for row in rows]
    if sys.stdout.isatty():
        _drawn(headers, cells)
        return
    for row in [headers, *cells]:
        print("\t".join(row))


def _drawn(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    plain = _plain()
    drawn = Table(box=None, pad_edge=False, header_style=None if plain else "bold")
    for header in headers:
        drawn.add_column(header, overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(value) for value in row))
    console = Console(highlight=False, markup=False, emoji=False, color_system=None if plain else "auto")
    console.print(drawn)


def pairs(rows: Mapping[str, object]) -> None:
    """Names and values, one below the other."""
    width = max(map(len, rows), default=0)
    for name, value in rows.items():
        if isinstance(value, str) and "\n" in value:
            print(f"{visible(name)}:")
            indented(value)
        else:
            print(f"{visible(name)}:".ljust(width + 2) + cell(value))


def paragraph(title: str, texts: Iterable[str], *, mark: str = "") -> None:
    """A title and indented text: no line of somebody else's reaches the margin, where only we write."""
    print(f"  {title}")
    for text in texts:
        for number, line in enumerate(visible_lines(text)):
            print(f"    {mark if number == 0 else ' ' * len(mark)}{line}".rstrip())


def handoff(given: Handoff, *, by: str | None, title: str = "Handoff") -> None:
    print(f"{title} from {cell(by)}")
    paragraph("Status", [given.status])
    paragraph("Next action", [given.next_action])
    if given.artifacts:
        paragraph("Artifacts", [_artifact(each) for each in given.artifacts], mark="- ")
    if given.open_questions:
        paragraph("Open questions", given.open_questions, mark="- ")
    if given.do_not:
        paragraph("Do not", given.do_not, mark="- ")


def _artifact(given: Artifact) -> str:
    where = f"{given.path}:{given.lines[0]}-{given.lines[-1]}" if given.lines else given.path
    return f"{where} ({given.role}){f': {given.note}' if given.note else ''}"


def indented(text: str) -> None:
    for line in visible_lines(text):
        print(f"    {line}".rstrip())


def answer(data: Mapping[str, object]) -> None:
    """Any operation's answer: what is known of it as pairs, lists of objects as tables, objects as blocks of pairs."""
    known = {name: value for name, value in data.items() if value not in NOTHING}
    if not any(known.get(name) is True for name in PAGING):
        known = {name: value for name, value in known.items() if name not in PAGING}
    alone = len(known) == 1
    plain = {name: value for name, value in known.items() if not isinstance(value, dict) and not _is_table(value)}
    if plain:
        pairs({name: _moment(name, value) for name, value in plain.items()})
    for name, value in known.items():
        if name in plain:
            continue
        if is_object(value):
            print(f"{visible(name)}:")
            pairs({f"  {key}": _moment(key, item) for key, item in value.items() if item not in NOTHING})
            continue
        if not alone:
            print(f"{visible(name)}:")
        rows = objects_of(value)
        headers = list(dict.fromkeys(key for row in rows for key, item in row.items() if item not in NOTHING))
        table(headers, [[_moment(key, row.get(key)) for key in headers] for row in rows])
    for name, value in data.items():
        if value == [] and not any(item for item in known.values() if item is not True):
            print(f"There are no {visible(name.replace('_', ' '))}.")


def _moment(name: str, value: object) -> object:
    """A time as a person reads it; anything else as it is."""
    is_time = isinstance(value, str) and (name in {"ts", "until"} or name.endswith("_at"))
    return output.relative_time(value) if is_time and isinstance(value, str) else value


def _is_table(value: object) -> bool:
    rows = list_of(value)
    return bool(rows) and all(isinstance(row, dict) for row in rows)
