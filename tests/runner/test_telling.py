"""What a runner prints of its workers."""

from __future__ import annotations

import pytest

from tallystick.runner.command import teller


def test_a_workers_words_neither_begin_a_line_nor_command_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    teller("r1")("done\nr1: forged \x9b31m \u202e")

    assert capsys.readouterr().err == "r1: done\\nr1: forged \\x9b31m \\u202e\n"
