"""Which workspace a path belongs to, on a real file system and with git's own answer beside ours."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tallystick.kernel.errors import InvalidField, TooLarge
from tallystick.workspace import room_paths
from tallystick.workspace.room_paths import MARKERS, Workspace, WorkspaceNotFound, WorkspaceUnreadable, resolve


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder without links on the way to it."""
    return tmp_path.resolve()


def folder(path: Path) -> Path:
    path.mkdir(parents=True)
    return path


def git(*args: str | Path, at: Path) -> str:
    env = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_AUTHOR_NAME": "ada",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "ada",
        "GIT_COMMITTER_EMAIL": "ada@example.org",
    }
    command = ["git", "-c", "protocol.file.allow=always", *args]
    return subprocess.run(command, cwd=at, env=env, check=True, capture_output=True, text=True).stdout.strip()


def repository(path: Path) -> Path:
    folder(path)
    git("init", "--quiet", at=path)
    git("commit", "--quiet", "--allow-empty", "-m", "first", at=path)
    return path


def names(found: Workspace, below: Path) -> tuple[str, ...]:
    return tuple(os.path.relpath(each, below) for each in found.chain)


def test_inside_a_repository_the_root_is_its_top_level(here: Path) -> None:
    source = folder(repository(here / "repo") / "packages" / "foo")

    assert resolve(str(source)) == Workspace(
        requested=str(source),
        canonical=str(source),
        root=str(here / "repo"),
        chain=(str(source), str(here / "repo" / "packages"), str(here / "repo")),
    )


def test_two_packages_of_one_repository_share_a_root(here: Path) -> None:
    repo = repository(here / "repo")
    (folder(repo / "foo") / "package.json").touch()
    (folder(repo / "bar") / "package.json").touch()

    assert resolve(str(repo / "foo")).root == resolve(str(repo / "bar")).root == str(repo)


def test_the_nearest_repository_wins(here: Path) -> None:
    repository(here / "outer")
    inner = folder(repository(here / "outer" / "inner") / "src")

    assert resolve(str(inner)).root == str(here / "outer" / "inner") == git("rev-parse", "--show-toplevel", at=inner)


def test_a_worktree_is_a_root_of_its_own(here: Path) -> None:
    repo = repository(here / "repo")
    git("worktree", "add", "--quiet", here / "tree", at=repo)
    source = folder(here / "tree" / "src")

    assert resolve(str(source)).root == str(here / "tree") == git("rev-parse", "--show-toplevel", at=source)


def test_a_submodule_is_a_root_of_its_own(here: Path) -> None:
    library = repository(here / "library")
    repo = repository(here / "repo")
    git("submodule", "--quiet", "add", library, "vendored", at=repo)
    source = folder(repo / "vendored" / "src")

    assert resolve(str(source)).root == str(repo / "vendored") == git("rev-parse", "--show-toplevel", at=source)


def test_a_path_inside_the_git_folder_belongs_to_the_repository(here: Path) -> None:
    repo = repository(here / "repo")

    assert resolve(str(repo / ".git" / "hooks")).root == str(repo)


@pytest.mark.parametrize("kind", ["empty folder", "other file", "pipe", "dangling link"])
def test_what_is_only_called_git_makes_no_repository(here: Path, kind: str) -> None:
    source, fake = folder(here / "project" / "src"), here / "project" / ".git"
    match kind:
        case "empty folder":
            fake.mkdir()
        case "other file":
            fake.write_text("hello", "utf-8")
        case "pipe":
            os.mkfifo(fake)
        case _:
            fake.symlink_to("nowhere")

    assert resolve(str(source), home=here).root == str(source)


@pytest.mark.parametrize("marker", MARKERS)
def test_without_git_the_nearest_marker_is_the_root(here: Path, marker: str) -> None:
    source = folder(here / "project" / "src" / "deep")
    (here / "project" / marker).touch()
    (here / marker).touch()

    assert names(resolve(str(source)), here) == ("project/src/deep", "project/src", "project")


def test_git_comes_before_a_nearer_marker(here: Path) -> None:
    package = folder(repository(here / "repo") / "package")
    (package / "pyproject.toml").touch()

    assert resolve(str(package)).root == str(here / "repo")


def test_a_folder_of_a_markers_name_is_no_marker(here: Path) -> None:
    source = folder(here / "project" / "src")
    folder(here / "project" / "package.json")

    assert resolve(str(source), home=here).root == str(source)


def test_without_git_and_markers_the_folder_is_its_own_root(here: Path) -> None:
    source = folder(here / "plain")

    assert resolve(str(source), home=here) == Workspace(
        requested=str(source), canonical=str(source), root=str(source), chain=(str(source),)
    )


def test_a_file_stands_for_its_folder(here: Path) -> None:
    source = folder(repository(here / "repo") / "src")
    (source / "main.py").touch()

    found = resolve(str(source / "main.py"))

    assert (found.requested, found.canonical) == (str(source / "main.py"), str(source))


def test_a_link_leads_to_the_workspace_it_points_into(here: Path) -> None:
    source = folder(repository(here / "repo") / "src")
    (here / "elsewhere").symlink_to(source)

    found = resolve(str(here / "elsewhere"))

    assert (found.canonical, found.root) == (str(source), str(here / "repo"))


def test_a_link_out_of_a_repository_leaves_it(here: Path) -> None:
    outside = folder(here / "outside")
    (outside / "notes.txt").touch()
    (repository(here / "repo") / "notes").symlink_to(outside / "notes.txt")

    found = resolve(str(here / "repo" / "notes"), home=here)

    assert (found.canonical, found.root) == (str(outside), str(outside))


def test_dots_after_a_link_mean_the_folder_above_its_target(here: Path) -> None:
    folder(here / "real" / "deep")
    (here / "link").symlink_to(here / "real" / "deep")

    assert resolve(f"{here}/link/../").canonical == str(here / "real")


@pytest.mark.parametrize("marker", [".git", "CLAUDE.md"])
def test_what_lies_in_the_home_folder_does_not_claim_the_projects_below(here: Path, marker: str) -> None:
    home = repository(here / "home") if marker == ".git" else folder(here / "home")
    (home / marker).touch()
    project = folder(home / "notes" / "today")

    assert resolve(str(project), home=home).root == str(project)
    assert resolve(str(home), home=home).root == str(home)


def test_what_lies_above_the_home_folder_does_not_claim_it_either(here: Path) -> None:
    (here / "package.json").touch()
    project = folder(here / "home" / "project")

    assert resolve(str(project), home=here / "home").root == str(project)


def test_a_project_below_home_is_found_as_anywhere(here: Path) -> None:
    source = folder(repository(here / "home" / "repo") / "src")

    assert resolve(str(source), home=here / "home").root == str(here / "home" / "repo")


def test_the_home_folder_is_recognised_through_a_link(here: Path) -> None:
    (folder(here / "disk" / "ada") / "AGENTS.md").touch()
    (here / "home").symlink_to(here / "disk" / "ada")
    project = folder(here / "disk" / "ada" / "project")

    assert resolve(str(project), home=here / "home").root == str(project)


def test_the_home_folder_is_the_users_own_unless_told_otherwise(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder(here / "home") / "AGENTS.md").touch()
    project = folder(here / "home" / "project")
    monkeypatch.setenv("HOME", str(here / "home"))

    assert resolve(str(project)).root == str(project)


@pytest.mark.parametrize("path", ["", ".", "src", "~", "~/src", "./src", "C:\\work"])
def test_a_path_that_is_not_absolute_is_refused(path: str) -> None:
    with pytest.raises(InvalidField, match="is not an absolute path") as refusal:
        resolve(path)

    assert refusal.value.advice == "Send the full path; `~` is not expanded."


def test_a_missing_path_is_refused(here: Path) -> None:
    (here / "dangling").symlink_to("nowhere")
    (here / "file").touch()

    for missing in (here / "nowhere", here / "dangling", here / "file" / "below"):
        with pytest.raises(WorkspaceNotFound, match="There is nothing at"):
            resolve(str(missing))


def test_a_loop_of_links_is_refused(here: Path) -> None:
    (here / "a").symlink_to("b")
    (here / "b").symlink_to("a")

    with pytest.raises(WorkspaceNotFound, match="loop of symbolic links"):
        resolve(str(here / "a"))


def test_hostile_paths_are_refused() -> None:
    with pytest.raises(InvalidField, match="NUL"):
        resolve("/tmp\0/x")
    with pytest.raises(InvalidField, match="not valid UTF-8"):
        resolve("/tmp/\udcff")
    with pytest.raises(InvalidField, match="longer than the file system allows"):
        resolve("/" + "x" * 300)
    with pytest.raises(TooLarge, match="at most 4096"):
        resolve("/x" * 3000)
    with pytest.raises(TooLarge, match="at most 4096"):
        resolve("/" + "é" * 2500)


def test_a_link_to_a_name_that_is_not_text_is_refused(here: Path) -> None:
    (here / "link").symlink_to(folder(here / "\udcff"))

    with pytest.raises(InvalidField, match="not valid UTF-8"):
        resolve(str(here / "link"))


@contextmanager
def as_nobody() -> Generator[None]:
    """Root may read everything, so these tests step down."""
    if os.geteuid() != 0:
        yield
        return
    os.setegid(65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that everybody can enter."""
    with tempfile.TemporaryDirectory() as made:
        path = Path(made).resolve()
        path.chmod(0o755)
        yield path
        for each in path.iterdir():
            each.chmod(0o755)


def test_a_folder_that_may_not_be_passed_is_refused(public: Path) -> None:
    below = folder(public / "closed" / "project")
    (public / "closed").chmod(0)

    with as_nobody(), pytest.raises(WorkspaceUnreadable, match="Permission denied"):
        resolve(str(below), home=public)


def test_a_folder_that_may_not_be_entered_is_a_workspace_without_markers(public: Path) -> None:
    closed = folder(public / "closed")
    (closed / "AGENTS.md").touch()
    closed.chmod(0)

    with as_nobody():
        assert resolve(str(closed), home=public / "nobody").root == str(closed)


def test_a_repository_of_somebody_else_is_still_one(public: Path) -> None:
    repo = repository(public / "repo")
    source = folder(repo / "src")
    (repo / ".git").chmod(0)

    with as_nobody():
        root = resolve(str(source), home=public / "nobody").root
    (repo / ".git").chmod(0o755)

    assert root == str(repo)


def test_where_case_does_not_matter_a_path_is_spelled_as_it_is_listed(here: Path) -> None:
    folder(here / "Project" / "Ünïcode" / "src")

    spelled = room_paths.true_case(f"{here}/pROJECT/u\u0308NI\u0308CODE/SRC", insensitive=lambda _: True)

    assert spelled == f"{here}/Project/Ünïcode/src"


def test_where_case_matters_two_spellings_are_two_folders(here: Path) -> None:
    folder(here / "project")
    folder(here / "Project")

    assert not room_paths.is_insensitive(here / "project")
    assert resolve(str(here / "Project")).canonical == str(here / "Project")
    assert room_paths.true_case(str(here / "Project"), insensitive=lambda _: True) == str(here / "Project")


def test_a_folder_that_may_not_be_listed_keeps_the_spelling_it_was_asked_by(public: Path) -> None:
    below = folder(public / "closed" / "project")
    (public / "closed").chmod(0o111)

    with as_nobody():
        assert room_paths.true_case(str(below), insensitive=lambda _: True) == str(below)
