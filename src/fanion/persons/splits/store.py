"""Splits of persons in the records store: one transaction for all that a split changes there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from fanion.activity.model import ActivityRecord, Author, Change
from fanion.activity.store import record_activity
from fanion.db.bulk import as_bound, in_chunks, insert_rows, upsert
from fanion.db.schema.flags import flag_continuity
from fanion.db.schema.persons import person_splits, split_ids
from fanion.db.schema.tables import ID, person_distinct_ids, persons
from fanion.events.mirror_outbox_store import Unmirrored, note_unmirrored
from fanion.persons.erasure_store import forget_results, raise_floor
from fanion.persons.merge import PersonState, person_uuid
from fanion.persons.merge_log.model import LoggedSplit
from fanion.persons.merge_log.store import log_splits
from fanion.persons.splits.model import SplitPerson
from fanion.persons.state.conflicts_store import PersonsChanged, require_unchanged

_person = persons.c
_link = person_distinct_ids.c
_stored = flag_continuity.c
_split = person_splits.c
_id = split_ids.c
_CREATED = ("project_id", "uuid", "properties", "is_identified", "created_at", "version", "email")
_LEAVE = (
    update(person_distinct_ids)
    .where(_link.project_id == bindparam("in_project"), _link.person_id == bindparam("former"))
    .where(_link.distinct_id == bindparam("leaving"))
    .values(person_id=bindparam("new", type_=ID))
)


@dataclass(frozen=True, slots=True)
class PendingMoves:
    """The events of a project that are still to be given to other persons.

    Attributes:
        moves: Distinct id → the person that its events get.
        version: That of the last split.
    """

    project_id: int
    moves: Mapping[str, UUID]
    version: int


def write_split(
    connection: Connection,
    author: Author,
    person: PersonState,
    made: Sequence[SplitPerson],
    version: int,
) -> None:
    """Give distinct ids of a person to new persons, and note that their events are to follow.

    Args:
        person: As it was read.
        version: Of all that is written, drawn after the person was read.

    Raises:
        PersonsChanged: The person was changed since it was read.
    """
    assert person.id is not None
    require_unchanged(connection, {person.id: person.version})
    connection.execute(update(persons).where(_person.id == person.id).values(version=version))
    numbers = _create_persons(connection, author.project_id, made, version)
    _give_ids(connection, author.project_id, person.id, made, numbers)
    _copy_identities(connection, person.id, list(numbers.values()))
    uuids = [person.uuid, *(new.uuid for new in made)]
    note_unmirrored(connection, [Unmirrored(version, author.project_id, uuids)])
    _replace_ids(connection, author.project_id, made)
    _await_events(connection, author.project_id, made, version)
    # Every server forgets the persons that it has in memory, and looks for ids that were split off.
    raise_floor(connection, author.project_id, version)
    forget_results(connection, author.project_id)
    log_splits(
        connection, author, [LoggedSplit(new.distinct_id, person.uuid, new.uuid) for new in made]
    )
    record_activity(connection, _split_activity(author, person.uuid, made))


def _create_persons(
    connection: Connection, project_id: int, made: Sequence[SplitPerson], version: int
) -> dict[str, int]:
    """Return the ids of the new persons by distinct id."""
    rows: list[tuple[Any, ...]] = [
        (project_id, new.uuid, {}, False, new.created_at, version, None) for new in made
    ]
    numbers = dict(insert_rows(connection, persons, _CREATED, rows, returning=("uuid", "id")))
    uuids = as_bound(connection, persons, "uuid", [new.uuid for new in made])
    return {new.distinct_id: numbers[uuid] for new, uuid in zip(made, uuids, strict=True)}


def _give_ids(
    connection: Connection,
    project_id: int,
    former: int,
    made: Sequence[SplitPerson],
    numbers: Mapping[str, int],
) -> None:
    for new in made:
        moved = connection.execute(
            _LEAVE,
            {
                "in_project": project_id,
                "former": former,
                "leaving": new.distinct_id,
                "new": numbers[new.distinct_id],
            },
        )
        if moved.rowcount != 1:
            raise PersonsChanged("a distinct id has another person")


def _copy_identities(connection: Connection, former: int, numbers: Sequence[int]) -> None:
    """Let flags with experience continuity answer the new persons as they answered the person."""
    stored = select(_stored.project_id, _stored.flag_key, _stored.hash_key)
    rows = connection.execute(stored.where(_stored.person_id == former)).all()
    copies = [{**row._mapping, "person_id": number} for number in numbers for row in rows]
    if copies:
        connection.execute(insert(flag_continuity), copies)


def _replace_ids(connection: Connection, project_id: int, made: Sequence[SplitPerson]) -> None:
    statement = upsert(connection.dialect, split_ids)
    statement = statement.on_conflict_do_update(
        index_elements=["project_id", "person"],
        set_={"replaced_by": statement.excluded.replaced_by},
    )
    rows = [
        {
            "project_id": project_id,
            "person": person_uuid(project_id, new.distinct_id),
            "replaced_by": new.uuid,
        }
        for new in made
    ]
    connection.execute(statement, rows)


def _await_events(
    connection: Connection, project_id: int, made: Sequence[SplitPerson], version: int
) -> None:
    pending = read_moves(connection, project_id, for_update=True)
    moves = {} if pending is None else dict(pending.moves)
    moves |= {new.distinct_id: new.uuid for new in made}
    values = {
        "moves": {distinct_id: str(uuid) for distinct_id, uuid in moves.items()},
        "version": version,
    }
    statement = upsert(connection.dialect, person_splits).values(project_id=project_id, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=["project_id"], set_=values))


def _split_activity(author: Author, uuid: UUID, made: Sequence[SplitPerson]) -> ActivityRecord:
    """Return the activity of a split, with only ids of persons: the entry outlives them."""
    after = [str(new.uuid) for new in made]
    return ActivityRecord(
        author=author,
        scope="Person",
        item_id=str(uuid),
        activity="split_person",
        name=str(uuid),
        changes=[Change(type="Person", action="changed", field="split_persons", after=after)],
    )


# ── For ingestion ────────────────────────────────────────────────────────────────────────


def load_split_ids(
    connection: Connection, project_id: int, uuids: Sequence[UUID]
) -> dict[UUID, UUID]:
    """Return the persons to make instead of these, for distinct ids that were split off."""
    replaced: dict[UUID, UUID] = {}
    for some in in_chunks(uuids):
        statement = select(_id.person, _id.replaced_by).where(_id.project_id == project_id)
        rows = connection.execute(statement.where(_id.person.in_(some)))
        replaced.update({row.person: row.replaced_by for row in rows})
    return replaced


# ── For the worker that gives events to the new persons ──────────────────────────────────


def splitting_projects(connection: Connection) -> list[int]:
    """Return the projects whose events are still to follow a split."""
    return list(connection.scalars(select(_split.project_id).order_by(_split.project_id)))


def read_moves(
    connection: Connection, project_id: int, *, for_update: bool = False
) -> PendingMoves | None:
    statement = select(_split.moves, _split.version).where(_split.project_id == project_id)
    row = connection.execute(statement.with_for_update() if for_update else statement).first()
    if row is None:
        return None
    moves = {distinct_id: UUID(text) for distinct_id, text in row.moves.items()}
    return PendingMoves(project_id, moves, row.version)


def is_splitting(connection: Connection, project_id: int) -> bool:
    return read_moves(connection, project_id) is not None


def finish_moves(connection: Connection, done: PendingMoves) -> bool:
    """Forget moves that were made, or return False if another split has added to them."""
    statement = delete(person_splits).where(
        _split.project_id == done.project_id, _split.version == done.version
    )
    if connection.execute(statement).rowcount != 1:
        return False
    forget_results(connection, done.project_id)
    return True
