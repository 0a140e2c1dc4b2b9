"""The positions in a log in Kafka: whose topics they are, and which worker moves which.

Kafka assigns the partitions; the epoch of a position refuses a worker that no longer has them.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, select, text

from fanion.db.engine import Records
from fanion.db.schema.tables import log_positions
from fanion.errors import StartRefused
from fanion.ingest.pipeline.position_store import LANES, PROGRESS_SUFFIX, consumer_of

# The row of the log itself has the ids of its topics as holder, and as position the number of
# partitions.
_LOCK_LOG = text("""
INSERT INTO log_positions AS log (consumer, position, claimed, holder, held_until)
     VALUES (:log, 0, 0, '', CURRENT_TIMESTAMP)
ON CONFLICT (consumer) DO UPDATE SET position = log.position
  RETURNING position, holder
""")
_NOTE_LOG = text("""
UPDATE log_positions SET position = :partitions, holder = :ids WHERE consumer = :log
""")
_ADD = text("""
INSERT INTO log_positions (consumer, position, claimed, holder, held_until, partition)
SELECT :lane || '/' || number, 0, 0, '', CURRENT_TIMESTAMP, -number
  FROM GENERATE_SERIES(1, :partitions) AS number
ON CONFLICT (consumer) DO NOTHING
""")
# Rows that a paused worker has locked are left to it until its transaction has ended.
_LOCK = text("""
  SELECT partition, holder
    FROM log_positions
   WHERE consumer = ANY(:consumers)
ORDER BY consumer
     FOR UPDATE SKIP LOCKED
""")
_TAKE = text("""
   UPDATE log_positions
      SET epoch = epoch + 1, holder = :worker
    WHERE consumer = ANY(:consumers)
RETURNING partition, epoch
""")
_RELEASE = text("""
UPDATE log_positions SET holder = '' WHERE holder = :worker AND consumer = ANY(:consumers)
""")
_HELD = text("""
SELECT partition, epoch FROM log_positions WHERE holder = :worker AND consumer = ANY(:consumers)
""")
_MOVE_BACK = text("""
UPDATE log_positions
   SET position = :position, claimed = :position
 WHERE consumer = :consumer AND position > :position
""")
_FORGET_PROGRESS = text("DELETE FROM log_positions WHERE consumer = :row")
_NEXT_EPOCHS = text("""
UPDATE log_positions
   SET epoch = epoch + 1, holder = ''
 WHERE STARTS_WITH(consumer, :prefix) AND partition < 0
""")
_IS_PENDING = text("SELECT EXISTS (SELECT FROM accept_log_entries)")


class WrongTopics(StartRefused):
    """The error when the topics are not those whose positions are stored."""


@dataclass(frozen=True, slots=True)
class Taken:
    """Partitions that a worker has taken, by their epoch.

    Attributes:
        unreleased: Those whose holder has not given them up.
    """

    epochs: Mapping[int, int]
    unreleased: frozenset[int]


async def read_topic_ids(records: Records, prefix: str) -> str:
    """Return the ids of the topics of this name whose positions are stored; "" if none are."""
    statement = select(log_positions.c.holder).where(log_positions.c.consumer == prefix)
    return next((str(row.holder) for row in await records.fetch(statement)), "")


async def note_topics(
    records: Records, prefix: str, ids: tuple[str, str], partitions: int, *, are_own: bool
) -> None:
    """Keep positions for the partitions of these topics.

    Args:
        are_own: Whether nothing in them is of another installation.

    Raises:
        WrongTopics: Positions are stored for other topics of this name, or for more partitions.
        RecordsUnavailable: The records store failed.
    """
    async with records.write() as connection:
        await connection.run_sync(_note_topics, prefix, " ".join(ids), partitions, are_own)


def _note_topics(
    connection: Connection, prefix: str, ids: str, partitions: int, are_own: bool
) -> None:
    name = prefix.split("/")[1]
    row = connection.execute(_LOCK_LOG, {"log": prefix}).one()
    if row.holder and row.holder != ids:
        raise WrongTopics(
            f"FANION_LOG_URL and FANION_DATABASE_URL disagree: the topics of {name} are not those "
            "whose positions are stored. They were deleted and created again, or are in another "
            "cluster. Correct one of the two; to begin with these topics, give the log another "
            "name in FANION_LOG_URL."
        )
    if row.position > partitions:
        raise WrongTopics(
            f"the topics of {name} have {partitions} partitions, and had {row.position}"
        )
    if not row.holder and not are_own:
        raise WrongTopics(
            f"FANION_LOG_URL: the topics of {name} have requests that this installation has not "
            "accepted. Give the log a name of its own."
        )
    if not row.holder and connection.execute(_IS_PENDING).scalar_one():
        raise WrongTopics(
            "requests wait in the accept log in PostgreSQL. Start without FANION_LOG_URL until "
            "they are ingested, then with it."
        )
    if row.position < partitions:
        for lane in LANES:
            connection.execute(_ADD, {"lane": prefix + lane, "partitions": partitions})
        connection.execute(_NOTE_LOG, {"log": prefix, "ids": ids, "partitions": partitions})


@dataclass(frozen=True, slots=True)
class GroupStore:
    """The positions as one worker holds them.

    Attributes:
        prefix: As `AcceptLog.positions_prefix`.
        worker: The name of this process.
    """

    records: Records
    prefix: str
    worker: str

    async def take_partitions(self, partitions: Collection[int]) -> Taken:
        """Take partitions that Kafka has assigned, except those that a transaction has locked."""
        async with self.records.write() as connection:
            return await connection.run_sync(self._take, partitions)

    def _take(self, connection: Connection, partitions: Collection[int]) -> Taken:
        rows = connection.execute(_LOCK, {"consumers": self._consumers(partitions)}).all()
        numbers = [-row.partition for row in rows]
        both = {number for number in numbers if numbers.count(number) == len(LANES)}
        unreleased = {-row.partition for row in rows if row.holder not in ("", self.worker)}
        taken = connection.execute(
            _TAKE, {"consumers": self._consumers(both), "worker": self.worker}
        ).all()
        return Taken({-row.partition: row.epoch for row in taken}, frozenset(unreleased & both))

    async def release_partitions(self, partitions: Collection[int]) -> None:
        async with self.records.write() as connection:
            await connection.execute(
                _RELEASE, {"worker": self.worker, "consumers": self._consumers(partitions)}
            )

    async def read_held(self, partitions: Collection[int]) -> Mapping[int, int]:
        """Return the epochs of those of these partitions that are still this worker's."""
        parameters = {"worker": self.worker, "consumers": self._consumers(partitions)}
        rows = await self.records.fetch(_HELD, parameters)
        return {-row.partition: row.epoch for row in rows}

    def _consumers(self, partitions: Collection[int]) -> list[str]:
        return [
            consumer_of(self.prefix + lane, partition)
            for lane in LANES
            for partition in sorted(partitions)
        ]


async def move_back(records: Records, prefix: str, upto: Mapping[str, Mapping[int, int]]) -> int:
    """Let entries be ingested again, by moving positions back.

    Servers that run go on from there: the partitions get another epoch.

    Args:
        upto: By lane, the position of each partition before its first entry; later ones stay.

    Returns:
        How many positions were moved.

    Raises:
        RecordsUnavailable: The records store failed.
    """
    async with records.write() as connection:
        return await connection.run_sync(_move_back, prefix, upto)


def _move_back(connection: Connection, prefix: str, upto: Mapping[str, Mapping[int, int]]) -> int:
    moved = 0
    for lane, positions in upto.items():
        for partition, position in positions.items():
            consumer = consumer_of(prefix + lane, partition)
            parameters = {"consumer": consumer, "position": position}
            if connection.execute(_MOVE_BACK, parameters).rowcount:
                connection.execute(_FORGET_PROGRESS, {"row": consumer + PROGRESS_SUFFIX})
                moved += 1
    # Both lanes of a partition have one epoch.
    connection.execute(_NEXT_EPOCHS, {"prefix": prefix})
    return moved
