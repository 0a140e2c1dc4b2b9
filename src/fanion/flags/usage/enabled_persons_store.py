"""The persons of a project for whom a flag is on.

Source: cohorts.md section 10, "Other ways".
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from fanion.cohorts.criteria.definition import CriteriaError
from fanion.flags.definitions.store import FlagStore
from fanion.flags.engine.evaluate import evaluate
from fanion.flags.engine.flag_set import FlagSet
from fanion.flags.evaluation.compiled import build_compiled_flags
from fanion.flags.evaluation.pages_store import PersonOf, SubjectPages


@dataclass(frozen=True, slots=True)
class EnabledPersons:
    store: FlagStore
    now: Callable[[], datetime]

    async def enabled_persons(
        self, project_id: int, flag_id: str
    ) -> AsyncGenerator[Sequence[UUID]]:
        """Yield pages of the persons for whom the flag is on.

        A person with several distinct ids is evaluated by the first in order. There are no persons
        for flags that are switched off, deleted or group-based.

        Args:
            flag_id: In decimal.

        Raises:
            CriteriaError: The flag cannot be computed.
            RecordsUnavailable: The store does not answer.
        """
        definitions = await self.store.definitions(project_id)
        flag_set = (await asyncio.to_thread(build_compiled_flags, definitions)).flag_set
        key = flag_set.keys_by_id.get(flag_id, "")
        if key in flag_set.problems:
            raise _not_computable(key, flag_set.problems[key])
        if key not in flag_set.by_key or _goes_by_group(flag_set, key):
            return
        now, reads = self.now(), flag_set.by_key[key].reads
        async for persons in SubjectPages(self.store.records).persons(project_id, reads):
            yield await asyncio.to_thread(_enabled, flag_set, key, persons, now)


def _goes_by_group(flag_set: FlagSet, key: str) -> bool:
    rules = flag_set.flags[key].rules
    return rules is not None and rules.group_type_index is not None


def _enabled(
    flag_set: FlagSet, key: str, persons: Sequence[PersonOf], now: datetime
) -> Sequence[UUID]:
    """Return the persons for whom the flag is on.

    Raises:
        CriteriaError: The flag cannot be computed for a person.
    """
    enabled = []
    for person in persons:
        evaluation = evaluate(flag_set, person.subject, now, [key])
        if evaluation.failed:
            raise _not_computable(key, "it cannot be evaluated for some persons")
        if evaluation.decisions[key].enabled:
            enabled.append(person.uuid)
    return enabled


def _not_computable(key: str, why: str) -> CriteriaError:
    return CriteriaError(f"The feature flag {key} cannot be computed: {why}.")
