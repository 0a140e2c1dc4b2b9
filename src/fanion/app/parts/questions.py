"""Builder of what answers questions about events: insights, dashboards, alerts and cohorts."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from fanion.app.parts.mail import build_mail_sender
from fanion.app.services import Services
from fanion.cohorts.calculation.lease_store import CohortLeaseStore
from fanion.cohorts.calculation.worker import Calculator
from fanion.cohorts.explain_service import CohortExplanations
from fanion.cohorts.imports.store import ImportStore
from fanion.cohorts.members.cleanup_store import CohortTrashStore
from fanion.cohorts.members_service import CohortMembers
from fanion.cohorts.service import CohortService, FlagChecks
from fanion.cohorts.store import CohortStore
from fanion.config import Settings
from fanion.db.engine import Records
from fanion.events.columns_worker import KnownColumns
from fanion.events.storage.compiled_query import QuestionLimits
from fanion.events.storage.property_columns import ColumnLimits
from fanion.events.storage.store import SECONDS_MAX, EventStore
from fanion.events.turns.places_store import SharedPlaces
from fanion.experiments.calculation.sums_service import ExperimentCalculator
from fanion.experiments.people.service import ExperimentPeople
from fanion.experiments.planning.service import ExperimentPlans
from fanion.experiments.results.query_service import ExperimentQueries
from fanion.experiments.results.service import ExperimentResults
from fanion.experiments.results.wire import EXPOSURE_QUERY, METRIC_QUERY
from fanion.experiments.store import ExperimentStore
from fanion.experiments.verdicts.store import VerdictStore
from fanion.experiments.verdicts.worker import VerdictWorker
from fanion.flags.definitions.access_store import active_flags_using, guard_audience
from fanion.flags.definitions.integrity_store import flags_without_answer
from fanion.flags.definitions.store import FlagStore
from fanion.flags.usage.enabled_persons_store import EnabledPersons
from fanion.insights.actors.cohorts_service import CohortActors
from fanion.insights.actors.newer_service import ActorsAnswers
from fanion.insights.actors.service import ActorFinder
from fanion.insights.alerts.checks_service import AlertChecks
from fanion.insights.alerts.mails_store import AlertMailStore
from fanion.insights.alerts.mails_worker import AlertMailWorker
from fanion.insights.alerts.service import AlertService
from fanion.insights.alerts.store import AlertStore
from fanion.insights.alerts.worker import AlertWorker
from fanion.insights.as_sql.service import SqlOfQuestions
from fanion.insights.calculation.copies_worker import CopyChecks
from fanion.insights.calculation.looks_cache import Looks
from fanion.insights.calculation.maintenance_worker import MaintenanceWorker
from fanion.insights.calculation.service import Analysis
from fanion.insights.calculation.statements_service import Statements
from fanion.insights.calculation.threads_worker import QuestionThreads
from fanion.insights.dashboards.refresh_store import DashboardRefreshStore
from fanion.insights.dashboards.refresh_worker import DashboardRefreshWorker
from fanion.insights.dashboards.service import DashboardService
from fanion.insights.dashboards.store import DashboardStore
from fanion.insights.hogql.query import EVENTS_QUERY, HOGQL_QUERY, SCHEMA_QUERY
from fanion.insights.hogql.service import SqlCalculator
from fanion.insights.kinds.service import ACTORS_QUERY
from fanion.insights.kinds.service import Calculator as InsightCalculator
from fanion.insights.parsing.fields import Fields
from fanion.insights.questions.cancellations_worker import QueryCancellations
from fanion.insights.questions.result_cache import ResultCache, ResultStore
from fanion.insights.questions.service import AnswerOther, QuestionService, Refresh
from fanion.insights.questions.sql_service import SmallResults, SqlQueries
from fanion.insights.saved.service import InsightService
from fanion.insights.saved.store import InsightStore
from fanion.insights.schemas import RowsBody
from fanion.insights.sessions.kept_sql import write_statement
from fanion.projects.model import Project
from fanion.runtime.background import BackgroundTask
from fanion.runtime.data_dir import events_folder

# How often rows of sessions and columns of properties are brought up to date.
ROWS_EVERY_S: Final = 60.0
COLUMNS_EVERY_S: Final = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """The services that answer questions about events.

    Attributes:
        statements: Runs the statements of requests.
        behind: Calculates results that no client waits for.
        alert_mails: None without a mail server.
    """

    statements: Statements
    behind: Analysis
    threads: QuestionThreads
    copies: CopyChecks
    questions: QuestionService
    insights: InsightService
    actors: ActorFinder
    dashboards: DashboardService
    refresher: DashboardRefreshWorker
    alerts: AlertService
    alerter: AlertWorker
    alert_mails: AlertMailWorker | None
    cohorts: CohortService
    cohort_members: CohortMembers
    explanations: CohortExplanations
    calculator: Calculator
    columns: KnownColumns
    session_rows: MaintenanceWorker
    property_columns: MaintenanceWorker
    experiments: ExperimentResults
    experiment_people: ExperimentPeople
    verdicts: VerdictWorker
    plans: ExperimentPlans

    @property
    def loops(self) -> Mapping[str, BackgroundTask]:
        cancellations = self.questions.cancellations
        shared = {"query_cancellations": cancellations.run} if cancellations.is_shared else {}
        return {
            "question_threads": self.threads.run,
            "copies": self.copies.run,
            "property_uses": self.columns.run,
            **shared,
            **({} if self.alert_mails is None else {"alert_mails": self.alert_mails.run}),
            "cohorts": self.calculator.run,
            "dashboards": self.refresher.run,
            "alerts": self.alerter.run,
            "experiments": self.verdicts.run,
            "session_rows": self.session_rows.run,
            "property_columns": self.property_columns.run,
        }

    async def close(self) -> None:
        """Cancel background calculations."""
        await self.questions.results.close()
        await self.experiments.answers.close()


def build_questions(public: Services, events: EventStore) -> Questions:
    records, settings, now = public.records, public.context.settings, public.context.now
    hot, project_of = public.context.metrics.hot, public.flags.projects.by_id
    threads = QuestionThreads(lambda: hot.answered, lambda: hot.ingested.count)
    statements = _build_statements(settings, records, events, threads)
    copies = CopyChecks(statements.in_background(events.behind).with_time_limit(SECONDS_MAX))
    maintained = events.property_columns(ColumnLimits(settings.property_columns))
    columns = KnownColumns(maintained)
    statements = replace(statements, copies_share_keys=copies.share_keys, columns=columns)
    behind = statements.in_background(events.behind)
    analysis = Analysis(records, events, statements)
    analysis_behind = Analysis(records, events, behind)
    actors, dashboards = ActorFinder(analysis), DashboardStore(records)
    answers = ResultCache(ExperimentCalculator(analysis), ResultStore(records))
    experiments = ExperimentResults(records, answers)
    sql = SqlQueries(ResultCache(SqlCalculator(analysis), SmallResults(records)))
    of_experiments = ExperimentQueries(ExperimentStore(records), experiments)
    other_kinds = _other_kinds(actors, of_experiments, sql)
    results = ResultCache(InsightCalculator(analysis), ResultStore(records))
    cancellations, as_sql = QueryCancellations(records), SqlOfQuestions(analysis)
    questions = QuestionService(
        records, results, cancellations, events.rows_as_parquet, as_sql, other_kinds
    )
    # Interactive questions must not share a result with a low-priority calculation.
    results_behind = ResultCache(InsightCalculator(analysis_behind), ResultStore(records))
    answers_behind = ResultCache(ExperimentCalculator(analysis_behind), ResultStore(records))
    experiments_behind = ExperimentResults(records, answers_behind)
    refreshes = DashboardRefreshStore(records, timedelta(seconds=settings.dashboards_every_s))
    alerts = AlertStore(
        records,
        timedelta(seconds=settings.alerts_every_s),
        settings.mail_url if settings.smtp_url else None,
    )
    insights = InsightStore(records)
    calculator = _build_calculator(public, events, behind)
    cohorts = _build_cohorts(public, calculator, CohortActors(actors, public.flags.projects))
    return Questions(
        statements=statements,
        behind=analysis_behind,
        threads=threads,
        copies=copies,
        questions=questions,
        insights=InsightService(insights, questions),
        actors=actors,
        dashboards=DashboardService(dashboards, results, refreshes),
        refresher=DashboardRefreshWorker(refreshes, results_behind, project_of, now),
        alerts=AlertService(alerts, AlertChecks(insights, results)),
        alerter=AlertWorker(alerts, AlertChecks(insights, results_behind), project_of, now),
        alert_mails=_build_alert_mails(public),
        cohorts=cohorts,
        cohort_members=CohortMembers(cohorts, events),
        explanations=CohortExplanations(cohorts, events, statements.members),
        calculator=calculator,
        columns=columns,
        session_rows=MaintenanceWorker(
            events.session_rows(write_statement()).step, ROWS_EVERY_S, "session_rows_not_written"
        ),
        property_columns=MaintenanceWorker(
            maintained.step, COLUMNS_EVERY_S, "property_columns_not_kept"
        ),
        experiments=experiments,
        experiment_people=ExperimentPeople(ExperimentStore(records), actors, public.flags.projects),
        verdicts=VerdictWorker(VerdictStore(records), experiments_behind, project_of, now),
        plans=ExperimentPlans(ExperimentCalculator(analysis)),
    )


def _other_kinds(
    actors: ActorFinder, queries: ExperimentQueries, sql: SqlQueries
) -> Mapping[str, AnswerOther]:
    """Return what answers queries that are not questions of insights."""
    listing = ActorsAnswers(actors)

    async def list_actors(project: Project, fields: Fields, now: datetime, _: Refresh) -> RowsBody:
        return await listing.answer(project, fields, now)

    return {
        ACTORS_QUERY: list_actors,
        METRIC_QUERY: queries.metric,
        EXPOSURE_QUERY: queries.exposures,
        HOGQL_QUERY: sql.hogql,
        EVENTS_QUERY: sql.events,
        SCHEMA_QUERY: sql.schema,
    }


def _build_alert_mails(public: Services) -> AlertMailWorker | None:
    sender = build_mail_sender(public.context)
    if sender is None:
        return None
    store, project_of = AlertMailStore(public.records), public.flags.projects.by_id
    return AlertMailWorker(store, sender.send, project_of, public.context.now, sender.count)


def _build_statements(
    settings: Settings, records: Records, events: EventStore, threads: QuestionThreads
) -> Statements:
    """Build the statements; where servers share the stores, they keep to the limits together."""
    if records.dialect != "sqlite":
        for kind, turns in (("asked", events.people), ("behind", events.behind)):
            turns.places = SharedPlaces(records, kind, turns.gate.limits)
    threads_now = int if events_folder(settings) is None else threads.now
    limits = QuestionLimits(settings.question_s, settings.question_memory_bytes)
    return Statements(events, events.people, limits, threads_now, looks=Looks(events.written))


def _build_calculator(public: Services, events: EventStore, behind: Statements) -> Calculator:
    settings, now = public.context.settings, public.context.now
    records, projects = public.records, public.flags.projects
    actors = ActorFinder(Analysis(records, events, behind.with_time_limit(SECONDS_MAX)))
    return Calculator(
        CohortStore(records),
        CohortLeaseStore(records, settings.cohort_lease_s),
        CohortTrashStore(records, timedelta(days=settings.deleted_cohorts_kept_days)),
        ImportStore(records, now),
        events,
        projects,
        now,
        settings.cohorts_every_s,
        behind.members,
        {
            "flag": EnabledPersons(FlagStore(records), now).enabled_persons,
            "insight": CohortActors(actors, projects).person_uuids,
            "experiment": ExperimentPeople(ExperimentStore(records), actors, projects).person_uuids,
        },
    )


def _build_cohorts(public: Services, calculator: Calculator, actors: CohortActors) -> CohortService:
    checks = FlagChecks(flags_without_answer, guard_audience, active_flags_using)
    uploads = ImportStore(public.records, public.context.now)
    store, bus = CohortStore(public.records), public.flags.bus
    return CohortService(store, uploads, actors, checks, bus, calculator.wake)
