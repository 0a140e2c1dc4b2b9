"""Persons in PostgreSQL, in partitions and in one table: the processor time of typical statements.

The statements are those of ingestion, flags and lists; the time is PostgreSQL's. The floor is the
one table, with the same statements. One person at a time shows the fixed cost of a statement.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from uuid import UUID

from sqlalchemy import text

from bench.report import Row
from fanion.db.engine import Records, unopened_records
from fanion.db.migrate import migrate
from fanion.db.schema.tables import persons
from fanion.persons.conflicts_store import changed_persons
from fanion.persons.list_store import PersonQuery, find_persons
from fanion.persons.merge import Changes, Merged, PersonState
from fanion.persons.state_store import load_states, of_ids, write_changes
from fanion.persons.store import get_person, stored_properties
from fanion.properties.size import ByteBudget
from tests.support.management import NOW
from tests.support.postgres import Postgres, private_postgres
from tests.support.undivided import make_undivided

PERSONS = 100_000
TICK_US = 10_000  # a tick of the kernel's clock
WARM_UP = 8  # after five executions PostgreSQL keeps a plan
SMALL, LARGE = (1, 400), (500, 12)  # persons at a time, repetitions
_FILL = f"""
INSERT INTO persons (project_id, uuid, properties, is_identified, created_at, version)
SELECT 1, CAST(LPAD(TO_HEX(n), 32, '0') AS uuid), '{{"text": "{"x" * 300}"}}', TRUE, NOW(), 1
  FROM GENERATE_SERIES(1, {PERSONS}) AS n
"""
_ATTACH = """
INSERT INTO person_distinct_ids (project_id, distinct_id, person_id)
SELECT 1, 'user-' || id, id FROM persons
"""

_READ = of_ids(persons.c.id, persons.c.version)["postgresql"]

Work = Callable[[int], Awaitable[object]]


class Population:
    """The persons of one database: the first half is read and changed, the others are merged."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self._chance = random.Random(1)
        self._created = self._version = 1
        self._merged = PERSONS // 2

    def works(self) -> dict[str, Work]:
        return {
            "read for flags": self.read_properties,
            "read by ingestion": self.read_states,
            "check of cached persons": self.check,
            "create": self.create,
            "change": self.change,
            "merge": self.merge,
        }

    async def read_properties(self, count: int) -> None:
        await stored_properties(self.records, [(1, name) for name in self._names(count)])

    async def read_states(self, count: int) -> list[PersonState]:
        names = self._names(count)
        async with self.records.read() as connection:
            states = await connection.run_sync(load_states, 1, names, ByteBudget(2**30))
        return list(states.values())

    async def check(self, count: int) -> None:
        used = {(number, 1) for number in self._ids(count)}
        async with self.records.read() as connection:
            await connection.run_sync(changed_persons, used)

    async def create(self, count: int) -> None:
        made = range(self._created, self._created + count)
        self._created += count
        uuids = [UUID(int=2**100 + number) for number in made]
        created = [PersonState(None, uuid, {"text": "x" * 300}, True, NOW, 1) for uuid in uuids]
        attached = {f"new-{person.uuid}": person for person in created}
        await self._write(Changes(tuple(created), (), attached, (), {}))

    async def change(self, count: int) -> None:
        states = await self.read_states(count)
        await self._write(Changes((), self._next(states), {}, (), {}, _expected(states)))

    async def merge(self, count: int) -> None:
        numbers = range(self._merged + 1, self._merged + 1 + count)
        self._merged += count
        states = [
            PersonState(number, UUID(int=number), {"text": ""}, True, NOW, 1)
            for number in (*numbers, *self._ids(count))
        ]
        parameters = {"project_id": 1, "ids": [state.id for state in states]}
        rows = await self.records.fetch(_READ, parameters)
        expected = {row.id: row.version for row in rows}
        merged = map(Merged, states[:count], states[count:])
        into = self._next(states[count:])
        await self._write(Changes((), into, {}, tuple(merged), {}, expected))

    def _next(self, states: list[PersonState]) -> tuple[PersonState, ...]:
        self._version += 1
        return tuple(
            PersonState(state.id, state.uuid, state.properties, True, NOW, self._version)
            for state in states
        )

    async def _write(self, changes: Changes) -> None:
        async with self.records.write() as connection:
            await connection.run_sync(write_changes, 1, changes, {}, self._version)

    def _ids(self, count: int) -> list[int]:
        return self._chance.sample(range(1, PERSONS // 2), count)

    def _names(self, count: int) -> list[str]:
        return [f"user-{number}" for number in self._ids(count)]

    async def list_page(self, _: int) -> None:
        await find_persons(self.records, 1, PersonQuery(offset=self._chance.randrange(50)))

    async def get_one(self, _: int) -> None:
        await get_person(self.records, 1, UUID(int=self._chance.randrange(1, PERSONS // 2)))


def _expected(states: list[PersonState]) -> dict[int, int]:
    return {state.id: state.version for state in states if state.id is not None}


def run() -> Iterator[Row]:
    with private_postgres(()) as server:
        yield from asyncio.run(_compared(server))


async def _compared(server: Postgres) -> list[Row]:
    divided, single = [
        Population(await _filled(server, kind)) for kind in (migrate, make_undivided)
    ]
    rows = []
    for name in divided.works():
        for count, rounds in (SMALL, LARGE):
            figures = [
                await _cpu_us(population, population.works()[name], count, rounds)
                for population in (divided, single)
            ]
            rows.append(_row(f"{name}, {count} at a time", *figures))
    for name in ("list_page", "get_one"):
        figures = [
            await _cpu_us(population, getattr(population, name), 1, 100)
            for population in (divided, single)
        ]
        rows.append(_row(name.replace("_", " "), *figures))
    for population in (divided, single):
        await population.records.close()
    return rows


def _row(name: str, ours: float, floor: float) -> Row:
    return Row(f"µs of a person, {name}", f"{ours:,.1f}", f"{floor:,.1f}", floor / ours, 0.4)


async def _filled(server: Postgres, prepare: Callable[[str], Awaitable[object]]) -> Records:
    url = server.url(await server.create_database())
    await prepare(url)
    records = unopened_records(url, connections=1)
    async with records.write() as connection:
        for statement in (_FILL, _ATTACH):
            await connection.execute(text(statement))
    async with records.write() as connection:
        await connection.execute(text("ANALYZE"))
    return records


async def _cpu_us(population: Population, work: Work, count: int, rounds: int) -> float:
    """Return PostgreSQL's processor time per person."""
    for _ in range(WARM_UP):
        await work(count)
    [(pid,)] = await population.records.fetch(text("SELECT PG_BACKEND_PID()"))
    before = _ticks(pid)
    for _ in range(rounds):
        await work(count)
    return max(_ticks(pid) - before, 1) * TICK_US / rounds / count


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
