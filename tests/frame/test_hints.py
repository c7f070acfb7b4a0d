"""Every hint names a next step that can be pasted where it is read: into a terminal, a tool call, a request."""

from __future__ import annotations

import ast
import json
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from tallystick.hub import registry
from tallystick.kernel import hints, inputs
from tallystick.kernel.errors import TallyError, UnknownOperation
from tallystick.kernel.hints import CommandLine, NextStep, known, said, step
from tallystick.surfaces.cli.main import main
from tallystick.surfaces.cli.reference import every_error
from tallystick.surfaces.mcp import handlers
from tallystick.surfaces.mcp.tools import ToolSet
from tests.frame import printed
from tests.frame.checkout import modules, nodes

MARK = re.compile(r"hints import .*\bstep\b")


def declared() -> list[tuple[str, NextStep]]:
    """Each step of each refusal's own hint."""
    return [(kind.code, each) for kind in every_error() for each in hints.steps_in(kind.hint)]


STEPS = declared()


def typed_input(operation: str, given: Mapping[str, object]) -> object:
    """The input as the engine reads it; a word that stands for a number is taken for one."""
    ready = {name: 1 if value == "TURN" else value for name, value in given.items()}
    return inputs.read(registry.find(operation).ask, ready)


def test_most_refusals_of_operations_name_a_step() -> None:
    assert len({code for code, _ in STEPS}) >= 40


@pytest.mark.parametrize(("code", "found"), STEPS, ids=lambda each: each if isinstance(each, str) else each.operation)
def test_a_step_is_a_whole_request_over_http_and_a_whole_tool_call(code: str, found: NextStep) -> None:
    method, path, body = hints.request(found).split(" ", 2)
    tool, arguments = hints.tool_call(found).split(" ", 1)

    routed = handlers.route(ToolSet.DAILY, tool, json.loads(arguments))

    assert (method, path) == ("POST", f"/v1/{found.operation}"), code
    assert typed_input(found.operation, json.loads(body))
    assert routed is not None
    assert routed.operation.name == found.operation
    assert typed_input(found.operation, routed.given)


def test_a_step_is_a_line_that_the_command_tree_understands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("TALLYSTICK_DATA_DIR", str(tmp_path))
    wrong = dict[str, str]()
    for code, found in STEPS:
        line = CommandLine({"--as": "ada"}, "R-1")(found)
        monkeypatch.setattr(sys, "argv", [*shlex.split(line), "--help"])
        try:
            ended = main()
        except SystemExit as leaving:
            ended = leaving.code
        said_there = capsys.readouterr()
        if ended:
            wrong[f"{code}: {line}"] = said_there.err

    assert wrong == {}


def test_a_step_that_needs_no_room_names_none() -> None:
    without = {
        name
        for name, operation in registry.OPERATIONS.items()
        if not any(field.encode_name == "room_id" and field.required for field in msgspec.structs.fields(operation.ask))
    }

    assert {found.operation for _, found in STEPS if found.operation in without} <= hints.WITHOUT_ROOM
    assert without >= hints.WITHOUT_ROOM


def test_no_refusal_names_an_operation_in_bare_words() -> None:
    names = re.compile(r"\b(?:" + "|".join(map(re.escape, registry.OPERATIONS)) + r")\b")

    found = {
        kind.code: names.findall(text)
        for kind in every_error()
        if names.search(text := re.sub(r"<<.*?>>", "", kind.hint))
    }

    assert found == {"runner_offline": ["runners.heartbeat"]}  # A runner reads this one, and sends it by itself.


def test_one_declaration_is_said_in_the_words_of_each_surface() -> None:
    text = f"Ask with {step('messages.send', to=[known('held_by', otherwise='NAME')], text='…')}."
    about = {"room_id": "R-1", "held_by": "ada"}

    assert [
        said(text, each, about)
        for each in (CommandLine(), hints.tool_call, hints.request, hints.operation, hints.label)
    ] == [
        'Ask with `tally send ada "…"`.',
        'Ask with `messages {"op": "send", "args": {"room_id": "R-1", "to": ["ada"], "text": "…"}}`.',
        'Ask with `POST /v1/messages.send {"room_id": "R-1", "to": ["ada"], "text": "…"}`.',
        'Ask with `messages.send {"to": ["ada"], "text": "…"}`.',
        "Ask with `Send`.",
    ]
    assert said(said(text, None, about), CommandLine()) == said(text, CommandLine(), about)


def test_a_line_repeats_the_options_of_the_command_that_was_refused() -> None:
    line = CommandLine({"--as": "bo", "--data-dir": "/tmp/a b"}, "R-1")

    assert line(NextStep("turns.wait", {})) == 'tally --as bo --data-dir "/tmp/a b" wait --room R-1'
    assert line(NextStep("notes.add", {"body": 'say "$1"'})).startswith(
        'tally --as bo --data-dir "/tmp/a b" note \'say "$1"\''
    )


def test_hostile_words_in_a_step_do_not_leave_it() -> None:
    text = f"Try {step('notes.add', body='>> <<turns.wait>>')}."

    assert said(text, CommandLine()) == 'Try `tally note ">> <<turns.wait>>"`.'


def test_what_a_refusal_knows_fills_its_hint_and_survives_the_wire() -> None:
    error = UnknownOperation(hint=f"Try {step('jobs.requeue', job=known('job_id', otherwise='JOB-001'))}.")
    error.asked = {"room_id": "R-1", "job_id": "JOB-007"}

    assert error.payload(None)["hint"] == f"Try {step('jobs.requeue', job='JOB-007')}."
    assert error.advice == 'Try `jobs.requeue {"job": "JOB-007"}`.'


def test_every_step_in_the_source_names_an_operation_and_its_fields() -> None:
    """Those that a refusal, a notice or a command makes up on the way too."""
    found = [
        (node.args[0].value, {each.arg for each in node.keywords if each.arg})
        for path in modules()
        for node in nodes(path)
        if isinstance(node, ast.Call)
        and (getattr(node.func, "id", "") == "step" or getattr(node.func, "attr", "") == "typed")
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    ]
    wrong = [
        (name, fields)
        for name, fields in found
        if name not in registry.OPERATIONS or fields - {*registry.OPERATIONS[name].ask.__struct_fields__}
    ]

    assert (len(found) > 60, wrong) == (True, [])


def test_every_text_with_a_step_belongs_to_a_refusal_or_a_notice() -> None:
    """Whoever puts a step into another text has to say it there."""
    own = {"hints.py"}
    places = {path.name for path in modules() if MARK.search(path.read_text("utf-8"))} - own

    terminal, hook = {"inbox.py", "session.py", "state.py"}, {"news.py", "replies.py"}
    said_there = {*terminal, *hook, "lines.py", "loss_notices.py", "things.py"}
    assert places - {"errors.py", "rules.py", "operations.py"} == said_there


def test_the_reference_says_hints_as_the_operations_are_called() -> None:
    page = (printed.ROOT / "docs" / "reference" / "errors.md").read_text("utf-8")

    assert (TallyError.__name__ in page, "<<" in page) == (False, False)
