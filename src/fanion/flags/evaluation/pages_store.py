"""All persons, or all groups of one type, page by page as subjects of evaluation.

Each subject has the stored values that the given flags read. Pages of persons are ordered by UUID.
UUIDs are hashes, so the first persons are a random sample of the project, and always the same one.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import ColumnElement, Row, Select, Text, func, literal, select, type_coerce

from fanion.cohorts.members.store import memberships
from fanion.db.engine import Records
from fanion.db.schema.persons import person_keys
from fanion.db.schema.tables import groups, person_distinct_ids, persons
from fanion.flags.engine.conditions import Reads
from fanion.flags.engine.hashing import sha1
from fanion.flags.engine.model import Subject
from fanion.flags.evaluation.continuity_store import stored_identities
from fanion.persons.state.pending_identities_store import HashKeys

# Subjects per page, which take 20 ms in a thread. Pages are smaller where properties are large:
# those of ROWS_MIN persons are 50 MB at most.
ROWS_MAX, ROWS_MIN = 1_000, 100
PAGE_CHARS = 8 * 2**20
# Group keys that are read at a time to choose a sample.
KEYS_MAX = 20_000

_person = persons.c
_key = person_keys.c
_link = person_distinct_ids.c
_group = groups.c
_decode = msgspec.json.Decoder(dict[str, Any]).decode

Key = tuple[int, str]


@dataclass(frozen=True, slots=True)
class PersonOf:
    """A person, evaluated by one distinct id, the first in order if there are several."""

    uuid: UUID
    subject: Subject


@dataclass(frozen=True, slots=True)
class SubjectPages:
    """Pages of subjects; every call may raise RecordsUnavailable."""

    records: Records

    async def count_persons(self, project_id: int) -> int:
        in_project = _person.project_id == project_id
        return await self._count(select(func.count()).select_from(persons).where(in_project))

    async def count_groups(self, project_id: int, index: int) -> int:
        of_type = (_group.project_id == project_id, _group.group_type_index == index)
        return await self._count(select(func.count()).select_from(groups).where(*of_type))

    async def persons(
        self, project_id: int, reads: Reads, persons_max: int | None = None
    ) -> AsyncGenerator[Sequence[PersonOf]]:
        """Yield pages of persons.

        Args:
            reads: What the flags read; other values are left out of the subjects.
        """
        last: UUID | None = None
        left, size = persons_max, ROWS_MIN
        while left is None or left > 0:
            limit = size if left is None else min(size, left)
            page = _persons(project_id, last, limit, with_properties=bool(reads.person))
            rows = await self.records.fetch(page)
            if not rows:
                return
            yield await self._subjects(project_id, reads, _with_id(rows))
            last, left = rows[-1].uuid, None if left is None else left - len(rows)
            size = next_page(rows)

    async def groups(
        self, project_id: int, index: int, name: str
    ) -> AsyncGenerator[Sequence[Subject]]:
        """Yield pages of all groups of a type, as subjects of which only the group is known.

        Args:
            name: The name of the group type.
        """
        last, size = "", ROWS_MIN
        while rows := await self._groups(project_id, index, _group.group_key > last, size):
            yield await asyncio.to_thread(_group_subjects, name, rows)
            last, size = rows[-1].group_key, next_page(rows)

    async def groups_of(
        self, project_id: int, index: int, name: str, keys: Sequence[str]
    ) -> AsyncGenerator[Sequence[Subject]]:
        """Yield pages of these groups, as subjects of which only the group is known."""
        start, size = 0, ROWS_MIN
        while page_keys := keys[start : start + size]:
            rows = await self._groups(project_id, index, _group.group_key.in_(page_keys), size)
            yield await asyncio.to_thread(_group_subjects, name, rows)
            start, size = start + len(page_keys), next_page(rows)

    async def sample_groups(self, project_id: int, index: int, groups_max: int) -> list[str]:
        """Return the group keys with the lowest hashes, at most `groups_max`."""
        chosen: list[tuple[bytes, str]] = []
        last = ""
        of_type = (_group.project_id == project_id, _group.group_type_index == index)
        page = select(_group.group_key).where(*of_type).order_by(_group.group_key).limit(KEYS_MAX)
        while rows := await self.records.fetch(page.where(_group.group_key > last)):
            last = rows[-1].group_key
            chosen = await asyncio.to_thread(_lowest, chosen, rows, groups_max)
        return [key for _, key in chosen]

    async def _groups(
        self, project_id: int, index: int, condition: ColumnElement[bool], limit: int
    ) -> Sequence[Row[Any]]:
        columns = (_group.group_key, type_coerce(_group.properties, Text).label("text"))
        of_type = (_group.project_id == project_id, _group.group_type_index == index)
        page = select(*columns).where(*of_type, condition).order_by(_group.group_key).limit(limit)
        return await self.records.fetch(page)

    async def _count(self, statement: Select[Any]) -> int:
        return int((await self.records.fetch(statement))[0][0])

    async def _subjects(
        self, project_id: int, reads: Reads, rows: Sequence[Row[Any]]
    ) -> Sequence[PersonOf]:
        keys: list[Key] = [(project_id, row.distinct_id) for row in rows]
        member_of: Mapping[Key, frozenset[int]] = {}
        identities: Mapping[Key, HashKeys] = {}
        if reads.cohorts:
            member_of = await memberships(self.records, keys)
        if reads.continuity:
            identities = await stored_identities(self.records, keys)
        return await asyncio.to_thread(_person_subjects, rows, keys, member_of, identities)


def _with_id(rows: Sequence[Row[Any]]) -> Sequence[Row[Any]]:
    return [row for row in rows if row.distinct_id is not None]


def next_page(rows: Sequence[Row[Any]]) -> int:
    """Return how many rows to read next, judged by the size of the properties in these rows."""
    chars = sum(len(row.text) for row in rows)
    return min(max(PAGE_CHARS * len(rows) // (chars + 1), ROWS_MIN), ROWS_MAX)


def _persons(
    project_id: int, after: UUID | None, limit: int, *, with_properties: bool
) -> Select[Any]:
    """Select persons, each with the first of its distinct ids, or null if it has none."""
    page = select(_key.person_id, _key.uuid).where(_key.project_id == project_id)
    if after is not None:
        page = page.where(_key.uuid > after)
    page_persons = page.order_by(_key.uuid).limit(limit).subquery()
    first = select(func.min(_link.distinct_id)).where(_link.person_id == page_persons.c.person_id)
    distinct_id = first.scalar_subquery().label("distinct_id")
    if not with_properties:
        return select(page_persons.c.uuid, literal("{}").label("text"), distinct_id).order_by(
            page_persons.c.uuid
        )
    text = type_coerce(_person.properties, Text).label("text")
    joined = page_persons.join(persons, _person.id == page_persons.c.person_id)
    return (
        select(page_persons.c.uuid, text, distinct_id)
        .select_from(joined)
        .order_by(page_persons.c.uuid)
    )


def _person_subjects(
    rows: Sequence[Row[Any]],
    keys: Sequence[Key],
    member_of: Mapping[Key, frozenset[int]],
    identities: Mapping[Key, HashKeys],
) -> Sequence[PersonOf]:
    return [
        PersonOf(
            row.uuid,
            Subject(
                row.distinct_id,
                stored=_decode(row.text),
                cohorts=member_of.get(key, frozenset()),
                hash_keys=identities.get(key, {}),
            ),
        )
        for row, key in zip(rows, keys, strict=True)
    ]


def _group_subjects(name: str, rows: Sequence[Row[Any]]) -> Sequence[Subject]:
    return [
        Subject("", groups={name: row.group_key}, stored_groups={name: _decode(row.text)})
        for row in rows
    ]


def _lowest(
    chosen: Sequence[tuple[bytes, str]], rows: Sequence[Row[Any]], groups_max: int
) -> list[tuple[bytes, str]]:
    hashed = (
        (sha1(row.group_key.encode(errors="replace")).digest(), row.group_key) for row in rows
    )
    return nsmallest(groups_max, chain(chosen, hashed))
