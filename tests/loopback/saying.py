"""What a scripted model is asked and what it says, free of any vendor's words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request of a harness to its model."""

    prompt: str
    """All that the person, or the program in their place, has written in this conversation."""
    turn: int
    """How often the model has spoken in this conversation before."""
    results: tuple[str, ...]
    """What the tools used so far have returned, oldest first."""
    tools: tuple[str, ...]
    """The names of the tools it may use; of one within a namespace `namespace.name`."""
    told: str = ""
    """What the harness itself says in the conversation, such as the words of a hook or the list of skills."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """Plain words, which end the harness's turn."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """A call of a tool, whose result comes back with the next request."""

    tool: str
    given: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Give:
    """The structured answer that the harness was told to ask for; it ends the turn."""

    answer: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """An error of the model's server instead of an answer."""

    status: int
    message: str


Answer: TypeAlias = "Say | Use | Give"
Saying: TypeAlias = "Answer | Refuse"
Script: TypeAlias = Callable[[Ask], Saying]


def lines(*sayings: Saying) -> Script:
    """A model that says one thing after the other, and repeats the last."""
    return lambda ask: sayings[min(ask.turn, len(sayings) - 1)]
