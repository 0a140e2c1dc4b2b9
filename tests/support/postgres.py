"""A private PostgreSQL for the tests, with its own folder, socket and port, removed afterwards."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg

from tests.support.awaited import until_soon
from tests.support.memory_folder import short_folder

START_S = 60
SQLITE, POSTGRESQL = ENGINES = ("sqlite", "postgresql")
TEMPLATE = "fanion_template"
# Nothing that a test does must survive a power cut, so nothing waits for the disk.
SPEED = ("fsync=off", "full_page_writes=off", "autovacuum=off")
# Nor must it survive a crash of the server.
_MORE_SPEED = (*SPEED, "synchronous_commit=off")


class NoPostgres(Exception):
    """A machine without a PostgreSQL server; the text says what to install."""


@cache
def binaries() -> Path:
    """Return the folder with initdb and postgres, of the newest version.

    Raises:
        NoPostgres: There is none.
    """
    folders = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"),
        key=lambda folder: float(folder.parent.name),
        reverse=True,
    )
    if config := shutil.which("pg_config"):
        answer = subprocess.run([config, "--bindir"], capture_output=True, text=True, check=False)
        folders.insert(0, Path(answer.stdout.strip()))
    if initdb := shutil.which("initdb"):
        folders.append(Path(initdb).resolve().parent)
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    raise NoPostgres("no PostgreSQL server found: install the package `postgresql`")


@dataclass(frozen=True)
class Postgres:
    """A running server; `databases` numbers those made for single tests."""

    port: int
    folder: Path
    pid: int
    databases: Iterator[int]

    def url(self, database: str) -> str:
        return f"postgresql://fanion@127.0.0.1:{self.port}/{database}"

    async def create_database(self, template: str = "template0") -> str:
        """Return the name of a new database, a copy of `template`."""
        name = f"test_{next(self.databases)}"
        await self.run(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    async def drop_database(self, name: str) -> None:
        await self.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    async def until_left(self, url: str) -> None:
        """Wait until nobody is connected to a database; who has left is listed a moment longer."""
        connection = await asyncpg.connect(self.url("postgres"))
        query = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = $1"

        async def is_left() -> bool:
            return bool(await connection.fetchval(query, urlsplit(url).path.strip("/")) == 0)

        try:
            await until_soon(is_left, "a connection is left")
        finally:
            await connection.close()

    async def run(self, statement: str, database: str = "postgres") -> None:
        connection = await asyncpg.connect(self.url(database))
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


class Outage:
    """A PostgreSQL database that refuses connections and ends the existing ones."""

    def __init__(self, postgres: Postgres, url: str) -> None:
        self._postgres, self._url = postgres, url
        self._name = urlsplit(url).path.strip("/")

    async def __aenter__(self) -> None:
        await self._allow("false")
        of_database = f"SELECT pid FROM pg_stat_activity WHERE datname = '{self._name}'"
        await self._postgres.run(f"SELECT pg_terminate_backend(pid) FROM ({of_database}) AS x")
        await self._postgres.until_left(self._url)  # a statement must not meet the end midway

    async def __aexit__(self, *_: object) -> None:
        await self._allow("true")

    async def _allow(self, word: str) -> None:
        await self._postgres.run(f"ALTER DATABASE {self._name} WITH ALLOW_CONNECTIONS {word}")


@contextmanager
def private_postgres(settings: Sequence[str] = _MORE_SPEED) -> Iterator[Postgres]:
    """Start a server, and stop it at the end by its process id.

    Args:
        settings: As `name=value`.

    Raises:
        NoPostgres: This machine has no server to start.
    """
    programs = binaries()
    account = unprivileged_account()
    folder = Path(tempfile.mkdtemp(prefix="fanion-pg-", dir=short_folder()))
    try:
        if account:
            shutil.chown(folder, account)
        initialise(programs, folder, account)
        port = free_port()
        server = start_server(programs, folder, port, settings)
        try:
            yield Postgres(port, folder, server.pid, count(1))
        finally:
            stop_server(server)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def unprivileged_account() -> str | None:
    """Return another account if tests run as root, as in containers: PostgreSQL refuses to."""
    return "nobody" if os.geteuid() == 0 else None


def initialise(programs: Path, folder: Path, account: str | None) -> None:
    answer = subprocess.run(
        [
            programs / "initdb",
            "--pgdata", folder / "data",
            "--username=fanion",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        ],
        user=account,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    if answer.returncode:
        raise NoPostgres(f"initdb failed: {answer.stderr.strip()}")


def start_server(
    programs: Path, folder: Path, port: int, settings: Sequence[str]
) -> subprocess.Popen[bytes]:
    """Start a server and wait until it accepts connections.

    Args:
        folder: Contains `data`.

    Raises:
        NoPostgres: The server has not started.
    """
    common = (f"port={port}", "listen_addresses=127.0.0.1", "max_connections=200")
    options = [part for setting in (*common, *settings) for part in ("-c", setting)]
    with (folder / "server.log").open("ab") as log:
        server = subprocess.Popen(
            [programs / "postgres", "-D", folder / "data", "-k", folder, *options],
            user=unprivileged_account(),
            cwd=folder,
            stdout=log,
            stderr=log,
        )
    _wait_until_ready(programs, folder, port, server)
    return server


def _wait_until_ready(
    programs: Path, folder: Path, port: int, server: subprocess.Popen[bytes]
) -> None:
    command: list[str | Path] = [programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]
    for _ in range(START_S * 20):
        if subprocess.run(command, check=False).returncode == 0:
            return
        try:
            server.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
        raise NoPostgres(f"PostgreSQL did not start: {(folder / 'server.log').read_text()}")
    stop_server(server)
    raise NoPostgres(f"PostgreSQL was not ready after {START_S} s")


def stop_server(server: subprocess.Popen[bytes]) -> None:
    """Shut the server down fast: open sessions are ended."""
    server.send_signal(signal.SIGINT)
    try:
        server.wait(20)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
