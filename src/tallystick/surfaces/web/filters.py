"""How the page says things: times, names, colours, and text that somebody else wrote.

Text of others may have the little Markdown that agents use: `markdown-it-py` parses it, without HTML, links and
pictures. What it found is written here: every tag is a constant of this module, and all text is escaped, in an
attribute also percent-encoded, so there is nothing in it that a hostile text could use. Addresses are links, shown
whole, so that what one sees is where one goes; so are the ids, paths and names of the room.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias
from urllib.parse import quote, urlsplit

from jinja2 import pass_context
from jinja2.runtime import Context
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, list_block
from markdown_it.token import Token
from markupsafe import Markup, escape

from tallystick.capabilities.turns.events import OPENINGS
from tallystick.hub import event_text
from tallystick.kernel.caller import is_person
from tallystick.kernel.clock import Instant, from_wire, to_wire
from tallystick.kernel.errors import InvalidField

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

_LINKABLE = re.compile(
    r"(?P<url>https?://[!-;=?-_a-z~]+)"
    r"|(?<![\w@/-])(?:"
    r"(?P<thing>(?P<noun>JOB|CARD|TASK)-(?P<number>\d{1,15})(?:@(?P<at>\d{1,15}))?)(?![\w-])"
    r"|(?:notes)?@(?P<seq>\d{1,15})(?![\w@.-])"
    r"|(?P<path>(?:[\w.*-]{1,100}/){1,20}[\w*-]{0,100}\.\w{1,8})(?![\w/])"
    r"|(?P<name>[A-Za-z0-9][\w.:-]{0,127})"
    r")"
)
_AFTER = ".,;:!?)]}'*"
"""What ends a sentence around an address and is no part of it."""
_VIEWS = {"JOB": "jobs", "CARD": "cards", "TASK": "tasks"}

DEEPEST = 12
"""Lists nest up to here. The parser drops what is deeper than its own bound; ours is lower and shows it as text."""
_MARKED = re.compile(r"[`#]|\*\*|~~~|^[ \t]*(?:[-*+]|\d{1,9}[.)])\s|\d{4}-\d\d-\d\dT", re.MULTILINE)
"""Most text has none of these, and is spared the rest."""
_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?Z")
_TAGS = {
    "paragraph_open": "<p>",
    "paragraph_close": "</p>",
    "heading_open": '<p class="hd">',
    "heading_close": "</p>",
    "bullet_list_open": "<ul>",
    "bullet_list_close": "</ul>",
    "ordered_list_open": "<ol>",
    "ordered_list_close": "</ol>",
    "list_item_open": "<li>",
    "list_item_close": "</li>",
    "hr": "<p>---</p>",
}
_BOLD = {"strong_open": "<b>", "strong_close": "</b>"}


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


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkContext:
    """The room a text stands in, for the ids in it; without one only addresses elsewhere are links."""

    room_id: str = ""
    names: frozenset[str] = field(default_factory=frozenset[str])
    """What its agents are called."""


NOWHERE = LinkContext()


def _escaped(text: str) -> str:
    return str(escape(text))


def linked(text: str, place: LinkContext = NOWHERE, between: Callable[[str], str] = _escaped) -> str:
    """The text as HTML, with what can be opened as links; what stands between them is written by `between`."""
    return "".join(_pieces(text, place, between))


def _pieces(text: str, place: LinkContext, between: Callable[[str], str]) -> Iterator[str]:
    last = 0
    for found in _LINKABLE.finditer(text):
        made = _link(found, place)
        if made:
            shown, tag = made
            yield between(text[last : found.start()])
            yield f"{tag}{escape(shown)}</a>"
            last = found.start() + len(shown)
    yield between(text[last:])


def _link(found: re.Match[str], place: LinkContext) -> tuple[str, str] | None:
    """What of the match is shown, and the tag before it."""
    if found["url"]:
        return _elsewhere(found["url"])
    if not place.room_id:
        return None
    at = f"/rooms/{quote(place.room_id)}"
    if found["thing"]:
        seq = found["at"]
        href = (
            f"{at}/{_VIEWS[found['noun']]}/{found['noun']}-{int(found['number']):03d}{f'#e{int(seq)}' if seq else ''}"
        )
        return found[0], f'<a href="{href}">'
    if found["seq"]:
        return found[0], f'<a href="{at}/event/{int(found["seq"])}">'
    if found["path"]:
        return found[0], f'<a href="{at}/reservations?path={quote(found["path"], safe="")}">'
    name = found["name"].rstrip(".:")
    if name not in place.names:
        return None
    return name, f'<a href="{at}/agents/{quote(name, safe="")}">'


def _elsewhere(given: str) -> tuple[str, str] | None:
    """A web address, without what only ends the sentence; none that hides where it leads."""
    url = given.rstrip(_AFTER)
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    if not parts.hostname or "@" in parts.netloc:
        return None
    return url, f'<a class="out" href="{escape(url)}" target="_blank" rel="noopener noreferrer nofollow ugc">'


def _list(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    return state.level < DEEPEST and list_block(state, first, last, silent)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("zero", {"html": False})
    parser.enable(["heading", "list", "hr", "fence", "backticks", "emphasis"])
    parser.block.ruler.at("list", _list, {"alt": ["paragraph", "reference", "blockquote"]})
    return parser


_PARSER = _parser()


@pass_context
def prose_in(context: Context, given: object, room_id: str = "") -> Markup:
    """The template's filter: the ids in a text are those of the page's room, or of the one that is named."""
    return prose(given, _place(context, room_id))


@pass_context
def linked_in(context: Context, given: object, room_id: str = "") -> Markup:
    """The same for a line within a sentence of the page: what can be opened is a link, and all else is as it was."""
    return Markup(linked(str(visible(str(given))), _place(context, room_id)))  # noqa: S704 - escaped there


def _place(context: Context, room_id: str) -> LinkContext:
    here: LinkContext = context.get("place") or NOWHERE
    if not room_id or room_id == here.room_id:
        return here
    others: Mapping[str, LinkContext] = context.get("places") or {}
    return others.get(room_id) or LinkContext(room_id=room_id)


def prose(given: object, place: LinkContext = NOWHERE) -> Markup:
    """A text as it is shown; safe whatever it says."""
    return _rendered(str(visible(str(given))), place)


@lru_cache(maxsize=1024)
def _rendered(text: str, place: LinkContext) -> Markup:
    """Kept: a page that follows a room shows the same texts at every change."""
    plain = not _MARKED.search(text)
    html = linked(text, place) if plain else "".join(_html(_PARSER.parse(text), place))
    return Markup(html)  # noqa: S704 - made of our own tags and of escaped text


def _html(tokens: Iterable[Token], place: LinkContext) -> Iterator[str]:
    for token in tokens:
        match token.type:
            case "inline":
                yield from _html(token.children or (), place)
            case "text":
                yield linked(token.content, place, _timed)
            case "code_inline":
                yield f"<code>{linked(token.content, place)}</code>"
            case "fence":
                yield f"<pre><code>{escape(token.content.removesuffix(chr(10)))}</code></pre>"
            case "ordered_list_open" if token.attrs:
                yield f'<ol start="{int(token.attrs["start"])}">'
            case "strong_open" | "strong_close" if token.markup == "**":
                yield _BOLD[token.type]
            case name if name in _TAGS:
                yield "" if token.hidden else _TAGS[name]
            case _:
                # Underscores and single stars stand in names and patterns: __init__.py, src/*.py.
                yield str(escape(token.markup))


def _timed(text: str) -> str:
    # Escaping leaves digits alone, so a time is found in the escaped text as it was written.
    return _TIME.sub(_time_tag, str(escape(text)))


def _time_tag(found: re.Match[str]) -> str:
    try:
        return str(clock(found[0]))
    except InvalidField:
        return found[0]
