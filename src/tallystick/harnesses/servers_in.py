"""Our MCP server in a harness's configuration, whichever of the two formats that is in."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from tallystick.harnesses import config_json, config_toml, entries
from tallystick.harnesses.drafts import Draft
from tallystick.harnesses.entries import SERVER, Program
from tallystick.harnesses.errors import ConfigTaken

TABLES = {"claude": "mcpServers", "codex": "mcp_servers", "gemini": "mcpServers"}


def servers(harness: str, text: str) -> Mapping[str, object]:
    """The MCP servers that a configuration names."""
    if not text.strip():
        return {}
    whole: object = config_toml.read(text) if harness == "codex" else config_json.read(text).value
    found = cast("dict[str, object]", whole).get(TABLES[harness]) if isinstance(whole, dict) else None
    return cast("dict[str, object]", found) if isinstance(found, dict) else {}


def added(harness: str, draft: Draft, program: Program) -> Draft:
    """With our server, unless one is there that works; one of ours that no longer does is written anew."""
    wanted = entries.server(harness, program)
    present = servers(harness, draft.text or "").get(SERVER)
    if present == wanted or entries.reaches_tally(present):
        return draft
    if present is not None:
        if not entries.serves_tally(present):
            raise ConfigTaken(f"{draft.path} has a server called '{SERVER}' that is not ours.", path=str(draft.path))
        if draft.receipt is None and shutil.which(entries.command_of(present)):
            return replace(draft, note=f"the server '{SERVER}' was there already and works")
        draft = _without(harness, draft.taken_back(is_server))
    path, text = (TABLES[harness], SERVER), draft.text or ""
    if harness == "codex":
        return draft.inserted(*config_toml.added(text, path, cast("dict[str, str | list[str]]", wanted)))
    return draft.inserted(*config_json.added(text, path, wanted))


def removed(harness: str, draft: Draft) -> Draft:
    """Without what `tally install` has written; an entry that somebody else made is left, and said to be."""
    known = draft.receipt is not None
    draft = draft.taken_back(is_server).gone_if_empty()
    present = servers(harness, draft.text or "").get(SERVER)
    if not entries.serves_tally(present):
        return draft
    if not known and not _as_written(harness, present):
        return replace(draft, note=f"the server '{SERVER}' is not from `tally install`: take it out by hand")
    return _without(harness, draft)


def _without(harness: str, draft: Draft) -> Draft:
    if draft.text is None or SERVER not in servers(harness, draft.text):
        return draft
    remove = config_toml.removed if harness == "codex" else config_json.removed
    return replace(draft, text=remove(draft.text, (TABLES[harness], SERVER)))


def is_server(piece: str) -> bool:
    """Of our pieces, the one that is a server and not a hook."""
    return f'"{SERVER}"' in piece or f".{SERVER}]" in piece


def _as_written(harness: str, present: object) -> bool:
    """Whether an entry has only what `tally install` writes, as in a project where somebody else ran it."""
    keys = set(entries.server(harness, Program(path="tally", forward=("-",))))
    return isinstance(present, dict) and set(cast("dict[str, object]", present)) <= keys
