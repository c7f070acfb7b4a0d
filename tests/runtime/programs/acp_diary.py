"""Speaks as much of ACP as a diary needs, and starts in no time: `acp_diary.py FILE`.

Each prompt is written down, first and last thing. One that begins with `slow` ends only when it is cancelled.
"""

import json
import sys
from pathlib import Path

diary = Path(sys.argv[1])


def say(**message: object) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def note(word: str, text: str) -> None:
    with diary.open("a") as opened:
        opened.write(f"{word} {text}\n")


slow = None
for line in sys.stdin:
    asked = json.loads(line)
    method, params = asked.get("method"), asked.get("params", {})
    if method == "initialize":
        say(id=asked["id"], result={"protocolVersion": 1, "agentCapabilities": {}})
    elif method == "session/new":
        say(id=asked["id"], result={"sessionId": "the only one"})
    elif method == "session/prompt":
        text = params["prompt"][0]["text"].splitlines()[-1]
        note("begin", text)
        if text.startswith("slow"):
            slow = asked["id"]
            continue
        note("end", text)
        chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "noted"}}
        say(method="session/update", params={"sessionId": params["sessionId"], "update": chunk})
        say(id=asked["id"], result={"stopReason": "end_turn"})
    elif method == "session/cancel" and slow is not None:
        say(id=slow, result={"stopReason": "cancelled"})
        slow = None
