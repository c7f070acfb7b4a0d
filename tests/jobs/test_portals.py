"""The tools `jobs` and `tasks`, and the shape of the code behind them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tallystick.capabilities.jobs import errors as job_errors
from tallystick.capabilities.tasks import rules as task_errors
from tallystick.hub.registry import OPERATIONS
from tallystick.kernel import inputs
from tallystick.kernel.errors import InvalidInput, TallyError, UnknownOperation, every_error
from tallystick.surfaces.mcp import handlers
from tallystick.surfaces.mcp.tools import PORTALS, ToolSet
from tests.frame.checkout import PACKAGE

LEGACY = ["tasks_jobs_create", "tasks_jobs_radar", "tasks_runner_heartbeat", "tasks_snapshot", "tasks_macro_delegate"]


@pytest.mark.parametrize("name", ["jobs", "tasks", "open"])
def test_every_command_is_reached_by_op_and_by_cmd(name: str) -> None:
    portal = PORTALS[name]
    for command in portal.commands:
        assert portal.read({"op": "call", "cmd": command}).operation.name == command
        if command.startswith(f"{name}."):
            assert portal.read({"op": command.removeprefix(f"{name}.")}).operation.name == command
    assert {"tasks.snapshot", "tasks.macro.delegate"} <= set(PORTALS["tasks"].commands)
    assert {"jobs.radar", "jobs.artifact.put", "runners.heartbeat"} <= set(PORTALS["jobs"].commands)


@pytest.mark.parametrize("tool", LEGACY)
@pytest.mark.parametrize("tools", ToolSet)
def test_a_legacy_tool_name_is_refused_as_unknown(tool: str, tools: ToolSet) -> None:
    assert handlers.route(tools, tool, {}) is None
    assert isinstance(handlers.unknown(tools, tool), UnknownOperation)


@pytest.mark.parametrize(
    ("portal", "arguments"),
    [("jobs", {"op": "creat"}), ("jobs", {"op": "call", "cmd": "tasks_jobs_create"}), ("tasks", {"op": "snapshots"})],
)
def test_a_wrong_command_is_answered_with_the_valid_ones_and_a_whole_correct_call(
    portal: str, arguments: dict[str, object]
) -> None:
    with pytest.raises(UnknownOperation) as caught:
        PORTALS[portal].read(arguments)
    assert caught.value.details["valid"] == PORTALS[portal].commands
    example = caught.value.details["example"]
    assert PORTALS[portal].read(example)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", [*PORTALS["jobs"].commands, *PORTALS["tasks"].commands])
def test_a_wrong_field_is_answered_with_a_whole_correct_call(name: str) -> None:
    portal = PORTALS["jobs"] if name in PORTALS["jobs"].commands else PORTALS["tasks"]
    routed = handlers.Routed(operation=OPERATIONS[name], given={}, portal=portal)
    with pytest.raises(InvalidInput) as caught:
        inputs.read(OPERATIONS[name].ask, {"nonsense": 1})
    explained = routed.explained(caught.value)

    command = portal.read(explained.details["example"])  # pyright: ignore[reportArgumentType]
    assert inputs.read(command.operation.ask, command.given)


def _imports(folder: str) -> Iterator[str]:
    for path in (PACKAGE / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield node.module or ""


@pytest.mark.parametrize("folder", ["capabilities/jobs", "capabilities/tasks", "proof"])
def test_no_module_of_jobs_tasks_or_proof_can_start_a_program(folder: str) -> None:
    starters = {"subprocess", "os", "asyncio", "multiprocessing", "pty", "shutil", "ctypes"}
    assert {name.partition(".")[0] for name in _imports(folder)} & starters == set()


def test_tasks_know_jobs_only_through_a_protocol() -> None:
    known = {name for name in _imports("capabilities/tasks") if "capabilities.jobs" in name}
    assert known == {"tallystick.capabilities.jobs.events"}


def test_every_refusal_that_is_raised_has_a_code_of_its_own_in_the_reference() -> None:
    leaves = set(every_error())
    raised = [
        kind
        for module in (job_errors, task_errors)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, TallyError) and kind.hint
    ]
    assert [kind.__name__ for kind in raised if kind not in leaves] == []
