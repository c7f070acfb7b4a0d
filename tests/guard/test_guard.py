"""Commits and pushes in real repositories: refused and allowed as they should be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tallystick.commandline import output
from tests.guard.repository import Repo
from tests.hooks.hooked import GONE


def test_a_commit_of_a_path_that_somebody_else_reserved_is_refused(repo: Repo) -> None:
    held = repo.hooked.reserve("ann", "src/*")
    repo.guard("install")
    repo.stage("src/a.py")
    head = repo.ok("rev-parse", "HEAD")

    done = repo.commit()

    assert done.code == 1
    assert done.err.splitlines() == [
        f"Tallystick: {repo.top}/src/a.py is reserved by ann until {output.time_until(str(held['until']))}",
        "Refused. Ask ann, or leave those paths out.",
    ]
    assert repo.ok("rev-parse", "HEAD") == head


def test_the_holder_others_elsewhere_and_those_who_insist_may_commit(repo: Repo) -> None:
    repo.hooked.reserve("ann", "src/*")
    repo.guard("install")

    repo.stage("other.py")
    elsewhere = repo.commit()
    repo.stage("src/a.py")
    holder = repo.commit(agent="ann")
    repo.stage("src/b.py")
    insisting = repo.commit("--no-verify")

    assert [(done.code, done.err) for done in (elsewhere, holder, insisting)] == [(0, "")] * 3


def test_a_holder_who_is_gone_is_named_and_holds_nobody_up(repo: Repo) -> None:
    held = repo.hooked.reserve(GONE, "a.py")
    repo.guard("install")
    repo.stage("a.py")

    done = repo.commit()

    until = output.time_until(str(held["until"]))
    assert (done.code, done.err) == (
        0,
        f"Tallystick: {repo.top}/a.py is reserved by {GONE} until {until} (fallen silent: allowed)\n",
    )


def test_a_reserved_file_that_became_a_link_is_judged_by_its_own_name(repo: Repo) -> None:
    repo.stage("src/a.py")
    repo.ok("commit", "-qm", "first")
    repo.hooked.reserve("ann", "src/a.py")
    repo.guard("install")
    (repo.top / "src" / "a.py").unlink()
    (repo.top / "src" / "a.py").symlink_to("/dev/null")

    done = repo.commit("-a")

    assert (done.code, done.err.partition(" is reserved")[0]) == (1, f"Tallystick: {repo.top}/src/a.py")


def test_a_reserved_file_whose_folder_moved_behind_a_link_is_judged_by_its_old_name(repo: Repo) -> None:
    repo.stage("src/a.py")
    repo.ok("commit", "-qm", "first")
    repo.hooked.reserve("ann", "src/a.py")
    repo.guard("install")
    repo.ok("mv", "src", "src2")
    (repo.top / "src").symlink_to("src2")
    repo.ok("add", "-A")

    done = repo.commit()

    assert done.code == 1
    assert f"{repo.top}/src/a.py is reserved by ann" in done.err


@pytest.mark.parametrize("reserved", ["old.py", "new.py"])
def test_a_rename_touches_both_names(repo: Repo, reserved: str) -> None:
    repo.stage("old.py", "line\n" * 50)
    repo.ok("commit", "-qm", "old")
    repo.hooked.reserve("ann", reserved)
    repo.guard("install")
    repo.ok("mv", "old.py", "new.py")

    done = repo.commit()

    assert (done.code, f"{reserved} is reserved by ann" in done.err) == (1, True)


def test_a_deletion_and_an_odd_name_are_seen(repo: Repo) -> None:
    odd = 'a "quoted"\tname ü.py'
    repo.stage(odd)
    repo.stage("gone/file.py")
    repo.ok("commit", "-qm", "more")
    repo.hooked.reserve("ann", "gone/file.py")
    repo.hooked.reserve("ann", odd)
    repo.guard("install")
    repo.ok("rm", "-q", "gone/file.py")
    repo.stage(odd, "y\n")

    done = repo.commit()

    assert (done.code, done.err.count("is reserved by ann")) == (1, 2)


def _diverged(repo: Repo) -> None:
    """Both branches change `shared.py`, in different places; only `other` changes `theirs.py`."""
    lines = [f"{number}\n" for number in range(30)]
    repo.stage("shared.py", "".join(lines))
    repo.stage("theirs.py", "1\n")
    repo.ok("commit", "-qm", "base")
    repo.ok("checkout", "-qb", "other")
    repo.stage("theirs.py", "2\n")
    repo.stage("shared.py", "".join(["first\n", *lines[1:]]))
    repo.ok("commit", "-qm", "other")
    repo.ok("checkout", "-q", "main")
    repo.stage("shared.py", "".join([*lines[:-1], "last\n"]))
    repo.ok("commit", "-qm", "main")


def test_a_merge_is_refused_only_for_what_it_changes_itself(repo: Repo) -> None:
    _diverged(repo)
    repo.guard("install")
    repo.hooked.reserve("ann", "theirs.py")

    taken_over_as_it_is = repo.git("merge", "--no-edit", "other")
    repo.ok("reset", "-q", "--hard", "HEAD~1")
    repo.hooked.reserve("ann", "shared.py")
    mixed = repo.git("merge", "--no-edit", "other")

    assert taken_over_as_it_is.code == 0, taken_over_as_it_is.err
    assert (mixed.code != 0, "shared.py is reserved by ann" in mixed.err) == (True, True)


def test_a_conflict_resolved_in_a_reserved_file_is_refused(repo: Repo) -> None:
    repo.stage("a.py", "1\n")
    repo.ok("commit", "-qm", "base")
    repo.ok("checkout", "-qb", "other")
    repo.stage("a.py", "2\n")
    repo.ok("commit", "-qm", "other")
    repo.ok("checkout", "-q", "main")
    repo.stage("a.py", "3\n")
    repo.ok("commit", "-qm", "main")
    repo.guard("install")
    repo.hooked.reserve("ann", "a.py")
    repo.git("merge", "other")
    repo.stage("a.py", "4\n")

    refused, holder = repo.commit(), repo.commit(agent="ann")

    assert (refused.code, "a.py is reserved by ann" in refused.err, holder.code) == (1, True, 0)


def test_every_working_tree_is_guarded_by_its_own_room_or_by_the_first(repo: Repo, tmp_path: Path) -> None:
    repo.guard("install")
    repo.hooked.reserve("ann", "a.py")
    tree = tmp_path / "second"
    repo.ok("worktree", "add", "-q", str(tree))
    repo.stage("a.py", top=tree)

    by_the_first = repo.commit(cwd=tree)
    repo.hooked.call("bob", "rooms.join", context_path=str(tree))
    by_its_own = repo.commit(cwd=tree)

    assert (by_the_first.code, f"{repo.top}/a.py is reserved by ann" in by_the_first.err) == (1, True)
    assert by_its_own.code == 0, by_its_own.err


def test_a_submodule_is_a_path_of_its_superproject_and_a_repository_of_its_own(repo: Repo, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    for args in (["init", "-q", "-b", "main"], ["commit", "-q", "--allow-empty", "-m", "lib"]):
        repo.ok(*args, cwd=library)
    repo.ok("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib")
    repo.ok("commit", "-qm", "with a submodule")
    repo.guard("install")
    repo.guard("install", cwd=repo.top / "lib")
    repo.hooked.reserve("ann", "lib/a.c")

    repo.stage("a.c", top=repo.top / "lib")
    inside = repo.commit(cwd=repo.top / "lib")
    repo.ok("commit", "-q", "--no-verify", "-m", "inside", cwd=repo.top / "lib")
    repo.ok("add", "lib")
    outside = repo.commit()

    assert (inside.code, "lib/a.c is reserved by ann" in inside.err) == (1, True)
    assert (outside.code, "lib is reserved by ann" in outside.err) == (1, True)


def test_a_push_is_refused_for_what_the_remote_does_not_have(repo: Repo, tmp_path: Path) -> None:
    repo.ok("init", "-q", "--bare", str(tmp_path / "there"))
    repo.ok("remote", "add", "origin", str(tmp_path / "there"))
    repo.stage("early.py")
    repo.ok("commit", "-qm", "early")
    repo.ok("push", "-q", "origin", "main")
    repo.guard("install")
    repo.hooked.reserve("ann", "early.py")
    repo.hooked.reserve("ann", "late.py")

    repo.stage("free.py")
    repo.ok("commit", "-qm", "free")
    allowed = repo.git("push", "-q", "origin", "main")
    repo.stage("late.py")
    repo.ok("commit", "-q", "--no-verify", "-m", "late")
    refused = repo.git("push", "-q", "origin", "main")
    new_branch = repo.git("push", "-q", "origin", "main:another")
    deletion = repo.git("push", "-q", "origin", ":main")
    insisting = repo.git("push", "-q", "--no-verify", "origin", "main")

    assert (allowed.code, allowed.err) == (0, "")
    assert [(done.code, "late.py is reserved by ann" in done.err) for done in (refused, new_branch)] == [(1, True)] * 2
    assert "early.py" not in new_branch.err
    assert "reserved" not in deletion.err
    assert insisting.code == 0


def test_the_very_first_commit_is_looked_at_too(repo: Repo, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    repo.ok("init", "-q", cwd=fresh)
    repo.guard("install", cwd=fresh)
    room_id = repo.hooked.call("ann", "rooms.join", context_path=str(fresh))["room_id"]
    repo.hooked.call("ann", "reservations.reserve", room_id=room_id, path="a.py")
    repo.stage("a.py", top=fresh)

    assert repo.commit(cwd=fresh).code == 1


def test_a_damaged_store_is_loud_and_the_commit_goes_through(lone_repo: Repo) -> None:
    lone_repo.hooked.reserve("ann", "a.py")
    for extra in lone_repo.hooked.place.data_dir.glob("tally.sqlite-*"):
        extra.unlink()
    (lone_repo.hooked.place.data_dir / "tally.sqlite").write_bytes(b"not a database" * 1000)
    lone_repo.guard("install")
    lone_repo.stage("a.py")

    done = lone_repo.commit()

    assert (done.code, "This was NOT checked. Run: tally doctor" in done.err) == (0, True)


@pytest.mark.parametrize("harm", ["missing", "crashing"])
def test_a_tally_that_cannot_run_is_loud_and_the_commit_goes_through(repo: Repo, tmp_path: Path, harm: str) -> None:
    repo.guard("install")
    broken = tmp_path / "tally"
    if harm == "crashing":
        broken.write_text("#!/bin/sh\nexit 1\n", "utf-8")
        broken.chmod(0o755)
    hook = repo.hooks / "pre-commit"
    script = hook.read_text("utf-8").replace("command -v tally", "false")
    lines = [f"tally={broken}" if line.startswith("tally=") else line for line in script.splitlines()]
    text = "\n".join(lines).replace("${tally:-tally}", "${tally:-/nowhere/tally}")
    hook.write_text(f"{text}\n", "utf-8")
    repo.stage("a.py")

    done = repo.commit()

    assert (done.code, "this was NOT checked. Run: tally doctor" in done.err) == (0, True)


def test_check_by_hand_says_what_is_taken(repo: Repo) -> None:
    held = repo.hooked.reserve("ann", "a.py")
    repo.stage("a.py")

    done = repo.guard("check")

    row = {"path": f"{repo.top}/a.py", "held_by": "ann", "name": "ann", "until": held["until"], "active": True}
    assert (done.code, done.data) == (1, {"allowed": False, "taken": [row]})


def test_outside_of_a_repository_the_guard_says_so(repo: Repo, tmp_path: Path) -> None:
    done = repo.guard("install", cwd=tmp_path)

    assert (done.code, done.error["code"]) == (1, "no_repository")


def test_a_name_that_is_no_text_is_still_within_its_folder(repo: Repo) -> None:
    repo.hooked.reserve("ann", "src/*")
    repo.guard("install")
    (repo.top / "src").mkdir()
    Path(os.fsdecode(os.fsencode(repo.top / "src") + b"/\xff.py")).write_text("x", "utf-8")
    repo.ok("add", "-A")

    done = repo.commit()

    assert (done.code, "is reserved by ann" in done.err) == (1, True)
