"""The preview of a merge of persons, computed by the merge itself on copies of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec

from fanion.persons.merge import Merge, MergeKind, PersonState, Population
from fanion.properties.size import PROPERTIES_BYTES_MAX

NO_EVENT: Final = UUID(int=0)

_encode = msgspec.json.Encoder(order="deterministic").encode


class MergeCommand(msgspec.Struct, frozen=True):
    """The `merge.PersonCommand` of the event that a request makes for one person."""

    distinct_id: str
    timestamp: datetime
    merge: Merge
    uuid: UUID = NO_EVENT
    update: None = None
    makes_person: bool = True


@dataclass(frozen=True, slots=True)
class Side:
    """A person before the merge.

    Attributes:
        distinct_id: The distinct id by which the event names the person.
    """

    state: PersonState
    distinct_id: str


@dataclass(frozen=True, slots=True)
class PropertyOutcome:
    """The outcome of a merge for one property.

    Attributes:
        person: The person whose value remains; None if the property is left out.
        value: The value that remains.
        lost: Other values, by person.
    """

    name: str
    person: UUID | None
    value: Any
    lost: Sequence[tuple[UUID, Any]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a merge.

    Attributes:
        survivor: The surviving person after the merge.
        before: The properties of each person before the merge, in the order of the request.
        properties: First those of which a value is lost, in the order of their names.
    """

    survivor: PersonState
    before: Sequence[Mapping[str, Any]]
    properties: Sequence[PropertyOutcome]

    @property
    def lost(self) -> int:
        """The number of values that are lost."""
        return sum(len(outcome.lost) for outcome in self.properties)


def preview_merge(
    project_id: int,
    at: datetime,
    sides: Sequence[Side],
    bytes_max: int = PROPERTIES_BYTES_MAX,
) -> Outcome:
    """Merge persons in memory, and return the outcome.

    Args:
        sides: The surviving person, then those to be merged in this order. Their states change.
    """
    survivor, *others = sides
    before = [(side.state.uuid, dict(side.state.properties)) for side in sides]
    population = Population(
        project_id, {side.distinct_id: side.state for side in sides}, bytes_max=bytes_max
    )
    for other in others:
        merge = Merge(MergeKind.DANGEROUSLY, other.distinct_id)
        population.apply(MergeCommand(survivor.distinct_id, at, merge))
    outcomes = sorted(_outcomes(before, survivor.state.properties), key=_losing_first)
    return Outcome(survivor.state, [properties for _, properties in before], outcomes)


def _losing_first(outcome: PropertyOutcome) -> tuple[bool, str]:
    return not outcome.lost, outcome.name


def _outcomes(
    before: Sequence[tuple[UUID, Mapping[str, Any]]], after: Mapping[str, Any]
) -> Iterator[PropertyOutcome]:
    for name in dict.fromkeys(name for _, properties in before for name in properties):
        having = [(uuid, values[name]) for uuid, values in before if name in values]
        if name not in after:
            yield PropertyOutcome(name, None, None, having)
            continue
        value = after[name]
        winner = next((uuid for uuid, own in having if own is value), having[0][0])
        text = _encode(value)
        lost = [(uuid, own) for uuid, own in having if _encode(own) != text]
        yield PropertyOutcome(name, winner, value, lost)
