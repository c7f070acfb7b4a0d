"""An attached agent at work: one loop over what the bus brings and what its program does.

An action is answered when it is taken up, so whatever waits here is delivered again if we die. What was answered is
in the journal until its end is on the ledger.
"""

from __future__ import annotations

import queue
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeAlias

from tallystick.capabilities.actions.contract import ActionQueue
from tallystick.client import typed
from tallystick.harnesses.headless.programs import CannotDo
from tallystick.harnesses.headless.protocol import Failed, HarnessAnswer, Outcome
from tallystick.kernel.errors import Refused, TallyError
from tallystick.kernel.ids import new_id
from tallystick.runtime import rules
from tallystick.runtime.journal import Journal
from tallystick.runtime.program import AgentEngine, ProgramExited, ProgramStepped, Run, SessionBegan
from tallystick.runtime.room_connection import ActionReports, PermissionRequests, RoomConnection, Tell
from tallystick.runtime.rules import (
    ActionDelivery,
    ActionEnding,
    ActionVerdict,
    AgentReplaced,
    DeliveredResult,
    Delivery,
    RoomOver,
)

HEARTBEAT_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    """Whoever runs this agent wants it to end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """The line is closed for good."""

    why: TallyError


Mail: TypeAlias = "Delivery | ProgramStepped | ProgramExited | SessionBegan | Leave | Gone"
MailBox: TypeAlias = "queue.SimpleQueue[Mail]"


class Agent:
    def __init__(
        self,
        *,
        line: RoomConnection,
        engine: AgentEngine,
        journal: Journal,
        mail: MailBox,
        tell: Tell,
    ) -> None:
        self._line, self._engine, self._journal, self._mail, self._tell = line, engine, journal, mail, tell
        self._reports = ActionReports(line, tell)
        self._permissions = PermissionRequests(line)
        self._run: Run | None = None
        self._ended = False
        """Whether the room has let go of it: nothing can be said there any more."""
        self._held: list[ActionDelivery] = []
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
            self._engine.close()

    def _next(self) -> Mail | None:
        try:
            return self._mail.get(timeout=HEARTBEAT_SECONDS)
        except queue.Empty:
            return None

    def _handle(self, mail: Mail | None) -> str:
        match mail:
            case None:
                self._line.ask("agents.heartbeat", {})
            case ActionDelivery():
                self._take(mail)
            case ProgramStepped() | SessionBegan() | ProgramExited():
                self._follow(mail)
            case AgentReplaced():
                return "another connection speaks for this agent now"
            case Leave():
                return "told to end"
            case Gone():
                return mail.why.message
            case RoomOver():
                self._ended = True
                return mail.why
            case DeliveredResult():
                pass
        return ""

    def _follow(self, mail: ProgramStepped | SessionBegan | ProgramExited) -> None:
        """What the program does."""
        match mail:
            case ProgramStepped():
                text = rules.clean(mail.step.text)
                self._tell(text)
                self._reports.task(mail.run.action, "running", text, number=mail.number)
            case SessionBegan():
                self._began(mail)
            case ProgramExited():
                self._over(mail.run)

    def _take(self, action: ActionDelivery) -> None:
        known = action.action_id in self._known
        running = self._run.action if self._run else None
        match rules.verdict(action, running=running, held=bool(self._held), known=known):
            case ActionVerdict.DROP:
                return
            case ActionVerdict.HOLD:
                self._held.append(action)
            case ActionVerdict.RUN:
                self._start(action)
            case ActionVerdict.STOP:
                self._interrupt(action)
            case ActionVerdict.RENEW:
                self._renew(action)
            case ActionVerdict.NOTE:
                self._tell(f"{action.src} replied: {action.text}")
            case ActionVerdict.IDLE:
                self._tell(f"{action.src} interrupts, and nothing runs")
                self._reports.result(action, "rejected", "nothing was running")
            case ActionVerdict.UNKNOWN:
                self._reports.result(action, "rejected", "an attached agent does not know this kind of action")
        self._known.append(action.action_id)

    def _start(self, action: ActionDelivery) -> None:
        self._tell(f"{action.src} wants {action.command}" if action.command else f"{action.src} asks: {action.text}")
        self._journal.begin(action)
        if not self._reports.result(action, "accepted"):
            # Somebody settled it while we were away, so it is not ours to do any more.
            self._journal.settle(action.action_id)
            return
        if action.message_id:
            # It is being answered, so no inbox has to offer it as new again.
            with suppress(Refused):
                self._line.ask("messages.read", {"event_id": action.message_id})
        if action.command != "compact":
            # That is about the agent, not about the work.
            self._reports.task(action, "running")
        try:
            self._run = self._engine.begin(action, self._journal.context(action.context_id), self._mail.put)
        except CannotDo as cannot:
            self._finish(ActionEnding(action=action, status="rejected", detail=str(cannot)))
        except OSError as wrong:
            self._finish(rules.ending(action, Failed(why=f"it could not be started: {wrong}"), None))

    def _began(self, began: SessionBegan) -> None:
        """Remember the session at once: if we are killed in the middle, the conversation goes on in it."""
        context_id = began.run.action.context_id
        before = self._journal.context(context_id)
        if before.session_id != began.session_id:
            self._journal.remember(context_id, replace(before, session_id=began.session_id))
            self._journal.save()

    def _interrupt(self, action: ActionDelivery) -> None:
        self._tell(f"{action.src} interrupts")
        if run := self._run:
            run.interrupts.append(action)
            run.stop()

    def _renew(self, action: ActionDelivery) -> None:
        self._journal.forget(action.context_id)
        self._journal.save()
        opened = {"new_context_id": new_id(), "new_task_id": new_id()}
        self._tell(f"{action.src} starts a new context")
        self._reports.result(action, "completed", data=opened)

    def _over(self, run: Run) -> None:
        outcome = run.outcome()
        self._run = None
        self._remember(run.action, outcome)
        stopped_by = run.interrupts[0].src if run.interrupts else None
        self._finish(rules.ending(run.action, outcome, stopped_by))
        for interrupt in run.interrupts:
            self._reports.result(interrupt, "completed", f"stopped {run.action.action_id}")
        held, self._held = self._held, []
        for action in held:
            self._known.remove(action.action_id)
            self._take(action)

    def _remember(self, action: ActionDelivery, outcome: Outcome) -> None:
        if action.command == "review":
            return
        before = self._journal.context(action.context_id)
        if isinstance(outcome, HarnessAnswer):
            kept = self._engine.keeps_words
            after = rules.extended(before, action, outcome.text.strip(), outcome.session_id, keeps_words=kept)
        else:
            after = replace(before, session_id=outcome.session_id) if outcome.session_id else before
        self._journal.remember(action.context_id, after)

    def _finish(self, ending: ActionEnding) -> None:
        self._journal.owe(ending)
        who = ending.action.src
        self._tell(f"answered {who}: {ending.detail}" if ending.status == "completed" else f"failed: {ending.detail}")
        self._reports.end(ending)
        self._journal.settle(ending.action.action_id)

    def _recover(self) -> None:
        """Say what an earlier life of this agent could not say any more; nothing that it had accepted is run again."""
        self._permissions.withdraw_all("the agent was started anew")
        for ending in list(self._journal.owed.values()):
            self._tell(f"an earlier answer to {ending.action.src} is sent now")
            self._reports.end(ending)
            self._journal.settle(ending.action.action_id)
        for each in typed.read(self._line.ask("actions.pending", {}), ActionQueue).open:
            if each.status is not None:
                bare = ActionDelivery(action_id=each.action_id, src=each.src, context_id="", task_id=each.action_id)
                action = self._journal.begun.get(each.action_id, bare)
                self._tell(f"what {action.src} asked before was not finished, and is not run again")
                self._reports.end(rules.abandoned(action))
        self._journal.begun.clear()
        self._journal.save()

    def _abandon(self) -> None:
        """At the end: stop what runs, and say so if there is still somebody to say it to."""
        run, self._run = self._run, None
        if not self._ended and self._line.connected:
            with suppress(TallyError):
                self._line.ask("actions.detach", {})
        if run is None:
            return
        run.stop()
        self._remember(run.action, run.outcome())
        ending = rules.ending(run.action, Failed(why=""), f"the end of {self._line.agent}")
        self._journal.owe(ending)
        if self._line.connected and not self._ended:
            with suppress(TallyError):
                self._reports.end(ending)
                self._journal.settle(run.action.action_id)
