"""Where a path lies, against a walk of a real tree with links, step by step."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.workspace import room_paths
from tallystick.workspace.room_paths import RoomRoots

Key = tuple[str, ...]

LINKS: dict[Key, Key | None] = {
    ("to-src",): ("src",),
    ("src", "up"): (),
    ("src", "lib", "peer"): ("docs",),
    ("docs", "self"): ("docs",),
    ("exit",): None,
}
"""Links in the tree and where they lead, from the root; None leads out of it."""
FOLDERS = [("src",), ("src", "lib"), ("docs",)]

steps = st.lists(
    st.sampled_from(("src", "lib", "docs", "to-src", "up", "peer", "self", "exit", "new", "..", ".", "")), max_size=7
)


def walk(parts: list[str]) -> Key | None:
    """Follow a path by hand, as the system would; None once it has left the tree."""
    at: Key = ()
    for part in parts:
        if part in ("", "."):
            continue
        if part == "..":
            if not at:
                return None
            at = at[:-1]
            continue
        at = (*at, part)
        if at in LINKS:
            target = LINKS[at]
            if target is None:
                return None
            at = target
    return at


@contextmanager
def tree() -> Generator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "root"
        (root.parent / "outside").mkdir()
        for each in FOLDERS:
            root.joinpath(*each).mkdir(parents=True)
        for place, target in LINKS.items():
            root.joinpath(*place).symlink_to(root.joinpath(*target) if target is not None else root.parent / "outside")
        yield root


@settings(max_examples=150)
@given(st.lists(steps, min_size=1, max_size=20), st.booleans())
def test_a_path_lies_where_a_walk_through_the_tree_ends(paths: list[list[str]], absolute: bool) -> None:
    with tree() as root:
        roots = RoomRoots(roots=(str(root),), start=str(root))
        for parts in paths:
            text = "/".join(parts).lstrip("/") or "."
            found = room_paths.file_in_room(f"{root}/{text}" if absolute else text, roots)
            expected = walk(parts)
            # Who has left the tree may come back by its own name, which a walk from the root cannot know.
            if expected is None:
                continue
            assert found is not None, parts
            assert found.key == "/".join(expected), parts


@settings(max_examples=100)
@given(steps)
def test_what_ends_outside_is_nowhere_in_the_room(parts: list[str]) -> None:
    with tree() as root:
        roots = RoomRoots(roots=(str(root),), start=str(root))
        inside = root.joinpath(*[part for part in parts if part]).resolve().is_relative_to(root)
        found = room_paths.file_in_room("/".join(parts).lstrip("/") or ".", roots)
        assert (found is not None) == inside
