"""The pending imports of static cohorts in the records store.

An import is an uploaded file, a copy of another cohort's members, or a query that finds members.
A file is stored in parts, in small transactions, and belongs to no cohort until it is complete and
a last transaction assigns it. An import without a cohort (the upload failed, the server died, or
the import is done) is deleted in steps.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import IO, Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Select, delete, insert, or_, select, update

from fanion.activity.model import Author
from fanion.cohorts.imports.csv_ids import no_ids, read_csv
from fanion.cohorts.model import IdKind, ImportQuery, MembersImport, PendingImport
from fanion.db.engine import Records
from fanion.db.schema.cohorts import cohort_import_parts, cohort_imports, cohorts
from fanion.db.schema.persons import person_keys
from fanion.db.schema.tables import person_distinct_ids, person_overrides, persons
from fanion.errors import Unavailable

_cohort = cohorts.c
_import = cohort_imports.c
_part = cohort_import_parts.c
_person = persons.c
_key = person_keys.c
_link = person_distinct_ids.c
_override = person_overrides.c

# `written_at` of an import that is no longer needed, so that it is removed next.
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)

# Ids in one part, written in one transaction: 75 kB of UUIDs.
IDS_MAX = 2_000
# Parts removed in one transaction.
PARTS_MAX = 50
# An upload that has written nothing for so long counts as ended.
UPLOAD_TIMEOUT = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class PersonLookup:
    """A lookup of persons by their ids.

    Attributes:
        ids: Each once.
        persons: Selects the numeric ids of the persons, each once.
        known: Statements of which each selects ids that have a person.
        is_unique: Whether an id has at most one person. Then every id has a person if there are as
            many persons as ids.
    """

    ids: Sequence[str | UUID]
    persons: Select[Any]
    known: Sequence[Select[Any]]
    is_unique: bool = True


@dataclass(frozen=True, slots=True)
class ImportStore:
    records: Records
    now: Callable[[], datetime]

    @asynccontextmanager
    async def store_upload(
        self, project_id: int, file: IO[bytes] | None
    ) -> AsyncGenerator[MembersImport | None]:
        """Store the ids of a file, and yield their import; None without a file.

        An import that no cohort owns when the context ends is dropped.

        Raises:
            Invalid: The file cannot be read.
        """
        if file is None:
            yield None
            return
        members = await asyncio.to_thread(read_csv, file)
        upload_id = await self._begin_upload(project_id, members.kind)
        try:
            number = 0
            while some := await asyncio.to_thread(members.take_ids, IDS_MAX):
                await self._add_part(upload_id, number, some)
                number += 1
            if not number:
                raise no_ids()
            yield MembersImport(upload_id)
        finally:
            await self._forget_upload(upload_id)

    async def upload_ids(self, upload_id: int) -> AsyncGenerator[Sequence[str]]:
        """Yield the ids of an upload, part by part."""
        statement = select(_part.number, _part.ids).where(_part.import_id == upload_id)
        number = -1
        while True:
            following = statement.where(_part.number > number).order_by(_part.number).limit(1)
            async with self.records.read() as connection:
                row = (await connection.execute(following)).first()
            if row is None:
                return
            number = row.number
            yield row.ids

    async def pending_imports(self, cohort_id: int) -> Sequence[PendingImport]:
        """Return the imports of the cohort, oldest first."""
        statement = (
            select(_import.id, _import.kind, _import.source_id, _import.source_version)
            .where(_import.cohort_id == cohort_id)
            .order_by(_import.id)
        )
        async with self.records.read() as connection:
            return [PendingImport(*row) for row in await connection.execute(statement)]

    async def clear_unowned(self) -> bool:
        """Delete some parts of imports without a cohort.

        Returns:
            Whether there may be more.
        """
        until = self.now() - UPLOAD_TIMEOUT
        if not await self.records.fetch(_left(until)):
            return False  # without waiting for the only write transaction
        async with self.records.write() as connection:
            return await connection.run_sync(_clear_import, until)

    async def _begin_upload(self, project_id: int, kind: IdKind) -> int:
        async with self.records.write() as connection:
            return await connection.run_sync(_insert_import, project_id, kind, self.now())

    async def _add_part(self, upload_id: int, number: int, ids: Sequence[str]) -> None:
        async with self.records.write() as connection:
            await connection.execute(
                update(cohort_imports).where(_import.id == upload_id).values(written_at=self.now())
            )
            await connection.execute(
                insert(cohort_import_parts).values(import_id=upload_id, number=number, ids=ids)
            )

    async def _forget_upload(self, upload_id: int) -> None:
        async with self.records.write() as connection:
            await connection.execute(
                update(cohort_imports)
                .where(_import.id == upload_id, _import.cohort_id.is_(None))
                .values(written_at=LONG_AGO)
            )


def by_person_id(project_id: int, ids: Sequence[UUID]) -> PersonLookup:
    """Return the lookup by UUID; a merged person stands for the one it was merged into."""
    mine = _override.project_id == project_id
    became = select(_override.new_person).where(mine, _override.old_person.in_(ids))
    own = _key.project_id == project_id
    merged = select(_override.old_person).join(
        person_keys, (_key.uuid == _override.new_person) & own
    )
    return PersonLookup(
        ids,
        select(_key.person_id).where(own, or_(_key.uuid.in_(ids), _key.uuid.in_(became))),
        (
            select(_key.uuid).where(own, _key.uuid.in_(ids)),
            merged.where(mine, _override.old_person.in_(ids)),
        ),
    )


def by_distinct_id(project_id: int, ids: Sequence[str]) -> PersonLookup:
    theirs = (_link.project_id == project_id) & _link.distinct_id.in_(ids)
    return PersonLookup(
        ids,
        select(_link.person_id).where(theirs).distinct(),
        (select(_link.distinct_id).where(theirs),),
    )


def by_email(project_id: int, emails: Sequence[str]) -> PersonLookup:
    """Return the lookup by e-mail address, which several persons may share.

    Args:
        emails: In lower case.
    """
    theirs = (_person.project_id == project_id) & _person.email.in_(emails)
    return PersonLookup(
        emails,
        select(_person.id).where(theirs),
        (select(_person.email).where(theirs).distinct(),),
        is_unique=False,
    )


# Lookups by the kind of ids that the rows of a file hold.
LOOKUPS: Mapping[str, Callable[[int, Sequence[Any]], PersonLookup]] = {
    "person_id": by_person_id,
    "distinct_id": by_distinct_id,
    "email": by_email,
}


def store_uploaded_ids(
    connection: Connection, project_id: int, kind: IdKind, ids: Sequence[str], now: datetime
) -> MembersImport:
    """Store the ids of an upload in the caller's transaction."""
    upload_id = _insert_import(connection, project_id, kind, now)
    for number, start in enumerate(range(0, len(ids), IDS_MAX)):
        some = ids[start : start + IDS_MAX]
        connection.execute(
            insert(cohort_import_parts).values(import_id=upload_id, number=number, ids=some)
        )
    return MembersImport(upload_id)


def pending_ids(connection: Connection, cohort_id: int, kind: IdKind) -> Iterable[str]:
    """Return the ids of this kind in all files that are still to be imported into the cohort."""
    parts = connection.scalars(
        select(_part.ids)
        .join(cohort_imports, _import.id == _part.import_id)
        .where(_import.cohort_id == cohort_id, _import.kind == kind)
    )
    return [imported_id for ids in parts for imported_id in ids]


def _insert_import(connection: Connection, project_id: int, kind: IdKind, now: datetime) -> int:
    statement = insert(cohort_imports).values(project_id=project_id, kind=kind, written_at=now)
    upload_id: int = connection.execute(statement.returning(_import.id)).scalar_one()
    return upload_id


def _left(until: datetime) -> Select[Any]:
    unowned = _import.cohort_id.is_(None) & (_import.written_at <= until)
    return select(_import.id).where(unowned).order_by(_import.id).limit(1)


def _clear_import(connection: Connection, until: datetime) -> bool:
    upload_id = connection.scalar(_left(until).with_for_update(skip_locked=True))
    if upload_id is None:
        return False
    some = select(_part.number).where(_part.import_id == upload_id).limit(PARTS_MAX)
    gone = connection.execute(
        delete(cohort_import_parts).where(_part.import_id == upload_id, _part.number.in_(some))
    )
    if gone.rowcount < PARTS_MAX:
        connection.execute(delete(cohort_imports).where(_import.id == upload_id))
    return True


def drop_imports(connection: Connection, which: ColumnElement[bool]) -> None:
    """Detach imports from their cohort; they are deleted later, in steps."""
    connection.execute(
        update(cohort_imports).where(which).values(cohort_id=None, written_at=LONG_AGO)
    )


def add_import(
    connection: Connection, author: Author, cohort_id: int, members: MembersImport | None
) -> None:
    if members is None:
        return
    if members.source_id is not None:
        version = select(_cohort.version).where(_cohort.id == members.source_id)
        connection.execute(
            insert(cohort_imports).values(
                project_id=author.project_id,
                cohort_id=cohort_id,
                source_id=members.source_id,
                source_version=version.scalar_subquery(),
                written_at=author.now,
            )
        )
        return
    if members.query is not None:
        _add_query(connection, author, cohort_id, members.query)
        return
    given = connection.execute(
        update(cohort_imports)
        .where(_import.id == members.upload_id, _import.cohort_id.is_(None))
        .values(cohort_id=cohort_id)
    )
    if given.rowcount != 1:
        raise Unavailable("The uploaded file has expired. Please upload it again.")


def _add_query(connection: Connection, author: Author, cohort_id: int, query: ImportQuery) -> None:
    statement = insert(cohort_imports).values(
        project_id=author.project_id,
        cohort_id=cohort_id,
        kind=query.kind,
        written_at=author.now,
    )
    import_id = connection.execute(statement.returning(_import.id)).scalar_one()
    connection.execute(
        insert(cohort_import_parts).values(import_id=import_id, number=0, ids=[query.text])
    )
