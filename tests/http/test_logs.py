"""The log file: JSON lines, two files at most."""

from __future__ import annotations

import errno
import json
import logging
import os
from pathlib import Path

import pytest

from tallystick.surfaces.http import logs
from tallystick.surfaces.http.logs import Handler, Log


def test_a_full_log_makes_room_for_a_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "SIZE_LIMIT", 1000)
    log = Log(tmp_path / "hub.log")

    for number in range(100):
        log.line("info", number=number)
    log.close()

    text = (tmp_path / "hub.log.1").read_text() + (tmp_path / "hub.log").read_text()
    kept = [json.loads(line)["number"] for line in text.splitlines()]
    assert kept == list(range(kept[0], 100))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hub.log", "hub.log.1"]


def test_warnings_of_libraries_stand_in_the_same_log(tmp_path: Path) -> None:
    log = Log(tmp_path / "hub.log")
    logger = logging.getLogger("some.library")
    handler = Handler(log)
    logger.addHandler(handler)

    try:
        int("not a number")
    except ValueError:
        logger.exception("it failed")
    logger.removeHandler(handler)
    log.close()

    (line,) = [json.loads(line) for line in (tmp_path / "hub.log").read_text().splitlines()]
    assert (line["level"], line["logger"], line["message"]) == ("error", "some.library", "it failed")
    assert "ValueError: invalid literal" in line["traceback"]


def test_a_disk_that_takes_nothing_costs_lines_and_never_whoever_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log(tmp_path / "hub.log")
    write = os.write

    def full(_file: int, _text: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    def in_part(file: int, text: bytes) -> int:
        return write(file, text[:30])

    monkeypatch.setattr(logs, "KEPT", 10)
    monkeypatch.setattr(os, "write", full)
    for number in range(25):
        log.line("warning", number=number)
    monkeypatch.setattr(os, "write", in_part)
    log.line("warning", number=25)
    monkeypatch.setattr(os, "write", write)
    log.line("warning", number=26)
    log.close()

    lines = [json.loads(line) for line in (tmp_path / "hub.log").read_text().splitlines()]
    assert lines[0]["message"] == "15 lines of log were lost: the disk was full"
    assert [line["number"] for line in lines[1:]] == list(range(15, 27))
