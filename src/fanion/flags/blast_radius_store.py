"""Persons counted by the event store, which mirrors them; groups counted by the records."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4
from zoneinfo import ZoneInfo

import msgspec
from sqlalchemy import Row, Text, func, select, type_coerce

from fanion.cohorts.behaviour import CriteriaError
from fanion.cohorts.calculate import Calculator
from fanion.cohorts.criteria import resolve
from fanion.cohorts.plan import Moment, compile_plan
from fanion.cohorts.store import live_criteria
from fanion.db.engine import Records
from fanion.db.tables import groups
from fanion.errors import Invalid
from fanion.events.event import EventRejected
from fanion.events.store import EventStore
from fanion.flags.blast_radius import Reach, by_last_calculation
from fanion.projects.model import Project
from fanion.properties.match import PropertyTest

SECONDS_MAX = 20  # somebody waits
# Groups read at a time: 20 ms of a thread.
GROUPS_READ_MAX = 5_000

EVERYBODY = """
  SELECT count()
    FROM persons FINAL
   WHERE project_id = {project_id:UInt64}
"""

_group = groups.c
_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class Radius:
    affected: int
    total: int


@dataclass(frozen=True, slots=True)
class BlastRadius:
    """raises (every call): Invalid, EventStoreUnavailable, RecordsUnavailable"""

    records: Records
    events: EventStore
    calculator: Calculator

    async def of(self, project: Project, reach: Reach, now: datetime) -> Radius:
        if reach.group_type_index is not None:
            return await self._groups(project.id, reach, reach.group_type_index, now)
        total = await self._everybody(project.id)
        if not reach.leaves:
            return Radius(total, total)
        return Radius(min(await self._persons(project, reach, now), total), total)

    async def _everybody(self, project_id: int) -> int:
        found = await self.events.ask(EVERYBODY, {"project_id": project_id}, SECONDS_MAX)
        return int(found.columns[0][0])

    async def _persons(self, project: Project, reach: Reach, now: datetime) -> int:
        async with self.records.read() as connection:
            cohorts = await connection.run_sync(live_criteria, project.id)
        try:
            tree = resolve(reach.criteria(now), by_last_calculation(cohorts))
            moment = Moment(project.id, now, ZoneInfo(project.timezone), uuid4())
            plan = compile_plan(tree, moment)
            await self.calculator.hand_in(plan, moment)
            statement = f"SELECT count()\nFROM (\n{plan.found}\n)"
            found = await self.events.ask(statement, plan.parameters, SECONDS_MAX)
        except CriteriaError as error:
            raise Invalid(str(error), attr="condition") from None
        except EventRejected:
            raise Invalid(
                "The condition holds a value that cannot be compared.", attr="condition"
            ) from None
        return int(found.columns[0][0])

    async def _groups(self, project_id: int, reach: Reach, index: int, now: datetime) -> Radius:
        wanted = (_group.project_id == project_id, _group.group_type_index == index)
        count = select(func.count()).select_from(groups).where(*wanted)
        total = int((await self.records.fetch(count))[0][0])
        if not reach.leaves:
            return Radius(total, total)
        test, affected, last = reach.group_test(), 0, ""
        page = (
            select(_group.group_key, type_coerce(_group.properties, Text).label("properties"))
            .where(*wanted)
            .order_by(_group.group_key)
            .limit(GROUPS_READ_MAX)
        )
        while rows := await self.records.fetch(page.where(_group.group_key > last)):
            affected += await asyncio.to_thread(_matching, rows, test, now)
            last = rows[-1].group_key
        return Radius(min(affected, total), total)


@dataclass(slots=True)
class _Now:
    now: datetime


def _matching(rows: Sequence[Row[tuple[str, str]]], test: PropertyTest, now: datetime) -> int:
    where = _Now(now)
    return sum(
        test({**_decode(row.properties), "$group_key": row.group_key}, where) for row in rows
    )
