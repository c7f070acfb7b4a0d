"""README's recording: the story is played again with the real programs, and the picture is what such a run shows."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.frame.checkout import ROOT
from tests.stories.animation import Picture, paced, svg
from tests.stories.collision import FIXED, STATUS, playing

PICTURE = ROOT / "docs/story/collision.svg"
REFUSED = r"cart\.py is reserved by claude-code:\w+ until"
HANDED_ON = r"Handed over to codex:\w+"


@pytest.mark.npm
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_claude_code_and_codex_collide_and_one_goes_on_from_the_others_handoff(tmp_path: Path) -> None:
    with playing(tmp_path / "you", pause=0.2) as (story, recording):
        story.done.wait()
        until = time.monotonic() + 30
        while "I went on from" not in recording.seen(1) and time.monotonic() < until:
            time.sleep(0.2)
    claude, codex, events = (re.sub(r"\x1b\[[\d;]*m", "", recording.seen(pane)) for pane in range(3))

    assert re.search(HANDED_ON, claude), claude
    assert re.search(REFUSED, " ".join(codex.split())), codex
    assert "I went on from what Claude Code left me." in codex
    assert STATUS in " ".join(events.split()), events
    text = (story.root / "cart.py").read_text()
    assert text.endswith(FIXED.replace("sum(prices)", "round(sum(prices), 2)")), "codex edited what claude had left"


def test_the_picture_in_the_readme_tells_it_and_needs_no_script() -> None:
    text = PICTURE.read_text("utf-8")
    words = "".join(ElementTree.fromstring(text).itertext())

    assert re.search(REFUSED, " ".join(words.split()))
    assert re.search(HANDED_ON, words)
    assert "<script" not in text
    assert not re.search(r"/tmp|/root|http(?!://www\.w3\.org)", text)
    assert f"{PICTURE.relative_to(ROOT)}" in (ROOT / "README.md").read_text("utf-8")


def test_a_recording_is_paced_for_its_reader_and_keeps_its_colours() -> None:
    looks = [(0.0, (("one",),)), (0.1, (("\x1b[1;31mtwo\x1b[0m & <3>",),)), (30.0, (("three",),))]

    pictures = paced(looks)
    drawn = svg(pictures, ["a title"], 20, [2], "what it shows")

    assert [picture.seconds for picture in pictures] == [2.2, 5.0], "short looks are merged, long ones cut"
    assert pictures[0] == Picture(seconds=2.2, screens=looks[1][1])
    texts = [each.text for each in ElementTree.fromstring(drawn).iter() if each.tag.endswith("}text")]
    assert texts == ["two", " & <3>", "three", "a title"]
    assert 'fill="#e5686e" font-weight="700">two<' in drawn
