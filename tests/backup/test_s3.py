"""Backups in a bucket of an object store."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from fanion.backup.backup_service import make_backup
from fanion.backup.destination import Destination, open_destination
from fanion.backup.model import BackupRefused
from fanion.backup.restore_service import check_backup, restore_backup
from fanion.cli.app import app
from fanion.config import Settings
from fanion.config.backups import Keep, read_keep
from tests.support.s3_server import BUCKET, S3Server, s3_server
from tests.support.server import RealServer

URL = f"s3://{BUCKET}/backups of/fanion"


@pytest.fixture
def server() -> Iterator[S3Server]:
    with s3_server() as server:
        yield server


@pytest.fixture
def destination(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Destination:
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    return open_destination(URL)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    RealServer(tmp_path / "data").setup()
    return Settings(data=tmp_path / "data")


def test_a_backup_in_a_bucket_is_checked_and_restored(
    settings: Settings, server: S3Server, destination: Destination, tmp_path: Path
) -> None:
    made = make_backup(settings, destination, Keep())

    checked = check_backup(destination, "")
    restored = restore_backup(Settings(data=tmp_path / "restored"), destination, "")

    assert (checked.manifest.id, checked.damaged_files) == (made.id, 0)
    assert restored.manifest.id == made.id
    assert (tmp_path / "restored" / "records.db").stat().st_size > 100_000
    assert server.refused == 0
    assert {key.rpartition("fanion/")[0] for key in server.objects} == {"backups of/"}


def test_a_second_backup_adds_little_and_older_ones_are_deleted(
    settings: Settings, server: S3Server, destination: Destination
) -> None:
    make_backup(settings, destination, Keep())
    objects = len(server.objects)

    second = make_backup(settings, destination, read_keep("1"))

    assert second.kept == 1
    assert second.new_bytes == 0
    assert len(server.objects) == objects


def test_a_damaged_object_is_found(
    settings: Settings, server: S3Server, destination: Destination
) -> None:
    make_backup(settings, destination, Keep())
    chunk = next(key for key in server.objects if "/chunks/" in key)
    server.objects[chunk] = server.objects[chunk][:-1]

    checked = check_backup(destination, "")

    assert checked.damaged_files == 1
    assert chunk.rpartition("/")[2] in checked.damaged[0]


def run(settings: Settings, server: S3Server, *arguments: str, secret: str = "") -> Result:
    environment = server.environment(secret) if secret else server.environment()
    data = {"FANION_DATA": str(settings.data)}
    return CliRunner().invoke(app, arguments, env=environment | data)


def test_wrong_credentials_are_one_line(settings: Settings, server: S3Server) -> None:
    done = run(settings, server, "backup", "--to", URL, secret="wrong")

    assert done.exit_code == 2
    assert done.stderr.startswith(f"fanion: {URL}: ")
    assert len(done.stderr.splitlines()) == 1
    assert server.refused > 0
    assert server.objects == {}


def test_a_bucket_that_cannot_be_written_is_one_line(settings: Settings, server: S3Server) -> None:
    server.failing = 403

    done = run(settings, server, "backup", "--to", URL)

    assert done.exit_code == 2
    assert done.stderr.startswith(f"fanion: {URL}: ")
    assert len(done.stderr.splitlines()) == 1


def test_an_empty_bucket_holds_no_backups(settings: Settings, server: S3Server) -> None:
    done = run(settings, server, "restore", "--from", URL, "--data", "restored")

    assert done.exit_code == 2
    assert done.stderr == f"fanion: {URL} holds no backups of Fanion\n"


@pytest.mark.parametrize("url", ["s3://", "s3:///prefix", "s3://key@bucket/x", "s3://bucket/x?a=b"])
def test_a_wrong_address_is_refused(url: str) -> None:
    with pytest.raises(BackupRefused, match="is not an address such as s3://bucket/prefix"):
        open_destination(url)
