"""The value of a funnel's breakdown as one text; several properties are the JSON of a list.

Source: insights.md, sections 2e and 5g.
"""

import json
from collections.abc import Sequence

from fanion.insights.breakdowns import Breakdowns
from fanion.insights.funnels.query import FunnelsQuery
from fanion.insights.sql.breakdown import BreakdownSql
from fanion.insights.sql.compiler import NONE, OTHER, Compiler


def event_value(compiler: Compiler, query: FunnelsQuery) -> str:
    """Return SQL for the value of a row of `events`."""
    parts = list(BreakdownSql(compiler, query.breakdowns).event_columns().values())
    return parts[0] if len(parts) == 1 else f"toJSONString([{', '.join(parts)}])"


def no_value(breakdowns: Breakdowns) -> str:
    """Return the text for a row without any of the properties."""
    count = len(breakdowns.parts)
    return NONE if count == 1 else json.dumps([NONE] * count, separators=(",", ":"))


def parts_of(breakdowns: Breakdowns, value: str) -> list[str]:
    """Return the parts of a value as answers have them; OTHER stays as it is."""
    parts = [value] if len(breakdowns.parts) == 1 or value == OTHER else json.loads(value)
    return ["" if part == NONE else part for part in parts]


def text_of_parts(breakdowns: Breakdowns, parts: Sequence[str]) -> str:
    """Return the text of a value, the reverse of `parts_of`."""
    texts = [part or NONE for part in parts]
    if len(breakdowns.parts) == 1 or texts == [OTHER]:
        return texts[0]
    return json.dumps(texts, separators=(",", ":"), ensure_ascii=False)


def bound_value(compiler: Compiler, breakdowns: Breakdowns, value: str) -> str:
    """Return SQL for a value, to compare with values of the engine.

    Args:
        value: As `text_of_parts` writes it. The engine writes the same list with other escapes.
    """
    if breakdowns.parts[0].type == "cohort" or len(breakdowns.parts) == 1 or value == OTHER:
        return compiler.bindings.text(value)
    return f"toJSONString({compiler.bindings.texts(json.loads(value))})"
