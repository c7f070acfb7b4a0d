"""Blobs as plain bytes: in at `/v1/blobs.put?room_id=…`, out at `/v1/blobs/<sha256>`, streamed both ways."""

from __future__ import annotations

from contextlib import ExitStack
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tallystick.capabilities.blobs.contract import PICTURES, DescribeBlob
from tallystick.hub import blobs, registry
from tallystick.hub.blobs import SIZE_LIMIT, Content, StoredBlob
from tallystick.hub.serving import Serving
from tallystick.hub.visitor import permit
from tallystick.kernel.errors import TooLarge
from tallystick.surfaces.http import calls
from tallystick.surfaces.http.errors import MethodNotAllowed, NoSuchRange
from tallystick.surfaces.http.request_context import ClientGone, answer, context_of

CHUNK = 1024 * 1024
SHOWN = PICTURES | {"text/plain"}
"""Types that a browser may show in place; everything else is offered as a download."""


class BlobUpload:
    """Takes raw bytes; a JSON call of the operation `blobs.put` goes on to where all operations go."""

    def __init__(self, serving: Serving, calls: ASGIApp) -> None:
        self._serving, self._calls = serving, calls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "PUT" and not scope["query_string"]:
            await self._calls(scope, receive, send)
            return
        context = context_of(scope)
        context.operation = "blobs.put"
        if scope["method"] not in {"PUT", "POST"}:
            raise MethodNotAllowed("blobs.put takes PUT and POST.", allow="PUT, POST")
        ask = blobs.describe(calls.read(DescribeBlob, scope["query_string"]))
        permit(context.visitor, registry.find("blobs.put"), {"room_id": ask.room_id})
        declared = context.head.get(b"content-length", b"")
        if declared.isdigit() and int(declared) > SIZE_LIMIT:
            raise TooLarge(f"A blob has at most {SIZE_LIMIT} bytes.", limit=SIZE_LIMIT)
        await self._serving.read(lambda: blobs.check_room(self._serving.hub, ask.room_id))
        content = await self._take_in(receive)
        caller = context.visitor.caller
        stored = await self._serving.write(lambda tx: blobs.put(tx, caller, ask, content), ask.room_id)
        await answer(send, stored.to_json())

    async def _take_in(self, receive: Receive) -> Content:
        """Write the body to a file as it comes in, a megabyte at a time and never on the event loop."""
        read = self._serving.read
        with ExitStack() as stack:
            part = await read(lambda: stack.enter_context(self._serving.hub.blobs.incoming()))
            more, waiting = True, bytearray()
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                waiting += message.get("body", b"")
                more = bool(message.get("more_body"))
                if len(waiting) >= CHUNK or not more:
                    chunk, waiting = bytes(waiting), bytearray()
                    await read(lambda part=part, chunk=chunk: part.write(chunk))
            return await read(part.finish)


class BlobDownload:
    def __init__(self, serving: Serving) -> None:
        self._serving = serving

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        context = context_of(scope)
        context.operation = "blobs.get"
        if scope["method"] not in {"GET", "HEAD"}:
            raise MethodNotAllowed("A blob takes GET.", allow="GET, HEAD")
        sha256: str = scope["path_params"]["sha256"]
        room_id = Request(scope).query_params.get("room_id", context.visitor.room_id)
        if room_id is not None:
            context.visitor.may_see(room_id)
        hub = self._serving.hub
        found = await self._serving.read(lambda: blobs.find(hub, room_id, sha256))
        response = _unchanged(found, context.head.get(b"if-none-match", b"")) or _file(found)

        async def checked(message: Message) -> None:
            # The file's response answers a range that it does not like by itself, in plain text.
            if message.get("status") in {400, 416}:
                size = found.blob.size
                raise NoSuchRange(f"The content has {size} bytes, and no such part.", size=size)
            await send(message)

        await response(scope, receive, checked)


def _etag(found: StoredBlob) -> str:
    return f'"{found.blob.sha256}"'


def _unchanged(found: StoredBlob, seen: bytes) -> Response | None:
    if _etag(found).encode() not in [tag.strip().removeprefix(b"W/") for tag in seen.split(b",")]:
        return None
    return Response(status_code=304, headers={"etag": _etag(found)})


def _file(found: StoredBlob) -> Response:
    """The content with its type. Its name is somebody's text and travels encoded; a hash never changes its content."""
    kind = found.blob.mime_type
    placement = "inline" if kind in SHOWN else "attachment"
    name = f"; filename*=UTF-8''{quote(found.blob.name, safe='')}" if found.blob.name else ""
    return FileResponse(
        found.path,
        media_type=f"{kind}; charset=utf-8" if kind == "text/plain" else kind,
        headers={
            "content-disposition": placement + name,
            "content-security-policy": "default-src 'none'; sandbox",
            "cache-control": "private, max-age=31536000, immutable",
            "etag": _etag(found),
        },
    )
