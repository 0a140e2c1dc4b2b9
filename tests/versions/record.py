"""The recorder of a data folder of this version, and of what is served from it.

`python -m tests.versions.record` is run once for each version, when it is released, and its result
is committed. Later versions must serve the same: tests/clients/test_versions.py.
"""

import asyncio
import signal
import socket
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from fanion import __version__
from fanion.accept_log.port import Envelope, LogEntry
from fanion.db.engine import open_records
from fanion.ingest.ledger.dead_letters_store import insert_dead_letter
from tests.support.awaited import has_caught_up, until
from tests.support.server import Keys, RealServer
from tests.versions.answers import FOLDER, Asked, Record, questions, write_record
from tests.versions.filling import WAITING, Filling

ENDED_S = 30


def main() -> None:
    archive = FOLDER / f"{__version__}.tar.xz"
    with TemporaryDirectory(prefix="fanion-version-") as folder:
        server = RealServer(Path(folder) / "data")
        try:
            keys, secret, events = _make(server)
        finally:
            server.close()
        # A process writes beside the server's own files when it is tested.
        server.log_path.unlink()
        _require_no_path(server.data)
        _pack(server.data, archive)
        # Recorded from what a reader will unpack, not from the folder that was packed.
        copy = unpack(archive, Path(folder) / "copy")
        record = Record(
            __version__,
            keys.project_id,
            keys.project_api_key,
            keys.personal_api_key,
            secret,
            events,
            [],
        )
        _record(RealServer(copy), record)
    write_record(FOLDER / f"{__version__}.json", record)


def unpack(archive: Path, folder: Path) -> Path:
    """The folder that a server is started on."""
    with tarfile.open(archive) as packed:
        packed.extraction_filter = getattr(tarfile, "data_filter", None)  # from 3.11.4 on
        packed.extractall(folder)
    return folder


def _make(server: RealServer) -> tuple[Keys, str, int]:
    """Let servers use the folder and leave it.

    Returns:
        Its keys, the secret key, and the number of events that there will be in the end.
    """
    keys = server.setup_anew()
    server.start()
    headers = {"authorization": f"Bearer {keys.personal_api_key}"}
    with httpx.Client(base_url=server.url, headers=headers, verify=False, timeout=30) as client:
        filling = Filling(client, keys.project_id, keys.project_api_key)
        secret = filling.fill()
        events = len(filling.send("GET", "/events/?limit=1000")["results"])
    assert server.stop() == 0
    asyncio.run(_put_aside(server.data, keys.project_id))
    _leave_unconsumed(server, keys)
    return keys, secret, events + len(WAITING)


def _leave_unconsumed(server: RealServer, keys: Keys) -> None:
    """Leave events in the accept log that were never ingested, since the event store was away."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"clickhouse://127.0.0.1:{silent.getsockname()[1]}/default"
        waiting = RealServer(server.data, {"FANION_EVENTS_URL": address})
        waiting.launch()
        try:
            until(lambda: _is_listening(waiting), "capture is not served")
            body = {"api_key": keys.project_api_key, "batch": WAITING}
            answer = httpx.post(f"{waiting.url}/batch/", json=body, verify=False)
            assert answer.status_code == 200, answer.text
            assert waiting.process is not None
            waiting.process.send_signal(signal.SIGTERM)
            silent.close()
            waiting.process.wait(ENDED_S)
        finally:
            waiting.close()


def _is_listening(server: RealServer) -> bool:
    try:
        return httpx.get(f"{server.url}/_health", verify=False).status_code == 200
    except httpx.TransportError:
        return False


async def _put_aside(folder: Path, project_id: int) -> None:
    """A dead letter. No request is known that becomes one, so it is put there."""
    records = await open_records(f"sqlite:///{folder / 'records.db'}")
    now = datetime.now(UTC)
    body = b'{"batch": [{"event": "poison", "distinct_id": "cid"}]}'
    entry = LogEntry(1_000_000, Envelope(project_id, now, "192.0.2.1", "curl", None, body))
    try:
        async with records.write() as connection:
            await connection.run_sync(
                insert_dead_letter, entry, 1, "ValueError: made for a test", now
            )
    finally:
        await records.close()


def _record(server: RealServer, record: Record) -> None:
    server.start()
    try:
        with record.client(server.url) as client:
            until(lambda: record.events_served(client) == record.events, "events are missing")
            until(lambda: has_caught_up(client.get("/metrics").text), "persons are missing")
            for question in questions(record, client):
                record.asked.append(Asked(question, record.ask(client, question)))
    finally:
        server.stop()
        server.close()


def _require_no_path(folder: Path) -> None:
    """Where the folder lay must not be needed."""
    place = str(folder).encode()
    for path in folder.rglob("*"):
        target = str(path.readlink()).encode() if path.is_symlink() else b""
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        assert place not in target + content, f"{path} contains its former path"


def _pack(folder: Path, archive: Path) -> None:
    """Without owners and times."""

    def anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        return entry

    with tarfile.open(archive, "w:xz", preset=9, format=tarfile.PAX_FORMAT) as packed:
        for path in sorted(folder.rglob("*")):
            packed.add(path, path.relative_to(folder), recursive=False, filter=anonymous)


if __name__ == "__main__":
    main()
