"""The table of harnesses against command lines and environments as the programs really have them."""

from __future__ import annotations

import pytest

from tallystick.harnesses import registry


def call(*argv: str, name: str = "x") -> tuple[str, tuple[str, ...]] | None:
    read = registry.invocation(name, argv)
    return (read.harness.slug, read.args) if read else None


@pytest.mark.parametrize(
    ("argv", "read"),
    [
        (("claude",), ("claude-code", ())),
        (("/home/ada/.local/bin/claude", "-p", "hi"), ("claude-code", ("-p", "hi"))),
        (("/home/ada/.local/share/claude/versions/2.1.197", "--bg"), ("claude-code", ("--bg",))),
        (
            ("/opt/node_modules/@anthropic-ai/claude-code/bin/claude.exe", "daemon", "run"),
            ("claude-code", ("daemon", "run")),
        ),
        (("node", "/opt/node_modules/@anthropic-ai/claude-code/cli.js", "-c"), ("claude-code", ("-c",))),
        (("node", "/opt/node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs"), ("claude-code", ())),
        (("/bin/bash", "-e", "/home/ada/bin/claude", "--resume"), ("claude-code", ("--resume",))),
        (("claude", "", "", ""), ("claude-code", ())),
        (("node", "/opt/node_modules/.bin/codex", "exec", "-"), ("codex", ("exec", "-"))),
        (("node", "/opt/node_modules/@openai/codex/bin/codex.js"), ("codex", ())),
        (("/opt/vendor/x86_64-unknown-linux-musl/bin/codex", "exec"), ("codex", ("exec",))),
        (("C:\\Tools\\Codex.exe", "exec"), ("codex", ("exec",))),
        (("/usr/bin/node", "--max-old-space-size=8192", "/opt/.bin/gemini", "-p", "hi"), ("gemini", ("-p", "hi"))),
        (("node", "-r", "./preload.js", "/opt/node_modules/@google/gemini-cli/dist/index.js"), ("gemini", ())),
        (("bun", "run", "/opt/bundle/gemini.js", "-y"), ("gemini", ("-y",))),
        (("python3.12", "-X", "utf8", "/opt/bin/gemini"), ("gemini", ())),
    ],
)
def test_a_harness_is_recognised_however_it_was_started(
    argv: tuple[str, ...], read: tuple[str, tuple[str, ...]]
) -> None:
    assert call(*argv) == read


@pytest.mark.parametrize(
    "argv",
    [
        ("codex-linux-sandbox", "--command-cwd", "/repo", "--", "bash"),
        ("rg", "claude"),
        ("timeout", "60", "claude", "-p"),
        ("bash", "-c", "claude -p hi"),
        ("bash", "-lc", "codex"),
        ("bash", "deploy.sh", "claude"),
        ("node", "-e", "code", "codex"),
        ("node", "server.js", "/opt/.bin/gemini"),
        ("python", "-m", "claude"),
        ("node",),
        ("npm exec @openai/codex",),
        ("vim", "/home/ada/CLAUDE.md"),
        ("claude-monitor",),
        ("/opt/node_modules/@anthropic-ai/claude-code/vendor/rg",),
        ("",),
    ],
)
def test_what_only_mentions_a_harness_is_none(argv: tuple[str, ...]) -> None:
    assert call(*argv, name="codex") is None


def test_where_the_arguments_cannot_be_read_the_name_decides() -> None:
    assert call(name="codex") == ("codex", ())


@pytest.mark.parametrize(
    ("environ", "slug", "session"),
    [
        ({"CLAUDECODE": "1"}, "claude-code", None),
        ({"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "a"}, "claude-code", "a"),
        ({"CODEX_THREAD_ID": "t", "CODEX_SESSION_ID": "s"}, "codex", "s t"),
        ({"CODEX_THREAD_ID": "s", "CODEX_SESSION_ID": "s"}, "codex", "s"),
        ({"CODEX_THREAD_ID": "", "CODEX_SESSION_ID": "s"}, "codex", "s"),
        ({"GEMINI_CLI": "1"}, "gemini", None),
        ({"CLAUDECODE": "1", "CODEX_CI": "1", "CODEX_THREAD_ID": "t"}, "codex", "t"),
    ],
)
def test_markers_tell_the_harness_and_its_session(environ: dict[str, str], slug: str, session: str | None) -> None:
    found = registry.marked(environ)

    assert found is not None
    named = found.session_in(environ)
    assert (found.slug, str(named) if named else None) == (slug, f"{slug} {session}" if session else None)


@pytest.mark.parametrize("environ", [{}, {"CLAUDECODE": ""}, {"CODEX_HOME": "/home/ada/.codex", "GEMINI_API_KEY": "x"}])
def test_settings_of_a_person_are_no_markers(environ: dict[str, str]) -> None:
    assert registry.marked(environ) is None


@pytest.mark.parametrize(
    ("client", "slug"),
    [("claude-code", "claude-code"), ("Codex-MCP-Client", "codex"), ("gemini-cli-mcp-client", "gemini")],
)
def test_mcp_clients_are_known_by_name(client: str, slug: str) -> None:
    found = registry.by_client(client)

    assert found is not None
    assert found.slug == slug


def test_an_unknown_mcp_client_is_no_harness() -> None:
    assert registry.by_client("acme") is None
