"""The persons of recent runs, so that a run reads only those that it meets for the first time."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from weakref import WeakValueDictionary

from fanion.persons.merge import PersonState

# Those that were seen longest ago make room, of the project that was seen longest ago.
DISTINCT_IDS_MAX = 150_000


class RecentPersons:
    """True as long as nobody else changes persons: whoever does, or fails to write what was
    applied to them, must forget them."""

    def __init__(self, distinct_ids_max: int = DISTINCT_IDS_MAX) -> None:
        self._distinct_ids_max = distinct_ids_max
        # By project and distinct id, both in the order in which they were last seen.
        self._persons: dict[int, dict[str, PersonState]] = {}
        self._count = 0
        # One state for each person, by whichever distinct id it is met.
        self._by_id: WeakValueDictionary[int, PersonState] = WeakValueDictionary()
        self._floors: dict[int, int] = {}

    def find(
        self, project_id: int, distinct_ids: Sequence[str]
    ) -> tuple[dict[str, PersonState], list[str]]:
        """The persons that are known, and the distinct ids to read."""
        persons = self._persons.get(project_id, {})
        known = {name: persons[name] for name in distinct_ids if name in persons}
        return known, [name for name in distinct_ids if name not in known]

    def same(self, read: Mapping[str, PersonState]) -> dict[str, PersonState]:
        """The states just read, those of persons that are known replaced by what is known."""
        by_id = self._by_id
        return {
            name: person if person.id is None else by_id.get(person.id, person)
            for name, person in read.items()
        }

    def keep(self, project_id: int, owners: Mapping[str, PersonState]) -> None:
        """owners: by distinct id, as they were written"""
        persons = self._persons.pop(project_id, {})
        self._persons[project_id] = persons
        self._count -= len(persons)
        for distinct_id, person in owners.items():
            was_known = persons.pop(distinct_id, None) is person
            persons[distinct_id] = person
            if not was_known and person.id is not None:
                self._by_id[person.id] = person
        self._count += len(persons)
        while self._count > self._distinct_ids_max:
            self._make_room()

    def _make_room(self) -> None:
        project_id, persons = next(iter(self._persons.items()))
        excess = list(islice(persons, self._count - self._distinct_ids_max))
        for distinct_id in excess:
            del persons[distinct_id]
        self._count -= len(excess)
        if not persons:
            del self._persons[project_id]

    def drop(self, project_id: int, person_id: int, distinct_ids: Iterable[str]) -> None:
        """A person that somebody else has changed. distinct_ids: all of its own"""
        persons = self._persons.get(project_id, {})
        for distinct_id in distinct_ids:
            if persons.pop(distinct_id, None) is not None:
                self._count -= 1
        self._by_id.pop(person_id, None)

    def heed_deletions(self, floors: Mapping[int, int]) -> None:
        """floors: by project, a number that moves when a person is deleted, whoever does it"""
        if any(self._floors.get(project_id) != floor for project_id, floor in floors.items()):
            self.forget()
            self._floors.update(floors)

    def forget(self) -> None:
        self._persons.clear()
        self._count = 0
        self._by_id.clear()
