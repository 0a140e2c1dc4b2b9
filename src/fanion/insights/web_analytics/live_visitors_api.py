"""API of the persons who are here now, which PostHog's service of live events has as `/stats`.

Source: insights.md, sections 11 and 12.
"""

from datetime import datetime, timedelta
from typing import Annotated, Final
from uuid import UUID

from litestar import Controller, get
from litestar.di import NamedDependency
from msgspec import Meta, Struct

from fanion.insights.calculation.statements_service import Statements
from fanion.insights.dates.intervals import DateRange
from fanion.insights.query import Scope
from fanion.insights.sql.compiler import Compiler, SqlContext, Statement
from fanion.projects.request_api import ManagementRequest, scoped

RECENT: Final = timedelta(minutes=5)

_VISITORS = "SELECT uniqExact(actor) FROM ({actors})"
_RECENT = """
  SELECT DISTINCT {who} AS who
    FROM events
   WHERE {where}
"""


class LiveVisitors(Struct, kw_only=True):
    users_on_product: Annotated[
        int, Meta(ge=0, description="Persons with an event in the last five minutes.")
    ]


class LiveVisitorsApi(Controller):
    path = "/api/projects/{project_id:str}/events"
    tags = ("Events",)
    opt = scoped("event")

    @get("/live_visitors", summary="Count the persons who are here now")
    async def live_visitors(
        self, request: ManagementRequest, statements: NamedDependency[Statements]
    ) -> LiveVisitors:
        """Return how many persons had an event in the last five minutes.

        Events without a person count by their distinct id.
        """
        statement = visitors_statement(request.project.id, request.app.state.now())
        [(visitors,)] = await statements.rows(request.project.id, statement)
        return LiveVisitors(users_on_product=visitors)


def visitors_statement(project_id: int, now: datetime) -> Statement:
    """Return the statement of one row: the number of visitors."""
    compiler = Compiler(SqlContext(project_id, Scope(), now, UUID(int=0)))
    where = compiler.where(DateRange(now - RECENT, now), None)
    rows = _RECENT.format(who=compiler.who(), where=where)
    return compiler.statement(_VISITORS.format(actors=compiler.resolved(rows, ["who"])))
