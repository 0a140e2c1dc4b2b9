"""The worker that checks guarded releases when they are due, each on one server."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from fanion.db.due_work import AHEAD, DueRow, LeasedWorker
from fanion.experiments.guarded_release.checks_service import ReleaseChecks
from fanion.projects.model import Project


class GuardedReleaseWorker(LeasedWorker[Project]):
    """The worker that tests guardrails, and goes on, holds or rolls back."""

    waits, all_wait = "guarded_release_waits", "guarded_releases_wait"
    id_name = "release"

    def __init__(
        self,
        checks: ReleaseChecks,
        project_of: Callable[[int], Awaitable[Project | None]],
        now: Callable[[], datetime],
    ) -> None:
        super().__init__(checks.store.checks, project_of, now)
        self._checks = checks

    async def _due_items(self, now: datetime) -> Sequence[DueRow]:
        return await self._rows.due_rows(now, ahead=AHEAD)

    async def _process(self, row: DueRow, project: Project) -> None:
        await self._checks.check(row, project, self._now())
