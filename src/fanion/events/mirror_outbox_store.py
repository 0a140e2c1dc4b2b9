"""Which persons, overrides and groups the event store's mirror still lacks.

The mirror is told of a change after its transaction is committed, so that it never shows what was
not. The transaction notes here what it changes; the note is deleted once the mirror has the rows.
Notes that a process has left behind when it ended are taken up by `ingest.mirror_worker`.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Connection, delete, func, insert, select

from fanion.db.schema.persons import mirror_outbox

_outbox = mirror_outbox.c


@dataclass(frozen=True, slots=True)
class Unmirrored:
    """version: of the rows, unique; persons: those that were merged are included, for their
    overrides; groups: by type index and key"""

    version: int
    project_id: int
    persons: Sequence[UUID] = ()
    groups: Sequence[tuple[int, str]] = ()


def note_unmirrored(connection: Connection, changes: Iterable[Unmirrored]) -> None:
    """In the transaction that makes the changes."""
    rows = [
        {
            "version": one.version,
            "project_id": one.project_id,
            "persons": b"".join(person.bytes for person in one.persons),
            "groups": [list(group) for group in one.groups],
        }
        for one in changes
        if one.persons or one.groups
    ]
    if rows:
        connection.execute(insert(mirror_outbox), rows)


def forget_mirrored(connection: Connection, versions: Collection[int]) -> None:
    """The mirror has what was noted under these versions."""
    if versions:
        connection.execute(delete(mirror_outbox).where(_outbox.version.in_(list(versions))))


def unmirrored_versions(connection: Connection) -> list[int]:
    """Of all notes, the oldest first."""
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
    """Whether the mirror of a project may still be sent rows of a version up to that one."""
    wanted = _outbox.project_id == project_id, _outbox.version <= upto
    return connection.execute(select(_outbox.version).where(*wanted).limit(1)).first() is not None
