"""The key that signs checkpoints, and the hub's habit of signing one now and then."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tallystick.hub.hub import Hub
from tallystick.hub.serving import Serving
from tallystick.hub.settings import Settings
from tallystick.kernel.errors import TallyError
from tallystick.ledger import verification
from tallystick.ledger.errors import BadCheckpoint, BadSigningKey
from tallystick.ledger.verification import Checkpoint
from tallystick.storage.errors import DuplicateRow

FILE = "checkpoint.key"
EVERY_SECONDS = 600.0


class SigningKey:
    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.public = private.public_key().public_bytes_raw().hex()

    @classmethod
    def of(cls, settings: Settings) -> SigningKey:
        """The key of this data directory, or of the path that was given; made at first use."""
        path = settings.checkpoint_key or settings.data_dir / FILE
        try:
            return cls._read(path)
        except FileNotFoundError:
            with suppress(FileExistsError):  # another process made it just now
                _write(path, Ed25519PrivateKey.generate())
            return cls._read(path)

    @classmethod
    def known(cls, settings: Settings) -> SigningKey | None:
        """The same, without making one."""
        path = settings.checkpoint_key or settings.data_dir / FILE
        return cls._read(path) if path.exists() else None

    @classmethod
    def _read(cls, path: Path) -> SigningKey:
        try:
            if path.stat().st_mode & 0o077:
                raise BadSigningKey(f"{path} can be read by others.", hint=f"Run `chmod 600 {path}`.")
            private = serialization.load_pem_private_key(path.read_bytes(), None)
        except (ValueError, TypeError, UnsupportedAlgorithm, PermissionError) as wrong:
            raise BadSigningKey(f"{path} is not a key that can be used: {wrong}.") from wrong
        if not isinstance(private, Ed25519PrivateKey):
            raise BadSigningKey(f"{path} is not an Ed25519 key.")
        return cls(private)

    def sign(self, number: int, body: str) -> Checkpoint:
        signature = self._private.sign(body.encode()).hex()
        return Checkpoint(number=number, body=body, public_key=self.public, signature=signature)


def _write(path: Path, private: Ed25519PrivateKey) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(pem)


def sign(hub: Hub, key: SigningKey) -> Checkpoint | None:
    """Sign where the ledgers end now; None when none has moved since the last time."""
    with hub.store.write() as rows:
        tx = hub.transaction(rows)
        unsigned = verification.body_of_unsigned(tx)
        if unsigned is None:
            return None
        made = key.sign(*unsigned)
        verification.record(tx, made)
        return made


def export(hub: Hub, key: SigningKey) -> Checkpoint:
    """A checkpoint of every room as it is now, to be kept outside the store; the store keeps nothing of it."""
    with hub.reading() as tx:
        return key.sign(0, verification.body_of_everything(tx))


def check_kept(hub: Hub, text: bytes) -> Mapping[str, str]:
    """What is wrong with each room of a checkpoint that was kept elsewhere; empty when all is as it was then."""
    with hub.reading() as tx:
        return verification.check_one(tx, read(text))


def archived_since(hub: Hub, text: bytes) -> Mapping[str, str]:
    """The rooms of such a checkpoint that were archived, with the hash of the file that holds each."""
    with hub.reading() as tx:
        return verification.archived(tx, read(text))


def read(text: bytes) -> Checkpoint:
    try:
        return msgspec.json.decode(text, type=Checkpoint)
    except msgspec.MsgspecError as wrong:
        raise BadCheckpoint(f"This is not a checkpoint: {wrong}.") from wrong


async def keep_signing(serving: Serving, settings: Settings, every_seconds: float = EVERY_SECONDS) -> None:
    """Sign now and then, until cancelled."""
    key = await serving.read(lambda: SigningKey.of(settings))
    while True:
        # The store is busy, say, or another hub has just signed: there is another time.
        with suppress(TallyError, DuplicateRow):
            await serving.read(lambda: sign(serving.hub, key))
        await asyncio.sleep(every_seconds)
