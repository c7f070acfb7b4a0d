"""Calling a harness without a terminal: the command line it gets, and what its output is taken to mean."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.harnesses.headless import protocol
from tallystick.harnesses.headless.programs import PROGRAMS
from tallystick.harnesses.headless.protocol import (
    Began,
    CommandEnded,
    Failed,
    HarnessAnswer,
    HarnessRequest,
    HarnessStep,
    Outcome,
    ProcessStart,
    Sandbox,
    Sign,
    Told,
)

SCRATCH = Path("/scratch")
ASK = HarnessRequest(prompt="count the sheep", scratch=SCRATCH)
SCHEMA = {"type": "object"}
every_program = pytest.mark.parametrize("slug", sorted(PROGRAMS))


def read(slug: str, *events: object, code: int = 0, errors: str = "") -> tuple[list[Sign], Outcome]:
    reader = PROGRAMS[slug].reader()
    signs = [sign for event in events for sign in reader.feed(event if isinstance(event, str) else json.dumps(event))]
    return signs, reader.end(code, errors)


@every_program
def test_the_prompt_travels_on_stdin_and_never_in_the_arguments(slug: str) -> None:
    start = PROGRAMS[slug].start(["binary"], ASK)

    assert start.argv[0] == "binary"
    assert start.stdin.startswith("count the sheep")
    assert not any("sheep" in part for part in start.argv)


def test_codex_gets_its_schema_in_a_file_and_its_limits_as_configuration() -> None:
    start = PROGRAMS["codex"].start(["codex"], replace(ASK, schema=SCHEMA, model="m", sandbox=Sandbox.READ_ONLY))

    file = SCRATCH / "answer-schema.json"
    assert start == ProcessStart(
        argv=(
            *("codex", "exec", "-c", 'sandbox_mode="read-only"', "-c", 'approval_policy="never"', "--json"),
            *("--skip-git-repo-check", "--output-schema", str(file), "--model=m", "--ephemeral", "-"),
        ),
        stdin="count the sheep",
        files={file: '{"type": "object"}'},
    )


def test_codex_goes_on_with_a_session_it_kept() -> None:
    start = PROGRAMS["codex"].start(["codex"], replace(ASK, keep=True, resume="7d1d"))

    assert start.argv[:3] == ("codex", "exec", "resume")
    assert start.argv[-2:] == ("7d1d", "-")
    assert "--ephemeral" not in start.argv


def test_claude_gets_its_schema_as_an_argument_and_writes_a_stream() -> None:
    start = PROGRAMS["claude-code"].start(
        ["claude"], replace(ASK, schema=SCHEMA, model="opus", sandbox=Sandbox.FULL_ACCESS)
    )

    assert start == ProcessStart(
        argv=(
            *("claude", "-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions"),
            *("--json-schema", '{"type":"object"}', "--model=opus", "--no-session-persistence"),
        ),
        stdin="count the sheep",
    )


def test_claude_tells_how_its_commands_ended_unless_they_went_on_or_were_never_run() -> None:
    plain = {"stdout": "", "stderr": "", "interrupted": False}
    ends: list[tuple[str, dict[str, object], object]] = [
        ("true", {"content": "", "is_error": False}, plain),
        ("make", {"content": "Exit code 2\nno rule", "is_error": True}, "Error: Exit code 2\nno rule"),
        ("sleep 9", {"content": "running", "is_error": False}, {**plain, "backgroundTaskId": "b4"}),
        ("make all", {"content": "cut short", "is_error": False}, {**plain, "interrupted": True}),
        ("grep x", {"content": "", "is_error": False}, {**plain, "returnCodeInterpretation": "No matches found"}),
        ("rm -r /", {"content": "Permission to use Bash was denied", "is_error": True}, "Error: denied"),
    ]
    uses = [{"type": "tool_use", "id": c, "name": "Bash", "input": {"command": c}} for c, _, _ in ends]
    results: list[dict[str, object]] = [
        {"type": "user", "message": {"content": [{"tool_use_id": command, **block}]}, "tool_use_result": result}
        for command, block, result in ends
    ]

    signs, _ = read("claude-code", {"type": "assistant", "message": {"content": uses}}, *results)

    assert [sign for sign in signs if isinstance(sign, CommandEnded)] == [
        CommandEnded(command="true", exit_code=0),
        CommandEnded(command="make", exit_code=2),
    ]


def test_gemini_knows_no_schema_so_its_prompt_ends_with_it() -> None:
    start = PROGRAMS["gemini"].start(["gemini"], replace(ASK, schema=SCHEMA, model="m", sandbox=Sandbox.READ_ONLY))

    assert start.argv == (
        *("gemini", "--output-format", "stream-json", "--approval-mode", "plan", "--skip-trust", "--prompt", ""),
        "--model=m",
    )
    assert start.stdin.endswith('fits this schema:\n{"type": "object"}\n')


def test_the_marks_of_an_outer_harness_do_not_reach_the_one_we_start() -> None:
    environ = {"PATH": "/bin", "CLAUDECODE": "1", "CODEX_THREAD_ID": "7d1d", "GEMINI_CLI": "1", "CODEX_HOME": "/c"}

    assert protocol.environment(environ) == {"PATH": "/bin", "CODEX_HOME": "/c"}


def test_claude_tells_its_session_its_steps_and_a_nested_structured_answer() -> None:
    tools = [
        {"type": "text", "text": "let me see"},
        {"type": "tool_use", "name": "Bash", "input": {"command": "ls\n-l"}},
        {"type": "tool_use", "name": "StructuredOutput", "input": {"status": "DONE"}},
    ]
    result = {"type": "result", "subtype": "success", "is_error": False, "result": "text"}

    signs, outcome = read(
        "claude-code",
        {"type": "system", "subtype": "init", "session_id": "5e55"},
        {"type": "assistant", "message": {"content": tools}},
        {**result, "structured_output": {"status": "DONE"}},
    )

    assert signs == [Began(session_id="5e55"), HarnessStep(text="Bash: ls -l")]
    assert outcome == HarnessAnswer(text="text", data={"status": "DONE"}, session_id="5e55")


@pytest.mark.parametrize(
    ("result", "why"),
    [
        ({"subtype": "success", "is_error": True, "result": "Credit balance is too low"}, "success: Credit balance"),
        ({"subtype": "error_max_turns", "is_error": False}, "error_max_turns: exited with 0"),
        ({"subtype": "error_during_execution", "is_error": True, "errors": ["boom"]}, "error_during_execution: ['boom"),
    ],
)
def test_a_result_of_claude_that_carries_an_error_is_a_failure(result: dict[str, object], why: str) -> None:
    _, outcome = read("claude-code", {"type": "result", **result})

    assert isinstance(outcome, Failed)
    assert outcome.why.startswith(why)


def test_codex_tells_its_thread_its_steps_and_its_last_message() -> None:
    items = [
        {"type": "agent_message", "text": "I begin."},
        {"type": "command_execution", "command": "make", "exit_code": 2},
        {"type": "file_change", "changes": [{"path": "a"}, {"path": "b"}], "status": "completed"},
        {"type": "mcp_tool_call", "server": "tally", "tool": "jobs", "status": "failed"},
        {"type": "agent_message", "text": '{"status": "DONE"}'},
    ]

    signs, outcome = read(
        "codex",
        {"type": "thread.started", "thread_id": "7d1d"},
        {"type": "error", "message": "Reconnecting... 1/5"},
        *({"type": "item.completed", "item": item} for item in items),
        {"type": "turn.completed", "usage": {}},
    )

    assert signs == [
        Began(session_id="7d1d"),
        HarnessStep(text="ran make (exit 2)", ok=False),
        CommandEnded(command="make", exit_code=2),
        HarnessStep(text="changed a, b"),
        HarnessStep(text="called tally.jobs", ok=False),
    ]
    assert outcome == HarnessAnswer(text='{"status": "DONE"}', data={"status": "DONE"}, session_id="7d1d")


def test_a_failed_turn_of_codex_is_a_failure_with_its_message() -> None:
    _, outcome = read("codex", {"type": "turn.failed", "error": {"message": "no quota"}}, code=1)

    assert outcome == Failed(why="no quota")


def test_gemini_tells_its_session_its_steps_and_what_it_said_last() -> None:
    signs, outcome = read(
        "gemini",
        {"type": "init", "session_id": "6e"},
        {"type": "message", "role": "user", "content": "count"},
        {"type": "message", "role": "assistant", "content": "I will look.", "delta": True},
        {"type": "tool_use", "tool_name": "run_shell_command", "tool_id": "1", "parameters": {"command": "ls"}},
        {"type": "tool_result", "tool_id": "1", "status": "error"},
        {"type": "message", "role": "assistant", "content": '```json\n{"status":', "delta": True},
        {"type": "message", "role": "assistant", "content": ' "DONE"}\n```', "delta": True},
        {"type": "result", "status": "success"},
    )

    assert signs == [Began(session_id="6e"), HarnessStep(text="run_shell_command: ls", ok=False)]
    assert outcome == HarnessAnswer(text='```json\n{"status": "DONE"}\n```', data={"status": "DONE"}, session_id="6e")


def test_an_error_of_gemini_is_a_failure_with_its_message() -> None:
    _, outcome = read("gemini", {"type": "result", "status": "error", "error": {"message": "no auth"}}, code=41)

    assert outcome == Failed(why="no auth")


def test_a_plain_program_tells_objects_as_it_goes_and_the_last_is_its_answer() -> None:
    signs, outcome = read("plain", '{"message": "half"}\n', "noise\n", '{"status": "DONE"}\n')

    assert signs == [Told(data={"message": "half"}), Told(data={"status": "DONE"})]
    assert outcome == HarnessAnswer(text='{"message": "half"}\nnoise\n{"status": "DONE"}\n', data={"status": "DONE"})


def test_a_plain_program_may_write_its_answer_over_several_lines() -> None:
    _, outcome = read("plain", "{\n", '  "status": "DONE"\n', "}\n")

    assert isinstance(outcome, HarnessAnswer)
    assert outcome.data == {"status": "DONE"}


@every_program
def test_a_process_that_died_without_an_answer_is_a_failure_that_says_how(slug: str) -> None:
    assert read(slug, code=-9)[1] == Failed(why="ended by signal 9")
    assert read(slug, code=3, errors="warming up\nno such model\n")[1] == Failed(
        why="exited with 3: warming up no such model"
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', {"a": 1}),
        ('Here it is:\n```json\n{"a": 1}\n```\nBye.', {"a": 1}),
        ('I think {"a": {"b": 2}} is right', {"a": {"b": 2}}),
        ("[1, 2]", None),
        ("{not json}", None),
        ("}{", None),
        ("", None),
        ('{"a":' * 100_000, None),
    ],
)
def test_an_object_is_found_in_an_answer_however_it_is_wrapped(text: str, found: object) -> None:
    assert protocol.answer_object(text) == found


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
TYPES = [
    *("system", "assistant", "result", "thread.started", "turn.failed", "item.completed", "error"),
    *("init", "message", "tool_use", "tool_result"),
]
events = st.fixed_dictionaries(
    {"type": st.sampled_from(TYPES)},
    optional=dict.fromkeys(
        ("subtype", "message", "item", "error", "session_id", "result", "content", "tool_id", "role"), json_values
    ),
)


@every_program
@given(lines=st.lists(st.text(max_size=40) | events.map(json.dumps), max_size=6), code=st.integers(-15, 3))
def test_no_output_whatever_makes_a_reader_stumble(slug: str, lines: Sequence[str], code: int) -> None:
    signs, outcome = read(slug, *lines, code=code)

    assert all(isinstance(sign, Began | HarnessStep | Told) for sign in signs)
    assert isinstance(outcome, HarnessAnswer | Failed)
    assert code == 0 or isinstance(outcome, Failed)
