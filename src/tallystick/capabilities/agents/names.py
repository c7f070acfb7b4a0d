"""Names for agents: what one may look like, and a generator that never gives one out twice.

Where it starts depends only on the seed, so the same agent in the same room is offered the same name.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection

from tallystick.capabilities.agents.errors import InvalidAgentName
from tallystick.kernel.caller import reserved
from tallystick.kernel.errors import ReservedName
from tallystick.kernel.ids import digest

SHORTEST, LONGEST = 3, 48

_ADJECTIVES = """
amber ample azure bold brave bright brisk calm civil clear cobalt coral crisp daring deft eager early fair firm
fleet fond frank fresh gentle glad golden grand green hardy humble ivory jade jolly keen kind lively lucid lunar
mellow merry mild misty modest nimble noble olive opal patient plain plucky proud quiet rapid ready robust rosy ruby
russet sage sandy sharp silver sleek snowy solar solid sonic spry stable steady stout sunny swift teal tidal tidy
tranquil true umber upbeat valiant velvet vivid warm wise witty zesty
"""
_NOUNS = """
acorn anchor aspen badger beacon beaver birch bison breeze bridge brook canyon cedar cliff comet condor coral cove
crane creek delta dune eagle ember falcon fern finch fjord forest fox garden glacier grove harbor hawk hazel heron
hill island ivy juniper kestrel kite lagoon lake lantern lark laurel linden lynx maple marsh meadow mesa moon moose
oak ocean orchard osprey otter owl panda peak pebble pine plover prairie quail quarry rain raven reef ridge river
robin rook sable sparrow spruce star stone stream swan thicket tide trail tundra valley walnut willow wolf wren
"""
ADJECTIVES = tuple(_ADJECTIVES.split())
NOUNS = tuple(_NOUNS.split())

_REGISTERED = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_NAME = re.compile(r"[A-Za-z0-9]+([._-][A-Za-z0-9]+)*")


def is_registered(text: str) -> bool:
    """Whether it is a name as agents are registered under: lower case, with hyphens."""
    return SHORTEST <= len(text) <= LONGEST and _REGISTERED.fullmatch(text) is not None


def check(text: str) -> str:
    """A name for an agent, on whichever way it is set: one plain word, which cannot be taken for a sentence."""
    if len(text) > LONGEST or not _NAME.fullmatch(text):
        raise InvalidAgentName(f"{text[:80]!r} is not a name for an agent.", name=text[:200])
    if reserved(text):
        raise ReservedName(f"'{text}' is reserved.", name=text)
    return text


def check_registered(text: str) -> str:
    """A name to register under: narrower than others are, so that every registry can keep it."""
    if not is_registered(check(text)):
        raise InvalidAgentName(f"'{text}' is not a name to register under.", name=text)
    return text


def pick(taken: Collection[str], seed: str) -> str:
    """A name that is not taken; with a number once all pairs of words are."""
    used = frozenset(taken)
    count = len(ADJECTIVES) * len(NOUNS)
    start = int(digest(seed, length=12), 16)
    for round_ in itertools.count(1):
        # A stride that shares no factor with the count visits every pair, and neighbours do not look alike.
        for step in range(count):
            at = (start + step * 7919) % count
            plain = f"{ADJECTIVES[at // len(NOUNS)]}-{NOUNS[at % len(NOUNS)]}"
            name = plain if round_ == 1 else f"{plain}-{round_}"
            if name not in used:
                return name
    raise AssertionError("the numbers never end")
