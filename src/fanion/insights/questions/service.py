"""The service for questions of clients, saved or not: it reads, checks and answers them."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from fanion.db.engine import Records
from fanion.errors import Invalid
from fanion.insights.as_sql.service import SqlOfQuestions
from fanion.insights.calculation.expressions_service import check_sql_of
from fanion.insights.calculation.service import resolve_query
from fanion.insights.kinds.service import (
    check_savable,
    fields_of_query,
    has_filters,
    is_calculated,
    read_query,
    read_sent_query,
)
from fanion.insights.kinds.validation import (
    check_insight_filters,
    check_query,
    check_question,
    cohort_places,
)
from fanion.insights.model import CachedResult, SavedQuestion
from fanion.insights.parsing.fields import Fields
from fanion.insights.query import InsightQuery
from fanion.insights.questions.cancellations_worker import QueryCancellations
from fanion.insights.questions.names_store import missing_cohorts, unknown_names
from fanion.insights.questions.result_cache import ResultCache
from fanion.insights.questions.running_service import RunningQueries
from fanion.insights.schemas import QueryResultBody, RowsBody, SqlBody, SqlSchemaBody
from fanion.projects.model import Project
from fanion.properties.validation import no_such_cohort
from fanion.rest.unknown_fields import no_choice

# `now` always calculates; `fresh` only without a fresh result; `kept` answers with an older result
# and its time, and calculates a new one in the background.
Refresh = Literal["now", "fresh", "kept"]
_WORDS: Final[Mapping[str, Refresh]] = {
    **dict.fromkeys(("true", "1", "force_blocking", "force_async"), "now"),
    **dict.fromkeys(("", "false", "0", "blocking"), "fresh"),
    **dict.fromkeys(("async", "async_except_on_cache_miss", "lazy_async", "force_cache"), "kept"),
}


# Answers the fields of a query of a project, at a time.
AnswerOther = Callable[
    [Project, Fields, datetime, Refresh],
    Coroutine[Any, Any, RowsBody | QueryResultBody | SqlBody | SqlSchemaBody],
]


@dataclass(frozen=True, slots=True)
class QuestionService:
    """The reading, checking and answering of questions, saved or not.

    Attributes:
        write_parquet: Returns rows of a project as a Parquet file, given the columns with their
            types, and the rows as JSON lines; it raises EventStoreUnavailable.
        other_kinds: Answers queries that are not questions of insights, such as lists of persons,
            by their `kind`.
    """

    records: Records
    results: ResultCache
    cancellations: QueryCancellations
    write_parquet: Callable[[int, str, bytes], Awaitable[bytes]]
    as_sql: SqlOfQuestions
    other_kinds: Mapping[str, AnswerOther] = field(default_factory=dict)

    @property
    def running(self) -> RunningQueries:
        return self.cancellations.running

    async def read_filters(self, project_id: int, fields: Fields) -> InsightQuery:
        """Read a question by `filters` that is to be answered now.

        Raises:
            Invalid: It cannot be calculated, or names a cohort or an action that does not exist.
        """
        check_question(fields)
        await self._require_cohorts(project_id, fields)
        question = read_query(Fields(fields.values, fields.places, fields.at))
        return await self._checked(project_id, question)

    async def read_query(self, project_id: int, query: object) -> InsightQuery:
        """Read a question by a `query` that is to be answered now.

        Raises:
            Invalid: It cannot be calculated, or names a cohort or an action that does not exist.
        """
        question = check_query(query)
        if has_filters(query):
            await self._require_cohorts(project_id, fields_of_query(query))
        return await self._checked(project_id, question)

    async def check_filters(
        self, project_id: int, filters: Mapping[str, Any], at: str = ""
    ) -> None:
        """Check `filters`.

        Raises:
            Invalid: They are wrong, or name a cohort or an action that does not exist.
        """
        check_insight_filters(filters, at)
        await self._require_cohorts(project_id, Fields(filters, at=at))
        if is_calculated(filters):
            await self._checked(project_id, read_query(Fields(filters, at=at)))

    async def _checked(self, project_id: int, question: InsightQuery) -> InsightQuery:
        """Return a question with the conditions of its actions.

        Raises:
            Invalid: It names an action that does not exist, or its SQL is not allowed.
        """
        await check_sql_of(question)
        return await resolve_query(self.records, project_id, question)

    async def _require_cohorts(self, project_id: int, fields: Fields) -> None:
        named = cohort_places(fields)
        for cohort_id in await missing_cohorts(self.records, project_id, named):
            raise no_such_cohort(cohort_id, named[cohort_id])

    async def check_question(self, project_id: int, question: SavedQuestion) -> None:
        """Raise Invalid for a question that cannot be saved."""
        if question.query is None:
            await self.check_filters(project_id, question.filters, "filters")
            return
        if question.filters:
            raise Invalid("Set filters or query, not both.", attr="query")
        await check_savable(await self.read_query(project_id, question.query))

    async def answer_question(
        self, project: Project, query: InsightQuery, now: datetime, refresh: Refresh
    ) -> CachedResult:
        if refresh == "now":
            return await self.results.calculate(project, query, now)
        if refresh == "kept":
            [known] = await self.results.cached_and_renewed(project, [query], now)
            if known.calculated_at is not None:
                return known
        return await self.results.get_or_calculate(project, query, now)

    async def unknown_names(
        self, project_id: int, query: InsightQuery
    ) -> Mapping[str, Sequence[str]]:
        """Return the names in a question that were never seen.

        Raises:
            RecordsUnavailable: The records store does not answer.
        """
        return await unknown_names(self.records, project_id, query)

    async def saved_table(
        self, project: Project, question: SavedQuestion, now: datetime, *, refresh: bool
    ) -> tuple[InsightQuery, CachedResult]:
        """Return a stored question, and its answer, which is calculated if there is none.

        Raises:
            Invalid: It cannot be calculated.
        """
        query = _read_stored(question)
        resolved = await resolve_query(self.records, project.id, query)
        answer = await self.answer_question(project, resolved, now, "now" if refresh else "kept")
        return query, answer

    async def saved_answer(
        self, project: Project, question: SavedQuestion, now: datetime, *, refresh: bool
    ) -> CachedResult:
        """Return the cached result, however old, or with `refresh` a new one."""
        if refresh:
            return await self.results.calculate(project, _read_stored(question), now)
        [known] = await self.results.cached_and_renewed(
            project, [read_stored_question(question)], now
        )
        return known


def read_stored_question(question: SavedQuestion) -> InsightQuery | None:
    """Return a stored question, None if it cannot be calculated."""
    try:
        return _read_stored(question)
    except Invalid:
        return None


def _read_stored(question: SavedQuestion) -> InsightQuery:
    if question.query is not None:
        return read_sent_query(question.query)
    return read_query(Fields(question.filters, at="filters"))


def parse_refresh(sent: object) -> Refresh:
    """Parse `refresh`: a boolean, or a word of newer clients.

    Raises:
        Invalid: The word is unknown.

    Source: insights.md, section 1b.
    """
    word = "" if sent is None else str(sent).lower()
    if word not in _WORDS:
        raise no_choice(word, _WORDS.keys() - {"", "0", "1"}, "refresh")
    return _WORDS[word]
