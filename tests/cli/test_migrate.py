"""The commands `fanion migrate --check` and `--wait`, beside another process that migrates."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fanion.cli.migrate import UP_TO_DATE
from fanion.db.migrate import NEWEST, REVISIONS
from tests.cli.test_progress import create_store_without_schema
from tests.support.awaited import SOON_S
from tests.support.preloaded import PreloadedServer
from tests.support.server import free_port

PENDING = f"fanion: migrations are pending: {', '.join(REVISIONS)}\n"


@pytest.fixture
def old(tmp_path: Path) -> PreloadedServer:
    """Return a server to whose records store no migration has been applied."""
    folder = tmp_path / "old"
    folder.mkdir()
    url = create_store_without_schema(folder)
    return PreloadedServer(folder, {"FANION_DATABASE_URL": url})


@pytest.mark.parametrize("option", [["--check"], ["--wait", "--timeout-s", "0"]], ids=" ".join)
def test_pending_migrations_are_named_and_not_applied(
    old: PreloadedServer, option: list[str]
) -> None:
    for _ in range(2):
        done = old.run("migrate", *option)

        assert (done.returncode, done.stdout, done.stderr) == (1, "", PENDING)


def test_a_check_succeeds_after_migrating(old: PreloadedServer) -> None:
    migrated = old.command("migrate")

    checked = old.command("migrate", "--check")

    assert migrated == checked == f"{UP_TO_DATE}\n"


# It takes seconds: the real command runs in two processes.
def test_waiting_ends_once_another_process_has_migrated(old: PreloadedServer) -> None:
    waiting = old.begin("migrate", "--wait", "--timeout-s", str(SOON_S))
    still_waits = waiting.poll() is None

    old.command("migrate")

    assert still_waits
    assert waiting.wait(SOON_S) == 0


def test_waiting_ends_on_a_later_schema_that_is_marked_as_compatible(old: PreloadedServer) -> None:
    old.command("migrate")
    leave_later_schema(old, NEWEST)

    assert old.command("migrate", "--wait") == f"{UP_TO_DATE}\n"


@pytest.mark.parametrize("option", ["--check", "--wait"])
def test_a_later_schema_for_later_programs_is_refused(old: PreloadedServer, option: str) -> None:
    old.command("migrate")
    leave_later_schema(old, "9999")

    done = old.run("migrate", option)

    assert done.returncode == 2
    assert done.stderr.startswith("fanion: the records have schema 9999, ")


def leave_later_schema(old: PreloadedServer, oldest_program: str) -> None:
    with closing(sqlite3.connect(old.data / "records.db", isolation_level=None)) as records:
        records.execute("UPDATE alembic_version SET version_num = '9999'")
        mark = "UPDATE schema_compatibility SET revision = '9999', oldest_program = ?"
        records.execute(mark, (oldest_program,))


def test_a_store_that_does_not_answer_is_waited_for(tmp_path: Path) -> None:
    nobody = f"postgresql://nobody@127.0.0.1:{free_port()}/none"
    server = PreloadedServer(tmp_path, {"FANION_DATABASE_URL": nobody})

    checked = server.run("migrate", "--check")
    waited = server.run("migrate", "--wait", "--timeout-s", "0.5")

    assert (checked.returncode, waited.returncode) == (2, 1)
    assert waited.stderr.startswith("fanion: the records store cannot be used: ")


def test_checking_and_waiting_exclude_each_other(tmp_path: Path) -> None:
    done = PreloadedServer(tmp_path).run("migrate", "--check", "--wait")

    assert (done.returncode, done.stderr) == (2, "fanion: Give one of --check and --wait.\n")
