"""Lists of the newest events are read from the last days alone if these have enough of them."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from fanion.events.storage.compiled_query import TableResult
from tests.support.histories import NOW, Analyst, History, HistoryEvent
from tests.support.sql import Asker

# A day with many events, a week with few, months with one each, and a day with five long ago. One
# is later than now.
LONG_AGO = NOW - timedelta(days=300)
TIMES = sorted(
    (
        *(NOW - timedelta(minutes=7 * n) for n in range(40)),
        *(NOW - timedelta(days=2 + n) for n in range(6)),
        *(NOW - timedelta(days=31 * n) for n in range(1, 12)),
        *(LONG_AGO - timedelta(minutes=n) for n in range(5)),
        NOW + timedelta(days=3),
    ),
    reverse=True,
)
EVENTS = [
    HistoryEvent(UUID(int=n), "odd" if n % 2 else "even", "d", UUID(int=1), at, {"n": n})
    for n, at in enumerate(TIMES, 1)
]
HISTORY = History("Europe/Berlin", EVENTS)
ALL = list(range(1, len(EVENTS) + 1))
ODD = ALL[::2]


@pytest.fixture
async def stored(analyst: Analyst) -> Asker:
    return Asker(analyst, await analyst.store(HISTORY))


@pytest.fixture
def asked(stored: Asker, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of the statements that run in the event store."""
    events, texts = stored.analyst.events, list[str]()
    real = events.table

    async def table(text: str, *more: Any) -> TableResult:
        texts.append(text)
        return await real(text, *more)

    monkeypatch.setattr(events, "table", table)
    return texts


async def numbers(asker: Asker, text: str) -> Sequence[int]:
    return [int(row[0]) for row in await asker.rows(text)]


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("order by timestamp desc limit 5", ALL[:5]),
        ("order by timestamp desc limit 5 offset 3", ALL[3:8]),
        ("order by timestamp desc limit 43", ALL[:43]),
        ("order by timestamp desc limit 50 offset 1", ALL[1:51]),
        ("order by timestamp desc limit 3 offset 55", ALL[55:58]),
        ("order by timestamp desc", ALL),
        ("order by timestamp desc, event limit 2", ALL[:2]),
        ("where event = 'odd' order by timestamp desc limit 24", ODD[:24]),
        ("where event = 'none' order by timestamp desc limit 2", []),
        ("where timestamp < '2024-02-01' order by timestamp desc limit 2", None),
        ("order by timestamp limit 2", ALL[:-3:-1]),
        ("order by event, timestamp desc limit 2", ALL[1:4:2]),
        ("e order by e.timestamp desc limit 2", ALL[:2]),
    ],
)  # fmt: skip
async def test_a_list_has_the_newest_events(
    stored: Asker, rest: str, expected: list[int] | None
) -> None:
    if expected is None:
        old = [n for n, event in enumerate(EVENTS, 1) if event.at.isoformat() < "2024-01-31T23"]
        expected = old[:2]

    assert await numbers(stored, f"select properties.n from events {rest}") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select count() from events order by timestamp desc", None),
        ("select count() as timestamp from events order by timestamp desc", [[len(ALL)]]),
        ("select event, count() from events group by event, timestamp order by timestamp desc "
         "limit 1", [["odd", 1]]),
        ("select properties.n, row_number() over (order by timestamp) from events "
         "order by timestamp desc limit 1", [["1", len(ALL)]]),
        ("select properties.n, toInt(properties.n) as timestamp from events "
         "order by timestamp desc limit 1", [[str(len(ALL)), len(ALL)]]),
        ("select event, properties.n from events order by timestamp desc limit 1 by event",
         [["odd", "1"], ["even", "2"]]),
        ("select a.properties.n, b.event from events a right join (select 'odd' as event) b "
         "on a.event = b.event and a.properties.n = '57' order by a.timestamp desc limit 1",
         [["57", "odd"]]),
        ("select properties.n, (select count() from events) from events "
         "order by timestamp desc limit 1", [["1", len(ALL)]]),
        ("select n from (select properties.n as n, timestamp from events) "
         "order by timestamp desc limit 1", [["1"]]),
    ],
)  # fmt: skip
async def test_what_needs_all_events_reads_them(
    stored: Asker, text: str, expected: list[list[Any]] | None
) -> None:
    if expected is None:
        assert (await stored.refusal(text)).code == "invalid_sql"
    else:
        assert await stored.rows(text) == expected


async def test_days_that_are_not_needed_are_not_read(stored: Asker, asked: list[str]) -> None:
    """How many rows the engine reads depends on the events of other projects beside them."""
    text = "select properties.n from events order by timestamp {} limit 5"

    newest, oldest = text.format("desc"), text.format("asc")
    assert await numbers(stored, newest) == ALL[:5]
    assert await numbers(stored, oldest) == ALL[:-6:-1]

    [of_newest, of_oldest] = asked
    assert "timestamp >=" in of_newest
    assert "timestamp >=" not in of_oldest


async def test_a_day_without_events_is_no_last_day(stored: Asker, asked: list[str]) -> None:
    """Where the last events came long ago, one statement about their day is enough."""
    text = "select properties.n from events where {filters} order by timestamp desc limit 1"
    until = f"{LONG_AGO + timedelta(days=9):%Y-%m-%d}"
    dates = {"dateRange": {"date_from": "2022-01-01", "date_to": until}}

    assert await stored.rows(text, filters=dates) == [[str(TIMES.index(LONG_AGO) + 1)]]
    assert len(asked) == 1


async def test_a_list_until_some_time_begins_there(stored: Asker) -> None:
    dates = {"dateRange": {"date_from": "2023-01-01", "date_to": "2024-03-31T00:00:00"}}
    text = "select properties.n from events where {filters} order by timestamp desc limit 2"
    [first, *_] = [n for n, event in enumerate(EVENTS, 1) if event.at.isoformat() < "2024-03-30T22"]

    answer = await stored.ask(text, filters=dates)

    assert answer["results"] == [[str(first)], [str(first + 1)]]
