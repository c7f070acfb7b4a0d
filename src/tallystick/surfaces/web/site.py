"""From an address to a page: finds the view, lets it look, renders it whole or only its changing part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, unquote

from msgspec import structs

from tallystick.hub.serving import Serving
from tallystick.hub.tokens_reach import Visitor
from tallystick.kernel.caller import SessionKind
from tallystick.kernel.errors import RouteNotFound, TallyError
from tallystick.kernel.operation import Answer
from tallystick.surfaces.web import assets, history, jobs, replay, reservations, room, sessions
from tallystick.surfaces.web.asked import Asked, View
from tallystick.surfaces.web.overview import Overview
from tallystick.surfaces.web.snapshot import look

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HTML = "text/html; charset=utf-8"
OVERVIEW = "Go to the overview at / and choose a room there."

ROOM_VIEWS: Mapping[str, Callable[..., View]] = {
    "": room.view,
    "sessions": sessions.view,
    "history": history.view,
    "replay": replay.view,
    "reservations": reservations.view,
    "jobs": jobs.view,
    "event": history.event,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    content: bytes
    headers: Mapping[str, str]


class Site:
    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._overview = Overview()

    async def get(self, visitor: Visitor, path: str, query: str, *, part: bool) -> Reply:
        """A page, or only its changing part."""
        view, asked = self._find(path, query)
        return await self._serving.read(lambda: self._render(visitor, view, asked, part=part))

    async def act(self, visitor: Visitor, operation: str, given: Mapping[str, object], key: str | None) -> Answer:
        """Call an operation for the person at the page, whose open page stands for them as `tally hold` would."""
        caller = visitor.caller
        if caller.agent_id == "user":
            caller = replace(caller, session=SessionKind.HUMAN_GUARDIAN)
        return await self._serving.call(structs.replace(visitor, caller=caller), operation, given, key=key)

    def file(self, path: str) -> Reply:
        """A style, script or picture."""
        mark, _, name = path.removeprefix("/static/").partition("/")
        file = assets.files().get(name)
        if file is None:
            raise RouteNotFound(f"There is no file {name[:100]}.", hint=OVERVIEW)
        # An address with an old mark gets the present file, and is asked again next time.
        keep = "private, max-age=31536000, immutable" if mark == assets.release() else "no-cache"
        return Reply(content=file.content, headers={"content-type": file.kind, "cache-control": keep})

    def refusal(self, error: TallyError) -> Reply:
        """A refusal as a page, for a browser that asked for one."""
        return _page("refused.html", part=False, error=error.payload(), path="")

    def _find(self, path: str, query: str) -> tuple[Callable[..., View], Asked]:
        fields = {name: values[-1] for name, values in parse_qs(query, max_num_fields=50).items()}
        match [unquote(step) for step in path.strip("/").split("/")]:
            case [""]:
                return self._overview.view, Asked(path=path, query=fields)
            case ["rooms", room_id]:
                return room.view, Asked(path=path, query=fields, room_id=room_id)
            case ["rooms", room_id, name] if name in ROOM_VIEWS:
                return ROOM_VIEWS[name], Asked(path=path, query=fields, room_id=room_id)
            case ["rooms", room_id, name, item] if name in ROOM_VIEWS:
                return ROOM_VIEWS[name], Asked(path=path, query=fields, room_id=room_id, item=item)
            case _:
                raise RouteNotFound(f"There is nothing at {path[:100]}.", hint=OVERVIEW)

    def _render(self, visitor: Visitor, view: Callable[..., View], asked: Asked, *, part: bool) -> Reply:
        found = look(self._serving.hub, visitor, lambda snapshot: view(snapshot, asked))
        shared = {"path": asked.path, "query": asked.query, "me": visitor.caller.agent_id}
        return _page(found.template, part=part, **shared, **found.context)


def _page(template: str, *, part: bool, **context: object) -> Reply:
    frame = "part.html" if part else "page.html"
    text = assets.templates().get_template(template).render(frame=frame, **context)
    headers = {
        "content-type": HTML,
        "content-security-policy": POLICY,
        "referrer-policy": "same-origin",
        "vary": "tally-part",
    }
    return Reply(content=text.encode("utf-8", "replace"), headers=headers)
