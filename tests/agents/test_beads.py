"""Tasks kept in Beads count for an adoption: asked of a `bd` on the PATH, in a workspace that uses it; only read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

import pytest

from tallystick.storage.port import Store
from tallystick.workspace import git_changes
from tallystick.workspace.git_changes import Bead
from tests.agents.repository import repository
from tests.scene import Row, Scene, refused

LISTED = '[{"id": "bb-7", "status": "in_progress", "assignee": "ada"}, {"id": "bb-8", "status": "in_progress"}]'


@pytest.fixture
def scene(store: Store, tmp_path: Path) -> Scene:
    """A scene in a real git repository."""
    return Scene(store, repository(tmp_path / "repo").resolve())


@pytest.fixture
def bd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program called `bd` that answers from a file and writes down how it was called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "bd"
    program.write_text('#!/bin/sh\necho "$@" >> "$0.calls"\ncat "$0.answer"\n')
    program.chmod(0o755)
    program.with_name("bd.answer").write_text(LISTED)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return program


def workspace(tmp_path: Path) -> str:
    (tmp_path / "ws" / ".beads").mkdir(parents=True)
    (tmp_path / "ws" / "src").mkdir()
    return str(tmp_path / "ws" / "src")


def test_beads_in_progress_are_those_that_somebody_works_on(bd: Path, tmp_path: Path) -> None:
    found = git_changes.in_progress(workspace(tmp_path))
    assert found == [Bead(id="bb-7", assignee="ada", status="in_progress")]
    assert bd.with_name("bd.calls").read_text() == "--readonly list --status in_progress --json\n"


def test_a_workspace_without_beads_is_not_asked(bd: Path, tmp_path: Path) -> None:
    assert git_changes.in_progress(str(tmp_path)) == ()
    assert not bd.with_name("bd.calls").exists()


@pytest.mark.parametrize("answer", ["", "no such flag", '{"error": 1}', "[{}]", "[1]"])
def test_an_answer_that_cannot_be_read_is_none(bd: Path, tmp_path: Path, answer: str) -> None:
    bd.with_name("bd.answer").write_text(answer)
    assert list(git_changes.in_progress(workspace(tmp_path))) == []


def test_without_the_program_there_is_nothing_to_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_changes.in_progress(workspace(tmp_path)) == ()


def test_a_bead_in_progress_is_a_ground_for_adoption(scene: Scene, bd: Path) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.here("reservations.reserve", path="src")
    scene.kill(ada)
    with refused("adoption_rejected"):
        bob.here("agents.adopt", agent_id="ada")
    (scene.workspace / ".beads").mkdir()
    assert bd.is_file()
    assert cast("Row", bob.here("agents.candidates")["recommendation"])["reason"] == (
        "in_progress_ownership: 1 task in progress: bb-7"
    )
    adopted = bob.here("agents.adopt", agent_id="ada")
    assert (adopted["reason"], adopted["task_ids"]) == ("in_progress_ownership", ["bb-7"])
