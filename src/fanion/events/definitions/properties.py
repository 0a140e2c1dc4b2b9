"""Definitions of the properties of events: their types, and which of them are stored.

Source: capture.md section 6.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import Meta, Struct

from fanion.events.definitions.details import Details

GROUP_INDEX_MAX = 4
# Properties of a person or a group rather than of the event.
UNTRACKED = frozenset(
    [
        *("$set", "$set_once", "$unset", "$groups"),
        *(f"$group_{index}" for index in range(GROUP_INDEX_MAX + 1)),
    ]
)

_UNIX_TIME = re.compile(r"\d{10}(\.\d+)?|\d{13}", re.ASCII)
_CLOCK = r"[ ]\d{2}:\d{2}:\d{2}"
_DAY = r"[A-Z][a-z]{2}"
_DATE_TIME = re.compile(
    rf"""
      \d{{4}}-\d{{2}}-\d{{2}}                                              # 2024-03-01
    | \d{{4}}-\d{{2}}-\d{{2}}T\d{{2}}:\d{{2}}:\d{{2}}(\.\d+)?(Z|[+-]\d{{2}}:?\d{{2}})
    | \d{{4}}[-/]\d{{2}}[-/]\d{{2}}{_CLOCK}
    | \d{{2}}[-/]\d{{2}}[-/]\d{{4}}{_CLOCK}
    | ({_DAY},[ ])?\d{{1,2}}[ ]{_DAY}[ ]\d{{4}}[ ]
      \d{{2}}:\d{{2}}(:\d{{2}})?[ ]([A-Z]{{1,5}}|[+-]\d{{4}})
    """,
    re.ASCII | re.VERBOSE,
)
_TEXT_MAX = 64  # longer text is not a date


PropertyOwner = Literal["event", "person", "group"]
PERSONS = -1  # in the place of the index of a group type


class PropertyType(StrEnum):
    NUMERIC = "Numeric"
    STRING = "String"
    DATETIME = "DateTime"


class PlainPropertyDefinition(Struct, frozen=True, kw_only=True):
    """The fields of a property definition, besides its details, that are exported and imported."""

    name: str
    property_type: PropertyType | None


class PropertyDefinition(Details, frozen=True, kw_only=True):
    """A property of a project's events, persons or groups, as it is stored and returned."""

    id: UUID
    name: str
    type: PropertyOwner
    group_type_index: Annotated[int | None, Meta(description="Only of properties of groups.")]
    property_type: Annotated[
        PropertyType | None, Meta(description="Type of the first value with a known type.")
    ]
    event_names: Annotated[list[str], Meta(description="Events that carry it, the first 100.")]


def detect_type(name: str, value: object) -> PropertyType | None:
    """Return the type of a value; None for booleans, null, lists and objects."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return PropertyType.DATETIME if _is_unix_time(name, str(value)) else PropertyType.NUMERIC
    if isinstance(value, str):
        return PropertyType.DATETIME if _is_date_text(name, value) else PropertyType.STRING
    return None


def detect_types(properties: Mapping[str, object]) -> dict[str, PropertyType | None]:
    """Return the tracked properties of an event, with their types."""
    return {
        name: detect_type(name, value)
        for name, value in properties.items()
        if name not in UNTRACKED
    }


def _is_unix_time(name: str, text: str) -> bool:
    return "time" in name.lower() and _UNIX_TIME.fullmatch(text) is not None


def _is_date_text(name: str, text: str) -> bool:
    if len(text) > _TEXT_MAX:
        return False
    return _DATE_TIME.fullmatch(text) is not None or _is_unix_time(name, text)


# ── Known properties, so that a batch without new ones costs next to nothing ─────────────

NAME_CHARS_MAX = 400
# Names in one project; property names that contain user ids must not fill the store.
NAMES_MAX = 10_000
NAMES_OF_EVENT_MAX = 1_000
EVENTS_MAX = 10_000  # events in memory, of all projects
# Checking 20 names takes 0.4 to 0.9 µs. Of an event that occurs more often than this in one batch,
# one occurrence in ONE_IN is sampled, and all of them if a sample has a new name: a name that is
# rare among very many occurrences is found a little later.
OCCURRENCES_MAX = 128
ONE_IN = 8
# How long the cache is valid. After that, properties recorded by other servers are found, and
# properties without a type are examined again.
READ_AGAIN = timedelta(minutes=5)

Types = dict[str, PropertyType | None]
NO_ACTORS: Mapping[int, Sequence[Mapping[str, Any]]] = {}


@dataclass(frozen=True, slots=True)
class NewProperties:
    """The properties in a batch of events that are not stored yet.

    Attributes:
        types: Of names that are new to the project or had no type.
        carried: Event → names that it was not known to have.
        actors: The same as `types` of persons, by `PERSONS`, and of groups, by the index of their
            type.
    """

    types: Mapping[str, PropertyType | None] = field(default_factory=dict)
    carried: Mapping[str, Sequence[str]] = field(default_factory=dict)
    actors: Mapping[int, Types] = field(default_factory=dict)


@dataclass(slots=True)
class ActorProperties:
    """The stored properties of persons, or of the groups of a type.

    Attributes:
        types: Of all stored names.
        untyped: Names without a type that were not examined since the last read.
    """

    types: Types = field(default_factory=dict)
    untyped: set[str] = field(default_factory=set)

    def new(self, changed: Iterable[Mapping[str, Any]]) -> Types:
        """Return names that are not stored yet, or whose missing type is found.

        Args:
            changed: The properties of the persons or groups that a batch creates or changes.
        """
        new: Types = {}
        for properties in changed:
            if not self.untyped and properties.keys() <= self.types.keys():
                continue  # takes half the time of the subtraction
            names = properties.keys() - self.types.keys() | self.untyped & properties.keys()
            for name in sorted(filter(is_trackable, names)):
                has_room = name in self.types or len(self.types) + len(new) < NAMES_MAX
                if has_room and new.get(name) is None:
                    new[name] = detect_type(name, properties[name])
        return new

    def add(self, written: Types) -> None:
        self.types.update(written)
        self.untyped -= written.keys()


@dataclass(slots=True)
class ProjectProperties:
    """The stored properties of a project, as far as they were read.

    Attributes:
        types: Of all stored names.
        carried: Event → stored names that have a type or were examined since the last read.
        actors: Those of persons, by `PERSONS`, and of groups, by the index of their type.
    """

    types: Types
    carried: dict[str, set[str]] = field(default_factory=dict)
    actors: dict[int, ActorProperties] = field(default_factory=dict)

    def new(
        self,
        seen: Mapping[str, Sequence[Mapping[str, Any]]],
        actors: Mapping[int, Sequence[Mapping[str, Any]]] = NO_ACTORS,
    ) -> NewProperties:
        """Return the properties that are not stored yet.

        Args:
            seen: Event → the properties of all its occurrences in a batch.
            actors: The properties of the persons and groups that a batch creates or changes.
        """
        types: Types = {}
        carried: dict[str, Sequence[str]] = {}
        for event, occurrences in seen.items():
            known = self.carried.get(event, set())
            names = _new_names(occurrences, known)
            if not names:
                continue
            trackable = sorted(filter(is_trackable, names))
            room = max(0, NAMES_OF_EVENT_MAX - len(known))
            accepted = [name for name in trackable if self._has_room(name, types)][:room]
            self._detect(accepted, occurrences, types)
            if accepted:
                carried[event] = accepted
        return NewProperties(types, carried, self._new_of_actors(actors))

    def _new_of_actors(self, actors: Mapping[int, Sequence[Mapping[str, Any]]]) -> dict[int, Types]:
        new = {
            index: self.actors.get(index, ActorProperties()).new(changed)
            for index, changed in actors.items()
        }
        return {index: types for index, types in new.items() if types}

    def add_properties(self, written: NewProperties) -> None:
        self.types.update(written.types)
        for event, names in written.carried.items():
            self.carried.setdefault(event, set()).update(names)
        for index, types in written.actors.items():
            self.actors.setdefault(index, ActorProperties()).add(types)

    def _has_room(self, name: str, types: Types) -> bool:
        return name in self.types or name in types or len(self.types) + len(types) < NAMES_MAX

    def _detect(
        self, names: Iterable[str], occurrences: Sequence[Mapping[str, Any]], types: Types
    ) -> None:
        for name in names:
            if self.types.get(name) or types.get(name):
                continue
            values = (properties[name] for properties in occurrences if name in properties)
            detected = next(filter(None, (detect_type(name, value) for value in values)), None)
            if detected is not None or name not in self.types:
                types[name] = detected


class PropertyCache:
    """A cache shared by a process's consumers. Only the one that is storing a batch uses it."""

    def __init__(self) -> None:
        self._projects: dict[int, ProjectProperties] = {}
        self._since: datetime | None = None

    def of_project(self, project_id: int) -> ProjectProperties | None:
        """Return the properties of a project; None if it has not been read yet."""
        return self._projects.get(project_id)

    def put_project(self, project_id: int, recorded: ProjectProperties) -> None:
        self._projects[project_id] = recorded

    def add_properties(self, project_id: int, written: NewProperties) -> None:
        """Add properties, after the commit of the transaction that wrote them."""
        recorded = self._projects.get(project_id)
        if recorded is not None:
            recorded.add_properties(written)

    def refresh(self, now: datetime) -> None:
        """Clear the cache if it is too old or too large."""
        events = sum(len(project.carried) for project in self._projects.values())
        if self._since is None or events > EVENTS_MAX or not self._is_fresh(now):
            self._projects.clear()
            self._since = now

    def _is_fresh(self, now: datetime) -> bool:
        return self._since is not None and self._since <= now < self._since + READ_AGAIN


def _new_names(occurrences: Sequence[Mapping[str, Any]], known: set[str]) -> set[str]:
    if len(occurrences) > OCCURRENCES_MAX and not set().union(*occurrences[::ONE_IN]) - known:
        return set()
    return set().union(*occurrences) - known


def is_trackable(name: str) -> bool:
    """Return whether a property of this name is recorded when an event has it."""
    return name not in UNTRACKED and 0 < len(name) <= NAME_CHARS_MAX and "\0" not in name
