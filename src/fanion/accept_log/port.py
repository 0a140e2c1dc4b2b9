"""The accept log: what has been answered with 200 and is not ingested yet."""

from collections.abc import Awaitable, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

# What an envelope has beside its body is kept for each request, and used for each of its events.
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


class Entry(msgspec.Struct, frozen=True):
    """An envelope with its place in the log. Ids only grow and are never used again.

    start: of a piece of an envelope, how many items it had before these
    """

    id: int
    envelope: Envelope
    start: int = 0


class Backlog(msgspec.Struct, frozen=True):
    """What waits in a lane: envelopes, the bytes they take up, and the oldest one's arrival."""

    envelopes: int
    bytes: int
    oldest: datetime | None


class LogFull(Exception):
    """The log has reached its size limit, or too many appends wait; nothing was appended."""


class Receipt(Protocol):
    """Is told once what became of an append, in the event loop; a future is one.

    done: whether nobody waits for it any more: then the append may be left out
    """

    def done(self) -> bool: ...

    def set_result(self, result: int, /) -> None: ...

    def set_exception(self, exception: Exception, /) -> None: ...


class Appender(Protocol):
    """What capture needs of the accept log."""

    def append_for(self, receipt: Receipt, envelope: Envelope) -> None:
        """As `append`, for whoever needs neither a future nor a task to go on."""

    def append(self, envelope: Envelope) -> Awaitable[int]:
        """The id, once the envelope is durable.

        raises: LogFull when a limit is reached; OSError when the store fails: nothing is kept,
                unless the connection to a server was lost during the commit
        """


class AcceptLog(Appender, Protocol):
    """Two lanes, live and historical, each read and trimmed for itself; an id is used once
    in both together. Every store failure is an OSError."""

    async def read(
        self, after: int, envelopes_max: int, bytes_max: int, *, historical: bool = False
    ) -> Sequence[Entry]:
        """The next run of a lane in id order, at least one entry when there is one.

        bytes_max: of bodies; once read, no entry with a smaller id appears
        """

    async def trim(self, upto: int, *, historical: bool = False) -> None:
        """Forget entries with id <= upto; a restart may bring some back."""

    async def backlog(self, after: int, *, historical: bool = False) -> Backlog:
        """What has not been ingested when the lane's consumer stands at `after`."""

    async def appended(self, after: int, *, historical: bool = False) -> None:
        """Wait until the lane may have an entry with id > after."""

    async def close(self) -> None:
        """Write what still waits, refuse what comes later (OSError), and let the store go."""
