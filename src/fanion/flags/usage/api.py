"""API of a flag's usage: evaluations and calls by day, and its dashboard.

Source: flags.md section 15; cohorts.md section 20.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from litestar import Controller, get, post
from litestar.di import NamedDependency
from litestar.openapi.spec import Reference
from litestar.params import FromPath, FromQuery
from msgspec import Meta, Struct, structs

from fanion.errors import Invalid, NotFound
from fanion.flags.definitions.model import FlagAccess
from fanion.flags.definitions.schemas import FlagBody, FlagChanges, flag_body
from fanion.flags.definitions.service import FlagService
from fanion.flags.definitions.store import FlagStore, StoredFlag
from fanion.flags.definitions.validation.posthog_fields import OF_FLAG
from fanion.flags.usage.service import UsageDashboards
from fanion.flags.usage.store import Evaluated, UsageStore
from fanion.insights.dashboards.flag_usage_template import RANGE, calls_filters
from fanion.insights.dates.bounds import parse_bound
from fanion.insights.dates.intervals import cut_into_intervals
from fanion.insights.dates.ranges import RangeClock, resolve_range
from fanion.insights.questions.result_cache import ResultCache
from fanion.insights.trends.query import parse_trends
from fanion.projects.model import Project
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId, request_media_type

DAYS_MAX = 366

Since = Annotated[str, Meta(description="`-30d`, `mStart`, or a date.")]


class ByValue(Struct, kw_only=True):
    value: Annotated[str, Meta(description="`true`, `false`, or a variant's key.")]
    count: int
    data: Annotated[list[int], Meta(description="One number per day, in the order of `days`.")]


class UsageBody(Struct, kw_only=True):
    last_evaluated_at: Annotated[
        datetime | None,
        Meta(
            description="Last evaluation by server or client within 90 days; up to a minute late."
        ),
    ]
    days: Annotated[list[str], Meta(description="Days in the project's time zone.")]
    evaluations: Annotated[
        list[ByValue],
        Meta(
            description="Evaluations by servers; estimated on a busy server, and kept for 90 days."
        ),
    ]
    calls: Annotated[list[ByValue], Meta(description="`$feature_flag_called` events.")]


@dataclass(frozen=True, slots=True)
class FlagUsage:
    store: FlagStore
    usage: UsageStore
    results: ResultCache

    async def usage_of_flag(
        self, project: Project, flag_id: int, bounds: tuple[str, str | None], now: datetime
    ) -> UsageBody:
        """Return the usage of a flag.

        Raises:
            NotFound: There is no such flag.
            Invalid: The dates are not valid.
        """
        flag = await self.store.get_flag(project.id, flag_id)
        if flag is None:
            raise NotFound
        key, days = flag.definition.key, _days(bounds, ZoneInfo(project.timezone), now)
        answered = await self.usage.evaluations_by_day(project.id, key, days[0], days[-1])
        last = await self.usage.last_evaluated(project.id, now, key)
        called = await self.results.get_or_calculate(
            project, parse_trends(calls_filters(key, *bounds)), now
        )
        return UsageBody(
            last_evaluated_at=last.get(key),
            days=[day.isoformat() for day in days],
            evaluations=_by_value(answered, days),
            calls=[_calls_by_value(entry) for entry in called.results or ()],
        )


class FlagUsageApi(Controller):
    path = "/api/projects/{project_id:str}/feature_flags"
    tags = ("Feature flags",)
    opt = scoped("feature_flag")

    @get("/{flag_id:str}/usage", summary="Count evaluations of a flag by day and value")
    async def usage(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        flag_usage: NamedDependency[FlagUsage],
        date_from: FromQuery[Since] = RANGE,
        date_to: FromQuery[str | None] = None,
    ) -> UsageBody:
        """Counts under the flag's current key; values are ordered by frequency."""
        now = request.app.state.now()
        return await flag_usage.usage_of_flag(request.project, flag_id, (date_from, date_to), now)


def _days(bounds: tuple[str, str | None], zone: ZoneInfo, now: datetime) -> list[date]:
    since, until = parse_bound(bounds[0], "date_from"), parse_bound(bounds[1], "date_to")
    if since.is_all:
        raise Invalid("Invalid date: all", attr="date_from")
    days = cut_into_intervals(
        resolve_range(since, until, "day", RangeClock(now, zone)), "day", zone
    ).days
    if len(days) > DAYS_MAX:
        raise Invalid(
            f"Ensure there are at most {DAYS_MAX} days, not {len(days)}.", attr="date_from"
        )
    return [date.fromisoformat(day) for day in days]


def _by_value(rows: Iterable[Evaluated], days: list[date]) -> list[ByValue]:
    by_value: dict[str, dict[date, int]] = {}
    for row in rows:
        by_value.setdefault(row.value, {})[row.day] = row.evaluations
    entries = [
        ByValue(value=value, count=sum(by_day.values()), data=[by_day.get(d, 0) for d in days])
        for value, by_day in by_value.items()
    ]
    return sorted(entries, key=lambda entry: (-entry.count, entry.value))


def _calls_by_value(entry: Mapping[str, Any]) -> ByValue:
    return ByValue(
        value=entry["label"],
        count=round(entry["count"]),
        data=[round(number) for number in entry["data"]],
    )


# The body may have the writable fields of a flag, as the published table says.
_OF_BODY = OF_FLAG.union(FlagChanges.__struct_fields__)
_FLAG_IN_BODY = request_media_type(
    "application/json", Reference(ref="#/components/schemas/FlagChanges")
)


class FlagWithDashboard(FlagBody, kw_only=True):
    """The flag; `success` is all that PostHog returns."""

    success: Annotated[bool, Meta(description="Always true.")] = True


class FlagDashboardsApi(Controller):
    path = "/api/projects/{project_id:str}/feature_flags/{flag_id:str}"
    tags = ("Feature flags",)
    opt = scoped("feature_flag")

    @post(
        "/dashboard",
        status_code=200,
        summary="Create the usage dashboard of a flag",
        body_names=_OF_BODY,
        operation_class=_FLAG_IN_BODY,
    )
    async def ensure(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        flags: NamedDependency[FlagService],
    ) -> FlagWithDashboard:
        """Returns the flag with its `usage_dashboard`, which is created if there is none.

        Fields of a flag in the body are ignored.
        """
        access = await flags.access(request.principal, request.project)
        dashboards = UsageDashboards(flags)
        flag = await dashboards.ensure_dashboard(request.author, access, flag_id)
        return _with_dashboard(flag, access)

    @post(
        "/enrich_usage_dashboard",
        status_code=200,
        summary="Add feature usage to the usage dashboard",
        body_names=_OF_BODY,
        operation_class=_FLAG_IN_BODY,
    )
    async def enrich(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        flags: NamedDependency[FlagService],
    ) -> FlagWithDashboard:
        """Sets `has_enriched_analytics` and adds tiles for feature usage to the usage dashboard.

        The tiles show `$feature_view` and `$feature_interaction`. The dashboard is created if there
        is none; existing tiles are left unchanged, so the request can be repeated. Fields of a flag
        in the body are ignored.
        """
        access = await flags.access(request.principal, request.project)
        dashboards = UsageDashboards(flags)
        flag = await dashboards.enrich_dashboard(request.author, access, flag_id)
        return _with_dashboard(flag, access)


def _with_dashboard(flag: StoredFlag, access: FlagAccess) -> FlagWithDashboard:
    return FlagWithDashboard(**structs.asdict(flag_body(flag, access)))
