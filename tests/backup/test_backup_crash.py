"""Backups of a real server under load: restored elsewhere, killed in the middle, copied by hand."""

import json
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.support import plain_http
from tests.support.awaited import has_caught_up, until
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys, Process, RealServer

pytestmark = pytest.mark.long("starts real servers, loads and kills them")

CLIENTS, BATCH, PEOPLE = 4, 20, 25
BACKUPS = 2
KILLS = 10

# Printed by a process of its own: one process can open only one event store.
_READ_EVENTS = """
import json, sys
from contextlib import closing
from fanion.events.storage.client import connect, engine_at
with closing(connect(engine_at(sys.argv[1]))) as client:
    events = client.query(
        "SELECT toString(uuid), event, distinct_id, toString(person_id) FROM events FINAL"
    ).result_rows
    copies = client.query("SELECT count() FROM events_by_distinct_id FINAL").result_rows
    persons = client.query(
        "SELECT toString(person_id), properties FROM persons FINAL WHERE is_deleted = 0"
    ).result_rows
print(json.dumps([events, copies, persons]))
"""


@dataclass
class Traffic:
    """Clients that send batches of events, each about people of its own.

    Attributes:
        acknowledged: The names of the events that were answered with 200.
        sent: The names of all events.
    """

    server: RealServer
    token: str
    acknowledged: set[str] = field(default_factory=set)
    sent: set[str] = field(default_factory=set)
    _stop: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def running(self) -> Iterator[None]:
        with ThreadPoolExecutor(CLIENTS) as threads:
            clients = [threads.submit(self._send, number) for number in range(CLIENTS)]
            try:
                yield
            finally:
                self._stop.set()
        for client in clients:
            client.result()

    def wait_for(self, more: int) -> None:
        """Wait until so many more events were answered with 200."""
        enough = len(self.acknowledged) + more
        until(lambda: len(self.acknowledged) >= enough, "nothing is accepted")

    def _send(self, client_number: int) -> None:
        with plain_http.Client(timeout=60) as client:
            number = 0
            while not self._stop.is_set():
                names = [f"{client_number}-{number + place}" for place in range(BATCH)]
                number += BATCH
                self.sent.update(names)
                batch = [self._event(name) for name in names]
                answer = client.post(
                    f"{self.server.url}/batch/", json={"api_key": self.token, "batch": batch}
                )
                if answer.status_code == 200:
                    self.acknowledged.update(names)

    def _event(self, name: str) -> dict[str, Any]:
        client_number, _, number = name.partition("-")
        return {
            "event": name,
            "distinct_id": f"{client_number}.{int(number) % PEOPLE}",
            "properties": {"$set": {"last": int(number)}},
        }


@dataclass(frozen=True)
class Stored:
    """The content of a stopped server's folder.

    Attributes:
        events: The uuid and the person of each event, by its name.
        last: The property `last` of each person in the records, by distinct id.
        mirrored: The properties of each person in the event store.
        counted: The number of stored events according to the ledger.
    """

    events: dict[str, tuple[str, str]]
    copies: int
    last: dict[str, int]
    person_of: dict[str, str]
    mirrored: dict[str, Any]
    counted: int


def read_events(data: Path) -> Any:
    """Return the rows of the event store of a stopped server."""
    done = subprocess.run(
        [sys.executable, "-c", _READ_EVENTS, f"chdb://{data.resolve() / 'events'}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def stored(data: Path) -> Stored:
    events, [[copies]], persons = read_events(data)
    assert max(Counter(name for _, name, _, _ in events).values(), default=1) == 1
    with closing(sqlite3.connect(data / "records.db")) as db:
        rows = db.execute(
            "SELECT l.distinct_id, p.uuid, p.properties FROM persons p "
            "JOIN person_distinct_ids l ON l.person_id = p.id"
        ).fetchall()
        [counted] = db.execute(
            "SELECT SUM(items) FROM ingestion_ledger WHERE outcome = 'stored'"
        ).fetchone()
    return Stored(
        {name: (uuid, person) for uuid, name, _, person in events},
        copies,
        {distinct_id: json.loads(properties)["last"] for distinct_id, _, properties in rows},
        {distinct_id: str(UUID(uuid)) for distinct_id, uuid, _ in rows},
        {person: json.loads(properties) for person, properties in persons},
        counted,
    )


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RealServer]:
    server = PreloadedServer(tmp_path / "data")
    yield server
    server.close()


@pytest.fixture
def keys(server: RealServer) -> Keys:
    return server.setup()


def restore(server: RealServer, destination: Path, data: Path, backup: str = "") -> RealServer:
    other = PreloadedServer(data)
    arguments = ["--backup", backup] if backup else []
    other.command("restore", "--from", str(destination), *arguments)
    return other


def kill_after(process: Process, begun: Path, seconds: float) -> None:
    """Kill a command some time after a file has shown that it has begun."""
    until(lambda: begun.exists() or process.poll() is not None, "it does not begin")
    time.sleep(seconds)  # the moment of the kill, which is what varies
    process.kill()
    process.wait()


def ingested(server: RealServer) -> None:
    """Start a server, wait until it has ingested everything, and stop it."""
    server.start()
    try:
        with plain_http.Client() as client:
            until(
                lambda: has_caught_up(client.get(f"{server.url}/metrics").text), "it has a backlog"
            )
    finally:
        server.stop()


def require_consistent(content: Stored) -> None:
    """Check that persons, events, copies and ledger say the same."""
    newest: dict[str, int] = {}
    for name in content.events:
        client_number, _, number = name.partition("-")
        distinct_id = f"{client_number}.{int(number) % PEOPLE}"
        newest[distinct_id] = max(newest.get(distinct_id, -1), int(number))
        assert content.events[name][1] == content.person_of[distinct_id], name
    assert content.last == newest
    assert content.mirrored == {
        content.person_of[distinct_id]: {"last": number} for distinct_id, number in newest.items()
    }
    assert content.copies == len(content.events) == content.counted


def test_backups_under_load_have_each_acknowledged_event_once(
    server: RealServer, keys: Keys, tmp_path: Path
) -> None:
    """Restore two backups, and compare events, persons and ledger: three starts of a server."""
    server.start()
    traffic, destination = Traffic(server, keys.project_api_key), tmp_path / "backups"
    made: list[tuple[dict[str, Any], set[str], set[str]]] = []
    with traffic.running():
        for _ in range(BACKUPS):
            traffic.wait_for(2_000)
            before = set(traffic.acknowledged)
            output = server.command("backup", "--to", str(destination), "--json")
            made.append((json.loads(output), before, set(traffic.sent)))
    assert server.stop() == 0

    for number, (backup, acknowledged, sent) in enumerate(made):
        other = restore(server, destination, tmp_path / f"restored-{number}", backup["backup"])
        ingested(other)
        content = stored(other.data)

        assert acknowledged <= content.events.keys() <= sent
        require_consistent(content)
        done = other.run("doctor")
        assert done.returncode == 0, done.stdout

    require_consistent(stored(server.data))


def test_a_backup_killed_in_the_middle_leaves_the_older_one(
    server: RealServer, keys: Keys, tmp_path: Path
) -> None:
    """Kill a backup ten times at different moments, then make one: a start of the command each."""
    server.start()
    destination = tmp_path / "backups"
    traffic = Traffic(server, keys.project_api_key)
    with traffic.running():
        traffic.wait_for(2_000)
        first = json.loads(server.command("backup", "--to", str(destination), "--json"))
        for kill in range(KILLS):
            process = server.begin("backup", "--to", str(destination))
            kill_after(process, server.data / "backup.tmp", 0.01 * kill)
        output = server.command("restore", "--from", str(destination), "--check", "--json")
        checked = json.loads(output)
        before = set(traffic.acknowledged)
        last = json.loads(server.command("backup", "--to", str(destination), "--json"))
    server.stop()
    assert checked["damaged_files"] == 0
    listed = json.loads(server.command("backups", "--from", str(destination), "--json"))
    assert {first["backup"], last["backup"]} <= {entry["backup"] for entry in listed}
    assert not (server.data / "backup.tmp").exists()
    assert not (server.data / "events" / "shadow" / "fanion-backup").exists()

    other = restore(server, destination, tmp_path / "restored")
    ingested(other)

    content = stored(other.data)
    assert before <= content.events.keys()
    require_consistent(content)


def test_deletions_after_a_backup_are_made_again(
    server: RealServer, keys: Keys, tmp_path: Path
) -> None:
    """Delete a person after a backup that has its events in the store and in the log."""
    server.start()
    destination = tmp_path / "backups"
    with plain_http.Client(
        base_url=f"{server.url}/api/projects/{keys.project_id}",
        headers={"Authorization": f"Bearer {keys.personal_api_key}"},
        timeout=120,
    ) as api:
        for distinct_id in ("ann", "bob"):
            event = {"event": f"of {distinct_id}", "distinct_id": distinct_id}
            body = {"api_key": keys.project_api_key, "batch": [event] * 3}
            assert api.post(f"{server.url}/batch/", json=body).status_code == 200
        until(lambda: has_caught_up(api.get(f"{server.url}/metrics").text), "it has a backlog")
        server.command("backup", "--to", str(destination))
        [ann] = api.get("/persons/", params={"distinct_id": "ann"}).json()["results"]
        gone = api.delete(f"/persons/{ann['id']}/", params={"delete_events": "true"})
        assert gone.status_code == 204
    assert server.stop() == 0

    other = PreloadedServer(tmp_path / "restored")
    output = other.command(
        "restore", "--from", str(destination), "--erasures-of", str(server.data), "--json"
    )
    assert json.loads(output)["deletions_repeated"] == 1
    other.start()
    with plain_http.Client(
        base_url=f"{other.url}/api/projects/{keys.project_id}",
        headers={"Authorization": f"Bearer {keys.personal_api_key}"},
    ) as api:
        assert api.get("/persons/", params={"distinct_id": "ann"}).json()["results"] == []
    until(lambda: "person_erased" in other.log_path.read_text(), "the deletion is not repeated")
    other.stop()

    assert {name for _, name, _, _ in read_events(other.data)[0]} == {"of bob"}


def test_a_restore_killed_in_the_middle_is_not_served_and_can_be_repeated(
    server: RealServer, keys: Keys, tmp_path: Path
) -> None:
    """Kill a restore at five moments, and start a server on the rest of each."""
    server.command("backup", "--to", str(tmp_path / "backups"))
    other = PreloadedServer(tmp_path / "restored")
    for kill in range(5):
        process = other.begin("restore", "--from", str(tmp_path / "backups"))
        kill_after(process, other.data / "restore-unfinished", 0.002 * kill)
        if (other.data / "restore-unfinished").exists():
            done = other.run("serve")
            assert done.returncode == 2
            assert "the restore into" in done.stderr
        elif other.data.exists():
            shutil.rmtree(other.data)

    other.command("restore", "--from", str(tmp_path / "backups"))

    other.start()
    other.close()


def test_only_copies_of_a_running_server_are_refused(
    server: RealServer, keys: Keys, tmp_path: Path
) -> None:
    """Start servers on a folder after a kill, and on copies of it: a start for each case."""
    server.start()
    copied = Path(shutil.copytree(server.data, tmp_path / "copied", symlinks=True))
    server.kill()

    refused = PreloadedServer(copied).run("serve")
    assert refused.returncode == 2
    assert "is a copy that was made while a server used the original" in refused.stderr
    assert "`fanion restore`" in refused.stderr
    doctor = PreloadedServer(copied).run("doctor")
    assert doctor.returncode == 1
    assert "is a copy that was made while a server used the original" in doctor.stdout

    server.start()  # after a kill, in its place
    server.kill()
    server.data = server.data.rename(tmp_path / "moved")
    server.start()  # after a kill, moved
    assert server.stop() == 0
    stopped = PreloadedServer(
        Path(shutil.copytree(server.data, tmp_path / "stopped", symlinks=True))
    )
    stopped.start()
    stopped.close()

    adopted = PreloadedServer(copied)
    adopted.command("stores", "adopt")
    adopted.start()
    adopted.close()
