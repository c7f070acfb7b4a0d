"""Bearer tokens: who a caller is when nothing else vouches for it, and how far it may reach.

A token is a 256-bit secret shown once; the store keeps only its hash. It stands for one
principal, often for one room only, and for a while.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field

from tallystick.hub.hub import Hub
from tallystick.kernel.caller import Caller, SessionKind, check_speaker
from tallystick.kernel.clock import Instant, ahead
from tallystick.kernel.errors import NotAllowed, NotFound
from tallystick.kernel.operation import Reach
from tallystick.ledger.tx import Tx
from tallystick.storage.sql_files import Queries

SQL = Queries("tallystick.hub", "tokens.sql")
PREFIX = "tally_"
PAGE_PREFIX = "tallypage_"
"""Of what a browser holds in a cookie: it is accepted there and nowhere else, and nothing else is accepted there."""
PAGE_LASTS_MS = 7 * 24 * 60 * 60 * 1000
"""Without being used; every use begins it anew."""
CHANGED = "tokens"
"""Woken like a room when a token was revoked, so that a running hub forgets what it remembered."""
LASTS_MS = 30 * 24 * 60 * 60 * 1000
USED_EVERY_MS = 60_000
"""How often at most a token's last use is written down."""


class NotAuthenticated(NotAllowed):
    """This request does not say who is calling."""


class TokenMissing(NotAuthenticated):
    """This request carries no token."""

    hint = (
        "Send `Authorization: Bearer …` with the token that `tally token issue` printed, or use the hub's Unix socket."
    )


class TokenInvalid(NotAuthenticated):
    """That token is unknown, expired or revoked."""

    hint = "Ask whoever runs the hub for a new one (`tally token issue`)."


class TokenNotFound(NotFound):
    """There is no token with that id."""

    hint = "List them with `tally token list`."


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    token_hash: str = field(repr=False)
    principal: str
    room_id: str | None
    reach: str
    """One of `Reach`."""
    label: str
    created_at: Instant
    expires_at: Instant | None
    revoked_at: Instant | None
    last_used_at: Instant | None

    @property
    def id(self) -> str:
        """Enough of the hash to name the token, and no help in guessing it."""
        return self.token_hash[:12]

    def valid(self, now: Instant) -> bool:
        """Not before it was issued either: a clock that was ahead then must not make it last longer."""
        if self.revoked_at is not None or self.expires_at is None:
            return self.revoked_at is None
        return now < self.expires_at and not ahead(self.created_at, now)

    @property
    def caller(self) -> Caller:
        session = SessionKind.HUMAN_CLI if self.principal == "user" else SessionKind.NAMED
        return Caller(
            agent_id=self.principal,
            session=session,
            by_token=True,
            may_work=Reach(self.reach).includes(Reach.WORK),
            room_id=self.room_id or "",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedToken:
    secret: str = field(repr=False)
    token: Token


def check_principal(text: str) -> str:
    """A principal that a token may stand for: `user`, an agent or a service that is not one of our own."""
    return text if text == "user" else check_speaker(text)


def issue(
    hub: Hub,
    *,
    principal: str,
    room_id: str | None = None,
    reach: Reach = Reach.WORK,
    label: str = "",
    lasts_ms: int | None = LASTS_MS,
    prefix: str = PREFIX,
) -> IssuedToken:
    """Make a token; its secret is never seen again. With `lasts_ms` None it never ends by itself."""
    check_principal(principal)
    secret = prefix + secrets.token_urlsafe(32)
    with hub.writing() as tx:
        if room_id is not None:
            tx.head(room_id)
        token = Token(
            token_hash=hash_of(secret),
            principal=principal,
            room_id=room_id,
            reach=reach,
            label=label,
            created_at=tx.now,
            expires_at=None if lasts_ms is None else tx.now + lasts_ms,
            revoked_at=None,
            last_used_at=None,
        )
        tx.run(
            SQL["issue"],
            token_hash=token.token_hash,
            principal=principal,
            room_id=room_id,
            reach=reach,
            label=label,
            created_at=token.created_at,
            expires_at=token.expires_at,
        )
    return IssuedToken(secret=secret, token=token)


def issue_for_page(hub: Hub) -> IssuedToken:
    """The session of a person at a browser."""
    return issue(hub, principal="user", reach=Reach.MANAGE, label="browser", lasts_ms=PAGE_LASTS_MS, prefix=PAGE_PREFIX)


def every_token(hub: Hub) -> list[Token]:
    with hub.reading() as tx:
        return tx.all(SQL["every_token"], Token)


def valid_ids(hub: Hub) -> frozenset[str]:
    now = hub.world.clock()
    return frozenset(token.id for token in every_token(hub) if token.valid(now))


def revoke(hub: Hub, token_id: str) -> Token:
    """End a token at once; to revoke it twice changes nothing."""
    with hub.store.write() as rows:
        tx = Tx(rows, hub.world, writable=True)
        token = tx.one(SQL["by_id"], Token, id=token_id)
        if token is None:
            raise TokenNotFound(f"There is no token '{token_id[:80]}'.", id=token_id)
        tx.run(SQL["revoke"], token_hash=token.token_hash, now=tx.now)
        rows.wake(CHANGED)
    return token


def find(hub: Hub, secret: str) -> Token | None:
    """The valid token with this secret."""
    with hub.reading() as tx:
        token = tx.one(SQL["by_hash"], Token, token_hash=hash_of(secret))
        return token if token and token.valid(tx.now) else None


def mark_used(tx: Tx, token: Token, *, renewed: bool = False) -> None:
    """Note that a token was used; one that is renewed by that lasts as long again as a new one."""
    until = tx.now + PAGE_LASTS_MS if renewed else token.expires_at
    tx.run(SQL["used"], token_hash=token.token_hash, now=tx.now, expires_at=until)


def hash_of(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
