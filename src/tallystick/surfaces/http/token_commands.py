"""`tally token issue|list|revoke`: bearer tokens for agents and services that reach the hub over the network."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from tallystick.hub.hub import Hub
    from tallystick.hub.tokens import Token

_UNITS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_LASTS = re.compile(r"([1-9]\d{0,5})([mhdw])")


def main(argv: Sequence[str] | None = None) -> int:
    asked = _parser().parse_args(argv)
    # Late, so that --help costs nothing.
    from tallystick.hub.hub import Hub
    from tallystick.hub.settings import Settings
    from tallystick.kernel.errors import TallyError

    run = cast("Callable[[Hub, argparse.Namespace], dict[str, object]]", asked.run)
    data, error = dict[str, object](), None
    try:
        hub = Hub.open(Settings.of())
        try:
            data = run(hub, asked)
        finally:
            hub.close()
    except TallyError as refusal:
        error = refusal.payload()
    if asked.json:
        command = f"token {asked.verb}"
        print(json.dumps({"ok": error is None, "command": command, "data": None if error else data, "error": error}))
    elif error:
        print(f"error: {error['message']}\nhint: {error['hint']}", file=sys.stderr)
    else:
        asked.show(data)
    return 1 if error else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tally token", description="Tokens for those who reach the hub over TCP.")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="issue|list|revoke")

    issue = verbs.add_parser("issue", help="make a token and print it, this once")
    reach = issue.add_mutually_exclusive_group(required=True)
    reach.add_argument("--room", metavar="ID", help="the one room it reaches")
    reach.add_argument("--any-room", action="store_true", help="let it reach every room")
    issue.add_argument("--as", dest="principal", required=True, metavar="NAME", help="an agent, svc:NAME, or user")
    issue.add_argument("--label", default="", help="what it is for")
    issue.add_argument("--expires", metavar="7d", type=_lasts, help="how long it lasts: 30m, 12h, 7d, 4w (default: on)")
    issue.set_defaults(run=_issue, show=_show_issued)

    listing = verbs.add_parser("list", help="show all tokens, without their secrets")
    listing.set_defaults(run=_list, show=_show_list)

    revoke = verbs.add_parser("revoke", help="end a token at once")
    revoke.add_argument("id", help="as `tally token list` shows it")
    revoke.set_defaults(run=_revoke, show=_show_revoked)

    for each in (issue, listing, revoke):
        each.add_argument("--json", action="store_true", help="print one JSON envelope: ok, command, data, error")
    return parser


def _lasts(text: str) -> int:
    found = _LASTS.fullmatch(text)
    if not found:
        raise argparse.ArgumentTypeError(f"'{text}' is no duration such as 30m, 12h, 7d or 4w")
    return int(found[1]) * _UNITS[found[2]]


def _issue(hub: Hub, asked: argparse.Namespace) -> dict[str, object]:
    from tallystick.hub import tokens

    issued = tokens.issue(hub, principal=asked.principal, room_id=asked.room, label=asked.label, lasts_ms=asked.expires)
    return {**_facts(issued.token), "token": issued.secret}


def _list(hub: Hub, _asked: argparse.Namespace) -> dict[str, object]:
    from tallystick.hub import tokens

    return {"tokens": [_facts(token) for token in tokens.every_token(hub)]}


def _revoke(hub: Hub, asked: argparse.Namespace) -> dict[str, object]:
    from tallystick.hub import tokens

    return _facts(tokens.revoke(hub, asked.id))


def _facts(token: Token) -> dict[str, object]:
    from tallystick.kernel.clock import to_wire

    def shown(instant: int | None) -> str | None:
        return None if instant is None else to_wire(instant)

    return {
        "id": token.id,
        "principal": token.principal,
        "room_id": token.room_id,
        "label": token.label,
        "created_at": shown(token.created_at),
        "expires_at": shown(token.expires_at),
        "revoked_at": shown(token.revoked_at),
        "last_used_at": shown(token.last_used_at),
    }


def _show_issued(data: Mapping[str, object]) -> None:
    print(data["token"])
    print(f"This is {data['principal']}'s token {data['id']}. It is not shown again.", file=sys.stderr)


def _show_list(data: Mapping[str, object]) -> None:
    for token in cast("list[dict[str, object]]", data["tokens"]):
        state = "revoked" if token["revoked_at"] else f"until {token['expires_at']}" if token["expires_at"] else "valid"
        reach = token["room_id"] or "every room"
        print(f"{token['id']}\t{token['principal']}\t{reach}\t{state}\t{ascii(token['label'])[1:-1]}")


def _show_revoked(data: Mapping[str, object]) -> None:
    print(f"token {data['id']} of {data['principal']} is revoked")
