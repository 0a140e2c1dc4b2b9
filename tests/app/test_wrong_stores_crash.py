"""Settings that name stores which cannot be the right ones.

Each start ends with one line and exit code 2 and has written nothing. The doctor finds all of them
in one run.
"""

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import asyncpg
import httpx
import pytest

from tests.support import plain_http
from tests.support.awaited import until
from tests.support.clickhouse.server import ClickHouse
from tests.support.faketime import clock_off_by
from tests.support.postgres import Postgres
from tests.support.preloaded import PreloadedServer
from tests.support.server import RealServer, free_port

pytestmark = pytest.mark.long("starts real servers")

ROLES = ("all", "web", "api", "ingest", "jobs")
HOURS_S = 3 * 3600


def refusal_line(done: "subprocess.CompletedProcess[str]") -> str:
    """Return the only line besides those of the log."""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("{")]
    assert done.returncode == 2, done.stderr
    assert len(lines) == 1, lines
    return lines[0]


def findings(done: "subprocess.CompletedProcess[str]") -> dict[str, str]:
    """Return what the doctor says is wrong."""
    assert done.returncode == 1, done.stderr + done.stdout
    wrong = [line for line in done.stdout.splitlines() if line.startswith("!!")]
    return {line[4:18].strip(): line[19:] for line in wrong}


def is_up(server: RealServer) -> bool:
    try:
        return plain_http.get(f"{server.url}/_health").status_code == 200
    except httpx.TransportError:
        return False


class RefusingClickHouse(BaseHTTPRequestHandler):
    """A ClickHouse server that refuses the password."""

    TEXT = (
        b"Code: 516. DB::Exception: fanion: Authentication failed: password is incorrect, or there "
        b"is no user with such name. (AUTHENTICATION_FAILED)\n"
    )

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(403)
        self.send_header("X-ClickHouse-Exception-Code", "516")
        self.send_header("Content-Length", str(len(self.TEXT)))
        self.end_headers()
        self.wfile.write(self.TEXT)

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@contextmanager
def refusing_events() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), RefusingClickHouse) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"clickhouse://fanion:s3cret@127.0.0.1:{server.server_port}/fanion"
        server.shutdown()


@pytest.fixture
def closing(tmp_path: Path) -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def server_at(
    stack: ExitStack, data: Path, settings: Mapping[str, str], kind: type[RealServer]
) -> RealServer:
    server = kind(data, dict(settings))
    stack.callback(server.close)
    return server


@pytest.mark.postgresql
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    ("user", "database", "reported"),
    [
        ("nobody_known", "", 'role "nobody_known" does not exist'),
        ("fanion", "none", 'database "none" does not exist'),
    ],
)
def test_postgresql_that_refuses(
    tmp_path: Path, postgres_url: str, role: str, user: str, database: str, reported: str
) -> None:
    url = postgres_url.replace("fanion@", f"{user}:s3cret@")
    url = f"{url.rpartition('/')[0]}/{database}" if database else url
    events = f"clickhouse://127.0.0.1:{free_port()}/d"
    settings = {"FANION_DATABASE_URL": url, "FANION_EVENTS_URL": events, "FANION_ROLE": role}
    server = PreloadedServer(tmp_path / "data", settings)

    line = refusal_line(server.run("serve"))

    assert line.startswith("fanion: FANION_DATABASE_URL: PostgreSQL answers and refuses: ")
    assert line.endswith(reported)
    assert not server.data.exists()
    if role == "all":
        assert refusal_line(server.run("setup")) == line
        report = findings(server.run("doctor"))
        assert report["records store"].endswith(reported)
        assert "Connection refused" in report["event store"]


@pytest.mark.postgresql
async def test_an_account_without_rights_is_refused(
    tmp_path: Path, postgres: Postgres, postgres_url: str
) -> None:
    database = await postgres.create_database()
    await postgres.run("CREATE ROLE without_rights LOGIN")
    url = postgres.url(database).replace("fanion@", "without_rights@")
    server = PreloadedServer(tmp_path / "data", {"FANION_DATABASE_URL": url})

    for command in ("serve", "migrate"):
        line = refusal_line(server.run(command))

        assert line.endswith("permission denied for schema public")
    await postgres.drop_database(database)
    await postgres.run("DROP ROLE without_rights")


@pytest.mark.postgresql
@pytest.mark.parametrize("role", ROLES)
def test_postgresql_that_cannot_be_reached(tmp_path: Path, role: str) -> None:
    """The start fails where no flags are kept; test_roles_crash covers servers that have some."""
    settings = {
        "FANION_DATABASE_URL": f"postgresql://u:s3cret@127.0.0.1:{free_port()}/d",
        "FANION_EVENTS_URL": f"clickhouse://127.0.0.1:{free_port()}/d",
        "FANION_ROLE": role,
    }
    server = PreloadedServer(tmp_path / "data", settings)

    line = refusal_line(server.run("serve"))

    assert line.startswith("fanion: the records store cannot be used: ")
    assert "s3cret" not in line
    assert not server.data.exists()


@pytest.mark.postgresql
@pytest.mark.parametrize("role", ROLES)
def test_an_event_store_that_refuses(tmp_path: Path, postgres_url: str, role: str) -> None:
    with ExitStack() as stack:
        events = stack.enter_context(refusing_events())
        settings = {"FANION_DATABASE_URL": postgres_url, "FANION_EVENTS_URL": events}
        data = tmp_path / "data"
        server = server_at(stack, data, {**settings, "FANION_ROLE": role}, PreloadedServer)
        if role == "web":
            server.launch()
            until(lambda: is_up(server), "the role web waits for an event store")
            return

        line = refusal_line(server.run("serve"))
        report = findings(server.run("doctor"))

    assert line.startswith("fanion: FANION_EVENTS_URL: the event store at 127.0.0.1:")
    assert line.endswith("cannot be used: the server refuses the user or the password")
    assert f"fanion: {report['event store']}" == line
    assert not (data / "first-start.txt").exists()


@pytest.mark.postgresql
def test_a_database_of_events_that_is_not_there(
    tmp_path: Path, postgres_url: str, clickhouse_server: ClickHouse
) -> None:
    events = clickhouse_server.url("none")
    settings = {"FANION_DATABASE_URL": postgres_url, "FANION_EVENTS_URL": events}
    server = PreloadedServer(tmp_path / "data", settings)

    line = refusal_line(server.run("serve"))

    assert line.endswith(", database none, cannot be used: there is no such database")


def test_an_embedded_event_store_of_another_process(tmp_path: Path, closing: ExitStack) -> None:
    settings = {"FANION_EVENTS_URL": f"chdb://{tmp_path}/events"}
    first = server_at(closing, tmp_path / "first", settings, PreloadedServer)
    second = server_at(closing, tmp_path / "second", settings, PreloadedServer)
    first.setup()
    first.start()

    line = refusal_line(second.run("serve"))
    report = findings(second.run("doctor"))

    assert line == (
        f"fanion: FANION_EVENTS_URL: the event store in {tmp_path}/events is used by another "
        "process, and an embedded event store is opened by one; several servers need a ClickHouse "
        "server"
    )
    assert f"fanion: {report['event store']}" == line


@pytest.mark.postgresql
def test_a_second_server_with_an_embedded_event_store_of_its_own(
    tmp_path: Path, postgres_url: str, closing: ExitStack
) -> None:
    settings = {"FANION_DATABASE_URL": postgres_url}
    first = server_at(closing, tmp_path / "first", settings, PreloadedServer)
    second = server_at(closing, tmp_path / "second", settings, PreloadedServer)
    first.setup()
    first.start()

    line = refusal_line(second.run("serve"))

    assert line == (
        "fanion: FANION_EVENTS_URL and FANION_DATABASE_URL disagree: the event store in "
        f"{second.data}/events holds no events of these records, which belong to another event "
        "store. Correct one of them; if both are right, `fanion stores adopt` assigns it to these "
        "records."
    )


def test_two_installations_on_one_event_store(
    tmp_path: Path, own_events_url: str, closing: ExitStack
) -> None:
    settings = {"FANION_EVENTS_URL": own_events_url}
    first = server_at(closing, tmp_path / "first", settings, PreloadedServer)
    second = server_at(closing, tmp_path / "second", settings, PreloadedServer)
    for server in (first, second):
        server.setup_anew()
    first.start()

    line = refusal_line(second.run("serve"))
    report = findings(second.run("doctor"))
    went_on = is_up(first)
    first.stop()
    adopted = second.command("stores", "adopt")
    second.start()

    assert "FANION_EVENTS_URL and FANION_DATABASE_URL disagree" in line
    assert "belongs to installation" in line
    assert f"fanion: {report['event store']}" == line
    assert went_on
    assert adopted.startswith("Installation ") and "has its events in the event store at" in adopted
    assert refusal_line(first.run("serve")).startswith(
        "fanion: FANION_EVENTS_URL and FANION_DATABASE"
    )


def test_the_accept_log_of_another_installation(tmp_path: Path, closing: ExitStack) -> None:
    first = server_at(closing, tmp_path / "first", {}, PreloadedServer)
    keys = first.setup_anew()
    first.launch()
    until(lambda: is_up(first), "the server does not serve")
    body = {"api_key": keys.project_api_key, "event": "kept", "distinct_id": "u"}
    until(
        lambda: plain_http.post(f"{first.url}/capture/", json=body).status_code == 200,
        "nothing is accepted",
    )
    first.stop()
    second = server_at(closing, tmp_path / "second", {}, PreloadedServer)
    second.setup_anew()
    shutil.copyfile(first.data / "accept-log.db", second.data / "accept-log.db")
    before = (second.data / "accept-log.db").read_bytes()

    line = refusal_line(second.run("serve"))
    report = findings(second.run("doctor"))

    assert line.startswith("fanion: FANION_DATA and FANION_DATABASE_URL disagree: ")
    assert f"{second.data}/accept-log.db has accepted events of installation " in line
    assert f"fanion: {report['accept log']}" == line
    assert (second.data / "accept-log.db").read_bytes() == before
    second.command("stores", "adopt")
    second.start()


def test_a_folder_can_be_moved_and_restored(tmp_path: Path, closing: ExitStack) -> None:
    first = server_at(closing, tmp_path / "first", {}, PreloadedServer)
    first.setup_anew()
    first.start()
    first.stop()
    first.data.rename(tmp_path / "moved")
    moved = server_at(closing, tmp_path / "moved", {}, PreloadedServer)

    moved.start()

    assert moved.stop() == 0


@pytest.mark.postgresql
async def test_a_clock_that_is_off_is_said(
    tmp_path: Path, postgres_url: str, own_events_url: str, closing: ExitStack
) -> None:
    settings = {"FANION_DATABASE_URL": postgres_url, "FANION_EVENTS_URL": own_events_url}
    server = server_at(closing, tmp_path / "data", settings, RealServer)
    server.setup_anew()
    server.settings = {**settings, **clock_off_by(-60)}

    server.start()

    lines = [line for line in server.log_lines() if line["event"] == "clock_differs"]
    report = findings(server.run("doctor"))
    assert [line["store"] for line in lines] == ["records", "events"]
    assert all(-61 < line["ahead_s"] < -55 and line["limit_s"] == 5 for line in lines)
    assert report["records clock"].endswith(" s behind that of PostgreSQL")
    assert report["events clock"].endswith(" s behind that of the event store")


@pytest.mark.postgresql
async def test_a_clock_that_is_wrong_ends_the_start(tmp_path: Path, postgres: Postgres) -> None:
    database = await postgres.create_database()
    server = RealServer(tmp_path / "data", {"FANION_DATABASE_URL": postgres.url(database)})
    server.settings = {**server.settings, **clock_off_by(HOURS_S)}

    line = refusal_line(server.run("serve"))

    assert line.startswith("fanion: the clock of this server is 10,")
    assert line.endswith(
        " s ahead of that of PostgreSQL (FANION_DATABASE_URL), which is more than 3,600 s: events "
        "would get wrong times. Set both clocks, for example with an NTP client."
    )
    connection = await asyncpg.connect(postgres.url(database))
    assert (
        await connection.fetchval("SELECT count(*) FROM pg_tables WHERE schemaname='public'") == 0
    )
    await connection.close()
    await postgres.drop_database(database)
    assert not server.data.exists()


def test_the_doctor_finds_everything_in_one_run(tmp_path: Path) -> None:
    settings = {
        "FANION_PORT": "http",
        "FANION_ROLE": "ingest",
        "FANION_DATABASE_URL": "postgresql://u:s3cret@h:x/d",
        "FANION_EVENTS_URL": "clickhouse://u:s3cret@h/d?clusters=main",
        "FANION_PROT": "1",
    }
    server = PreloadedServer(tmp_path / "data", settings)

    done = server.run("doctor")

    wrong = [line[19:] for line in done.stdout.splitlines() if line.startswith("!!  settings")]
    names = {line.split()[0].rstrip(":").partition("=")[0] for line in wrong}
    assert done.returncode == 1
    assert "s3cret" not in done.stdout
    assert names == settings.keys()
    assert "not checked: FANION_DATABASE_URL is wrong" in done.stdout
    assert "not checked: FANION_EVENTS_URL is wrong" in done.stdout
    assert not server.data.exists()
