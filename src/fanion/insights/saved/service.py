"""Saved insights with their results, and changes of insights, each in one transaction.

Source: cohorts.md, section 22; insights.md, section 14.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from fanion.activity.model import Author
from fanion.errors import AppError, Invalid, NotFound
from fanion.insights.model import CachedResult, SavedQuestion
from fanion.insights.questions.service import QuestionService, read_stored_question
from fanion.insights.saved.model import DashboardAccess, StoredInsight
from fanion.insights.saved.store import (
    InsightSelection,
    InsightStore,
    add_insight,
    lock_insight,
    record_new_insight,
    write_insight,
)
from fanion.insights.saved.tiles_store import filters_of_dashboard, show_on_dashboards
from fanion.projects.model import Project
from fanion.rest.validation import normal_tags


class StaleInsight(AppError):
    """The insight has changed since the caller read it."""

    status, type, default_code = 409, "invalid_request", "conflict"
    default_detail = (
        "The insight was changed since you read it. Review the current version and try again."
    )


@dataclass(frozen=True, slots=True)
class InsightService:
    store: InsightStore
    questions: QuestionService

    async def list_insights(
        self, project: Project, query: InsightSelection, limit: int, offset: int, now: datetime
    ) -> tuple[Sequence[tuple[StoredInsight, CachedResult]], int]:
        """Return a page of insights with their cached results, and the number of all."""
        stored, count = await self.store.list_insights(project.id, query, limit, offset)
        questions = [read_stored_question(insight.question) for insight in stored]
        answers = await self.questions.results.cached(project, questions, now)
        return list(zip(stored, answers, strict=True)), count

    async def get_insight(self, project_id: int, insight_id: int) -> StoredInsight:
        """Return an insight, or raise NotFound if it is deleted or unknown."""
        insight = await self.store.get_insight(project_id, insight_id)
        if insight is None:
            raise NotFound
        return insight

    async def question_on_dashboard(
        self, project_id: int, insight: StoredInsight, dashboard_id: int | None
    ) -> SavedQuestion:
        """Return an insight's question, with a dashboard's filters if one is given.

        Raises:
            NotFound: There is no such dashboard.
        """
        if dashboard_id is None:
            return insight.question
        async with self.store.records.read() as connection:
            filters = await connection.run_sync(filters_of_dashboard, project_id, dashboard_id)
        if filters is None:
            raise NotFound
        return insight.question.on_dashboard(filters)

    async def create_insight(
        self, author: Author, sent: Mapping[str, Any], access: DashboardAccess
    ) -> StoredInsight:
        """Create an insight and show it on the dashboards in `sent`.

        Raises:
            Invalid: The question cannot be saved, or a dashboard does not exist.
            PermissionDenied: The user may not edit one of the dashboards.
        """
        values = _normalised(sent)
        dashboard_ids = values.pop("dashboards") or []
        question = SavedQuestion(sent["filters"] or {}, sent["query"] or None)
        values |= {"filters": question.filters, "query": question.query}
        await self.questions.check_question(author.project_id, question)
        async with self.store.records.write() as connection:
            return await connection.run_sync(_create, author, values, dashboard_ids, access)

    async def change_insight(
        self, author: Author, insight_id: int, sent: Mapping[str, Any], access: DashboardAccess
    ) -> StoredInsight:
        """Change an insight; a deleted insight accepts only `deleted: false`.

        Raises:
            Invalid: The question cannot be saved, or a dashboard does not exist.
            NotFound: There is no such insight.
            PermissionDenied: The user may not edit the insight, or one of the dashboards.
            StaleInsight: It was changed since `expected_modified_at`.
        """
        values = _normalised(sent)
        dashboard_ids = values.pop("dashboards", None)
        expected = values.pop("expected_modified_at", None)
        if "filters" in values or "query" in values:
            values |= _question_columns(values)
            await self._check_changed_question(author.project_id, insight_id, values)
        async with self.store.records.write() as connection:
            return await connection.run_sync(
                _change, author, insight_id, values, dashboard_ids, access, expected
            )

    async def _check_changed_question(
        self, project_id: int, insight_id: int, columns: Mapping[str, Any]
    ) -> None:
        """Raise Invalid for a question that cannot be saved, unless it equals the stored one.

        That way an old insight can still be renamed.
        """
        question = SavedQuestion(columns.get("filters") or {}, columns.get("query"))
        try:
            await self.questions.check_question(project_id, question)
        except Invalid:
            stored = await self.store.get_insight(project_id, insight_id)
            if stored is None or stored.question != question:
                raise


def _normalised(sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request, with empty values instead of null."""
    values = dict(sent)
    if "tags" in values:
        values["tags"] = normal_tags(values["tags"] or [])
    if "description" in values:
        values["description"] = values["description"] or ""
    return values


def _question_columns(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return both columns of a question: one that is not empty empties the other.

    Args:
        values: The fields of a change.
    """
    if values.get("query"):
        return {"filters": values.get("filters") or {}, "query": values["query"]}
    if values.get("filters"):
        return {"filters": values["filters"], "query": None}
    return {"query": None} if "query" in values else {}


def _create(
    connection: Connection,
    author: Author,
    values: Mapping[str, Any],
    dashboard_ids: Sequence[int],
    access: DashboardAccess,
) -> StoredInsight:
    insight_id = add_insight(connection, author, values)
    show_on_dashboards(connection, author.project_id, insight_id, dashboard_ids, access)
    return record_new_insight(connection, author, insight_id)


def _change(
    connection: Connection,
    author: Author,
    insight_id: int,
    values: Mapping[str, Any],
    dashboard_ids: Sequence[int] | None,
    access: DashboardAccess,
    expected: datetime | None,
) -> StoredInsight:
    """Change an insight.

    Args:
        dashboard_ids: None leaves the insight on its dashboards.
        expected: The time of its last change, as far as the caller knows; None for any.
    """
    before = lock_insight(connection, author.project_id, insight_id)
    if before is None or (before.deleted and values.get("deleted") is not False):
        raise NotFound
    access.require_insight_edit(before.tiles)
    if expected is not None and before.last_modified_at != expected:
        raise StaleInsight(attr="expected_modified_at")
    if dashboard_ids is not None:
        show_on_dashboards(connection, author.project_id, insight_id, dashboard_ids, access)
    return write_insight(connection, author, before, values)
