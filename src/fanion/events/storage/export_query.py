"""Pages of an export: events in the order of the table, each page as text that the engine writes.

The order of the table is that of its primary key: by day, event, and hashes of the distinct id and
of the id. A page is read without sorting what is behind it, and continues where the last one ended.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any, Final, Literal, NamedTuple

from clickhouse_connect.driver.client import Client
from msgspec import Struct

from fanion.events.storage.compiled_query import QuestionLimits
from fanion.events.storage.filters_sql import NO_PERSON, event_condition
from fanion.properties.bindings import Bindings
from fanion.properties.filters import Property

ExportFormat = Literal["csv", "jsonl", "parquet"]

# What begins one of these would be read as a formula; see `rest/endpoints.FORMULA_BEGINS`.
_FORMULAS: Final = "['=', '+', '-', '@', '\\t', '\\r', '\\n', '\\0', '＝', '＋', '－', '＠']"
_CELL: Final = (
    f"concat('\"', if(has({_FORMULAS}, substringUTF8({{0}}, 1, 1)), '\\'', ''), "
    "replaceAll({0}, '\"', '\"\"'), '\"')"
)
_TIME: Final = "concat(replaceOne(toString({0}), ' ', 'T'), 'Z')"
_JSON: Final = "toJSONString({0})"
_PERSON: Final = f"if(moved.new_person = {NO_PERSON}, page.person_id, moved.new_person)"

# The columns of an export, in their order, each with the expression that reads it.
COLUMNS: Final[Mapping[str, str]] = {
    "uuid": "toString(uuid)",
    "event": "toString(event)",
    "timestamp": _TIME.format("timestamp"),
    "distinct_id": "distinct_id",
    "person_id": f"toString({_PERSON})",
    "created_at": _TIME.format("received_at"),
    "properties": "properties",
}
# Texts of clients; the other columns need no escaping.
_FOREIGN: Final = ("event", "distinct_id", "properties")


def _csv_line() -> str:
    cells = (_CELL.format(read) if name in _FOREIGN else read for name, read in COLUMNS.items())
    return "concat(" + ", ',', ".join(cells) + ", '\\n')"


def _json_line() -> str:
    """Return the expression of one line; `properties` is JSON already, without line breaks."""
    parts: list[str] = []
    for name, read in COLUMNS.items():
        is_json = name == "properties"
        value = "replaceAll(properties, '\\n', ' ')" if is_json else _JSON.format(read)
        parts.append(f"'{',' if parts else '{'}\"{name}\":', {value}")
    return f"concat({', '.join(parts)}, '}}\\n')"


# The text of one event; a Parquet file is made of the rows between two places.
_LINES: Final[Mapping[ExportFormat, str]] = {
    "csv": _csv_line(),
    "jsonl": _json_line(),
    "parquet": "''",
}
HEADS: Final[Mapping[ExportFormat, bytes]] = {
    "csv": (",".join(COLUMNS) + "\n").encode(),
    "jsonl": b"",
    "parquet": b"",
}

_PAGE: Final = """(
        SELECT toDate32(timestamp) AS day, event, cityHash64(distinct_id) AS id_hash,
               cityHash64(uuid) AS uuid_hash, uuid, distinct_id, person_id, timestamp,
               received_at, properties
          FROM events FINAL
         WHERE {conditions}
      ORDER BY project_id, day, event, id_hash, uuid_hash
         LIMIT {limit}
       ) AS page
       LEFT ANY JOIN (
        SELECT old_person, new_person
          FROM person_overrides FINAL
         WHERE {project}
       ) AS moved ON moved.old_person = page.person_id"""
_READ: Final = """
  SELECT count(), sum(size), groupArrayLast(1)((day, name, id_hash, uuid_hash)), groupConcat(line)
    FROM (
  SELECT day, toString(event) AS name, id_hash, uuid_hash, length(properties) AS size,
         {line} AS line
    FROM {page}
ORDER BY day, event, id_hash, uuid_hash
       )
"""
_ROWS: Final = """
  SELECT {columns}
    FROM {page}
ORDER BY day, event, id_hash, uuid_hash
"""
# The places of the first day; the key is read in order, up to the first match.
_FIRST_DAY: Final = """
  SELECT toDate32(timestamp)
    FROM events
   WHERE {conditions}
ORDER BY project_id, toDate32(timestamp)
   LIMIT 1
"""
_DAY: Final = "toDate32(timestamp)"
_BEHIND: Final = (
    f"({_DAY} > {{0}} OR event > {{1}} OR (event = {{1}} AND (cityHash64(distinct_id) > {{2}} OR "
    "(cityHash64(distinct_id) = {2} AND cityHash64(uuid) > {3}))))"
)
_UPTO: Final = (
    f"({_DAY} < {{0}} OR event < {{1}} OR (event = {{1}} AND (cityHash64(distinct_id) < {{2}} OR "
    "(cityHash64(distinct_id) = {2} AND cityHash64(uuid) <= {3}))))"
)

# A ClickHouse server takes at most 128 KiB in one value.
_PART_CHARS: Final = 30_000

_SETTINGS: Final = {"do_not_merge_across_partitions_select_final": 1}
_PARQUET: Final = {
    "output_format_parquet_string_as_string": 1,
    "output_format_parquet_compression_method": "zstd",
    "date_time_input_format": "best_effort",
}


class Place(NamedTuple):
    """The place of an event in the order of an export; `event` is empty before those of a day."""

    day: date
    event: str = ""
    id_hash: int = 0
    uuid_hash: int = 0


class ExportQuery(Struct, frozen=True):
    """The events of an export, and how they are written.

    Attributes:
        start: Inclusive.
        end: Exclusive.
        by_acceptance: Whether start and end are of the time of acceptance.
        properties: Conditions on the event or its person, all of which must hold.
        now: The moment from which relative dates in `properties` count back.
    """

    format: ExportFormat
    start: datetime | None = None
    end: datetime | None = None
    by_acceptance: bool = False
    event: str | None = None
    properties: tuple[Property, ...] = ()
    now: datetime = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ExportPage:
    """A page of an export.

    Attributes:
        size: The bytes of its properties.
        last: The place of its last event; None without events.
    """

    rows: int
    size: int
    last: Place | None
    text: bytes


def first_day_statement(project_id: int, query: ExportQuery) -> tuple[str, dict[str, Any]]:
    """Return the statement that reads the day of the first event, and its values."""
    bindings = Bindings()
    conditions = _conditions(project_id, query, bindings)
    return _FIRST_DAY.replace("{conditions}", conditions), bindings.values


def read_page(
    client: Client,
    statement: str,
    parameters: Mapping[str, Any],
    limits: QuestionLimits,
) -> ExportPage:
    answer = client.query(
        statement,
        dict(parameters),
        settings={**limits.settings, **_SETTINGS},
        column_formats={"groupConcat(line)": "bytes"},
    )
    [(rows, size, lasts, text)] = answer.result_rows
    last = Place(*lasts[0]) if lasts else None
    return ExportPage(rows, size, last, bytes(text))


def read_parquet(
    client: Client,
    statement: str,
    parameters: Mapping[str, Any],
    limits: QuestionLimits,
) -> bytes:
    settings = {**limits.settings, **_SETTINGS, **_PARQUET}
    return client.raw_query(statement, dict(parameters), settings=settings, fmt="Parquet")


def page_statement(
    project_id: int, query: ExportQuery, after: Place, last_day: date, limit: int
) -> tuple[str, dict[str, Any]]:
    """Return the statement that reads a page, and its values.

    Args:
        after: Where the page begins; the event at this place is not included.
        limit: The number of events.
    """
    bindings = Bindings()
    within = _within(after, last_day, bindings)
    conditions = f"{_conditions(project_id, query, bindings)} AND {within}"
    page = _page(project_id, conditions, limit, bindings)
    line = _LINES[query.format]
    return _READ.replace("{line}", line).replace("{page}", page), bindings.values


def rows_statement(
    project_id: int, query: ExportQuery, after: Place, last: Place, rows: int
) -> tuple[str, dict[str, Any]]:
    """Return the statement that reads the events between two places, and its values.

    Args:
        last: The place of the last event that is included.
        rows: The number of events that there were.
    """
    bindings = Bindings()
    within = _within(after, last.day, bindings)
    upto = _UPTO.format(*_bound(last, bindings))
    conditions = f"{_conditions(project_id, query, bindings)} AND {within} AND {upto}"
    columns = ", ".join(f"{read} AS `{name}`" for name, read in _TYPED.items())
    # Events that were stored meanwhile belong to the page, too.
    whole = _page(project_id, conditions, 2 * rows + 1, bindings)
    return _ROWS.replace("{columns}", columns).replace("{page}", whole), bindings.values


def written_rows_statement(schema: str, lines: bytes) -> tuple[str, dict[str, Any]]:
    """Return the statement that reads rows which are sent with it, and its values.

    Args:
        schema: As for the engine.
        lines: JSON, a line each.
    """
    bindings = Bindings()
    text = lines.decode()
    parts = [text[start : start + _PART_CHARS] for start in range(0, len(text), _PART_CHARS)]
    joined = ", ".join(bindings.text(part) for part in parts or [""])
    rows = f"format('JSONEachRow', {bindings.text(schema)}, concat({joined}, ''))"
    return f"SELECT * FROM {rows}", bindings.values


# In a Parquet file, times are times.
_TYPED: Final[Mapping[str, str]] = {
    **COLUMNS,
    "timestamp": "timestamp",
    "created_at": "received_at",
}


def _page(project_id: int, conditions: str, limit: int, bindings: Bindings) -> str:
    return (
        _PAGE.replace("{conditions}", conditions)
        .replace("{limit}", bindings.add(limit, "UInt64"))
        .replace("{project}", f"project_id = {bindings.add(project_id, 'UInt64')}")
    )


def _conditions(project_id: int, query: ExportQuery, bindings: Bindings) -> str:
    project = f"project_id = {bindings.add(project_id, 'UInt64')}"
    column = "received_at" if query.by_acceptance else "timestamp"
    conditions = [project]
    if query.start is not None:
        conditions.append(f"{column} >= {bindings.time(query.start)}")
    if query.end is not None:
        conditions.append(f"{column} < {bindings.time(query.end)}")
    if query.event is not None:
        conditions.append(f"event = {bindings.text(query.event)}")
    conditions += [event_condition(leaf, bindings, project, query.now) for leaf in query.properties]
    return "\n           AND ".join(conditions)


def _within(after: Place, last_day: date, bindings: Bindings) -> str:
    """Return the condition that an event is behind a place, on a day or before it.

    The times lead to the partitions, the days to the primary key.
    """
    bound = _bound(after, bindings)
    begins = bindings.time(datetime.combine(after.day, time.min, UTC))
    ends = bindings.time(datetime.combine(last_day, time.max, UTC))
    return (
        f"timestamp >= {begins} AND timestamp <= {ends} AND {_DAY} >= {bound[0]} "
        f"AND {_DAY} <= {bindings.add(last_day, 'Date32')} AND {_BEHIND.format(*bound)}"
    )


def _bound(place: Place, bindings: Bindings) -> tuple[str, str, str, str]:
    return (
        bindings.add(place.day, "Date32"),
        bindings.text(place.event),
        bindings.add(place.id_hash, "UInt64"),
        bindings.add(place.uuid_hash, "UInt64"),
    )
