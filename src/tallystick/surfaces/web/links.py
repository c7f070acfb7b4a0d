"""What in a text can be opened: addresses elsewhere, and the ids, paths and names of a room.

Text comes in as it was written and goes out escaped. Every tag is made here; what stands in an attribute is escaped or
percent-encoded. An address is shown whole, so that what one sees is where one goes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from markupsafe import escape

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
