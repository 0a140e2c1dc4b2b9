"""All kinds of questions, and how each is found: by the words of clients and by its question.

Source: insights.md, section 1.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from time import perf_counter
from typing import Any, Final

from fanion.errors import Invalid
from fanion.insights.calculation.kind_service import ActorsKind, Kind
from fanion.insights.calculation.service import Analysis
from fanion.insights.funnels.correlation_service import FUNNEL_CORRELATION
from fanion.insights.funnels.service import FUNNELS
from fanion.insights.hogql.service import SQL
from fanion.insights.lifecycle.service import LIFECYCLE
from fanion.insights.model import has_beside
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.translation import Forms, unwrap_query
from fanion.insights.paths.service import PATHS
from fanion.insights.query import InsightQuery
from fanion.insights.retention.service import RETENTION
from fanion.insights.stickiness.service import STICKINESS
from fanion.insights.trends.service import TRENDS
from fanion.insights.web_analytics.service import (
    WEB_EXTERNAL_CLICKS,
    WEB_GOALS,
    WEB_OVERVIEW,
    WEB_STATS_TABLE,
    WEB_TRENDS,
)
from fanion.projects.model import Project
from fanion.rest.unknown_fields import no_choice

KINDS: Final[Sequence[Kind[Any]]] = (
    TRENDS,
    FUNNELS,
    RETENTION,
    STICKINESS,
    LIFECYCLE,
    PATHS,
    FUNNEL_CORRELATION,
    WEB_OVERVIEW,
    WEB_STATS_TABLE,
    WEB_GOALS,
    WEB_TRENDS,
    WEB_EXTERNAL_CLICKS,
    SQL,
)
# The query for who is behind a number. It is no kind of question, and `actors/` answers it.
ACTORS_QUERY: Final = "ActorsQuery"

# Maps `insight` of filters to the kind.
KINDS_BY_INSIGHT: Final[Mapping[str, Kind[Any]]] = {
    kind.form.insight: kind for kind in KINDS if kind.form is not None
}
# Maps the type of a question to the list of who is behind a number of its answer.
ACTORS_BY_QUESTION: Final[Mapping[type, ActorsKind[Any, Any]]] = {
    kind.query: kind.actors for kind in KINDS if kind.actors is not None
}
_KINDS_BY_NAME: Final = {kind.name: kind for kind in KINDS}
_KINDS_BY_QUESTION: Final[Mapping[type, Kind[Any]]] = {kind.query: kind for kind in KINDS}
_SHOWN_AS: Final = {
    kind.shown_as: kind.form.insight for kind in KINDS if kind.form is not None and kind.shown_as
}
_FORMS: Final = Forms(
    {kind.name: kind.form for kind in KINDS if kind.form is not None},
    [*_KINDS_BY_NAME, ACTORS_QUERY],
)


def kind_name(filters: Mapping[str, Any]) -> str:
    """Return the name of the kind, whether or not it is calculated."""
    shown_as = filters.get("shown_as")
    if isinstance(shown_as, str) and shown_as in _SHOWN_AS:
        return _SHOWN_AS[shown_as]
    return str(filters.get("insight") or "TRENDS").upper()


def is_calculated(filters: Mapping[str, Any]) -> bool:
    """Return whether the kind is calculated; others are only stored."""
    return kind_name(filters) in KINDS_BY_INSIGHT


def name_of(query: InsightQuery) -> str:
    """Return the `kind` of the query that asks a question."""
    return _KINDS_BY_QUESTION[type(query)].name


def has_series(query: InsightQuery) -> bool:
    """Return whether the answer is a list of series of numbers by interval."""
    kind = _KINDS_BY_QUESTION.get(type(query))
    return kind is not None and kind.has_series(query)


async def check_savable(query: InsightQuery) -> None:
    """Raise Invalid for a question that is read, but cannot be calculated."""
    await _KINDS_BY_QUESTION[type(query)].check(query)


def read_query(fields: Fields) -> InsightQuery:
    """Parse a question by `filters`, or raise Invalid."""
    insight = kind_name(fields.values)
    if insight not in KINDS_BY_INSIGHT:
        raise no_choice(insight, KINDS_BY_INSIGHT, fields.place("insight"))
    return _read(KINDS_BY_INSIGHT[insight], fields)


def read_sent_query(query: object, at: str = "query") -> InsightQuery:
    """Parse a question by a `query` of newer clients, which is decoded JSON.

    Args:
        at: The place of the query in the request.

    Raises:
        Invalid: It cannot be calculated.
    """
    if has_filters(query, at):
        return read_query(fields_of_query(query, at))
    sent, place = unwrap_query(query, at)
    return _read(_KINDS_BY_NAME[sent["kind"]], Fields(sent, at=place))


def has_filters(query: object, at: str = "query") -> bool:
    """Return whether a query can also be asked by `filters`.

    Raises:
        Invalid: The query is not an object.
    """
    name = unwrap_query(query, at)[0].get("kind")
    return (
        not isinstance(name, str)
        or name not in _KINDS_BY_NAME
        or _KINDS_BY_NAME[name].form is not None
    )


def fields_of_query(query: object, at: str = "query") -> Fields:
    """Return the fields of the `filters` that ask for the same as a query.

    Args:
        at: The place of the query in the request.

    Raises:
        Invalid: The kind has no `filters`, a kind or name is unknown, or a value has the wrong
            shape.
    """
    return _FORMS.fields(query, at)


def _read(kind: Kind[Any], fields: Fields) -> InsightQuery:
    query: InsightQuery = kind.read(fields)
    return query


@dataclass(frozen=True, slots=True)
class Calculator:
    """The calculation of questions of any kind.

    Every call raises EventStoreUnavailable, RecordsUnavailable or Invalid.

    Attributes:
        timer: A clock, in seconds.
    """

    analysis: Analysis
    timer: Callable[[], float] = perf_counter

    async def answer(
        self, project: Project, query: InsightQuery, now: datetime
    ) -> Mapping[str, Any]:
        """Return the `results`, what the kind has beside them, and what they took.

        `seconds` begins before the calculation waits for its turn. `rows_read` is without an
        attempt that was given up.
        """
        started = self.timer()
        result, rows_read = await self._counted(project, query, now)
        answer = result if has_beside(result) else {"results": result}
        return {**answer, "rows_read": rows_read, "seconds": round(self.timer() - started, 3)}

    async def result(self, project: Project, query: InsightQuery, now: datetime) -> Any:
        """Return the answer to a question as clients read it."""
        result, _ = await self._counted(project, query, now)
        return result

    async def _counted(
        self, project: Project, query: InsightQuery, now: datetime
    ) -> tuple[Any, int | None]:
        kind = _KINDS_BY_QUESTION.get(type(query))
        if kind is None:
            raise Invalid("Questions of this kind are not calculated.", attr="insight")
        return await self.analysis.complete(
            project, partial(self._calculate, kind, project, query, now)
        )

    async def _calculate(
        self, kind: Kind[Any], project: Project, query: InsightQuery, now: datetime
    ) -> tuple[Any, int | None]:
        query, calculation = await self.analysis.begin(project, query, now)
        result = await kind.calculate(calculation, query)
        return result, calculation.rows_read.number
