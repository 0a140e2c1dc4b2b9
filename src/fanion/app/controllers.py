"""Builds the management API: its controllers, and what they are given."""

from dataclasses import dataclass
from functools import partial

from fanion.activity.api import ActivityApi
from fanion.activity.recorders import tell_of_organization
from fanion.app.services import management_base_url
from fanion.app.services_background import (
    CHANGE_CONTROLLERS,
    COHORT_CONTROLLERS,
    INSIGHT_CONTROLLERS,
    WEBHOOK_CONTROLLERS,
    CohortParts,
    Ingestion,
    InsightParts,
    WebhookParts,
    backlogs,
)
from fanion.app.services_flags import FlagParts
from fanion.config import Settings
from fanion.events.api import EventReading, EventsApi
from fanion.events.definitions.api import Definitions, EventDefinitionsApi
from fanion.events.definitions.property_api import PropertyDefinitionsApi
from fanion.flags.blast_radius.api import BlastRadiusApi
from fanion.flags.blast_radius.store import BlastRadius
from fanion.flags.management.api import Flags, FlagsApi
from fanion.flags.management.evaluation_api import FlagEvaluation, FlagEvaluationApi
from fanion.flags.management.role_access_api import RoleAccessApi
from fanion.flags.management.role_access_store import take_back_flags
from fanion.flags.management.static_cohort_api import FlagCohorts, FlagCohortsApi
from fanion.flags.usage.api import FlagUsage, FlagUsageApi
from fanion.flags.usage.dashboards_api import FlagDashboardsApi
from fanion.flags.usage.store import UsageStore
from fanion.groups.api import GroupsApi, GroupTypesApi
from fanion.ingest.erasure_worker import Erasing
from fanion.ingest.ledger.api import IngestionApi, IngestionReports
from fanion.ingest.ledger.dead_letters_store import DeadLetters
from fanion.ingest.ledger.store import Ledger
from fanion.ingest.pipeline.consumer import Consumer
from fanion.persons.api import PersonsApi, persons_of_events
from fanion.persons.edits_store import PersonChanges
from fanion.projects.auth.secret_keys_api import SecretKeysApi
from fanion.projects.organizations_api import Organizations, OrganizationsApi
from fanion.projects.roles_api import RoleMembershipsApi, RolesApi
from fanion.web.management import Management
from fanion.web.openapi import HOT_OPERATIONS
from fanion.web.openapi_public import PUBLIC_OPERATIONS

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
    managed = Flags(flags.store, flags.bus, usage.last_evaluated)
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
