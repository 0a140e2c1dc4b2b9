"""Questions as SQL, with the conditions and the range that they have now."""

from dataclasses import dataclass
from datetime import datetime

from fanion.insights.calculation.expressions_service import in_sql_thread
from fanion.insights.calculation.service import Analysis
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.query import InsightQuery
from fanion.projects.model import Project


@dataclass(frozen=True, slots=True)
class SqlOfQuestions:
    """The writing of questions as SQL."""

    analysis: Analysis

    async def text(self, project: Project, query: InsightQuery, kind: str, now: datetime) -> str:
        """Return a SELECT with the numbers of a question.

        Args:
            kind: The `kind` of its query.

        Raises:
            Invalid: The kind, or an option, cannot be said in SQL.
            EventStoreUnavailable: The event store does not answer.
            Unavailable: Too many questions are asked.
            RecordsUnavailable: The records store does not answer.
        """
        query, calculation = await self.analysis.begin(project, query, now)
        text: str = await in_sql_thread(_write, query, kind, calculation.clock)
        return text


def _write(query: InsightQuery, kind: str, clock: RangeClock) -> str:
    # The parser takes a tenth of a second to load, and most servers never need it.
    from fanion.insights.as_sql.writing import as_sql

    return as_sql(query, kind, clock)
