"""Values of a property with their frequency, of events and of persons.

Only the newest events and a limited number of persons are read, because a list to choose from
must be there while a user types.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from clickhouse_connect.driver.client import Client

from fanion.events.storage.client import Rows
from fanion.properties.bindings import COLUMN, Bindings
from fanion.properties.value_counts import (
    ELLIPSIS,
    MEMBERS_MAX,
    VALUE_CHARS_MAX,
    VALUES_MAX,
    ValueSearch,
)

# The first number takes 0.3 s for an ordinary property on two cores, 1.2 s for one with lists. The
# second is tried if the first takes too long. The ids of persons are distributed at random, so that
# the first ones are a sample.
ROWS_MAX: Final = (500_000, 50_000)
EVENT_DAYS: Final = 30
SECONDS_MAX: Final = 3
# PostHog's name for the names of events that are not its own.
CUSTOM_EVENT: Final = "custom_event"
_FUTURE = timedelta(days=1)  # how far clients' clocks may be ahead
_CUSTOM_EVENTS = "if(startsWith(event, '$'), 'null', toJSONString(event))"

VALUES = """
  SELECT is_text, text, count() AS number
    FROM (SELECT arrayJoin(if(startsWith(json, '['),
                              arraySlice(JSONExtractArrayRaw(json), 1, {members}),
                              [json])) AS member,
                 startsWith(member, '"') AS is_text,
                 if(is_text, JSONExtractString(member), member) AS whole,
                 if(lengthUTF8(whole) > {chars},
                    concat(substringUTF8(whole, 1, {chars}), {ellipsis}),
                    whole) AS text
            FROM ({looked_at})
           WHERE json NOT IN ('', 'null'))
   WHERE text != ''
     AND (is_text OR text != 'null')
     AND ({part} = '' OR positionCaseInsensitiveUTF8(text, {part}) > 0)
GROUP BY is_text, text
ORDER BY number DESC, text
   LIMIT {limit}
"""

_OF_EVENTS = """
  SELECT {json} AS json
    FROM events
   WHERE project_id = {project}
     AND timestamp >= {start}
     AND timestamp < {end}
     AND {of_events}
ORDER BY project_id DESC, toDate32(timestamp) DESC
   LIMIT {rows}
"""

_OF_PERSONS = """
  SELECT {json} AS json
    FROM persons FINAL
   WHERE project_id = {project}
ORDER BY project_id, person_id
   LIMIT {rows}
"""

Statement = tuple[str, Mapping[str, Any]]


def event_values(
    project_id: int, search: ValueSearch, events: Sequence[str], now: datetime, rows_max: int
) -> Statement:
    """Return the statement for values of events, of these events only if any are given."""
    bindings = Bindings()
    looked_at = _OF_EVENTS.format(
        json=_CUSTOM_EVENTS if search.key == CUSTOM_EVENT else _json(search.key, bindings),
        project=bindings.add(project_id, "UInt64"),
        start=bindings.time(now - timedelta(days=EVENT_DAYS)),
        end=bindings.time(now + _FUTURE),
        of_events=f"event IN {bindings.texts(events)}" if events else "1",
        rows=rows_max,
    )
    return _counted(looked_at, search, bindings)


def person_values(project_id: int, search: ValueSearch, rows_max: int) -> Statement:
    bindings = Bindings()
    looked_at = _OF_PERSONS.format(
        json=_json(search.key, bindings),
        project=bindings.add(project_id, "UInt64"),
        rows=rows_max,
    )
    return _counted(looked_at, search, bindings)


def read_values(client: Client, statement: str, parameters: Mapping[str, Any]) -> Rows:
    settings = {"max_execution_time": SECONDS_MAX}
    return client.query(statement, dict(parameters), settings=settings).result_rows


def _counted(looked_at: str, search: ValueSearch, bindings: Bindings) -> Statement:
    statement = VALUES.format(
        looked_at=looked_at,
        part=bindings.text(search.text),
        members=MEMBERS_MAX,
        chars=VALUE_CHARS_MAX,
        ellipsis=bindings.text(ELLIPSIS),
        limit=VALUES_MAX,
    )
    return statement, bindings.values


def _json(key: str, bindings: Bindings) -> str:
    """Return the property as JSON, `null` without one. Objects have no column of their own."""
    if COLUMN.fullmatch(key):
        name = bindings.add(key.replace(".", "%2E"), "Identifier")
        return f"ifNull(toJSONString(attributes.{name}), 'null')"
    return f"JSONExtractRaw(properties, {bindings.text(key)})"
