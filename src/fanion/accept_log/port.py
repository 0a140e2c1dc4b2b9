"""The port of the accept log: requests that were answered with 200 and are not ingested yet."""

from collections.abc import Awaitable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from fanion.errors import AppError

# The fields of an envelope other than its body are stored once per request, but used for each of
# its events.
# Browsers and SDKs send less than 300 characters, apps that embed browsers up to 500.
USER_AGENT_CHARS_MAX = 1_000


class Envelope(msgspec.Struct, frozen=True, gc=False):
    """One accepted request.

    Attributes:
        received_at: Aware, in UTC.
        client_ip: The client's address as `forwarded.read_address` returns it; may be empty.
        user_agent: As sent, cut to USER_AGENT_CHARS_MAX; may be empty.
        sent_at: The client's clock at sending; None if the client did not send it.
        body: Decompressed JSON: one item, an array of items or an object with `batch`.
        historical: Part of an import, which must never delay live events. Decides the lane.
    """

    project_id: int
    received_at: datetime
    client_ip: str
    user_agent: str
    sent_at: datetime | None
    body: bytes
    historical: bool = False


class LogEntry(msgspec.Struct, frozen=True):
    """An envelope with its id in the log. Ids only grow and are never reused.

    Attributes:
        start: For a piece of an envelope, the number of the envelope's items before this piece.
        partition: The partition, within which ids follow the order of the appends; 0 in SQLite.
    """

    id: int
    envelope: Envelope
    start: int = 0
    partition: int = 0


# The only partition of a log in SQLite; those of PostgreSQL and Kafka are numbered from 1.
SINGLE = 0
# An id for each partition concerned.
Positions = Mapping[int, int]
START: Positions = {SINGLE: 0}  # before all entries of a log in SQLite


class PartitionLag(msgspec.Struct, frozen=True):
    """The number of records of a partition that are not ingested yet.

    Attributes:
        partition: As the brokers number it, from 0.
    """

    topic: str
    partition: int
    envelopes: int


class Backlog(msgspec.Struct, frozen=True):
    """The content of a lane: envelopes, the bytes they take up, and the arrival of the oldest.

    Attributes:
        partitions: Only of a log in Kafka, with the partitions in which nothing waits.
    """

    envelopes: int
    bytes: int
    oldest: datetime | None
    partitions: tuple[PartitionLag, ...] = ()

    def age_s(self, now: datetime) -> float:
        """Return the seconds since the arrival of the oldest; 0 if there is none."""
        return 0.0 if self.oldest is None else (now - self.oldest).total_seconds()


def sum_backlogs(backlogs: Iterable[Backlog]) -> Backlog:
    parts = list(backlogs)
    return Backlog(
        sum(part.envelopes for part in parts),
        sum(part.bytes for part in parts),
        min((part.oldest for part in parts if part.oldest is not None), default=None),
        tuple(lag for part in parts for lag in part.partitions),
    )


class LogFull(Exception):
    """The error when the log has reached its size limit, or too many appends wait.

    Nothing was appended.
    """


class EnvelopeTooLarge(AppError):
    """The error when the log never takes an envelope, because of its size.

    Nothing was appended.
    """

    status, type, default_code = 413, "invalid_request", "payload_too_large"

    def __init__(self, size: int, size_max: int) -> None:
        super().__init__(
            f"The request takes {size} bytes in the accept log, which takes at most {size_max}."
        )


class AppendUnsure(OSError):
    """The error when a server may have stored an append although it did not say so."""


class AppendSuspended(AppendUnsure):
    """The error when an append was late because this process was suspended."""


class Completion(Protocol):
    """The completion callback of an append, called once in the event loop.

    An asyncio.Future is one. The append may be left out if `done()` is true, because its caller
    no longer waits.
    """

    def done(self) -> bool: ...

    def set_result(self, result: int, /) -> None: ...

    def set_exception(self, exception: Exception, /) -> None: ...


class Appender(Protocol):
    """The part of the accept log that capture uses."""

    def append_for(self, completion: Completion, envelope: Envelope) -> None:
        """Append an envelope and report to the completion instead of a future; see `append`."""

    def append(self, envelope: Envelope) -> Awaitable[int]:
        """Return the envelope's id once it is durable, or its last piece's id if it was split.

        Raises:
            EnvelopeTooLarge: The log never takes it.
            LogFull: A limit is reached.
            OSError: The store fails. Nothing is written, except perhaps if it is an AppendUnsure.
        """


class AcceptLog(Appender, Protocol):
    """A durable log with a live and a historical lane, read and trimmed independently.

    Ids are unique across lanes and partitions. Every failure of the store is an OSError.
    """

    @property
    def positions_prefix(self) -> str:
        """How the names begin under which the positions of lanes are kept; may be empty."""

    async def read(
        self,
        after: Positions,
        envelopes_max: int,
        bytes_max: int,
        *,
        historical: bool = False,
        upto: Positions | None = None,
    ) -> Sequence[LogEntry]:
        """Return a lane's next entries in these partitions, those of a partition in id order.

        The result has at least one entry if the lane has one, and is complete up to some id for
        each partition: no entry with a smaller id appears there later.

        Args:
            after: The partitions to read, each with the last id already read.
            bytes_max: The limit for the sum of the bodies.
            upto: The largest id to return for each partition; None, or an entry for all of them.
        """

    async def trim(self, upto: Positions, *, historical: bool = False) -> None:
        """Delete entries with id <= upto. A restart may bring some of them back."""

    async def backlog(self, after: Positions, *, historical: bool = False) -> Backlog:
        """Return what is not ingested yet while the lane's consumers are at `after`.

        Args:
            after: The positions of all partitions.
        """

    async def appended(self, after: Positions, *, historical: bool = False) -> None:
        """Wait until one of these partitions may have an entry with id > after in this lane."""

    async def close(self) -> None:
        """Write the pending appends, refuse later ones (OSError), and close the store."""
