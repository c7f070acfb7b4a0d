"""What of ours stands in Claude Code's settings besides the hooks: the permission for our tools, the status line."""

from __future__ import annotations

import re
from dataclasses import replace

from tallystick.harnesses.install import json_file
from tallystick.harnesses.install.config_edit import FileDraft
from tallystick.harnesses.install.config_entries import HOOK_COMMAND, STATUS_EVENT, TallyProgram, command_of
from tallystick.kernel.json_values import list_of

PERMISSIONS = ("permissions", "allow")
STATUS_LINE = ("statusLine",)


def add_permission(draft: FileDraft, name: str) -> FileDraft:
    """Let the tools of our server, whatever it is called, run without a question."""
    rule = f"mcp__{name}"
    if rule in list_of(_at(draft.text, PERMISSIONS)):
        return draft
    return draft.inserted(*json_file.add_json(draft.text or "", PERMISSIONS, rule, to_list=True))


def remove_permission(draft: FileDraft) -> FileDraft:
    """Without the permission that `tally install` gave; one that the person gave is theirs."""
    rules = [rule for piece in (draft.receipt.pieces if draft.receipt else ()) if (rule := _rule_in(piece))]
    draft = draft.taken_back(lambda piece: _rule_in(piece) is not None).gone_if_empty()
    for rule in rules:
        holder = json_file.find_json(json_file.read_json(draft.text), PERMISSIONS) if draft.text else None
        at = next((at for at, each in enumerate(holder.members if holder else ()) if each.node.value == rule), None)
        if draft.text and holder and at is not None:
            draft = replace(draft, text=json_file.cut_json(draft.text, holder, at))
    return draft


def _rule_in(piece: str) -> str | None:
    found = re.search(r'"(mcp__[^"]+)"', piece)
    return found[1] if found and not HOOK_COMMAND.search(piece) else None


def add_status_line(draft: FileDraft, program: TallyProgram) -> FileDraft:
    """Show stick, mail and reservations below the prompt; a status line that is there already stays."""
    wanted = {"type": "command", "command": program.hook("claude", STATUS_EVENT)}
    present = _at(draft.text, STATUS_LINE)
    if present == wanted:
        return draft
    if present is not None and not HOOK_COMMAND.search(command_of(present)):
        return replace(draft, note="there is another status line, which stays")
    draft = remove_status_line(draft)
    return draft.inserted(*json_file.add_json(draft.text or "", STATUS_LINE, wanted))


def remove_status_line(draft: FileDraft) -> FileDraft:
    draft = draft.taken_back(is_status_line).gone_if_empty()
    if draft.text and HOOK_COMMAND.search(command_of(_at(draft.text, STATUS_LINE))):
        draft = replace(draft, text=json_file.removed(draft.text, STATUS_LINE))
    return draft


def is_status_line(piece: str) -> bool:
    return f"hook claude {STATUS_EVENT}" in piece


def _at(text: str | None, path: tuple[str, ...]) -> object:
    found = json_file.find_json(json_file.read_json(text), path) if text and text.strip() else None
    return found.value if found else None
