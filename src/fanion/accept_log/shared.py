"""An accept log that several servers share, as those use it that append to it."""

from abc import abstractmethod
from collections.abc import Sequence

from fanion.accept_log.group_commit import GroupCommitLog
from fanion.accept_log.port import Envelope, LogEntry


class SharedLog(GroupCommitLog):
    """The appending half of a log in PostgreSQL or Kafka.

    Attributes:
        installation: The installation that the log's entries name; "" where they name none.
    """

    installation: str = ""

    @property
    @abstractmethod
    def partitions(self) -> int:
        """Their number."""

    @abstractmethod
    async def append_spooled(
        self, spool: str, entries: Sequence[LogEntry], *, historical: bool
    ) -> None:
        """Append entries of a spool. Nothing is ingested twice if it is appended again.

        Args:
            spool: Name of the spool, in which the entries' ids are unique.

        Raises:
            LogFull: Nothing was appended.
            OSError: The store failed; some entries may be appended.
        """

    @abstractmethod
    async def require_fits(self, envelopes: Sequence[Envelope]) -> None:
        """Require that the log will take these envelopes, as far as that is known.

        Raises:
            EnvelopeTooLarge: It does not take one of them.
        """

    @abstractmethod
    async def ping(self) -> None:
        """Ask whether it takes appends.

        Raises:
            OSError: It does not.
        """

    @abstractmethod
    async def close(self) -> None:
        """Write the pending appends, refuse later ones (OSError), and close the store."""
