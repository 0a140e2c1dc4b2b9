"""The question of the figures of web analytics by interval.

Source: insights.md, section 11.
"""

from dataclasses import dataclass
from typing import Annotated, Final, Literal, get_args

from fanion.insights.dates.intervals import INTERVALS, Interval
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.options import texts, word
from fanion.insights.web_analytics.query import WebQuery
from fanion.rest.options import Before, Option
from fanion.rest.unknown_fields import choice

Metric = Literal[
    "UniqueUsers",
    "PageViews",
    "Sessions",
    "Bounces",
    "SessionDuration",
    "TotalSessions",
    "BounceRate",
    "AverageSessionDuration",
]
METRICS: Final[tuple[Metric, ...]] = get_args(Metric)


def _read_metrics(fields: Fields, name: str, _: Before) -> tuple[Metric, ...] | None:
    sent, place = fields.texts(name, len(METRICS)), fields.place(name)
    known = (choice(metric, METRICS, f"{place}__{at}") for at, metric in enumerate(sent))
    return tuple(dict.fromkeys(known)) or None


_METRICS: Final = Option(
    _read_metrics,
    {**(texts(len(METRICS)).schema or {}), "items": {"type": "string", "enum": list(METRICS)}},
    "metrics",
)


@dataclass(frozen=True, slots=True)
class WebTrendsQuery(WebQuery):
    """The question of the figures by interval.

    Attributes:
        every: The interval.
    """

    metrics: Annotated[tuple[Metric, ...], _METRICS] = ("UniqueUsers",)
    every: Annotated[Interval, word(INTERVALS, "interval")] = "day"

    @property
    def interval(self) -> Interval:
        return self.every
