"""What `tally install` and `tally uninstall` would change: our server, our hooks and the skill that explains them."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources

from tallystick.harnesses import hooks_in, servers_in
from tallystick.harnesses.drafts import Change, Draft, Drafts
from tallystick.harnesses.entries import Program
from tallystick.harnesses.places import Places
from tallystick.harnesses.receipts import Receipts

CHANGED_BY_HAND = "it was changed by hand and stays as it is"


def skill_text() -> str:
    return resources.files("tallystick.harnesses").joinpath("skill.md").read_text("utf-8")


def install(harness: str, places: Places, program: Program, receipts: Receipts, *, hooks: bool) -> list[Change]:
    """The changes that bring our server, the skill and, if asked for, the hooks into a harness."""
    drafts = Drafts(receipts)
    drafts.edit(places.servers, "MCP server", lambda draft: servers_in.added(harness, draft, program))
    if hooks:
        drafts.edit(places.hooks, "hooks", lambda draft: hooks_in.added(harness, draft, program))
    drafts.edit(places.skill, "skill", _with_skill)
    return drafts.changes()


def uninstall(harness: str, places: Places, receipts: Receipts) -> list[Change]:
    """The changes that take our part out again, and nothing else. The hooks came last and go first."""
    drafts = Drafts(receipts)
    drafts.edit(places.hooks, "hooks", hooks_in.removed)
    drafts.edit(places.servers, "MCP server", lambda draft: servers_in.removed(harness, draft))
    drafts.edit(places.skill, "skill", _without_skill)
    return drafts.changes()


def _with_skill(draft: Draft) -> Draft:
    text = skill_text()
    if draft.text == text:
        return draft
    written = draft.receipt.pieces if draft.receipt else ()
    if draft.text is not None and (draft.text,) != written:
        return replace(draft, note=CHANGED_BY_HAND)
    if draft.receipt:
        draft = replace(draft, receipt=replace(draft.receipt, pieces=()))
    return draft.inserted(text, text)


def _without_skill(draft: Draft) -> Draft:
    if draft.text is None:
        return draft
    written = draft.receipt.pieces if draft.receipt else (skill_text(),)
    return replace(draft, text=None) if (draft.text,) == written else replace(draft, note=CHANGED_BY_HAND)
