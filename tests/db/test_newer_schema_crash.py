"""A server that meets stores of another version works with them, or refuses in one line."""

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fanion.db.migrate import NEWEST, OLDEST
from fanion.events.storage.schema import BASELINE_VERSION, VERSION
from tests.support.preloaded import PreloadedServer

pytestmark = pytest.mark.long("starts real servers")

LATER = 9999
# Runs in another process, because the engine opens one folder in each.
WRITE_VERSION = """
import sys
from clickhouse_connect import get_client
folder, version, oldest = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
client = get_client(interface="chdb", path=folder)
client.command("TRUNCATE TABLE schema_version")
client.command(f"INSERT INTO schema_version (version) SELECT {version}")
if oldest:
    client.command(f"INSERT INTO schema_compatibility SELECT {version}, {oldest}")
client.close()
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PreloadedServer]:
    server = PreloadedServer(tmp_path / "data")
    server.setup()
    yield server
    server.close()


@pytest.fixture(scope="module")
def events_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the events folder after a first start and a stop."""
    server = PreloadedServer(tmp_path_factory.mktemp("newer-schema") / "data")
    server.setup()
    server.start()
    assert server.stop() == 0
    return server.data / "events"


def bring_records_to_a_later_schema(server: PreloadedServer, oldest_program: str | None) -> None:
    with closing(sqlite3.connect(server.data / "records.db", isolation_level=None)) as records:
        records.execute("UPDATE alembic_version SET version_num = ?", (str(LATER),))
        records.execute("DELETE FROM schema_compatibility")
        if oldest_program is not None:
            marks = (str(LATER), oldest_program)
            records.execute("INSERT INTO schema_compatibility VALUES (?, ?)", marks)


def bring_events_to_a_later_schema(
    server: PreloadedServer, events_folder: Path, oldest_program: int
) -> None:
    """Copy an event store and give it a later schema.

    Args:
        oldest_program: The oldest schema whose programs may use it; 0 if that is not stored.
    """
    write_events_schema(server, events_folder, LATER, oldest_program)


def write_events_schema(
    server: PreloadedServer, events_folder: Path, version: int, oldest_program: int
) -> None:
    shutil.copytree(events_folder, server.data / "events", symlinks=True)
    arguments = (str(server.data / "events"), str(version), str(oldest_program))
    subprocess.run([sys.executable, "-c", WRITE_VERSION, *arguments], check=True, timeout=60)


def check_refused(server: PreloadedServer, reported: str) -> None:
    """Check that the start is refused, for a reason that `fanion doctor` repeats."""
    done, examined = server.run("serve"), server.run("doctor")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [f"fanion: {reported}"]
    assert examined.returncode == 1
    [line] = [line for line in examined.stdout.splitlines() if line.startswith("!!")]
    assert line.endswith(f"  {reported}")


def check_warned(server: PreloadedServer, store: str, known: str) -> None:
    [line] = [entry for entry in server.log_lines() if entry["event"] == "schema_newer"]
    del line["timestamp"]
    assert line == {
        "level": "warning",
        "event": "schema_newer",
        "store": store,
        "schema": str(LATER),
        "known": known,
    }


WHAT_TO_DO = "Start the newer version, or restore what was backed up before the upgrade."


@pytest.mark.parametrize("oldest_program", [None, str(LATER)])
def test_later_records_are_refused_in_one_line(
    server: PreloadedServer, oldest_program: str | None
) -> None:
    bring_records_to_a_later_schema(server, oldest_program)

    check_refused(
        server,
        f"the records have schema {LATER}, for programs of schema {LATER} and newer; this program "
        f"knows {NEWEST}. {WHAT_TO_DO}",
    )


def test_a_server_starts_on_later_records_that_are_marked_as_compatible(
    server: PreloadedServer,
) -> None:
    bring_records_to_a_later_schema(server, NEWEST)

    examined = server.run("doctor")
    server.start()

    assert server.stop() == 0
    check_warned(server, "records", NEWEST)
    assert examined.returncode == 0
    assert f"schema {LATER}, newer than {NEWEST} of this version" in examined.stdout


@pytest.mark.parametrize("oldest_program", [0, LATER])
def test_later_events_are_refused_in_one_line(
    server: PreloadedServer, events_folder: Path, oldest_program: int
) -> None:
    bring_events_to_a_later_schema(server, events_folder, oldest_program)

    check_refused(
        server,
        f"the events have schema {LATER}, for programs of schema {LATER} and newer; this program "
        f"knows {VERSION}. {WHAT_TO_DO}",
    )


def test_a_server_starts_on_later_events_that_are_marked_as_compatible(
    server: PreloadedServer, events_folder: Path
) -> None:
    bring_events_to_a_later_schema(server, events_folder, VERSION)

    server.start()

    assert server.stop() == 0
    check_warned(server, "events", str(VERSION))


def test_records_from_before_the_first_published_version_are_refused_in_one_line(
    server: PreloadedServer,
) -> None:
    with closing(sqlite3.connect(server.data / "records.db", isolation_level=None)) as records:
        records.execute("UPDATE alembic_version SET version_num = '0024'")

    check_refused(server, too_old("records", "0024", OLDEST))


def test_events_from_before_the_first_published_version_are_refused_in_one_line(
    server: PreloadedServer, events_folder: Path
) -> None:
    write_events_schema(server, events_folder, BASELINE_VERSION - 1, BASELINE_VERSION - 1)

    check_refused(server, too_old("events", str(BASELINE_VERSION - 1), str(BASELINE_VERSION)))


def too_old(store: str, schema: str, oldest: str) -> str:
    return (
        f"the {store} have schema {schema}, which is older than {oldest}, that of version 0.9.0. "
        "No earlier version was published, and its data cannot be upgraded. Start with a new data "
        "folder and new databases."
    )
