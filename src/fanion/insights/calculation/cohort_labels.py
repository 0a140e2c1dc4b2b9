"""The labels that the cohorts of a breakdown have in answers."""

from collections.abc import Mapping
from typing import Final

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
