"""What a kind of question is made of. Each folder declares its own, in `kind_service`;
`insights/kinds_service.py` lists them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from fanion.insights.calculation_service import Calculation
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.translation import QueryForm
from fanion.insights.query import InsightQuery
from fanion.insights.sql.compiler import Statement

_Query = TypeVar("_Query", bound=InsightQuery)
_Place = TypeVar("_Place")


@dataclass(frozen=True, slots=True)
class ActorsSource:
    """The `source` of an ActorsQuery. names: by which it tells the place of the number"""

    kind: str
    names: frozenset[str]


INSIGHT_ACTORS: Final = ActorsSource(
    "InsightActorsQuery",
    frozenset({"day", "series", "interval", "status", "breakdown", "compare"}),
)
# Names of places in series, by those of `filters`, and by those of newer clients.
SERIES_PLACES: Final = frozenset({"entity_id", "entity_type", "entity_math", "entity_order"})
NEWER_SERIES_PLACES: Final = {"series": "entity_order", "compare": "compare_label"}


def group_type_of(query: InsightQuery, place: object) -> int | None:
    """Of questions that count groups as a whole."""
    return query.scope.group_type_index


def _never(_: object) -> bool:
    return False


def always(_: object) -> bool:
    """Return True: of kinds whose every question does something."""
    return True


@dataclass(frozen=True, slots=True)
class ActorsKind(Generic[_Query, _Place]):
    """Who is behind a number of an answer.

    path:   the last part of the address of their list
    read:   the place of the number; raises: Invalid
    find:   the statement of rows (actor, value), the largest value first, then by actor: exactly
            those that the number counts. An actor is a UUID of a person, or of the distinct id of
            an event without one, or the key of a group. value: its events, or as the kind says.
            It ends with its order
    places: names of the place, by those of `filters`; the question is asked without them
    newer:  the name of a part of the place in an ActorsQuery → in `filters`
    group_type: of question and place: the index of the groups that are counted, None for persons

    source: insights.md section 13
    """

    path: str
    read: Callable[[Fields, _Query], _Place]
    find: Callable[[Calculation, _Query, _Place], Awaitable[Statement]]
    places: frozenset[str]
    newer: Mapping[str, str] = field(default_factory=dict)
    source: ActorsSource = INSIGHT_ACTORS
    group_type: Callable[[_Query, _Place], int | None] = group_type_of


@dataclass(frozen=True, slots=True)
class Kind(Generic[_Query]):
    """name:   `kind` of its query
    query:     the type of the question that `read` makes
    read:      from `filters`, or without a form from the query as it was sent. raises: Invalid
    calculate: the answer as clients read it. raises: as `Calculation`
    form:      how its query becomes `filters`; None: it can only be asked by a query
    path:      the last part of the address where its `filters` are answered
    shown_as:  the word by which `filters` of trends mean this kind
    actors:    None: those behind its numbers cannot be listed
    has_series: whether the answer to a question is a list of series of numbers by interval
    """

    name: str
    query: type[_Query]
    read: Callable[[Fields], _Query]
    calculate: Callable[[Calculation, _Query], Awaitable[Any]]
    form: QueryForm | None = None
    path: str = ""
    shown_as: str = ""
    actors: ActorsKind[_Query, Any] | None = None
    has_series: Callable[[_Query], bool] = _never
