"""The binding between the records and the event store that holds their events.

The event store is marked with the installation to which it belongs, and the records know the
event store. Without that, two installations with one event store would read and delete each
other's events, and two event stores of one installation would each have half of them.
"""

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
ADVICE = "`fanion stores adopt` assigns it to these records"
NO_EVENTS = "holds no events of these records, which belong to another event store"
OTHER = "is not the event store that holds the events of these records"

_installation = installation.c
_READ = select(_installation.id, _installation.event_store)


@dataclass(frozen=True, slots=True)
class Installation:
    """The installation to which these records belong.

    Attributes:
        event_store: The id of its event store; None as long as it has none.
    """

    id: UUID
    event_store: UUID | None


class ForeignEventStore(StartRefused):
    """The refusal to start with an event store of another installation."""

    def __init__(self, where: str, why: str) -> None:
        """Create the error.

        Args:
            where: The event store, for the message.
            why: What is known about it.
        """
        super().__init__(
            f"FANION_EVENTS_URL and FANION_DATABASE_URL disagree: {where} {why}. Correct one of "
            f"them; if both are right, {ADVICE}."
        )


class EventStoreGone(StartRefused):
    """The refusal to start when the embedded event store is gone."""

    def __init__(self, where: str) -> None:
        """Create the error for the event store `where`, as the message names it."""
        super().__init__(f"FANION_EVENTS_URL: {gone_text(where)}. {GONE_ADVICE}")


def gone_text(where: str) -> str:
    return f"{where} is gone, and it held the events of these records"


def is_empty(folder: Path) -> bool:
    """Return whether the folder is empty or does not exist."""
    return not folder.is_dir() or next(folder.iterdir(), None) is None


@dataclass(frozen=True, slots=True)
class Mark:
    """The mark of an event store.

    Attributes:
        where: The event store, for a message.
        event_store: Its id.
    """

    where: str
    event_store: UUID


async def read_installation(records: Records) -> Installation:
    """Read the installation.

    Raises:
        RecordsUnavailable: The records store failed.
    """
    [row] = await records.fetch(_READ)
    return Installation(row.id, row.event_store)


async def bind_event_store(records: Records, mark: Mark) -> None:
    """Bind these records to the event store `mark`, unless they are bound already.

    Raises:
        ForeignEventStore: They are bound to another event store.
        RecordsUnavailable: The records store failed.
    """
    unbound = update(installation).where(_installation.event_store.is_(None))
    async with records.write() as connection:
        await connection.execute(unbound.values(event_store=mark.event_store))
        bound = (await connection.execute(select(_installation.event_store))).scalar_one()
    if bound != mark.event_store:
        raise ForeignEventStore(mark.where, OTHER)


async def rebind_event_store(records: Records, mark: Mark) -> None:
    """Bind these records to the event store `mark`, even if they are bound to another one.

    Raises:
        RecordsUnavailable: The records store failed.
    """
    async with records.write() as connection:
        await connection.execute(update(installation).values(event_store=mark.event_store))
