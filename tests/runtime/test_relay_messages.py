"""What an owner agent says, read as relay output."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.runtime import relay
from tallystick.runtime.relay import LocalAnswer, Malformed, RelayActions, TaskDone

EXAMPLES = [
    '{"type":"relay_actions","actions":[{"type":"message","dst":"worker","text":"...","plan":{"steps":["..."]}}]}',
    '{"type":"relay_actions","actions":[{"type":"control","dst":"worker","command":"new"}]}',
    (
        '{"type":"relay_actions","actions":[{"type":"message","dst":"worker-a","text":"..."},'
        '{"type":"message","dst":"worker-b","text":"..."}]}'
    ),
]

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
values: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)
actions = st.lists(st.dictionaries(st.text(), values), min_size=1, max_size=4)
fences = st.sampled_from(["", "```", "```json", "~~~", "````json"])


def fenced(body: str, fence: str) -> str:
    return f"{fence}\n{body}\n{fence.rstrip('json')}" if fence else body


@pytest.mark.parametrize("text", EXAMPLES)
def test_the_specifications_relay_actions_are_read_as_they_stand(text: str) -> None:
    assert relay.read_output(text) == RelayActions(actions=json.loads(text)["actions"])


def test_the_specifications_task_done_ends_with_its_summary() -> None:
    assert relay.read_output('{"type":"task_done","summary":"..."}') == TaskDone(summary="...")
    assert relay.read_output('{"type":"task_done"}') == TaskDone(summary=None)


@pytest.mark.parametrize("fence", ["```", "```json", "~~~json"])
def test_one_fenced_block_is_read_like_bare_json(fence: str) -> None:
    assert relay.read_output(f"\n{fenced(EXAMPLES[1], fence)}\n") == relay.read_output(EXAMPLES[1])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I have finished.",
        "Here it is:\n```json\n" + EXAMPLES[1] + "\n```",
        EXAMPLES[1] + "\nthat is all",
        EXAMPLES[1] + EXAMPLES[1],
        EXAMPLES[1][:-1],
        "[" + EXAMPLES[1] + "]",
        '"task_done"',
        "{}",
        '{"type":"relay_action","actions":[]}',
        '{"type":["task_done"]}',
        '{"type":null}',
        "null",
        '{"summary":"done"}',
        "```json\n```",
        "{" * 100_000 + "}" * 100_000,
        '{"type":"task_done","summary":' + "[" * 100_000 + "]" * 100_000 + "}",
    ],
)
def test_anything_else_is_a_local_answer(text: str) -> None:
    assert relay.read_output(text) == LocalAnswer(text=text.strip())


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"relay_actions","actions":[]}',
        '{"type":"relay_actions"}',
        '{"type":"relay_actions","actions":{}}',
        '{"type":"relay_actions","actions":["worker"]}',
        '{"type":"relay_actions","actions":[{}],"done":true}',
        '{"type":"task_done","summary":7}',
        '{"type":"task_done","actions":[{}]}',
    ],
)
def test_what_was_meant_as_relay_output_and_is_none_says_why(text: str) -> None:
    found = relay.read_output(text)

    assert isinstance(found, Malformed)
    assert found.why


@given(st.text())
def test_every_text_is_read_as_something(text: str) -> None:
    assert isinstance(relay.read_output(text), RelayActions | TaskDone | LocalAnswer | Malformed)


@settings(max_examples=30)
@given(actions, fences)
def test_every_list_of_actions_comes_back_as_it_was_written(listed: list[dict[str, object]], fence: str) -> None:
    text = json.dumps({"type": "relay_actions", "actions": listed})

    assert relay.read_output(fenced(text, fence)) == RelayActions(actions=listed)


@given(values, st.text(), st.text(min_size=1))
def test_json_of_another_kind_or_with_words_around_it_is_local(value: object, before: str, after: str) -> None:
    done = '{"type":"task_done"}'

    assert isinstance(relay.read_output(json.dumps(["task_done", value])), LocalAnswer)
    assert isinstance(relay.read_output(json.dumps({"kind": "task_done", "value": value})), LocalAnswer)
    if before.strip():
        assert isinstance(relay.read_output(f"{before}.{done}"), LocalAnswer)
    if after.strip():
        assert isinstance(relay.read_output(f"{done}{after}."), LocalAnswer)
