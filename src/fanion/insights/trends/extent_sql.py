"""The statement of the least and the greatest number of a property, the ends of a histogram.

Source: insights.md, section 4.
"""

from fanion.insights.sql.breakdown import EVENT_BREAKDOWNS
from fanion.insights.sql.compiler import Statement
from fanion.insights.trends.rows_sql import SeriesQuery, SeriesRows


def extent_statement(query: SeriesQuery, index: int) -> Statement:
    """Return the statement of one row: the least and the greatest number, null without any.

    Args:
        place: The index of the part of the breakdown.
    """
    sql = _ExtentSql(query)
    return sql.compiler.statement(sql.extent(index))


class _ExtentSql(SeriesRows):
    def extent(self, index: int) -> str:
        """Return SQL for the extent of a histogram, over the events that are counted."""
        assert self.query.breakdowns is not None
        part, compiler = self.query.breakdowns.parts[index], self.compiler
        number = compiler.number_of(compiler.own_text(part))
        if part.type in EVENT_BREAKDOWNS:
            where = f"{self.where()} AND isNotNull(number)"
            rows = self.rows({"number": number}, where, once=False)
            return f"SELECT min(number), max(number) FROM ({rows})"
        rows = self.rows({"who": compiler.person()}, self.where(), once=False)
        persons = compiler.resolved_person(f"SELECT DISTINCT who FROM ({rows})", ["who"])
        held = f"SELECT person_id, {number} AS number FROM persons FINAL WHERE {compiler.project}"
        return (
            f"SELECT min(number), max(number) FROM ({persons}) AS found "
            f"LEFT ANY JOIN ({held}) AS held ON held.person_id = actor WHERE isNotNull(number)"
        )
