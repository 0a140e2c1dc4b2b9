"""The ingestion ledger and dead letters of a project over HTTP."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated

from litestar import Controller, delete, get, post
from litestar.di import NamedDependency
from litestar.params import QueryParameter
from msgspec import Meta, Struct

from fanion.accept_log.port import Backlog
from fanion.errors import NotFound
from fanion.events.turns.turns_service import Turns
from fanion.ingest.ledger.dead_letters_store import DeadLetter, DeadLetterFilter, DeadLetters
from fanion.ingest.ledger.model import Example
from fanion.ingest.ledger.store import (
    Ledger,
    Minute,
    Reason,
    Totals,
    minutes_of,
    reasons_of,
    skipped_changes_of,
    totals_of,
)
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.properties.validation import read_time_parameter
from fanion.rest.endpoints import ObjectId
from fanion.rest.pagination import Paged

SPAN = timedelta(hours=1)
BODY_CHARS_MAX = 1_000_000  # characters of a dead letter's body in an answer
EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)


class ReasonBody(Struct, kw_only=True):
    reason: Annotated[str, Meta(description="`dead_letter`, `duplicate` or why it was dropped.")]
    meaning: str
    items: Annotated[int, Meta(description="Within the time range; examples may be older.")]
    examples: Annotated[list[Example], Meta(description="The newest first, ten at most.")]


class SkippedChangesBody(Struct, kw_only=True):
    reason: Annotated[
        str,
        Meta(
            description="`person_too_large`, `group_too_large`, `merge_left_out`, "
            "`group_type_left_out`, `time_unreadable`, `time_ahead` or `sent_at_unreadable`."
        ),
    ]
    meaning: str
    count: Annotated[
        int,
        Meta(
            description="Events in the time range; `merge_left_out` counts properties of merged"
            " persons."
        ),
    ]
    examples: Annotated[list[Example], Meta(description="The newest first, ten at most.")]


class Waiting(Struct, kw_only=True):
    """Requests that this server has accepted, for all projects, and not ingested yet."""

    requests: int
    bytes: int
    oldest: datetime | None


class IngestionReport(Struct, kw_only=True):
    start: Annotated[datetime, Meta(description="`from`, rounded down to the minute.")]
    end: Annotated[datetime, Meta(description="`to`; its minute is included.")]
    totals: Totals
    reasons: list[ReasonBody]
    changes_not_made: Annotated[
        list[SkippedChangesBody],
        Meta(
            description="Changes of persons and groups that were not applied, by reason. Their"
            " events are stored, and are counted in `totals`."
        ),
    ]
    minutes: Annotated[
        list[Minute],
        Meta(description="By time of acceptance, without empty ones; hours when older than a day."),
    ]
    waiting: Annotated[Waiting | None, Meta(description="Null when the accept log cannot be read.")]


class DeadLetterBody(Struct, kw_only=True):
    id: int
    received_at: datetime
    failed_at: datetime
    items: Annotated[int, Meta(description="1 for a request whose body cannot be read.")]
    attempts: int
    retry_requested_at: datetime | None
    error: str
    body_bytes: int


class DeadLetterContent(Struct, kw_only=True):
    body: Annotated[
        str, Meta(description="As it was accepted; bytes that are not text are shown as `\ufffd`.")
    ]
    is_cut: Annotated[
        bool, Meta(description=f"True when only the first {BODY_CHARS_MAX:,} characters are shown.")
    ]


class Affected(Struct, kw_only=True):
    dead_letters: Annotated[int, Meta(description="Number of dead letters affected.")]


@dataclass(frozen=True, slots=True)
class IngestionReports:
    """The sources of ingestion reports.

    Attributes:
        backlog: Returns the backlog of each lane of this server's log; may raise OSError.
    """

    ledger: Ledger
    letters: DeadLetters
    backlog: Callable[[], Awaitable[list[Backlog]]]

    async def waiting(self) -> Waiting | None:
        try:
            lanes = await self.backlog()
        except OSError:
            return None
        return Waiting(
            requests=sum(lane.envelopes for lane in lanes),
            bytes=sum(lane.bytes for lane in lanes),
            oldest=min((lane.oldest for lane in lanes if lane.oldest), default=None),
        )


class IngestionApi(Controller):
    path = "/api/projects/{project_id:str}/ingestion"
    tags = ("Ingestion",)
    opt = scoped("event")

    @get("/", summary="Report the outcomes of captured events")
    async def report(
        self,
        request: ManagementRequest,
        ingestion: NamedDependency[IngestionReports],
        turns: NamedDependency[Turns],
        start: Annotated[str | None, QueryParameter(name="from")] = None,
        end: Annotated[str | None, QueryParameter(name="to")] = None,
    ) -> IngestionReport:
        """Report the last hour, or the time between `from` and `to`.

        Both are dates, or relative ones such as `-4h`. `accepted` is the sum of all other counts
        except `waiting`.
        """
        now: datetime = request.app.state.now()
        until = max(read_time_parameter(end, "to", now) or now, EARLIEST)
        since = max(read_time_parameter(start, "from", now) or until - SPAN, EARLIEST)
        project_id = request.project.id
        async with turns.turn(project_id):
            counts = await ingestion.ledger.counts(since, until, project_id)
            examples = await ingestion.ledger.examples(project_id)
        return IngestionReport(
            start=since.replace(second=0, microsecond=0),
            end=until,
            totals=totals_of(counts),
            reasons=[
                _reason_body(reason, examples.get(reason.reason, []))
                for reason in reasons_of(counts)
            ],
            changes_not_made=[
                _skipped_changes_body(reason, examples.get(reason.reason, []))
                for reason in skipped_changes_of(counts)
            ],
            minutes=minutes_of(counts),
            waiting=await ingestion.waiting(),
        )

    @get("/dead_letters", summary="List dead letters")
    async def letters(
        self,
        request: ManagementRequest,
        ingestion: NamedDependency[IngestionReports],
        turns: NamedDependency[Turns],
    ) -> Paged[DeadLetterBody]:
        """List requests that were accepted but could not be ingested, newest first."""
        page, letter_filter = request.page, DeadLetterFilter(request.project.id)
        async with turns.turn(request.project.id):
            letters, count = await ingestion.letters.read_page(
                letter_filter, page.limit, page.offset
            )
        return page.with_results([_letter_body(letter) for letter in letters], count)

    @post("/dead_letters/retry", summary="Retry all dead letters", status_code=202)
    async def retry_all(
        self, request: ManagementRequest, ingestion: NamedDependency[IngestionReports]
    ) -> Affected:
        """Retry all dead letters within seconds. Those that fail again stay, with a new error."""
        letter_filter = DeadLetterFilter(request.project.id)
        return Affected(
            dead_letters=await ingestion.letters.mark_for_retry(
                letter_filter, request.app.state.now()
            )
        )

    @get("/dead_letters/{letter_id:str}", summary="Retrieve a dead letter")
    async def letter(
        self,
        request: ManagementRequest,
        letter_id: ObjectId,
        ingestion: NamedDependency[IngestionReports],
    ) -> DeadLetterBody:
        letters, _ = await ingestion.letters.read_page(_selected_letter(request, letter_id), 1, 0)
        if not letters:
            raise NotFound
        return _letter_body(letters[0])

    @get("/dead_letters/{letter_id:str}/body", summary="Read what a dead letter contains")
    async def body(
        self,
        request: ManagementRequest,
        letter_id: ObjectId,
        ingestion: NamedDependency[IngestionReports],
        turns: NamedDependency[Turns],
    ) -> DeadLetterContent:
        """Return the body of the request, with its events."""
        async with turns.turn(request.project.id):
            body = await ingestion.letters.read_body(_selected_letter(request, letter_id))
        if body is None:
            raise NotFound
        # A character has at most four bytes.
        text = body[: 4 * BODY_CHARS_MAX + 4].decode(errors="replace")
        return DeadLetterContent(body=text[:BODY_CHARS_MAX], is_cut=len(text) > BODY_CHARS_MAX)

    @post("/dead_letters/{letter_id:str}/retry", summary="Retry a dead letter", status_code=202)
    async def retry(
        self,
        request: ManagementRequest,
        letter_id: ObjectId,
        ingestion: NamedDependency[IngestionReports],
    ) -> Affected:
        """Retry the dead letter within seconds. Its events get the ids of the first attempt."""
        now = request.app.state.now()
        marked = await ingestion.letters.mark_for_retry(_selected_letter(request, letter_id), now)
        if not marked:
            raise NotFound
        return Affected(dead_letters=marked)

    @delete("/dead_letters/{letter_id:str}", summary="Discard a dead letter")
    async def drop(
        self,
        request: ManagementRequest,
        letter_id: ObjectId,
        ingestion: NamedDependency[IngestionReports],
    ) -> None:
        """Discard the dead letter. Its events are lost, and counted as `discarded`."""
        if not await ingestion.letters.discard_letters(_selected_letter(request, letter_id)):
            raise NotFound


def _selected_letter(request: ManagementRequest, letter_id: int) -> DeadLetterFilter:
    return DeadLetterFilter(request.project.id, [letter_id])


def _letter_body(letter: DeadLetter) -> DeadLetterBody:
    return DeadLetterBody(
        id=letter.id,
        received_at=letter.received_at,
        failed_at=letter.failed_at,
        items=letter.items,
        attempts=letter.attempts,
        retry_requested_at=letter.retry_requested_at,
        error=letter.error,
        body_bytes=letter.body_bytes,
    )


def _reason_body(reason: Reason, examples: list[Example]) -> ReasonBody:
    return ReasonBody(
        reason=reason.reason, meaning=reason.meaning, items=reason.items, examples=examples
    )


def _skipped_changes_body(reason: Reason, examples: list[Example]) -> SkippedChangesBody:
    return SkippedChangesBody(
        reason=reason.reason, meaning=reason.meaning, count=reason.items, examples=examples
    )
