"""What the models of attached agents say in the stories: lines by what they are asked, whoever says them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamLine:
    asked: str
    """Words of what is asked."""
    says: str = ""
    runs: str = ""
    """A command that it wants to run before it says that."""
    once: str = ""
    """A file in the agent's folder without which it says nothing."""


NEVER = "never"

LINES = (
    TeamLine(asked="How should we mend it?", says="An empty cart costs nothing: drop the division, it does no good."),
    TeamLine(
        asked="Mend cart.py like that.",
        runs=r"printf 'def total(prices):\n    return sum(prices)\n' > cart.py",
        says="cart.py adds up the prices and divides by nothing.",
    ),
    TeamLine(asked="Push it.", runs="git push", says="I wanted to push it."),
    TeamLine(asked="not before I have looked", says="It waits for you: nothing was pushed."),
    TeamLine(asked="Count to a million.", once=NEVER),
    TeamLine(asked="What is the first thing?", says="The first thing is the cart.", once="both-asked"),
    TeamLine(asked="What is the second thing?", says="The second thing is a test."),
    TeamLine(asked="Is main green?", says="It is green."),
    TeamLine(asked="What did you mend?", says="The division in cart.py."),
)


def line_for(prompt: str) -> TeamLine | None:
    """The line for what is asked last in all that was said."""
    found = max(LINES, key=lambda line: prompt.rfind(line.asked))
    return found if found.asked in prompt else None
