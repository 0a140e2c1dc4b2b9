"""Persons in PostgreSQL: what their partitions guarantee."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Connection, insert, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from fanion.activity.model import Author
from fanion.db.engine import Records, unopened_records
from fanion.db.schema.cohorts import cohort_people, cohorts
from fanion.db.schema.flags import flag_continuity
from fanion.db.schema.persons import person_keys
from fanion.db.schema.tables import person_distinct_ids, person_overrides, persons
from fanion.persons.erasure_store import begin_erasure
from fanion.persons.merge import Changes, Merged, PersonState
from fanion.persons.state.conflicts_store import changed_persons
from fanion.persons.state.store import STATES, load_states, write_changes
from fanion.persons.store import stored_properties
from fanion.properties.size import ByteBudget
from tests.support.awaited import until_soon
from tests.support.management import NOW

pytestmark = pytest.mark.postgresql

PROJECTS = (1, 2)
COHORT = 7
PARTITIONS = 16


def author(project_id: int) -> Author:
    return Author(project_id=project_id, organization_id=UUID(int=1), user_id=None, now=NOW)


@dataclass
class Writer:
    """Changes persons of its own, as ingestion and the API do, and remembers what must be stored.

    stored: UUID → number in its properties and distinct ids; gone: UUIDs of deleted persons
    """

    records: Records
    project_id: int
    chance: random.Random
    name: str
    version: int = 0
    stored: dict[UUID, tuple[int, set[str]]] = field(default_factory=dict)
    merged: dict[UUID, UUID] = field(default_factory=dict)
    gone: set[UUID] = field(default_factory=set)
    is_writing: bool = True

    async def write(self) -> None:
        while self.is_writing:
            await self.write_once()

    async def write_once(self) -> None:
        actions: list[Callable[[], Any]] = [self.create]
        if len(self.stored) > 3:
            actions += [self.update, self.update, self.merge, self.erase, self.create_again]
        await self.chance.choice(actions)()

    async def create(self, count: int = 3) -> None:
        await self._create([UUID(int=self.chance.getrandbits(128)) for _ in range(count)])

    async def create_again(self) -> None:
        """Create a deleted person again, with the UUID that its distinct id gives."""
        if self.gone:
            await self._create([self.gone.pop()])

    async def _create(self, uuids: Sequence[UUID]) -> None:
        self.version += 1
        created = [PersonState(None, uuid, {"n": 0}, False, NOW, self.version) for uuid in uuids]
        names = {f"{self.name}-{state.uuid}": state for state in created}
        await self._change(Changes(tuple(created), (), names, (), {}))
        self.stored |= {state.uuid: (0, {name}) for name, state in names.items()}

    async def update(self) -> None:
        [person] = await self._some(1)
        number = self.chance.randrange(10**9)
        person.properties["n"] = number
        expected = self._next([person])
        await self._change(Changes((), (person,), {}, (), {}, expected))
        self.stored[person.uuid] = number, self.stored[person.uuid][1]

    async def merge(self) -> None:
        gone, into = await self._some(2)
        expected = self._next([gone, into])
        overrides = {gone.uuid: into.uuid}
        changes = Changes((), (into,), {}, (Merged(gone, into),), overrides, expected)
        await self._change(changes)
        number, names = self.stored[into.uuid]
        self.stored[into.uuid] = number, names | self.stored.pop(gone.uuid)[1]
        self.merged[gone.uuid] = into.uuid

    async def erase(self) -> None:
        [person] = await self._some(1)
        assert person.id is not None
        async with self.records.write() as connection:
            erasure = await connection.run_sync(_erase, self.project_id, person.id)
        assert erasure is not None
        del self.stored[person.uuid]
        self.gone.add(person.uuid)

    def _next(self, some: Sequence[PersonState]) -> dict[int, int]:
        expected = {state.id: state.version for state in some if state.id is not None}
        self.version += 1
        for state in some:
            state.version = self.version
        return expected

    async def _some(self, count: int) -> list[PersonState]:
        uuids = self.chance.sample(sorted(self.stored), count)
        names = [min(self.stored[uuid][1]) for uuid in uuids]
        async with self.records.read() as connection:
            found = await connection.run_sync(
                load_states, self.project_id, names, ByteBudget(2**30)
            )
        return [found[name] for name in names]

    async def _change(self, changes: Changes) -> None:
        async with self.records.write() as connection:
            await connection.run_sync(
                write_changes, self.project_id, changes, changes.overrides, self.version
            )


def _erase(connection: Connection, project_id: int, person_id: int) -> object:
    return begin_erasure(connection, author(project_id), person_id, 0, with_events=False)


def writers(records: Records, count: int = 4) -> list[Writer]:
    return [
        Writer(records, PROJECTS[number % 2], random.Random(number), f"w{number}")
        for number in range(count)
    ]


@asynccontextmanager
async def writing(some: Sequence[Writer]) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(writer.write()) for writer in some]
    try:
        yield
    finally:
        for writer in some:
            writer.is_writing = False
        await asyncio.gather(*tasks)
        for writer in some:
            writer.is_writing = True


async def check(records: Records, some: Sequence[Writer]) -> None:
    """Exactly what the writers have stored is there, in all tables."""
    rows = await records.fetch(select(persons.c.id, persons.c.uuid, persons.c.properties))
    links = await records.fetch(select(person_distinct_ids))
    keys = await records.fetch(select(person_keys))
    names: dict[int, set[str]] = {}
    for link in links:
        names.setdefault(link.person_id, set()).add(link.distinct_id)
    expected = {uuid: value for writer in some for uuid, value in writer.stored.items()}
    assert len(rows) == len(expected)
    assert {row.uuid: (row.properties["n"], names[row.id]) for row in rows} == expected
    assert {(key.person_id, key.uuid) for key in keys} == {(row.id, row.uuid) for row in rows}
    overrides = await records.fetch(select(person_overrides.c.old_person))
    assert {row.old_person for row in overrides} <= {
        old for writer in some for old in writer.merged
    }


async def asked(records: Records, question: str) -> Any:
    [row] = await records.fetch(text(question))
    return row[0]


async def test_one_project_is_spread_over_all_partitions(records: Records) -> None:
    [writer] = writers(records, 1)

    await writer.create(2_000)

    counted = await records.fetch(
        text("SELECT tableoid, COUNT(*) AS persons FROM persons GROUP BY tableoid")
    )
    assert len(counted) == PARTITIONS
    assert max(row.persons for row in counted) < 2 * 2_000 / PARTITIONS


async def test_a_uuid_is_unique_in_its_project(records: Records) -> None:
    uuid = uuid4()
    await _put(records, 1, uuid)
    await _put(records, 2, uuid)

    with pytest.raises(IntegrityError, match="unique"):
        await _put(records, 1, uuid)


async def _put(records: Records, project_id: int, uuid: UUID) -> int:
    row = {"properties": {}, "is_identified": False, "created_at": NOW, "version": 1}
    statement = insert(persons).values(project_id=project_id, uuid=uuid, **row)
    async with records.write() as connection:
        added: int = (await connection.execute(statement.returning(persons.c.id))).scalar_one()
    return added


async def _execute(records: Records, statement: str) -> None:
    async with records.write() as connection:
        await connection.execute(text(statement))


async def test_a_distinct_id_needs_its_person_and_a_person_with_one_stays(
    records: Records,
) -> None:
    person_id = await _put(records, 1, uuid4())
    await _execute(records, f"INSERT INTO person_distinct_ids VALUES (1, 'a', {person_id})")

    with pytest.raises(IntegrityError, match="foreign key"):
        await _execute(records, f"INSERT INTO person_distinct_ids VALUES (1, 'b', {person_id + 1})")
    with pytest.raises(IntegrityError, match="foreign key"):
        await _execute(records, f"DELETE FROM persons WHERE id = {person_id}")

    assert await asked(records, "SELECT COUNT(*) FROM persons") == 1
    assert await asked(records, "SELECT COUNT(*) FROM person_keys") == 1


async def test_a_deleted_person_takes_memberships_and_identities_along(records: Records) -> None:
    kept, deleted = [await _put(records, 1, uuid4()) for _ in range(2)]
    await _join_cohort(records, [kept, deleted])

    await _execute(records, f"DELETE FROM persons WHERE id = {deleted}")

    for table in (cohort_people, flag_continuity):
        assert [row.person_id for row in await records.fetch(select(table))] == [kept]


async def _join_cohort(records: Records, person_ids: Sequence[int]) -> None:
    cohort = {
        "id": COHORT,
        "project_id": 1,
        "description": "",
        "groups": [],
        "deleted": False,
        "is_static": True,
        "is_calculating": False,
        "errors_calculating": 0,
        "version": 1,
        "requested": 1,
        "created_at": NOW,
    }
    members = [
        {"cohort_id": COHORT, "person_id": person_id, "project_id": 1, "added": 1, "removed": 2**62}
        for person_id in person_ids
    ]
    kept = [
        {"project_id": 1, "person_id": person_id, "flag_key": "f", "hash_key": "h"}
        for person_id in person_ids
    ]
    async with records.write() as connection:
        await connection.execute(insert(cohorts).values(cohort))
        await connection.execute(insert(cohort_people), members)
        await connection.execute(insert(flag_continuity), kept)


async def test_what_a_person_is_known_by_does_not_change(records: Records) -> None:
    await _put(records, 1, uuid4())

    with pytest.raises(DBAPIError, match="do not change"):
        await _execute(records, "UPDATE persons SET uuid = gen_random_uuid()")


async def test_statements_of_ingestion_are_planned_once(postgres_url: str) -> None:
    """Not at each execution, for all partitions: PostgreSQL does so five times, then compares."""
    records = unopened_records(postgres_url, connections=1)
    [writer] = writers(records, 1)
    await writer.create(3_000)
    await _execute(records, "ANALYZE")

    for _ in range(8):
        await writer.create()
        await writer.update()
        await writer.merge()
        [person] = await writer._some(1)
        await stored_properties(records, [(1, min(writer.stored[person.uuid][1]))])
        numbers = await records.fetch(select(persons.c.id, persons.c.version).limit(2))
        async with records.read() as connection:
            used = {(row.id, row.version - 1) for row in numbers}  # changed since then
            await connection.run_sync(changed_persons, used)

    planned = await records.fetch(
        text(
            "SELECT statement, custom_plans FROM pg_prepared_statements "
            "WHERE statement ~* 'unnest' AND statement ~ 'persons'"
        )
    )
    await records.close()
    kinds = ("FOR UPDATE", "SUM(", "DISTINCT FROM", "DELETE", "UPDATE persons", "LATERAL")
    assert all(any(kind in row.statement for row in planned) for kind in kinds)
    assert [row.statement for row in planned if row.custom_plans > 5] == []


async def test_persons_are_looked_up_in_their_partitions_alone(records: Records) -> None:
    [writer] = writers(records, 1)
    await writer.create(300)
    names = [min(names) for _, names in writer.stored.values()][:3]

    async with records.write() as connection:
        sql = str(STATES["postgresql"].compile(dialect=connection.dialect))
        plan = await connection.exec_driver_sql(f"EXPLAIN (ANALYZE) {sql}", (names, 1))
        lines = [line for (line,) in plan if "Scan" in line and " persons_" in line]

    assert len(lines) == PARTITIONS
    assert 1 <= sum("never executed" not in line for line in lines) <= len(names)


async def test_nothing_is_lost_or_doubled_by_several_writers(records: Records) -> None:
    some = writers(records)
    for writer in some:
        await writer.create(20)

    async with writing(some):
        begun_at = [writer.version for writer in some]
        await until_soon(lambda: _have_written(some, begun_at), "nobody writes any more")

    await check(records, some)


async def _have_written(some: Sequence[Writer], since: Sequence[int]) -> bool:
    return all(one.version > before + 20 for one, before in zip(some, since, strict=True))
