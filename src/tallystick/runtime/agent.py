"""An attached agent at work: one loop over what the bus brings and what its program does.

An action is answered when it is taken up, so whatever waits here is delivered again if we die. What was answered is
in the journal until its end is on the ledger.
"""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, cast

from tallystick.harnesses.headless.programs import CannotDo
from tallystick.harnesses.headless.protocol import Failed, HarnessAnswer, Outcome
from tallystick.kernel.errors import TallyError
from tallystick.kernel.ids import new_id
from tallystick.runtime import engine as engines
from tallystick.runtime import memory, rules
from tallystick.runtime.engine import Engine
from tallystick.runtime.journal import Journal
from tallystick.runtime.line import Line
from tallystick.runtime.memory import Context
from tallystick.runtime.model import Delivery, Errand, Replaced, Resulted
from tallystick.runtime.reporting import Reports
from tallystick.runtime.rules import Ending, Verdict
from tallystick.runtime.run import Over, Run, Stepped
from tallystick.runtime.telling import Tell

HEARTBEAT_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    """Whoever runs this agent wants it to end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """The line is closed for good."""

    why: TallyError


Mail: TypeAlias = "Delivery | Stepped | Over | Leave | Gone"
MailBox: TypeAlias = "queue.SimpleQueue[Mail]"


class Agent:
    def __init__(
        self,
        *,
        line: Line,
        engine: Engine,
        journal: Journal,
        mail: MailBox,
        cwd: Path,
        scratch: Path,
        environ: Mapping[str, str],
        tell: Tell,
    ) -> None:
        self._line, self._engine, self._journal, self._mail = line, engine, journal, mail
        self._cwd, self._scratch, self._environ, self._tell = cwd, scratch, environ, tell
        self._reports = Reports(line, tell)
        self._run: Run | None = None
        self._held: list[Errand] = []
        self._known: deque[str] = deque(maxlen=1000)
        """The newest actions that were taken up or wait here: a new connection may bring them again."""

    def work(self) -> str:
        """Until it has to end; the reason."""
        try:
            self._recover()
            while True:
                why = self._handle(self._next())
                if why:
                    return why
        finally:
            self._abandon()

    def _next(self) -> Mail | None:
        try:
            return self._mail.get(timeout=HEARTBEAT_SECONDS)
        except queue.Empty:
            return None

    def _handle(self, mail: Mail | None) -> str:
        match mail:
            case None:
                self._line.ask("agents.heartbeat", {})
            case Errand():
                self._take(mail)
            case Stepped():
                text = rules.clean(mail.step.text)
                self._tell(text)
                self._reports.task(mail.run.errand, "running", text, number=mail.number)
            case Over():
                self._over(mail.run)
            case Replaced():
                return "another connection speaks for this agent now"
            case Leave():
                return "told to end"
            case Gone():
                return mail.why.message
            case Resulted():
                pass
        return ""

    def _take(self, errand: Errand) -> None:
        known = errand.action_id in self._known
        running = self._run.errand if self._run else None
        match rules.verdict(errand, running=running, held=bool(self._held), known=known):
            case Verdict.DROP:
                return
            case Verdict.HOLD:
                self._held.append(errand)
            case Verdict.RUN:
                self._start(errand)
            case Verdict.STOP:
                self._interrupt(errand)
            case Verdict.RENEW:
                self._renew(errand)
            case Verdict.NOTE:
                self._tell(f"{errand.src} replied: {errand.text}")
                self._reports.result(errand, "completed")
            case Verdict.IDLE:
                self._tell(f"{errand.src} interrupts, and nothing runs")
                self._reports.result(errand, "rejected", "nothing was running")
            case Verdict.UNKNOWN:
                self._reports.result(errand, "rejected", "an attached agent does not know this kind of action")
        self._known.append(errand.action_id)

    def _start(self, errand: Errand) -> None:
        context = self._journal.context(errand.context_id)
        try:
            start, reader = self._engine.start(errand, context, self._scratch)
        except CannotDo as cannot:
            self._tell(f"{errand.src} wants {errand.command}: {cannot}")
            self._reports.result(errand, "rejected", str(cannot))
            return
        self._tell(f"{errand.src} wants {errand.command}" if errand.command else f"{errand.src} asks: {errand.text}")
        self._journal.begin(errand)
        if not self._reports.result(errand, "accepted"):
            # Somebody settled it while we were away, so it is not ours to do any more.
            self._journal.settle(errand.action_id)
            return
        if errand.command != "compact":
            # That is about the agent, not about the work.
            self._reports.task(errand, "running")
        env = engines.environment(self._environ, self._line.room_id, self._line.agent, errand)
        try:
            self._run = Run(errand, start, reader, cwd=self._cwd, env=env, mail=self._mail.put)
        except OSError as wrong:
            self._finish(rules.ending(errand, Failed(why=f"it could not be started: {wrong}"), None))

    def _interrupt(self, errand: Errand) -> None:
        self._tell(f"{errand.src} interrupts")
        run = cast("Run", self._run)
        run.interrupts.append(errand)
        run.stop()

    def _renew(self, errand: Errand) -> None:
        self._journal.forget(errand.context_id)
        self._journal.save()
        opened = {"new_context_id": new_id(), "new_task_id": new_id()}
        self._tell(f"{errand.src} starts a new context")
        self._reports.result(errand, "completed", data=opened)

    def _over(self, run: Run) -> None:
        outcome = run.outcome()
        self._run = None
        self._remember(run.errand, outcome)
        stopped_by = run.interrupts[0].src if run.interrupts else None
        self._finish(rules.ending(run.errand, outcome, stopped_by))
        for interrupt in run.interrupts:
            self._reports.result(interrupt, "completed", f"stopped {run.errand.action_id}")
        held, self._held = self._held, []
        for errand in held:
            self._known.remove(errand.action_id)
            self._take(errand)

    def _remember(self, errand: Errand, outcome: Outcome) -> None:
        if errand.command == "review":
            return
        before = self._journal.context(errand.context_id)
        if isinstance(outcome, HarnessAnswer):
            after = memory.grown(before, errand, outcome.text.strip(), outcome.session_id)
        else:
            after = Context(session_id=outcome.session_id) if outcome.session_id else before
        self._journal.remember(errand.context_id, after)

    def _finish(self, ending: Ending) -> None:
        self._journal.owe(ending)
        who = ending.errand.src
        self._tell(f"answered {who}: {ending.detail}" if ending.status == "completed" else f"failed: {ending.detail}")
        self._reports.end(ending)
        self._journal.settle(ending.errand.action_id)

    def _recover(self) -> None:
        """Say what an earlier life of this agent could not say any more; nothing that it had accepted is run again."""
        for ending in list(self._journal.owed.values()):
            self._tell(f"an earlier answer to {ending.errand.src} is sent now")
            self._reports.end(ending)
            self._journal.settle(ending.errand.action_id)
        found = cast("list[dict[str, object]]", self._line.ask("actions.pending", {})["open"])
        for each in found:
            action_id = cast("str", each["action_id"])
            if each["status"] is not None:
                bare = Errand(action_id=action_id, src=cast("str", each["src"]), context_id="", task_id=action_id)
                errand = self._journal.begun.get(action_id, bare)
                self._tell(f"what {errand.src} asked before was not finished, and is not run again")
                self._reports.end(rules.abandoned(errand))
        self._journal.begun.clear()
        self._journal.save()

    def _abandon(self) -> None:
        """At the end: stop what runs, and say so if there is still somebody to say it to."""
        run, self._run = self._run, None
        if run is None:
            return
        run.stop()
        self._remember(run.errand, run.outcome())
        ending = rules.ending(run.errand, Failed(why=""), f"the end of {self._line.agent}")
        self._journal.owe(ending)
        if self._line.connected:
            with suppress(TallyError):
                self._reports.end(ending)
                self._journal.settle(run.errand.action_id)
