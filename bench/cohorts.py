"""Cohorts of many shapes over ten million events, each against the seconds it may take.

The events are made inside the engine. The time is that of what a calculation waits for: the
statement, and reading its members.
"""

import asyncio
import os
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

from clickhouse_connect.driver.client import Client

from bench.report import Row
from fanion.cohorts.calculation.query_plan import PlanContext, QueryPlan, compile_plan
from fanion.cohorts.criteria.definition import Criteria
from fanion.cohorts.criteria.resolve import resolve
from fanion.events.storage.client import open_lanes
from fanion.events.storage.store import EventStore, open_events

EVENTS = int(os.environ.get("BENCH_COHORT_EVENTS", "10000000"))
PERSONS = 200_000
DAYS = 90
STEP = 500_000
ROUNDS = 3
PROJECT = 1
NOW = datetime(2026, 6, 1, tzinfo=UTC)

Json = dict[str, Any]

_PERSON = """
  toUUID(UUIDNumToString(toFixedString(unhex(concat('0187f3a000000000',
    leftPad(hex({number}), 16, '0'))), 16)))
"""

MAKE_PERSONS = f"""
  INSERT INTO persons (project_id, person_id, properties, created_at, version, is_deleted)
  SELECT {{project:UInt64}}, {_PERSON.format(number="number")},
         concat('{{"plan":"', ['free', 'pro', 'team'][number % 3 + 1],
                '","email":"user-', toString(number), '@',
                ['corp', 'mail', 'home'][number % 3 + 1],
                '.example","visits":', toString(number % 500),
                ',"country":"', ['DE', 'FR', 'US', 'GB'][number % 4 + 1], '"}}'),
         now64(), 1, 0
    FROM numbers({{persons:UInt64}})
"""

# Four in ten are page views; the rest is spread over five names.
MAKE_EVENTS = f"""
  INSERT INTO events
    (project_id, uuid, event, distinct_id, person_id, timestamp, received_at, properties)
  SELECT {{project:UInt64}}, generateUUIDv4(),
         ['$pageview', '$pageview', '$pageview', '$pageview', 'report opened', 'order placed',
          '$autocapture', '$autocapture', 'login', 'invite sent'][cityHash64(number, 1) % 10 + 1],
         concat('user-', toString(cityHash64(number, 2) % {{persons:UInt64}} AS person)),
         {_PERSON.format(number="person")},
         toDateTime64({{now:String}}, 6, 'UTC')
           - toIntervalSecond(cityHash64(number, 3) % ({{days:UInt64}} * 86400)) AS time,
         time,
         concat('{{"$current_url":"https://corp.example/', toString(cityHash64(number, 4) % 100),
                '","$browser":"', ['Chrome', 'Firefox', 'Safari'][number % 3 + 1],
                '","total":', toString(cityHash64(number, 5) % 200),
                ',"currency":"', ['EUR', 'USD'][cityHash64(number, 6) % 2 + 1],
                '","$os":"Linux","$lib":"web","$screen_height":1080,"plan":"pro"}}')
    FROM numbers({{start:UInt64}}, {{count:UInt64}})
"""


def person(key: str, value: Any, operator: str = "exact") -> Json:
    return {"type": "person", "key": key, "value": value, "operator": operator}


def did(event: str, kind: str = "performed_event", **more: Any) -> Json:
    return {
        "type": "behavioral",
        "key": event,
        "event_type": "events",
        "value": kind,
        "time_value": 30,
        "time_interval": "day",
        **more,
    }


def seq(count: int, unit: str) -> Json:
    return {"seq_time_value": count, "seq_time_interval": unit}


EUROS = {
    "operator": "gte",
    "operator_value": 3,
    "event_filters": [{"type": "event", "key": "currency", "value": "EUR"}],
}
ORDER = {"seq_event": "order placed", "seq_event_type": "events"}
WEEKLY = {"operator": "gte", "time_value": 1, "time_interval": "week"}

# Name, conditions that must all hold, seconds.
CASES: tuple[tuple[str, list[Json], float], ...] = (
    ("one person property", [person("plan", "pro")], 0.3),
    ("at least 3 times, one filter", [did("$pageview", "performed_event_multiple", **EUROS)], 1.0),
    ("first time", [did("$pageview", "performed_event_first_time")], 3.0),
    ("sequence", [did("$pageview", "performed_event_sequence", **ORDER, **seq(1, "hour"))], 3.0),
    ("stopped", [did("$pageview", "stopped_performing_event", **seq(7, "day"))], 3.0),
    ("restarted", [did("$pageview", "restarted_performing_event", **seq(7, "day"))], 3.0),
    (
        "regularly, once in 5 of 8 weeks",
        [
            did("$pageview", "performed_event_regularly")
            | {**WEEKLY, "operator_value": 1, "min_periods": 5, "total_periods": 8}
        ],
        3.0,
    ),
    (
        "regularly, twice in 3 of 8 weeks",
        [
            did("$pageview", "performed_event_regularly")
            | {**WEEKLY, "operator_value": 2, "min_periods": 3, "total_periods": 8}
        ],
        3.0,
    ),
    (
        "three on events, two on persons",
        [
            person("plan", "pro"),
            person("visits", 100, "gt"),
            did("report opened"),
            did("order placed", "performed_event_multiple", **EUROS),
            did("invite sent", negation=True),
        ],
        3.0,
    ),
)


def run() -> Iterator[Row]:
    stored = os.environ.get("BENCH_COHORT_FOLDER")
    if stored:
        yield from asyncio.run(_measured(Path(stored)))
        return
    with tempfile.TemporaryDirectory() as folder:
        yield from asyncio.run(_measured(Path(folder)))


async def _measured(folder: Path) -> list[Row]:
    url = f"chdb://{folder}/events"
    await populate(url)
    store = await open_events(url)
    try:
        return [await _case(store, *case) for case in CASES]
    finally:
        await store.close()


async def populate(url: str) -> None:
    """Create the events, unless the folder has them from an earlier run; missing ones are added."""
    inserts, reads = open_lanes(url)
    try:
        await inserts.run(_fill)
    finally:
        inserts.close()
        reads.close()


def _fill(client: Client) -> None:
    [(held,)] = client.query("SELECT count() FROM events").result_rows
    common = {"project": PROJECT, "persons": PERSONS}
    if held == 0:
        client.command(MAKE_PERSONS, common)
    given = {"now": NOW.strftime("%Y-%m-%d %H:%M:%S"), "days": DAYS}
    for start in range(held, EVENTS, STEP):
        some = {"start": start, "count": min(STEP, EVENTS - start)}
        client.command(MAKE_EVENTS, {**common, **given, **some})


def _plan(leaves: list[Json]) -> QueryPlan:
    tree = {"type": "AND", "values": leaves}
    criteria = Criteria(1, None, False, {"properties": tree}, ())
    return compile_plan(resolve(criteria, {}), PlanContext(PROJECT, NOW, ZoneInfo("UTC"), uuid4()))


async def _case(store: EventStore, name: str, leaves: list[Json], seconds: float) -> Row:
    plan = _plan(leaves)
    best, members, rows = float("inf"), 0, 0
    for _ in range(ROUNDS):
        started = perf_counter()
        answer = await store.ask(plan.members, plan.parameters)
        best = min(best, perf_counter() - started)
        members, rows = len(answer.columns[0]) if answer.columns else 0, answer.rows_read
    ours = f"{best:.2f} s ({members:,} of {rows / 1e6:.1f} M rows)"
    return Row(f"cohort: {name}", ours, f"{seconds:g} s", seconds / best, 1.0)
