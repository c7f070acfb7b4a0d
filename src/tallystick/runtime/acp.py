"""A harness that speaks ACP: one process for as long as its agent is attached, one session for each conversation.

Each prompt is a `AcpRun`, which blocks in a thread of its own while the process is at work. What the process says is
read by one thread in the order in which it comes. It is never asked two things at once: some harnesses stop what they
do when a second prompt comes.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tallystick import __version__
from tallystick.harnesses.acp import protocol
from tallystick.harnesses.acp.programs import AcpProgram
from tallystick.harnesses.acp.protocol import (
    AcpMessage,
    AcpResponse,
    PermissionWanted,
    RequestId,
    RequestWithdrawn,
    SessionUpdate,
    UnknownRequest,
)
from tallystick.harnesses.acp.turn import AcpTurn, wanted_action
from tallystick.harnesses.headless.programs import CannotDo
from tallystick.harnesses.headless.protocol import Failed, HarnessAnswer, HarnessStep, Outcome, Sandbox, gave_up, part
from tallystick.harnesses.process_group import ProcessGroup
from tallystick.kernel.errors import TallyError
from tallystick.runtime import rules
from tallystick.runtime.program import Mail, ProgramExited, ProgramStepped, SessionBegan
from tallystick.runtime.room_connection import PermissionRequests
from tallystick.runtime.rules import STEP_LIMIT, ActionDelivery, Context, SettledPermission

CANCEL_SECONDS = 10.0
"""How long a harness may take to stop what it does before its process is ended."""
TOLD_AGAIN = 5
"""So many times in one request an agent is told why it was denied something, and goes on."""


class AcpFailure(Exception):
    """The harness refused a request, or is gone; the text says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcpEngine:
    """What the sessions of one attached agent have in common."""

    slug: str
    program: AcpProgram
    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    sandbox: Sandbox
    model: str | None
    servers: Callable[[Mapping[str, object]], Sequence[Mapping[str, object]]]
    """Our MCP server as a session gets it, for what the harness says it can do."""
    permissions: PermissionRequests
    _process: list[AcpProcess] = field(default_factory=list)

    keeps_words = True
    """A session may be lost, so what was said is kept beside it."""

    def begin(self, action: ActionDelivery, context: Context, mail: Mail) -> AcpRun:
        return AcpRun(self, action, context, self._words(action), mail)

    def _words(self, action: ActionDelivery) -> str:
        """What the harness is told for a control, or empty for a message."""
        if not action.command:
            return ""
        command = self.program.controls.get(action.command)
        if command is None:
            raise CannotDo(f"{self.slug} has no {action.command} over ACP; ask for it in a message.")
        return f"{command} {action.text}".strip()

    def process(self) -> AcpProcess:
        """The process, started when there is none."""
        if self._process and self._process[0].alive:
            return self._process[0]
        process = AcpProcess(self.argv, cwd=self.cwd, env=self.environment)
        self._process[:] = [process]
        process.begin()
        return process

    def close(self) -> None:
        for process in self._process:
            process.end()


class AcpProcess:
    def __init__(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> None:
        self.run: AcpRun | None = None
        """Who gets what it says."""
        self.sessions = set[str]()
        """The sessions that it has open."""
        self.capabilities: Mapping[str, object] = {}
        self.alive = True
        self._lock = threading.Lock()
        self._asked: dict[int, queue.SimpleQueue[AcpResponse | None]] = {}
        self._ids = iter(range(2**62))
        self._group = ProcessGroup(
            argv, stdin="", stdin_open=True, cwd=cwd, env=env, on_line=self._line, on_end=self._ended
        )

    def begin(self) -> None:
        answered = self.ask("initialize", protocol.initialize(__version__))
        version = answered.get("protocolVersion")
        if version != protocol.VERSION:
            self.end()
            raise AcpFailure(f"it speaks version {version} of the protocol, not {protocol.VERSION}")
        self.capabilities = part(answered, "agentCapabilities")

    def ask(self, method: str, params: Mapping[str, object]) -> Mapping[str, object]:
        """Send a request and wait for its result, however long that takes."""
        answer: queue.SimpleQueue[AcpResponse | None] = queue.SimpleQueue()
        with self._lock:
            if not self.alive:
                raise AcpFailure(self._last_words())
            id = next(self._ids)
            self._asked[id] = answer
        self.send(protocol.request(id, method, params))
        response = answer.get()
        if response is None:
            raise AcpFailure(self._last_words())
        if response.error:
            raise AcpFailure(response.error)
        return response.result

    def send(self, line: str) -> None:
        self._group.send(line)

    def end(self) -> None:
        self._group.end(0)

    def _line(self, line: str) -> None:
        message = protocol.read(line)
        if isinstance(message, AcpResponse):
            with self._lock:
                asked = self._asked.pop(message.id, None)
            if asked:
                asked.put(message)
        elif isinstance(message, UnknownRequest):
            self.send(protocol.not_offered(message))
        elif message is not None and (run := self.run):
            run.heard(message)
        elif isinstance(message, PermissionWanted):
            self.send(protocol.chosen(message.id, None))

    def _ended(self) -> None:
        with self._lock:
            self.alive = False
            waiting, self._asked = list(self._asked.values()), {}
        for each in waiting:
            each.put(None)

    def _last_words(self) -> str:
        return f"the harness {gave_up(self._group.wait(), self._group.errors)}"


class AcpRun:
    """One request at work."""

    def __init__(self, engine: AcpEngine, action: ActionDelivery, context: Context, words: str, mail: Mail) -> None:
        self.action = action
        self.interrupts: list[ActionDelivery] = []
        """Who wants it stopped."""
        self._engine, self._context, self._words, self._mail = engine, context, words, mail
        self._turn = AcpTurn(noise=engine.program.noise)
        self._lock = threading.Lock()
        self._stopped = False
        self._replaying = False
        self._steps = 0
        self._process: AcpProcess | None = None
        self._session_id = ""
        self._open: dict[RequestId, int | None] = {}
        """What the harness waits for: its request, and the number of it in the room once that is known."""
        self._denied: list[SettledPermission] = []
        self._outcome: Outcome = Failed(why="it was not begun")
        self._over = threading.Event()
        threading.Thread(target=self._work, daemon=True).start()

    def stop(self) -> None:
        """Have the harness stop, and end its process when it does not; the end is mailed either way."""
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
            process, session_id = self._process, self._session_id
        if process and session_id:
            process.send(protocol.notification("session/cancel", {"sessionId": session_id}))
        self._forsake_all("the request was interrupted")
        threading.Thread(target=self._insist, daemon=True).start()

    def _insist(self) -> None:
        if not self._over.wait(CANCEL_SECONDS) and self._process:
            self._process.end()

    def outcome(self) -> Outcome:
        """What came of it; waits for its end."""
        self._over.wait()
        return self._outcome

    def _work(self) -> None:
        try:
            self._outcome = self._answered()
        except AcpFailure as failure:
            self._outcome = Failed(why=str(failure), session_id=self._session_id or None)
        except OSError as wrong:
            self._outcome = Failed(why=f"it could not be started: {wrong}")
        finally:
            if self._process:
                self._process.run = None
            self._forsake_all("what it was asked for is over")
            self._over.set()
            self._mail(ProgramExited(run=self))

    def _answered(self) -> Outcome:
        process = self._process = self._engine.process()
        process.run = self
        self._session_id, known = self._session(process)
        self._mail(SessionBegan(run=self, session_id=self._session_id))
        words = self._words or rules.prompt_for(self.action, Context(session_id="known") if known else self._spoken())
        for _ in range(TOLD_AGAIN):
            if self._stopped:
                break
            result = process.ask("session/prompt", protocol.prompt(self._session_id, words))
            reason, text = protocol.text(result, "stopReason"), self._turn.ends()
            if not self._must_explain(reason):
                return self._ended(reason, text)
            words = rules.denial(self._denied)
            self._denied = []
            self._turn = AcpTurn(noise=self._engine.program.noise)
        why = "stopped" if self._stopped else f"it was denied what it asked {TOLD_AGAIN} times"
        return Failed(why=why, session_id=self._session_id)

    def _spoken(self) -> Context:
        return Context(exchanges=self._context.exchanges)

    def _must_explain(self, reason: str) -> bool:
        """Whether the agent has yet to hear why it was denied something: most harnesses end the turn there."""
        return not self._stopped and any(each.why or reason == "cancelled" for each in self._denied)

    def _ended(self, reason: str, text: str) -> Outcome:
        if reason == "end_turn" or (text and reason not in {"cancelled", "refusal", "max_tokens", "max_turn_requests"}):
            return HarnessAnswer(text=text, data=None, session_id=self._session_id)
        said = f", after saying: {text}" if text else ""
        return Failed(why=f"its turn ended with {reason or 'no reason'}{said}", session_id=self._session_id)

    def _session(self, process: AcpProcess) -> tuple[str, bool]:
        """The session of this conversation, and whether it knows what was said before."""
        known = self._context.session_id
        if known and known in process.sessions:
            return known, True
        where = {"cwd": str(self._engine.cwd), "mcpServers": [*self._engine.servers(process.capabilities)]}
        if known and self._engine.program.loads and self._loaded(process, known, where):
            session_id = known
        else:
            meta = {"_meta": self._engine.program.session_meta} if self._engine.program.session_meta else {}
            session_id = protocol.text(process.ask("session/new", {**where, **meta}), "sessionId")
            known = None
        self._hold(process, session_id)
        process.sessions.add(session_id)
        return session_id, known is not None

    def _loaded(self, process: AcpProcess, session_id: str, where: Mapping[str, object]) -> bool:
        if process.capabilities.get("loadSession") is not True:
            return False
        self._replaying = True
        try:
            process.ask("session/load", {"sessionId": session_id, **where})
        except AcpFailure as failure:
            if not process.alive:
                raise
            self._step(HarnessStep(text=f"its earlier session is gone ({failure}); it is told what was said", ok=False))
            return False
        finally:
            self._replaying = False
        return True

    def _hold(self, process: AcpProcess, session_id: str) -> None:
        """Set how far the session may reach, and its model. Left alone, some harnesses ask no person at all."""
        program = self._engine.program
        if mode := program.modes.get(self._engine.sandbox):
            process.ask("session/set_mode", {"sessionId": session_id, "modeId": mode})
        for option, value in program.options.get(self._engine.sandbox, {}).items():
            process.ask("session/set_config_option", {"sessionId": session_id, "configId": option, "value": value})
        if self._engine.model and program.model_method:
            named = {"configId": "model", "value": self._engine.model}
            given = named if program.model_method.endswith("config_option") else {"modelId": self._engine.model}
            process.ask(program.model_method, {"sessionId": session_id, **given})

    def heard(self, message: AcpMessage) -> None:
        """Whatever the harness says in the middle, in order."""
        match message:
            case SessionUpdate() if not self._replaying:
                for step in self._turn.feed(message):
                    self._step(step)
            case PermissionWanted():
                self._wanted(message)
            case RequestWithdrawn(id=id):
                self._forsake(id, "the harness withdrew it")
            case _:
                pass

    def _step(self, step: HarnessStep) -> None:
        if self._steps < STEP_LIMIT:
            self._steps += 1
            self._mail(ProgramStepped(run=self, step=step, number=self._steps))

    def _wanted(self, wanted: PermissionWanted) -> None:
        if self._stopped:
            self._choose(wanted.id, None)
        elif self._turn.is_own(wanted.call, self._engine.program.own_tools):
            # Our own tools decide for themselves who may do what.
            once = next((each.option_id for each in wanted.options if each.kind == "allow_once"), None)
            self._choose(wanted.id, once)
        else:
            with self._lock:
                self._open[wanted.id] = None
            threading.Thread(target=self._have_answered, args=(wanted,), daemon=True).start()

    def _have_answered(self, wanted: PermissionWanted) -> None:
        settled = SettledPermission(number=0, title=self._turn.title(wanted.call), state="not answered", by="", why="")
        try:
            settled = self._asked_and_settled(wanted)
        except TallyError as wrong:
            settled = replace(settled, why=wrong.message)
        finally:
            # Whatever happened: the harness waits, and without an answer it must not go on with it.
            self._tell(wanted, settled)

    def _tell(self, wanted: PermissionWanted, settled: SettledPermission) -> None:
        with self._lock:
            if wanted.id not in self._open:
                return
            del self._open[wanted.id]
            if settled.state != "allowed":
                self._denied.append(settled)
        if settled.number:
            by = f" by {settled.by}" if settled.by else ""
            why = f": {settled.why}" if settled.why else ""
            self._step(HarnessStep(text=f"permission {settled.number} {settled.state}{by}{why}"))
        self._choose(wanted.id, settled.option_id)

    def _asked_and_settled(self, wanted: PermissionWanted) -> SettledPermission:
        requests, action = self._engine.permissions, wanted_action(wanted, self._turn)
        found = requests.ask(action, wanted.options, self.action.action_id)
        with self._lock:
            if wanted.id not in self._open:
                requests.withdraw(found.number, "the harness withdrew it")
                return found
            self._open[wanted.id] = found.number
        if found.state == "open":
            self._step(HarnessStep(text=f"asks permission {found.number}: {action.tool}: {action.title}"))
        while found.state == "open":
            found = requests.wait(found.number)
        return found

    def _choose(self, id: RequestId, option_id: str | None) -> None:
        if self._process:
            self._process.send(protocol.chosen(id, option_id))

    def _forsake(self, id: RequestId, why: str) -> None:
        """Nobody needs to answer this any more."""
        with self._lock:
            number = self._open.pop(id, None)
        if number is not None:
            threading.Thread(target=self._engine.permissions.withdraw, args=(number, why), daemon=True).start()

    def _forsake_all(self, why: str) -> None:
        for id in tuple(self._open):
            self._forsake(id, why)
            self._choose(id, None)
