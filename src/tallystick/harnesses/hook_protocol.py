"""The hook protocols of the three harnesses: which event is which moment, and how each wants to be answered.

An answer is what goes to standard output and standard error, and the exit code. What others wrote stands in it on one
line, with nothing that a terminal would obey, and quoted. Imported before every edit.
"""

from __future__ import annotations

import json

EDIT, START, STOP, END, SUBAGENT = "edit", "start", "stop", "end", "subagent"
NEWS, STATUS, PERMISSION = "news", "status", "permission"

EVENTS = {
    "claude": {
        "PreToolUse": EDIT,
        "PermissionRequest": PERMISSION,
        "PostToolUse": NEWS,
        "UserPromptSubmit": NEWS,
        "SessionStart": START,
        "SubagentStart": SUBAGENT,
        "Stop": STOP,
        "SessionEnd": END,
        "StatusLine": STATUS,
    },
    "codex": {
        "PreToolUse": EDIT,
        "PermissionRequest": PERMISSION,
        "PostToolUse": NEWS,
        "UserPromptSubmit": NEWS,
        "SessionStart": START,
        "SubagentStart": SUBAGENT,
        "Stop": STOP,
        "SessionEnd": END,
    },
    "gemini": {
        "BeforeTool": EDIT,
        "AfterTool": NEWS,
        "BeforeAgent": NEWS,
        "SessionStart": START,
        "AfterAgent": STOP,
        "SessionEnd": END,
    },
}
SLUGS = {"claude": "claude-code"}
"""What a harness is called elsewhere, where that is not what its hooks are told."""
CLEARED = frozenset({"clear", "compact"})
"""The sources of a session, and reasons for its end, with which a window goes on with the same work."""
GLUED = {"gemini": ("SessionStart",)}
"""The events after which a harness glues what it is told before the person's words, and forgets these with it when the
session is resumed. What is to be said then is said with the prompt."""
BLOCK = 2
"""The exit code that all three take for a no; the reason is read from standard error."""

LONGEST = 300
LONGEST_PATH = 120
_PLAIN_PATH = r"[\w./*@+~-]{1,240}"


class HookReply:
    __slots__ = ("code", "err", "out")

    def __init__(self, out: object = None, err: str = "", code: int = 0) -> None:
        self.out = "" if out is None else json.dumps(out, ensure_ascii=False) + "\n"
        self.err = f"{err}\n" if err else ""
        self.code = code


ALLOW = HookReply()


def show(text: str) -> HookReply:
    """Plain text, for a status line."""
    reply = HookReply()
    reply.out = f"{text}\n" if text else ""
    return reply


def deny(harness: str, event: str, reason: str) -> HookReply:
    """The tool must not run. Said twice, as JSON and by exit code, since some versions heed only the latter."""
    if harness == "gemini":
        return HookReply({"decision": "deny", "reason": reason}, reason, BLOCK)
    verdict = {"hookEventName": event, "permissionDecision": "deny", "permissionDecisionReason": reason}
    return HookReply({"hookSpecificOutput": verdict}, reason, BLOCK)


def decide(event: str, *, allowed: bool, why: str) -> HookReply:
    """What was asked of a person is answered in the person's place."""
    decision = {"behavior": "allow"} if allowed else {"behavior": "deny", "message": why}
    return HookReply({"hookSpecificOutput": {"hookEventName": event, "decision": decision}})


def tell(event: str, text: str) -> HookReply:
    """Something for the agent to know."""
    return HookReply({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})


def go_on(harness: str, reason: str) -> HookReply:
    """The agent must not stop yet; the reason is what it reads next."""
    return HookReply({"decision": "deny" if harness == "gemini" else "block", "reason": reason})


def remark(text: str) -> HookReply:
    """Something for the person at the harness; nothing is held up by it."""
    return HookReply({"systemMessage": text}, text)


def plain(text: object) -> str:
    """On one line, and printable."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in str(text)).split())


def clipped(text: object, longest: int) -> str:
    """The same, and not at length."""
    line = plain(text)
    return f"{line[:longest]}…" if len(line) > longest else line


def quoted(text: object, longest: int = LONGEST) -> str:
    # A quotation mark in it would end the quotation for whoever reads on.
    inside = str(text).replace('"', "'")
    return f'"{clipped(inside, longest)}"'


def quoted_path(given: object) -> str:
    """A path as it stands, unless it could be taken for a sentence: then it is a quotation."""
    text = str(given)
    import re  # Here: most hooks say nothing of any path.

    return text if re.fullmatch(_PLAIN_PATH, text) else quoted(text, LONGEST_PATH)
