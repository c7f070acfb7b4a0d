"""What waits for the person: everything that does and nothing that does not, the most urgent first."""

from __future__ import annotations

from typing import cast

from tallystick.kernel.caller import Caller, SessionKind
from tests.scene import Actor, Row, Scene, refused


def user(scene: Scene, room_id: str) -> Actor:
    return Actor(scene, Caller(agent_id="user", session=SessionKind.HUMAN_GUARDIAN), room_id)


def at_terminal(scene: Scene, room_id: str) -> Actor:
    """The person at a terminal where `tally hold` waits for the stick."""
    return Actor(scene, Caller(agent_id="human:kim:tty1", session=SessionKind.HUMAN_GUARDIAN), room_id)


def items(person: Actor) -> list[Row]:
    return cast("list[Row]", person.here("attention.list")["items"])


def told(person: Actor) -> list[tuple[str, str, str]]:
    return [(each["kind"], each["who"], each["reason"]) for each in items(person)]


def asking_job(ada: Actor) -> dict[str, object]:
    ada.here("jobs.create", title="Migrate retries", prompt="Move them.")
    ada.here("runners.heartbeat", runner_id="r1", status="idle")
    claim = ada.here("jobs.claim", runner_id="r1", job="JOB-001")["claim_revision"]
    return {"job": "JOB-001", "runner_id": "r1", "claim_revision": claim}


def test_a_quiet_room_asks_for_nothing(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    bob.call("messages.send", room_id=bob.room_id, text="hello ada", to=["ada"])
    ada.claim()

    assert user(scene, ada.room_id).here("attention.list") == {
        "room_id": ada.room_id,
        "items": [],
        "count": 0,
        "unread": 0,
    }


def test_the_stick_that_is_kept_for_the_person_stands_on_top(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    person, holding = user(scene, ada.room_id), at_terminal(scene, ada.room_id)
    bob.here("messages.send", text="shall we?", to=["@user"], priority="attention")
    turn = ada.claim()
    holding.here("rooms.join")
    holding.look()
    bob.here("rooms.leave")
    ada.release(turn)

    assert told(person)[:2] == [
        ("stick", holding.caller.agent_id, "have the stick next; 1 agent waits"),
        ("message", "bob", "asks for your attention"),
    ]

    holding.look()

    assert [kind for kind, _, _ in told(person)] == ["message"]


def test_a_stick_that_the_person_left_lying_at_a_terminal_can_be_taken_over(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    person, holding = user(scene, ada.room_id), at_terminal(scene, ada.room_id)
    turn = ada.claim()
    holding.here("rooms.join")
    holding.look()
    ada.release(turn)
    scene.clock.forward(minutes=21)

    (opened,) = items(person)

    assert (opened["kind"], opened["who"], opened["turn_id"]) == ("takeover", holding.caller.agent_id, 1)
    person.here("rooms.join")
    person.take_over(1)
    assert items(person) == []


def test_a_question_goes_away_with_its_answer_and_does_not_come_back(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    person = user(scene, ada.room_id)
    held = asking_job(ada)
    ada.here("jobs.report", **held, kind="question", message="keep v1?")
    (asked,) = items(person)

    person.here("jobs.message", job="JOB-001", message="drop it")

    assert (asked["kind"], asked["reason"], asked["said"]) == ("question", "“Migrate retries” asks", "keep v1?")
    assert items(person) == []


def test_a_lost_claim_says_so_and_not_the_persons_own_words(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    person = user(scene, ada.room_id)
    held = asking_job(ada)
    ada.here("jobs.report", **held, kind="question", message="keep v1?")
    person.here("jobs.message", job="JOB-001", message="drop it")
    scene.clock.forward(minutes=10)

    (lost,) = items(person)

    assert (lost["kind"], lost["reason"], lost["said"]) == (
        "lost",
        "“Migrate retries”: r1 fell silent and the claim ran out",
        "",
    )


def test_missing_proof_waits_until_it_is_waived_and_a_failed_job_until_it_is_acknowledged(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    person = user(scene, ada.room_id)
    held = asking_job(ada)
    ada.here("jobs.report", **held, kind="proof_gate", message="no test was run")

    assert told(person) == [("proof", "JOB-001", "“Migrate retries” says it is done, without proof")]

    person.here("jobs.waive", job="JOB-001", reason="a document")
    assert items(person) == []
    ada.here("jobs.complete", **held, status="FAILED", summary="no way")
    assert told(person) == [("failed", "JOB-001", "“Migrate retries” failed")]
    person.here("jobs.acknowledge", job="JOB-001")
    assert items(person) == []


def test_an_answer_settles_missing_proof_and_an_error_until_they_come_again(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    person = user(scene, ada.room_id)
    held = asking_job(ada)
    for kind, waits in (("proof_gate", "proof"), ("error", "error")):
        for _ in range(2):
            ada.here("jobs.report", **held, kind=kind, message="no test was run")
            assert [each for each, _, _ in told(person)] == [waits]

            person.here("jobs.message", job="JOB-001", message="run them")
            assert items(person) == []
    scene.clock.forward(minutes=10)
    assert [each for each, _, _ in told(person)] == ["lost"]


def test_the_person_takes_on_the_page_what_is_kept_for_their_terminal(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    person, holding = user(scene, ada.room_id), at_terminal(scene, ada.room_id)
    holding.here("rooms.join")
    person.here("rooms.join")
    ada.pass_to(ada.claim(), holding.caller.agent_id)
    assert bob.look()["status"] == "not_yet"

    taken = person.look()

    assert (taken["status"], taken["reason"], taken["from_agent_id"]) == ("your_turn", "direct_pass", "ada")
    assert holding.look()["status"] == "not_yet"
    assert items(person) == []


def test_an_open_takeover_waits_unless_the_person_failed(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    person = user(scene, ada.room_id)
    ada.claim()
    scene.clock.forward(minutes=46)

    (opened,) = items(person)
    person.here("rooms.join")
    person.take_over(1)
    scene.clock.forward(minutes=46)

    assert (opened["reason"], opened["turn_id"]) == ("let the lease run out; takeover is open", 1)
    assert items(person) == []


def test_an_attempt_matters_while_the_path_is_reserved_and_the_persons_own_never(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    person = user(scene, ada.room_id)
    person.here("rooms.join")
    ada.here("reservations.reserve", path="lamp")
    for each in (bob, person):
        with refused("reservation_conflict"):
            each.here("reservations.reserve", path="lamp/lens.py")

    assert told(person) == [("incursion", "bob", "tried lamp/lens.py, reserved by ada")]

    ada.here("reservations.release", path="lamp")
    assert items(person) == []


def test_acks_that_are_overdue_wait_until_they_are_given(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    person = user(scene, ada.room_id)
    sent = person.here("messages.send", text="read this", to=["ada", "bob"], priority="attention")
    event_id = cast("Row", sent["event"])["id"]
    assert items(person) == []
    scene.clock.forward(minutes=60)

    assert told(person) == [("overdue", "ada", "and 1 more have not accepted your message")]

    for each in (ada, bob):
        each.here("messages.ack", event_id=event_id)
    assert [each for each in told(person) if each[0] == "overdue"] == []


def test_plain_mail_is_one_item_with_a_count_and_reading_it_takes_it_away(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    person = user(scene, ada.room_id)
    for number in range(3):
        ada.here("messages.send", text=f"news {number}", to=["@user"])

    (unread,) = items(person)
    assert (unread["kind"], unread["count"], unread["said"]) == ("unread", 3, "news 2")

    person.here("messages.read", event_id=unread["event_id"])
    assert items(person) == []


def test_what_is_dismissed_is_gone_can_be_taken_back_and_comes_again_for_a_new_reason(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    person = user(scene, ada.room_id)
    bob.here("messages.send", text="one", to=["@user"], priority="attention")
    (item,) = (each["item"] for each in items(person))

    person.here("attention.dismiss", item=item)
    assert items(person) == []
    person.here("attention.restore", item=item)
    assert [each["item"] for each in items(person)] == [item]
    person.here("attention.dismiss", item=item)
    bob.here("messages.send", text="two", to=["@user"], priority="attention")

    assert [each["said"] for each in items(person)] == ["two"]
    assert person.here("attention.restore", item="message:99")["changed"] is False


def test_what_is_snoozed_comes_back_by_itself(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    person = user(scene, ada.room_id)
    ada.here("messages.send", text="later", to=["@user"], priority="attention")
    (item,) = (each["item"] for each in items(person))

    person.here("attention.snooze", item=item, minutes=30)
    assert items(person) == []
    scene.clock.forward(minutes=30)

    assert [each["item"] for each in items(person)] == [item]


def test_only_what_waits_is_put_aside_only_by_a_person_and_not_what_agents_wait_for(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    person = user(scene, ada.room_id)
    bob.here("messages.send", text="one", to=["@user"], priority="attention")
    (item,) = (each["item"] for each in items(person))

    with scene.refused("item_not_waiting"):
        person.here("attention.dismiss", item="message:9999")
    with scene.refused("person_needed"):
        ada.here("attention.dismiss", item=item)
    holding = at_terminal(scene, ada.room_id)
    turn = ada.claim()
    holding.here("rooms.join")
    holding.look()
    bob.here("rooms.leave")
    ada.release(turn)
    (kept, *_) = (each["item"] for each in items(person))
    with scene.refused("item_blocks"):
        person.here("attention.dismiss", item=kept)
    person.here("attention.snooze", item=kept, minutes=5)
    assert [each["kind"] for each in items(person)] == ["message"]


def test_a_closed_room_asks_for_nothing(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    person = user(scene, ada.room_id)
    ada.here("messages.send", text="one", to=["@user"], priority="attention")
    person.here("rooms.join")
    person.here("rooms.close", reason="shipped")

    assert items(person) == []


def test_a_request_for_permission_waits_until_it_is_answered_and_is_not_dismissed(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    person = user(scene, ada.room_id)
    asked = ada.here("permissions.ask", tool="Bash", title="run the migration", command="make migrate")

    (item,) = items(person)
    assert (item["kind"], item["who"], item["reason"], item["said"]) == (
        "permission",
        "ada",
        "asks to use Bash: run the migration",
        "make migrate",
    )
    with scene.refused("item_blocks"):
        person.here("attention.dismiss", item=item["item"])
    person.here("permissions.answer", permission=asked["permission"], decision="allow")
    assert items(person) == []


def test_a_message_that_was_accepted_is_not_unread_mail_too(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    person = user(scene, ada.room_id)
    sent = cast("Row", ada.here("messages.send", text="read this", to=["@user"], priority="attention")["event"])
    person.here("messages.ack", event_id=sent["id"])

    assert items(person) == []
