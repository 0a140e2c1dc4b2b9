"""A file with the last known flags of each project, for a start while the records store is down."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Never

import msgspec
import structlog

from fanion.flags.engine.definition import FlagDefinitions
from fanion.flags.evaluation.cache import OfflineCopy
from fanion.flags.evaluation.compiled import encode_packed_rows
from fanion.projects.model import Project
from fanion.runtime.background import run_loop
from fanion.runtime.clock import utc_now
from fanion.runtime.failure_log import FailureLog

# How long changes are collected to be written together.
WRITE_S = 2.0
BUSY_S = 1.0
# How often it is recorded that flags are still current. After a restart they can seem this much
# older than they are.
RENEW_FOR = timedelta(minutes=1)

_SCHEMA = """
  CREATE TABLE IF NOT EXISTS kept (
    project_id  INTEGER PRIMARY KEY,
    api_token   TEXT NOT NULL,
    project     BLOB NOT NULL,
    definitions BLOB NOT NULL
  )
"""
_INDEX = "CREATE INDEX IF NOT EXISTS kept_api_token ON kept (api_token)"
# When the flags of each project were last known to be current, in seconds since 1970.
_TAKEN = """
  CREATE TABLE IF NOT EXISTS taken (
    project_id INTEGER PRIMARY KEY,
    taken_at   REAL NOT NULL
  )
"""
_PUT = "INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?)"
_PUT_TAKEN = "INSERT OR REPLACE INTO taken VALUES (?, ?)"
_RENEW = "UPDATE taken SET taken_at = max(taken_at, ?) WHERE project_id = ?"
_COMPLETE = "INSERT OR IGNORE INTO taken SELECT project_id, ? FROM kept"
_DELETE_OLDER = (
    "DELETE FROM kept WHERE project_id NOT IN (SELECT project_id FROM taken WHERE taken_at >= ?)"
)
_DELETE_TAKEN = "DELETE FROM taken WHERE project_id NOT IN (SELECT project_id FROM kept)"
_ADD = "INSERT OR IGNORE INTO kept VALUES (?, ?, ?, ?)"
_CHANGE = "UPDATE kept SET api_token = ?, project = ? WHERE project_id = ?"
_PROJECT = "SELECT project FROM kept WHERE api_token = ?"
# Finds a project by a former token: these are stored inside the project.
_HOLDING = "SELECT project FROM kept WHERE instr(project, CAST(? AS BLOB)) > 0"
_DEFINITIONS = (
    "SELECT definitions, taken_at FROM kept JOIN taken USING (project_id) WHERE project_id = ?"
)
_DELETE = "DELETE FROM kept WHERE project_id = ?"
_OLDEST = "SELECT min(taken_at) FROM taken"
_PROJECTS = "SELECT project FROM kept ORDER BY project_id"

_encode = msgspec.msgpack.Encoder(enc_hook=encode_packed_rows).encode
_project = msgspec.msgpack.Decoder(Project).decode
_definitions = msgspec.msgpack.Decoder(FlagDefinitions).decode

# A row of `kept`.
Row = tuple[int, str, bytes, bytes]
ProjectOf = Callable[[int], Awaitable[Project | None]]
# The projects whose flags in memory are current, and when that was last known.
Current = Callable[[], tuple[Collection[int], datetime]]
_Change = Callable[[sqlite3.Connection], object]


def create_tables(file: sqlite3.Connection) -> None:
    for statement in (_SCHEMA, _INDEX, _TAKEN):
        file.execute(statement)


def put_row(file: sqlite3.Connection, project: Project, copy: OfflineCopy) -> None:
    row = project.id, project.api_token, _encode(project), _encode(copy.definitions)
    file.execute(_PUT, row)
    file.execute(_PUT_TAKEN, (project.id, copy.taken_at.timestamp()))


def check_row(row: Row) -> None:
    """Raise msgspec.MsgspecError if the row cannot be read."""
    _project(row[2])
    _definitions(row[3])


class OfflineFlagStore:
    """The offline copy: one row per project, each replaced in one transaction.

    A file that cannot be read counts as empty, because the records store has everything in it.
    """

    def __init__(self, path: Path, now: Callable[[], datetime] = utc_now) -> None:
        self._path = path
        self._now = now
        self._renewed_at = now()
        self._changed: dict[int, OfflineCopy] = {}
        self._changed_projects: set[int] = set()
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()
        self._unkept = FailureLog("flags_not_kept")

    def put_definitions(self, project_id: int, definitions: FlagDefinitions) -> None:
        """Queue the definitions, which are written at the next interval."""
        self._changed[project_id] = OfflineCopy(definitions, self._now())

    def project_changed(self, project_id: int) -> None:
        """Queue the project for the next interval: it is written, or deleted if it is gone."""
        self._changed_projects.add(project_id)

    async def get_copy(self, project_id: int) -> OfflineCopy | None:
        queued = self._changed.get(project_id)
        if queued is not None:
            return queued
        return await asyncio.to_thread(self._read_copy, project_id)

    async def project_of_token(self, token: str) -> Project | None:
        """Return a project by its current token or a former one, expired or not."""
        rows = await asyncio.to_thread(self._fetch_rows, _PROJECT, (token,))
        if rows:
            return _project(rows[0][0])
        rows = await asyncio.to_thread(self._fetch_rows, _HOLDING, (token,))
        holding = [_project(row[0]) for row in rows]
        of_token = [p for p in holding if token in [former.token for former in p.former_tokens]]
        return of_token[0] if of_token else None

    async def projects(self) -> list[Project]:
        rows = await asyncio.to_thread(self._fetch_rows, _PROJECTS, ())
        return [_project(row[0]) for row in rows]

    async def oldest_known_at(self) -> datetime | None:
        """Return when all projects in the file were last known to be current; None without any."""
        rows = await asyncio.to_thread(self._fetch_rows, _OLDEST, ())
        return _time(rows[0][0]) if rows and rows[0][0] is not None else None

    def take_over(self, rows: Callable[[], Iterable[Row]], taken_at: datetime) -> None:
        """Replace what is older than these rows of another file, and add what is missing.

        If `rows` raises, the file is left unchanged.

        Args:
            rows: Returns the rows of all projects as of `taken_at`.
        """
        seconds = taken_at.timestamp()

        def merge(file: sqlite3.Connection) -> None:
            file.execute(_DELETE_OLDER, (seconds,))
            file.execute(_DELETE_TAKEN)
            file.executemany(_ADD, rows())
            file.execute(_COMPLETE, (seconds,))

        try:
            self._write_change(merge)
        except (OSError, sqlite3.Error) as error:
            self._log.warning("flags_not_kept", reason=str(error))

    async def run(self, project_of: ProjectOf, current: Current) -> Never:
        """Write changed flags and projects, and the times of current ones, until cancelled."""

        async def write() -> None:
            await self.write_queued(project_of)
            if self._now() - self._renewed_at >= RENEW_FOR:
                self._renewed_at = self._now()
                await self.renew_times(*current())

        await run_loop(write, WRITE_S, "flags_not_kept", (), initial_delay_s=WRITE_S)

    async def renew_times(self, project_ids: Collection[int], at: datetime) -> None:
        """Record that the flags of these projects were current at a time."""
        queued = self._changed.keys()
        renewed = [
            (at.timestamp(), project_id) for project_id in project_ids if project_id not in queued
        ]
        try:
            if renewed:
                await asyncio.to_thread(
                    self._write_change, lambda file: file.executemany(_RENEW, renewed)
                )
                self._unkept.succeeded()
        except (OSError, sqlite3.Error) as error:
            self._unkept.failed(str(error))

    async def write_queued(self, project_of: ProjectOf) -> None:
        """Write what is queued.

        Args:
            project_of: Returns a project, mostly from memory. Unknown projects are left out.
        """
        changed, self._changed = self._changed, {}
        project_ids, self._changed_projects = self._changed_projects, set()
        try:
            copies = [(await project_of(project_id), each) for project_id, each in changed.items()]
            known = [(project, each) for project, each in copies if project is not None]
            projects = {project_id: await project_of(project_id) for project_id in project_ids}
            if known or projects:
                put = partial(_put_rows, known, projects)
                await asyncio.to_thread(self._write_change, put)
                self._unkept.succeeded()
        except Exception as error:
            # Serving does not depend on this file, so the write is only tried again.
            self._changed = changed | self._changed
            self._changed_projects |= project_ids
            self._unkept.failed(str(error))

    def _read_copy(self, project_id: int) -> OfflineCopy | None:
        rows = self._fetch_rows(_DEFINITIONS, (project_id,))
        return OfflineCopy(_definitions(rows[0][0]), _time(rows[0][1])) if rows else None

    def _write_change(self, change: _Change) -> None:
        try:
            self._transact(change)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            self._path.unlink(missing_ok=True)  # the file is not a database, or is damaged
            self._transact(change)

    def _transact(self, change: _Change) -> None:
        with closing(sqlite3.connect(self._path, timeout=BUSY_S)) as file, file:
            self._path.chmod(0o600)
            create_tables(file)
            change(file)

    def _fetch_rows(self, statement: str, parameters: tuple[object, ...]) -> list[tuple[Any, ...]]:
        if not self._path.exists():
            return []
        try:
            with closing(sqlite3.connect(self._path, timeout=BUSY_S)) as file:
                return file.execute(statement, parameters).fetchall()
        except sqlite3.Error as error:
            self._log.warning("kept_flags_unread", reason=str(error))
            return []


def _put_rows(
    known: Sequence[tuple[Project, OfflineCopy]],
    projects: Mapping[int, Project | None],
    file: sqlite3.Connection,
) -> None:
    """Write changed flags and projects, and delete projects that are gone.

    Args:
        projects: By id; None for deleted ones.
    """
    for of_flags, copy in known:
        put_row(file, of_flags, copy)
    for project_id, project in projects.items():
        if project is not None:
            file.execute(_CHANGE, (project.api_token, _encode(project), project_id))
        else:
            file.execute(_DELETE, (project_id,))
    file.execute(_DELETE_TAKEN)


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
