"""The parts that make up a kind of question.

Each folder declares its own kinds in its `service`; `insights/kinds/service.py` lists them.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from fanion.insights.calculation.service import Calculation
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.translation import QueryForm
from fanion.insights.query import InsightQuery
from fanion.insights.sql.compiler import Statement

_Query = TypeVar("_Query", bound=InsightQuery)
_Place = TypeVar("_Place")


@dataclass(frozen=True, slots=True)
class ActorsSource:
    """The `source` of an ActorsQuery.

    Attributes:
        names: The names by which it tells the place of the number.
    """

    kind: str
    names: frozenset[str]


INSIGHT_ACTORS: Final = ActorsSource(
    "InsightActorsQuery",
    frozenset({"day", "series", "interval", "status", "breakdown", "compare"}),
)
# Names for the place of a series: in `filters`, and those of newer clients with their own names in
# `filters`.
SERIES_PLACES: Final = frozenset({"entity_id", "entity_type", "entity_math", "entity_order"})
NEWER_SERIES_PLACES: Final = {"series": "entity_order", "compare": "compare_label"}


def group_type_of(query: InsightQuery, place: object) -> int | None:
    """Return the type of the groups that a question counts as a whole, None for persons."""
    return query.scope.group_type_index


def _never(_: object) -> bool:
    return False


async def _nothing_else(_: object) -> None:
    """Check nothing beyond what reading a question does."""


def always(_: object) -> bool:
    """Return True, for kinds whose answers are always series of numbers by interval."""
    return True


@dataclass(frozen=True, slots=True)
class ActorsKind(Generic[_Query, _Place]):
    """The actors behind a number of an answer of one kind.

    Attributes:
        path: The last part of the address of their list.
        read: Parses the place of the number, or raises Invalid.
        find: Returns the statement of rows (actor, value), for exactly the actors that the number
            counts, the largest value first, then by actor. An actor is the UUID of a person, or one
            made of the distinct id of an event without a person, or the key of a group. The value
            is the number of its events, unless the kind says otherwise. The statement ends with its
            order.
        places: The names of the place in `filters`; the question is read without them.
        newer: Maps the names of the place in an ActorsQuery to those in `filters`.
        group_type: Returns, for a question and a place, the type of the groups that are counted, or
            None for persons.

    Source: insights.md, section 13.
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
    """A kind of question.

    Attributes:
        name: The `kind` of its query.
        query: The type of the question that `read` makes.
        read: Parses `filters`, or the query itself if there is no form, or raises Invalid.
        calculate: Returns the answer as clients read it, and raises what `Calculation` does.
        form: The translation of its query into `filters`; None if it can only be asked by a query.
        path: The last part of the address where its `filters` are answered.
        shown_as: The word by which `filters` of trends mean this kind.
        actors: None if the actors behind its numbers cannot be listed.
        has_series: Whether the answer to a question is a list of series of numbers by interval.
        check: Checks a question before it is saved, where reading it is not enough; raises Invalid.
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
    check: Callable[[_Query], Awaitable[None]] = _nothing_else
