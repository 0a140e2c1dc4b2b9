"""The persons and groups behind a number, from the records store."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from fanion.db.bulk import IDS_MAX
from fanion.db.engine import Records
from fanion.db.schema.tables import persons
from fanion.groups.store import PAGE_BYTES_MAX, PORTION_KEYS, groups_by_key
from fanion.insights.actors.result import ActorBody, group_actor, person_actor
from fanion.insights.actors.service import Actor
from fanion.persons.api import person_body
from fanion.persons.list_store import PersonKey, in_portions, keys_of, read_keys
from fanion.persons.state.store import ids_by_uuid
from fanion.persons.store import Person

# Distinct ids shown for one person; a merged person may have thousands.
DISTINCT_IDS_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class People:
    """The persons or groups of a page.

    Attributes:
        bodies: In the order of the actors.
        seen: The number of actors that were looked up; those without a body do not exist.
    """

    bodies: list[ActorBody]
    seen: int


async def load_people(
    records: Records,
    project_id: int,
    actors: Sequence[Actor],
    group_type_index: int | None,
    bytes_max: int = PAGE_BYTES_MAX,
) -> People:
    """Return the persons or groups of one page.

    The page ends early, after a portion, when the properties in it exceed `bytes_max`.
    """
    all_bodies: list[ActorBody] = []
    seen = size = 0
    portions = load_people_in_portions(records, project_id, actors, group_type_index)
    async with aclosing(portions):
        async for bodies, number, chars in portions:
            all_bodies += bodies
            seen, size = seen + number, size + chars
            if size >= bytes_max:
                break
    return People(all_bodies, seen)


async def load_people_in_portions(
    records: Records, project_id: int, actors: Sequence[Actor], group_type_index: int | None
) -> AsyncGenerator[tuple[list[ActorBody], int, int]]:
    """Yield the persons or groups in portions.

    Yields:
        Bodies, the number of actors that were looked up for them, and the number of characters of
        their properties.
    """
    if group_type_index is not None:
        async for portion in _groups(records, project_id, actors, group_type_index):
            yield portion
        return
    keys = await _keys(records, project_id, [who for who, _ in actors if isinstance(who, UUID)])
    values = dict(actors)
    known = [who for who, _ in actors if who in keys]
    ordered = [keys[who] for who in known if isinstance(who, UUID)]
    positions = {who: position for position, (who, _) in enumerate(actors, start=1)}
    done = 0
    portions = in_portions(records, project_id, ordered, DISTINCT_IDS_MAX)
    start = 0
    async with aclosing(portions):
        async for some, length in portions:
            start += length
            upto = len(actors) if start == len(ordered) else positions[known[start - 1]]
            bodies = await asyncio.to_thread(_bodies, some, values)
            yield bodies, upto - done, sum(person.properties_chars for person in some)
            done = upto
    if done < len(actors):
        yield [], len(actors) - done, 0


async def _keys(
    records: Records, project_id: int, uuids: Sequence[UUID]
) -> dict[UUID | str, PersonKey]:
    keys: dict[UUID | str, PersonKey] = {}
    for start in range(0, len(uuids), IDS_MAX):
        some = keys_of(project_id).where(
            persons.c.id.in_(ids_by_uuid(project_id, uuids[start : start + IDS_MAX]))
        )
        keys.update({key.uuid: key for key in await read_keys(records, some)})
    return keys


async def _groups(
    records: Records, project_id: int, actors: Sequence[Actor], index: int
) -> AsyncGenerator[tuple[list[ActorBody], int, int]]:
    """Yield groups in portions; a group without a `$groupidentify` has only a key."""
    keys = [str(who) for who, _ in actors]
    portions = groups_by_key(records, project_id, index, keys)
    start = 0
    async with aclosing(portions):
        async for groups in portions:
            some = actors[start : start + PORTION_KEYS]
            bodies = [
                group_actor(str(who), index, groups.get(str(who)), value) for who, value in some
            ]
            chars = sum(len(str(group.properties)) for group in groups.values())
            yield bodies, len(some), chars
            start += PORTION_KEYS


def _bodies(some: Sequence[Person], values: Mapping[UUID | str, object]) -> list[ActorBody]:
    return [person_actor(person_body(person), values[person.uuid]) for person in some]
