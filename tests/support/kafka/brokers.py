"""Real Apache Kafka brokers for tests: on loopback, in their own folder, removed afterwards.

Their jars are in `.venv/kafka`, which `make test` fills where Java and Maven are installed.
"""

import asyncio
import base64
import os
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.awaited import until, until_soon
from tests.support.memory_folder import short_folder
from tests.support.postgres import free_port

JARS = Path(__file__).parents[3] / ".venv" / "kafka"
JVM = (
    "-Xms192m",
    "-Xmx192m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dlog4j2.level=WARN",
)
FULL_BYTES = 200_000  # of a file
START_S = 240  # a busy machine needs minutes for three
# The values below those of production are for little memory, and for quick takeovers.
_PROPERTIES = """\
process.roles=broker,controller
node.id={node}
controller.quorum.voters={voters}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={folder}/data
offsets.topic.num.partitions=4
offsets.topic.replication.factor={replicas}
transaction.state.log.replication.factor={replicas}
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor={replicas}
share.coordinator.state.topic.min.isr=1
auto.create.topics.enable=false
log.cleaner.dedupe.buffer.size=4194304
log.index.size.max.bytes=1048576
log.segment.bytes=67108864
num.network.threads=2
num.io.threads=2
background.threads=2
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
controlled.shutdown.enable=true
"""


@dataclass
class Broker:
    """A broker, which may be stopped and started again on its files."""

    node: int
    port: int
    folder: Path
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self) -> None:
        command = ["java", *JVM, "-cp", f"{JARS}/*", "kafka.Kafka"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, str(self.folder / "server.properties")],
                stdout=log,
                stderr=log,
                cwd=self.folder,
            )

    def wait_until_ready(self) -> None:
        try:
            until(self._answers, "it does not listen", START_S, look_s=0.1)
        except AssertionError as error:
            log = (self.folder / "log").read_text()[-4000:]
            raise AssertionError(f"Kafka did not start: {error}: {log}") from None

    def _answers(self) -> bool:
        assert self.process is not None and self.process.poll() is None, "its process has ended"
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1):
                return True
        except OSError:
            return False

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Shut the broker down in order: it hands over what it leads."""
        self._end(signal.SIGTERM)

    def pause(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def fill_disk(self) -> None:
        """Let no file of the broker grow any more, as on a full disk."""
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (FULL_BYTES, FULL_BYTES))

    def _end(self, by: signal.Signals) -> None:
        if self.process is None:
            return
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(by)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None


@dataclass
class Kafka:
    """Brokers that are one cluster."""

    brokers: Sequence[Broker]
    names: Iterator[int] = field(default_factory=lambda: iter(range(10**9)))

    @property
    def servers(self) -> str:
        return ",".join(broker.address for broker in self.brokers)

    def url(self, name: str = "", options: str = "partitions=8") -> str:
        """Return the URL of a log, by default of one that no test has used."""
        name = name or f"log{next(self.names)}"
        return f"kafka://{self.servers}/{name}?replicas={len(self.brokers)}&{options}"

    async def delete_topics(self, name: str) -> None:
        """Delete the topics of a log, and wait until the brokers have forgotten them."""
        names = [f"{name}.live", f"{name}.historical"]
        admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        for future in admin.delete_topics(names).values():
            await asyncio.wrap_future(future)

        async def are_gone() -> bool:
            found = await asyncio.to_thread(admin.list_topics, timeout=10)
            return not found.topics.keys() & set(names)

        await until_soon(are_gone, "the topics are still there")


@contextmanager
def private_kafka(number: int = 1) -> Iterator[Kafka]:
    """Start brokers, and end them by their process ids."""
    require_kafka()
    folder = Path(tempfile.mkdtemp(prefix="fanion-kafka-", dir=short_folder()))
    kafka = Kafka(_configure(folder, number))
    try:
        _format(kafka.brokers)
        for broker in kafka.brokers:
            broker.start()
        for broker in kafka.brokers:
            broker.wait_until_ready()
        yield kafka
    finally:
        for broker in kafka.brokers:
            broker.kill()
        shutil.rmtree(folder, ignore_errors=True)


def require_kafka() -> None:
    """Skip where brokers cannot be started."""
    if shutil.which("java") is None:
        pytest.skip("no java found: install the package `default-jdk-headless`")
    if not (JARS / ".installed").exists():
        pytest.skip(f"{JARS} is missing: `make test` fills it where Java and Maven are installed")


def _configure(folder: Path, number: int) -> list[Broker]:
    ports = [(free_port(), free_port()) for _ in range(number)]
    voters = ",".join(f"{n}@127.0.0.1:{control}" for n, (_, control) in enumerate(ports, 1))
    brokers = []
    for node, (port, controller) in enumerate(ports, 1):
        of_broker = folder / str(node)
        of_broker.mkdir()
        text = _PROPERTIES.format(
            node=node,
            voters=voters,
            port=port,
            controller=controller,
            folder=of_broker,
            replicas=number,
        )
        (of_broker / "server.properties").write_text(text)
        brokers.append(Broker(node, port, of_broker))
    return brokers


def _format(brokers: Sequence[Broker]) -> None:
    cluster = base64.urlsafe_b64encode(uuid4().bytes).decode().rstrip("=").replace("-", "x", 1)
    command = ["java", *JVM, "-cp", f"{JARS}/*", "kafka.tools.StorageTool", "format"]
    formatting = [
        subprocess.Popen(
            [*command, "-t", cluster, "-c", str(broker.folder / "server.properties")],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "LC_ALL": "C"},
        )
        for broker in brokers
    ]
    for process in formatting:
        output, _ = process.communicate(timeout=START_S)
        assert process.returncode == 0, output.decode()
