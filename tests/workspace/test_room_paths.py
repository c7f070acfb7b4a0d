"""Where a path lies in a room, asked of a real file system: links, spellings, several roots, and the way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tallystick.workspace import room_paths
from tallystick.workspace.room_paths import RoomRoots
from tests.scene import Scene, refused


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = (tmp_path / "repo").resolve()
    (root / "src" / "lib").mkdir(parents=True)
    (root / "src" / "lib" / "a.py").touch()
    (tmp_path / "outside").mkdir()
    return root


def at(*roots: Path, start: Path | None = None) -> RoomRoots:
    return RoomRoots(roots=tuple(str(root) for root in roots), start=str(start or roots[0]))


def key(text: str, root: Path) -> str:
    return room_paths.scope_in_room(text, at(root)).key


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("src/lib/a.py", "src/lib/a.py"),
        ("./src//lib/", "src/lib"),
        ("src/lib/../lib/a.py", "src/lib/a.py"),
        ("src\\lib", "src/lib"),
        ("new/not/there", "new/not/there"),
        (".", ""),
        ("*", ""),
        ("src/*", "src"),
    ],
)
def test_a_path_is_spelled_from_the_root(root: Path, text: str, expected: str) -> None:
    assert key(text, root) == expected


def test_an_absolute_path_and_a_relative_one_are_the_same(root: Path) -> None:
    assert key(str(root / "src" / "lib"), root) == key("src/lib", root)
    assert key(str(root), root) == key(".", root)
    assert key(f"{root}/src/*", root) == "src"


def test_a_link_counts_where_it_leads(root: Path) -> None:
    (root / "short").symlink_to("src/lib")
    (root / "deep").symlink_to(root / "src")
    assert key("short/a.py", root) == "src/lib/a.py"
    assert key("deep/lib/new.py", root) == "src/lib/new.py"
    assert key("short/../x", root) == "src/x"


def test_the_way_to_the_root_may_be_a_link_too(root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    assert key(str(tmp_path / "alias" / "src"), root) == "src"


@pytest.mark.parametrize("text", ["..", "../outside", "src/../../outside/x", "/etc/passwd", "~/x", "/"])
def test_what_lies_outside_is_refused_with_the_root(root: Path, text: str) -> None:
    with refused("path_outside"):
        key(text, root)
    assert room_paths.file_in_room(text, at(root)) is None


def test_a_link_that_leads_out_is_outside(root: Path, tmp_path: Path) -> None:
    (root / "exit").symlink_to(tmp_path / "outside")
    with refused("path_outside"):
        key("exit/x", root)


def test_a_sibling_whose_name_begins_like_the_roots_is_outside(root: Path) -> None:
    with refused("path_outside"):
        key(f"{root}-old/a.py", root)


def test_two_forms_of_a_letter_are_one_name(root: Path) -> None:
    assert key("caf\u00e9", root) == key("cafe\u0301", root) == "caf\u00e9"


def test_brackets_are_a_name_where_something_is_called_so_and_a_pattern_elsewhere(root: Path) -> None:
    (root / "app" / "[id]").mkdir(parents=True)
    assert key("app/[id]/page.tsx", root) == "app/[id]/page.tsx"
    for pattern in ("app/[ab].py", "{src,lib}", "[id]"):
        with refused("glob_not_supported"):
            key(pattern, root)
    spot = room_paths.file_in_room("app/[new].tsx", at(root))
    assert spot is not None
    assert spot.key == "app/[new].tsx"


def test_all_roots_of_a_room_share_one_naming_and_the_outermost_counts(root: Path, tmp_path: Path) -> None:
    second = tmp_path / "checkout"
    second.mkdir()
    inner = root / "src"
    roots = at(root, second, inner, start=second)
    assert room_paths.scope_in_room(str(second / "src" / "a.py"), roots).key == "src/a.py"
    assert room_paths.scope_in_room("src/a.py", roots).key == "src/a.py"
    assert room_paths.scope_in_room(str(inner / "a.py"), roots).key == "src/a.py"


def test_where_case_does_not_matter_other_spellings_are_inside_too(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def always(_: str) -> bool:
        return True

    monkeypatch.setattr(room_paths, "insensitive", always)
    shouted = str(root).upper()
    spot = room_paths.scope_in_room(f"{shouted}/SRC/A.py", at(root))
    assert (spot.key, spot.folded, spot.folds) == ("SRC/A.py", "src/a.py", True)


def test_a_room_without_a_root_here_takes_relative_paths_as_text(scene: Scene) -> None:
    ada = scene.agent("ada")
    ada.room_id = str(ada.call("rooms.create", title="no place")["room_id"])
    ada.here("rooms.join")
    given = ada.here("reservations.reserve", path="src/../docs/")
    assert given["reservation"] == {**given["reservation"], "path": "docs"}  # type: ignore[dict-item]
    for outside in ("/docs", "../docs", "C:\\docs"):
        with refused("path_outside"):
            ada.here("reservations.reserve", path=outside)
