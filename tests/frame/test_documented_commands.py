"""Every `tally` command that a document shows exists and has the options it is shown with."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from tallystick.surfaces.cli.main import main

ROOT = Path(__file__).parents[2]
WRITTEN = [
    page for page in (ROOT / "docs").rglob("*.md") if not {"reference", "conformance"} & set(page.parts)
]  # the reference is written from the commands themselves


def shown(text: str) -> list[str]:
    """Commands after a prompt, and those in the middle of a sentence; an ellipsis stands for any word."""
    text = text.replace("\\\n", " ").replace("…", "x")
    typed = re.findall(r"^\$ (?:[A-Z_]+=\S+ )*(tally .*?)(?:\s+#.*|\s[|&<>].*)?$", text, re.MULTILINE)
    return [*typed, *re.findall(r"`(tally [^`\n]+)`", text)]


def words(command: str) -> list[str]:
    """What comes after `tally`, up to the program that is another's; nothing where a quoted word goes on elsewhere."""
    try:
        given = shlex.split(command)[1:]
    except ValueError:
        return []
    return given[: given.index("--")] if "--" in given else given


def refusal(given: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str | None:
    monkeypatch.setattr(sys, "argv", ["tally", *given, "--help"])
    try:
        code = main()
    except SystemExit as ended:
        code = ended.code
    said = capsys.readouterr()
    return f"tally {' '.join(given)}: {said.err or said.out}" if code else None


def test_every_command_in_the_documents_exists_with_its_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("TALLYSTICK_DATA_DIR", str(tmp_path))
    found = {command for page in (ROOT / "README.md", *WRITTEN) for command in shown(page.read_text("utf-8"))}

    refused = [refusal(given, monkeypatch, capsys) for command in sorted(found) if (given := words(command))]

    assert len(refused) > 50
    assert [each for each in refused if each] == []
