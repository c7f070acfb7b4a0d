"""From an address to a page: finds the view, lets it read, renders it whole or only its changing part.

Also the templates, styles and scripts as they lie in the package; addresses of files carry their content's hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import cast
from urllib.parse import parse_qs

from jinja2 import ChainableUndefined, Environment, PackageLoader
from msgspec import structs

from tallystick.hub.maintenance import DemoRooms
from tallystick.hub.serving import Serving
from tallystick.hub.visitor import Visitor
from tallystick.kernel import hints
from tallystick.kernel.caller import SessionKind
from tallystick.kernel.errors import RouteNotFound, TallyError
from tallystick.kernel.operation import Answer
from tallystick.surfaces.web import filters, history, room, rows, search, things, work
from tallystick.surfaces.web.overview import Overview
from tallystick.surfaces.web.page import PageRequest, PageView, read_page

TYPES: Mapping[str, str] = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    content: bytes
    kind: str
    mark: str
    """Changes with the content."""


@cache
def files() -> Mapping[str, File]:
    found: dict[str, File] = {}
    for entry in resources.files("tallystick.surfaces.web").joinpath("static").iterdir():
        kind = TYPES.get(entry.name.rpartition(".")[2])
        if kind:
            content = entry.read_bytes()
            found[entry.name] = File(content=content, kind=kind, mark=hashlib.sha256(content).hexdigest()[:12])
    return found


@cache
def release() -> str:
    """One mark for all files together: modules import each other by plain name, so they change address together."""
    return hashlib.sha256("".join(sorted(file.mark for file in files().values())).encode()).hexdigest()[:12]


@cache
def templates() -> Environment:
    made = Environment(
        loader=PackageLoader("tallystick.surfaces.web"),
        autoescape=True,
        undefined=ChainableUndefined,
        finalize=filters.visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # The stubs know only the filters and globals that jinja itself brings.
    cast("dict[str, object]", made.filters).update(filters.FILTERS, prose=filters.prose_in, linked=filters.linked_in)
    cast("dict[str, object]", made.tests).update(is_image=rows.is_image)
    cast("dict[str, object]", made.globals).update(static=f"/static/{release()}")
    return made


POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HTML = "text/html; charset=utf-8"
OVERVIEW = "Go to the overview at / and choose a room there."

ROOM_VIEWS: Mapping[str, Callable[..., PageView]] = {
    "": room.view,
    "sessions": room.sessions_view,
    "stick": room.stick_view,
    "history": history.view,
    "replay": history.replay,
    "reservations": work.reservations_view,
    "jobs": work.jobs_view,
    "event": history.event,
}
THINGS: Mapping[str, Callable[..., PageView]] = {
    "agents": things.agent,
    "tasks": things.task,
    "cards": things.card,
    "runners": things.runner,
    "actions": things.action,
    "blobs": things.blob,
}
"""What has a page of its own by its id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebReply:
    content: bytes
    headers: Mapping[str, str]


class Site:
    def __init__(self, serving: Serving, demo: DemoRooms | None = None) -> None:
        self._serving = serving
        self._overview = Overview(demo)

    async def get(self, visitor: Visitor, path: str, query: str, *, part: bool) -> WebReply:
        """A page, or only its changing part."""
        view, asked = self._find(path, query)
        return await self._serving.read(lambda: self._render(visitor, view, asked, part=part))

    async def act(self, visitor: Visitor, operation: str, given: Mapping[str, object], key: str | None) -> Answer:
        """Call an operation for the person at the page, whose open page stands for them as `tally hold` would."""
        caller = visitor.caller
        if caller.agent_id == "user":
            caller = replace(caller, session=SessionKind.HUMAN_GUARDIAN)
        return await self._serving.call(structs.replace(visitor, caller=caller), operation, given, key=key)

    def file(self, path: str) -> WebReply:
        """A style, script or picture."""
        mark, _, name = path.removeprefix("/static/").partition("/")
        file = files().get(name)
        if file is None:
            raise RouteNotFound(f"There is no file {name[:100]}.", hint=OVERVIEW)
        # An address with an old mark gets the present file, and is asked again next time.
        keep = "private, max-age=31536000, immutable" if mark == release() else "no-cache"
        return WebReply(content=file.content, headers={"content-type": file.kind, "cache-control": keep})

    def refusal(self, error: TallyError) -> WebReply:
        """A refusal as a page, for a browser that asked for one."""
        return _page("refused.html", part=False, error=error.payload(hints.label), path="")

    def _find(self, path: str, query: str) -> tuple[Callable[..., PageView], PageRequest]:
        fields = {name: values[-1] for name, values in parse_qs(query, max_num_fields=50).items()}
        match path.strip("/").split("/"):
            case [""]:
                return self._overview.view, PageRequest(path=path, query=fields)
            case ["waiting"]:
                return self._overview.waiting, PageRequest(path=path, query=fields)
            case ["search"]:
                return search.view, PageRequest(path=path, query=fields)
            case ["palette"]:
                return search.palette, PageRequest(path=path, query=fields)
            case ["rooms", room_id]:
                return room.view, PageRequest(path=path, query=fields, room_id=room_id)
            case ["rooms", room_id, name, *item] if name in ROOM_VIEWS or (item and name in THINGS):
                # The server has decoded the path: a slash of an id stands there like any other.
                asked = PageRequest(path=path, query=fields, room_id=room_id, item="/".join(item))
                return ROOM_VIEWS.get(name) or THINGS[name], asked
            case _:
                raise RouteNotFound(f"There is nothing at {path[:100]}.", hint=OVERVIEW)

    def _render(self, visitor: Visitor, view: Callable[..., PageView], asked: PageRequest, *, part: bool) -> WebReply:
        found = read_page(self._serving.hub, visitor, lambda snapshot: view(snapshot, asked))
        shared = {"path": asked.path, "query": asked.query, "me": visitor.caller.agent_id}
        return _page(found.template, part=part, **shared, **found.context)


def _page(template: str, *, part: bool, **context: object) -> WebReply:
    frame = "part.html" if part else "page.html"
    text = templates().get_template(template).render(frame=frame, **context)
    headers = {
        "content-type": HTML,
        "content-security-policy": POLICY,
        "referrer-policy": "same-origin",
        "vary": "tally-part",
    }
    return WebReply(content=text.encode("utf-8", "replace"), headers=headers)
