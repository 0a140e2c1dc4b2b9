"""Builds the management API: its controllers, and what they are given."""

from dataclasses import dataclass
from functools import partial

from fanion.activity.api import ActivityApi
from fanion.activity.organizations_store import tell_of_organization
from fanion.change_parts import CHANGE_CONTROLLERS
from fanion.cohort_parts import COHORT_CONTROLLERS, CohortParts
from fanion.config import Settings
from fanion.events.api import EventReading, EventsApi
from fanion.events.definitions_api import Definitions, EventDefinitionsApi
from fanion.events.property_definitions_api import PropertyDefinitionsApi
from fanion.flag_parts import FlagParts
from fanion.flags.api import Flags, FlagsApi
from fanion.flags.blast_radius_api import BlastRadiusApi
from fanion.flags.blast_radius_store import BlastRadius
from fanion.flags.dashboards_api import FlagDashboardsApi
from fanion.flags.evaluation_api import FlagEvaluation, FlagEvaluationApi
from fanion.flags.role_access_api import RoleAccessApi
from fanion.flags.role_access_store import take_back_flags
from fanion.flags.static_cohort_api import FlagCohorts, FlagCohortsApi
from fanion.flags.usage_api import FlagUsage, FlagUsageApi
from fanion.flags.usage_store import UsageStore
from fanion.groups.api import GroupsApi, GroupTypesApi
from fanion.ingest.api import IngestionApi, IngestionReports
from fanion.ingest.consumer import Consumer
from fanion.ingest.dead_letters_store import DeadLetters
from fanion.ingest.erasing_consumer import Erasing
from fanion.ingest.ledger_store import Ledger
from fanion.ingestion_parts import Ingestion, backlogs
from fanion.insight_parts import INSIGHT_CONTROLLERS, InsightParts
from fanion.persons.api import PersonsApi, persons_of_events
from fanion.persons.changes_store import PersonChanges
from fanion.projects.organizations_api import Organizations, OrganizationsApi
from fanion.projects.roles_api import RoleMembershipsApi, RolesApi
from fanion.projects.secret_keys_api import SecretKeysApi
from fanion.public_parts import management_base_url
from fanion.server.hot_operations import HOT_OPERATIONS
from fanion.server.management import Management
from fanion.server.public_operations import PUBLIC_OPERATIONS
from fanion.webhook_parts import WEBHOOK_CONTROLLERS, WebhookParts

CONTROLLERS = (
    FlagsApi,
    RoleAccessApi,
    OrganizationsApi,
    RolesApi,
    RoleMembershipsApi,
    FlagEvaluationApi,
    SecretKeysApi,
    EventsApi,
    EventDefinitionsApi,
    PropertyDefinitionsApi,
    PersonsApi,
    GroupsApi,
    GroupTypesApi,
    ActivityApi,
    IngestionApi,
    FlagDashboardsApi,
    FlagUsageApi,
    FlagCohortsApi,
    BlastRadiusApi,
    *CHANGE_CONTROLLERS,
    *COHORT_CONTROLLERS,
    *INSIGHT_CONTROLLERS,
    *WEBHOOK_CONTROLLERS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagementParts:
    """What the API shows and changes."""

    settings: Settings
    flags: FlagParts
    ingestion: Ingestion
    consumers: tuple[Consumer, ...]
    ledger: Ledger
    erasing: Erasing
    cohorts: CohortParts
    insights: InsightParts
    webhooks: WebhookParts


def build_management(parts: ManagementParts) -> Management:
    settings, flags, ingestion = parts.settings, parts.flags, parts.ingestion
    return Management(
        authentication=flags.authentication,
        projects=flags.projects,
        now=ingestion.now,
        controllers=CONTROLLERS,
        dependencies=_of_flags(parts) | _of_data(parts) | {"records": ingestion.records},
        body_bytes_max=settings.body_bytes_max,
        upload_bytes_max=settings.upload_bytes_max,
        base_url=management_base_url(settings, flags.proxies),
        decoding=flags.decoding,
        answered_elsewhere={**HOT_OPERATIONS, **PUBLIC_OPERATIONS},
    )


def _of_flags(parts: ManagementParts) -> dict[str, object]:
    flags, records, events = parts.flags, parts.ingestion.records, parts.ingestion.events
    usage = UsageStore(records, events)
    managed = Flags(flags.store, flags.flag_sets, usage.last_evaluated)
    return {
        "flags": managed,
        "flag_cohorts": FlagCohorts(managed, parts.cohorts.cohorts),
        "flag_usage": FlagUsage(flags.store, usage, parts.insights.insights.results),
        "organizations": Organizations(
            flags.projects, records, tell_of_organization, take_back_flags
        ),
        "evaluation": FlagEvaluation(flags.evaluator, flags.store),
        "secret_keys": flags.secret_keys,
        "blast_radius": BlastRadius(records, events),
        "webhooks": parts.webhooks.webhooks,
    }


def _of_data(parts: ManagementParts) -> dict[str, object]:
    ingestion, insights = parts.ingestion, parts.insights
    records, events = ingestion.records, ingestion.events
    return {
        "events": EventReading(events, partial(persons_of_events, records)),
        "definitions": Definitions(records, events),
        "persons": PersonChanges(
            records, events, ingestion.turn, ingestion.recent.drop, parts.erasing.finished
        ),
        "ingestion": IngestionReports(
            parts.ledger,
            DeadLetters(records),
            partial(backlogs, ingestion.log, parts.consumers),
        ),
        "cohorts": parts.cohorts.cohorts,
        "insights": insights.insights,
        "dashboards": insights.dashboards,
    }
