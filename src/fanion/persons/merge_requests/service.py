"""Merges of persons by request, each made as an event of the accept log (decision 13)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

import msgspec

from fanion.accept_log.port import Appender, Envelope, LogFull
from fanion.activity.model import ActivityRecord, Author, Change
from fanion.activity.store import record_activity
from fanion.db.engine import Records
from fanion.errors import AppError, Invalid, Unavailable
from fanion.events.event import StatementFailed
from fanion.events.storage.store import EventStore
from fanion.persons.merge import MergeKind
from fanion.persons.merge_log.store import note_authors
from fanion.persons.merge_requests.preview import Outcome, Side, preview_merge
from fanion.persons.merge_requests.store import (
    MergeRequest,
    PersonId,
    StoredPersons,
    are_merged,
    read_persons,
    read_request,
)
from fanion.persons.state.store import read_state
from fanion.runtime.background import Backoff

LOOK_FIRST_S, LOOK_MAX_S = 0.01, 0.25
# A project may remove properties from all of its events. Without this one no event merges persons.
NEEDED_PROPERTY = "alias"
DISTINCT_IDS_LISTED_MAX = 1_000

_encode = msgspec.json.Encoder().encode


class NotMerged(AppError):
    """The failure of a merge, because a person was deleted while the request was being handled."""

    status, type, default_code = 409, "invalid_request", "conflict"
    default_detail = "The persons were not merged, because one of them was changed meanwhile."


@dataclass(frozen=True, slots=True)
class Preview:
    """The preview of a merge.

    Attributes:
        events: The number of events by person; None if counting them takes too long.
    """

    stored: StoredPersons
    outcome: Outcome
    events: Mapping[UUID, int] | None


@dataclass(frozen=True, slots=True)
class PersonMerges:
    """The merges of persons by request.

    Attributes:
        is_ingested: Returns whether an entry of the log and all before it are ingested.
        wait_s: How long a response waits for that. An accepted merge is also made later.
    """

    records: Records
    events: EventStore
    log: Appender
    is_ingested: Callable[[int], Awaitable[bool]]
    wait_s: float

    async def merge(
        self, author: Author, removed: Sequence[str], person: PersonId, ids: Sequence[PersonId]
    ) -> bool:
        """Merge `ids` into `person`.

        Args:
            removed: Properties that the project removes from its events.

        Returns:
            Whether the merge is done; otherwise it is accepted and follows.

        Raises:
            NotFound: `person` does not exist.
            Invalid: The persons cannot be merged.
            NotMerged: One of the persons was deleted meanwhile.
            Unavailable: Nothing has been accepted.
        """
        async with self.records.read() as connection:
            request = await connection.run_sync(read_request, author.project_id, person, ids)
        if not request.others:
            return True
        if NEEDED_PROPERTY in removed:
            raise Invalid(
                f"This project removes the property {NEEDED_PROPERTY} from its events, without "
                "which persons cannot be merged."
            )
        entry_id = await asyncio.shield(self._accept_merge(author, request))
        if not await self._await_ingestion(entry_id):
            return False
        uuids = [merged_person.uuid for merged_person in request.persons]
        async with self.records.read() as connection:
            if not await connection.run_sync(are_merged, author.project_id, uuids):
                raise NotMerged
        return True

    async def preview(self, author: Author, person: PersonId, ids: Sequence[PersonId]) -> Preview:
        """Preview a merge of the persons as they are stored now; nothing is changed.

        Raises:
            NotFound: `person` does not exist.
            Invalid: The persons cannot be merged.
        """
        project_id = author.project_id
        async with self.records.read() as connection:
            request = await connection.run_sync(read_request, project_id, person, ids)
            stored = await connection.run_sync(
                read_persons, project_id, request, DISTINCT_IDS_LISTED_MAX
            )
        outcome = await asyncio.to_thread(_merge_outcome, author, stored)
        try:
            events = await self.events.counts.of_persons(
                project_id, [merged_person.uuid for merged_person in request.persons]
            )
        except StatementFailed:
            return Preview(stored, outcome, None)
        return Preview(stored, outcome, events)

    async def _accept_merge(self, author: Author, request: MergeRequest) -> int:
        """Append the merge to the log and return the id of its entry.

        The activity is written if, and only if, the log accepts the entry.
        """
        events = [uuid4() for _ in request.others]
        try:
            async with self.records.write() as connection:
                await connection.run_sync(record_activity, merged_activity(author, request))
                await connection.run_sync(note_authors, author, events)
                return await self.log.append(envelope_of(author, request, events))
        except LogFull:
            raise Unavailable(
                "The ingestion backlog is full. Please retry.", code="log_full"
            ) from None
        except OSError as error:
            raise Unavailable("The merge cannot be stored now. Please retry.") from error

    async def _await_ingestion(self, entry_id: int) -> bool:
        """Return whether an entry is ingested within `wait_s`.

        Another server may ingest it, hence the records store is asked.
        """
        backoff = Backoff(LOOK_FIRST_S, LOOK_MAX_S)
        try:
            async with asyncio.timeout(self.wait_s):
                while not await self.is_ingested(entry_id):
                    delay_s = backoff.next_s()
                    await asyncio.sleep(delay_s)
        except TimeoutError:
            return False
        return True


def envelope_of(author: Author, request: MergeRequest, events: Sequence[UUID]) -> Envelope:
    """Return the log entry of a merge, accepted at the time of the request.

    A deletion of one of the persons after that time wins.

    Args:
        events: The ids of the events, one for each person that is merged.
    """
    items = [
        {
            "event": MergeKind.DANGEROUSLY,
            "uuid": str(event),
            "distinct_id": request.survivor.distinct_id,
            "properties": {NEEDED_PROPERTY: other.distinct_id},
        }
        for event, other in zip(events, request.others, strict=True)
    ]
    return Envelope(author.project_id, author.now, "", "", None, _encode(items))


def merged_activity(author: Author, request: MergeRequest) -> ActivityRecord:
    """Return the activity of a merge, with only ids: the entry outlives the persons."""
    uuid = str(request.survivor.uuid)
    merged = [str(other.uuid) for other in request.others]
    return ActivityRecord(
        author=author,
        scope="Person",
        item_id=uuid,
        activity="people_merged_into",
        name=uuid,
        changes=[Change(type="Person", action="changed", field="merged_persons", after=merged)],
    )


def _merge_outcome(author: Author, stored: StoredPersons) -> Outcome:
    named = {person.id: person.distinct_id for person in stored.request.persons}
    sides = [Side(read_state(*list(row)), named[row.id]) for row in stored.states]
    return preview_merge(author.project_id, author.now, sides)
