"""The last compiled flags of each project in a file of their own, with which a server answers that
starts while the records store is down."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Never

import msgspec
import structlog

from fanion.flags.engine.definition import FlagDefinitions
from fanion.flags.evaluation.compiled import written
from fanion.projects.model import Project
from fanion.runtime.background import run_loop

# Changes wait this long for others to be written with them.
WRITE_S = 2.0
BUSY_S = 1.0

_SCHEMA = """
  CREATE TABLE IF NOT EXISTS kept (
    project_id  INTEGER PRIMARY KEY,
    api_token   TEXT NOT NULL,
    project     BLOB NOT NULL,
    definitions BLOB NOT NULL
  )
"""
_INDEX = "CREATE INDEX IF NOT EXISTS kept_api_token ON kept (api_token)"
_PUT = "INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?)"
_CHANGE = "UPDATE kept SET api_token = ?, project = ? WHERE project_id = ?"
_PROJECT = "SELECT project FROM kept WHERE api_token = ?"
# A project is stored with its former tokens, in which this searches.
_HOLDING = "SELECT project FROM kept WHERE instr(project, CAST(? AS BLOB)) > 0"
_DEFINITIONS = "SELECT definitions FROM kept WHERE project_id = ?"
_PROJECTS = "SELECT project FROM kept ORDER BY project_id"

_encode = msgspec.msgpack.Encoder(enc_hook=written).encode
_project = msgspec.msgpack.Decoder(Project).decode
_definitions = msgspec.msgpack.Decoder(FlagDefinitions).decode

_Row = tuple[int, str, bytes, bytes]


class OfflineFlagStore:
    """One row a project, replaced in one transaction. A file that cannot be read counts as empty:
    all that it holds is in the records store."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._changed: dict[int, FlagDefinitions] = {}
        self._changed_projects: set[int] = set()
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

    def put(self, project_id: int, definitions: FlagDefinitions) -> None:
        """Written at the next interval."""
        self._changed[project_id] = definitions

    def project_changed(self, project_id: int) -> None:
        """Written at the next interval, if the project's flags are stored."""
        self._changed_projects.add(project_id)

    async def get(self, project_id: int) -> FlagDefinitions | None:
        waiting = self._changed.get(project_id)
        if waiting is not None:
            return waiting
        return await asyncio.to_thread(self._read, project_id)

    async def project(self, token: str) -> Project | None:
        """By its token or a former one, ended or not."""
        rows = await asyncio.to_thread(self._rows, _PROJECT, (token,))
        if rows:
            return _project(rows[0][0])
        rows = await asyncio.to_thread(self._rows, _HOLDING, (token,))
        holding = [_project(row[0]) for row in rows]
        of_token = [p for p in holding if token in [former.token for former in p.former_tokens]]
        return of_token[0] if of_token else None

    async def projects(self) -> list[Project]:
        rows = await asyncio.to_thread(self._rows, _PROJECTS, ())
        return [_project(row[0]) for row in rows]

    async def run(self, project_of: Callable[[int], Awaitable[Project | None]]) -> Never:
        """Write changed flags and projects, until cancelled."""
        await run_loop(
            partial(self.write, project_of), WRITE_S, "flags_not_kept", (), initial_delay_s=WRITE_S
        )

    async def write(self, project_of: Callable[[int], Awaitable[Project | None]]) -> None:
        """project_of: mostly from memory; a project that it does not know is left out"""
        changed, self._changed = self._changed, {}
        project_ids, self._changed_projects = self._changed_projects, set()
        try:
            found = [(await project_of(project_id), each) for project_id, each in changed.items()]
            known = [(project, each) for project, each in found if project is not None]
            projects = [await project_of(project_id) for project_id in project_ids]
            if known or projects:
                await asyncio.to_thread(self._write, known, [one for one in projects if one])
        except Exception as error:
            # Flags answer without it: it is tried again, and serving goes on.
            self._changed = changed | self._changed
            self._changed_projects |= project_ids
            self._log.warning("flags_not_kept", error=str(error))

    def _read(self, project_id: int) -> FlagDefinitions | None:
        rows = self._rows(_DEFINITIONS, (project_id,))
        return _definitions(rows[0][0]) if rows else None

    def _write(
        self, known: Sequence[tuple[Project, FlagDefinitions]], projects: Sequence[Project]
    ) -> None:
        rows = [(one.id, one.api_token, _encode(one), _encode(each)) for one, each in known]
        changes = [(one.api_token, _encode(one), one.id) for one in projects]
        try:
            self._replace(rows, changes)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            self._path.unlink(missing_ok=True)  # a file that is no database, or a broken one
            self._replace(rows, changes)

    def _replace(self, rows: Sequence[_Row], changes: Sequence[tuple[str, bytes, int]]) -> None:
        with closing(sqlite3.connect(self._path, timeout=BUSY_S)) as file, file:
            self._path.chmod(0o600)
            file.execute(_SCHEMA)
            file.execute(_INDEX)
            file.executemany(_PUT, rows)
            file.executemany(_CHANGE, changes)

    def _rows(self, statement: str, parameters: tuple[object, ...]) -> list[tuple[bytes]]:
        if not self._path.exists():
            return []
        try:
            with closing(sqlite3.connect(self._path, timeout=BUSY_S)) as file:
                found: list[tuple[bytes]] = file.execute(statement, parameters).fetchall()
                return found
        except sqlite3.Error as error:
            self._log.warning("kept_flags_unread", error=str(error))
            return []
