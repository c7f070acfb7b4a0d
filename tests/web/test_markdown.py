"""The little Markdown that agents write, made readable; and nothing that a hostile text could use."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.surfaces.web.filters import prose

ALLOWED = re.compile(
    r"</?(?:p|pre|code|ul|ol|li|b)>|<p class=\"hd\">|<ol start=\"\d{1,9}\">"
    r"|<time datetime=\"[0-9TZ:.-]+\" title=\"[0-9TZ:.-]+\" data-form=\"clock\">|</time>"
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words", "plain words"),
        ("a < b & c", "a &lt; b &amp; c"),
        ("**bold** words", "<p><b>bold</b> words</p>"),
        ("run `make test` now", "<p>run <code>make test</code> now</p>"),
        ("`**no**` and **`a`", "<p><code>**no**</code> and **<code>a</code></p>"),
        ("# Title\ntext\nmore", '<p class="hd">Title</p><p>text\nmore</p>'),
        ("- one\n- two\n  and on", "<ul><li>one</li><li>two\nand on</li></ul>"),
        ("3. three\n4. four", '<ol start="3"><li>three</li><li>four</li></ol>'),
        ("- one\n  - below\n- two", "<ul><li>one<ul><li>below</li></ul></li><li>two</li></ul>"),
        ("- one\n\n  more", "<ul><li><p>one</p><p>more</p></li></ul>"),
        ("~~~\n**as is**\n~~~", "<pre><code>**as is**</code></pre>"),
        ("# a\n- - -\nb", '<p class="hd">a</p><p>---</p><p>b</p>'),
        ("`a` __init__.py, src/*.py, *.md and _x_", "<p><code>a</code> __init__.py, src/*.py, *.md and _x_</p>"),
        ("**a** &lt;b&gt; \\# > q | t", "<p><b>a</b> &amp;lt;b&amp;gt; \\# &gt; q | t</p>"),
        ("**a** ![p](javascript:x) <script>", "<p><b>a</b> ![p](javascript:x) &lt;script&gt;</p>"),
        ('```" onclick="x\ny\n```', "<pre><code>y</code></pre>"),
        ("```py\nx < 1\n# no title\n```\nend", "<pre><code>x &lt; 1\n# no title</code></pre><p>end</p>"),
        ("```\nnever closed", "<pre><code>never closed</code></pre>"),
        ("2 * 3 * 4, a ** b, #5 and snake_case_name", "<p>2 * 3 * 4, a ** b, #5 and snake_case_name</p>"),
        ("[a link](javascript:alert(1)) `", "<p>[a link](javascript:alert(1)) `</p>"),
        ("\x1b[31m **red**", "<p>\\x1b[31m <b>red</b></p>"),
    ],
)
def test_a_text_is_shown_with_its_marks(text: str, shown: str) -> None:
    assert str(prose(text)) == shown


def test_a_time_is_shown_in_the_readers_own_zone_and_one_that_is_none_stays_as_it_is() -> None:
    assert str(prose("until 2026-01-31T12:00:00.000Z")) == (
        '<p>until <time datetime="2026-01-31T12:00:00.000Z" title="2026-01-31T12:00:00.000Z" data-form="clock">'
        "12:00</time></p>"
    )
    assert str(prose("until 2026-99-99T99:99:99Z")) == "<p>until 2026-99-99T99:99:99Z</p>"


@given(st.lists(st.sampled_from(["<", ">", '"', "'", "&", "`", "```", "**", "#", "- ", "1. ", "\n", "  ", "a", "b="])))
def test_nothing_that_was_written_becomes_a_tag_of_its_own(parts: list[str]) -> None:
    left = ALLOWED.sub("", str(prose("".join(parts))))
    assert "<" not in left
    assert ">" not in left
    assert '"' not in left


def test_a_list_of_any_depth_is_shown_to_its_end() -> None:
    shown = str(prose("- " * 2000 + "end"))
    assert (shown.count("<ul>"), shown.count("- "), shown.count("end")) == (6, 1994, 1)


@given(st.text())
def test_any_text_is_shown(text: str) -> None:
    assert "<" not in ALLOWED.sub("", str(prose(text)))


def test_a_text_of_empty_lines_is_read_in_one_pass() -> None:
    """Looked through again from every line, this would take hours."""
    text = "x" + "\n" * 300_000 + "x"

    assert prose(text) == text
