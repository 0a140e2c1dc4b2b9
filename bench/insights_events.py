"""The events for questions, made inside the engine: equal numbers give equal events.

    python -m bench.insights_events FOLDER EVENTS PROJECT

Sessions of eight events follow one another through the years before END, so that each insert holds
a few days, as with ingestion. Persons are drawn with a skew: a tenth of them makes a third of the
events. One person in fifty was merged, and half of its sessions have the old id.

FOLDER then holds the event store (`events`) and the same events as Parquet (`parquet`), for the
floor.
"""

import asyncio
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from clickhouse_connect.driver.client import Client

from fanion.events.storage.client import Lanes, engine_at, open_clients
from fanion.events.storage.property_columns import ColumnLimits, PropertyColumns
from fanion.events.storage.session_rows import SessionRows
from fanion.insights.sessions.kept_sql import write_statement

END: Final = datetime(2026, 5, 31, tzinfo=UTC)  # a Sunday, the first day of weeks
YEAR: Final = timedelta(days=364)
EVENTS_A_YEAR: Final = 20_000_000
PERSONS: Final = 500_000
IN_A_SESSION: Final = 8
STEP: Final = 1_000_000

# The properties that questions use, which would get columns within a day of use.
USED: Final = ("$browser", "$pathname", "$current_url", "$referring_domain", "plan")

# Events, with their shares in percent.
EVENTS: Final = (
    ("$pageview", 55),
    ("$autocapture", 20),
    ("report opened", 12),
    ("item added", 8),
    ("order placed", 4),
    ("signed up", 1),
)
PAGES: Final = 200

_NAMES = "[" + ", ".join(f"'{name}'" for name, share in EVENTS for _ in range(share)) + "]"

# `at` is the position in the session. Each column is a hash of the number or of the session with a
# salt.
_MADE = f"""
  SELECT number,
         intDiv(number, {IN_A_SESSION}) AS session,
         toUInt64(pow(cityHash64(session, 1) % 1000000 / 1000000, 2) * {{persons:UInt64}}) AS who,
         who % 50 = 0 AND cityHash64(session, 2) % 2 = 0 AS is_old,
         {_NAMES}[cityHash64(number, 3) % 100 + 1] AS name,
         toUInt64({{seconds:UInt64}} * (session / {{sessions:UInt64}})) AS begun,
         begun + number % {IN_A_SESSION} * 40 + cityHash64(number, 4) % 40 AS second,
         fromUnixTimestamp64Micro(({{start:Int64}} + second) * 1000000
                                  + cityHash64(number, 5) % 1000000, 'UTC') AS time,
         cityHash64(number, 6) % 10000 / 10000 AS chance,
         concat('/page/', toString(toUInt64(pow(chance, 3) * {PAGES}))) AS page,
         ['Chrome', 'Chrome', 'Chrome', 'Safari', 'Firefox'][cityHash64(session, 7) % 5 + 1]
           AS browser,
         ['free', 'free', 'pro', 'team'][cityHash64(who, 8) % 4 + 1] AS plan,
         ['', '', 'google.com', 'news.example', 'social.example'][cityHash64(session, 9) % 5 + 1]
           AS referrer,
         cityHash64(number, 10) % 20000 / 100 AS amount,
         if(who % 3 = 0, concat('company-', toString(who % 5000)), '') AS company,
         ['DE', 'FR', 'US', 'GB', 'IN'][cityHash64(who, 11) % 5 + 1] AS country,
         {{old:UInt64}} * is_old + who AS person_number
    FROM numbers({{from:UInt64}}, {{count:UInt64}})
"""
_PERSON = """
  toUUID(UUIDNumToString(toFixedString(unhex(concat('0187f3a000000000',
    leftPad(hex({number}), 16, '0'))), 16)))
"""
_PERSONS_FROM: Final = 0x0187F3A0 << 96
OLD: Final = 1_000_000_000  # added to the number of a person that was merged away

# Three to six properties besides the session.
_PROPERTIES = """
  concat('{"$session_id":"', hex(session), '","$browser":"', browser,
         '","$geoip_country_code":"', country, '"',
         if(name IN ('$pageview', '$autocapture'),
            concat(',"$current_url":"https://shop.example', page, '","$pathname":"', page,
                   '","$referring_domain":"', referrer, '"'), ''),
         if(name IN ('item added', 'order placed'), concat(',"amount":', toString(amount)), ''),
         if(name = 'signed up', concat(',"plan":"', plan, '"'), ''),
         if(company != '', concat(',"$group_0":"', company, '"'), ''), '}')
"""

_STORE = f"""
  INSERT INTO {{table:Identifier}}
    (project_id, uuid, event, distinct_id, person_id, timestamp, received_at, properties)
  SELECT {{project:UInt64}}, reinterpretAsUUID(sipHash128(number)), name,
         concat('user-', toString(person_number)), {_PERSON.format(number="person_number")},
         time, time, {_PROPERTIES}
    FROM ({_MADE})
"""
_STORE_PERSONS = f"""
  INSERT INTO persons (project_id, person_id, properties, created_at, version, is_deleted)
  SELECT {{project:UInt64}}, {_PERSON.format(number="number")},
         concat('{{"plan":"', ['free', 'free', 'pro', 'team'][cityHash64(number, 8) % 4 + 1],
                '","email":"user-', toString(number), '@shop.example"}}'),
         {{created:DateTime64(6)}}, 1, 0
    FROM numbers({{persons:UInt64}})
"""
_STORE_OVERRIDES = f"""
  INSERT INTO person_overrides (project_id, old_person, new_person, version)
  SELECT {{project:UInt64}}, {_PERSON.format(number="number * 50 + {old:UInt64}")},
         {_PERSON.format(number="number * 50")}, 1
    FROM numbers(intDiv({{persons:UInt64}} + 49, 50))
"""

# The events of a month by time, as a warehouse would hold them, with a column for each property.
_EXPORT = f"""
  INSERT INTO FUNCTION file({{path:String}}, 'Parquet')
  SELECT name AS event, toUnixTimestamp64Micro(time) AS us, person_number AS person,
         hex(session) AS session, browser, page, plan, referrer, amount, company, country
    FROM ({_MADE})
ORDER BY us
"""
_EXPORT_OVERRIDES = """
  INSERT INTO FUNCTION file({path:String}, 'Parquet')
  SELECT number * 50 + {old:UInt64} AS old_person, number * 50 AS new_person
    FROM numbers(intDiv({persons:UInt64} + 49, 50))
"""


def years_of(events: int) -> int:
    """Return the years that the events span: one up to 20 M events, three for 60 M.

    More events therefore lie outside a range of fixed length.
    """
    return max(1, round(events / EVENTS_A_YEAR))


def person_id(number: int) -> UUID:
    """Return the id that the events have for a person."""
    return UUID(int=_PERSONS_FROM + number)


def make(folder: Path, events: int, project: int) -> None:
    """Make the events, unless the folder has them from an earlier run."""
    done = folder / f"made-{events}-{project}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "parquet").mkdir(exist_ok=True)
    inserts, reads = open_clients(engine_at(f"chdb://{folder}/events"))
    jobs = Lanes("jobs")
    jobs.open((*reads, *inserts[1:]))
    try:
        if not done.exists():
            _fill(inserts[0], folder / "parquet", events, project)
        asyncio.run(_keep(jobs, project))
    finally:
        inserts[0].close()
        jobs.close()
    done.touch()


async def _keep(jobs: Lanes, project: int) -> None:
    """Write the rows of sessions and columns of properties, as a server does in the background."""
    rows = SessionRows(jobs, write_statement())
    columns = PropertyColumns(jobs, ColumnLimits())
    await columns.add_uses([(project, key, ColumnLimits().uses) for key in USED])
    while await rows.step() or await columns.step():
        pass


def _fill(client: Client, parquet: Path, events: int, project: int) -> None:
    given = store_persons(client, events, project)
    client.command(_EXPORT_OVERRIDES, {**given, "path": str(parquet / "overrides.parquet")})
    for number, some in enumerate(store_events(client, events, given)):
        client.command(_EXPORT, {**some, "path": str(parquet / f"events-{number:05}.parquet")})


def store_persons(client: Client, events: int, project: int) -> dict[str, Any]:
    """Store the persons of so many events, and return the parameters of the events."""
    span = YEAR * years_of(events)
    persons = min(PERSONS, max(1000, events // 40))
    given = {
        "project": project,
        "persons": persons,
        "old": OLD,
        "seconds": int(span.total_seconds()) - IN_A_SESSION * 80,
        "sessions": -(-events // IN_A_SESSION),
        "start": int((END - span).timestamp()),
        "created": END - span,
    }
    client.command(_STORE_PERSONS, given)
    client.command(_STORE_OVERRIDES, given)
    return given


def store_events(
    client: Client, events: int, given: Mapping[str, Any], table: str = "events"
) -> Iterator[dict[str, Any]]:
    """Store the events in steps, and yield the parameters of each step that is stored."""
    for start in range(0, events, STEP):
        some = {**given, "from": start, "count": min(STEP, events - start)}
        client.command(_STORE, {**some, "table": table})
        yield some


if __name__ == "__main__":
    make(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
