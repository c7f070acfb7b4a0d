"""How the page says things: times, names, colours, and text that somebody else wrote."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from typing import TypeAlias
from urllib.parse import quote

from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from tallystick.capabilities.turns.events import OPENINGS
from tallystick.hub import event_text
from tallystick.kernel.caller import is_person
from tallystick.kernel.clock import Instant, from_wire, to_wire

COLOURS = 11
CLIPPED = 4_000
"""Characters of one text that a list shows; the rest is one click away."""

_SPANS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))
_STATES: Mapping[str, str] = {
    "idle": "free",
    "owned": "held",
    "reserved": "kept for the next",
    "stale_owner": "holder silent",
    "owner_gone": "holder gone",
    "recipient_gone": "next one gone",
    "dormant": "nobody active",
    "closed": "closed",
}

_WORD = re.compile(r"[^\W_]+")
_HIT = re.compile("«([^«»]*)»")

Moment: TypeAlias = "str | Instant | None"


def visible(value: object) -> object:
    """What every template writes goes through here: characters that do not print are shown, not sent."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    if value.isprintable():
        return value
    return "".join(each if each.isprintable() or each in "\n\t" else _shown(each) for each in value)


def _shown(character: str) -> str:
    return ascii(character)[1:-1]


def clip(given: object, limit: int = CLIPPED) -> str:
    text = str(given)
    return text if len(text) <= limit else f"{text[:limit]}…"


def instant(moment: Moment) -> Instant:
    return from_wire(moment) if isinstance(moment, str) else moment or 0


def span(ms: float) -> str:
    """A length of time in one unit: 40 s, 22 min, 3 h."""
    for size, unit in _SPANS:
        if ms >= size:
            return f"{ms // size:.0f} {unit}"
    return "0 s"


def ago(moment: Moment, now: Instant) -> Markup:
    """A past time, relative, with the exact one on hover; the script keeps it fresh."""
    past = now - instant(moment)
    return _time(moment, "now" if past < 1_000 else f"{span(past)} ago", "ago")


def left(moment: Moment, now: Instant) -> Markup:
    """A time to come, as what is left until it."""
    rest = instant(moment) - now
    return _time(moment, f"{span(rest)} left" if rest > 0 else f"ran out {span(-rest)} ago", "left")


def clock(moment: Moment) -> Markup:
    """The time of day; the script shows it in the reader's own zone."""
    return _time(moment, to_wire(instant(moment))[11:16], "clock")


def _time(moment: Moment, text: str, form: str) -> Markup:
    exact = to_wire(instant(moment))
    # All of it is made here; formatting by `Markup` would escape each part once more, for a page full of times.
    return Markup(f'<time datetime="{exact}" title="{exact}" data-form="{form}">{text}</time>')  # noqa: S704


def initials(name: str) -> str:
    """Two letters, or a letter and a number, that tell names with the same beginning apart."""
    first, *rest = _WORD.findall(name) or ["?"]
    if not rest:
        return first[:2].lower()
    return f"{first[0]}{rest[-1][-2:] if rest[-1].isdecimal() else rest[-1][0]}".lower()


def colour(name: str) -> str:
    """The class that gives a name the same colour everywhere; grey is for people and the hub itself."""
    if name == "system" or is_person(name):
        return "c-grey"
    return f"c{zlib.crc32(name.encode('utf-8', 'replace')) % COLOURS}"


def person(agent_id: str) -> str:
    """A principal as the page calls it."""
    if agent_id.startswith("human:"):
        terminal = agent_id.rpartition(":")[2]
        return "you" if terminal == "-" else f"you at {terminal}"
    return "you" if agent_id in {"user", "@user"} else agent_id


@pass_context
def called(context: Context, agent_id: str, room_id: str = "") -> str:
    """An agent by the name that it gave itself in the room, which is easier to read than an id."""
    names: Mapping[str, Mapping[str, str]] = context.get("names") or {}
    return person(names.get(room_id or context.get("room_id") or "", {}).get(agent_id, agent_id))


def quoted(name: str) -> str:
    """As one step of an address, whatever is in it."""
    return quote(name.encode("utf-8", "replace"), safe="")


def spaced(name: str) -> str:
    """A name of ours as words."""
    return name.replace("_", " ")


def happened(event: str) -> str:
    """What an event of a job is called in its thread."""
    return event_text.JOB_WORDS.get(event, spaced(event))


def state(name: str) -> str:
    return _STATES.get(name, name)


def highlighted(snippet: str) -> Markup:
    """A search's snippet with its hits, which come as «so», as marks."""
    return Markup(_HIT.sub(r"<mark>\1</mark>", str(escape(str(visible(snippet))))))  # noqa: S704 - escaped just before


def count(number: int) -> str:
    return f"{number:,}"


FILTERS = {
    "ago": ago,
    "left": left,
    "clock": clock,
    "clip": clip,
    "span": span,
    "initials": initials,
    "colour": colour,
    "person": person,
    "called": called,
    "quoted": quoted,
    "spaced": spaced,
    "happened": happened,
    "state": state,
    "opening": OPENINGS.get,
    "highlighted": highlighted,
    "count": count,
}
