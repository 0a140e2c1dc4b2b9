"""Blast radius counts: persons in the event store, which mirrors them, groups in the records."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from time import monotonic
from typing import Any
from uuid import UUID, uuid4
from weakref import WeakValueDictionary

import msgspec
from sqlalchemy import Row, Text, cast, func, select, type_coerce

from fanion.cohorts.members.store import is_seen
from fanion.db.engine import Records
from fanion.db.schema.cohorts import cohort_people, cohorts
from fanion.db.schema.persons import person_keys
from fanion.db.schema.tables import groups
from fanion.errors import Invalid
from fanion.events.event import EventRejected
from fanion.events.storage.inserts import INPUTS_MAX
from fanion.events.storage.store import EventStore
from fanion.flags.blast_radius.by_condition import (
    Combination,
    Ladder,
    LadderReach,
    LadderTests,
    ladder_statement,
    reach_of,
)
from fanion.flags.blast_radius.query import (
    CountStatement,
    Reach,
    count_statement,
    moment_at,
    stored_cohorts,
)
from fanion.flags.definitions.store import cohort_rows
from fanion.flags.engine.conditions import ProjectCohorts, compile_cohort
from fanion.projects.model import Project
from fanion.properties.filters import InCohort, Leaf
from fanion.properties.match import Moment, PropertyTest

SECONDS_MAX = 20  # a request waits for it
# Groups per read, which take 20 ms in a thread.
GROUPS_READ_MAX = 5_000

# A cohort's members are uploaded to the event store at most once in this time; 100,000 take 0.2 s.
# Merges of persons show in the count afterwards, a new calculation or import at once.
UPLOAD_TTL_S = 300
UPLOADS_MAX = 1_000  # cohorts

_group = groups.c
_cohort = cohorts.c
_member = cohort_people.c
_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class Radius:
    affected: int
    total: int


@dataclass(frozen=True, slots=True)
class _Upload:
    """A cohort's members in the event store.

    Attributes:
        version: The version of the members.
        run: The id under which they were uploaded.
        until: When the upload expires, on the monotonic clock.
    """

    version: int
    run: UUID
    until: float


@dataclass(frozen=True, slots=True)
class BlastRadius:
    """Counts whom release conditions reach.

    Every call may raise Invalid, EventStoreUnavailable or RecordsUnavailable.
    """

    records: Records
    events: EventStore
    _uploads: dict[int, _Upload] = field(default_factory=dict)
    # By cohort, as long as a request holds one.
    _locks: WeakValueDictionary[int, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def count_reach(self, project: Project, reach: Reach, now: datetime) -> Radius:
        async with self.events.turn(project.id):
            if reach.group_type_index is not None:
                return await self._groups(project.id, reach, reach.group_type_index, now)
            return await self._persons(project.id, reach, now)

    async def count_by_condition(
        self, project: Project, ladder: Ladder, now: datetime
    ) -> LadderReach:
        async with self.events.turn(project.id):
            combinations = await self._combinations(project, ladder, now)
        return await asyncio.to_thread(reach_of, ladder, combinations)

    async def _combinations(
        self, project: Project, ladder: Ladder, now: datetime
    ) -> Counter[Combination]:
        index = ladder.group_type_index
        combinations: Counter[Combination] = Counter()
        if index is not None:
            tests, where = LadderTests(ladder), moment_at(now)
            async for rows in self._group_pages(project.id, index):
                combinations.update(
                    await asyncio.to_thread(_count_combinations, tests, rows, where)
                )
        else:
            known, runs = await self._cohorts(project.id, ladder.leaves)
            statement = partial(ladder_statement, project.id, ladder, known, runs, now)
            decided, matched, counts = await self._columns(statement, "filters") or ((), (), ())
            for early, bits, number in zip(decided, matched, counts, strict=True):
                combinations[bool(early), int(bits)] = int(number)
        return combinations

    async def _persons(self, project_id: int, reach: Reach, now: datetime) -> Radius:
        known, runs = await self._cohorts(project_id, reach.leaves)
        statement = partial(count_statement, project_id, reach.conditions, known, runs, now)
        [total], [affected] = await self._columns(statement, "condition")
        return Radius(int(affected), int(total))

    async def _cohorts(
        self, project_id: int, leaves: Sequence[Leaf]
    ) -> tuple[ProjectCohorts, Mapping[int, UUID]]:
        """Return the project's cohorts, if a leaf uses any, and the runs with their members."""
        known = ProjectCohorts({})
        if any(isinstance(leaf, InCohort) for leaf in leaves):
            async with self.records.read() as connection:
                rows = await connection.run_sync(cohort_rows, project_id)
            known = ProjectCohorts({row.id: compile_cohort(row) for row in rows})
        stored = stored_cohorts(leaves, known)
        return known, {cohort_id: await self._run_of(project_id, cohort_id) for cohort_id in stored}

    async def _columns(
        self, build_statement: Callable[[], CountStatement], attr: str
    ) -> Sequence[Sequence[int]]:
        """Run a statement and return its columns.

        Args:
            attr: The field that the conditions come from.
        """
        try:
            statement = build_statement()
            result = await self.events.ask(
                statement.text, statement.parameters, SECONDS_MAX, estimated=False
            )
        except ValueError as error:
            raise Invalid(f"The condition cannot be read: {error}.", attr=attr) from None
        except EventRejected:
            raise Invalid(
                "The condition holds a value that cannot be compared.", attr=attr
            ) from None
        return result.columns

    async def _run_of(self, project_id: int, cohort_id: int) -> UUID:
        """Return the run under which a cohort's members are in the event store.

        Concurrent requests for one cohort wait for each other, so that one of them uploads it.
        """
        async with self._locks.setdefault(cohort_id, asyncio.Lock()):
            return await self._locked_run_of(project_id, cohort_id)

    async def _locked_run_of(self, project_id: int, cohort_id: int) -> UUID:
        is_cohort = (_cohort.project_id == project_id, _cohort.id == cohort_id)
        rows = await self.records.fetch(select(_cohort.version).where(*is_cohort))
        version = rows[0].version if rows else 0
        upload = self._uploads.pop(cohort_id, None)
        if upload is None or upload.version != version or upload.until <= monotonic():
            run = uuid4()
            await self._upload(cohort_id, version, run)
            upload = _Upload(version, run, monotonic() + UPLOAD_TTL_S)
        self._uploads[cohort_id] = upload
        if len(self._uploads) > UPLOADS_MAX:
            del self._uploads[next(iter(self._uploads))]
        return upload.run

    async def _upload(self, cohort_id: int, version: int, run: UUID) -> None:
        """Upload a cohort's members, read as one text.

        With one row for each of 100,000 members it took twice as long.
        """
        page = (
            select(cast(person_keys.c.uuid, Text).label("uuid"), _member.person_id)
            .join(person_keys, person_keys.c.person_id == _member.person_id)
            .where(_member.cohort_id == cohort_id, is_seen(version))
            .order_by(_member.person_id)
            .limit(INPUTS_MAX)
        )
        last = 0
        while True:
            members = page.where(_member.person_id > last).subquery()
            statement = select(
                func.aggregate_strings(members.c.uuid, " ").label("members"),
                func.max(members.c.person_id).label("last"),
            )
            row = (await self.records.fetch(statement))[0]
            if row.members is None:
                return
            await self.events.put_inputs(run, cohort_id, row.members.split(" "))
            last = row.last

    async def _groups(self, project_id: int, reach: Reach, index: int, now: datetime) -> Radius:
        of_type = (_group.project_id == project_id, _group.group_type_index == index)
        count = select(func.count()).select_from(groups).where(*of_type)
        total = int((await self.records.fetch(count))[0][0])
        if not all(reach.conditions):  # one of them holds for every group
            return Radius(total, total)
        test, affected = reach.group_test(), 0
        async for rows in self._group_pages(project_id, index):
            affected += await asyncio.to_thread(_matching, rows, test, now)
        return Radius(min(affected, total), total)

    async def _group_pages(
        self, project_id: int, index: int
    ) -> AsyncGenerator[Sequence[Row[tuple[str, str]]]]:
        last = ""
        page = (
            select(_group.group_key, type_coerce(_group.properties, Text).label("properties"))
            .where(_group.project_id == project_id, _group.group_type_index == index)
            .order_by(_group.group_key)
            .limit(GROUPS_READ_MAX)
        )
        while rows := await self.records.fetch(page.where(_group.group_key > last)):
            yield rows
            last = rows[-1].group_key


def _matching(rows: Sequence[Row[tuple[str, str]]], test: PropertyTest, now: datetime) -> int:
    where = moment_at(now)
    return sum(test(_properties(row), where) for row in rows)


def _count_combinations(
    tests: LadderTests, rows: Sequence[Row[tuple[str, str]]], where: Moment
) -> Counter[Combination]:
    return Counter(tests.combination(_properties(row), where) for row in rows)


def _properties(row: Row[tuple[str, str]]) -> Mapping[str, Any]:
    return {**_decode(row.properties), "$group_key": row.group_key}
