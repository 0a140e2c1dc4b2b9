"""Building the question for the counting process, from both versions of a flag."""

from collections.abc import Iterator
from datetime import datetime

import msgspec

from fanion.errors import Invalid
from fanion.flags.engine.definition import FlagRow, parse_rules
from fanion.flags.preview.change import Question, Version
from fanion.flags.storage.unsaved import FlagVersion, UnsavedFlag

_encode = msgspec.json.Encoder().encode


def question_of(project_id: int, flag: UnsavedFlag, now: datetime) -> Question:
    """Return the question about a change.

    Raises:
        Invalid: One version is evaluated for persons and the other for groups, or for groups of
            another type.
    """
    rows = [version.row for version in (flag.saved, flag.unsaved) if version.row is not None]
    # A flag that is off has the same value for persons and for groups.
    indexes = set(_indexes(row for row in rows if row.active)) or set(_indexes(iter(rows)))
    if len(indexes) > 1:
        raise Invalid(
            "Values for persons and values for groups, or for groups of another type, cannot be "
            "compared.",
            code="not_comparable",
            attr="filters",
        )
    index = indexes.pop() if indexes else None
    return Question(project_id, _version(flag.saved), _version(flag.unsaved), index, now)


def _indexes(rows: Iterator[FlagRow]) -> Iterator[int | None]:
    """Yield the group types of filters that can be read; flags with others have no value."""
    for row in rows:
        try:
            yield parse_rules(row.filters, row.rollout_percentage).group_type_index
        except ValueError:
            continue


def _version(version: FlagVersion) -> Version:
    return Version("" if version.row is None else version.row.key, _encode(version.around))
