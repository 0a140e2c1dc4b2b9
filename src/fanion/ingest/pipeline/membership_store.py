"""The workers that ingest the accept log in PostgreSQL, and the leases of its partitions.

All times are by the database's clock.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, text

from fanion.db.drivers import SILENCE_S
from fanion.db.engine import Records
from fanion.ingest.pipeline.assignment import Holding, partitions_to_take

# A worker that has not renewed its membership for this long is taken to be dead.
LOST_S = 6
FORGOTTEN_S = 3_600  # for a dead worker without partitions
# The advisory lock under which partitions are taken, by one worker at a time.
_LOCK_CLASS, _LOCK = 1_179_602_497, 2

_RENEW = text("""
INSERT INTO log_workers (id, renewed_at)
VALUES (:worker, CLOCK_TIMESTAMP())
ON CONFLICT (id) DO UPDATE SET renewed_at = excluded.renewed_at
""")
_FORGET = text(f"""
DELETE FROM log_workers
      WHERE renewed_at < CLOCK_TIMESTAMP() - INTERVAL '{FORGOTTEN_S} s'
        AND id NOT IN (SELECT holder FROM log_positions)
""")
_HOLDINGS = text(f"""
  SELECT held.partition,
         MAX(held.epoch) AS epoch,
         MAX(held.holder) AS holder,
         BOOL_OR(worker.id IS NOT NULL) AS is_alive,
         BOOL_OR(held.claimed > held.position) AS is_claimed
    FROM log_positions AS held
    LEFT JOIN log_workers AS worker
      ON worker.id = held.holder
     AND worker.renewed_at > CLOCK_TIMESTAMP() - INTERVAL '{LOST_S} s'
   WHERE held.partition > 0
GROUP BY held.partition
ORDER BY held.partition
""")
_ALIVE = text(f"""
SELECT COUNT(*) FROM log_workers WHERE renewed_at > CLOCK_TIMESTAMP() - INTERVAL '{LOST_S} s'
""")
_IN_TURN = text(f"SELECT PG_ADVISORY_XACT_LOCK({_LOCK_CLASS}, {_LOCK})")
# Rows that a paused worker has locked are left to it until its transaction has ended.
_LOCK_ROWS = text("""
   SELECT partition FROM log_positions WHERE partition = ANY(:partitions) FOR UPDATE SKIP LOCKED
""")
_TAKE = text("""
UPDATE log_positions SET epoch = epoch + 1, holder = :worker WHERE partition = ANY(:partitions)
""")
_RELEASE = text("""
UPDATE log_positions SET holder = '' WHERE holder = :worker AND partition = ANY(:partitions)
""")
# A process that is paused between two messages of a statement holds its locks, and none of the
# timeouts of PostgreSQL ends that: to it the statement runs.
_END_SILENT = text("""
SELECT PG_TERMINATE_BACKEND(other.pid)
  FROM pg_stat_activity AS own
  JOIN pg_stat_activity AS other USING (datid, usesysid, application_name)
 WHERE own.pid = PG_BACKEND_PID()
   AND other.state = 'active' AND other.wait_event_type = 'Client'
   AND other.state_change < CLOCK_TIMESTAMP() - INTERVAL '1 s' * :silence_s
""")
# Claimed partitions keep their holder, so that the batch is recognised.
_LEAVE = (
    text("""
    UPDATE log_positions
       SET holder = ''
     WHERE holder = :worker
       AND partition NOT IN (SELECT partition
                               FROM log_positions
                              WHERE holder = :worker AND claimed > position)
    """),
    text("DELETE FROM log_workers WHERE id = :worker"),
)


@dataclass(frozen=True, slots=True)
class Group:
    """All partitions, and the number of living workers."""

    holdings: Sequence[Holding]
    workers: int


@dataclass(frozen=True, slots=True)
class MembershipStore:
    """The membership of one worker.

    Attributes:
        worker: The name of this process.
    """

    records: Records
    worker: str

    async def renew_membership(self) -> None:
        async with self.records.write() as connection:
            await connection.execute(_RENEW, {"worker": self.worker})
            await connection.execute(_FORGET)

    async def end_silent_transactions(self, silence_s: float = SILENCE_S) -> None:
        """End transactions of servers that stopped in the middle of a statement."""
        await self.records.fetch(_END_SILENT, {"silence_s": silence_s})

    async def read_group(self) -> Group:
        async with self.records.read() as connection:
            return await connection.run_sync(_read_group)

    async def take_partitions(self) -> bool:
        """Take free partitions.

        Returns:
            Whether there may be more that this worker can take before it repeats a batch that it
            took over.
        """
        async with self.records.write() as connection:
            return await connection.run_sync(_take_partitions, self.worker)

    async def release_partitions(self, partitions: Collection[int]) -> None:
        async with self.records.write() as connection:
            await connection.execute(
                _RELEASE, {"worker": self.worker, "partitions": list(partitions)}
            )

    async def leave_group(self) -> None:
        async with self.records.write() as connection:
            for statement in _LEAVE:
                await connection.execute(statement, {"worker": self.worker})


def _read_group(connection: Connection) -> Group:
    holdings = [Holding(**row) for row in connection.execute(_HOLDINGS).mappings()]
    return Group(holdings, connection.execute(_ALIVE).scalar_one())


def _take_partitions(connection: Connection, worker: str) -> bool:
    connection.execute(_IN_TURN)
    group = _read_group(connection)
    partitions = partitions_to_take(group.holdings, worker, group.workers)
    locked = [row.partition for row in connection.execute(_LOCK_ROWS, {"partitions": partitions})]
    both_lanes = [partition for partition in partitions if locked.count(partition) == 2]
    is_claimed = any(
        holding.is_claimed for holding in group.holdings if holding.partition in partitions
    )
    if not both_lanes or (is_claimed and both_lanes != partitions):
        return False
    connection.execute(_TAKE, {"worker": worker, "partitions": both_lanes})
    return not is_claimed
