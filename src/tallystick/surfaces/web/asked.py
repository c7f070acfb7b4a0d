"""What a browser asked for, and what a view gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    path: str
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    room_id: str = ""
    item: str = ""

    def number(self, name: str) -> int | None:
        """A count or seq of the query; anything else counts as not given."""
        text = self.query.get(name, "")
        return int(text) if text.isdecimal() and len(text) < 19 else None

    def word(self, name: str) -> str:
        return self.query.get(name, "").strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    template: str
    context: Mapping[str, object]
