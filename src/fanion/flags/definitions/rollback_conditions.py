"""Rollback conditions: a flag is switched off automatically when an event is too frequent or rare.

Source: flags.md section 17.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import isfinite
from typing import Annotated, Any, ClassVar, Final, Literal, get_args

from fanion.errors import Invalid
from fanion.flags.definitions.validation.parts import Part, same_json
from fanion.insights.dates.intervals import DateRange
from fanion.insights.trends.query import TRENDS_FILTERS, TrendsQuery, parse_trends
from fanion.rest.json_schema import one_of, reference
from fanion.rest.options import Before, Option, Options, names_of, read
from fanion.rest.unknown_fields import no_choice, require_known

ROLLBACK_CONDITIONS: Final = "rollback_conditions"
# Conditions of one flag; each is a query to the event store.
CONDITIONS_MAX = 20
AVERAGED = timedelta(days=7)

Operator = Literal["lt", "gt"]


def _word(words: Collection[str]) -> Option:
    def read_word(condition: Part, name: str, _: Before) -> str:
        word: str = condition.values[name]
        if word not in words:
            raise no_choice(word, words, condition.place(name))
        return word

    return Option(read_word, one_of(words))


def _threshold(condition: Part, name: str, _: Before) -> float:
    threshold = condition.values[name]
    if isinstance(threshold, bool) or not isinstance(threshold, int | float):
        raise condition.error(name, "A valid number is required.")
    return threshold


def _metric(condition: Part, name: str, _: Before) -> TrendsQuery:
    """Read a metric, which needs a series: without one the average is 0, below every threshold."""
    metric, at = condition.values[name], condition.place(name)
    if not isinstance(metric, Mapping):
        raise _not_a_dict(metric, at)
    try:
        query = parse_trends(metric)
    except Invalid as problem:
        attr = at if problem.attr is None else f"{at}__{problem.attr}"
        raise Invalid(problem.detail, code=problem.code, attr=attr) from None
    if not query.series:
        raise Invalid("A metric needs at least one event.", code="required", attr=f"{at}__events")
    return query


_METRIC: Final = {
    "allOf": [
        reference(TRENDS_FILTERS),
        {"required": ["events"], "properties": {"events": {"minItems": 1}}},
    ]
}


@dataclass(frozen=True, slots=True)
class RollbackCondition(Options):
    """A rollback condition that compares a metric with a threshold.

    Attributes:
        metric: Its first series is averaged over the last seven days.
    """

    required = ("threshold_type", "operator", "threshold", "threshold_metric")

    threshold_type: ClassVar[Annotated[str, _word(["insight"])]]
    operator: Annotated[
        Operator, _word(get_args(Operator)), "`lt`: disabled below the threshold; `gt`: above it."
    ]
    threshold: Annotated[float, Option(_threshold, {"type": "number"})]
    metric: Annotated[
        TrendsQuery,
        Option(_metric, _METRIC, "threshold_metric"),
        "The count of its first event is averaged over the last seven days.",
    ]

    def holds(self, average: float) -> bool:
        below = self.operator == "lt"
        return average < self.threshold if below else average > self.threshold


def listed_conditions(stored: object) -> Sequence[object]:
    """Return the stored conditions as a list; a single condition counts as a list of one.

    Args:
        stored: Any JSON.
    """
    if isinstance(stored, Mapping):
        return [stored] if stored else []
    return stored[:CONDITIONS_MAX] if isinstance(stored, list) else []


def is_watched(flag: Mapping[str, Any]) -> bool:
    """Return whether the flag's conditions are checked: it is on and has some.

    Args:
        flag: The stored values by column.
    """
    on = flag["active"] and not flag["deleted"]
    return bool(on and listed_conditions(flag.get("rollback_conditions")))


def read_condition(raw: object) -> RollbackCondition | None:
    """Parse a stored condition.

    Returns:
        None for a threshold type that never holds.

    Raises:
        ValueError: The condition cannot be read.
        Invalid: The metric cannot be read.
    """
    if not isinstance(raw, Mapping):
        raise ValueError("a condition must be an object")
    if raw.get("threshold_type") != "insight":
        return None
    threshold, metric = raw.get("threshold"), raw.get("threshold_metric")
    if isinstance(threshold, bool) or not isinstance(threshold, int | float):
        raise ValueError("the threshold must be a number")
    if not isfinite(threshold):
        raise ValueError("the threshold must be finite")
    if not isinstance(metric, Mapping):
        raise ValueError("threshold_metric must be an object")
    operator: Operator = "lt" if raw.get("operator") == "lt" else "gt"
    return RollbackCondition(operator, threshold, parse_trends(metric))


def check_conditions(sent: object, stored: object) -> None:
    """Raise Invalid unless the worker can read the conditions.

    Conditions that equal a stored one are accepted unchecked.

    Args:
        sent: Any JSON.
    """
    if sent is None or same_json(sent, stored):
        return
    if isinstance(sent, Mapping):
        sent = [sent] if sent else []
    if not isinstance(sent, list):
        raise Invalid(
            f'Expected a list of items but got type "{type(sent).__name__}".',
            code="not_a_list",
            attr=ROLLBACK_CONDITIONS,
        )
    if len(sent) > CONDITIONS_MAX:
        raise Invalid(
            f"Ensure there are at most {CONDITIONS_MAX} conditions.", attr=ROLLBACK_CONDITIONS
        )
    former = [stored] if isinstance(stored, Mapping) else stored
    known = former if isinstance(former, list) else []
    for index, condition in enumerate(sent):
        if not any(same_json(condition, known_condition) for known_condition in known):
            _check_condition(condition, f"{ROLLBACK_CONDITIONS}__{index}")


def _check_condition(raw: object, at: str) -> None:
    if not isinstance(raw, Mapping):
        raise _not_a_dict(raw, at)
    require_known(raw, names_of(RollbackCondition), at)
    condition = Part(raw, at)
    for name in RollbackCondition.required:
        if raw.get(name) is None:
            raise condition.required(name)
    read(RollbackCondition, condition)


def _not_a_dict(value: object, at: str) -> Invalid:
    detail = f'Expected a dictionary of items but got type "{type(value).__name__}".'
    return Invalid(detail, code="not_a_dict", attr=at)


def averaged_span(now: datetime) -> DateRange:
    return DateRange(now - AVERAGED, now)
