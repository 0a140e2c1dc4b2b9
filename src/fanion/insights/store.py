"""Insights in the records store: reading them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, or_, select

from fanion.db.engine import Records
from fanion.db.schema.cohorts import cohorts
from fanion.db.schema.insights import dashboard_tiles, dashboards, insights
from fanion.db.schema.tables import users
from fanion.insights.model import StoredInsight, TilePlace
from fanion.projects.model import UserSummary
from fanion.projects.organizations.store import USER_SUMMARY

_insight, _tile, _dashboard = insights.c, dashboard_tiles.c, dashboards.c


@dataclass(frozen=True, slots=True)
class InsightSelection:
    """The insights to list; None stands for any.

    Attributes:
        search: Part of a name or description, regardless of the case of ASCII letters.
    """

    short_id: str | None = None
    search: str | None = None
    saved: bool | None = None
    favorited: bool | None = None


@dataclass(frozen=True, slots=True)
class InsightStore:
    records: Records

    async def list_insights(
        self, project_id: int, query: InsightSelection, limit: int, offset: int
    ) -> tuple[Sequence[StoredInsight], int]:
        """Return a page of insights, newest first, without deleted ones, and the total number."""
        conditions = [_insight.project_id == project_id, _insight.deleted.is_(False)]
        conditions += _conditions(query)
        statement = (
            select(insights)
            .where(*conditions)
            .order_by(_insight.created_at.desc(), _insight.id.desc())
            .limit(limit)
            .offset(offset)
        )
        async with self.records.read() as connection:
            total = await connection.scalar(
                select(func.count()).select_from(insights).where(*conditions)
            )
            rows = (await connection.execute(statement)).all()
            return await connection.run_sync(read_insights, rows), total or 0

    async def missing_cohorts(self, project_id: int, ids: Collection[int]) -> Sequence[int]:
        """Return the ids without a cohort in the project, or of a deleted one, in their order."""
        if not ids:
            return ()
        known = select(cohorts.c.id).where(
            cohorts.c.project_id == project_id,
            cohorts.c.deleted.is_(False),
            cohorts.c.id.in_(ids),
        )
        existing = {row.id for row in await self.records.fetch(known)}
        return [cohort_id for cohort_id in ids if cohort_id not in existing]

    async def get_insight(self, project_id: int, insight_id: int) -> StoredInsight | None:
        """Return an insight, None if it is deleted or unknown."""
        async with self.records.read() as connection:
            return await connection.run_sync(get_insight, project_id, insight_id)

    async def has_insight(self, project_id: int, insight_id: int) -> bool:
        """Return whether the project has or had this insight; a deleted one counts."""
        known = select(_insight.id).where(
            _insight.project_id == project_id, _insight.id == insight_id
        )
        return bool(await self.records.fetch(known))


def get_insight(connection: Connection, project_id: int, insight_id: int) -> StoredInsight | None:
    statement = select(insights).where(
        _insight.project_id == project_id,
        _insight.id == insight_id,
        _insight.deleted.is_(False),
    )
    rows = connection.execute(statement).all()
    return next(iter(read_insights(connection, rows)), None)


def read_insights(connection: Connection, rows: Sequence[Row[Any]]) -> list[StoredInsight]:
    """Return insights with the dashboards that show them.

    Args:
        rows: Rows with all columns of the table.
    """
    user_summaries = read_user_summaries(
        connection, (n for row in rows for n in (row.created_by_id, row.last_modified_by_id))
    )
    tiles = (
        select(
            _tile.insight_id,
            _tile.id,
            _tile.dashboard_id,
            _dashboard.restriction_level,
            _dashboard.created_by_id,
        )
        .join(dashboards, _dashboard.id == _tile.dashboard_id)
        .where(_tile.insight_id.in_([row.id for row in rows]), _tile.deleted.is_(False))
        .where(_dashboard.deleted.is_(False))
        .order_by(_tile.id)
    )
    places: dict[int, list[TilePlace]] = {}
    for insight_id, *values in connection.execute(tiles):
        places.setdefault(insight_id, []).append(TilePlace(*values))
    return [replace(_stored(row, user_summaries), tiles=places.get(row.id, ())) for row in rows]


def read_user_summaries(
    connection: Connection, ids: Iterable[int | None]
) -> Mapping[int, UserSummary]:
    """Return the summaries of users, by id."""
    user_ids = {user_id for user_id in ids if user_id is not None}
    if not user_ids:
        return {}
    statement = select(
        *USER_SUMMARY,
    ).where(users.c.id.in_(user_ids))
    return {row.by_id: UserSummary(*row) for row in connection.execute(statement)}


def _stored(row: Row[Any], user_summaries: Mapping[int, UserSummary]) -> StoredInsight:
    return StoredInsight(
        id=row.id,
        short_id=row.short_id,
        name=row.name,
        derived_name=row.derived_name,
        description=row.description,
        filters=row.filters,
        query=row.query,
        tags=row.tags,
        favorited=row.favorited,
        saved=row.saved,
        is_sample=row.is_sample,
        deleted=row.deleted,
        created_at=row.created_at,
        created_by=user_summaries.get(row.created_by_id),
        last_modified_at=row.last_modified_at,
        last_modified_by=user_summaries.get(row.last_modified_by_id),
    )


def _conditions(query: InsightSelection) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if query.short_id is not None:
        conditions.append(_insight.short_id == query.short_id)
    if query.saved is not None:
        conditions.append(_insight.saved.is_(query.saved))
    if query.favorited is not None:
        conditions.append(_insight.favorited.is_(query.favorited))
    if query.search:
        text = query.search.lower()
        columns = (_insight.name, _insight.derived_name, _insight.description)
        conditions.append(
            or_(*(func.lower(column).contains(text, autoescape=True) for column in columns))
        )
    return conditions
