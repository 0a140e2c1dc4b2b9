"""Builds what ingests: the consumers of all lanes, and what they share."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from uuid import uuid4

from fanion.accept_log.port import AcceptLog, Backlog
from fanion.db.engine import Records
from fanion.events.definitions.property_cache import KnownProperties
from fanion.events.storage.store import EventStore
from fanion.ingest.pipeline.consumer import Consumer
from fanion.ingest.pipeline.person_cache import RecentPersons
from fanion.ingest.pipeline.preparer_client import Preparer
from fanion.ingest.pipeline.store import HISTORICAL, LIVE, IngestStore
from fanion.ingest.pipeline.types import ProjectRules, rules_of
from fanion.observability.metrics import Metrics
from fanion.projects.cache import Projects
from fanion.runtime.geoip import GeoIp


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingestion:
    """What the consumers share.

    preparer: of full runs; without one they are prepared here
    turn: held by whoever stores a run, and by others while they change persons
    """

    records: Records
    events: EventStore
    log: AcceptLog
    metrics: Metrics
    now: Callable[[], datetime]
    geoip: GeoIp | None
    preparer: Preparer | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    recent: RecentPersons = field(default_factory=RecentPersons)
    properties: KnownProperties = field(default_factory=KnownProperties)

    def consumers(
        self, projects: Projects, types_seen: Callable[[int], None]
    ) -> tuple[Consumer, ...]:
        """types_seen: called with a project id when the project has new group types"""
        # The data folder has one process at a time: it is the same holder after a restart.
        holder = "embedded" if self.records.dialect == "sqlite" else uuid4().hex
        return tuple(
            Consumer(
                self.log,
                IngestStore(
                    self.records,
                    HISTORICAL if historical else LIVE,
                    holder,
                    self.recent,
                    self.properties,
                ),
                self.events,
                self.now,
                self.metrics,
                partial(_rules, projects),
                types_seen,
                self.turn,
                historical=historical,
                geoip=self.geoip,
                preparer=self.preparer,
            )
            for historical in (False, True)
        )


async def _rules(projects: Projects, ids: Collection[int]) -> Mapping[int, ProjectRules]:
    """A project that is gone has no wishes."""
    known = await projects.by_ids(ids)
    wished = {project_id: rules_of(project.ingestion) for project_id, project in known.items()}
    return dict.fromkeys(ids, ProjectRules()) | wished


async def backlogs(log: AcceptLog, consumers: Collection[Consumer]) -> list[Backlog]:
    """What waits in each lane. raises: OSError"""
    return [await log.backlog(one.position, historical=one.historical) for one in consumers]
