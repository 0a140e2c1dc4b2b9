"""Builder of ingestion, and of the workers that delete persons and projects from all stores."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from uuid import uuid4

from fanion.app.services import Services
from fanion.config import Role
from fanion.events.cluster_worker import ClusterTablesWorker
from fanion.events.definitions.properties import PropertyCache
from fanion.events.live.stream_service import LiveEvents
from fanion.events.storage.store import EventStore
from fanion.groups.mirror_worker import GroupMirror
from fanion.ingest.erasure_journal_store import ErasureJournal
from fanion.ingest.erasure_worker import ErasureWorker
from fanion.ingest.ledger.comparison_worker import ComparisonWorker
from fanion.ingest.ledger.store import Ledger
from fanion.ingest.mirror_worker import MirrorWorker
from fanion.ingest.old_events_worker import OldEventsWorker
from fanion.ingest.pipeline.consumer import Consumer
from fanion.ingest.pipeline.group_store import GroupStore
from fanion.ingest.pipeline.group_worker import GroupMembership
from fanion.ingest.pipeline.lane_membership_worker import LaneMembership
from fanion.ingest.pipeline.membership_store import MembershipStore
from fanion.ingest.pipeline.membership_worker import Membership
from fanion.ingest.pipeline.person_cache import PersonCache
from fanion.ingest.pipeline.position_store import HISTORICAL, LIVE
from fanion.ingest.pipeline.preparer_client import Preparer
from fanion.ingest.pipeline.store import IngestStore
from fanion.ingest.project_deletion_worker import ProjectDeletionWorker
from fanion.ingest.squash_worker import SquashWorker
from fanion.persons.splits.worker import SplitWorker
from fanion.persons.state.versions_store import Versions
from fanion.runtime.background import BackgroundTask


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingestion:
    """The services that store accepted events and keep persons consistent.

    Attributes:
        preparer: Prepares full runs in another process; None where this process prepares them.
        turn: Held while persons are changed, by ingestion or by the management API.
        consumers: One for each lane; none where other servers ingest.
        cluster_tables: None where the event store is not on a cluster.
    """

    preparer: Preparer | None
    turn: asyncio.Lock
    recent: PersonCache
    versions: Versions
    consumers: tuple[Consumer, ...]
    ledger: Ledger
    comparing: ComparisonWorker
    erasing: ErasureWorker
    project_deletion: ProjectDeletionWorker
    old_events: OldEventsWorker
    squashing: SquashWorker
    cluster_tables: ClusterTablesWorker | None
    splitting: SplitWorker
    mirroring: MirrorWorker
    group_mirror: GroupMirror

    def ingests_all(self) -> bool:
        """Return whether this server ingests all live events by itself."""
        return any(consumer.ingests_all for consumer in self.consumers if not consumer.historical)

    async def run(self) -> None:
        """Run the consumers until they are stopped."""
        await asyncio.gather(*(consumer.run() for consumer in self.consumers))

    @property
    def loops(self) -> Mapping[str, BackgroundTask]:
        """The background loops, without the consumers: those are stopped, not cancelled."""
        own = {} if self.cluster_tables is None else {"event_tables": self.cluster_tables.run}
        return {
            **own,
            "group_mirror": self.group_mirror.run,
            "mirror": self.mirroring.run,
            "erasures": self.erasing.run,
            "project_deletions": self.project_deletion.run,
            "old_events": self.old_events.run,
            "squash": self.squashing.run,
            "splits": self.splitting.run,
            "ledger": self.ledger.run,
            "stored_events": self.comparing.run,
        }

    async def close(self) -> None:
        if self.preparer is not None:
            await self.preparer.close()


def build_ingestion(public: Services, events: EventStore, live: LiveEvents | None) -> Ingestion:
    """Build ingestion, with consumers only where this server has the role ingest.

    Args:
        live: Is shown the stored events; None in a process that serves no streams.
    """
    context, records, engine = public.context, public.records, events.engine
    settings, now = context.settings, context.now
    is_here = Role.INGEST in settings.roles
    journal = ErasureJournal(settings.data.resolve() if records.dialect == "sqlite" else None)
    turn, recent, versions = asyncio.Lock(), PersonCache(), Versions(records)
    preparer = Preparer(settings.geoip_db) if is_here and settings.answering > 1 else None
    squashing = SquashWorker(records, events, now)
    consumers: tuple[Consumer, ...] = ()
    if is_here:
        consumers = _build_consumers(public, events, preparer, turn, recent, versions, live)
    return Ingestion(
        preparer=preparer,
        turn=turn,
        recent=recent,
        versions=versions,
        consumers=consumers,
        ledger=Ledger(records, now),
        comparing=ComparisonWorker(records, events, now, context.metrics.missing_events.set),
        erasing=ErasureWorker(records, events, public.log, now, context.waits.erasure_s, journal),
        project_deletion=ProjectDeletionWorker(records, events, public.log, now, journal),
        old_events=OldEventsWorker(records, events, now),
        squashing=squashing,
        splitting=SplitWorker(records, events, squashing.batches_committed, context.waits.split_s),
        cluster_tables=ClusterTablesWorker(records, engine) if engine.cluster else None,
        mirroring=MirrorWorker(records, events),
        group_mirror=GroupMirror(
            records, events, lambda: bool(consumers) and consumers[0].is_leading
        ),
    )


def _build_membership(public: Services) -> LaneMembership:
    """Return what assigns partitions to this process: Kafka's consumer group, or leases."""
    store = MembershipStore(public.records, uuid4().hex)
    address = public.context.settings.kafka
    if address is None:
        return Membership(store)
    from fanion.accept_log.kafka.group import GroupMember
    from fanion.accept_log.kafka.log import KafkaLog

    log = public.log
    assert isinstance(log, KafkaLog)

    async def count() -> int:
        return (await log.state()).partitions

    positions = GroupStore(public.records, log.positions_prefix, store.worker)
    return GroupMembership(positions, store, partial(GroupMember, address), count)


def _build_consumers(
    public: Services,
    events: EventStore,
    preparer: Preparer | None,
    turn: asyncio.Lock,
    recent: PersonCache,
    versions: Versions,
    live: LiveEvents | None,
) -> tuple[Consumer, ...]:
    """Build one consumer for each lane."""
    records, flags = public.records, public.flags
    properties = PropertyCache()
    membership = _build_membership(public)
    public.context.metrics.log_partitions.set_function(lambda: len(membership.assignment.epochs))
    return tuple(
        Consumer(
            public.log,
            IngestStore(
                records,
                public.log.positions_prefix + (HISTORICAL if historical else LIVE),
                recent,
                properties,
                versions,
            ),
            events,
            public.context.now,
            public.context.metrics,
            flags.projects,
            flags.bus,
            turn,
            membership,
            historical=historical,
            geoip=flags.geoip,
            preparer=preparer,
            live=None if historical else live,
            tracing=public.context.tracing,
        )
        for historical in (False, True)
    )
