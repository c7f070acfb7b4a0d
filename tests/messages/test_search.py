"""Searching messages, notes and handoffs: any query is safe, and hits are the same on every engine."""

from __future__ import annotations

import asyncio
import threading
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.bus.records import frame
from tallystick.capabilities.messages import search as texts
from tallystick.capabilities.messages.queries import SQL
from tallystick.hub import maintenance
from tallystick.hub.hub import Hub
from tallystick.hub.serving import Serving
from tallystick.hub.visitor import Visitor
from tallystick.kernel.envelope import to_json
from tallystick.ledger import rebuild, tx
from tests.messages.talk import elsewhere, human, notify, say
from tests.places import Place
from tests.scene import HANDOFF, Actor, Row, Scene
from tests.statements import noted


def found(actor: Actor, query: str, **given: object) -> list[Row]:
    return cast("list[Row]", actor.here("messages.search", query=query, **given)["hits"])


def catch_up(scene: Scene, room_id: str) -> None:
    """Put what was said into the index."""
    with scene.hub.writing() as tx:
        rebuild.catch_up(tx, room_id)


def hits(actor: Actor, query: str, **given: object) -> list[Row]:
    """What a search finds, which is the same before and after it was indexed."""
    before = found(actor, query, **given)
    catch_up(actor.scene, actor.room_id)
    assert found(actor, query, **given) == before
    return before


def snippets(actor: Actor, query: str, **given: object) -> list[str]:
    return [hit["snippet"] for hit in hits(actor, query, **given)]


def test_a_hit_says_where_it_is_and_marks_the_word(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    event = say(ada, "The parser drops\nthe last line.")
    assert hits(bob, "parser") == [
        {
            "kind": "message",
            "ref": None,
            "event_id": event["id"],
            "seq": event["seq"],
            "by": "ada",
            "ts": event["ts"],
            "snippet": "The «parser» drops the last line.",
        }
    ]


def test_messages_notes_and_handoffs_are_found_newest_first(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    say(ada, "a timeout in a message")
    ada.here("notes.add", body="a timeout in a note")
    artifacts = [{"path": "src/timeout.py", "role": "review", "note": "look"}]
    ada.release(
        ada.claim(),
        handoff={
            "status": "nothing",
            "next_action": "nothing",
            "artifacts": artifacts,
            "open_questions": ["which?"],
            "do_not": ["touch the tests"],
        },
    )
    bob.pass_to(bob.claim(), "ada", handoff={"status": "raised the timeout", "next_action": "check"})
    assert [hit["kind"] for hit in hits(ada, "timeout")] == ["handoff", "handoff", "note", "message"]
    assert snippets(ada, "which tests timeout") == ["nothing nothing «which»? touch the «tests» src/«timeout».py look"]


def test_notifications_and_other_events_are_not_searched(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    notify(ada, title="needle", message="needle")
    ada.here("events.append", kind="x.acme.needle", data={"text": "needle"})
    assert hits(ada, "needle") == []


def test_every_word_has_to_occur_and_a_word_matches_from_its_beginning(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    say(ada, "Deployment of snake_case and kebab-case to src/main.py")
    for query in ("deploy", "DEPLOYMENT", "deploy snake", "snake_case", "case kebab", "main.py", "src/main.py", "py"):
        assert len(hits(ada, query)) == 1, query
    for query in ("deploy nothing", "ployment", "deployments", "ain.py"):
        assert hits(ada, query) == [], query


@pytest.mark.parametrize("text", ["Straße", "ÀÉÎ", "日本語", "Ωmega", "ﬁne", "İstanbul", "e\u0301te", "\U0001d4b3yz"])
def test_words_of_any_script_are_found(scene: Scene, text: str) -> None:
    ada, _bob = scene.joined("ada", "bob")
    say(ada, f"before {text} after")
    assert len(hits(ada, text)) == 1
    assert len(hits(ada, text.casefold())) == 1


@pytest.mark.parametrize(
    "query",
    [
        "",
        " ",
        '"',
        '"open',
        "*",
        "a*b",
        "(",
        "NEAR(x, 3)",
        "AND OR NOT",
        "x AND",
        "room_id : y",
        "-x ^y",
        "{words} : x",
        "'; DROP TABLE texts; --",
        "a & | ! <-> b:*",
        "\\",
        "%_",
        "\x00",
        "\u0301",
        "😀",
        "x" * 1000,
        " ".join("abcdefghijklmnopqrstuvwxyz"),
    ],
)
def test_no_query_is_an_error(scene: Scene, query: str) -> None:
    ada, _bob = scene.joined("ada", "bob")
    say(ada, "nothing to see")
    assert hits(ada, query) == []


def test_a_hostile_query_finds_the_words_in_it(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    say(ada, "we drop table and near")
    assert snippets(ada, "'; DROP TABLE; NEAR(and*) --") == ["we «drop» «table» «and» «near»"]


def test_hostile_text_is_indexed_and_shown_on_one_line(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    say(ada, "a\x00b\tneedle\r\n<b>")
    assert snippets(ada, "needle") == ["a\x00b «needle» <b>"]


def test_filters_narrow_the_search(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    say(ada, "needle one")
    scene.clock.forward(minutes=1)
    say(bob, "needle two")
    scene.clock.forward(minutes=1)
    ada.here("notes.add", body="needle three")
    say(human(scene, ada.room_id), "needle four")
    found = {
        "by": snippets(ada, "needle", by="bob"),
        "user": snippets(ada, "needle", by="user"),
        "kinds": snippets(ada, "needle", kinds=["note", "handoff"]),
        "since": snippets(ada, "needle", since_ts="2026-09-21T14:14:20Z", by="bob"),
        "until": snippets(ada, "needle", until_ts="2026-09-21T14:14:20Z"),
        "limit": snippets(ada, "needle", limit=2),
    }
    assert found == {
        "by": ["«needle» two"],
        "user": ["«needle» four"],
        "kinds": ["«needle» three"],
        "since": ["«needle» two"],
        "until": ["«needle» one"],
        "limit": ["«needle» four", "«needle» three"],
    }


@pytest.mark.parametrize("given", [{"kinds": ["nonsense"]}, {"since_ts": "yesterday"}, {"limit": 0}, {"by": "a\x00"}])
def test_a_wrong_filter_is_refused(scene: Scene, given: dict[str, object]) -> None:
    (ada,) = scene.joined("ada")
    with scene.refused("invalid_input"):
        hits(ada, "x", **given)


def test_a_search_stays_in_its_room(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    there = elsewhere(ada)
    say(ada, "needle here")
    say(there, "needle there")
    assert (snippets(ada, "needle"), snippets(there, "needle")) == (["«needle» here"], ["«needle» there"])


def test_the_search_rows_are_rebuilt_from_the_ledger(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    say(ada, "needle in a message")
    bob.release(bob.claim(), handoff={**HANDOFF, "status": "needle in a handoff"})
    before = hits(ada, "needle")
    rows = scene.rows("texts")
    scene.sql("DELETE FROM texts")
    assert found(ada, "needle") == []
    assert maintenance.check(scene.hub) == ["texts"]
    maintenance.rebuild(scene.hub)
    assert scene.rows("texts") == rows
    assert found(ada, "needle") == before


def test_an_index_that_lags_behind_is_as_it_should_be(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    say(ada, "needle one")
    catch_up(scene, ada.room_id)
    say(ada, "needle two")
    before = scene.dump()
    assert len(before["texts"]) == 1
    assert maintenance.check(scene.hub) == []
    maintenance.rebuild(scene.hub)
    assert scene.dump() == before


def test_saying_something_writes_nothing_into_the_index(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, bob = scene.joined("ada", "bob")
    asked = noted(monkeypatch, SQL)
    say(ada, "needle")
    ada.here("notes.add", body="needle")
    bob.release(bob.claim(), handoff={**HANDOFF, "status": "needle"})
    assert "index_text" not in asked
    assert scene.rows("texts") == []


def test_what_another_process_said_a_moment_ago_is_found(scene: Scene, place: Place) -> None:
    ada, bob = scene.joined("ada", "bob")
    say(ada, "needle one")
    catch_up(scene, ada.room_id)
    store = place.open()
    other = Hub(store, clock=scene.clock, machine_id="test-machine")
    other.call("messages.send", {"room_id": ada.room_id, "text": "needle two"}, bob.caller)
    assert snippets(ada, "needle") == ["«needle» two", "«needle» one"]
    store.close()


def test_a_long_backlog_is_indexed_in_steps_by_whoever_writes_on(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tx, "BACKLOG", 10)
    monkeypatch.setattr(tx, "STEP", 3)
    ada, _bob = scene.joined("ada", "bob")
    lags = list[int]()
    for number in range(30):
        say(ada, f"needle {number}")
        with scene.hub.reading() as reading:
            head = reading.head(ada.room_id)
        lags.append(head.seq - head.deferred_seq)
    assert max(lags) == 9
    assert len(scene.rows("texts")) == 21
    assert len(found(ada, "needle", limit=100)) == 30


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)  # on PostgreSQL the loop commits nothing
def test_the_event_loop_leaves_a_long_backlog_to_the_thread(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tx, "BACKLOG", 10)
    monkeypatch.setattr(tx, "STEP", 5)
    ada, _bob = scene.joined("ada", "bob")
    hub = Hub(scene.store, clock=scene.clock, machine_id="test-machine", grouped=True)
    indexed_in, catch_up = set[str](), tx.Tx.catch_up

    def watched(self: tx.Tx, room_id: str) -> bool:
        indexed_in.add(threading.current_thread().name)
        return catch_up(self, room_id)

    async def say_all() -> None:
        serving = Serving(hub, frame)
        for number in range(30):
            given = {"room_id": ada.room_id, "text": f"needle {number}"}
            await serving.call(Visitor(caller=ada.caller, trusted=True), "messages.send", given)
        await serving.close()

    monkeypatch.setattr(tx.Tx, "catch_up", watched)
    asyncio.run(say_all())
    if hub.committer:
        hub.committer.close()

    assert indexed_in == {"tally-commit"}
    with scene.hub.reading() as reading:
        head = reading.head(ada.room_id)
    assert head.seq - head.deferred_seq < 10


def test_an_import_leaves_no_more_unindexed_than_may_wait(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, _bob = scene.joined("ada", "bob")
    for number in range(30):
        say(ada, f"needle {number}")
    monkeypatch.setattr(tx, "BACKLOG", 10)
    monkeypatch.setattr(tx, "STEP", 3)
    lines = [*maintenance.export(scene.hub)]
    with maintenance.scratch(scene.hub) as copy:
        maintenance.import_(copy, lines)
        with copy.reading() as reading:
            head = reading.head(ada.room_id)
    assert head.seq - head.deferred_seq < 10


def fail_after(writing: tx.Tx, room_id: str) -> None:
    rebuild.catch_up(writing, room_id)
    raise ZeroDivisionError


def test_a_failed_write_leaves_the_index_where_it_was(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    say(ada, "needle")
    with pytest.raises(ZeroDivisionError), scene.hub.writing() as writing:
        fail_after(writing, ada.room_id)
    assert scene.rows("texts") == []
    assert snippets(ada, "needle") == ["«needle»"]


def test_a_snippet_shows_the_surroundings_of_the_first_hit() -> None:
    text = f"{'x ' * 100}needle {'y ' * 100}needle"
    snippet = texts.snippet(text, ["need"])
    assert snippet.startswith("…x x ")
    assert snippet.endswith(" y y…")
    assert snippet.count("«needle»") == 1
    assert len(snippet) == 164


@given(st.text(max_size=60), st.text(max_size=6))
def test_a_text_that_is_passed_over_unread_would_not_have_matched(text: str, query: str) -> None:
    terms = texts.words(query)
    assert texts.may_match(to_json({"text": text}), terms) or not texts.matches(text, terms)


@given(st.text(max_size=400), st.text(min_size=1, max_size=20))
def test_a_snippet_of_anything_is_one_short_line(text: str, query: str) -> None:
    snippet = texts.snippet(text, texts.words(query))
    assert "\n" not in snippet
    assert len(snippet) <= 2 * 160 + 2 * 80


def test_jobs_tasks_cards_and_paths_are_found_with_what_to_open(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    ada.here("tasks.create", title="A new lens for the lamp")
    ada.here("cards.create", title="Lens prices", body="Two glaziers answered.")
    ada.here("jobs.create", title="Compare the lenses", prompt="Count the lamp's watches.")
    ada.here("reservations.reserve", path="lamp/lens.py")

    found = cast("list[Row]", ada.here("messages.search", query="lens")["hits"])
    assert [(each["kind"], each["ref"]) for each in found] == [
        ("path", None),
        ("job", "JOB-001"),
        ("card", "CARD-001"),
        ("task", "TASK-001"),
    ]
    (by_id,) = cast("list[Row]", ada.here("messages.search", query="JOB-001")["hits"])
    assert (by_id["kind"], by_id["ref"]) == ("job", "JOB-001")
