"""The persons, overrides and groups that the event store's mirror still lacks.

The mirror is sent a change after its transaction is committed, so that it never shows anything
uncommitted. The transaction notes here what it changes; the note is deleted once the mirror has
the rows. Notes left by processes that have ended are taken up by `ingest.mirror_worker`.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Connection, delete, func, insert, select

from fanion.db.schema.persons import mirror_outbox

_outbox = mirror_outbox.c


@dataclass(frozen=True, slots=True)
class Unmirrored:
    """A note of changes to mirror.

    Attributes:
        version: The version of the rows; unique.
        persons: Includes merged persons, for their overrides.
        groups: By type index and key.
    """

    version: int
    project_id: int
    persons: Sequence[UUID] = ()
    groups: Sequence[tuple[int, str]] = ()


def note_unmirrored(connection: Connection, changes: Iterable[Unmirrored]) -> None:
    """Note changes, in the transaction that makes them."""
    rows = [
        {
            "version": change.version,
            "project_id": change.project_id,
            "persons": b"".join(person.bytes for person in change.persons),
            "groups": [list(group) for group in change.groups],
        }
        for change in changes
        if change.persons or change.groups
    ]
    if rows:
        connection.execute(insert(mirror_outbox), rows)


def forget_mirrored(connection: Connection, versions: Collection[int]) -> None:
    """Delete the notes of these versions, which the mirror has."""
    if versions:
        connection.execute(delete(mirror_outbox).where(_outbox.version.in_(list(versions))))


def unmirrored_versions(connection: Connection) -> list[int]:
    """Return the versions of all notes, the oldest first."""
    return list(connection.scalars(select(_outbox.version).order_by(_outbox.version)))


def count_unmirrored(connection: Connection) -> int:
    return connection.execute(select(func.count()).select_from(mirror_outbox)).scalar_one()


def read_unmirrored(connection: Connection, version: int) -> Unmirrored | None:
    row = connection.execute(select(mirror_outbox).where(_outbox.version == version)).first()
    if row is None:
        return None
    packed = bytes(row.persons)
    persons = [UUID(bytes=packed[at : at + 16]) for at in range(0, len(packed), 16)]
    return Unmirrored(version, row.project_id, persons, [tuple(group) for group in row.groups])


def is_unmirrored(connection: Connection, project_id: int, upto: int) -> bool:
    """Return whether rows of a version up to `upto` may still be sent to a project's mirror."""
    conditions = _outbox.project_id == project_id, _outbox.version <= upto
    return (
        connection.execute(select(_outbox.version).where(*conditions).limit(1)).first() is not None
    )
