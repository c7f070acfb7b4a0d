"""`/v1/<operation>`: POST with a JSON body for every operation, GET with a query for those that only read."""

from __future__ import annotations

import re
from typing import cast

import msgspec
from starlette.types import Receive, Scope, Send

from tallystick.hub import registry
from tallystick.hub.engine import Request
from tallystick.hub.serving import Serving
from tallystick.kernel.errors import InvalidField
from tallystick.kernel.operation import AnyOperation
from tallystick.surfaces.http import query
from tallystick.surfaces.http.errors import MethodNotAllowed, WrongMediaType
from tallystick.surfaces.http.keyring import Keyring
from tallystick.surfaces.http.limits import Allowances, Limits
from tallystick.surfaces.http.visit import Visit, answer, body, visit_of, while_welcome

_KEY = re.compile(rb"[\x21-\x7e]{1,200}")
_decode = msgspec.json.Decoder().decode


class Calls:
    def __init__(self, serving: Serving, keyring: Keyring, limits: Limits, allowances: Allowances) -> None:
        self._serving, self._keyring, self._limits, self._allowances = serving, keyring, limits, allowances

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        operation = registry.find(scope["path"].removeprefix("/v1/"))
        visit = visit_of(scope)
        visit.operation = operation.name
        given = await self._given(operation, visit, scope, receive)
        key = key_of(visit) if operation.writes else None
        request = Request(visitor=visit.visitor, operation=operation.name, given=given, key=key, with_notices=True)
        work = self._serving.respond(request)
        if operation.waits:
            principal = visit.visitor.caller.agent_id
            with self._allowances.stream(principal), self._keyring.minding(visit.visitor) as revoked:
                response = await while_welcome(receive, revoked, work)
        else:
            response = await work
        notices = [(b"tally-notice", notice.encode()) for notice in response.notices]
        await answer(send, response.answer.to_json(), *notices)

    async def _given(self, operation: AnyOperation, visit: Visit, scope: Scope, receive: Receive) -> dict[str, object]:
        if scope["method"] == "POST":
            return decoded(visit, await body(scope, receive, self._limits.body_bytes))
        if only_reads(operation) and scope["method"] in {"GET", "HEAD"}:
            return query.read(operation.ask, scope["query_string"])
        allow = "GET, HEAD, POST" if only_reads(operation) else "POST"
        raise MethodNotAllowed(f"{operation.name} takes {allow}.", allow=allow)


def only_reads(operation: AnyOperation) -> bool:
    return not operation.writes and not operation.waits


def decoded(visit: Visit, content: bytes) -> dict[str, object]:
    """The JSON object in a body; no body at all is an empty one."""
    if not content:
        return {}
    if visit.head.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
        raise WrongMediaType
    try:
        given = cast("object", _decode(content))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
        raise InvalidField(f"The body is not JSON: {wrong}.") from wrong
    if not isinstance(given, dict):
        raise InvalidField("The body must be a JSON object with the operation's fields.")
    return cast("dict[str, object]", given)


def key_of(visit: Visit) -> str | None:
    given = visit.head.get(b"idempotency-key")
    if given is None:
        return None
    if not _KEY.fullmatch(given):
        raise InvalidField(
            "Idempotency-Key must be 1 to 200 visible ASCII characters without spaces.", field="Idempotency-Key"
        )
    return given.decode()
