"""A PostgreSQL primary with a synchronous standby: committed transactions are on both."""

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.memory_folder import short_folder
from tests.support.postgres import (
    SPEED,
    binaries,
    free_port,
    initialise,
    start_server,
    stop_server,
    unprivileged_account,
)

COMMAND_S = 60
# A commit waits until the standby has it, also while there is no standby. A standby that has lost
# its primary soon tries again.
REPLICATION = ("synchronous_standby_names=*", "wal_retrieve_retry_interval=200ms", *SPEED)


@dataclass
class Node:
    """A server with a folder for its data and its log.

    Attributes:
        settings: As `name=value`.
    """

    folder: Path
    settings: Sequence[str] = REPLICATION
    port: int = field(default_factory=free_port)
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        self.process = start_server(binaries(), self.folder, self.port, self.settings)

    def crash(self) -> None:
        """End the server without a checkpoint; its clients lose their connections."""
        assert self.process is not None
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(COMMAND_S)

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            stop_server(self.process)

    def command(self, name: str, *arguments: str) -> None:
        done = subprocess.run(
            [binaries() / name, *arguments],
            user=unprivileged_account(),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=COMMAND_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr


@dataclass
class PostgresPair:
    primary: Node
    standby: Node

    def promote(self) -> None:
        """Crash the primary and promote the standby in its place; the two change roles."""
        self.primary.crash()
        self.standby.command("pg_ctl", "promote", "-D", "data", "-w")
        self.primary, self.standby = self.standby, self.primary

    def add_standby(self) -> None:
        """Start the standby with a copy of the primary instead of its former data."""
        standby = self.standby
        shutil.rmtree(standby.folder / "data", ignore_errors=True)
        copied = ("-D", "data", "-R", "-X", "stream", "-c", "fast", "--no-sync")
        source = ("-h", "127.0.0.1", "-p", str(self.primary.port), "-U", "fanion")
        standby.command("pg_basebackup", *copied, *source)
        standby.start()


@contextmanager
def postgres_pair() -> Iterator[PostgresPair]:
    """Start a primary and a standby.

    Raises:
        NoPostgres: This machine has no server to start.
    """
    with _nodes(2, REPLICATION) as nodes:
        pair = PostgresPair(*nodes)
        pair.add_standby()
        yield pair


@contextmanager
def lone_postgres() -> Iterator[Node]:
    """Start a server that can be crashed and started again.

    Raises:
        NoPostgres: This machine has no server to start.
    """
    with _nodes(1, SPEED) as [node]:
        yield node


@contextmanager
def _nodes(number: int, settings: Sequence[str]) -> Iterator[list[Node]]:
    """Make servers, start the first one, and stop all at the end."""
    binaries()
    whole = Path(tempfile.mkdtemp(prefix="fanion-pair-", dir=short_folder()))
    account = unprivileged_account()
    nodes = [Node(whole / str(index), settings) for index in range(number)]
    try:
        for folder in (whole, *(node.folder for node in nodes)):
            folder.mkdir(exist_ok=True)
            if account:
                shutil.chown(folder, account)
        initialise(binaries(), nodes[0].folder, account)
        nodes[0].start()
        yield nodes
    finally:
        for node in nodes:
            node.stop()
        shutil.rmtree(whole, ignore_errors=True)
