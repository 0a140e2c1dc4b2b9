"""Damage and loss on disk: start and doctor each report it in one line, without a traceback."""

import random
import shutil
import socket
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from fanion.db.file_check import find_damage_at_start
from tests.support.awaited import until
from tests.support.preloaded import PreloadedServer
from tests.support.server import RealServer, this_process

pytestmark = pytest.mark.long("starts real servers and kills them")

PAGE_BYTES = 4096
NOISE_BYTES = 40 * 1024


@pytest.fixture
def server(tmp_path: Path) -> RealServer:
    server = PreloadedServer(tmp_path / "data")
    server.setup()
    return server


def run_once(server: RealServer) -> None:
    """Start and stop a server, so that it has all its stores."""
    server.start()
    server.close()
    until(lambda: not any(server.data.glob("accept-log.db-*")), "the log's writer goes on")


def refusal_line(done: "subprocess.CompletedProcess[str]") -> str:
    """Return the only line besides those of the log."""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("{")]
    assert done.returncode == 2, done.stderr
    assert len(lines) == 1, lines
    return lines[0]


def findings(done: "subprocess.CompletedProcess[str]") -> dict[str, str]:
    """Return what the doctor says is wrong, without the advice."""
    assert done.returncode == 1, done.stderr + done.stdout
    assert done.stderr == ""
    wrong = [line for line in done.stdout.splitlines() if line.startswith("!!")]
    return {line[4:18].strip(): line[19:] for line in wrong}


def advice_of(done: "subprocess.CompletedProcess[str]", what: str) -> str:
    lines = done.stdout.splitlines()
    [row] = [number for number, line in enumerate(lines) if line[4:18].strip() == what]
    return lines[row + 1].partition("-> ")[2]


def root_page(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [page] = db.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)
        ).fetchone()
    return int(page)


def overwrite(path: Path, page: int) -> None:
    with path.open("r+b") as file:
        file.seek((page - 1) * PAGE_BYTES)
        file.write(b"\x5a" * PAGE_BYTES)


@pytest.mark.parametrize(
    "table", ["users", "ix_persons_project_id", "sqlite_master", "webhook_deliveries"]
)
def test_a_damaged_page_of_the_records_is_found_in_one_line(server: RealServer, table: str) -> None:
    path = server.data.resolve() / "records.db"
    with closing(sqlite3.connect(path)) as db:
        names = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE rootpage > 1")}
    damaged = table if table in names else min(names)
    overwrite(path, 1 if table == "sqlite_master" else root_page(path, damaged))

    started, examined = server.run("serve"), server.run("doctor")

    line, report = refusal_line(started), findings(examined)
    assert line.startswith(f"fanion: {path} is damaged: ")
    assert line.endswith(
        ". Restore the file from a backup, with the files beside it that begin with its name."
    )
    assert list(report) == ["records store"]
    assert report["records store"].startswith(f"{path} is damaged: ")
    assert advice_of(examined, "records store").startswith("Restore the file from a backup")


def test_noise_in_the_middle_of_the_records_is_found_in_one_line(server: RealServer) -> None:
    run_once(server)
    path = server.data.resolve() / "records.db"
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(random.Random(1).randbytes(NOISE_BYTES))

    examined = server.run("doctor")

    report = findings(examined)
    assert list(report) == ["records store"]
    assert report["records store"].startswith(f"{path} is damaged: ")
    assert advice_of(examined, "records store").startswith("Restore the file from a backup")


def test_a_damaged_accept_log_is_found_in_one_line(server: RealServer) -> None:
    run_once(server)
    path = server.data.resolve() / "accept-log.db"
    with closing(sqlite3.connect(path)) as db:
        [name] = db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rootpage LIMIT 1"
        ).fetchone()
    overwrite(path, root_page(path, name))

    started, examined = server.run("serve"), server.run("doctor")

    assert refusal_line(started).startswith(f"fanion: {path} is damaged: ")
    assert list(findings(examined)) == ["accept log"]


def test_a_file_that_is_cut_short_is_found(server: RealServer) -> None:
    path = server.data / "records.db"
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // PAGE_BYTES // 2 * PAGE_BYTES)

    assert "is damaged" in refusal_line(server.run("serve"))
    assert list(findings(server.run("doctor"))) == ["records store"]


@pytest.mark.parametrize(
    ("damage", "is_found"), [("none", False), ("shorter", True), ("head", True), ("schema", True)]
)
def test_a_start_looks_at_little_of_a_large_file(
    server: RealServer, damage: str, is_found: bool
) -> None:
    path = server.data / "records.db"
    users = root_page(path, "users")
    match damage:
        case "none":
            overwrite(path, users)
        case "shorter":
            with path.open("r+b") as file:
                file.truncate(path.stat().st_size - PAGE_BYTES)
        case "head":
            overwrite(path, 1)
        case _:
            with path.open("r+b") as file:
                file.seek(100)  # the root page of the schema, after the head of the file
                file.write(b"\x5a" * (PAGE_BYTES - 100))

    assert bool(find_damage_at_start(path, checked_bytes_max=0)) is is_found
    assert find_damage_at_start(path) != ""


@pytest.mark.parametrize("keeps_folder", [False, True])
def test_events_that_were_deleted_after_use_are_missed(
    server: RealServer, keeps_folder: bool
) -> None:
    run_once(server)
    folder = server.data.resolve() / "events"
    shutil.rmtree(folder)
    if keeps_folder:
        folder.mkdir(mode=0o700)

    examined, started = server.run("doctor"), server.run("serve")

    gone = f"{folder} is gone, and it held the events of these records"
    todo = (
        "Restore the folder from a backup; to go on without these events, run "
        "`fanion stores adopt`."
    )
    assert findings(examined) == {"event store": gone}
    assert advice_of(examined, "event store") == todo
    assert refusal_line(started) == f"fanion: FANION_EVENTS_URL: the event store in {gone}. {todo}"
    assert folder.exists() is keeps_folder  # no other store was created in its place
    server.command("stores", "adopt")
    assert server.run("doctor").returncode == 0


def test_a_damaged_file_of_the_events_is_found_without_the_engines_message(
    server: RealServer,
) -> None:
    run_once(server)
    folder = server.data.resolve() / "events"
    [table] = [file.resolve() for file in folder.glob("store/*/*/events.sql")]
    table.write_bytes(random.Random(1).randbytes(100))

    examined = server.run("doctor")

    assert findings(examined) == {
        "event store": f"{folder} cannot be opened by the event engine, or is damaged: "
        f"SYNTAX_ERROR in {table}"
    }
    assert advice_of(examined, "event store") == "Restore the folder from a backup."


def test_a_taken_port_is_found_by_the_doctor(server: RealServer) -> None:
    with socket.create_server(("127.0.0.1", server.port)):
        examined = server.run("doctor")

    assert findings(examined) == {
        "addresses": f"cannot listen on 127.0.0.1:{server.port}: Address already in use by "
        f"{this_process()}"
    }
    assert advice_of(examined, "addresses") == (
        "Stop the process that uses it, or choose another address with FANION_HOST and FANION_PORT."
    )
