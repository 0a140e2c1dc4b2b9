"""The commands `fanion ingestion` and `fanion dead-letters`: the outcomes of accepted events.

They use the records store directly, whether a server runs or not.
"""

import asyncio
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from fanion.cli.options import AsJson, Data
from fanion.cli.output import print_result, refuse, settings_of, time_text, with_records
from fanion.config.kafka import KafkaAddress
from fanion.db.engine import Records
from fanion.ingest.ledger.dead_letters_store import DeadLetter, DeadLetterFilter, DeadLetters
from fanion.ingest.ledger.store import Ledger, reasons_of, skipped_changes_of, totals_of
from fanion.ingest.pipeline.group_store import move_back, read_topic_ids
from fanion.ingest.pipeline.position_store import HISTORICAL, LANES
from fanion.runtime.clock import utc_now

ERROR_CHARS = 80

ingestion = typer.Typer(
    help="The outcomes of accepted items, and their repetition from Kafka.",
    invoke_without_command=True,
)
dead_letters = typer.Typer(
    help="Requests that were accepted and could not be ingested.", no_args_is_help=True
)

Project = Annotated[int | None, typer.Option(help="The project's id; all projects by default.")]
Ids = Annotated[list[int] | None, typer.Argument(help="Ids that `fanion dead-letters list` shows.")]
All = Annotated[bool, typer.Option("--all", help="All dead letters, or all of --project.")]


@ingestion.callback()
def report(
    context: typer.Context,
    project: Project = None,
    minutes: Annotated[int, typer.Option(min=1, help="How far to look back.")] = 60,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Report the outcomes of recently accepted items, and why some were not stored.

    Items that still wait in the accept log are not included.
    """
    if context.invoked_subcommand is not None:
        return

    async def work(records: Records) -> list[dict[str, Any]]:
        now = utc_now()
        ledger = Ledger(records, utc_now)
        counts = await ledger.counts(now - timedelta(minutes=minutes), now, project)
        rows = []
        for project_id in sorted({entry.project_id for entry in counts}):
            own = [entry for entry in counts if entry.project_id == project_id]
            totals = totals_of(own)
            why = ", ".join(f"{entry.reason} {entry.items}" for entry in reasons_of(own))
            rows.append(
                {
                    "project": project_id,
                    "accepted": totals.accepted,
                    "stored": totals.stored,
                    "duplicates": totals.duplicates,
                    "dropped": totals.dropped,
                    "dead_lettered": totals.dead_lettered,
                    "reasons": why,
                    "changes_not_made": ", ".join(
                        f"{entry.reason} {entry.items}" for entry in skipped_changes_of(own)
                    ),
                }
            )
        return rows

    print_result(with_records(settings_of(data=data), work), as_json)


@ingestion.command("replay")
def replay(
    since: Annotated[
        str,
        typer.Option("--from", help="The time from which on, such as 2026-05-06T07:08:09Z."),
    ],
    data: Data = None,
) -> None:
    """Ingest again what Kafka still has of the requests that were accepted since a time.

    Use it after the event store or the records were restored from a backup. What is stored already
    is stored once. Servers may run, and ingest the requests.
    """
    settings, at = settings_of(data=data), _parse_moment(since)
    address = settings.kafka
    if address is None:
        refuse("FANION_LOG_URL must name the accept log in Kafka.")

    async def work(records: Records) -> str:
        try:
            return await _replay(address, records, at)
        except OSError as error:
            refuse(f"Kafka cannot be used: {error}")

    print(with_records(settings, work))


async def _replay(address: KafkaAddress, records: Records, at: datetime) -> str:
    from fanion.app.accept_logs import kafka_client_required

    with kafka_client_required():
        from fanion.accept_log.kafka.records import position_before, positions_prefix
        from fanion.accept_log.kafka.topics import Topics

    topics = await asyncio.to_thread(Topics, address)
    state = await asyncio.to_thread(topics.read)
    prefix = positions_prefix(address.name)
    if state is None or await read_topic_ids(records, prefix) != " ".join(state.ids):
        refuse("the topics in FANION_LOG_URL are not those whose positions are stored")
    partitions, at_ms = range(1, state.partitions + 1), int(at.timestamp() * 1000)
    upto: dict[str, dict[int, int]] = {}
    count = 0
    for lane in LANES:
        historical = lane == HISTORICAL
        first = await asyncio.to_thread(topics.since, partitions, at_ms, historical=historical)
        ends = await asyncio.to_thread(topics.ends, first, historical=historical)
        count += sum(ends[partition] - offset for partition, offset in first.items())
        upto[lane] = {
            part: position_before(offset, part, historical=historical)
            for part, offset in first.items()
        }
    await move_back(records, prefix, upto)
    return f"{count} requests since {time_text(at)} are ingested again."


def _parse_moment(text: str) -> datetime:
    """Parse an ISO 8601 time, taken as UTC if it has no zone."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        refuse(f"--from must be a date or a time such as 2026-05-06T07:08:09Z, got {text!r}")


@dead_letters.command("list")
def list_letters(
    project: Project = None,
    limit: Annotated[int, typer.Option(min=1, help="How many to list, newest first.")] = 100,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """List dead letters, the newest first."""

    async def work(records: Records) -> list[dict[str, Any]]:
        letters, _ = await DeadLetters(records).read_page(DeadLetterFilter(project), limit, 0)
        return [_letter_row(letter, ERROR_CHARS) for letter in letters]

    print_result(with_records(settings_of(data=data), work), as_json)


@dead_letters.command("show")
def show_letter(letter_id: int, data: Data = None, as_json: AsJson = False) -> None:
    """Print one dead letter with its whole error and the body of the request."""

    async def work(records: Records) -> dict[str, Any]:
        letters, chosen = DeadLetters(records), DeadLetterFilter(ids=[letter_id])
        matches, _ = await letters.read_page(chosen, 1, 0)
        body = await letters.read_body(chosen)
        if not matches or body is None:
            refuse(f"There is no dead letter {letter_id}; `fanion dead-letters list` shows them.")
        return {**_letter_row(matches[0], None), "body": body.decode(errors="replace")}

    print_result(with_records(settings_of(data=data), work), as_json)


@dead_letters.command("retry")
def retry_letters(
    ids: Ids = None, every: All = False, project: Project = None, data: Data = None
) -> None:
    """Have the running server, or the next one that starts, retry dead letters.

    Their events get the same ids as at the first attempt: nothing is stored twice.
    """
    chosen = _letter_filter(ids, every, project)

    async def work(records: Records) -> int:
        return await DeadLetters(records).mark_for_retry(chosen, utc_now())

    _print_count(with_records(settings_of(data=data), work), chosen, "will be retried")


@dead_letters.command("drop")
def drop_letters(
    ids: Ids = None, every: All = False, project: Project = None, data: Data = None
) -> None:
    """Delete dead letters. Their events are lost."""
    chosen = _letter_filter(ids, every, project)

    async def work(records: Records) -> int:
        return await DeadLetters(records).discard_letters(chosen)

    _print_count(with_records(settings_of(data=data), work), chosen, "dropped")


def _letter_filter(ids: list[int] | None, every: bool, project: int | None) -> DeadLetterFilter:
    if bool(ids) == every:
        refuse("Give dead-letter ids, or --all.")
    return DeadLetterFilter(project, ids or None)


def _print_count(count: int, chosen: DeadLetterFilter, action: str) -> None:
    if chosen.ids is not None and count < len(set(chosen.ids)):
        missing = len(set(chosen.ids)) - count
        refuse(f"{count} {action}; {missing} of the ids are not dead letters.")
    print(f"{count} {action}.")


def _letter_row(letter: DeadLetter, error_chars: int | None) -> dict[str, Any]:
    times = ("received_at", "failed_at", "retry_requested_at")
    texts = {name: time_text(getattr(letter, name)) for name in times}
    return {**asdict(letter), **texts, "error": letter.error[:error_chars]}
