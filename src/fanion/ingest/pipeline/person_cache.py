"""The persons of recent batches, so that a batch reads only those that are new to it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from weakref import WeakValueDictionary

from fanion.persons.merge import PersonState

# Those that were seen longest ago make room, of the project that was seen longest ago.
DISTINCT_IDS_MAX = 150_000
# Of properties as JSON, which take two to three times as much in memory.
BYTES_MAX = 128 * 2**20


class PersonCache:
    """What this process changes of persons it drops here, and it forgets all of them when what was
    applied to them could not be written. What another server changes shows in the version."""

    def __init__(
        self, distinct_ids_max: int = DISTINCT_IDS_MAX, bytes_max: int = BYTES_MAX
    ) -> None:
        self._distinct_ids_max = distinct_ids_max
        self._bytes_max = bytes_max
        # By project and distinct id, both in the order in which they were last seen, with the
        # size of the properties; a person counts for each distinct id under which it is cached.
        self._persons: dict[int, dict[str, tuple[PersonState, int]]] = {}
        self._count = self._bytes = 0
        # One state for each person, by whichever distinct id it is met.
        self._by_id: WeakValueDictionary[int, PersonState] = WeakValueDictionary()
        self._floors: dict[int, int] = {}

    def find(
        self, project_id: int, distinct_ids: Sequence[str]
    ) -> tuple[dict[str, PersonState], list[str]]:
        """The persons that are known, and the distinct ids to read."""
        persons = self._persons.get(project_id, {})
        known = {name: persons[name][0] for name in distinct_ids if name in persons}
        return known, [name for name in distinct_ids if name not in known]

    def same(self, read: Mapping[str, PersonState]) -> dict[str, PersonState]:
        """The states just read, those of persons that are known replaced by what is known, unless
        that is of another version: then another server has changed the person."""
        found: dict[str, PersonState] = {}
        for name, person in read.items():
            known = None if person.id is None else self._by_id.get(person.id)
            is_same = known is not None and known.version == person.version
            found[name] = known if known is not None and is_same else person
        return found

    def keep(self, project_id: int, owners: Mapping[str, PersonState]) -> None:
        """owners: by distinct id, as they were written"""
        persons = self._persons.pop(project_id, {})
        self._persons[project_id] = persons
        self._count -= len(persons)
        for distinct_id, person in owners.items():
            known, size = persons.pop(distinct_id, (None, 0))
            size_now = person.properties_bytes
            self._bytes += size_now - size
            persons[distinct_id] = (person, size_now)
            if known is not person and person.id is not None:
                self._by_id[person.id] = person
        self._count += len(persons)
        while self._count > self._distinct_ids_max or self._bytes > self._bytes_max:
            self._make_room()

    def _make_room(self) -> None:
        project_id, persons = next(iter(self._persons.items()))
        excess = max(self._count - self._distinct_ids_max, 1)
        for distinct_id in list(islice(persons, min(excess, len(persons)))):
            self._remove(persons, distinct_id)
        if not persons:
            del self._persons[project_id]

    def _remove(self, persons: dict[str, tuple[PersonState, int]], distinct_id: str) -> None:
        _, size = persons.pop(distinct_id)
        self._count -= 1
        self._bytes -= size

    def drop(self, project_id: int, person_id: int, distinct_ids: Iterable[str]) -> None:
        """A person that was changed outside ingestion. distinct_ids: all of its own"""
        persons = self._persons.get(project_id, {})
        for distinct_id in distinct_ids:
            if distinct_id in persons:
                self._remove(persons, distinct_id)
        self._by_id.pop(person_id, None)

    def let_go(
        self,
        project_id: int,
        persons: Mapping[str, PersonState],
        changed: Collection[tuple[int | None, int]],
    ) -> None:
        """Persons that another server has changed. One that is remembered by a further distinct id
        is found to be changed when it is met by that.

        persons: as `find` gave them; changed: number and version of what is true no more
        """
        remembered = self._persons.get(project_id, {})
        for name, person in persons.items():
            if (person.id, person.version) in changed:
                self._remove(remembered, name)
                if person.id is not None and self._by_id.get(person.id) is person:
                    del self._by_id[person.id]

    def heed_deletions(self, floors: Mapping[int, int]) -> None:
        """floors: by project, a number that moves when any server deletes a person"""
        if any(self._floors.get(project_id) != floor for project_id, floor in floors.items()):
            self.forget()
            self._floors.update(floors)

    def forget(self) -> None:
        self._persons.clear()
        self._count = self._bytes = 0
        self._by_id.clear()
