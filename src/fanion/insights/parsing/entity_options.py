"""The options of an event in a question that do not say which events it means.

Source: insights.md, sections 1c and 2a.
"""

from collections.abc import Collection
from typing import Final

from fanion.insights.parsing.fields import Fields

# Fields of an entity that do not affect what is counted.
_NAMES: Final = frozenset({"event", "index", "kind", "uuid", "custom_event"})
MATHS: Final = frozenset(
    {
        *("total", "dau", "weekly_active", "monthly_active", "unique_session", "unique_group"),
        *("first_time_for_user", "first_matching_event_for_user", "hogql"),
        *("avg", "sum", "min", "max", "median", "p75", "p90", "p95", "p99"),
        *("avg_count_per_actor", "min_count_per_actor", "max_count_per_actor"),
        *("median_count_per_actor", "p75_count_per_actor", "p90_count_per_actor"),
        *("p95_count_per_actor", "p99_count_per_actor"),
    }
)
_MATH_OPTIONS: Final = frozenset(
    {
        *("math_property", "math_property_type", "math_group_type_index", "math_hogql"),
        *("math_multiplier", "math_property_revenue_currency"),
    }
)


def refuse_math(entity: Fields, kind: str, allowed: Collection[str] = ("total", "dau")) -> None:
    """Refuse any math that does not mean persons, for a kind that always counts persons.

    Raises:
        Invalid: The math is not allowed, or an option is not read.
    """
    math = entity.text("math")
    if math is not None and math not in allowed:
        raise entity.error("math", f"{kind} with math {math} are not supported. Leave it out.")
    entity.refuse_unread(kind, _NAMES)


def pass_over_math(entity: Fields, kind: str) -> str | None:
    """Return the math; any known one is accepted, although the kind only uses some.

    Raises:
        Invalid: The math is unknown, or an option is not read.
    """
    math = entity.choice("math", sorted(MATHS), "total")
    entity.refuse_unread(kind, _NAMES | _MATH_OPTIONS)
    return math
