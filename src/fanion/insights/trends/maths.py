"""The math of series: what they count, and the options for it.

Source: insights.md, section 4a.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Final, Literal, Self, get_args

from fanion.errors import Invalid
from fanion.insights.breakdowns import GROUP_TYPES_MAX
from fanion.insights.dates.intervals import MONTHS_IN, Interval
from fanion.insights.entities import FIRST_MATCHING, MATHS, NAMES_OF_ENTITY
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.options import OFF, StrictOptions, number, text, whole, word
from fanion.rest.options import Before
from fanion.rest.unknown_fields import no_choice

Aggregate = Literal["avg", "sum", "min", "max", "median", "p25", "p75", "p90", "p95", "p99"]
AGGREGATES: Final[tuple[Aggregate, ...]] = get_args(Aggregate)
_OF_ACTORS: Final = tuple(aggregate for aggregate in AGGREGATES if aggregate != "sum")
PER_ACTOR: Final = tuple(f"{aggregate}_count_per_actor" for aggregate in _OF_ACTORS)
# Fanion's own: over the sum of a property of each person.
SUM_PER_ACTOR: Final = tuple(f"{aggregate}_sum_per_actor" for aggregate in _OF_ACTORS)
FIRST_TIME: Final = ("first_time_for_user", "first_matching_event_for_user")
# A running sum counts each of these only in its first interval.
COUNTED_ONCE: Final = ("dau", "unique_session", "unique_group")
# The number of days in one of which a person needs an event.
WINDOWS: Final[Mapping[str, int]] = {"weekly_active": 7, "monthly_active": 30}
# Intervals by which such a window counts the distinct persons of the interval.
_LONG: Final[Mapping[str, tuple[Interval, ...]]] = {
    "weekly_active": ("week", *MONTHS_IN),
    "monthly_active": tuple(MONTHS_IN),
}
_PERCENTILE: Final = re.compile(r"p[0-9]{1,3}|percentile", re.ASCII)
# Common words that are spelt too differently to be suggested as similar ones.
_ALSO_CALLED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("mean", "average"), "avg"),
    **dict.fromkeys(("unique", "uniq", "unique_users", "unique_persons"), "dau"),
    **dict.fromkeys(("count", "events"), "total"),
    FIRST_MATCHING: "first_matching_event_for_user",
    **dict.fromkeys(("wau", "weekly"), "weekly_active"),
    **dict.fromkeys(("mau", "monthly"), "monthly_active"),
}
# Far beyond units of money and of time, and far from what overflows.
MULTIPLIER_MAX: Final = 10**12
SESSION_DURATION: Final = "$session_duration"
# An aggregate in SQL, which only trends have.
SQL: Final = "hogql"
WORDS: Final = (*MATHS, SQL)
PROPERTY_TYPES: Final = ("event_properties", "person_properties")


def _word(fields: Fields, name: str, _: Before) -> str | None:
    sent = fields.text(name)
    if sent is not None and sent not in WORDS:
        raise _no_math(fields, sent)
    return sent


def _is_of_person(fields: Fields, name: str, before: Before) -> bool:
    kind = fields.text(name) or PROPERTY_TYPES[0]
    of_session = kind == "session_properties" and before["name"] == SESSION_DURATION
    if kind not in PROPERTY_TYPES and not of_session:
        raise no_choice(kind, PROPERTY_TYPES, fields.place(name))
    return kind == "person_properties"


def _no_math(fields: Fields, word: str) -> Invalid:
    if _PERCENTILE.fullmatch(word):
        names = ", ".join(
            aggregate for aggregate in AGGREGATES if aggregate not in ("avg", "sum", "min", "max")
        )
        return fields.error("math", f'"{word}" is not a valid choice. Percentiles are: {names}.')
    if word in _ALSO_CALLED:
        meant = _ALSO_CALLED[word]
        return fields.error("math", f'"{word}" is not a valid choice. Did you mean "{meant}"?')
    return no_choice(word, WORDS, fields.place("math"))


# Steps of a funnel are published as series are.
_MATH: Final = replace(word((*WORDS, FIRST_MATCHING), "math"), read=_word)
_OF_PERSON: Final = replace(
    word(
        {"event_properties": False, "person_properties": True, "session_properties": False},
        "math_property_type",
    ),
    read=_is_of_person,
)


@dataclass(frozen=True, slots=True)
class Math(StrictOptions):
    """The math of a series: what it counts.

    Attributes:
        word: One of WORDS.
        name: The property that is aggregated; SESSION_DURATION for the seconds of sessions.
        multiplier: Each value of the property is multiplied by it.
        of_person: Whether the property is the person's.
        group_type_index: The type of the groups of `unique_group`.
        hogql: The aggregate of the word `hogql`, neither parsed nor checked.
    """

    called = "Series"
    passed_over = NAMES_OF_ENTITY

    word: Annotated[str, _MATH, "What is counted: `total` events, `dau` persons."] = "total"
    name: Annotated[
        str | None, text(name="math_property"), "The property for `sum`, `avg` and the like."
    ] = None
    of_person: Annotated[
        bool,
        _OF_PERSON,
        "Whose property it is; for sessions only `$session_duration`.",
    ] = False
    group_type_index: Annotated[
        int | None,
        whole(0, GROUP_TYPES_MAX - 1, "math_group_type_index"),
        "The type of the groups that `unique_group` counts.",
    ] = None
    hogql: Annotated[
        str | None,
        text(name="math_hogql"),
        "An aggregate in SQL, such as `sum(toFloat(properties.price)) / count()`.",
    ] = None
    multiplier: Annotated[
        float | None,
        number(MULTIPLIER_MAX, "math_multiplier"),
        "Each value of the property is multiplied by it.",
    ] = None
    math_property_revenue_currency: ClassVar[Annotated[None, OFF]]

    def completed(self, fields: Fields) -> Self:
        if self.word == SQL:
            if self.hogql is None:
                raise fields.required("math_hogql")
            return replace(self, name=None, of_person=False, group_type_index=None)
        if self.hogql is not None:
            raise fields.error("math_hogql", "math_hogql is only for the math hogql. Leave it out.")
        if self.word in (*AGGREGATES, *SUM_PER_ACTOR):
            return self._of_property(fields)
        if self.multiplier is not None:
            detail = "math_multiplier is only for the math of a property. Leave it out."
            raise fields.error("math_multiplier", detail)
        if self.word != "unique_group":
            return replace(self, name=None, of_person=False, group_type_index=None)
        if self.group_type_index is None:
            raise fields.required("math_group_type_index")
        return replace(self, name=None, of_person=False)

    def _of_property(self, fields: Fields) -> Self:
        if self.name is None:
            raise fields.required("math_property")
        if self.is_sum_per_actor and (self.of_person or self.of_sessions):
            detail = "Sums per person are of a property of events."
            raise fields.error("math_property", detail)
        return replace(self, group_type_index=None)

    @property
    def aggregate(self) -> Aggregate | None:
        """Return how properties, durations, or counts or sums per person are aggregated."""
        word = self.word.removesuffix("_count_per_actor").removesuffix("_sum_per_actor")
        return next((aggregate for aggregate in AGGREGATES if word == aggregate), None)

    @property
    def is_per_actor(self) -> bool:
        return self.word in PER_ACTOR

    @property
    def is_sum_per_actor(self) -> bool:
        return self.word in SUM_PER_ACTOR

    @property
    def is_summed(self) -> bool:
        """Return whether the numbers of several values add up to the number of them together."""
        return self.word == "total" or self.is_first_time

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
