"""What has become of an installation: missing parts, doubles, paths that lead nowhere, tokens that are not valid."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tallystick.harnesses import entries, hooks_in, servers_in
from tallystick.harnesses.drafts import read
from tallystick.harnesses.entries import SERVER
from tallystick.harnesses.errors import ConfigUnreadable
from tallystick.harnesses.places import Places, Scope, places
from tallystick.harnesses.receipts import Receipts

_BEARER = re.compile(r"Bearer\s+(\S+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one harness has of ours, and what is wrong with it."""

    harness: str
    present: tuple[str, ...]
    wrong: tuple[str, ...]


def examine(
    harness: str, receipts: Receipts, *, root: Path, environ: Mapping[str, str], valid: Callable[[str], bool]
) -> Found:
    """Look at both scopes of a harness. `valid` says whether a token's secret is one of ours and still counts."""
    present, wrong, hooked = list[str](), list[str](), list[str]()
    for scope in Scope:
        where = places(harness, scope, root=root, environ=environ)
        try:
            look = _Look(harness, where, receipts)
        except ConfigUnreadable as unreadable:
            wrong.append(unreadable.message)
            continue
        present += [f"{part} ({scope.value})" for part in look.present()]
        wrong += [
            f"{scope.value}: {each}" for each in (*look.missing(), *look.twice(), *look.stale(), *look.tokens(valid))
        ]
        hooked += [scope.value] if look.ours else []
    if len(hooked) > 1:
        wrong.append("duplicated: the hooks of user and project both run")
    return Found(harness=harness, present=tuple(present), wrong=tuple(wrong))


class _Look:
    def __init__(self, harness: str, where: Places, receipts: Receipts) -> None:
        self._harness, self._where, self._receipts = harness, where, receipts
        servers = servers_in.servers(harness, read(where.servers) or "")
        self._servers = {
            name: entry
            for name, entry in servers.items()
            if entries.serves_tally(entry) or (name == SERVER and entries.reaches_tally(entry))
        }
        self.ours = hooks_in.ours(read(where.hooks) or "")

    def present(self) -> list[str]:
        return [*(["server"] if self._servers else []), *(["hooks"] if self.ours else [])]

    def missing(self) -> Iterator[str]:
        if not self._servers and self._wrote(self._where.servers, servers_in.is_server):
            yield f"missing: the server is not in {self._where.servers} any more"
        lost = {entry.event for entry in entries.HOOKS[self._harness]} - self.ours.keys()
        if lost and (self.ours or self._wrote(self._where.hooks, hooks_in.is_hook)):
            yield f"missing: the hooks {', '.join(sorted(lost))} are not in {self._where.hooks} any more"
        if (receipt := self._receipts.of(self._where.skill)) and receipt.pieces and not self._where.skill.exists():
            yield f"missing: the skill {self._where.skill} is gone"

    def _wrote(self, path: Path, kind: Callable[[str], bool]) -> bool:
        receipt = self._receipts.of(path)
        return bool(receipt) and any(kind(piece) for piece in (receipt.pieces if receipt else ()))

    def twice(self) -> Iterator[str]:
        if len(self._servers) > 1:
            yield f"duplicated: the servers {', '.join(sorted(self._servers))} are all ours"
        for event, groups in self.ours.items():
            if sum(len(entries.our_commands(group)) for group in groups) > 1:
                yield f"duplicated: the hook {event} runs more than once"

    def stale(self) -> Iterator[str]:
        hooks = [
            command for groups in self.ours.values() for group in groups for command in entries.our_commands(group)
        ]
        programs = [entries.command_of(entry) for entry in self._servers.values() if entries.serves_tally(entry)]
        for program in dict.fromkeys([*programs, *(entries.program_of(command) for command in hooks)]):
            if not shutil.which(program):
                yield f"stale path: there is no program {program}"

    def tokens(self, valid: Callable[[str], bool]) -> Iterator[str]:
        for name, entry in self._servers.items():
            if not entries.reaches_tally(entry):
                continue
            secret = _secret(entry)
            if secret is None or not valid(secret):
                lacks = "has no token" if secret is None else "has a token that is not valid"
                yield f"wrong token: the server {name} ({entries.url_of(entry)}) {lacks}"


def _secret(entry: object) -> str | None:
    """The token that an entry sends; None when it sends none. One from a variable cannot be seen and passes."""
    found = cast("Mapping[str, object]", entry)
    headers = found.get("headers") or found.get("http_headers")
    for value in cast("Mapping[str, object]", headers).values() if isinstance(headers, dict) else ():
        if bearer := _BEARER.fullmatch(str(value).strip()):
            return bearer[1]
    return "" if found.get("bearer_token_env_var") or found.get("env_http_headers") else None
