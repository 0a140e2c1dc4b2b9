"""The check whether copies of events share their key, which makes questions about them faster.

Ingestion drops the repeats of at least two hours. Copies that come later have the same key as the
first one, unless the server set their time and the day has changed. So nearly no project has copies
with different keys, but only the store can tell.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Final, Never

from fanion.errors import AppError
from fanion.events.event import EventStoreUnavailable, StatementFailed
from fanion.events.storage.copies_sql import COPIES_WITH_DIFFERENT_KEYS
from fanion.insights.calculation.statements_service import Statements
from fanion.insights.sql.compiler import Statement

# A check reads the uuids of a project, 20 M in 2 s. It holds for as long as FRESH_S, longer where
# it took long, and events that are stored meanwhile are not in it.
FRESH_S: Final = 600.0
FRESH_TIMES_TOOK: Final = 200
# After a check that did not end, such as one that needs too much.
FAILED_S: Final = 3600.0


@dataclass(frozen=True, slots=True)
class _Checked:
    until: float
    share_keys: bool


@dataclass(slots=True)
class CopyChecks:
    """The projects whose copies of events all share their key, as this server has checked.

    Args:
        statements: Those for which no client waits.
        monotonic: The clock, in seconds.
    """

    statements: Statements
    monotonic: Callable[[], float] = monotonic
    _checked: dict[int, _Checked] = field(default_factory=dict)
    _asked: dict[int, None] = field(default_factory=dict)
    _is_asked: asyncio.Event = field(default_factory=asyncio.Event)

    def share_keys(self, project_id: int) -> bool:
        """Return whether a recent check says so. Where there is none, `run` makes one."""
        checked = self._checked.get(project_id)
        if checked is not None and self.monotonic() < checked.until:
            return checked.share_keys
        self._asked[project_id] = None
        self._is_asked.set()
        return False

    @property
    def is_wanted(self) -> bool:
        """Return whether a project waits for its check."""
        return bool(self._asked)

    async def run(self) -> Never:
        """Check the projects that are asked about, one at a time, until cancelled."""
        while True:
            await self._is_asked.wait()
            while self._asked:
                project_id = next(iter(self._asked))
                await self.check(project_id)
                del self._asked[project_id]
            self._is_asked.clear()

    async def check(self, project_id: int) -> None:
        """Check a project now. A failure counts as copies with different keys."""
        started = self.monotonic()
        try:
            share_keys = not await self.statements.rows(
                project_id, Statement(COPIES_WITH_DIFFERENT_KEYS, {"project_id": project_id})
            )
        except (EventStoreUnavailable, StatementFailed, AppError):
            self._checked[project_id] = _Checked(started + FAILED_S, False)
            return
        now = self.monotonic()
        fresh_s = max(FRESH_S, FRESH_TIMES_TOOK * (now - started))
        self._checked[project_id] = _Checked(now + fresh_s, share_keys)
