"""Our hooks in a harness's settings: put in once, found again in whatever group they stand, and taken out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from tallystick.harnesses import config_json, entries
from tallystick.harnesses.drafts import Draft
from tallystick.harnesses.entries import HOOKS, Program


def added(harness: str, draft: Draft, program: Program) -> Draft:
    """Each of our hooks once, as it is written today; what an older install or a copy left behind goes."""
    wanted = {entry.event: entries.group(harness, entry, program) for entry in HOOKS[harness]}
    if ours(draft.text or "") == {event: [group] for event, group in wanted.items()}:
        return draft
    draft = removed(draft)
    for event, group in wanted.items():
        draft = draft.inserted(*config_json.added(draft.text or "", ("hooks", event), group, to_list=True))
    return draft


def removed(draft: Draft) -> Draft:
    draft = draft.taken_back(is_hook).gone_if_empty()
    while draft.text and (found := _first(draft.text)):
        draft = replace(draft, text=config_json.cut(draft.text, *found))
    return draft


def is_hook(piece: str) -> bool:
    """Of our pieces, those that are hooks."""
    return bool(entries.HOOK_COMMAND.search(piece))


def ours(text: str) -> dict[str, list[object]]:
    """The groups that hold a command of ours, by event."""
    found = {event: [group for group in each if entries.our_commands(group)] for event, each in groups(text).items()}
    return {event: each for event, each in found.items() if each}


def groups(text: str) -> Mapping[str, list[object]]:
    """The groups of hooks that settings hold, by event."""
    if not text.strip():
        return {}
    hooks = config_json.find(config_json.read(text), ("hooks",))
    found = cast("dict[str, object]", hooks.value) if hooks and isinstance(hooks.value, dict) else {}
    return {event: cast("list[object]", each) for event, each in found.items() if isinstance(each, list)}


def _first(text: str) -> tuple[config_json.Node, int] | None:
    """Where our first command stands: the list and its place there. A group that holds nothing else goes whole."""
    root = config_json.read(text)
    for event in ours(text):
        holder = config_json.find(root, ("hooks", event))
        for index, member in enumerate(holder.members if holder else ()):
            commands = entries.our_commands(member.node.value)
            inside = config_json.find(member.node, ("hooks",))
            if holder and inside and commands:
                if len(commands) == len(inside.members):
                    return holder, index
                each = [entries.command_of(hook.node.value) in commands for hook in inside.members]
                return inside, each.index(True)
    return None
