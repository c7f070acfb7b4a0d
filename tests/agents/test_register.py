"""Registration: a name of one's own, never another's, whoever asks at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest

from tallystick.capabilities.agents import rules
from tallystick.hub import maintenance
from tests.scene import Actor, Row, Scene, refused


def register(actor: Actor, **given: object) -> Row:
    return cast("Row", actor.here("agents.register", **given)["agent"])


def newcomer(scene: Scene, name: str, room_id: str) -> Actor:
    actor = scene.agent(name)
    actor.room_id = room_id
    return actor


def test_registering_joins_the_room_under_the_name_asked_for(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    bob = newcomer(scene, "bob", ada.room_id)
    given = bob.here("agents.register", name="amber-otter", role="peer")
    assert given == {"status": "registered", "room_id": ada.room_id, "agent": ada.here("agents.show", agent_id="bob")}
    shown = ada.here("agents.show", agent_id="amber-otter")
    assert (shown["agent_id"], shown["name"], shown["role"], shown["ordinal"]) == ("bob", "amber-otter", "peer", 1)
    assert maintenance.check(scene.hub) == []


def test_a_member_registers_its_name_once_and_again_without_effect(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    assert ada.here("agents.register", name="amber-otter")["status"] == "registered"
    before = len(ada.events())
    assert ada.here("agents.register", name="amber-otter")["status"] == "unchanged"
    assert ada.here("agents.register")["status"] == "unchanged"
    assert len(ada.events()) == before


def test_another_name_or_role_needs_force_update_and_keeps_who_it_is(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    first = register(ada, name="amber-otter")
    with refused("already_registered") as caught:
        register(ada, name="cobalt-harbor")
    assert caught.value.details == {"name": "amber-otter", "role": "peer"}
    changed = ada.here("agents.register", name="cobalt-harbor", force_update=True)
    assert changed["status"] == "updated"
    assert changed["agent"] == {**first, "name": "cobalt-harbor"}


def test_nobody_registers_in_a_role_that_it_was_not_given(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    for given in ({"role": "foreman"}, {"role": "foreman", "force_update": True}):
        with scene.refused("role_not_yours"):
            ada.here("agents.register", **given)
    with scene.refused("role_not_yours"):
        newcomer(scene, "bob", ada.room_id).here("agents.register", role="foreman")
    ada.appointed()
    assert cast("Row", ada.here("agents.register", role="foreman")["agent"])["role"] == "foreman"


def test_a_name_that_another_has_or_had_is_refused_even_with_force(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    register(ada, name="amber-otter")
    for given in ({"name": "amber-otter"}, {"name": "amber-otter", "force_update": True}):
        with refused("duplicate_agent") as caught:
            register(bob, **given)
        assert caught.value.details == {"name": "amber-otter", "agent_id": "ada"}
    ada.here("rooms.leave")
    with refused("duplicate_agent") as caught:
        register(bob, name="amber-otter")
    assert caught.value.message == "amber-otter was the name of ada."
    assert ada.join()["agent_id"] == "ada"
    assert register(ada, name="amber-otter")["name"] == "amber-otter"


def test_nobody_takes_a_name_that_is_somebodys_id(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    with scene.refused("duplicate_agent"):
        register(ada, name="bob")


def test_without_a_name_everyone_gets_one_of_its_own_however_many_ask_at_once(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    crowd = [newcomer(scene, f"agent-{number}", ada.room_id) for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        given = [cast("str", each["name"]) for each in pool.map(register, crowd)]
    assert len(set(given)) == 24
    assert all(rules.is_registered_name(name) for name in given)
    assert maintenance.check(scene.hub) == []


@pytest.mark.parametrize("name", ["ab", "Amber-Otter", "a" * 49, "amber otter", ""])
def test_what_is_no_name_is_refused(scene: Scene, name: str) -> None:
    (ada,) = scene.joined("ada")
    with scene.refused("invalid_agent_name"):
        register(ada, name=name)


def test_a_closed_or_unknown_room_registers_nobody(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    ada.here("rooms.close")
    with scene.refused("room_closed"):
        register(ada, name="amber-otter")
    with scene.refused("room_not_found"):
        ada.call("agents.register", room_id="nowhere")
    for wrong in ({"role": "boss"}, {"nickname": "x"}, {"force_update": "yes"}):
        with scene.refused("unknown_field" if "nickname" in wrong else "invalid_input"):
            register(ada, **wrong)
