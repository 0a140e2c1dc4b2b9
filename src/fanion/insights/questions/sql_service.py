"""Answers to queries in SQL, and how long each is kept.

Source: insights.md, section 10.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

import msgspec

from fanion.insights.hogql.catalogue import FUNCTION_NAMES, TABLES
from fanion.insights.hogql.query import (
    SqlQuestion,
    read_events_query,
    read_hogql,
    read_schema_query,
)
from fanion.insights.hogql.service import KEPT_BYTES_MAX
from fanion.insights.parsing.fields import Fields
from fanion.insights.questions.result_cache import ResultCache, ResultStore, cache_key
from fanion.insights.questions.service import Refresh
from fanion.insights.schemas import SqlBody, SqlFieldBody, SqlSchemaBody, SqlTableBody
from fanion.projects.model import Project


class SmallResults(ResultStore):
    """The results of SQL in the cache, without those that are large."""

    async def store_result(
        self, project_id: int, filters_hash: str, result: Any, now: datetime
    ) -> None:
        if len(result["results"]) > KEPT_BYTES_MAX:
            return
        kept = {**result, "results": msgspec.json.decode(result["results"])}
        await super().store_result(project_id, filters_hash, kept, now)


@dataclass(frozen=True, slots=True)
class SqlQueries:
    """The answers to a HogQLQuery, an EventsQuery and a DatabaseSchemaQuery.

    Every call raises Invalid for a query that cannot be read or calculated, EventStoreUnavailable,
    Unavailable and RecordsUnavailable.
    """

    results: ResultCache

    async def hogql(
        self, project: Project, fields: Fields, now: datetime, refresh: Refresh
    ) -> SqlBody:
        return await self._answer(project, read_hogql(fields), now, refresh)

    async def events(
        self, project: Project, fields: Fields, now: datetime, refresh: Refresh
    ) -> SqlBody:
        return await self._answer(project, read_events_query(fields), now, refresh)

    async def schema(
        self, project: Project, fields: Fields, now: datetime, refresh: Refresh
    ) -> SqlSchemaBody:
        """Return the tables and functions, which are those of every project."""
        read_schema_query(fields)
        return SqlSchemaBody(
            tables={
                table: SqlTableBody(
                    name=table,
                    fields={
                        name: SqlFieldBody(name=name, type=column_type)
                        for name, column_type in columns.items()
                    },
                )
                for table, columns in TABLES.items()
            },
            functions=list(FUNCTION_NAMES),
        )

    async def _answer(
        self, project: Project, question: SqlQuestion, now: datetime, refresh: Refresh
    ) -> SqlBody:
        if refresh == "now":
            known = await self.results.calculate(project, question, now)
        else:
            known = await self.results.get_or_calculate(project, question, now)
        answer = known.result
        rows = answer["results"]
        return SqlBody(
            results=cast(Any, msgspec.Raw(rows)) if isinstance(rows, bytes) else rows,
            columns=answer["columns"],
            types=answer["types"],
            has_more=answer["hasMore"],
            limit=answer["limit"],
            offset=answer["offset"],
            query=question.text or None,
            timezone=project.timezone,
            last_refresh=known.calculated_at,
            is_cached=known.is_cached,
            cache_key=cache_key(project, question),
            rows_read=answer["rows_read"],
            seconds=answer["seconds"],
        )
