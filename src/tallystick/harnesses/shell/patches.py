"""Which files a patch touches, by its headers: the `*** Update File:` form of coding agents, and unified diffs."""

from __future__ import annotations

import re

_AGENT = re.compile(r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+?)\s*$", re.MULTILINE)
_DIFF = re.compile(r"^(?:--- |\+\+\+ |rename from |rename to |copy to )(.+?)(?:\t.*)?$", re.MULTILINE)
_HUNK = re.compile(r"^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@.*$", re.MULTILINE)
_QUOTED = re.compile(r'"(.*)"')


def files(text: str) -> list[str]:
    """The files in the order of their first mention, each once; relative as the patch has them."""
    found = _AGENT.findall(text)
    if not found:
        found = [path for line in _DIFF.findall(_without_hunks(text)) if (path := _in_diff(line))]
    return list(dict.fromkeys(found))


def _without_hunks(text: str) -> str:
    """A removed line that begins with `-- ` looks like a header; the hunk's own count says where it ends."""
    kept, at = list[str](), 0
    while hunk := _HUNK.search(text, at):
        kept.append(text[at : hunk.start()])
        old, new = (int(count or 1) for count in hunk.groups())
        at = hunk.end() + 1
        while (old > 0 or new > 0) and at < len(text):
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            mark = text[at : at + 1]
            old -= mark in {"-", " ", "", "\n"}
            new -= mark in {"+", " ", "", "\n"}
            at = end + 1
    return "".join([*kept, text[at:]])


def _in_diff(name: str) -> str:
    if quoted := _QUOTED.fullmatch(name):
        name = quoted[1].replace('\\"', '"').replace("\\\\", "\\")
    if name == "/dev/null":
        return ""
    return name[2:] if name.startswith(("a/", "b/")) else name
