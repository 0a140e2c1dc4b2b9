"""The accept log: requests that were answered with 200 and are not ingested yet."""

from collections.abc import Awaitable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

# The fields of an envelope other than its body are stored once per request, and used for each of
# its events.
# Browsers and SDKs send less than 300 characters, apps that embed browsers up to 500.
USER_AGENT_CHARS_MAX = 1_000


class Envelope(msgspec.Struct, frozen=True, gc=False):
    """One accepted request.

    received_at: aware, UTC
    client_ip:   the client's address as `forwarded.read_address` returns it; may be empty
    user_agent:  as sent, cut to USER_AGENT_CHARS_MAX; may be empty
    sent_at:     the client's clock at sending, when it said so
    body:        decompressed JSON, one item, an array of items or an object with `batch`
    historical:  an import that must never delay live events; decides the lane
    """

    project_id: int
    received_at: datetime
    client_ip: str
    user_agent: str
    sent_at: datetime | None
    body: bytes
    historical: bool = False


class LogEntry(msgspec.Struct, frozen=True):
    """An envelope with its place in the log. Ids only grow and are never used again.

    start:     of a piece of an envelope, how many items it had before these
    partition: within which ids are in the order of the appends; 0 in a log without partitions
    """

    id: int
    envelope: Envelope
    start: int = 0
    partition: int = 0


# An id in each partition that is meant. A log without partitions has one, 0.
Positions = Mapping[int, int]
START: Positions = {0: 0}  # before all entries of a log without partitions


class Backlog(msgspec.Struct, frozen=True):
    """What a lane holds: envelopes, the bytes they take up, and the arrival of the oldest."""

    envelopes: int
    bytes: int
    oldest: datetime | None


class LogFull(Exception):
    """The log has reached its size limit, or too many appends wait; nothing was appended."""


class Completion(Protocol):
    """Completion callback of an append, called once in the event loop; an asyncio.Future is one.

    done: whether its caller does not wait any more: then the append may be left out
    """

    def done(self) -> bool: ...

    def set_result(self, result: int, /) -> None: ...

    def set_exception(self, exception: Exception, /) -> None: ...


class Appender(Protocol):
    """The part of the accept log that capture uses."""

    def append_for(self, completion: Completion, envelope: Envelope) -> None:
        """As `append`, with a completion callback in place of a future."""

    def append(self, envelope: Envelope) -> Awaitable[int]:
        """The id, once the envelope is durable; the last one, where it was cut into partitions.

        raises: LogFull when a limit is reached; OSError when the store fails: nothing is written,
                unless the connection to a server was lost during the commit
        """


class AcceptLog(Appender, Protocol):
    """Two lanes, live and historical, each read and trimmed by itself; an id is used once
    in both together, and in all partitions. Every store failure is an OSError."""

    async def read(
        self,
        after: Positions,
        envelopes_max: int,
        bytes_max: int,
        *,
        historical: bool = False,
        upto: Positions | None = None,
    ) -> Sequence[LogEntry]:
        """The next run of a lane in these partitions, in id order; at least one entry when there
        is one. Of each partition it holds all entries up to some id.

        bytes_max: of bodies; once read, no entry with a smaller id appears in its partition
        upto:      no entries with a larger id; for all partitions or none
        """

    async def trim(self, upto: Positions, *, historical: bool = False) -> None:
        """Delete entries with id <= upto; a restart may bring some back."""

    async def backlog(self, after: Positions, *, historical: bool = False) -> Backlog:
        """What has not been ingested when the consumers of the lane stand at `after`.

        after: of all partitions
        """

    async def appended(self, after: Positions, *, historical: bool = False) -> None:
        """Wait until the lane may have an entry with id > after in one of these partitions."""

    async def close(self) -> None:
        """Write what still waits, refuse later appends (OSError), and close the store."""
