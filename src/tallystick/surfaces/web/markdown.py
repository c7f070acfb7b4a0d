"""Text that somebody else wrote, with the little Markdown that agents use made readable: headings, lists, code, bold.

`markdown-it-py` parses it, without HTML, links and pictures. What it found is written here: every tag is a constant
of this module or made by `links`, and all text is escaped, so there is nothing in it that a hostile text could use.
What is not rendered stays as it was written; addresses and the ids of the room are links.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from jinja2 import pass_context
from jinja2.runtime import Context
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, list_block
from markdown_it.token import Token
from markupsafe import Markup, escape

from tallystick.kernel.errors import InvalidField
from tallystick.surfaces.web import filters
from tallystick.surfaces.web.links import NOWHERE, LinkContext, linked

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
    return Markup(linked(str(filters.visible(str(given))), _place(context, room_id)))  # noqa: S704 - escaped there


def _place(context: Context, room_id: str) -> LinkContext:
    here: LinkContext = context.get("place") or NOWHERE
    if not room_id or room_id == here.room_id:
        return here
    others: Mapping[str, LinkContext] = context.get("places") or {}
    return others.get(room_id) or LinkContext(room_id=room_id)


def prose(given: object, place: LinkContext = NOWHERE) -> Markup:
    """A text as it is shown; safe whatever it says."""
    return _rendered(str(filters.visible(str(given))), place)


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
    return _TIME.sub(_time, str(escape(text)))


def _time(found: re.Match[str]) -> str:
    try:
        return str(filters.clock(found[0]))
    except InvalidField:
        return found[0]
