"""The actors behind a figure about a stored history, found by the statement of its kind."""

from datetime import datetime
from typing import Any

from fanion.insights.kinds.service import ACTORS_BY_QUESTION, read_query
from fanion.insights.parsing.fields import Fields
from fanion.projects.model import Project
from tests.support.histories import NOW, Analyst


async def actors(
    analyst: Analyst, project: Project, now: datetime = NOW, **asked: Any
) -> list[tuple[Any, Any]]:
    """Return actors with their values.

    Args:
        asked: The question and the part of its result, with the names of `filters`.

    Raises:
        Invalid: The question is not valid.
    """
    fields = Fields(asked)
    query = read_query(fields)
    kind = ACTORS_BY_QUESTION[type(query)]
    position = kind.read(fields, query)
    analysis = analyst.analysis
    query, calculation = await analysis.begin(project, query, now)
    rows = await calculation.rows(await kind.find(calculation, query, position))
    return [(actor, value) for actor, value in rows]
