"""Whose event store it is: the records know the event store that holds their events, and the event
store is marked with the installation that it belongs to. Without that, two installations with one
event store would read and delete one another's events, and two event stores of one installation
would have half of them each."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select, update

from fanion.db.engine import Records
from fanion.db.schema.servers import installation
from fanion.errors import StartRefused

ADVICE = "`fanion stores adopt` makes it that of these records"
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
