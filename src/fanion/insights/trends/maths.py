"""The math of series: what they count, and the options for it.

Source: insights.md, section 4a.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from fanion.errors import Invalid
from fanion.insights.dates.intervals import Interval
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.scope import GROUP_TYPES_MAX
from fanion.rest.unknown_fields import no_choice

Aggregate = Literal["avg", "sum", "min", "max", "median", "p75", "p90", "p95", "p99"]
AGGREGATES: Final[tuple[Aggregate, ...]] = get_args(Aggregate)
PER_ACTOR: Final = tuple(
    f"{aggregate}_count_per_actor" for aggregate in AGGREGATES if aggregate != "sum"
)
FIRST_TIME: Final = ("first_time_for_user", "first_matching_event_for_user")
# A running sum counts each of these only in its first interval.
COUNTED_ONCE: Final = ("dau", "unique_session", "unique_group")
# The number of days in one of which a person needs an event.
WINDOWS: Final[Mapping[str, int]] = {"weekly_active": 7, "monthly_active": 30}
# Intervals by which such a window counts the distinct persons of the interval.
_LONG: Final[Mapping[str, tuple[Interval, ...]]] = {
    "weekly_active": ("week", "month"),
    "monthly_active": ("month",),
}
MATHS: Final = (
    *("total", "dau", *WINDOWS, "unique_session", "unique_group"),
    *(*FIRST_TIME, *AGGREGATES, *PER_ACTOR),
)
_PERCENTILE: Final = re.compile(r"p[0-9]{1,3}|percentile", re.ASCII)
# Common words that are spelt too differently to be suggested as similar ones.
_ALSO_CALLED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("mean", "average"), "avg"),
    **dict.fromkeys(("unique", "uniq", "unique_users", "unique_persons"), "dau"),
    **dict.fromkeys(("count", "events"), "total"),
    **dict.fromkeys(("wau", "weekly"), "weekly_active"),
    **dict.fromkeys(("mau", "monthly"), "monthly_active"),
}
SESSION_DURATION: Final = "$session_duration"
PROPERTY_TYPES: Final = ("event_properties", "person_properties")
# Fields of a series that do not affect what is counted.
_PASSED_OVER: Final = frozenset({"event", "index", "kind", "uuid", "custom_event"})


@dataclass(frozen=True, slots=True)
class Math:
    """The math of a series: what it counts.

    Attributes:
        word: One of MATHS.
        name: The property that is aggregated; SESSION_DURATION for the seconds of sessions.
        of_person: Whether the property is the person's.
        group_type_index: The type of the groups of `unique_group`.
    """

    word: str = "total"
    name: str | None = None
    of_person: bool = False
    group_type_index: int | None = None

    @property
    def aggregate(self) -> Aggregate | None:
        """Return how a property, sessions' durations or counts per person are aggregated."""
        for aggregate in AGGREGATES:
            if self.word in (aggregate, f"{aggregate}_count_per_actor"):
                return aggregate
        return None

    @property
    def is_per_actor(self) -> bool:
        return self.word in PER_ACTOR

    @property
    def is_first_time(self) -> bool:
        return self.word in FIRST_TIME

    @property
    def of_sessions(self) -> bool:
        return self.name == SESSION_DURATION and not self.of_person

    def at(self, interval: Interval) -> "Math":
        """Return what is counted by an interval: weekly active persons by week are persons."""
        return Math("dau") if interval in _LONG.get(self.word, ()) else self

    @property
    def window(self) -> int | None:
        """Return the number of days in which a person is active, the counted one included."""
        return WINDOWS.get(self.word)


TOTAL: Final = Math()


def read_math(fields: Fields) -> Math:
    word = _word(fields)
    name, kind = fields.text("math_property"), _property_type(fields)
    index = fields.whole("math_group_type_index", 0, GROUP_TYPES_MAX - 1)
    fields.refuse_unread("Series", _PASSED_OVER)
    if word in AGGREGATES:
        if name is None:
            raise fields.required("math_property")
        return Math(word, name, of_person=kind == "person_properties")
    if word != "unique_group":
        return Math(word)
    if index is None:
        raise fields.required("math_group_type_index")
    return Math(word, group_type_index=index)


def _word(fields: Fields) -> str:
    word = fields.text("math") or "total"
    if word == "hogql":
        raise fields.error("math", "Trends with math hogql are not supported.")
    if word not in MATHS:
        raise _no_math(fields, word)
    return word


def _no_math(fields: Fields, word: str) -> Invalid:
    if _PERCENTILE.fullmatch(word):
        names = ", ".join(
            aggregate for aggregate in AGGREGATES if aggregate not in ("avg", "sum", "min", "max")
        )
        return fields.error("math", f'"{word}" is not a valid choice. Percentiles are: {names}.')
    if word in _ALSO_CALLED:
        meant = _ALSO_CALLED[word]
        return fields.error("math", f'"{word}" is not a valid choice. Did you mean "{meant}"?')
    return no_choice(word, MATHS, fields.place("math"))


def _property_type(fields: Fields) -> str:
    kind = fields.text("math_property_type") or PROPERTY_TYPES[0]
    if kind == "session_properties" and fields.raw("math_property") == SESSION_DURATION:
        return PROPERTY_TYPES[0]
    if kind not in PROPERTY_TYPES:
        raise no_choice(kind, PROPERTY_TYPES, fields.place("math_property_type"))
    return kind
