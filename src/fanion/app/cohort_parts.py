"""Builds what calculates cohorts, and what shows them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from fanion.cohorts.api import Cohorts, CohortsApi
from fanion.cohorts.calculation.lease_store import WorkStore
from fanion.cohorts.calculation.worker import Calculator
from fanion.cohorts.explain_api import CohortExplanationsApi
from fanion.cohorts.member_changes_api import CohortMemberChangesApi
from fanion.cohorts.member_changes_store import MemberChanges
from fanion.cohorts.members_api import CohortMembersApi
from fanion.cohorts.store import CohortStore
from fanion.cohorts.trash_store import DeletedCohorts
from fanion.cohorts.upload_store import UploadStore
from fanion.config import Settings
from fanion.db.engine import Records
from fanion.events.storage.store import EventStore
from fanion.flags.management.enabled_persons import EnabledPersons
from fanion.flags.management.role_access_store import active_flags_using, guard_audience
from fanion.flags.storage.integrity import flags_without_answer
from fanion.flags.storage.store import FlagStore
from fanion.insights.actors.store import People, insight_of
from fanion.insights.trends.store import Trends
from fanion.projects.cache import Projects

COHORT_CONTROLLERS = (
    CohortsApi,
    CohortMembersApi,
    CohortMemberChangesApi,
    CohortExplanationsApi,
)


@dataclass(frozen=True, slots=True)
class CohortParts:
    cohorts: Cohorts
    calculator: Calculator


def build_cohort_parts(
    settings: Settings,
    records: Records,
    events: EventStore,
    projects: Projects,
    changed: Callable[[int], None],
    now: Callable[[], datetime],
) -> CohortParts:
    """changed: is told the project whose flags have to be read again"""
    store, uploads = (
        CohortStore(records, flags_without_answer, guard_audience, active_flags_using),
        UploadStore(records, now),
    )

    async def zone_of(project_id: int) -> ZoneInfo:
        project = await projects.by_id(project_id)
        return ZoneInfo("UTC" if project is None else project.timezone)

    calculator = Calculator(
        store,
        WorkStore(records, settings.cohort_lease_s),
        DeletedCohorts(records, timedelta(days=settings.deleted_cohorts_kept_days)),
        uploads,
        events,
        zone_of,
        now,
        settings.cohorts_every_s,
        {
            "flag": EnabledPersons(FlagStore(records), now).of,
            "insight": People(Trends(records, events), zone_of).of,
        },
    )
    members = MemberChanges(records, guard_audience)
    cohorts = Cohorts(store, uploads, members, events, calculator, insight_of, changed)
    return CohortParts(cohorts, calculator)
