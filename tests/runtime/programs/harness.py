"""A scripted coding agent that speaks a real harness's headless protocol: `harness.py SLUG [ARG]...`.

What it does follows from the last line of its prompt: `sleep` works until it is stopped, `fail` breaks down, `script`
says the next entry of a list of outputs, anything else is answered with how much it remembers. Sessions are files.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

STATE = Path(os.environ["HARNESS_STATE"])
slug, argv = sys.argv[1], sys.argv[2:]
prompt = sys.stdin.read()


def say(**event: object) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def after(flag: str) -> str | None:
    return argv[argv.index(flag) + 1] if flag in argv else None


def resumed() -> str | None:
    if slug == "codex":
        return argv[-2] if "resume" in argv else None
    return after("--resume")


def began(session: str) -> None:
    match slug:
        case "claude":
            say(type="system", subtype="init", session_id=session)
        case "codex":
            say(type="thread.started", thread_id=session)
        case "gemini":
            say(type="init", session_id=session)
        case _:
            pass


def worked(text: str) -> None:
    match slug:
        case "claude":
            block = {"type": "tool_use", "name": "Bash", "input": {"command": text}}
            say(type="assistant", message={"content": [block]})
        case "codex":
            item = {"type": "command_execution", "command": text, "exit_code": 0}
            say(type="item.completed", item=item)
        case "gemini":
            say(type="tool_use", tool_id="1", tool_name="shell", parameters={"command": text})
            say(type="tool_result", tool_id="1", status="success")
        case _:
            pass


def answered(text: str, session: str) -> None:
    match slug:
        case "claude":
            say(type="result", subtype="success", is_error=False, result=text, session_id=session)
        case "codex":
            say(type="item.completed", item={"type": "agent_message", "text": text})
            say(type="turn.completed")
        case "gemini":
            say(type="message", role="assistant", content=text)
            say(type="result", status="success")
        case _:
            sys.stdout.write(f"{text}\n")


def remembered(session: str) -> list[str]:
    """All prompts of a session, this one included."""
    file = STATE / f"session-{session}"
    before = file.read_text().split("\0") if file.exists() else []
    file.write_text("\0".join([*before, prompt]))
    return [*before, prompt]


def main() -> int:
    session = resumed() or f"{slug}-{len(list(STATE.glob('session-*')))}"
    with (STATE / "calls").open("a") as calls:
        calls.write(json.dumps({"slug": slug, "argv": argv, "agent": os.environ.get("TALLYSTICK_AGENT")}) + "\n")
    prompts = remembered(session)
    began(session)
    last = prompt.strip().splitlines()[-1] if prompt.strip() else ""
    if last == "sleep":
        child = subprocess.Popen([sys.executable, "-S", "-c", "import signal; signal.pause()"])
        (STATE / "pids").write_text(f"{os.getpid()} {child.pid}")
        worked("sleeping")
        return child.wait()
    if last == "fail":
        sys.stderr.write("out of sheep\n")
        return 3
    if outputs := os.environ.get("HARNESS_SCRIPT"):
        answered(json.loads(Path(outputs).read_text())[len(prompts) - 1], session)
        return 0
    worked(f"echo {last}")
    answered(f"{last} ({len(prompts)})", session)
    return 0


sys.exit(main())
