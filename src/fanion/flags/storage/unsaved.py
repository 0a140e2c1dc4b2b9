"""A flag as it would be after a save: checked as a save checks it, and not written."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from fanion.db.schema.tables import feature_flags
from fanion.flags.engine.definition import FlagDefinitions, FlagRow
from fanion.flags.storage.changes import (
    changed_values,
    columns_of,
    key_is_taken,
    require_references,
)
from fanion.flags.storage.integrity import require_computable
from fanion.flags.storage.store import StoredFlag, definitions_around, flag_row
from fanion.rest.validation import INTEGER_MAX

# Of a flag that has none yet: no condition can name it by this.
NEW_FLAG_ID = INTEGER_MAX

_flag = feature_flags.c


@dataclass(frozen=True, slots=True)
class FlagVersion:
    """row:    the flag in one of the two versions; None where there is none
    around: what it is compiled from, itself included; without flags where there is none
    """

    row: FlagRow | None
    around: FlagDefinitions


@dataclass(frozen=True, slots=True)
class UnsavedFlag:
    """saved: without a flag for a new one, and for one that is deleted"""

    flag: StoredFlag | None
    saved: FlagVersion
    unsaved: FlagVersion


def check_unsaved(
    connection: Connection, project_id: int, flag: StoredFlag | None, wanted: Mapping[str, Any]
) -> UnsavedFlag:
    """flag:   as it is stored; None for a new one
    wanted: by column, as for `create_flag` and `change_flag`
    raises: Invalid, as these do
    """
    stored = {} if flag is None else columns_of(flag)
    values = dict(wanted) if flag is None else changed_values(stored, wanted)
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
