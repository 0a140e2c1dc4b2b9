"""A cache of the persons of recent batches, so that a batch reads only the others."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from weakref import WeakValueDictionary

from fanion.persons.merge import PersonState

# The least recently used persons of the least recently used project are evicted.
DISTINCT_IDS_MAX = 150_000
# The limit of the properties as JSON, which take two to three times as much in memory.
BYTES_MAX = 128 * 2**20


class PersonCache:
    """A cache of persons by project and distinct id.

    This process evicts persons that it changes elsewhere, and clears the cache if changes applied
    to cached persons could not be written. The version shows whether another server changed a
    person.
    """

    def __init__(
        self, distinct_ids_max: int = DISTINCT_IDS_MAX, bytes_max: int = BYTES_MAX
    ) -> None:
        self._distinct_ids_max = distinct_ids_max
        self._bytes_max = bytes_max
        # By project and distinct id, both in the order of last use, with the size of the
        # properties. A person counts for each distinct id under which it is cached.
        self._persons: dict[int, dict[str, tuple[PersonState, int]]] = {}
        self._count = self._bytes = 0
        # One state for each person, whichever distinct id leads to it.
        self._by_id: WeakValueDictionary[int, PersonState] = WeakValueDictionary()
        self._floors: dict[int, int] = {}

    def find_persons(
        self, project_id: int, distinct_ids: Sequence[str]
    ) -> tuple[dict[str, PersonState], list[str]]:
        """Return the cached persons, and the distinct ids that must be read."""
        persons = self._persons.get(project_id, {})
        known = {name: persons[name][0] for name in distinct_ids if name in persons}
        return known, [name for name in distinct_ids if name not in known]

    def canonical(self, read: Mapping[str, PersonState]) -> dict[str, PersonState]:
        """Replace states just read by the cached states of the same persons.

        A cached state with another version is not used, because another server has changed the
        person.
        """
        states: dict[str, PersonState] = {}
        for name, person in read.items():
            known = None if person.id is None else self._by_id.get(person.id)
            is_same = known is not None and known.version == person.version
            states[name] = known if known is not None and is_same else person
        return states

    def put_persons(self, project_id: int, owners: Mapping[str, PersonState]) -> None:
        """Add persons by distinct id, as written to the store."""
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

    def evict_person(self, project_id: int, person_id: int, distinct_ids: Iterable[str]) -> None:
        """Evict a person that was changed outside ingestion, under all its distinct ids."""
        persons = self._persons.get(project_id, {})
        for distinct_id in distinct_ids:
            if distinct_id in persons:
                self._remove(persons, distinct_id)
        self._by_id.pop(person_id, None)

    def evict(
        self,
        project_id: int,
        persons: Mapping[str, PersonState],
        changed: Collection[tuple[int | None, int]],
    ) -> None:
        """Evict persons that another server has changed.

        An entry under another distinct id of the person is evicted when that id is looked up.

        Args:
            persons: As returned by `find_persons`.
            changed: Ids with their outdated versions.
        """
        remembered = self._persons.get(project_id, {})
        for name, person in persons.items():
            if (person.id, person.version) in changed:
                self._remove(remembered, name)
                if person.id is not None and self._by_id.get(person.id) is person:
                    del self._by_id[person.id]

    def clear_if_deleted(self, floors: Mapping[int, int]) -> None:
        """Clear the cache if a person was deleted.

        Args:
            floors: By project, a number that changes whenever any server deletes a person.
        """
        if any(self._floors.get(project_id) != floor for project_id, floor in floors.items()):
            self.clear()
            self._floors.update(floors)

    def clear(self) -> None:
        self._persons.clear()
        self._count = self._bytes = 0
        self._by_id.clear()
