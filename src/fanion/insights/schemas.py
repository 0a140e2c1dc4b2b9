"""Bodies of answers to questions.

Source: cohorts.md, section 23; insights.md, sections 1a, 1b and 10.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, TypeVar, cast

from msgspec import UNSET, Meta, Struct, UnsetType, field, to_builtins

from fanion.insights.hogql.catalogue import ColumnType
from fanion.insights.model import CachedResult

_Body = TypeVar("_Body", bound=Struct)
Result = Annotated[
    Any, Meta(description="The shape depends on the kind; null until it is calculated.")
]


RowsRead = Annotated[
    int | None,
    Meta(description="Rows of the event store that the calculation read. Null if it is not known."),
]
Seconds = Annotated[
    float | None,
    Meta(description="Seconds that the calculation took. Null if it is not known."),
]


class BreakdownValuesBody(Struct, kw_only=True):
    """How many values of a breakdown have an entry, and how many there are."""

    shown: int
    total: Annotated[int | None, Meta(description="Null if there are too many to count.")]


BreakdownValues = Annotated[
    list[BreakdownValuesBody],
    Meta(description="For each series or formula. Only for a question with a breakdown."),
]


class ResultBody(Struct, kw_only=True):
    """An answer to `filters`. A kind may have more beside its result, such as `nodes` of paths."""

    result: Result
    timezone: str
    last_refresh: datetime | None
    is_cached: bool
    next: None = None
    rows_read: RowsRead = None
    seconds: Seconds = None
    breakdown_values: BreakdownValues | UnsetType = UNSET


class QueryResultBody(Struct, kw_only=True):
    """An answer to a `query`. A kind may have more beside its results, such as `columns`."""

    results: Result
    timezone: str
    last_refresh: datetime | None
    is_cached: bool
    cache_key: Annotated[str, Meta(description="Identifies the question.")]
    has_more: bool = field(default=False, name="hasMore")
    error: None = None
    timings: Annotated[list[Any], Meta(description="Always empty.")] = []
    modifiers: Annotated[dict[str, Any], Meta(description="Always empty.")] = {}
    rows_read: RowsRead = None
    seconds: Seconds = None
    breakdown_values: BreakdownValues | UnsetType = UNSET


class RowsBody(Struct, kw_only=True):
    """An answer to a `query` for a list: rows in the order of its `select`."""

    results: list[list[Any]]
    columns: list[str]
    types: Annotated[list[str], Meta(description="Always empty.")] = []
    has_more: bool = field(name="hasMore")
    limit: int
    offset: int
    missing_actors_count: Annotated[
        int, Meta(description="Actors on the page that are not persons: events without a profile.")
    ]
    timezone: str
    is_cached: bool = False
    last_refresh: datetime


class SqlBody(Struct, kw_only=True):
    """An answer to SQL, or to an EventsQuery: rows in the order of `columns`."""

    results: list[list[Any]]
    columns: list[str]
    types: Annotated[
        list[list[str]], Meta(description="Each column with the type that the event store gives.")
    ]
    has_more: bool = field(name="hasMore")
    limit: int
    offset: int
    query: Annotated[str | None, Meta(description="The SQL; null for an EventsQuery.")]
    timezone: str
    last_refresh: datetime | None
    is_cached: bool
    cache_key: Annotated[str, Meta(description="Identifies the question.")]
    error: None = None
    timings: Annotated[list[Any], Meta(description="Always empty.")] = []
    modifiers: Annotated[dict[str, Any], Meta(description="Always empty.")] = {}
    rows_read: RowsRead = None
    seconds: Seconds = None


class QueryAsSqlBody(Struct, kw_only=True):
    """A question as SQL, in place of its answer."""

    hogql: Annotated[str, Meta(description="A SELECT that a HogQLQuery takes.")]
    timezone: str


class SqlFieldBody(Struct, kw_only=True):
    name: str
    type: ColumnType


class SqlTableBody(Struct, kw_only=True):
    """A table of SQL. The columns of what belongs to its rows have a dot: `person.created_at`."""

    name: str
    fields: dict[str, SqlFieldBody]


class SqlSchemaBody(Struct, kw_only=True):
    """The names that a query in SQL may have."""

    tables: dict[str, SqlTableBody]
    functions: list[str]


def with_more(body: _Body, answer: CachedResult, unknown: Mapping[str, Sequence[str]]) -> _Body:
    """Return the body of an answer with what there is beside the results.

    Args:
        body: The fields that every answer has.
        answer: The answer; its kind may have more, such as `nodes` of paths.
        unknown: Names in the question that were never seen, as `unknown_event`.
    """
    beside = {**answer.beside, **unknown}
    return cast(_Body, {**to_builtins(body), **beside}) if beside else body
