"""Who is behind a number, of a stored history, as the statement of its kind finds them."""

from datetime import datetime
from typing import Any

from fanion.insights.calculation_service import Analysis
from fanion.insights.kinds_service import ACTORS, read_query
from fanion.insights.parsing.fields import Fields
from fanion.projects.model import Project
from tests.support.histories import NOW, Analyst


async def actors(
    analyst: Analyst, project: Project, now: datetime = NOW, **asked: Any
) -> list[tuple[Any, Any]]:
    """asked: the question and the place, by the names of `filters`. raises: Invalid"""
    fields = Fields(asked)
    query = read_query(fields)
    kind = ACTORS[type(query)]
    place = kind.read(fields, query)
    analysis = Analysis(analyst.records, analyst.events)
    query, calculation = await analysis.begin(project, query, now)
    rows = await calculation.rows(await kind.find(calculation, query, place))
    return [(actor, value) for actor, value in rows]
