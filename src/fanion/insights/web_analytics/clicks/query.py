"""The question of the links to other sites that visitors click.

Source: insights.md, section 11.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from fanion.insights.entities import Entity
from fanion.insights.parsing.options import switch, whole
from fanion.insights.web_analytics.query import (
    OFFSET_MAX,
    ROWS_DEFAULT,
    ROWS_MAX,
    Column,
    Ordering,
    WebQuery,
    order_by,
)

COLUMNS: Final[tuple[Column, ...]] = ("visitors", "clicks")
_ORDERS: Final[Mapping[str, Column]] = {"Clicks": "clicks", "Visitors": "visitors"}


@dataclass(frozen=True, slots=True)
class WebExternalClicksTableQuery(WebQuery):
    """The question of a table with one row for each address of another site.

    Attributes:
        strips: Whether addresses are shown without what follows `?` or `#`.
    """

    limit: Annotated[int, whole(1, ROWS_MAX)] = ROWS_DEFAULT
    offset: Annotated[int, whole(0, OFFSET_MAX)] = 0
    strips: Annotated[bool, switch("stripQueryParams")] = False
    ordering: Annotated[Ordering | None, order_by(_ORDERS)] = None

    @property
    def entities(self) -> tuple[Entity, ...]:
        return (Entity("$autocapture"),)
