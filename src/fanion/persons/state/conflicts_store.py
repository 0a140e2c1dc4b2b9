"""Checks for persons that have changed since a batch or an edit read them."""

from collections.abc import Collection, Mapping
from typing import Any

import msgspec
from sqlalchemy import Connection, Executable, bindparam, select, text

from fanion.db.bulk import in_chunks
from fanion.db.engine import RecordsUnavailable
from fanion.db.schema.tables import persons

_person = persons.c
# The rows are locked in the order in which the ids are given.
_VERSIONS: Mapping[str, Executable] = {
    "postgresql": text(
        """
  SELECT person.id, person.version
    FROM UNNEST((SELECT CAST(:persons AS bigint[]))) AS used (id)
   CROSS JOIN LATERAL (SELECT id, version FROM persons WHERE id = used.id FOR UPDATE) AS person
"""
    ),
    "sqlite": (
        select(_person.id, _person.version).where(
            _person.id.in_(bindparam("persons", expanding=True))
        )
    ),
}
# Versions only grow: if the number of persons and the sum of
# their versions are unchanged, so is each version.
_SUM = {
    "postgresql": text(
        """
  SELECT COUNT(*) AS persons, COALESCE(SUM(person.version), 0) AS versions
    FROM UNNEST((SELECT CAST(:ids AS bigint[]))) AS used (id)
   CROSS JOIN LATERAL (SELECT version FROM persons WHERE id = used.id LIMIT 1) AS person
"""
    ),
    "sqlite": text(
        """
  SELECT COUNT(*) AS persons, COALESCE(SUM(version), 0) AS versions
    FROM persons
   WHERE id IN (SELECT value FROM json_each(:ids))
"""
    ),
}
_CHANGED = text(
    """
  SELECT used.id, used.version
    FROM UNNEST((SELECT CAST(:ids AS bigint[])), (SELECT CAST(:versions AS bigint[])))
         AS used (id, version)
    LEFT JOIN LATERAL (SELECT version FROM persons WHERE id = used.id LIMIT 1) AS person ON TRUE
   WHERE person.version IS DISTINCT FROM used.version
"""
)


class PersonsChanged(RecordsUnavailable):
    """A conflict: persons that a batch or an edit is based on were changed since they were read.

    The caller must forget what it read, read it again and retry.
    """


def require_unchanged(connection: Connection, expected: Mapping[int, int]) -> None:
    """Lock persons until the transaction ends, and raise PersonsChanged if one has changed.

    Args:
        expected: The versions that were read, by id.
    """
    for ids in in_chunks(sorted(expected)):
        rows = connection.execute(_VERSIONS[connection.dialect.name], {"persons": ids})
        if dict(rows.all()) != {person_id: expected[person_id] for person_id in ids}:
            raise PersonsChanged("persons were changed since they were read")


def require_current(connection: Connection, used: Mapping[int, int]) -> None:
    """Raise PersonsChanged unless the persons still have their versions, without locking them.

    The persons are not written, so that later changes by others do not conflict: the order of the
    two is that of their commits.

    Args:
        used: The versions that were read, by id.
    """
    if used and not _are_as_used(connection, used, sum(used.values())):
        raise PersonsChanged("persons were changed since they were read")


def changed_persons(
    connection: Connection, used: Collection[tuple[int, int]]
) -> set[tuple[int, int]]:
    """Return the (id, version) pairs whose person has another version or is deleted.

    Only for PostgreSQL, which is the only engine that servers share.
    """
    if not used:
        return set()
    distinct = {number for number, _ in used}
    total = sum(version for _, version in used)
    if len(distinct) == len(used) and _are_as_used(connection, distinct, total):
        return set()
    ids, versions = map(list, zip(*used, strict=True))
    rows = connection.execute(_CHANGED, {"ids": ids, "versions": versions})
    return {(row.id, row.version) for row in rows}


def _are_as_used(connection: Connection, used: Collection[int], versions: int) -> bool:
    """Return whether persons still have the versions with this sum.

    Args:
        used: Ids of persons.
        versions: The sum of the versions that they had.
    """
    ids: Any = list(used)
    if connection.dialect.name == "sqlite":
        ids = msgspec.json.encode(ids).decode()
    stored = connection.execute(_SUM[connection.dialect.name], {"ids": ids}).one()
    return (stored.persons, stored.versions) == (len(used), versions)
