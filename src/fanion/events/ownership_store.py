"""Whose event store it is: the records know the event store that holds their events, and the event
store is marked with the installation that it belongs to. Without that, two installations with one
event store would read and delete one another's events, and two event stores of one installation
would have half of them each."""

from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from sqlalchemy import select, update

from fanion.db.engine import Records
from fanion.db.schema.servers import installation
from fanion.errors import StartRefused

GONE_ADVICE = (
    "Restore the folder from a backup; to go on without these events, run `fanion stores adopt`."
)
ADVICE = "`fanion stores adopt` makes it that of these records"
NO_EVENTS = "holds no events of these records, which have another one"
OTHER = "is another one than these records have their events in"

_installation = installation.c
_READ = select(_installation.id, _installation.event_store)


@dataclass(frozen=True, slots=True)
class Installation:
    """event_store: None as long as it has none"""

    id: UUID
    event_store: UUID | None


class ForeignEventStore(StartRefused):
    """where: the event store, for a message; why: what is known of it"""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(
            f"FANION_EVENTS_URL and FANION_DATABASE_URL disagree: {where} {why}. Correct one of "
            f"them; if both are right, {ADVICE}."
        )


class EventStoreGone(StartRefused):
    """where: the embedded event store, for a message"""

    def __init__(self, where: str) -> None:
        super().__init__(f"FANION_EVENTS_URL: {gone_text(where)}. {GONE_ADVICE}")


def gone_text(where: str) -> str:
    return f"{where} is gone, and these records have their events in it"


def is_empty(folder: Path) -> bool:
    """Whether it was deleted, with what it held or without the folder itself."""
    return not folder.is_dir() or next(folder.iterdir(), None) is None


@dataclass(frozen=True, slots=True)
class Mark:
    """An event store's. where: for a message; event_store: its id"""

    where: str
    event_store: UUID


async def read_installation(records: Records) -> Installation:
    """raises: RecordsUnavailable"""
    [row] = await records.fetch(_READ)
    return Installation(row.id, row.event_store)


async def bind_event_store(records: Records, mark: Mark) -> None:
    """Remember it, unless there is one already, which it must be then.

    raises: RecordsUnavailable, ForeignEventStore
    """
    unbound = update(installation).where(_installation.event_store.is_(None))
    async with records.write() as connection:
        await connection.execute(unbound.values(event_store=mark.event_store))
        bound = (await connection.execute(select(_installation.event_store))).scalar_one()
    if bound != mark.event_store:
        raise ForeignEventStore(
            mark.where, "is another one than these records have their events in"
        )


async def rebind_event_store(records: Records, mark: Mark) -> None:
    """Remember it in place of any other. raises: RecordsUnavailable"""
    async with records.write() as connection:
        await connection.execute(update(installation).values(event_store=mark.event_store))
