"""Behaviour packs: a few rules of conduct for a prompt. The first lines matter most, so that cutting hurts least."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Profile(StrEnum):
    DAILY = "daily"
    STRICT = "strict"
    RESEARCH = "research"
    TEAMLEAD = "teamlead"


DEFAULT = Profile.STRICT
DEFAULT_CHARS = 1200
MOST_CHARS = 8000
VERSION = "1"
CUT = "…"

_SHARED = """\
[WORKING LOOP]
Look before you change: read the job, its thread and the refs it names. Take the smallest step that can be
checked, check it, then write down what you learned where it lasts: a card or a note, not only your answer.
Do not touch what another agent has reserved; ask instead.

[PROOF]
A claim counts when somebody else can check it. Name the things that hold your result (CARD-…, notes@…, FILE:
path) and how you checked it (CMD: pytest -q (exit 0), LINK: …). Never invent a ref.
"""

_OWN: Mapping[Profile, str] = {
    Profile.DAILY: """\
[DAILY]
Go the straight way: understand, change, check, report. When you are lost, stop and re-read the job and its
thread before you try anything new. Prefer one finished thing to three begun ones.
""",
    Profile.STRICT: """\
[STRICT]
Work against the definition of done, point by point. One change at a time; run the checks that belong to it
before the next. If you must deviate, say so in an event with the reason and the risk. DONE means: every point
is met and proven. Anything less is CONTINUE.
""",
    Profile.RESEARCH: """\
[RESEARCH]
Begin with a question and the answer you expect; name what would prove you wrong and look for that first. Keep
what you saw apart from what you conclude, with the source of each. Stop when the question is decided or the
next finding would no longer change the decision, and say which of the two it was.
""",
    Profile.TEAMLEAD: """\
[TEAMLEAD]
Split the work into three to ten jobs that do not touch the same files, each with its own definition of done.
Watch the radar, answer questions before anything else, and trust only explicit liveness: a runner with a lease
is there, any other is not. Accept DONE only with proof. At the end bring everything together in one merge
report with the open risks.
""",
}

PACKS: Mapping[Profile, str] = MappingProxyType(
    {profile: f"skill profile={profile} version={VERSION}\n\n{own}\n{_SHARED}" for profile, own in _OWN.items()}
)


def pack(profile: Profile, max_chars: int) -> str:
    """The pack, cut to the budget at the end of a line where that leaves most of it; a budget of 0 gives nothing."""
    whole = PACKS[profile].strip()
    if len(whole) <= max_chars:
        return whole
    if max_chars <= len(CUT):
        return ""
    kept = whole[: max_chars - len(CUT)]
    head, newline, _ = kept.rpartition("\n")
    return f"{head if newline and len(head) * 2 > len(kept) else kept.rstrip()}{CUT}"


def chosen(meta: Mapping[str, object], kind: str, default: Profile = DEFAULT) -> Profile:
    """What the job asks for, else what its kind suggests, else the runner's own default."""
    asked = meta.get("skill_profile")
    if isinstance(asked, str) and asked in set(Profile):
        return Profile(asked)
    return Profile.RESEARCH if "research" in kind.lower() else default


def budget(meta: Mapping[str, object], default: int = DEFAULT_CHARS) -> int:
    """How many characters of the pack go into the prompt; 0 means none."""
    asked = meta.get("skill_max_chars")
    wanted = asked if isinstance(asked, int) and not isinstance(asked, bool) else default
    return min(max(wanted, 0), MOST_CHARS)
