"""The persons of recent runs, so that a run reads only those that it meets for the first time."""

from collections.abc import Iterable, Mapping
from weakref import WeakValueDictionary

from fanion.persons.merge import PersonState

# Those that were seen longest ago make room.
DISTINCT_IDS_MAX = 150_000


class RecentPersons:
    """True as long as nobody else changes persons: whoever does, or fails to write what was
    applied to them, must forget them."""

    def __init__(self, distinct_ids_max: int = DISTINCT_IDS_MAX) -> None:
        self._distinct_ids_max = distinct_ids_max
        self._persons: dict[tuple[int, str], PersonState] = {}
        # One state for each person, by whichever distinct id it is met.
        self._by_id: WeakValueDictionary[int, PersonState] = WeakValueDictionary()
        self._floors: dict[int, int] = {}

    def find(
        self, project_id: int, distinct_ids: Iterable[str]
    ) -> tuple[dict[str, PersonState], list[str]]:
        """The persons that are known, and the distinct ids to read."""
        known: dict[str, PersonState] = {}
        missing: list[str] = []
        for distinct_id in distinct_ids:
            person = self._persons.get((project_id, distinct_id))
            if person is None:
                missing.append(distinct_id)
            else:
                known[distinct_id] = person
        return known, missing

    def same(self, read: Mapping[str, PersonState]) -> dict[str, PersonState]:
        """The states just read, those of persons that are known replaced by what is known."""
        by_id = self._by_id
        return {
            name: person if person.id is None else by_id.get(person.id, person)
            for name, person in read.items()
        }

    def keep(self, project_id: int, owners: Mapping[str, PersonState]) -> None:
        """owners: by distinct id, as they were written"""
        for distinct_id, person in owners.items():
            key = (project_id, distinct_id)
            was_known = self._persons.pop(key, None) is person
            self._persons[key] = person  # as the last one seen
            if not was_known and person.id is not None:
                self._by_id[person.id] = person
        excess = len(self._persons) - self._distinct_ids_max
        if excess > 0:
            for key in list(self._persons)[:excess]:
                del self._persons[key]

    def drop(self, project_id: int, person_id: int, distinct_ids: Iterable[str]) -> None:
        """A person that somebody else has changed. distinct_ids: all of its own"""
        for distinct_id in distinct_ids:
            self._persons.pop((project_id, distinct_id), None)
        self._by_id.pop(person_id, None)

    def heed_deletions(self, floors: Mapping[int, int]) -> None:
        """floors: by project, a number that moves when a person is deleted, whoever does it"""
        if any(self._floors.get(project_id) != floor for project_id, floor in floors.items()):
            self.forget()
            self._floors.update(floors)

    def forget(self) -> None:
        self._persons.clear()
        self._by_id.clear()
