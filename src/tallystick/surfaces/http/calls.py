"""`/v1/<operation>`: POST with a JSON body for every operation, GET with a query for those that only read.

Blobs are plain bytes as well: in at `/v1/blobs.put?room_id=…`, out at `/v1/blobs/<sha256>`, streamed both ways.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cache
from urllib.parse import parse_qsl, quote

import msgspec
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tallystick.capabilities.blobs.contract import PICTURES, DescribeBlob
from tallystick.hub import blobs, registry
from tallystick.hub.blobs import SIZE_LIMIT, Content, StoredBlob
from tallystick.hub.engine import CallRequest
from tallystick.hub.serving import Serving
from tallystick.hub.visitor import permit
from tallystick.kernel import hints, inputs
from tallystick.kernel.envelope import too_deep
from tallystick.kernel.errors import InvalidField, TooLarge
from tallystick.kernel.inputs import Schema
from tallystick.kernel.json_values import is_object, why_no_json
from tallystick.kernel.operation import AnyOperation, Ask, Reach
from tallystick.surfaces.http.authentication import TokenCache
from tallystick.surfaces.http.errors import MethodNotAllowed, NoSuchRange, WrongMediaType, spelling
from tallystick.surfaces.http.middleware import Allowances, Limits
from tallystick.surfaces.http.request_context import ClientGone, RequestContext, answer, body, context_of, while_welcome

_KEY = re.compile(rb"[\x21-\x7e]{1,200}")
_decode = msgspec.json.Decoder().decode

CHUNK = 1024 * 1024
SHOWN = PICTURES | {"text/plain"}
"""Types that a browser may show in place; everything else is offered as a download."""


class Calls:
    def __init__(self, serving: Serving, tokens: TokenCache, limits: Limits, allowances: Allowances) -> None:
        self._serving, self._tokens, self._limits, self._allowances = serving, tokens, limits, allowances

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        operation = registry.find(scope["path"].removeprefix("/v1/"))
        context = context_of(scope)
        context.operation = operation.name
        given = await self._given(operation, context, scope, receive)
        key = key_of(context) if operation.writes else None
        request = CallRequest(
            visitor=context.visitor, operation=operation.name, given=given, key=key, with_notices=True
        )
        work = self._serving.respond(request)
        if operation.waits:
            principal = context.visitor.caller.agent_id
            with self._allowances.stream(principal), self._tokens.until_revoked(context.visitor) as revoked:
                response = await while_welcome(receive, revoked, work)
        else:
            response = await work
        said = spelling(scope["path"], context.head)
        told = [hints.said(each, said, {hints.ROOM: response.room_id}) for each in response.notices]
        notices = [(b"tally-notice", each.encode()) for each in told]
        await answer(send, response.answer.to_json(), *notices)

    async def _given(
        self, operation: AnyOperation, context: RequestContext, scope: Scope, receive: Receive
    ) -> dict[str, object]:
        if scope["method"] == "POST":
            return decoded(context, await body(scope, receive, self._limits.body_bytes))
        if only_reads(operation) and scope["method"] in {"GET", "HEAD"}:
            given = read(operation.ask, scope["query_string"])
            if more := sorted(operation.ask.reaches.keys() & given.keys()):
                raise MethodNotAllowed(f"{operation.name} with {more[0]} takes POST: it writes.", allow="POST")
            return given
        allow = "GET, HEAD, POST" if only_reads(operation) else "POST"
        raise MethodNotAllowed(f"{operation.name} takes {allow}.", allow=allow)


def only_reads(operation: AnyOperation) -> bool:
    """Whether it can be asked by address alone; what a field of it may write besides is refused there."""
    return not operation.writes and (not operation.waits or operation.reach is Reach.READ)


def decoded(context: RequestContext, content: bytes) -> dict[str, object]:
    """The JSON object in a body; no body at all is an empty one."""
    if not content:
        return {}
    if context.head.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
        raise WrongMediaType
    try:
        given: object = _decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as wrong:
        raise InvalidField(f"The body is not JSON: {why_no_json(content, wrong)}.") from wrong
    except RecursionError as wrong:
        raise too_deep() from wrong
    if not is_object(given):
        raise InvalidField("The body must be a JSON object with the operation's fields.")
    return given


def key_of(context: RequestContext) -> str | None:
    given = context.head.get(b"idempotency-key")
    if given is None:
        return None
    if not _KEY.fullmatch(given):
        raise InvalidField(
            "Idempotency-Key must be 1 to 200 visible ASCII characters without spaces.", field="Idempotency-Key"
        )
    return given.decode()


_TRUTH = {"true": True, "1": True, "false": False, "0": False}
MOST_PAIRS = 1000


def read(ask: type[Ask], query: bytes) -> dict[str, object]:
    """The input that a query string spells. Unknown names are left to the model, which suggests the right one."""
    kinds = kinds_of(ask)
    given: dict[str, object] = {}
    lists: dict[str, list[object]] = {}
    for name, text in pairs(query):
        kind = kinds.get(name, "string")
        if kind.startswith("array:"):
            given[name] = values = lists.setdefault(name, [])
            values.append(_value(name, kind.removeprefix("array:"), text))
        elif name in given:
            raise InvalidField(f"{name} is given twice.", field=name)
        else:
            given[name] = _value(name, kind, text)
    return given


def pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_PAIRS, encoding="utf-8"
        )
    except ValueError as wrong:  # UnicodeDecodeError is one
        raise InvalidField(f"The query cannot be read: {wrong}.") from wrong


@cache
def kinds_of(ask: type[Ask]) -> Mapping[str, str]:
    """Each field's JSON type; a list's as `array:` and the type of its items."""
    schema = inputs.schema_of(ask)
    properties: dict[str, Schema] = schema.get("properties", {})
    return {name: _kind(each) for name, each in properties.items()}


def _kind(schema: Schema) -> str:
    parts: list[Schema] = schema.get("anyOf", [])
    for part in parts:
        if part.get("type") != "null":
            return _kind(part)
    kind: str = schema.get("type", "string")
    return f"array:{_kind(schema['items'])}" if kind == "array" else kind


def _value(name: str, kind: str, text: str) -> object:
    match kind:
        case "integer":
            if not text.removeprefix("-").isascii() or not text.removeprefix("-").isdigit() or len(text) > 20:
                raise InvalidField(f"{name}: '{text[:40]}' is not a whole number.", field=name)
            return int(text)
        case "boolean":
            if text.lower() not in _TRUTH:
                raise InvalidField(f"{name}: '{text[:40]}' is neither true nor false.", field=name)
            return _TRUTH[text.lower()]
        case "object" | "number":
            try:
                return msgspec.json.decode(text)
            except msgspec.DecodeError as wrong:
                raise InvalidField(f"{name}: '{text[:40]}' is not JSON.", field=name) from wrong
        case _:
            return text


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
        ask = blobs.describe(read(DescribeBlob, scope["query_string"]))
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
        aside = self._serving.read
        with ExitStack() as stack:
            part = await aside(lambda: stack.enter_context(self._serving.hub.blobs.incoming()))
            more, waiting = True, bytearray()
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                waiting += message.get("body", b"")
                more = bool(message.get("more_body"))
                if len(waiting) >= CHUNK or not more:
                    chunk, waiting = bytes(waiting), bytearray()
                    await aside(lambda part=part, chunk=chunk: part.write(chunk))
            return await aside(part.finish)


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
