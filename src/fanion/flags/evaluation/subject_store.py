"""Stored values of a subject: at most one read for each kind, behind a circuit breaker."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fanion.db.batching import UNKNOWN, DataLoader, K, V
from fanion.db.engine import RecordsUnavailable
from fanion.flags.engine.evaluate import Needs
from fanion.flags.engine.flag_set import FlagSet
from fanion.flags.engine.model import Subject
from fanion.flags.evaluation.continuity_store import ContinuityWrite
from fanion.persons.state.pending_identities_store import HashKeys

Stored = Mapping[str, Any]

# Interval at which one caller retries a store that did not answer.
RETRY_S = 0.5

# Captured group keys have 400 characters at most. Longer keys match no group, and are cut so that
# caches do not hold them at full length.
GROUP_KEY_CHARS_MAX = 500


class CircuitBreaker:
    """A circuit breaker for reads.

    It opens when a read fails and no read has succeeded since that read began. While it is open,
    one caller every RETRY_S may read; the others fail at once, so that they do not wait for the
    store.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._answers = 0
        self._is_tripped = False
        self._retry_at = 0.0

    def allows_read(self) -> bool:
        if not self._is_tripped:
            return True
        now = self._clock()
        if now < self._retry_at:
            return False
        self._retry_at = now + RETRY_S
        return True

    @property
    def answers(self) -> int:
        """Return the number of answers so far; `failed` takes the number from before its read."""
        return self._answers

    def answered(self) -> None:
        self._answers += 1
        self._is_tripped = False

    def failed(self, answers_before: int) -> None:
        """Record a failed read; it says nothing about the store if others succeeded meanwhile."""
        if self._answers == answers_before:
            self._is_tripped = True
            self._retry_at = self._clock() + RETRY_S


def _breaker() -> CircuitBreaker:
    return CircuitBreaker(time.monotonic)


@dataclass(frozen=True, slots=True)
class SubjectStore:
    """The stores from which evaluation reads.

    Attributes:
        persons: (Project id, distinct id) → stored properties of the person that owns it.
        groups: (Project id, group type index, group key) → stored properties.
        identities: (Project id, distinct id) → identities stored for its person, or for the id
            itself as long as it has no person.
        continuity_writes: What to store → what is stored after the write.
        memberships: (Project id, distinct id) → ids of the cohorts with stored members that include
            the person.
    """

    persons: DataLoader[tuple[int, str], Stored]
    groups: DataLoader[tuple[int, int, str], Stored]
    identities: DataLoader[tuple[int, str], HashKeys]
    continuity_writes: DataLoader[ContinuityWrite, HashKeys]
    memberships: DataLoader[tuple[int, str], frozenset[int]]
    breaker: CircuitBreaker = field(default_factory=_breaker)

    def recent_values(self, project_id: int, subject: Subject, missing: Needs) -> dict[str, Any]:
        """Return those missing values of a subject that were read a moment ago.

        Returns:
            The fields of the subject to replace.
        """
        person = project_id, subject.distinct_id
        known: dict[str, Any] = {}
        if missing.person and (stored := self.persons.recent(person)) is not UNKNOWN:
            known["stored"] = stored or {}
        if missing.cohorts and (cohorts := self.memberships.recent(person)) is not UNKNOWN:
            known["cohorts"] = cohorts or frozenset()
        return known

    async def read_values(
        self,
        project_id: int,
        flag_set: FlagSet,
        subject: Subject,
        missing: Needs,
        anon_distinct_id: str | None = None,
    ) -> dict[str, Any]:
        """Read the missing values of a subject.

        Args:
            anon_distinct_id: The distinct id from before the login; flags with continuity hash it.

        Returns:
            The fields of the subject to replace; None means that a value could not be read.
        """
        person = project_id, subject.distinct_id
        known = self.recent_values(project_id, subject, missing)
        reads: dict[str, Awaitable[Any]] = {}
        if missing.person and "stored" not in known:
            reads["stored"] = self._or_none(self.persons, person, {})
        if missing.groups:
            reads["stored_groups"] = self._groups(project_id, flag_set, missing)
        if missing.cohorts and "cohorts" not in known:
            reads["cohorts"] = self._or_none(self.memberships, person, frozenset())
        if anon_distinct_id is not None and flag_set.continuity:
            reads["hash_keys"] = self._keep_identities(
                person, anon_distinct_id, flag_set.continuity
            )
        elif missing.continuity:
            reads["hash_keys"] = self._or_none(self.identities, person, {})
        if len(reads) == 1:
            ((name, read),) = reads.items()
            known[name] = await read
        elif reads:
            values = await asyncio.gather(*reads.values())
            known.update(zip(reads, values, strict=True))
        return known

    async def _or_none(self, lookup: DataLoader[K, V], key: K, absent: V) -> V | None:
        try:
            value = await self._look_up(lookup, key)
        except RecordsUnavailable:
            return None
        return absent if value is None else value

    async def _look_up(self, lookup: DataLoader[K, V], key: K) -> V | None:
        """Look up a key through the circuit breaker.

        Raises:
            RecordsUnavailable: The store does not answer, or the circuit breaker is open.
        """
        breaker = self.breaker
        if not breaker.allows_read():
            raise RecordsUnavailable("the store does not answer")
        answers = breaker.answers
        try:
            value = await lookup.get(key)
        except RecordsUnavailable:
            breaker.failed(answers)
            raise
        breaker.answered()
        return value

    async def _groups(
        self, project_id: int, flag_set: FlagSet, missing: Needs
    ) -> Mapping[str, Stored] | None:
        keys: Sequence[tuple[int, str]] = sorted(missing.groups)
        values = await asyncio.gather(
            *(self._group((project_id, index, _storable(key))) for index, key in keys)
        )
        names = flag_set.group_types
        known = {
            names[index]: properties
            for (index, _), properties in zip(keys, values, strict=True)
            if properties is not None
        }
        return known if len(known) == len(keys) else None

    async def _group(self, key: tuple[int, int, str]) -> Stored | None:
        return await self._or_none(self.groups, key, {})

    async def _identities(self, person: tuple[int, str]) -> HashKeys | None:
        return await self._look_up(self.identities, person)

    async def _keep_identities(
        self, person: tuple[int, str], anon: str, flags: frozenset[str]
    ) -> HashKeys | None:
        """Read what is stored for both ids, and write what is missing.

        If it cannot be written, the former id decides this one answer.

        Source: flags.md section 9.
        """
        project_id, distinct_id = person
        try:
            own, former = await asyncio.gather(
                self._identities(person), self._identities((project_id, anon))
            )
        except RecordsUnavailable:
            return None
        known = {**(former or {}), **(own or {})}
        new = flags - known.keys()
        if not new:
            return known
        unwritten = {**dict.fromkeys(new, anon), **known}
        try:
            keep = ContinuityWrite(project_id, distinct_id, anon, tuple(sorted(new)))
            return await self._look_up(self.continuity_writes, keep) or unwritten
        except RecordsUnavailable:
            return unwritten


def _storable(text: str) -> str:
    """Return a group key as it is stored; PostgreSQL does not allow NUL."""
    text = text[:GROUP_KEY_CHARS_MAX]
    return text.replace("\0", "\ufffd") if "\0" in text else text
