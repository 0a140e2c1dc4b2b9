"""Builder of the workers that change flags by schedule or rule, deliver webhooks, and tidy up."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from fanion.activity.retention_worker import ActivityRetention
from fanion.app.services import Services
from fanion.backup.worker import BackupWorker
from fanion.events.storage.store import EventStore
from fanion.experiments.guarded_release.checks_service import ReleaseChecks
from fanion.experiments.guarded_release.store import ReleaseStore
from fanion.experiments.guarded_release.worker import GuardedReleaseWorker
from fanion.exports.batch.store import BatchExportStore
from fanion.exports.batch.worker import BatchExportWorker, ExportSources
from fanion.flags.automation.rollback_store import RollbackStore
from fanion.flags.automation.scheduled_store import ScheduledChangeStore
from fanion.flags.automation.worker import RollbackWorker, ScheduledChangeWorker
from fanion.flags.usage.enrichment_worker import Enrichment
from fanion.insights.calculation.service import Analysis
from fanion.insights.trends.service import RollingAverage
from fanion.persons.state.pending_identities_store import run_sweep
from fanion.runtime.background import BackgroundTask
from fanion.webhooks.client import Resolver, Sender
from fanion.webhooks.worker import Deliverer


@dataclass(frozen=True, slots=True, kw_only=True)
class Automation:
    """The background workers of flags, identities, webhooks and batch exports.

    Attributes:
        sweep: Clears identities that wait for a person.
        backups: None where the stores are servers with tools of their own.
    """

    scheduler: ScheduledChangeWorker
    rollbacks: RollbackWorker
    releases: GuardedReleaseWorker
    deliverer: Deliverer
    exporter: BatchExportWorker
    enrichment: Enrichment
    sweep: BackgroundTask
    activity: ActivityRetention
    backups: BackupWorker | None

    @property
    def loops(self) -> Mapping[str, BackgroundTask]:
        backups = {} if self.backups is None else {"backups": self.backups.run}
        return backups | {
            "waiting_identities": self.sweep,
            "old_activity": self.activity.run,
            "flag_enrichment": self.enrichment.run,
            "scheduled_changes": self.scheduler.run,
            "rollbacks": self.rollbacks.run,
            "guarded_releases": self.releases.run,
            "webhooks": self.deliverer.run,
            "batch_exports": self.exporter.run,
        }


def build_automation(public: Services, events: EventStore, behind: Analysis) -> Automation:
    """Build the background workers.

    Args:
        behind: Counts the events of rollback conditions.
    """
    records, settings, now = public.records, public.context.settings, public.context.now
    project_of, bus = public.flags.projects.by_id, public.flags.bus
    checks = RollbackStore(records, timedelta(seconds=settings.rollbacks_every_s))
    releases = ReleaseChecks(ReleaseStore(records), behind, bus)
    private = settings.exports_allow_private
    sources = ExportSources(events, public.backlogs, Resolver(), private)
    sender = Sender(Resolver(), allow_private=settings.webhooks_allow_private)
    return Automation(
        scheduler=ScheduledChangeWorker(ScheduledChangeStore(records), project_of, bus, now),
        rollbacks=RollbackWorker(checks, RollingAverage(behind), project_of, bus, now),
        releases=GuardedReleaseWorker(releases, project_of, now),
        deliverer=Deliverer(records, sender, public.context.metrics, now, public.context.tracing),
        exporter=BatchExportWorker(BatchExportStore(records), sources, project_of, now),
        enrichment=Enrichment(records, events, now),
        sweep=partial(run_sweep, records, now),
        activity=ActivityRetention(records, now),
        backups=BackupWorker(settings, now) if settings.has_embedded_stores else None,
    )
