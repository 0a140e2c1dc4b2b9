"""A flag as it would be saved: validated like a save, but not written."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from fanion.db.schema.tables import feature_flags
from fanion.flags.definitions.changes_store import (
    changed_values,
    key_is_taken,
    require_references,
)
from fanion.flags.definitions.integrity_store import require_computable
from fanion.flags.definitions.store import (
    StoredFlag,
    columns_of,
    definitions_around,
    flag_row,
)
from fanion.flags.engine.definition import FlagDefinitions, FlagRow
from fanion.rest.validation import INTEGER_MAX

# The id of a flag that is not created yet; no condition can refer to it.
NEW_FLAG_ID = INTEGER_MAX

_flag = feature_flags.c


@dataclass(frozen=True, slots=True)
class FlagVersion:
    """The saved or the unsaved version of a flag.

    Attributes:
        row: None if there is no flag in this version.
        around: What the flag is compiled from, including the flag itself; no flags if there is
            none.
    """

    row: FlagRow | None
    around: FlagDefinitions


@dataclass(frozen=True, slots=True)
class UnsavedFlag:
    """A flag before and after a change that is not saved.

    Attributes:
        flag: The stored flag; None for a new one.
        saved: Has no flag if the flag is new or deleted.
    """

    flag: StoredFlag | None
    saved: FlagVersion
    unsaved: FlagVersion


def check_unsaved(
    connection: Connection, project_id: int, flag: StoredFlag | None, requested: Mapping[str, Any]
) -> UnsavedFlag:
    """Validate a change as a save would, and return both versions of the flag.

    Args:
        flag: The stored flag; None for a new one.
        requested: By column, as for `create_flag` and `change_flag`.

    Raises:
        Invalid: The save would fail.
    """
    stored = {} if flag is None else columns_of(flag)
    values = dict(requested) if flag is None else changed_values(stored, requested)
    row = {"id": NEW_FLAG_ID, **stored, **values, "project_id": project_id}
    require_references(connection, project_id, flag, values)
    if "key" in values and _is_taken(connection, row):
        raise key_is_taken()
    require_computable(connection, row, values, stored.get("key", row["key"]))
    return UnsavedFlag(
        flag,
        _version(connection, project_id, None if flag is None else flag.definition),
        _version(connection, project_id, flag_row(row)),
    )


def _version(connection: Connection, project_id: int, row: FlagRow | None) -> FlagVersion:
    there = None if row is None or row.deleted else row
    return FlagVersion(there, definitions_around(connection, project_id, there))


def _is_taken(connection: Connection, row: Mapping[str, Any]) -> bool:
    others = (_flag.project_id == row["project_id"], _flag.id != row["id"])
    same = select(_flag.id).where(*others, _flag.key == row["key"], _flag.deleted.is_(False))
    return connection.execute(same.limit(1)).first() is not None
