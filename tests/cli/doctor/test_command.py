"""The report of `fanion doctor` on the server of a folder, and its form."""

import asyncio
import fcntl
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from fanion.cli.app import app
from fanion.cli.doctor.command import examine_installation
from fanion.cli.doctor.stores import Finding
from fanion.config import Settings, read_settings
from fanion.db.migrate import migrate
from fanion.runtime.backup_state import BackupState, write_backup_state
from fanion.runtime.data_dir import FolderHolder, find_holder, lock_data_dir
from fanion.runtime.folder_state import IDENTITY_FILE, RUNNING_FILE
from tests.support.server import free_port

NOW = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)
READY = b'{"status":"ready","checks":{"records":"ok","events":"ok"}}'
OPENING = b'{"status":"not ready","checks":{"records":"ok","events":"opening"}}'


async def findings(settings: Settings) -> dict[str, Finding]:
    return {finding.what: finding for finding in await examine_installation(settings, NOW)}


@asynccontextmanager
async def answering_server(body: bytes) -> AsyncIterator[str]:
    """Yield the address of a server that answers each request with `body`."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"


async def test_a_folder_without_a_server_is_reported(tmp_path: Path) -> None:
    report = await findings(Settings(data=tmp_path))

    assert report["server"] == Finding("server", True, "none runs on this folder")


async def test_a_backup_that_failed_or_is_late_is_reported(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, backup_to="/mnt/backups")
    state = BackupState(
        destination="/mnt/backups", started_at=NOW, has_ended=True, succeeded_at=NOW
    )
    without = (await findings(settings))["backup"]
    unwanted = (await findings(Settings(data=tmp_path)))["backup"]
    write_backup_state(tmp_path, replace(state, error="the disk is full"))
    failed = (await findings(settings))["backup"]
    write_backup_state(tmp_path, state)
    succeeded = (await findings(settings))["backup"]

    assert (without.ok, without.text) == (False, "no backup has been made yet")
    assert (unwanted.ok, unwanted.text) == (True, "none was made with `fanion backup`")
    assert not failed.ok
    assert failed.text.endswith("failed: the disk is full")
    assert succeeded == Finding(
        "backup", True, "the last one is of 2026-05-06T07:08:09+00:00, in /mnt/backups"
    )


async def test_a_folder_on_which_nothing_may_start_is_reported(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    with lock_data_dir(settings):
        mark = (tmp_path / RUNNING_FILE).read_bytes()
    (tmp_path / RUNNING_FILE).write_bytes(mark)
    (tmp_path / IDENTITY_FILE).unlink()  # as a copy that has another one

    report = await findings(settings)

    assert not report["data folder"].ok
    assert "is a copy that was made while a server used the original" in report["data folder"].text
    assert "`fanion restore`" in report["data folder"].advice


async def test_a_server_that_is_ready_is_named(tmp_path: Path) -> None:
    async with answering_server(READY) as address:
        settings = Settings(data=tmp_path, port=int(address.rpartition(":")[2]))
        with lock_data_dir(settings, address):
            report = await findings(settings)

    runs = f"runs on this folder: process {os.getpid()}, {address}; ready: records ok, events ok"
    assert report["server"] == Finding("server", True, runs)
    assert report["event store"] == Finding(
        "event store", True, "ok, according to the server that uses it"
    )


async def test_a_server_at_another_address_than_the_settings_say_is_reported(
    tmp_path: Path,
) -> None:
    async with answering_server(READY) as address:
        settings = Settings(data=tmp_path)
        with lock_data_dir(settings, address):
            report = await findings(settings)

    assert report["server"].ok
    assert report["server"].advice == (
        "It was started with another address than these settings have."
    )


async def test_a_server_that_is_not_ready_is_reported(tmp_path: Path) -> None:
    async with answering_server(OPENING) as address:
        settings = Settings(data=tmp_path)
        with lock_data_dir(settings, address):
            report = await findings(settings)

    assert not report["server"].ok
    assert report["server"].text.endswith("; not ready: records ok, events opening")
    assert report["event store"] == Finding(
        "event store", False, "opening, according to the server that uses it"
    )


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"status": 1}', b"[]"])
async def test_something_else_at_its_address_is_no_answer(tmp_path: Path, body: bytes) -> None:
    async with answering_server(body) as address:
        settings = Settings(data=tmp_path)
        with lock_data_dir(settings, address):
            report = await findings(settings)

    assert not report["server"].ok
    assert "does not answer: " in report["server"].text
    assert report["event store"].text == "not checked: another process uses it"


async def test_a_server_that_hangs_is_reported(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    with lock_data_dir(settings, f"http://127.0.0.1:{free_port()}"):
        report = await findings(settings)

    assert not report["server"].ok
    assert f"process {os.getpid()}" in report["server"].text
    assert report["server"].advice == ("See its log. If it hangs, stop it and start it again.")


async def test_a_copy_of_events_is_no_server(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    with lock_data_dir(settings):
        report = await findings(settings)

    reported = f"none runs on this folder; process {os.getpid()} holds it, to copy events into it"
    assert report["server"] == Finding("server", True, reported)
    assert report["event store"].text == "not checked: another process uses it"


@pytest.mark.parametrize(
    ("written", "holder"),
    [
        ("http://127.0.0.1:8000", FolderHolder("http://127.0.0.1:8000")),
        ("http://127.0.0.1:8000\n12\n", FolderHolder("http://127.0.0.1:8000", 12)),
        ("\n12\n", FolderHolder("", 12)),
        ("", FolderHolder("")),
        ("a\nb", FolderHolder("a")),
        ("x" * 1_000_000, FolderHolder("x" * 300)),
    ],
)
def test_who_holds_a_folder_is_read_from_its_lock(
    tmp_path: Path, written: str, holder: FolderHolder
) -> None:
    with (tmp_path / "serving.lock").open("w") as lock:
        lock.write(written)
        lock.flush()
        settings = Settings(data=tmp_path)

        free = find_holder(settings)
        fcntl.flock(lock, fcntl.LOCK_EX)
        held = find_holder(settings)

    assert free is None
    assert held == holder


async def test_a_lock_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    (tmp_path / "serving.lock").mkdir()

    report = await findings(Settings(data=tmp_path))

    assert not report["server"].ok
    assert report["server"].advice == "Run it as the user that the server runs as."


def test_a_folder_that_was_never_set_up_stays_empty(tmp_path: Path) -> None:
    report = asyncio.run(findings(Settings(data=tmp_path)))

    assert list(tmp_path.iterdir()) == []
    assert report["records store"] == Finding(
        "records store",
        False,
        f"{tmp_path.resolve() / 'records.db'} does not exist",
        "`fanion serve` or `fanion setup` creates it. If it exists elsewhere, set --data.",
    )
    assert report["flags"].text == "not checked: there is no records store"
    assert report["event store"].text == "does not exist yet; the first `fanion serve` creates it"


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ({}, "all have their defaults"),
        ({"port": 9}, "FANION_PORT=9"),
        (
            {"database_url": "postgresql://u:s3cret@127.0.0.1:9/d", "log_level": "error"},
            "FANION_DATABASE_URL=postgresql://… FANION_LOG_LEVEL=error",
        ),
        (
            {
                "smtp_url": "smtps://u:s3cret@mail.example.com",
                "mail_from": "a@example.com",
                "public_url": "https://a.example",
            },
            "FANION_PUBLIC_URL=https://a.example FANION_SMTP_URL=smtps://… "
            "FANION_MAIL_FROM=a@example.com",
        ),
    ],
)
async def test_settings_are_those_that_were_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], reported: str
) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)

    report = await findings(read_settings({}, given))

    assert report["settings"] == Finding("settings", True, reported)


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        (
            {},
            "listens on 127.0.0.1 port 8000; links begin with the address of the request "
            "(FANION_PUBLIC_URL is not set)",
        ),
        (
            {"public_url": "https://a.example/b/", "management_listen": "127.0.0.1:8001"},
            "listens on 127.0.0.1 port 8000, for management on 127.0.0.1:8001; public URL "
            "https://a.example/b",
        ),
    ],
)
async def test_addresses_are_reported(tmp_path: Path, given: dict[str, Any], reported: str) -> None:
    report = await findings(read_settings({}, {"data": tmp_path, **given}))

    assert report["addresses"] == Finding("addresses", True, reported)


MAILS = {"smtp_url": "smtp://mail.example.com", "mail_from": "a@example.com"}
APART = {"management_listen": "127.0.0.1:8001"}


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ({"public_url": "https://a.example", **MAILS}, ""),
        (
            {"public_url": "http://127.0.0.1:8000", **MAILS},
            "Links in mails begin with http://127.0.0.1:8000, which other machines cannot reach.",
        ),
        (
            {"public_url": "https://a.example", **MAILS, **APART},
            "Links in mails begin with https://a.example. If people reach management at another "
            "address, set FANION_MANAGEMENT_URL.",
        ),
        (
            {
                "public_url": "https://a.example",
                "management_url": "https://m.example",
                **MAILS,
                **APART,
            },
            "",
        ),
    ],
)
async def test_links_in_mails_that_lead_nowhere_are_named(
    tmp_path: Path, given: dict[str, Any], advice: str
) -> None:
    report = await findings(read_settings({}, {"data": tmp_path, **given}))

    assert (report["addresses"].ok, report["addresses"].advice) == (True, advice)


def test_mails_without_an_address_for_their_links_are_found(sound_folder: Path) -> None:
    code, out = run_doctor(
        sound_folder,
        FANION_SMTP_URL="smtp://mail.example.com",
        FANION_MAIL_FROM="a@example.com",
        FANION_MANAGEMENT_LISTEN="127.0.0.1:8001",
    )

    assert code == 1
    [line] = [line for line in out.splitlines() if line.startswith("!!")]
    assert "FANION_PUBLIC_URL is needed with SMTP_URL" in line


def run_doctor(data: Path, **environment: str) -> tuple[int, str]:
    unset: dict[str, str | None] = dict.fromkeys(k for k in os.environ if k.startswith("FANION_"))
    done = CliRunner().invoke(app, ["doctor", "--data", str(data)], env=unset | environment)
    return done.exit_code, done.stdout


@pytest.fixture
def sound_folder(tmp_path: Path) -> Path:
    """Return a folder with a records store that no other user may read."""
    asyncio.run(migrate(Settings(data=tmp_path).records_url))
    for file in tmp_path.iterdir():
        file.chmod(0o600)
    return tmp_path


def test_a_terminal_shows_a_table(sound_folder: Path) -> None:
    code, out = run_doctor(sound_folder, COLUMNS="80", FORCE_COLOR="1", TERM="xterm", NO_COLOR="1")

    lines = re.sub(r"\x1b\[[\d;]*m", "", out).splitlines()
    assert code == 0
    assert max(map(len, lines)) <= 80
    [head] = [line for line in lines if "Check" in line]
    assert head.split() == ["Check", "Found", "What", "to", "do"]
    place = head.index("Found")
    [server] = [line for line in lines if " server " in line]
    assert server.split()[:2] == ["ok", "server"]
    assert server.index("none runs") == place


def test_a_pipe_gets_a_line_for_each_check_and_one_for_what_to_do(tmp_path: Path) -> None:
    code, out = run_doctor(tmp_path, COLUMNS="80", FORCE_COLOR="")

    lines = out.splitlines()
    assert code == 1
    assert "ok  server         none runs on this folder" in lines
    missing = f"!!  records store  {tmp_path.resolve() / 'records.db'} does not exist"
    advice = "`fanion serve` or `fanion setup` creates it. If it exists elsewhere, set --data."
    assert lines[lines.index(missing) + 1] == f"{'':18} -> {advice}"
    assert not any(line != line.rstrip() for line in lines)


def test_a_wrong_variable_of_opentelemetry_is_found(sound_folder: Path) -> None:
    code, out = run_doctor(
        sound_folder, OTEL_EXPORTER_OTLP_ENDPOINT="localhost:4318", COLUMNS="80", FORCE_COLOR=""
    )

    assert code == 1
    found = [line for line in out.splitlines() if line.startswith("!!")]
    what = "OTEL_EXPORTER_OTLP_ENDPOINT must be a URL such as http://localhost:4318"
    assert found == [f"!!  settings       {what}"]
