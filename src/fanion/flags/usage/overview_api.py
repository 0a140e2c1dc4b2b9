"""API of the columns that a list of flags shows in addition: one response for all flags."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

from litestar import Controller, get
from litestar.di import NamedDependency
from msgspec import Meta, Struct

from fanion.flags.definitions.list_query import EVERYTHING, Staleness, StaleReason
from fanion.flags.definitions.store import FlagStore
from fanion.flags.usage.overview_store import Daily, LastChange, OverviewStore
from fanion.flags.usage.store import UsageStore
from fanion.projects.activity_api import ActivityUser
from fanion.projects.model import Project
from fanion.projects.request_api import ManagementRequest, scoped

DAYS = 7
FLAGS_MAX = 10_000  # in one response: the newest ones


class FlagOverview(Struct, kw_only=True):
    id: int
    calls: Annotated[list[int], Meta(description="`$feature_flag_called` events per day.")]
    evaluations: Annotated[list[int], Meta(description="Evaluations by servers per day.")]
    last_evaluated_at: Annotated[
        datetime | None, Meta(description="Last evaluation by a server or a client within 90 days.")
    ]
    stale_reason: Annotated[
        StaleReason | None,
        Meta(description="As in `/feature_flags/?stale=true`; null if the flag is needed."),
    ]
    changed_at: Annotated[datetime | None, Meta(description="Time of the last recorded change.")]
    changed_by: Annotated[
        ActivityUser | None, Meta(description="Author of that change, or creator of the flag.")
    ]


class FlagsOverview(Struct, kw_only=True):
    days: Annotated[
        list[str],
        Meta(description="The last seven days in the project's time zone, including today."),
    ]
    flags: list[FlagOverview]


@dataclass(frozen=True, slots=True)
class FlagsOverviews:
    store: FlagStore
    usage: UsageStore
    overview: OverviewStore

    async def overview_of_project(self, project: Project, now: datetime) -> FlagsOverview:
        zone = ZoneInfo(project.timezone)
        today = now.astimezone(zone).date()
        days = [today - timedelta(days=ago) for ago in reversed(range(DAYS))]
        flags, _ = await self.store.find_flags(project.id, EVERYTHING, now, FLAGS_MAX, 0)
        calls = await self.overview.calls_by_day(project.id, days, zone)
        evaluations = await self.overview.evaluations_by_day(project.id, days)
        changes = await self.overview.last_changes(project.id)
        staleness = Staleness(await self.usage.last_evaluated(project.id, now))
        overviews: list[FlagOverview] = []
        for flag in flags:
            row, change = flag.definition, changes.get(flag.definition.id)
            overviews.append(
                FlagOverview(
                    id=row.id,
                    calls=_numbers_by_day(calls, row.key, days),
                    evaluations=_numbers_by_day(evaluations, row.key, days),
                    last_evaluated_at=staleness.last_evaluated.get(row.key),
                    stale_reason=staleness.reason(flag.candidate, now),
                    changed_at=None if change is None else change.changed_at,
                    changed_by=_author(change),
                )
            )
        return FlagsOverview(days=[day.isoformat() for day in days], flags=overviews)


class FlagsOverviewApi(Controller):
    path = "/api/projects/{project_id:str}/feature_flags"
    tags = ("Feature flags",)
    opt = scoped("feature_flag")

    @get("/overview", summary="Read usage and last change of all feature flags")
    async def overview(
        self, request: ManagementRequest, flags_overviews: NamedDependency[FlagsOverviews]
    ) -> FlagsOverview:
        """Lists the newest flag first, at most 10,000, without deleted flags.

        For each flag: its calls and evaluations by day, why it is no longer needed, and who changed
        it last.
        """
        return await flags_overviews.overview_of_project(request.project, request.app.state.now())


def _numbers_by_day(numbers: Daily, key: str, days: Sequence[date]) -> list[int]:
    return [numbers.get((key, day), 0) for day in days]


def _author(change: LastChange | None) -> ActivityUser | None:
    if change is None:
        return None
    if change.email is None:
        return ActivityUser(first_name="System", email=None, is_system=True)
    return ActivityUser(first_name=change.first_name or "", email=change.email)
