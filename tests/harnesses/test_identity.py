"""One session of a harness is one agent on every surface; different ones, nested ones too, are different agents."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tallystick.harnesses import identity, processes
from tallystick.harnesses.processes import Ancestor
from tallystick.kernel.caller import Caller, Process, SessionKind
from tallystick.kernel.ids import digest
from tests.harnesses.trees import (
    ASK,
    MARKERS,
    SESSIONS,
    SLUGS,
    Child,
    binary,
    detached,
    in_shell,
    instance,
    mcp_server,
    plan,
    replacing_shell,
    running,
    script,
    server_of,
    shell_plan,
)
from tests.scene import refused

every_harness = pytest.mark.parametrize("name", sorted(SLUGS))


@every_harness
def test_the_mcp_server_and_a_command_in_the_shell_are_one_agent(tmp_path: Path, name: str) -> None:
    children = plan(server_of(name), in_shell([*ASK, "cli"], MARKERS[name]))

    with running(script(tmp_path, name), children) as harness:
        assert harness.said == (instance(name, harness.process),) * 2


@every_harness
def test_a_native_harness_is_recognised_like_a_script(tmp_path: Path, name: str) -> None:
    children = shell_plan(server_of(name), in_shell([*ASK, "cli"], MARKERS[name]), stay=True)

    with running(binary(tmp_path, name), "-c", children) as harness:
        assert harness.said == (instance(name, harness.process),) * 2


@every_harness
def test_a_launcher_and_what_it_launches_are_one_instance(tmp_path: Path, name: str) -> None:
    script(tmp_path / "real", name)
    children = plan(server_of(name), in_shell([*ASK, "cli"], MARKERS[name]))

    with running(script(tmp_path, name, "launcher"), children) as launcher:
        assert launcher.said == (instance(name, launcher.process),) * 2


def test_a_harness_that_starts_itself_again_with_runtime_options_is_one_instance(tmp_path: Path) -> None:
    again = script(tmp_path / "real", "gemini")
    again.write_text(again.read_text("utf-8").replace(sys.executable, f"{sys.executable} -Xutf8", 1), "utf-8")

    with running(script(tmp_path, "gemini", "launcher"), plan(mcp_server())) as launcher:
        assert launcher.said == (instance("gemini", launcher.process),)


def test_a_shell_script_that_adds_arguments_and_starts_the_harness_is_one_instance_with_it(tmp_path: Path) -> None:
    real = binary(tmp_path / "real", "claude")
    wrapper = tmp_path / "claude"
    wrapper.write_text(f'#!/bin/sh\n{real} -u "$@"\nexit\n', "utf-8")
    wrapper.chmod(0o755)
    children = shell_plan(server_of("claude"), in_shell([*ASK, "cli"], MARKERS["claude"]), stay=True)

    with running(wrapper, "-c", children) as harness:
        assert harness.said == (instance("claude", harness.process),) * 2


def test_two_windows_of_a_harness_are_two_agents(tmp_path: Path) -> None:
    gemini = script(tmp_path, "gemini")

    with running(gemini, plan(server_of("gemini"))) as first, running(gemini, plan(server_of("gemini"))) as second:
        assert first.said == (instance("gemini", first.process),)
        assert second.said == (instance("gemini", second.process),)
        assert first.said != second.said


@pytest.mark.parametrize("name", sorted(SESSIONS))
def test_a_resumed_session_is_the_same_agent_with_another_process(tmp_path: Path, name: str) -> None:
    harness = script(tmp_path, name)
    children = plan(server_of(name), in_shell([*ASK, "cli"], MARKERS[name]))
    with running(harness, children) as first:
        pass

    with running(harness, children) as second:
        assert second.said == (instance(name, second.process),) * 2
    assert [each.agent_id for each in first.said] == [each.agent_id for each in second.said]
    assert first.process != second.process


@pytest.fixture
def service(tmp_path: Path) -> Path:
    """A Codex that works for every window at once."""
    return script(tmp_path, "codex", "service")


def test_the_windows_of_a_service_are_agents_whose_servers_prove_that_they_live(service: Path) -> None:
    shells = [in_shell([*ASK, "cli"], {"CODEX_SESSION_ID": each, "CODEX_THREAD_ID": each}) for each in ("one", "two")]
    servers = [server_of("codex", "one"), server_of("codex", "two")]

    with running(service, "app-server", plan(*servers, *shells)) as both:
        one, two, shell_one, shell_two = both.said

    assert [one.agent_id, two.agent_id] == [shell_one.agent_id, shell_two.agent_id]
    assert one.agent_id != two.agent_id
    assert one.process is not None
    assert two.process is not None
    assert both.process not in {one.process, two.process}
    assert one.process != two.process
    assert (shell_one.process, shell_two.process) == (None, None)


def test_a_name_in_the_environment_of_a_service_was_given_to_its_first_window_only(service: Path) -> None:
    inherited, typed = {"TALLYSTICK_AGENT": "ada", **MARKERS["codex"]}, {"TALLYSTICK_AGENT": "bob"}
    commands = [in_shell([*ASK, "cli"], env) for env in (inherited, typed)]

    with running(service, "app-server", plan(*commands), env={"TALLYSTICK_AGENT": "ada"}) as window:
        assert [each.agent_id for each in window.said] == [instance("codex", window.process).agent_id, "bob"]


def test_a_subagent_has_the_name_of_its_session_and_is_told_apart(tmp_path: Path) -> None:
    told = json.dumps({"harness": "codex", "session_id": "7d1d", "subagent": "5u6"})
    server = Child(argv=(*ASK, "mcp", "codex-mcp-client", "", "", told), env={})
    command = in_shell([*ASK, "cli"], {"CODEX_SESSION_ID": "7d1d", "CODEX_THREAD_ID": "5u6"})

    with running(script(tmp_path, "codex"), plan(server, command)) as harness:
        within = replace(instance("codex", harness.process), subagent=digest("codex", "session", "5u6"))
        assert harness.said == (within, within)


@pytest.mark.parametrize("shell", [in_shell, replacing_shell])
@pytest.mark.parametrize("inner", ["claude", "codex"])
def test_a_harness_started_from_the_shell_of_another_is_an_agent_of_its_own(
    tmp_path: Path, inner: str, shell: Callable[[Sequence[str], Mapping[str, str]], Child]
) -> None:
    own = {"CLAUDE_CODE_SESSION_ID": "inner"} if inner == "claude" else MARKERS[inner]
    marked = {**MARKERS["claude"], **own}
    nested = [
        str(script(tmp_path / "inner", inner)),
        plan(server_of(inner, own.get("CLAUDE_CODE_SESSION_ID", "")), in_shell([*ASK, "cli"], marked)),
    ]

    with running(script(tmp_path, "claude"), plan(shell(nested, MARKERS["claude"]), server_of("claude"))) as outer:
        *within, beside = outer.said

    assert beside == instance("claude", outer.process)
    assert within[0] == within[1] != beside
    assert within[0].agent_id.startswith(f"{SLUGS[inner]}:")


def test_markers_left_over_from_an_outer_harness_do_not_outweigh_the_nearest_process(tmp_path: Path) -> None:
    inner = [str(script(tmp_path, "gemini")), plan(server_of("gemini"), in_shell([*ASK, "cli"], MARKERS["claude"]))]

    with running(script(tmp_path, "claude"), plan(in_shell(inner, MARKERS["claude"]))) as outer:
        server, command = outer.said

    assert server == command
    assert server.harness == "gemini"


def test_sessions_that_one_background_service_runs_are_agents_of_their_own(tmp_path: Path) -> None:
    claude = binary(tmp_path, "claude")
    sessions = [
        Child(argv=(str(claude), "-c", f": {number}; {shell_plan(mcp_server())}"), env={}) for number in range(2)
    ]

    with running(script(tmp_path / "service", "claude"), plan(*sessions)) as service:
        first, second = service.said

    assert len({first.agent_id, second.agent_id, instance("claude", service.process).agent_id}) == 3


def test_a_session_of_its_own_for_the_terminal_changes_nothing(tmp_path: Path) -> None:
    command = Child(argv=("setsid", "--wait", *ASK, "cli"), env=MARKERS["codex"])

    with running(script(tmp_path, "codex"), plan(command, server_of("codex"))) as harness:
        assert harness.said == (instance("codex", harness.process),) * 2


def test_an_empty_environment_changes_nothing(tmp_path: Path) -> None:
    command = in_shell(["env", "-i", *ASK, "cli"], MARKERS["gemini"])

    with running(script(tmp_path, "gemini"), plan(command, server_of("gemini"))) as harness:
        assert harness.said == (instance("gemini", harness.process),) * 2


def test_an_orphan_of_a_harness_is_known_by_its_session_and_watches_no_process() -> None:
    said = detached(*ASK, "cli", env=MARKERS["claude"])

    key = digest("claude-code", "session", "5e55")
    assert said == (
        Caller(agent_id=f"claude-code:{key}", session=SessionKind.MCP_HARNESS, process=None, harness="claude-code"),
    )


def test_an_orphan_without_a_session_is_known_by_the_outermost_process_it_sees() -> None:
    first, second = detached(*ASK, "cli", env=MARKERS["gemini"]) + detached(*ASK, "cli", env=MARKERS["gemini"])

    assert first == second
    assert (first.harness, first.process) == ("gemini", None)


@pytest.mark.parametrize("mount", [["--mount-proc"], []], ids=["own_proc", "proc_of_the_outer_namespace"])
def test_in_a_pid_namespace_the_session_stands_for_the_harness(tmp_path: Path, mount: list[str]) -> None:
    unshare = _unshare(*mount)
    commands = [Child(argv=(*unshare, *ASK, "cli"), env=MARKERS["codex"]) for _ in range(2)]

    with running(script(tmp_path, "codex"), plan(*commands)) as harness:
        key = digest("codex", "session", "7d1d")
        within = Caller(agent_id=f"codex:{key}", session=SessionKind.MCP_HARNESS, process=None, harness="codex")
        assert harness.said == (within, within)


def test_a_server_alone_in_its_container_stands_for_itself() -> None:
    caller, *_ = detached(*_unshare("--mount-proc"), *ASK, "mcp", "Acme IDE")

    assert caller.process is not None
    assert caller.process.pid == 1
    assert caller.agent_id.startswith("acme-ide:")


def _unshare(*options: str) -> list[str]:
    command = ["unshare", "--pid", "--fork", *options]
    if subprocess.run([*command, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this user may not make pid namespaces")
    return [shutil.which("unshare") or "unshare", *command[1:]]


def test_a_chosen_name_is_kept_and_the_harness_watched(tmp_path: Path) -> None:
    command = in_shell([*ASK, "cli", "", "reviewer"], MARKERS["claude"])
    variable = mcp_server({"TALLYSTICK_AGENT": "reviewer"})

    with running(script(tmp_path, "claude"), plan(command, variable)) as harness:
        named = Caller(agent_id="reviewer", session=SessionKind.NAMED, process=harness.process, harness="claude-code")
        assert harness.said == (named, named)


def test_a_name_on_the_command_line_comes_before_the_variable() -> None:
    assert detached(*ASK, "cli", "", "reviewer", env={"TALLYSTICK_AGENT": "builder"}) == (
        Caller(agent_id="reviewer", session=SessionKind.NAMED),
    )


def test_an_empty_variable_names_nobody() -> None:
    assert detached(*ASK, "cli", env={"TALLYSTICK_AGENT": ""}) == (
        Caller(agent_id="human:ada:-", session=SessionKind.HUMAN_CLI),
    )


def test_a_named_server_without_a_harness_watches_what_started_it(tmp_path: Path) -> None:
    children = shell_plan(mcp_server(), mcp_server({"TALLYSTICK_AGENT": "reviewer"}))

    unnamed, named = detached(binary(tmp_path, "acme-ide"), "-c", children)

    assert unnamed.process is not None
    assert named == Caller(agent_id="reviewer", session=SessionKind.NAMED, process=unnamed.process)


@pytest.mark.parametrize(
    ("client_name", "slug"),
    [
        ("Acme IDE 2.0", "acme-ide-2-0"),
        ("gemini-cli-mcp-client", "gemini"),
        ("", "acme-ide"),
        ("svc", "mcp-svc"),
        ("user", "mcp-user"),
        ("\u202eevil\x1b[31m\n:name", "evil-31m-name"),
        ("---", "acme-ide"),
        ("x" * 500, "x" * 32),
    ],
)
def test_an_unknown_client_is_known_by_its_name_and_the_process_that_started_the_server(
    tmp_path: Path, client_name: str, slug: str
) -> None:
    children = shell_plan(mcp_server(client_name=client_name), mcp_server(client_name=client_name))

    first, second = detached(binary(tmp_path, "acme-ide"), "-c", children)

    assert first.process is not None
    key = digest(slug, first.process.host_id, str(first.process.pid), first.process.started_at)
    harness = "gemini" if slug == "gemini" else ""
    assert first == second
    assert first == Caller(
        agent_id=f"{slug}:{key}", session=SessionKind.MCP_HARNESS, process=first.process, harness=harness
    )


@pytest.mark.parametrize(("pid", "name"), [(1, "anything"), (812, "systemd"), (7, "tini")])
@pytest.mark.parametrize("client_name", ["x", "claude-code"])
@pytest.mark.parametrize("markers", [{}, *MARKERS.values()])
def test_a_server_whose_starter_is_gone_is_nobody(
    pid: int, name: str, client_name: str, markers: Mapping[str, str]
) -> None:
    above = _below(pid, name)

    with refused("starter_gone"):
        identity.resolve(markers, pid=99, user="", tty=None, surface="mcp", client_name=client_name, above=above)


def test_a_server_that_has_a_name_and_no_starter_lives_as_long_as_its_own_process() -> None:
    environ, own = {"TALLYSTICK_AGENT": "worker"}, os.getpid()

    named = identity.resolve(environ, pid=own, user="", tty=None, surface="mcp", above=_below(1, "init"))

    assert named == Caller(agent_id="worker", session=SessionKind.NAMED, process=processes.facts(own))


def _below(pid: int, name: str) -> tuple[Ancestor, ...]:
    """What is seen above a process whose parent is this one."""
    process = Process(host_id="host", pid=pid, started_at="1")
    return (Ancestor(pid=pid, parent=0, name=name, argv=(name,), process=process),)


@pytest.mark.parametrize(
    ("tty", "shown"), [("/dev/pts/3", "pts3"), ("/dev/ttys003", "s003"), ("/dev/tty1", "tty1"), ("", "-")]
)
def test_a_person_is_known_by_account_and_terminal_and_holds_nothing(tty: str, shown: str) -> None:
    assert detached(*ASK, "cli", "", "", tty) == (
        Caller(agent_id=f"human:ada:{shown}", session=SessionKind.HUMAN_CLI, process=None),
    )


def test_identity_needs_nothing_but_the_standard_library_and_us() -> None:
    before, after = _loaded("sys"), _loaded("tallystick.harnesses.identity")

    assert after - before - sys.stdlib_module_names == {"tallystick"}


def _loaded(module: str) -> set[str]:
    listing = f"import sys, {module}; print(*(each.partition('.')[0] for each in sys.modules))"
    return set(
        subprocess.run([sys.executable, "-c", listing], stdout=subprocess.PIPE, check=True, text=True).stdout.split()
    )
