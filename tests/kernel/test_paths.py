"""Paths as text, of both kinds of system."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.kernel import scopes

names = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1).filter(
    lambda name: name not in {".", ".."}
)
posix = st.lists(names, max_size=6).map(lambda parts: "/" + "/".join(parts))


@pytest.mark.parametrize(
    ("path", "windows", "normal"),
    [
        ("/work//repo/./src/", False, "/work/repo/src"),
        ("//work", False, "/work"),
        ("/", False, "/"),
        ("/work/../repo", False, "/work/../repo"),
        ("/work/back\\slash", False, "/work/back\\slash"),
        ("C:\\work\\repo\\", True, "C:/work/repo"),
        ("C:/work/repo", True, "C:/work/repo"),
        ("C:\\", True, "C:/"),
        ("\\\\server\\share\\repo", True, "//server/share/repo"),
    ],
)
def test_a_path_has_one_spelling(path: str, windows: bool, normal: str) -> None:
    assert scopes.normalised_path(path, windows=windows) == normal


@pytest.mark.parametrize(
    ("path", "windows", "absolute"),
    [
        ("/work", False, True),
        ("work", False, False),
        ("~/work", False, False),
        ("", False, False),
        ("C:\\work", False, False),
        ("C:\\work", True, True),
        ("C:work", True, False),
        ("\\work", True, False),
        ("\\\\server\\share", True, True),
    ],
)
def test_only_a_full_path_is_absolute(path: str, windows: bool, absolute: bool) -> None:
    assert scopes.is_absolute(path, windows=windows) is absolute


@pytest.mark.parametrize(
    ("path", "root", "chain"),
    [
        ("/work/repo/src", "/work", ("/work/repo/src", "/work/repo", "/work")),
        ("/work", "/work", ("/work",)),
        ("/work", "/", ("/work", "/")),
        ("/", "/", ("/",)),
        ("C:/work/repo", "C:/", ("C:/work/repo", "C:/work", "C:/")),
        ("//server/share/repo", "//server/share/", ("//server/share/repo", "//server/share/")),
    ],
)
def test_a_chain_leads_from_a_path_up_to_its_root(path: str, root: str, chain: tuple[str, ...]) -> None:
    assert scopes.folders_up_to(path, root) == chain


@pytest.mark.parametrize(("path", "root"), [("/workshop", "/work"), ("/", "/work"), ("/work", "/work/repo")])
def test_a_root_that_does_not_hold_the_path_has_no_chain(path: str, root: str) -> None:
    assert not scopes.is_inside(path, root)
    with pytest.raises(ValueError, match="is not inside"):
        scopes.folders_up_to(path, root)


@given(posix)
def test_every_ancestor_holds_the_path_and_the_last_is_the_top(path: str) -> None:
    above = scopes.folders_above(path)

    assert above[0] == path
    assert above[-1] == "/"
    assert all(scopes.is_inside(path, each) for each in above)
    assert [len(each) for each in above] == sorted({len(each) for each in above}, reverse=True)


@given(posix)
def test_normalising_twice_is_normalising_once(path: str) -> None:
    assert scopes.normalised_path(scopes.normalised_path(path)) == scopes.normalised_path(path)
