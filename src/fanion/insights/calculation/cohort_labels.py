"""The labels that the cohorts of a breakdown have in answers."""

from collections.abc import Mapping, Sequence
from typing import Final

from fanion.insights.breakdowns import Breakdowns
from fanion.insights.sql.compiler import NONE, OTHER

EVERYBODY: Final = "all users"


def cohort_label(value: str, names: Mapping[int, str]) -> str:
    """Return the name of a cohort, or its id if it has none.

    Args:
        value: The id as text, or `all`.
        names: The names of cohorts, by id.
    """
    if value == "all":
        return EVERYBODY
    return names.get(int(value)) or value


def with_cohort_labels(
    breakdowns: Breakdowns, values: Sequence[str], names: Mapping[int, str]
) -> list[str]:
    """Return the values of an entry, with labels of cohorts in place of their ids.

    Args:
        values: One for each dimension of the breakdown; the combined rest has only OTHER.
        names: The names of cohorts, by id.
    """
    of_cohorts = breakdowns.cohort_dimension
    return [
        cohort_label(value, names) if place == of_cohorts and value not in (NONE, OTHER) else value
        for place, value in enumerate(values)
    ]
