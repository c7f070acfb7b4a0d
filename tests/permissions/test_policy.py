"""What a room settles by itself: commands and paths that need no asking, and what somebody else has reserved."""

from __future__ import annotations

from typing import cast

import pytest

from tallystick.capabilities.permissions import rules
from tests.permissions.asking import ask, edit, person, run
from tests.scene import Row, Scene


def test_a_room_without_a_policy_asks_about_everything(scene: Scene) -> None:
    (ada,) = scene.joined("ada")

    assert run(ada, "ls")["state"] == "open"
    assert edit(ada, "src/a.py")["state"] == "open"
    policy = cast("Row", ada.here("permissions.list")["policy"])
    assert "everything else is asked of a person" in policy["summary"]


def test_a_listed_command_is_allowed_at_once_and_says_by_which_rule(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    person(scene, ada.room_id).here("permissions.set_policy", allow_commands=["pytest *", "git status"])

    allowed = run(ada, "pytest -q tests/test_a.py")

    assert (allowed["state"], allowed["option_id"], allowed["settled_by"]) == ("allowed", "yes", "system")
    assert allowed["policy"] == "This room allows pytest * unasked."
    assert run(ada, "git status")["state"] == "allowed"
    assert run(ada, "git status --short")["state"] == "open"


@pytest.mark.parametrize(
    "command",
    [
        "pytest; rm -rf /",
        "pytest && rm -rf /",
        "pytest | sh",
        "pytest `id`",
        "pytest $(id)",
        "pytest > /etc/passwd",
        "pytest\nrm -rf /",
        "pytest\\\n;id",
        "pytest & id",
        "rm pytest",
        "pytest-evil",
        "'pytest",
        "FOO=1 pytest",
        "",
    ],
)
def test_a_pattern_allows_one_simple_command_only(command: str) -> None:
    assert not rules.allows_command("pytest *", command)


def test_a_pattern_matches_word_by_word() -> None:
    assert rules.allows_command("npm run test:*", "npm run test:unit")
    assert not rules.allows_command("npm run test:*", "npm run test:unit --update")
    assert not rules.allows_command("npm run test:*", "npm run build")
    assert rules.allows_command("git log *", "git log")


@pytest.mark.parametrize("pattern", ["*", "* -q", "'", "  ", "pytest; id", "p?test"])
def test_a_pattern_names_its_program(scene: Scene, pattern: str) -> None:
    (ada,) = scene.joined("ada")

    with scene.refused("invalid_input"):
        person(scene, ada.room_id).here("permissions.set_policy", allow_commands=[pattern])


def test_paths_are_allowed_when_all_of_them_are(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    scene.folder("docs")
    person(scene, ada.room_id).here("permissions.set_policy", allow_paths=["docs/*", "README.md"])

    assert edit(ada, "docs/a/b.md", str(scene.workspace / "README.md"))["state"] == "allowed"
    assert edit(ada, "docs/a.md", "src/a.py")["state"] == "open"
    assert edit(ada, "docs/../src/a.py")["state"] == "open"
    assert edit(ada)["state"] == "open"


def test_a_command_is_not_allowed_by_the_paths_it_names(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    person(scene, ada.room_id).here("permissions.set_policy", allow_paths=["docs/*"])

    assert ask(ada, command="rm docs/a.md", paths=["docs/a.md"])["state"] == "open"


def test_a_link_out_of_the_room_is_on_no_list(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    (scene.folder("docs") / "link.md").symlink_to("/etc/hosts")
    person(scene, ada.room_id).here("permissions.set_policy", allow_paths=["docs/*"])

    assert edit(ada, "docs/link.md")["state"] == "open"
    assert edit(ada, "/etc/hosts")["state"] == "open"


def test_what_somebody_else_reserved_is_denied_before_any_list(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    bob.here("reservations.reserve", path="docs/*")
    person(scene, ada.room_id).here("permissions.set_policy", allow_paths=["docs/*"])

    denied = edit(ada, "docs/a.md")

    assert (denied["state"], denied["option_id"]) == ("denied", "no")
    assert denied["policy"] == "Reserved by somebody else: docs/* by bob."
    assert edit(bob, "docs/a.md")["state"] == "allowed"


def test_a_room_may_deny_what_it_does_not_allow(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    eve = person(scene, ada.room_id)
    eve.here("permissions.set_policy", default="deny", allow_commands=["pytest *"])

    denied = run(ada, "make deploy")

    assert (denied["state"], denied["policy"]) == ("denied", "This room denies what it does not allow by name.")
    assert run(ada, "pytest")["state"] == "allowed"


def test_an_agent_sets_no_policy(scene: Scene) -> None:
    (ada,) = scene.joined("ada")

    with scene.refused("not_your_policy"):
        ada.here("permissions.set_policy", allow_commands=["rm *"])
    with scene.refused("not_your_policy"):
        person(scene, ada.room_id, "human:root:-").here("permissions.set_policy", allow_commands=["rm *"])


def test_a_policy_keeps_what_is_not_said_anew(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    eve = person(scene, ada.room_id)
    eve.here("permissions.set_policy", default="deny", allow_commands=["pytest *"])
    eve.here("permissions.set_policy", allow_paths=["docs/*"])

    policy = eve.here("permissions.set_policy")

    assert policy == {
        "default": "deny",
        "allow_commands": ["pytest *"],
        "allow_paths": ["docs/*"],
        "answerers": [],
        "summary": "pytest *, docs/* need no asking; everything else is denied, and what somebody else reserved is "
        "always denied.",
    }
    assert len(ada.events(kinds=["x.tally.permission.policy"])) == 2
