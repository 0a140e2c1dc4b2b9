"""The changes of a batch, written with its positions in one transaction of the records store."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast
from uuid import UUID

from sqlalchemy import Connection

from fanion.accept_log.port import LogEntry
from fanion.events.definitions.property_store import record_properties
from fanion.events.definitions.seen_store import record_seen
from fanion.events.mirror_outbox_store import Unmirrored, note_unmirrored
from fanion.groups.store import write_groups, write_types
from fanion.ingest.ledger.dead_letters_store import (
    MarkedLetter,
    delete_retried,
    insert_dead_letter,
)
from fanion.ingest.ledger.model import Tally, joined_tallies
from fanion.ingest.ledger.store import write_tally
from fanion.ingest.pipeline.position_store import (
    HISTORICAL,
    EnvelopeProgress,
    PositionHolder,
    complete_span,
    require_held,
)
from fanion.ingest.pipeline.resolve import (
    Resolved,
)
from fanion.persons.merge_log.store import log_merges
from fanion.persons.state.conflicts_store import PersonsChanged, require_current
from fanion.persons.state.pending_identities_store import adopt_waiting
from fanion.persons.state.store import write_changes
from fanion.projects.store import move_flag_version
from fanion.webhooks.announcements_store import count_captured


@dataclass(frozen=True, slots=True)
class BatchChanges:
    """The changes that a batch makes in one project.

    Attributes:
        overrides: Merged person → surviving person.
        version: The version of all rows.
    """

    resolved: Resolved
    overrides: Mapping[UUID, UUID]
    version: int

    @property
    def unmirrored(self) -> Unmirrored:
        changes = self.resolved.persons
        persons = [person.uuid for person in (*changes.created, *changes.updated)]
        groups = list(self.resolved.groups)
        return Unmirrored(
            self.version, self.resolved.project_id, [*persons, *self.overrides], groups
        )


def write_batch(
    connection: Connection,
    holder: PositionHolder,
    written: Sequence[BatchChanges],
    tally: Tally,
    progress: EnvelopeProgress | None,
) -> None:
    complete_span(connection, holder.lane, holder.span, progress)
    _write_parts(connection, written, tally, holder)
    if holder.lane != HISTORICAL:  # imports cause no alerts
        projects = {part.resolved.project_id for part in written}
        count_captured(
            connection, projects, partial(_event_counts, written), holder.now, holder.slot
        )


def write_letter(
    connection: Connection,
    letter: MarkedLetter,
    written: Sequence[BatchChanges],
    tally: Tally,
    holder: PositionHolder,
) -> None:
    require_held(connection, holder.lane, holder.span)
    tally = joined_tallies(tally, delete_retried(connection, letter))
    _write_parts(connection, written, tally, holder)


def write_checked(
    connection: Connection,
    written: Sequence[BatchChanges],
    write: Callable[[Connection], None],
) -> None:
    """Write, then check the persons that were only used.

    What this transaction writes is locked by then, and nothing that is committed later can come
    between.
    """
    used = _only_used(written)  # read before created persons get their ids
    write(connection)
    require_current(connection, used)


def _only_used(written: Sequence[BatchChanges]) -> dict[int, int]:
    """Return id → version of stored persons that have events in a batch but are not changed by it.

    The changed persons are checked when they are locked.
    """
    versions: dict[int | None, int] = {}
    for part in written:
        versions |= {person.id: person.version for person in part.resolved.owners.values()}
        for changed in part.resolved.persons.expected:
            versions.pop(changed, None)
    versions.pop(None, None)  # the persons that the batch creates
    return cast("dict[int, int]", versions)


def _write_parts(
    connection: Connection,
    written: Sequence[BatchChanges],
    tally: Tally,
    holder: PositionHolder,
) -> None:
    now = holder.now
    for part in sorted(written, key=lambda changes: changes.resolved.project_id):
        resolved = part.resolved
        project_id = resolved.project_id
        log_merges(connection, project_id, resolved.persons, now)
        write_changes(connection, project_id, resolved.persons, part.overrides, part.version)
        if not write_groups(connection, project_id, resolved.groups, resolved.expected_groups):
            raise PersonsChanged("groups were changed since they were read")
        record_properties(connection, project_id, resolved.properties, now)
    # This follows the locking of all persons, so that flag evaluation and ingestion cannot
    # deadlock.
    for part in written:
        if attached := part.resolved.persons.attached:
            adopt_waiting(connection, part.resolved.project_id, list(attached))
    names = {(part.resolved.project_id, name) for part in written for name in part.resolved.names}
    record_seen(connection, names, now)
    note_unmirrored(connection, (part.unmirrored for part in written))
    skipped = (part.resolved.skipped for part in written)
    write_tally(connection, joined_tallies(tally, *skipped), holder.slot)


def create_types(connection: Connection, types: Mapping[int, Mapping[str, int]]) -> None:
    for project_id, of_project in sorted(types.items()):
        write_types(connection, project_id, of_project)
        move_flag_version(connection, project_id)


def _event_counts(written: Sequence[BatchChanges]) -> Mapping[tuple[int, str], int]:
    """Return the number of stored events by project and name."""
    parts = (part.resolved for part in written)
    return Counter(
        (part.project_id, event.prepared.name) for part in parts for event in part.arrived
    )


def store_dead_letter(
    connection: Connection,
    holder: PositionHolder,
    entry: LogEntry,
    items: int,
    error: str,
    progress: EnvelopeProgress | None,
) -> None:
    complete_span(connection, holder.lane, holder.span, progress)
    insert_dead_letter(connection, entry, items, error, holder.now)
