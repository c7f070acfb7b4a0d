"""What was there before the guard still runs, and comes back exactly when the guard goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tallystick.commandline import output
from tests.guard.repository import Repo

SAYS = '#!/bin/sh\necho ran $(basename $0 .before-tally) "$@" >&2\n'


def test_hooks_that_were_there_run_first_and_decide_too(repo: Repo) -> None:
    repo.hook("pre-commit", SAYS)
    repo.guard("install")
    repo.stage("a.py")

    allowed = repo.commit()
    (repo.hooks / "pre-commit.before-tally").write_text("#!/bin/sh\nexit 7\n", "utf-8")
    repo.stage("b.py")
    refused = repo.commit()

    assert (allowed.code, allowed.err) == (0, "ran pre-commit\n")
    assert refused.code == 1


def test_a_hook_that_was_not_executable_stays_silent(repo: Repo) -> None:
    repo.hook("pre-commit", SAYS, 0o644)
    repo.guard("install")
    repo.stage("a.py")

    done = repo.commit()

    assert (done.code, "ran pre-commit" in done.err) == (0, False)


def test_a_push_hook_still_gets_its_arguments_and_its_input(repo: Repo, tmp_path: Path) -> None:
    repo.hook("pre-push", f'#!/bin/sh\necho "$@" > {tmp_path}/args\ncat > {tmp_path}/input\n')
    repo.ok("init", "-q", "--bare", str(tmp_path / "there"))
    repo.guard("install")
    repo.stage("a.py")
    repo.ok("commit", "-qm", "a")

    done = repo.git("push", "-q", str(tmp_path / "there"), "main")

    head = repo.ok("rev-parse", "HEAD")
    assert done.code == 0, done.err
    assert (tmp_path / "args").read_text("utf-8") == f"{tmp_path}/there {tmp_path}/there\n"
    assert (tmp_path / "input").read_text("utf-8") == f"refs/heads/main {head} refs/heads/main {'0' * 40}\n"


def _nothing(repo: Repo) -> None:
    pass


def _plain(repo: Repo) -> None:
    repo.hook("pre-commit", SAYS)
    repo.hook("pre-push", "no shebang\r\n", 0o640)


def _link(repo: Repo) -> None:
    repo.hook("real", SAYS)
    (repo.hooks / "pre-commit").symlink_to("real")


def _husky(repo: Repo) -> None:
    folder = repo.top / ".husky" / "_"
    folder.mkdir(parents=True)
    for name in ("pre-commit", "commit-msg"):
        (folder / name).write_text("#!/bin/sh\necho ran $(basename $0) in $(dirname $0) >&2\n", "utf-8")
        (folder / name).chmod(0o755)
    repo.ok("config", "core.hooksPath", ".husky/_")


def _global(repo: Repo) -> None:
    folder = repo.hooked.place.home / "githooks"
    folder.mkdir()
    (folder / "pre-commit").write_text(SAYS, "utf-8")
    (folder / "pre-commit").chmod(0o755)
    repo.ok("config", "--global", "core.hooksPath", "~/githooks")


EVERY = pytest.mark.parametrize("before", [_nothing, _plain, _link, _husky, _global])


@EVERY
def test_uninstall_restores_exactly_what_was_there(repo: Repo, before: object) -> None:
    assert callable(before)
    before(repo)
    was = repo.snapshot()

    repo.guard("install")
    between = repo.snapshot()
    repo.guard("install")
    again = repo.snapshot()
    gone = repo.guard("uninstall")

    assert gone.code == 0
    assert (between != was, again == between, repo.snapshot() == was) == (True, True, True)


@pytest.mark.parametrize("before", [_husky, _global])
def test_hooks_elsewhere_are_called_where_they_are_and_never_touched(repo: Repo, before: object) -> None:
    assert callable(before)
    before(repo)
    held = repo.hooked.reserve("ann", "a.py")
    was = {path: path.read_bytes() for path in repo.hooked.place.root.rglob("*hus*/_/*")}
    repo.guard("install")
    repo.stage("b.py")

    allowed = repo.commit()
    repo.stage("a.py")
    refused = repo.commit()

    assert (allowed.code, "ran pre-commit" in allowed.err) == (0, True)
    assert ("ran commit-msg in ./.husky/_" in allowed.err) == (before is _husky)
    assert (refused.code, f"until {output.time_until(str(held['until']))}" in refused.err) == (1, True)
    assert was == {path: path.read_bytes() for path in was}


def test_a_hook_that_took_the_guards_place_is_left_alone(repo: Repo) -> None:
    repo.hook("pre-commit", SAYS)
    repo.guard("install")
    repo.hook("pre-commit", "#!/bin/sh\n# another tool\n")

    again, gone = repo.guard("install"), repo.guard("uninstall")

    assert (again.code, again.error["code"]) == (1, "guard_in_the_way")
    assert gone.rows("hooks")[0] == {"path": str(repo.hooks / "pre-commit"), "action": "left alone", "chained": None}
    assert "another tool" in (repo.hooks / "pre-commit").read_text("utf-8")


def test_the_guard_says_what_it_did(repo: Repo) -> None:
    repo.hook("pre-commit", SAYS)

    done = repo.guard("install")

    aside = str(repo.hooks / "pre-commit.before-tally")
    assert done.rows("hooks") == [
        {"path": str(repo.hooks / name), "action": "written", "chained": aside if name == "pre-commit" else None}
        for name in ("pre-commit", "pre-merge-commit", "pre-push")
    ]
