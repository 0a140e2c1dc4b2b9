"""Questions in SQL as clients send them: a HogQLQuery, and an EventsQuery made of expressions.

Source: insights.md, sections 10a and 10c.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final
from uuid import UUID

from fanion.errors import Invalid
from fanion.insights.dates.bounds import parse_bound
from fanion.insights.dates.intervals import DateRange, Interval
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.entities import Entity
from fanion.insights.parsing.fields import TIMES_STAND, Fields
from fanion.insights.query import Scope
from fanion.rest.options import read
from fanion.rest.unknown_fields import require_known

HOGQL_QUERY: Final = "HogQLQuery"
EVENTS_QUERY: Final = "EventsQuery"
SCHEMA_QUERY: Final = "DatabaseSchemaQuery"
ROWS: Final = 100
ROWS_MAX: Final = 10_000
OFFSET_MAX: Final = 2**31
EXPRESSIONS_MAX: Final = 100
VALUES_MAX: Final = 1_000
_DEPTH_MAX: Final = 4
_SELECT_DEFAULT: Final = ("*", "event", "person", "timestamp")
_AFTER_DEFAULT: Final = "-24h"
# The event store holds nothing older.
_FIRST: Final = parse_bound("1901-01-01", "date_from")

_NODE: Final = frozenset({"kind", "response", "version", "tags", "modifiers", "name"})
_OF_HOGQL: Final = _NODE | {"query", "values", "filters", "variables", "explain"}
_OF_FILTERS: Final = frozenset({"dateRange", "properties", "filterTestAccounts"})
_OF_EVENTS: Final = _NODE | {
    *("select", "where", "properties", "fixedProperties", "filterTestAccounts", "event"),
    *("personId", "after", "before", "orderBy", "limit", "offset"),
}


@dataclass(frozen=True, slots=True)
class ListOfEvents:
    """The parts of an EventsQuery that are SQL, or become it.

    Attributes:
        fields: The place of each part in the request.
    """

    select: tuple[str, ...]
    where: tuple[str, ...]
    order: tuple[str, ...]
    event: str | None
    person_id: UUID | None
    limit: int
    offset: int
    fields: Mapping[str, str] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class SqlQuestion:
    """A question in SQL, an `InsightQuery` for the cache of results.

    Attributes:
        text: The SQL; empty for a list of events.
        listed: The list of events; None for SQL.
        values: The values of placeholders.
        scope: What `{filters}` stands for.
        has_range: Whether that has a range of time.
        field: The place of the text in the request.
    """

    text: str
    listed: ListOfEvents | None
    values: Mapping[str, Any]
    scope: Scope
    has_range: bool
    field: str = field(default="query__query", compare=False)
    entities: ClassVar[tuple[Entity, ...]] = ()
    breakdowns: ClassVar[None] = None
    # Results are as fresh as those of questions by hour.
    interval: ClassVar[Interval] = "hour"

    def span(self, clock: RangeClock) -> DateRange:
        return self.scope.span(self.interval, clock)

    def whole_span(self, clock: RangeClock) -> DateRange | None:
        """Return the range of time that `{filters}` stands for, None without one.

        Raises:
            Invalid: The range is empty.
        """
        if not self.has_range:
            return None
        scope = replace(self.scope, since=_FIRST) if self.scope.since.is_all else self.scope
        return scope.span(self.interval, clock)


def read_hogql(fields: Fields) -> SqlQuestion:
    """Read a HogQLQuery, of whose text nothing is parsed yet.

    Raises:
        Invalid: A name is unknown, or a value has the wrong shape.
    """
    require_known(fields.values, _OF_HOGQL, fields.at)
    if fields.boolean("explain"):
        raise fields.error("explain", "explain is not supported. Leave it out.")
    text = fields.text("query")
    if text is None:
        raise fields.required("query")
    filters = fields.inner("filters")
    if filters is not None:
        require_known(filters.values, _OF_FILTERS, filters.at)
    dates = None if filters is None else filters.inner("dateRange")
    if dates is not None:
        require_known(dates.values, {"date_from", "date_to", "explicitDate"}, dates.at)
    sent: dict[str, tuple[Any, str]] = {}
    for reader, names in ((filters, ("properties",)), (dates, ("date_from", "date_to"))):
        if reader is not None:
            sent |= {name: (reader.raw(name), reader.place(name)) for name in names}
    if filters is not None:
        place = filters.place("filterTestAccounts")
        sent["filter_test_accounts"] = (filters.raw("filterTestAccounts"), place)
    scope = _scope(sent)
    has_range = any(sent.get(name, (None,))[0] for name in ("date_from", "date_to"))
    return SqlQuestion(text, None, _values(fields), scope, has_range, fields.place("query"))


def read_events_query(fields: Fields) -> SqlQuestion:
    """Read an EventsQuery, of whose expressions nothing is parsed yet.

    Raises:
        Invalid: A name is unknown, or a value has the wrong shape.
    """
    require_known(fields.values, _OF_EVENTS, fields.at)
    properties = fields.raw("properties"), fields.raw("fixedProperties")
    sent: dict[str, tuple[Any, str]] = {
        "properties": (_together(*properties), fields.place("properties")),
        "date_from": (fields.text("after") or _AFTER_DEFAULT, fields.place("after")),
        "date_to": (fields.text("before"), fields.place("before")),
        "filter_test_accounts": (
            fields.raw("filterTestAccounts"),
            fields.place("filterTestAccounts"),
        ),
    }
    limit = fields.whole("limit", 0, 2**31)
    listed = ListOfEvents(
        select=fields.texts("select", EXPRESSIONS_MAX) or _SELECT_DEFAULT,
        where=fields.texts("where", EXPRESSIONS_MAX),
        order=fields.texts("orderBy", EXPRESSIONS_MAX),
        event=fields.text("event"),
        person_id=_uuid(fields, "personId"),
        limit=min(limit or ROWS, ROWS_MAX),
        offset=fields.whole("offset", 0, OFFSET_MAX) or 0,
        fields={name: fields.place(name) for name in ("select", "where", "orderBy")},
    )
    return SqlQuestion("", listed, {}, _scope(sent), True, fields.place("select"))


def read_schema_query(fields: Fields) -> None:
    """Check a DatabaseSchemaQuery, which has no options.

    Raises:
        Invalid: A name is unknown.
    """
    require_known(fields.values, _NODE, fields.at)


def _scope(sent: Mapping[str, tuple[Any, str]]) -> Scope:
    values = {name: value for name, (value, _) in sent.items()}
    places = {name: place for name, (_, place) in sent.items()}
    values |= {"explicit_date": True, TIMES_STAND: True}
    return read(Scope, Fields(values, places))


def _together(properties: Any, fixed: Any) -> Any:
    """Return two lists or trees of conditions, all of which must hold."""
    if not fixed:
        return properties
    if not properties:
        return fixed
    both = [part if isinstance(part, dict) else {"type": "AND", "values": part}
            for part in (properties, fixed)]  # fmt: skip
    return {"type": "AND", "values": both}


def _uuid(fields: Fields, name: str) -> UUID | None:
    text = fields.text(name)
    if text is None:
        return None
    try:
        return UUID(text)
    except ValueError:
        raise fields.error(name, "Must be a UUID.") from None


def _values(fields: Fields) -> Mapping[str, Any]:
    """Return the values of placeholders: `{name}`, and `{variables.name}`."""
    values: dict[str, Any] = {}
    sent = fields.inner("values")
    for name, value in (sent.values if sent is not None else {}).items():
        values[name] = _value(value, f"{fields.place('values')}__{name}")
    variables = fields.inner("variables")
    for key, variable in (variables.values if variables is not None else {}).items():
        at = f"{fields.place('variables')}__{key}"
        if not isinstance(variable, dict) or not isinstance(variable.get("code_name"), str):
            raise Invalid("A variable must have a code_name and a value.", attr=at)
        require_known(variable, {"code_name", "variableId", "value", "isNull"}, at)
        value = None if variable.get("isNull") else variable.get("value")
        values[f"variables.{variable['code_name']}"] = _value(value, f"{at}__value")
    if len(values) > VALUES_MAX:
        raise fields.error("values", f"Ensure there are at most {VALUES_MAX} values.")
    return values


def _value(value: Any, at: str, depth: int = 0) -> Any:
    if isinstance(value, list) and depth < _DEPTH_MAX:
        if len(value) > VALUES_MAX:
            raise Invalid(f"Ensure this list has at most {VALUES_MAX} elements.", attr=at)
        return [_value(part, at, depth + 1) for part in value]
    if value is None or isinstance(value, str | int | float):
        return value
    raise Invalid("Must be a text, a number, a boolean, null, or a list of them.", attr=at)
