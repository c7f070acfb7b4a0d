"""Who is calling: an identity and the process facts behind it, as a surface resolved them."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum

from tallystick.kernel.errors import InvalidField, ReservedName

_AGENT_ID = re.compile(r"[^\s\x00-\x1f\x7f-\x9f@][^\s\x00-\x1f\x7f-\x9f]{0,127}")
_RESERVED = frozenset({"user", "system", "you", "everybody", "nobody", "broadcast"})
"""Names of principals, words that the page and commands say for them, and what messages are addressed to."""
SERVICE = "svc:"
_PREFIXES = (SERVICE, "human:", "token:", "role:")
_SERVICE = re.compile(r"svc:[a-z0-9][a-z0-9._-]{0,63}")
_OUR_SERVICES = ("svc:tally", "svc:cccc")


def check_agent_id(text: str) -> str:
    """A name an agent may give itself; other principals' names are refused."""
    if not _AGENT_ID.fullmatch(text) or not text.isprintable():
        raise InvalidField("An agent id is 1 to 128 printable characters without spaces.", field="agent_id")
    if unicodedata.normalize("NFKC", text) != text:
        raise InvalidField(
            "An agent id has no letters that only look like others, such as wide ones.", field="agent_id"
        )
    if reserved(text):
        raise ReservedName(f"'{text}' is reserved.", agent_id=text)
    return text


def check_speaker(text: str) -> str:
    """The name that a program speaks under: an agent's own, or that of a service which is not one of ours."""
    if not is_service(text):
        return check_agent_id(text)
    if not _SERVICE.fullmatch(text):
        raise InvalidField("A service is named svc: and 1 to 64 characters of [a-z0-9._-].", field="principal")
    if any(text == each or text.startswith(each + ".") for each in _OUR_SERVICES):
        raise ReservedName(f"'{text}' is reserved.", principal=text)
    return text


def is_service(name: str) -> bool:
    """Whether a principal is a service: it writes and has an inbox, and is no member of any room."""
    return name.startswith(SERVICE)


def reserved(text: str) -> bool:
    """Whether a name is, or looks like, that of a principal that nobody may give itself."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return plain in _RESERVED or plain.startswith(_PREFIXES)


def is_person(agent_id: str) -> bool:
    """Whether an id stands for the person: as `user`, or as whoever types at a terminal."""
    return agent_id == "user" or agent_id.startswith("human:")


class SessionKind(StrEnum):
    """What sort of session stands behind an agent id. Later members outrank earlier ones."""

    HUMAN_CLI = "human_cli"
    """A person's one-shot command: it may read and write, and holds nothing."""
    NAMED = "named"
    """An agent that named itself, with no process to watch: recovery by timeout only."""
    MCP_HARNESS = "mcp_harness"
    """A harness instance, reached over MCP, its shell or its hooks."""
    HUMAN_GUARDIAN = "human_guardian"
    """A person's attached `tally hold`."""

    @property
    def rank(self) -> int:
        return list(SessionKind).index(self)


HOLDERS = frozenset(SessionKind) - {SessionKind.HUMAN_CLI}
"""The sessions by which a stick may be held at all."""


class ProcessState(StrEnum):
    ALIVE = "alive"
    GONE = "gone"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One exact process: `host_id` covers machine, boot and pid namespace, `started_at` is the kernel's start mark."""

    host_id: str
    pid: int
    started_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    agent_id: str
    session: SessionKind
    process: Process | None = None
    harness: str = ""
    display_name: str = ""
    overridden: bool = False
    """The caller chose this id itself (`agent_id_override`); the event stream says so."""
    session_id: str = ""
    """The session's own id, while it acts for an agent that it adopted."""
    subagent: str = ""
    """The sub-agent of that session that is calling: it has the agent's rights, and never its turn."""
    may_work: bool = True
    """False for a token that may speak, or only look."""
    room_id: str = ""
    """The only room within reach of the caller's token; empty for all."""
    by_token: bool = False
    """A token vouches for the caller and nothing else does: it is another session than a local one of that name."""

    @property
    def own_id(self) -> str:
        """What this session is called by itself, whomever it acts for."""
        return self.session_id or self.agent_id
