"""Which behaviour pack a job's prompt gets, and how long it may be: stable rules, no chance involved."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Profile(StrEnum):
    DAILY = "daily"
    STRICT = "strict"
    RESEARCH = "research"
    TEAMLEAD = "teamlead"


DEFAULT = Profile.STRICT
DEFAULT_CHARS = 1200
MOST_CHARS = 8000


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
