"""The ledger on both engines of the records store."""

from collections import Counter
from datetime import timedelta

import pytest
from sqlalchemy import func, select

from fanion.db.engine import Records
from fanion.db.schema.events import ingestion_counts
from fanion.ingest.ledger.model import HOURS_KEPT, Example, Tally, minute_of
from fanion.ingest.ledger.store import MINUTES_KEPT, Ledger, write_tally
from tests.support.management import NOW, Clock

pytestmark = pytest.mark.every_engine

MINUTE = minute_of(NOW)
ALWAYS = (NOW - timedelta(days=400), NOW + timedelta(days=400))


async def write(records: Records, tally: Tally, slot: int = 0) -> None:
    async with records.write() as connection:
        await connection.run_sync(write_tally, tally, slot)


def counted(**outcomes: int) -> Tally:
    return Tally(Counter({(1, MINUTE, outcome): items for outcome, items in outcomes.items()}))


async def rows(ledger: Ledger, project_id: int | None = None) -> list[tuple[int, int, str, int]]:
    counts = await ledger.counts(*ALWAYS, project_id)
    return [
        (count.project_id, count.minute - MINUTE, count.outcome, count.items) for count in counts
    ]


async def test_counts_of_many_batches_add_up(records: Records) -> None:
    ledger = Ledger(records, Clock().now)

    await write(records, counted(stored=3, no_name=1))
    await write(records, counted(stored=4))
    await write(records, Tally(Counter({(2, MINUTE, "stored"): 5, (1, MINUTE + 1, "stored"): 6})))
    await write(records, Tally())

    assert await rows(ledger) == [
        (1, 0, "no_name", 1),
        (1, 0, "stored", 7),
        (2, 0, "stored", 5),
        (1, 1, "stored", 6),
    ]
    assert await rows(ledger, 2) == [(2, 0, "stored", 5)]


async def test_counts_of_several_servers_add_up_before_and_after_they_are_in_the_ledger(
    records: Records,
) -> None:
    clock = Clock()
    ledger = Ledger(records, clock.now)
    for slot in (0, 1, 33):
        await write(records, counted(stored=3, no_name=1), slot)
    await write(records, counted(stored=-4), 1)
    before = await rows(ledger)

    await ledger.roll_up()
    during = await counts_of_servers(records)
    clock.move(minutes=1)
    await ledger.roll_up()

    assert before == await rows(ledger) == [(1, 0, "no_name", 3), (1, 0, "stored", 5)]
    assert (during, await counts_of_servers(records)) == (4, 0)


async def counts_of_servers(records: Records) -> int:
    [(number,)] = await records.fetch(select(func.count()).select_from(ingestion_counts))
    return int(number)


async def test_what_is_written_goes_with_its_transaction(records: Records) -> None:
    ledger = Ledger(records, Clock().now)

    with pytest.raises(RuntimeError, match="the run failed"):
        async with records.write() as connection:
            await connection.run_sync(write_tally, counted(stored=3))
            raise RuntimeError("the run failed")

    assert await rows(ledger) == []


async def test_what_was_settled_leaves_no_row_behind(records: Records) -> None:
    ledger = Ledger(records, Clock().now)

    await write(records, counted(dead_letter=2))
    await write(records, counted(dead_letter=-2, stored=2))

    assert await rows(ledger) == [(1, 0, "stored", 2)]


async def test_the_span_is_chosen_by_whole_minutes(records: Records) -> None:
    ledger = Ledger(records, Clock().now)
    await write(records, Tally(Counter({(1, MINUTE + n, "stored"): 1 for n in range(5)})))

    counts = await ledger.counts(
        NOW + timedelta(minutes=1, seconds=30), NOW + timedelta(minutes=3, seconds=1)
    )

    assert [count.minute - MINUTE for count in counts] == [1, 2, 3]


async def test_examples_of_many_batches_keep_the_newest(records: Records) -> None:
    ledger = Ledger(records, Clock().now)

    for name in ("a\0b", "é😀", *(f"e{n}" for n in range(9))):
        example = Example(name, None, None, NOW, "detail")
        await write(records, Tally(Counter(), {(1, "no_name"): [example], (2, "x"): [example]}))

    examples = await ledger.examples(1)
    assert [seen.event for seen in examples["no_name"]] == [
        *(f"e{n}" for n in reversed(range(9))),
        "é😀",
    ]
    assert examples["no_name"][0] == Example("e8", None, None, NOW, "detail")
    assert await ledger.examples(3) == {}


async def test_old_minutes_become_hours_and_old_hours_go(records: Records) -> None:
    clock = Clock(NOW + MINUTES_KEPT + timedelta(hours=1, minutes=30))
    ledger = Ledger(records, clock.now)
    # NOW is a whole hour: there are two hours of minutes, and the first hour is past its time.
    minutes = [-1, 0, 1, 59, 60, 61, 119]
    await write(records, Tally(Counter({(1, MINUTE + n, "stored"): 1 for n in minutes})))
    await write(records, Tally(Counter({(2, MINUTE + 3, "no_name"): 4})))

    await ledger.roll_up()
    await ledger.roll_up()

    assert await rows(ledger) == [
        (1, -60, "stored", 1),
        (1, 0, "stored", 3),
        (2, 0, "no_name", 4),
        (1, 60, "stored", 1),
        (1, 61, "stored", 1),
        (1, 119, "stored", 1),
    ]

    clock.move(days=HOURS_KEPT.days - 1, minutes=-35)
    await ledger.roll_up()
    assert await rows(ledger) == [(1, 60, "stored", 3)]


async def test_rolling_up_works_in_bounded_transactions(records: Records) -> None:
    ledger = Ledger(records, Clock(NOW + timedelta(days=3)).now, rows_max=10)
    await write(records, Tally(Counter({(1, MINUTE + n, "stored"): 1 for n in range(45)})))

    await ledger.roll_up()

    assert await rows(ledger) == [(1, 0, "stored", 45)]
