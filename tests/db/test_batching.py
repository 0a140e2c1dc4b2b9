"""Point reads that share statements, over a real store."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest
from sqlalchemy import insert, select, update

from fanion.db.batching import UNKNOWN, DataLoader, DataLoaderLimits
from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.schema.tables import flag_versions

pytestmark = pytest.mark.every_engine

LIMITS = DataLoaderLimits(timeout_s=30, keys_max=10, reads_max=2)


class Versions:
    """A loader of flag versions that remembers which keys each statement named."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self.statements: list[list[int]] = []
        self.reading = 0
        self.reading_max = 0

    async def load(self, keys: Sequence[int]) -> Mapping[int, int]:
        self.statements.append(list(keys))
        self.reading += 1
        self.reading_max = max(self.reading_max, self.reading)
        rows = await self.records.fetch(
            select(flag_versions.c.project_id, flag_versions.c.version).where(
                flag_versions.c.project_id.in_(keys)
            )
        )
        self.reading -= 1
        return {row.project_id: row.version for row in rows}


@pytest.fixture
async def versions(records: Records) -> Versions:
    """Store versions for the projects 1 to 100: ten times their number."""
    rows = [{"project_id": n, "version": n * 10} for n in range(1, 101)]
    async with records.write() as connection:
        await connection.execute(insert(flag_versions), rows)
    return Versions(records)


async def test_each_asker_gets_its_own_value(versions: Versions) -> None:
    lookup = DataLoader(versions.load, LIMITS)

    values = await asyncio.gather(*(lookup.get(n) for n in (3, 1, 999, 2, 3)))

    assert values == [30, 10, None, 20, 30]
    assert versions.statements == [[3, 1, 999, 2]]


async def test_keys_of_one_statement_and_reads_at_a_time_are_bounded(versions: Versions) -> None:
    lookup = DataLoader(versions.load, LIMITS)

    values = await asyncio.gather(*(lookup.get(n) for n in range(1, 96)))

    assert values == [n * 10 for n in range(1, 96)]
    assert [len(keys) for keys in versions.statements] == [10] * 9 + [5]
    assert versions.reading_max == 2


async def test_what_is_asked_later_is_read_later(versions: Versions) -> None:
    lookup = DataLoader(versions.load, LIMITS)
    assert await lookup.get(7) == 70
    async with versions.records.write() as connection:
        await connection.execute(flag_versions.update().values(version=1))

    assert await lookup.get(7) == 1


async def test_a_failing_read_fails_its_askers_and_no_others(versions: Versions) -> None:
    async def load(keys: Sequence[int]) -> Mapping[int, int]:
        if 13 in keys:
            raise RecordsUnavailable("disk")
        return await versions.load(keys)

    lookup = DataLoader(load, LIMITS)

    unlucky = await asyncio.gather(lookup.get(12), lookup.get(13), return_exceptions=True)

    assert [type(error) for error in unlucky] == [RecordsUnavailable, RecordsUnavailable]
    assert await lookup.get(12) == 120


async def test_a_silent_store_raises_in_time_and_leaves_nothing_behind(
    versions: Versions,
) -> None:
    started = 0

    async def load(keys: Sequence[int]) -> Mapping[int, int]:
        nonlocal started
        started += 1
        if started <= 2:
            await asyncio.Event().wait()
        return await versions.load(keys)

    lookup = DataLoader(load, DataLoaderLimits(timeout_s=0.05, keys_max=1, reads_max=2))

    answers = await asyncio.gather(*(lookup.get(n) for n in range(6)), return_exceptions=True)

    assert {type(answer) for answer in answers} == {RecordsUnavailable}
    assert await lookup.get(5) == 50
    assert started == 3


async def test_a_cancelled_asker_does_not_take_the_answer_from_others(
    versions: Versions,
) -> None:
    lookup = DataLoader(versions.load, LIMITS)
    impatient = asyncio.create_task(lookup.get(4))
    waiting_read = asyncio.create_task(lookup.get(4))
    await asyncio.sleep(0)

    impatient.cancel()

    assert await waiting_read == 40


async def test_too_many_askers_are_refused_at_once(versions: Versions) -> None:
    lookup = DataLoader(versions.load, DataLoaderLimits(timeout_s=30, waiting_max=3))

    answers = await asyncio.gather(*(lookup.get(n) for n in (1, 2, 3, 4)), return_exceptions=True)

    assert answers[:3] == [10, 20, 30]
    assert isinstance(answers[3], RecordsUnavailable)


async def test_closing_ends_what_still_reads() -> None:
    async def load(_: Sequence[int]) -> Mapping[int, int]:
        await asyncio.Event().wait()
        return {}

    lookup = DataLoader(load, LIMITS)
    asker = asyncio.create_task(lookup.get(1))
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    await lookup.close()

    with pytest.raises(RecordsUnavailable):
        await asker


async def test_a_value_is_remembered_until_this_process_writes(
    versions: Versions, records: Records
) -> None:
    lookup = DataLoader(versions.load, LIMITS, records.writes)
    assert lookup.recent(1) is UNKNOWN

    assert [await lookup.get(1), await lookup.get(1), await lookup.get(999)] == [10, 10, None]
    assert (lookup.recent(1), lookup.recent(999)) == (10, None)
    assert versions.statements == [[1], [999]]

    async with records.write() as connection:
        await connection.execute(update(flag_versions).values(version=7))

    assert lookup.recent(1) is UNKNOWN
    assert await lookup.get(1) == 7


async def test_what_was_read_while_this_process_wrote_is_not_remembered(
    versions: Versions, records: Records
) -> None:
    async def load(keys: Sequence[int]) -> Mapping[int, int]:
        values = await versions.load(keys)
        async with records.write() as connection:
            await connection.execute(update(flag_versions).values(version=7))
        return values

    lookup = DataLoader(load, LIMITS, records.writes)

    assert await lookup.get(1) == 10
    assert lookup.recent(1) is UNKNOWN


async def test_without_a_count_of_writes_nothing_is_remembered(versions: Versions) -> None:
    lookup = DataLoader(versions.load, LIMITS)

    assert [await lookup.get(1), await lookup.get(1)] == [10, 10]
    assert lookup.recent(1) is UNKNOWN
    assert versions.statements == [[1], [1]]
