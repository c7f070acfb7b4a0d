"""The text of the play: the files that are edited, what the agents say, and the cues the director acts on."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

CAST: tuple[str, ...] = ("ada", "bo", "cleo")
DID = "x.demo.did"
SAW = "x.demo.saw"
KILLED = "x.demo.killed"


class Cue(StrEnum):
    """What the director waits for."""

    HALF_WRITTEN = "half_written"
    """bo is in the middle of a line: kill him."""
    HISTORY_READ = "history_read"
    """cleo knows what went before: the person at the keyboard has a wish."""


README = """\
# The light at Skerry Point

The chart calls it Fl(3) 12s: three flashes, then dark, every twelve seconds, all night.
"""

LAMP = '''\
"""The lamp of Skerry Point: Fl(3) 12s."""

FLASHES = (0, 3, 6)
PERIOD = 12


def lit(second: int) -> bool:
    """Whether the lamp is lit at this second of the night."""
    return second in FLASHES
'''

TEST_LAMP = """\
import unittest

from lamp import lit


class Lamp(unittest.TestCase):
    def test_it_flashes_three_times(self) -> None:
        self.assertEqual([s for s in range(12) if lit(s)], [0, 3, 6])

    def test_it_flashes_again_in_the_next_round(self) -> None:
        self.assertEqual([s for s in range(12, 24) if lit(s)], [12, 15, 18])
"""

HALF_A_LAMP = LAMP.replace("    return second in FLASHES\n", "    return second % PER")
WHOLE_LAMP = LAMP.replace("return second in FLASHES", "return second % PERIOD in FLASHES")

HORN = '''\
"""The fog horn: one blast a minute, and none while the village sleeps."""

QUIET = range(22, 24), range(6)


def sounds(hour: int, second: int) -> bool:
    """Whether the horn sounds at this second of the hour."""
    return second % 60 == 0 and not any(hour in hours for hours in QUIET)
'''

TEST_HORN = """\
import unittest

from horn import sounds


class Horn(unittest.TestCase):
    def test_it_sounds_once_a_minute(self) -> None:
        self.assertEqual([s for s in range(180) if sounds(20, s)], [0, 60, 120])

    def test_it_is_quiet_from_ten_to_six(self) -> None:
        self.assertEqual([h for h in range(24) if not sounds(h, 0)], [0, 1, 2, 3, 4, 5, 22, 23])
"""

LOGBOOK = """\
# Logbook

- The lamp stopped after twelve seconds; ada proved it with a test.
- bo went overboard in the middle of line 9. cleo took the stick and finished the line.
- The keeper asked for a horn. ada built one that lets the village sleep.
- bo came back, found his stick gone and the light burning, and wrote this.
"""

NOTE = "Fog tonight. Could we also have a horn, once a minute? But not from ten to six: the village sleeps."
TAKEOVER_REASON = "bo's process is gone, and the lamp must not stay dark tonight."

ADA_TO_BO: Mapping[str, object] = {
    "status": "The lamp flashes for twelve seconds and then never again; the ships have noticed. I wrote test_lamp.py,"
    " and it fails as it should: at second 12 there is no light.",
    "next_action": "Let lit() start over every PERIOD seconds. It is one line in lamp.py.",
    "artifacts": [
        {"path": "lamp.py", "lines": [7, 9], "role": "edit", "note": "the line that forgets the second round"},
        {"path": "test_lamp.py", "role": "context"},
    ],
    "do_not": ["Do not change FLASHES: the sailors have it on their charts."],
}

CLEO_TO_ADA: Mapping[str, object] = {
    "status": "bo died in the middle of a line. His last word was `PER`, and with your handoff in the history I could"
    " finish it for him. The lamp goes round; all tests pass.",
    "next_action": "The keeper left a note about a horn. You know how this place likes its tests: please build it.",
    "artifacts": [{"path": "lamp.py", "lines": [9, 9], "role": "review"}],
    "open_questions": ["Does ten to six include six o'clock? I would say that by six the village is up."],
}

ADA_TO_NEXT: Mapping[str, object] = {
    "status": "horn.py sounds once a minute and is quiet from ten to six; six o'clock itself is loud. Both ends of the"
    " night are in test_horn.py.",
    "next_action": "Somebody should write all this into the logbook, and who better than the one it happened to.",
    "artifacts": [{"path": "horn.py", "role": "review"}, {"path": "test_horn.py", "role": "context"}],
}

BO_TO_NEXT: Mapping[str, object] = {
    "status": "The logbook is written. I do not remember my first turn and did not have to: it is all in the history.",
    "next_action": "Nothing tonight. The lamp turns, and the horn is quiet.",
    "artifacts": [{"path": "LOGBOOK.md", "role": "output"}],
}
