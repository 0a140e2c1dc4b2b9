"""Builder of the management API, from the parts of a server."""

import time
from functools import partial

from fanion.accounts.client_limits_cache import RateLimit
from fanion.accounts.oidc.api import OidcApi
from fanion.accounts.own_account.api import UsersApi
from fanion.accounts.own_account.sessions_api import SessionsApi
from fanion.accounts.password_links.api import ResetApi, SignInLinksApi
from fanion.accounts.sign_in.api import LoginApi, PreflightApi
from fanion.accounts.sign_in.second_factor_api import SecondFactorApi, SecondFactorLoginApi
from fanion.accounts.signup_api import SignupApi
from fanion.accounts.signup_service import Signup
from fanion.actions.api import ActionsApi
from fanion.actions.service import check_action
from fanion.actions.store import ACTIONS, resolve_actions
from fanion.app.application import management_base_url
from fanion.app.parts.accounts import build_oidc_login
from fanion.app.server import Server
from fanion.cohorts.api import CohortsApi
from fanion.cohorts.explain_api import CohortExplanationsApi
from fanion.cohorts.members.pages_store import cohorts_entered
from fanion.cohorts.members_api import CohortMemberChangesApi, CohortMembersApi, PersonCohortsApi
from fanion.cohorts.store import cohorts_using
from fanion.events.api import EventReading, EventsApi
from fanion.events.definitions.api import EventDefinitionsApi
from fanion.events.definitions.property_api import PropertyDefinitionsApi
from fanion.events.definitions.property_service import PropertyService
from fanion.events.definitions.service import DefinitionService
from fanion.events.definitions.store import DefinitionStore
from fanion.events.live.api import LiveEventsApi
from fanion.events.values_service import PropertyValues
from fanion.experiments.api import ExperimentsApi, ExperimentStepsApi
from fanion.experiments.exposure_service import ExposureService
from fanion.experiments.guarded_release.api import GuardedReleaseApi
from fanion.experiments.guarded_release.checks_service import ReleaseChecks
from fanion.experiments.guarded_release.store import ReleaseStore
from fanion.experiments.holdouts.api import HoldoutsApi
from fanion.experiments.holdouts.service import HoldoutService
from fanion.experiments.holdouts.store import HoldoutStore
from fanion.experiments.people.api import ExperimentPeopleApi
from fanion.experiments.planning.api import ExperimentPlansApi
from fanion.experiments.results.api import ExperimentResultsApi
from fanion.experiments.saved_metrics.api import SavedMetricsApi
from fanion.experiments.saved_metrics.service import SavedMetricService
from fanion.experiments.saved_metrics.store import SavedMetricStore
from fanion.experiments.service import ExperimentService
from fanion.experiments.store import ExperimentStore
from fanion.experiments.uses_store import experiments_with_action, experiments_with_segment
from fanion.exports.batch.api import BatchExportsApi
from fanion.exports.batch.service import BatchExportService
from fanion.exports.batch.store import BatchExportStore
from fanion.exports.events_api import EventExportsApi
from fanion.exports.rows_api import GroupRowsApi, PersonRowsApi
from fanion.exports.service import Exports
from fanion.flags.automation.scheduled_api import ScheduledChangesApi
from fanion.flags.blast_radius.api import BlastRadiusApi
from fanion.flags.blast_radius.store import BlastRadius
from fanion.flags.definitions.api import FlagsApi
from fanion.flags.definitions.integrity_store import flags_with_action, flags_with_segment
from fanion.flags.definitions.role_access.api import RoleAccessApi
from fanion.flags.definitions.role_access.service import RoleAccessService
from fanion.flags.definitions.role_access.store import RoleAccessStore, revoke_flags_of_role
from fanion.flags.definitions.service import FlagService
from fanion.flags.preview.api import FlagPreviewsApi
from fanion.flags.preview.evaluation_api import (
    FlagCohorts,
    FlagCohortsApi,
    FlagEvaluation,
    FlagEvaluationApi,
)
from fanion.flags.preview.service import FlagPreviews
from fanion.flags.preview.unsaved_store import UnsavedFlagStore
from fanion.flags.sdk.changes_api import FlagChangesApi
from fanion.flags.usage.api import FlagDashboardsApi, FlagUsage, FlagUsageApi
from fanion.flags.usage.overview_api import FlagsOverviewApi, FlagsOverviews
from fanion.flags.usage.overview_store import OverviewStore
from fanion.flags.usage.store import UsageStore
from fanion.groups.api import GroupsApi, GroupTypesApi
from fanion.ingest.accepted_items_store import AcceptedItems
from fanion.ingest.ledger.api import IngestionApi, IngestionReports
from fanion.ingest.ledger.dead_letters_store import DeadLetters
from fanion.ingest.pipeline.position_store import is_ingested
from fanion.insights.actors.api import InsightActorsApi
from fanion.insights.alerts.api import AlertsApi
from fanion.insights.annotations.api import AnnotationsApi
from fanion.insights.annotations.service import AnnotationService
from fanion.insights.annotations.store import AnnotationStore
from fanion.insights.dashboards.api import DashboardsApi
from fanion.insights.dashboards.shared_service import COUNTED_MAX, SharedDashboards
from fanion.insights.dashboards.shares_api import DashboardSharesApi, SharedDashboardsApi
from fanion.insights.dashboards.shares_store import ShareStore
from fanion.insights.dashboards.store import dashboards_with_segment
from fanion.insights.questions.api import QuestionsApi
from fanion.insights.questions.query_api import QueryApi
from fanion.insights.saved.api import InsightsApi
from fanion.insights.saved.uses_store import insights_using, insights_with_segment
from fanion.insights.segments.api import SegmentsApi
from fanion.insights.segments.service import check_segment
from fanion.insights.segments.store import SEGMENTS
from fanion.insights.web_analytics.live_visitors_api import LiveVisitorsApi
from fanion.persons.api import PersonsApi, persons_of_events
from fanion.persons.data_export.api import PersonExportApi
from fanion.persons.data_export.service import PersonExports
from fanion.persons.edits_store import PersonChanges
from fanion.persons.merge_log.api import MergeLogApi
from fanion.persons.merge_log.store import MergeLog
from fanion.persons.merge_requests.api import PersonMergesApi
from fanion.persons.merge_requests.service import PersonMerges
from fanion.persons.splits.api import PersonSplitsApi
from fanion.persons.splits.service import PersonSplits
from fanion.persons.timeline.api import TimelineApi
from fanion.persons.timeline.service import Timelines
from fanion.persons.values_api import PersonValuesApi
from fanion.projects.activity_api import ActivityApi
from fanion.projects.auth.keys_api import SecretKeysApi
from fanion.projects.deletion.service import ProjectDeletions
from fanion.projects.invites.api import InvitesApi
from fanion.projects.invites.service import InviteService
from fanion.projects.invites.store import InviteStore
from fanion.projects.members.api import MembersApi
from fanion.projects.members.invite_acceptance_service import InviteAcceptance
from fanion.projects.members.service import MemberService
from fanion.projects.members.store import MemberStore
from fanion.projects.named_items.service import NamedItemService
from fanion.projects.organizations.api import OrganizationsApi
from fanion.projects.organizations.service import OrganizationService
from fanion.projects.organizations.store import OrganizationStore
from fanion.projects.problems_api import ProblemsApi
from fanion.projects.problems_store import Backups
from fanion.projects.retention.service import EventRetention
from fanion.projects.roles.api import RoleMembershipsApi, RolesApi
from fanion.projects.roles.service import RoleService
from fanion.projects.roles.store import RoleStore
from fanion.runtime.change_bus import Topic
from fanion.server.asgi_bridge import AsgiApp
from fanion.transfer.api import ProjectTransferApi
from fanion.transfer.task_client import ProjectTransfers
from fanion.web.link_pages import InvitePage, LinkPage
from fanion.web.management import Management, management_app
from fanion.webhooks.api import WebhooksApi
from fanion.webhooks.service import WebhookService
from fanion.webhooks.store import WebhookStore

CONTROLLERS = (
    LoginApi,
    OidcApi,
    SessionsApi,
    PreflightApi,
    UsersApi,
    ResetApi,
    SignInLinksApi,
    SecondFactorLoginApi,
    SecondFactorApi,
    SignupApi,
    FlagsApi,
    RoleAccessApi,
    ProjectTransferApi,
    OrganizationsApi,
    MembersApi,
    InvitesApi,
    RolesApi,
    RoleMembershipsApi,
    FlagEvaluationApi,
    SecretKeysApi,
    EventsApi,
    EventExportsApi,
    PersonRowsApi,
    GroupRowsApi,
    BatchExportsApi,
    ActionsApi,
    LiveEventsApi,
    LiveVisitorsApi,
    EventDefinitionsApi,
    PropertyDefinitionsApi,
    PersonsApi,
    PersonMergesApi,
    MergeLogApi,
    PersonSplitsApi,
    PersonValuesApi,
    TimelineApi,
    PersonExportApi,
    GroupsApi,
    GroupTypesApi,
    ActivityApi,
    ProblemsApi,
    IngestionApi,
    FlagDashboardsApi,
    FlagUsageApi,
    FlagsOverviewApi,
    FlagChangesApi,
    FlagCohortsApi,
    BlastRadiusApi,
    FlagPreviewsApi,
    ScheduledChangesApi,
    ExperimentPeopleApi,
    ExperimentPlansApi,
    ExperimentsApi,
    ExperimentStepsApi,
    ExperimentResultsApi,
    HoldoutsApi,
    SavedMetricsApi,
    GuardedReleaseApi,
    CohortsApi,
    CohortMembersApi,
    CohortMemberChangesApi,
    CohortExplanationsApi,
    PersonCohortsApi,
    InsightsApi,
    InsightActorsApi,
    QuestionsApi,
    QueryApi,
    DashboardsApi,
    DashboardSharesApi,
    SharedDashboardsApi,
    AlertsApi,
    AnnotationsApi,
    SegmentsApi,
    WebhooksApi,
)


def build_management(server: Server) -> AsgiApp:
    """Build the management API; the framework takes 0.2 s for its routes."""
    return management_app(_management_config(server))


def _management_config(server: Server) -> Management:
    public, flags = server.public, server.public.flags
    settings = public.context.settings
    return Management(
        authentication=flags.authentication,
        projects=flags.projects,
        sessions=server.accounts.sign_in.sessions,
        now=public.context.now,
        controllers=CONTROLLERS,
        dependencies={
            **_flag_dependencies(server),
            **_data_dependencies(server),
            **_experiment_dependencies(server),
            **_account_dependencies(server),
            "records": public.records,
            "backups": Backups(
                public.context.settings.data, public.context.settings.backup_interval_s
            ),
        },
        deletions=ProjectDeletions(
            public.records,
            flags.projects,
            flags.secret_keys,
            server.events.count_events,
            server.ingestion.project_deletion.wake,
        ),
        retention=EventRetention(server.events.count_old, server.events.count_events),
        body_bytes_max=settings.body_bytes_max,
        upload_folder=str(settings.data),
        upload_bytes_max=settings.upload_bytes_max,
        base_url=management_base_url(settings, flags.proxies),
        decoding=flags.decoding,
    )


def _flag_dependencies(server: Server) -> dict[str, object]:
    flags, records, events = server.public.flags, server.public.records, server.events
    settings = server.public.context.settings
    usage = UsageStore(records, events)
    managed = FlagService(flags.store, flags.bus, usage.last_evaluated)
    blast_radius = BlastRadius(records, events)
    previews = FlagPreviews(
        UnsavedFlagStore(records),
        flags.evaluator.subjects,
        blast_radius,
        server.flag_changes,
        flags.evaluator.flag_sets,
        _timelines(server),
    )
    return {
        "flags": managed,
        "flag_changes": flags.broadcaster,
        "role_access": RoleAccessService(RoleAccessStore(records), managed),
        "flag_cohorts": FlagCohorts(managed, server.questions.cohorts),
        "flag_usage": FlagUsage(flags.store, usage, server.questions.questions.results),
        "flags_overviews": FlagsOverviews(flags.store, usage, OverviewStore(records, events)),
        "organizations": OrganizationService(
            flags.projects,
            OrganizationStore(records),
            partial(_rights_changed, server),
        ),
        "organization_members": MemberService(MemberStore(records)),
        "roles": RoleService(RoleStore(records), revoke_flags_of_role),
        "invites": InviteService(
            InviteStore(records),
            mails.send if (mails := server.accounts.mails) is not None else None,
            settings.mail_url,
        ),
        "evaluation": FlagEvaluation(flags.evaluator, flags.store),
        "secret_keys": flags.secret_keys,
        "blast_radius": blast_radius,
        "previews": previews,
        "transfers": ProjectTransfers(
            records, settings.records_url, str(settings.data), partial(_imported, server)
        ),
        "webhooks": WebhookService(WebhookStore(records), settings.webhooks_allow_private),
        "sign_in": server.accounts.sign_in,
        "signup": Signup(
            InviteAcceptance(records),
            server.accounts.sign_in,
            flags.authentication.failures,
            server.public.context.now,
            partial(_rights_changed, server),
        ),
        "oidc_login": build_oidc_login(
            server.public.context,
            records,
            server.accounts.sign_in,
            partial(_rights_changed, server),
        ),
        "invite_pages": InvitePage(),
    }


def _imported(server: Server, project_id: int) -> None:
    """Refresh this process's caches after another process imported into a project."""
    flags = server.public.flags
    flags.projects.forget_everywhere(project_id)
    flags.bus.publish(Topic.GROUP_TYPES, project_id)  # which also refreshes its flags
    server.questions.cohorts.wake()


def _rights_changed(server: Server, user_id: int) -> None:
    """Forget what this process has cached of a user's rights."""
    server.public.flags.authentication.rights_changed(user_id)
    server.accounts.sign_in.sessions.rights_changed(user_id)


def _experiment_dependencies(server: Server) -> dict[str, object]:
    records, bus = server.public.records, server.public.flags.bus
    store = ExperimentStore(records)
    return {
        "experiments": ExperimentService(store, bus),
        "exposures": ExposureService(store, server.events, server.questions.cohorts.notify),
        "release_checks": ReleaseChecks(ReleaseStore(records), server.questions.behind, bus),
        "holdouts": HoldoutService(HoldoutStore(records), bus),
        "saved_metrics": SavedMetricService(SavedMetricStore(records)),
        "experiment_people": server.questions.experiment_people,
        "experiment_results": server.questions.experiments,
        "plans": server.questions.plans,
    }


def _account_dependencies(server: Server) -> dict[str, object]:
    accounts = server.accounts
    return {
        "own_accounts": accounts.own_accounts,
        "password_links": accounts.password_links,
        "password_resets": accounts.password_resets,
        "link_pages": LinkPage(),
    }


def _timelines(server: Server) -> Timelines:
    records = server.public.records
    return Timelines(records, server.events, partial(cohorts_entered, records))


def _data_dependencies(server: Server) -> dict[str, object]:
    records, events = server.public.records, server.events
    is_merged = partial(is_ingested, records, prefix=server.public.log.positions_prefix)
    return {
        "turns": events.people,
        "events": EventReading(
            events, partial(persons_of_events, records), partial(resolve_actions, records)
        ),
        "exports": Exports(events),
        "batch_exports": BatchExportService(
            BatchExportStore(records), server.public.context.settings.exports_allow_private
        ),
        "live": server.live.events,
        "property_values": PropertyValues(events),
        "columns": server.questions.columns,
        "actions": NamedItemService(
            records,
            ACTIONS,
            check_action,
            (insights_using, cohorts_using, flags_with_action, experiments_with_action),
        ),
        "definitions": DefinitionService(DefinitionStore(records), events),
        "property_service": PropertyService(records),
        "persons": PersonChanges(
            records,
            events,
            server.ingestion.turn,
            server.ingestion.recent.evict_person,
            server.ingestion.erasing.finished,
            server.ingestion.versions,
        ),
        "merges": PersonMerges(
            records, events, server.public.log, is_merged, server.public.context.waits.merge_s
        ),
        "splits": PersonSplits(
            records,
            events,
            server.ingestion.turn,
            server.ingestion.recent.evict_person,
            server.ingestion.splitting.followed,
            server.ingestion.versions,
        ),
        "merge_log": MergeLog(records),
        "timelines": _timelines(server),
        "person_exports": PersonExports(
            records,
            events,
            server.questions.cohorts.store.cohorts_of_person,
            AcceptedItems(records, server.public.log, server.public.context.now).of_ids,
        ),
        "ingestion": IngestionReports(
            server.ingestion.ledger, DeadLetters(records), server.public.backlogs
        ),
        "cohorts": server.questions.cohorts,
        "members": server.questions.cohort_members,
        "explanations": server.questions.explanations,
        "questions": server.questions.questions,
        "insights": server.questions.insights,
        "statements": server.questions.statements,
        "actors": server.questions.actors,
        "dashboards": server.questions.dashboards,
        "shared_dashboards": SharedDashboards(
            ShareStore(records),
            server.questions.dashboards,
            server.public.flags.projects.by_id,
            RateLimit(COUNTED_MAX, time.monotonic),
        ),
        "alerts": server.questions.alerts,
        "annotations": AnnotationService(AnnotationStore(records)),
        "segments": NamedItemService(
            records,
            SEGMENTS,
            partial(check_segment, server.questions.questions.check_filters),
            (
                insights_with_segment,
                dashboards_with_segment,
                flags_with_segment,
                experiments_with_segment,
            ),
        ),
    }
