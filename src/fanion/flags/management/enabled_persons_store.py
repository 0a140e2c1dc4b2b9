"""The persons of a project for whom a flag is on.

source: cohorts.md section 10, "Other ways"
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import Row, Text, func, select, type_coerce

from fanion.cohorts.criteria.behaviour import CriteriaError
from fanion.cohorts.members_store import memberships
from fanion.db.schema.tables import person_distinct_ids, persons
from fanion.flags.engine.evaluate import evaluate
from fanion.flags.engine.flag_set import FlagSet
from fanion.flags.engine.model import Subject
from fanion.flags.evaluation.compiled import build
from fanion.flags.evaluation.continuity_store import stored_identities
from fanion.flags.storage.store import FlagStore
from fanion.persons.pending_identities_store import HashKeys

# Read and decided together: 20 ms of a thread.
PERSONS_MAX = 1_000

_person = persons.c
_link = person_distinct_ids.c
_decode = msgspec.json.Decoder(dict[str, Any]).decode

Key = tuple[int, str]


@dataclass(frozen=True, slots=True)
class EnabledPersons:
    store: FlagStore
    now: Callable[[], datetime]

    async def of(self, project_id: int, flag_id: str) -> AsyncGenerator[Sequence[UUID]]:
        """No person for flags that are switched off, deleted, or go by group. Of several distinct
        ids of one person the first that is listed counts.

        flag_id: in decimal
        raises:  CriteriaError when the flag cannot be computed, RecordsUnavailable
        """
        definitions = await self.store.definitions(project_id)
        flag_set = (await asyncio.to_thread(build, definitions)).flag_set
        key = flag_set.keys_by_id.get(flag_id, "")
        if key in flag_set.problems:
            raise _not_computable(key, flag_set.problems[key])
        if key not in flag_set.by_key or _goes_by_group(flag_set, key):
            return
        now = self.now()
        async for rows in self._pages(project_id):
            subjects = await self._subjects(flag_set, key, project_id, rows)
            yield await asyncio.to_thread(_enabled, flag_set, key, subjects, now)

    async def _pages(self, project_id: int) -> AsyncGenerator[Sequence[Row[Any]]]:
        """Persons with one of their distinct ids."""
        page = (
            select(
                _person.id,
                _person.uuid,
                type_coerce(_person.properties, Text).label("properties"),
                func.min(_link.distinct_id).label("distinct_id"),
            )
            .join(person_distinct_ids, _link.person_id == _person.id)
            .where(_person.project_id == project_id)
            .group_by(_person.id)
            .order_by(_person.id)
            .limit(PERSONS_MAX)
        )
        last = 0
        while rows := await self.store.records.fetch(page.where(_person.id > last)):
            yield rows
            last = rows[-1].id

    async def _subjects(
        self, flag_set: FlagSet, key: str, project_id: int, rows: Sequence[Row[Any]]
    ) -> Mapping[UUID, Subject]:
        reads = flag_set.by_key[key].reads
        asked: list[Key] = [(project_id, row.distinct_id) for row in rows]
        member_of: Mapping[Key, frozenset[int]] = {}
        identities: Mapping[Key, HashKeys] = {}
        if reads.cohorts:
            member_of = await memberships(self.store.records, asked)
        if reads.continuity:
            identities = await stored_identities(self.store.records, asked)
        return {
            row.uuid: Subject(
                row.distinct_id,
                stored=_decode(row.properties),
                cohorts=member_of.get(one, frozenset()),
                hash_keys=identities.get(one, {}),
            )
            for row, one in zip(rows, asked, strict=True)
        }


def _goes_by_group(flag_set: FlagSet, key: str) -> bool:
    rules = flag_set.flags[key].rules
    return rules is not None and rules.group_type_index is not None


def _enabled(
    flag_set: FlagSet, key: str, subjects: Mapping[UUID, Subject], now: datetime
) -> Sequence[UUID]:
    """raises: CriteriaError"""
    enabled = []
    for person, subject in subjects.items():
        found = evaluate(flag_set, subject, now, [key])
        if found.failed:
            raise _not_computable(key, "it cannot be evaluated for some persons")
        if found.decisions[key].enabled:
            enabled.append(person)
    return enabled


def _not_computable(key: str, why: str) -> CriteriaError:
    return CriteriaError(f"The feature flag {key} cannot be computed: {why}.")
