"""What has become of an installation: missing parts, doubles, paths that lead nowhere, tokens that are not valid."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tallystick.harnesses.errors import ConfigUnreadable
from tallystick.harnesses.install import config_entries
from tallystick.harnesses.install.config_edit import InstallReceipts, read_text
from tallystick.harnesses.install.config_entries import SERVER
from tallystick.harnesses.install.plan import ConfigFiles, InstallScope, config_files
from tallystick.kernel.json_values import object_of

_BEARER = re.compile(r"Bearer\s+(\S+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftReport:
    """What one harness has of ours, and what is wrong with it."""

    harness: str
    present: tuple[str, ...]
    wrong: tuple[str, ...]


def examine(
    harness: str, receipts: InstallReceipts, *, root: Path, environ: Mapping[str, str], valid: Callable[[str], bool]
) -> DriftReport:
    """Look at both scopes of a harness. `valid` says whether a token's secret is one of ours and still counts."""
    present, wrong, hooked = list[str](), list[str](), list[str]()
    for scope in InstallScope:
        where = config_files(harness, scope, root=root, environ=environ)
        try:
            look = _Installation(harness, where, receipts)
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
    return DriftReport(harness=harness, present=tuple(present), wrong=tuple(wrong))


class _Installation:
    def __init__(self, harness: str, where: ConfigFiles, receipts: InstallReceipts) -> None:
        self._harness, self._where, self._receipts = harness, where, receipts
        servers = config_entries.servers(harness, read_text(where.servers) or "")
        self._servers = {
            name: entry
            for name, entry in servers.items()
            if config_entries.serves_tally(entry) or (name == SERVER and config_entries.reaches_tally(entry))
        }
        self.ours = config_entries.our_hooks(read_text(where.hooks) or "")

    def present(self) -> list[str]:
        return [*(["server"] if self._servers else []), *(["hooks"] if self.ours else [])]

    def missing(self) -> Iterator[str]:
        if not self._servers and self._wrote(self._where.servers, config_entries.is_server):
            yield f"missing: the server is not in {self._where.servers} any more"
        lost = {entry.event for entry in config_entries.HOOKS[self._harness]} - self.ours.keys()
        if lost and (self.ours or self._wrote(self._where.hooks, config_entries.is_hook)):
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
            if sum(len(config_entries.our_commands(group)) for group in groups) > 1:
                yield f"duplicated: the hook {event} runs more than once"

    def stale(self) -> Iterator[str]:
        hooks = [
            command
            for groups in self.ours.values()
            for group in groups
            for command in config_entries.our_commands(group)
        ]
        programs = [
            config_entries.command_of(entry) for entry in self._servers.values() if config_entries.serves_tally(entry)
        ]
        for program in dict.fromkeys([*programs, *(config_entries.program_of(command) for command in hooks)]):
            if not shutil.which(program):
                yield f"stale path: there is no program {program}"

    def tokens(self, valid: Callable[[str], bool]) -> Iterator[str]:
        for name, entry in self._servers.items():
            if not config_entries.reaches_tally(entry):
                continue
            secret = _secret(entry)
            if secret is None or not valid(secret):
                lacks = "has no token" if secret is None else "has a token that is not valid"
                yield f"wrong token: the server {name} ({config_entries.url_of(entry)}) {lacks}"


def _secret(entry: object) -> str | None:
    """The token that an entry sends; None when it sends none. One from a variable cannot be seen and passes."""
    found = object_of(entry)
    headers = found.get("headers") or found.get("http_headers")
    for value in object_of(headers).values():
        if bearer := _BEARER.fullmatch(str(value).strip()):
            return bearer[1]
    return "" if found.get("bearer_token_env_var") or found.get("env_http_headers") else None
