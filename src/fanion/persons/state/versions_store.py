"""The versions of persons, groups and overrides.

Of two batches that conflict, the one that is committed later has read what the other one wrote,
and draws after reading: its version is higher.
"""

from typing import Final

from sqlalchemy import Connection, func, select, text, update

from fanion.db.engine import Records
from fanion.db.schema.persons import mirror_versions

# SQLite writes its file once for so many versions.
RESERVED: Final = 1_000

_NEXT = select(func.nextval("mirror_versions_version_seq"))
# Numbers that others draw between `nextval` and `setval` are skipped.
_RAISE = text(
    """
  SELECT setval('mirror_versions_version_seq',
                GREATEST(nextval('mirror_versions_version_seq') + :reserved, :above + 1))
"""
)
_ONE_AT_A_TIME = text("SELECT pg_advisory_xact_lock(7238414922)")
_version = mirror_versions.c.version
_RESERVE = update(mirror_versions).returning(_version)


class Versions:
    """The source of versions, one for all that draw in this process."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._last = self._reserved = 0  # on SQLite

    async def draw(self, above: int = 0) -> int:
        """Return a version higher than `above` and than all that were drawn before, by any server.

        Args:
            above: The highest of the versions that are about to be replaced. It may be higher than
                the drawn ones if an earlier program still writes, or if the installation was
                restored.

        Raises:
            RecordsUnavailable: The records store cannot be reached.
        """
        if self._records.dialect == "sqlite":
            return await self._draw_reserved(above)
        [(drawn,)] = await self._records.fetch(_NEXT)
        if drawn > above:
            return int(drawn)
        async with self._records.write() as connection:
            return await connection.run_sync(_raise, above)

    async def _draw_reserved(self, above: int) -> int:
        number = max(self._last, above) + 1
        if number > self._reserved:
            async with self._records.write() as connection:
                self._reserved = await connection.run_sync(_reserve, above)
            # Another draw may have ended while this one waited.
            number = max(self._last, self._reserved - RESERVED) + 1
        self._last = number
        return number


def _raise(connection: Connection, above: int) -> int:
    connection.execute(_ONE_AT_A_TIME)
    return int(connection.execute(_RAISE, {"reserved": RESERVED, "above": above}).scalar_one())


def _reserve(connection: Connection, above: int) -> int:
    values = {"version": func.max(_version, above) + RESERVED}
    return int(connection.execute(_RESERVE.values(values)).scalar_one())
