"""Members and their presence, read and touched; `actor.*` events, folded into the members of a room."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

from msgspec import structs

from tallystick.capabilities.agents import rules
from tallystick.capabilities.agents.errors import AgentNotFound, SessionSuperseded
from tallystick.capabilities.agents.events import (
    AdoptionAllowed,
    AgentResumed,
    MemberAdded,
    MemberRemoved,
    MemberUpdated,
    SequenceEntered,
)
from tallystick.capabilities.agents.model import Member, Participant, Role
from tallystick.capabilities.rooms.events import SequenceChanged
from tallystick.kernel.caller import Caller, Process, ProcessState, SessionKind, is_person
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Event
from tallystick.ledger import reading
from tallystick.ledger.capability import fold
from tallystick.ledger.tx import Tx
from tallystick.storage.sql_files import Queries

SQL = Queries("tallystick.capabilities.agents")


def roster(tx: Tx, room_id: str) -> Sequence[Participant]:
    """Who is in a room, in turn order, for decisions that do not turn on anybody's presence."""
    return tx.kept(room_id, ("roster",), lambda: tx.all(SQL["roster"], Participant.of_row, room_id=room_id))


def participant(tx: Tx, room_id: str, agent_id: str) -> Participant | None:
    return tx.one(SQL["participant"], Participant.of_row, room_id=room_id, agent_id=agent_id)


def members(tx: Tx, room_id: str, *, seen_since: Instant = 0, also: Collection[str] = ()) -> list[Member]:
    """A room's members in turn order, with their presence.

    Looking at a process takes longer than reading a member, so only those who were seen after a moment, and those
    named, are looked at: whoever was not seen since is away, whether its process lives or not.
    """
    return tx.all(SQL["members"], partial(_member, tx, seen_since, also), room_id=room_id)


def present_members(tx: Tx, room_id: str, presence_ttl_ms: int) -> list[Member]:
    """The members, with what is known of the processes of those who count as present."""
    return members(tx, room_id, seen_since=tx.now - presence_ttl_ms)


def member(tx: Tx, room_id: str, agent_id: str) -> Member | None:
    return tx.one(SQL["member"], partial(_member, tx, 0, ()), room_id=room_id, agent_id=agent_id)


def looked_at(tx: Tx, known: Member) -> Member:
    """A member with what can be seen of its process."""
    return structs.replace(known, process_state=tx.process_state(known.process))


def _member(
    tx: Tx,
    seen_since: Instant,
    also: Collection[str],
    /,
    *,
    agent_id: str,
    name: str,
    role: str,
    harness: str,
    scope_key: str,
    ordinal: int,
    joined_at: Instant,
    in_order: int,
    last_seen_at: Instant | None,
    session_kind: str | None,
    host_id: str | None,
    pid: int | None,
    process_started_at: str | None,
    progressed_at: Instant | None,
    wants_until: Instant | None,
) -> Member:
    process = Process(host_id=host_id, pid=pid, started_at=process_started_at or "") if host_id and pid else None
    # An imported ledger brings members without presence: they were last seen when they joined.
    last_seen_at = joined_at if last_seen_at is None else last_seen_at
    concerns = last_seen_at > seen_since or agent_id in also
    return Member(
        agent_id=agent_id,
        name=name,
        role=Role(role),
        harness=harness,
        scope_key=scope_key,
        ordinal=ordinal,
        joined_at=joined_at,
        in_order=bool(in_order),
        last_seen_at=last_seen_at,
        session=SessionKind(session_kind or SessionKind.NAMED),
        process=process,
        process_state=tx.process_state(process) if concerns else ProcessState.UNKNOWN,
        progressed_at=joined_at if progressed_at is None else progressed_at,
        wants_until=wants_until or 0,
    )


def touch(tx: Tx, room_id: str, known: Member, me: Caller) -> None:
    """Record that a member was just here.

    A lesser session never replaces a weightier one's process facts, and one that was superseded none while the newer
    is there. A session that is new under its name supersedes the one before it.
    """
    if rules.outranked(known, me):
        _seen(tx, room_id, me)
    elif not rules.rivals(known, me):
        if me.process is not None and known.process != me.process:
            tx.run(SQL["reinstate"], room_id=room_id, agent_id=me.agent_id, session_key=_key(me))
        arrive(tx, room_id, me)
    elif tx.lock(room_id).closed or _superseded(tx, room_id, me) is not None:
        _seen(tx, room_id, me)
    else:
        tx.append(room_id, rules.principal(me.agent_id), [rules.superseding(known, me)])
        supersede(tx, room_id, known)
        arrive(tx, room_id, me)


def _seen(tx: Tx, room_id: str, me: Caller) -> None:
    tx.run(SQL["seen"], room_id=room_id, agent_id=me.agent_id, now=tx.now)


def _key(me: Caller) -> str:
    return rules.session_key(me.process, me.own_id)


def supersede(tx: Tx, room_id: str, known: Member) -> None:
    """Remember to tell a member's present session that another has taken its place."""
    tx.cache(room_id).seen.pop(known.agent_id, None)
    key = rules.session_key(known.process, known.agent_id)
    tx.run(SQL["supersede"], room_id=room_id, agent_id=known.agent_id, session_key=key)


def _superseded(tx: Tx, room_id: str, me: Caller) -> int | None:
    """Whether the caller's session was superseded: None if not, else whether it was told so."""
    return tx.one(SQL["superseded"], _told, room_id=room_id, agent_id=me.agent_id, session_key=_key(me))


def _untold(tx: Tx, room_id: str, known: Member, me: Caller) -> bool:
    """Whether the caller's session has yet to hear that it was superseded."""
    return known.process != me.process and _superseded(tx, room_id, me) == 0


def _told(*, told: int) -> int:
    return told


def _tell(tx: Tx, room_id: str, known: Member, me: Caller) -> SessionSuperseded | None:
    """The refusal with which a superseded session is told so, once."""
    if not _untold(tx, room_id, known, me):
        return None
    tx.run(SQL["tell"], room_id=room_id, agent_id=me.agent_id, session_key=_key(me))
    return SessionSuperseded(f"A newer session works as {me.agent_id} in this room.", agent_id=me.agent_id)


def arrive(tx: Tx, room_id: str, me: Caller) -> None:
    tx.run(
        SQL["touch"],
        room_id=room_id,
        agent_id=me.agent_id,
        now=tx.now,
        session_kind=me.session.value,
        host_id=me.process.host_id if me.process else None,
        pid=me.process.pid if me.process else None,
        process_started_at=me.process.started_at if me.process else None,
    )


def want(tx: Tx, room_id: str, agent_id: str, until: Instant) -> None:
    """Remember until when a member counts as waiting for the stick."""
    tx.run(SQL["want"], room_id=room_id, agent_id=agent_id, until=until)


def withdraw(tx: Tx, room_id: str, agent_id: str) -> None:
    """Take a member for gone, whose session has ended and may be resumed."""
    tx.cache(room_id).seen.pop(agent_id, None)
    tx.run(SQL["withdraw"], room_id=room_id, agent_id=agent_id)


def acting(tx: Tx, room_id: str | None, me: Caller) -> Caller:
    """The caller as the agent that it acts for in a room: itself, unless it adopted one there."""
    if room_id is None or me.session_id or (tx.writable and not tx.is_adopted(room_id)):
        return me
    adopted = tx.one(SQL["adopted"], _agent_id, room_id=room_id, session_id=me.agent_id)
    return replace(me, agent_id=adopted, session_id=me.agent_id) if adopted else me


def _agent_id(*, agent_id: str) -> str:
    return agent_id


def adoption_grant(tx: Tx, room_id: str, agent_id: str, session_id: str) -> int | None:
    """The event with which a person let a session go on as an agent."""
    return tx.one(SQL["adoption_grant"], _seq, room_id=room_id, agent_id=agent_id, session_id=session_id)


def _seq(*, seq: int) -> int:
    return seq


def owner_of_name(tx: Tx, room_id: str, name: str) -> str | None:
    """Whose name this is or once was, in this room."""
    return tx.one(SQL["owner_of_name"], _agent_id, room_id=room_id, name=name)


def names(tx: Tx, room_id: str) -> list[str]:
    """Every name that anybody in this room has or had."""
    return tx.all(SQL["names"], _name, room_id=room_id)


def _name(*, name: str) -> str:
    return name


def named(tx: Tx, room_id: str, who: str) -> Member:
    """The member of this id or registered name, with its presence, or a refusal."""
    found = member(tx, room_id, resolve(tx, room_id, who))
    return rules.named([found] if found else [], who)


def resolve(tx: Tx, room_id: str, who: str) -> str:
    """The id of the member that an id or a registered name means, or a refusal."""
    return rules.named(roster(tx, room_id), who).agent_id


def principal_named(tx: Tx, room_id: str, who: str) -> str:
    """Whom an id or a name means that is looked up: a member, or anybody who ever was or wrote here, or a refusal."""
    if who == "system" or is_person(who) or rules.find(roster(tx, room_id), who):
        return who
    past = owner_of_name(tx, room_id, who) or who
    if past != who or reading.since(tx, room_id, 0, by=past, limit=1):
        return past
    return resolve(tx, room_id, who)


def author_named(tx: Tx, room_id: str, who: str) -> str:
    """Whom a filter over what was written means: whoever is unknown wrote nothing."""
    try:
        return principal_named(tx, room_id, who)
    except AgentNotFound:
        return who


def trusted_foreman(tx: Tx, room_id: str, agent_id: str) -> bool:
    """Whether an agent is a foreman whom the user appointed; read off the ledger, since that is asked for rarely."""
    known = participant(tx, room_id, agent_id)
    if known is None or known.role is not Role.FOREMAN:
        return False
    role, appointed_by = Role.PEER.value, ""
    for event in reading.until(tx, room_id, tx.head(room_id).seq, kinds=[MemberAdded.kind, MemberUpdated.kind]):
        body = event.content
        if isinstance(body, MemberAdded | MemberUpdated) and body.actor_id == agent_id:
            appointed_by = event.by if isinstance(body, MemberAdded) or body.role != role else appointed_by
            role = body.role
    return appointed_by == "user"


def progress(tx: Tx, room_id: str, agent_id: str) -> None:
    tx.run(SQL["progress"], room_id=room_id, agent_id=agent_id, now=tx.now)


def forget(tx: Tx, room_id: str, agent_id: str) -> None:
    tx.run(SQL["forget"], room_id=room_id, agent_id=agent_id)


def presence_due(tx: Tx, room_id: str | None, caller: Caller) -> Member | None:
    """The caller as a member whose presence wants writing, or None."""
    if room_id is None or _seen_lately(tx, room_id, caller):
        return None
    known = member(tx, room_id, caller.agent_id)
    if known is None or rules.needs_touch(known, caller, now=tx.now) or _untold(tx, room_id, known, caller):
        # What is remembered may be of a clock that was set back since, and is not what will be written.
        tx.cache(room_id).seen.pop(caller.agent_id, None)
        return known
    tx.cache(room_id).saw(caller, known.last_seen_at)
    return None


def _seen_lately(tx: Tx, room_id: str, caller: Caller) -> bool:
    """Whether the store need not be read, because this very caller was seen a moment ago."""
    cache = tx.cache(room_id)
    who, seen = cache.seen.get(caller.agent_id, (None, 0))
    if (who is not caller and who != caller) or not 0 <= tx.now - seen < rules.TOUCH_INTERVAL_MS:
        return False
    if not tx.holds(room_id):
        # Another process may have written that a newer session has come. Under the lock only this one adds to the room.
        cache.find_at(tx.head(room_id).hash)
    return caller.agent_id in cache.seen


def note_progress(tx: Tx, room_id: str, caller: Caller) -> None:
    """Remember that a member has just added to the ledger, at most once every few seconds."""
    cache = tx.cache(room_id)
    last = cache.progressed.get(caller.agent_id)
    if last is not None and 0 <= tx.now - last < rules.TOUCH_INTERVAL_MS:
        return
    cache.got_on(caller.agent_id, tx.now)
    progress(tx, room_id, caller.agent_id)


def refresh_presence(tx: Tx, room_id: str | None, caller: Caller) -> None:
    if room_id and (known := presence_due(tx, room_id, caller)):
        touch(tx, room_id, known, caller)


def come_in(tx: Tx, room_id: str | None, caller: Caller) -> SessionSuperseded | None:
    """Refresh the caller's presence before it does something; the refusal if it must first hear of a newer session."""
    if room_id is None or (known := presence_due(tx, room_id, caller)) is None:
        return None
    touch(tx, room_id, known, caller)
    return _tell(tx, room_id, known, caller)


@fold(MemberAdded)
def _added(tx: Tx, event: Event, body: MemberAdded) -> None:
    tx.run(
        SQL["add"],
        room_id=event.room_id,
        agent_id=body.actor_id,
        name=body.name,
        role=body.role,
        harness=body.harness,
        scope_key=event.scope_key,
        ordinal=body.ordinal,
        joined_at=event.ts,
        in_order=int(body.in_order is not False),
    )
    _keep_name(tx, event, body)
    _changed(tx, event)


def _changed(tx: Tx, event: Event) -> None:
    tx.forget(event.room_id, "roster")


def _keep_name(tx: Tx, event: Event, body: MemberAdded | MemberUpdated) -> None:
    tx.run(SQL["keep_name"], room_id=event.room_id, name=body.name, agent_id=body.actor_id)


@fold(SequenceEntered)
def _entered(tx: Tx, event: Event, body: SequenceEntered) -> None:
    tx.run(SQL["enter"], room_id=event.room_id, agent_id=body.actor_id, ordinal=body.ordinal)
    _changed(tx, event)


@fold(MemberRemoved)
def _removed(tx: Tx, event: Event, body: MemberRemoved) -> None:
    tx.run(SQL["remove"], room_id=event.room_id, agent_id=body.actor_id)
    tx.run(SQL["disown"], room_id=event.room_id, agent_id=body.actor_id, session_id=body.actor_id)
    _changed(tx, event)


@fold(MemberUpdated)
def _updated(tx: Tx, event: Event, body: MemberUpdated) -> None:
    tx.run(SQL["update"], room_id=event.room_id, agent_id=body.actor_id, name=body.name, role=body.role)
    _keep_name(tx, event, body)
    _changed(tx, event)


@fold(AgentResumed)
def _resumed(tx: Tx, event: Event, body: AgentResumed) -> None:
    tx.run(SQL["disown"], room_id=event.room_id, agent_id=body.agent_id, session_id=body.session_id)
    tx.run(SQL["adopt"], room_id=event.room_id, agent_id=body.agent_id, session_id=body.session_id)
    tx.run(SQL["use_up_grant"], room_id=event.room_id, agent_id=body.agent_id, session_id=body.session_id)
    tx.mark_adopted(event.room_id)


@fold(AdoptionAllowed)
def _adoption_allowed(tx: Tx, event: Event, body: AdoptionAllowed) -> None:
    who = {"agent_id": body.agent_id, "session_id": body.session_id}
    tx.run(SQL["allow_adoption"], room_id=event.room_id, seq=event.seq, **who)


@fold(SequenceChanged)
def _reordered(tx: Tx, event: Event, body: SequenceChanged) -> None:
    for ordinal, agent_id in enumerate(body.sequence):
        tx.run(SQL["place"], room_id=event.room_id, agent_id=agent_id, ordinal=ordinal)
    _changed(tx, event)


FOLDS = (_added, _entered, _removed, _updated, _resumed, _adoption_allowed, _reordered)
