"""The cancellation of queries by the names that clients gave them, on whichever server they run."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, Never
from uuid import UUID, uuid4

from sqlalchemy import delete, func, insert, select

from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.schema.servers import query_cancellations
from fanion.insights.questions.running_service import RunningQueries
from fanion.runtime.background import run_loop

LOOK_S: Final = 0.5
# Much longer than LOOK_S. A server that could not read a request by then does not cancel the query.
KEPT: Final = timedelta(minutes=1)

_row = query_cancellations.c


@dataclass(slots=True)
class QueryCancellations:
    """The requests to cancel queries, which all servers read.

    Attributes:
        running: The queries on this server.
    """

    records: Records
    running: RunningQueries = field(default_factory=RunningQueries)
    _seen: set[UUID] = field(default_factory=set)

    @property
    def is_shared(self) -> bool:
        """Return whether other servers may run queries too."""
        return self.records.dialect != "sqlite"

    async def cancel_query(self, project_id: int, query_id: str) -> None:
        """Cancel a query, whichever server runs it.

        Raises:
            RecordsUnavailable: Only queries of this server are cancelled.
        """
        self.running.cancel_query(project_id, query_id)
        if not self.is_shared:
            return
        cancellation = uuid4()
        self._seen.add(cancellation)
        named = {"id": cancellation, "project_id": project_id, "query_id": query_id}
        old = _row.requested_at <= func.now() - KEPT
        async with self.records.write() as connection:
            await connection.execute(delete(query_cancellations).where(old))
            await connection.execute(
                insert(query_cancellations).values(**named, requested_at=func.now())
            )

    async def run(self) -> Never:
        """Cancel what other servers were asked to cancel, until cancelled."""
        await run_loop(self.look, LOOK_S, "query_cancellations_unread", (RecordsUnavailable,))

    async def look(self) -> None:
        """Cancel the queries of new requests.

        Each request is seen once, so that a later query of the same name runs.

        Raises:
            RecordsUnavailable: The records store does not answer.
        """
        before = set(self._seen)
        requests = await self.records.fetch(
            select(_row.id, _row.project_id, _row.query_id).where(
                _row.requested_at > func.now() - KEPT
            )
        )
        for request in requests:
            if request.id not in self._seen:
                self.running.cancel_query(request.project_id, request.query_id)
        added = self._seen - before  # by this server meanwhile
        self._seen = added | {request.id for request in requests}
