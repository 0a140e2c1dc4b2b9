"""What evaluation reads from the stores: at most one read for each kind of thing."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fanion.db.engine import RecordsUnavailable
from fanion.db.lookup import Lookup
from fanion.flags.flag_set import FlagSet
from fanion.flags.needs import Needs
from fanion.flags.subject import Subject

Stored = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Readings:
    """persons: (project id, distinct id) → stored properties of the person that owns it
    groups:  (project id, group type index, group key) → stored properties
    """

    persons: Lookup[tuple[int, str], Stored]
    groups: Lookup[tuple[int, int, str], Stored]

    async def read(
        self, project_id: int, flag_set: FlagSet, subject: Subject, missing: Needs
    ) -> dict[str, Any]:
        """Fields of the subject to replace; None stands for "could not be read"."""
        found: dict[str, Any] = {}
        if missing.person and not missing.groups:
            found["stored"] = await self._person(project_id, subject.distinct_id)
        elif missing.person:
            found["stored"], found["stored_groups"] = await asyncio.gather(
                self._person(project_id, subject.distinct_id),
                self._groups(project_id, flag_set, missing),
            )
        elif missing.groups:
            found["stored_groups"] = await self._groups(project_id, flag_set, missing)
        return found

    async def _person(self, project_id: int, distinct_id: str) -> Stored | None:
        try:
            return await self.persons.get((project_id, distinct_id)) or {}
        except RecordsUnavailable:
            return None

    async def _groups(
        self, project_id: int, flag_set: FlagSet, missing: Needs
    ) -> Mapping[str, Stored] | None:
        wanted: Sequence[tuple[int, str]] = sorted(missing.groups)
        try:
            found = await asyncio.gather(
                *(self.groups.get((project_id, index, key)) for index, key in wanted)
            )
        except RecordsUnavailable:
            return None
        names = flag_set.group_types
        return {
            names[index]: properties or {}
            for (index, _), properties in zip(wanted, found, strict=True)
        }
