"""Backups of a data folder without a server: what is copied, kept, checked and restored."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from fanion.backup.backup_service import Backup, make_backup
from fanion.backup.destination import FolderDestination, open_destination
from fanion.backup.manifests_store import list_backups
from fanion.backup.model import BackupRefused
from fanion.backup.restore_service import check_backup, restore_backup
from fanion.cli.app import app
from fanion.config import Settings
from fanion.config.backups import Keep, read_keep
from fanion.runtime.data_dir import lock_data_dir
from tests.support.server import RealServer

PART = "events/store/abc/abcdef/202601_1_1_0"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return the settings of a folder with records and something like a part of an event store."""
    RealServer(tmp_path / "data").setup()
    write_part(tmp_path / "data", PART, b"rows" * 1_000)
    return Settings(data=tmp_path / "data")


@pytest.fixture
def destination(tmp_path: Path) -> FolderDestination:
    return FolderDestination(tmp_path / "backups")


def write_part(data: Path, part: str, content: bytes) -> None:
    (data / part).mkdir(parents=True)
    (data / part / "data.bin").write_bytes(content)
    (data / part / "checksums.txt").write_bytes(b"hash of " + content[:9])


def add_user(settings: Settings, email: str) -> None:
    with closing(sqlite3.connect(settings.data / "records.db")) as db, db:
        db.execute("UPDATE users SET email = ?", (email,))


def user_of(data: Path) -> str:
    with closing(sqlite3.connect(data / "records.db")) as db:
        return str(db.execute("SELECT email FROM users").fetchone()[0])


def chunk_files(folder: Path) -> list[Path]:
    return [path for path in (folder / "chunks").rglob("*") if path.is_file()]


def restored(tmp_path: Path, destination: FolderDestination, backup: str = "") -> Path:
    data = tmp_path / "restored"
    restore_backup(Settings(data=data), destination, backup)
    return data


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_backup_is_restored(
    settings: Settings, destination: FolderDestination, tmp_path: Path
) -> None:
    add_user(settings, "ada@example.com")
    make_backup(settings, destination, Keep())
    add_user(settings, "later@example.com")

    data = restored(tmp_path, destination)

    assert user_of(data) == "ada@example.com"
    assert files_of(data / PART) == files_of(settings.data / PART)
    with lock_data_dir(Settings(data=data)):
        pass
    private = [data, data / "events", *(path for path in data.rglob("*") if path.is_file())]
    assert {path.stat().st_mode & 0o077 for path in private} == {0}


def test_nothing_is_left_in_the_data_folder(
    settings: Settings, destination: FolderDestination
) -> None:
    before = {path for path in settings.data.rglob("*") if path.is_file()}

    make_backup(settings, destination, Keep())

    after = {path for path in settings.data.rglob("*") if path.is_file()}
    assert {path.name for path in after - before} == {"backup.lock", "backup-state.json"}


def test_what_a_killed_backup_has_left_is_removed(
    settings: Settings, destination: FolderDestination
) -> None:
    left = (settings.data / "backup.tmp", settings.data / "events" / "shadow" / "fanion-backup")
    for folder in left:
        folder.mkdir(parents=True)
        (folder / "x").write_bytes(b"half")

    make_backup(settings, destination, Keep())

    assert not any(folder.exists() for folder in left)


def test_a_second_backup_copies_only_what_is_new(
    settings: Settings, destination: FolderDestination
) -> None:
    first = make_backup(settings, destination, Keep())
    chunks = len(chunk_files(Path(destination.where)))

    unchanged = make_backup(settings, destination, Keep())
    write_part(settings.data, PART.replace("_1_1_0", "_2_2_0"), b"more" * 1_000)
    changed = make_backup(settings, destination, Keep())

    assert first.new_bytes > 10_000
    assert unchanged.new_bytes == 0
    assert 0 < changed.new_bytes < 5_000
    assert len(chunk_files(Path(destination.where))) <= chunks + 2


def test_unchanged_parts_are_not_read_again(
    settings: Settings, destination: FolderDestination, tmp_path: Path
) -> None:
    make_backup(settings, destination, Keep())
    size = (settings.data / PART / "data.bin").stat().st_size
    (settings.data / PART / "data.bin").write_bytes(b"?" * size)  # no engine does this

    make_backup(settings, destination, Keep())

    data = restored(tmp_path, destination)
    assert (data / PART / "data.bin").read_bytes() == b"rows" * 1_000


def test_older_backups_are_deleted_with_what_only_they_have(
    settings: Settings, destination: FolderDestination, tmp_path: Path
) -> None:
    make_backup(settings, destination, Keep())
    only_first = set(chunk_files(Path(destination.where)))
    shutil.rmtree(settings.data / PART)

    second: Backup = make_backup(settings, destination, read_keep("1"))

    assert second.kept == 1
    assert list_backups(destination) == [second.id]
    assert not only_first <= set(chunk_files(Path(destination.where)))
    assert not (restored(tmp_path, destination) / PART).exists()


def test_an_older_backup_is_restored_by_its_id(
    settings: Settings, destination: FolderDestination, tmp_path: Path
) -> None:
    add_user(settings, "first@example.com")
    first = make_backup(settings, destination, Keep())
    add_user(settings, "second@example.com")
    make_backup(settings, destination, Keep())

    assert user_of(restored(tmp_path, destination, first.id)) == "first@example.com"


def test_a_backup_without_its_manifest_does_not_exist(
    settings: Settings, destination: FolderDestination, tmp_path: Path
) -> None:
    make_backup(settings, destination, Keep())
    for manifest in (Path(destination.where) / "backups").iterdir():
        manifest.unlink()

    with pytest.raises(BackupRefused, match="holds no complete backup"):
        restored(tmp_path, destination)
    assert not (tmp_path / "restored").exists()


@pytest.mark.parametrize("damage", ["bit", "end", "missing", "other"])
def test_damage_is_found(
    settings: Settings, destination: FolderDestination, tmp_path: Path, damage: str
) -> None:
    make_backup(settings, destination, Keep())
    chunks = sorted(chunk_files(Path(destination.where)), key=lambda path: path.stat().st_size)
    chunk, content = chunks[-1], bytearray(chunks[-1].read_bytes())
    if damage == "missing":
        chunk.unlink()
    else:
        content[len(content) // 2] ^= 0 if damage == "end" else 4
        chunk.write_bytes(chunks[0].read_bytes() if damage == "other" else content[: -1 or None])

    checked = check_backup(destination, "")

    assert checked.damaged_files == 1
    assert chunk.name in checked.damaged[0]
    assert ("is missing" if damage == "missing" else "is damaged") in checked.damaged[0]
    with pytest.raises(BackupRefused):
        restored(tmp_path, destination)


def test_an_undamaged_backup_is_found_to_be_so(
    settings: Settings, destination: FolderDestination
) -> None:
    made = make_backup(settings, destination, Keep())

    checked = check_backup(destination, made.id)

    assert (checked.manifest.id, checked.damaged_files) == (made.id, 0)


def test_a_restore_that_fails_leaves_nothing_that_starts(
    settings: Settings, destination: FolderDestination, tmp_path: Path
) -> None:
    make_backup(settings, destination, Keep())
    for chunk in chunk_files(Path(destination.where)):
        content = bytearray(chunk.read_bytes())
        content[-1] ^= 1
        chunk.write_bytes(content)
    with pytest.raises(BackupRefused):
        restored(tmp_path, destination)

    done = CliRunner().invoke(app, ["keys", "list", "--data", str(tmp_path / "restored")])

    assert done.exit_code == 2
    assert "has not finished. Run `fanion restore` again" in done.stderr


def test_a_folder_in_use_is_not_restored_into(
    settings: Settings, destination: FolderDestination
) -> None:
    make_backup(settings, destination, Keep())
    before = files_of(settings.data)

    done = CliRunner().invoke(
        app, ["restore", "--from", destination.where, "--data", str(settings.data)]
    )

    assert done.exit_code == 2
    assert "is not empty, and a backup is restored into a new folder" in done.stderr
    assert before.items() <= files_of(settings.data).items()


def test_a_destination_belongs_to_one_installation(
    settings: Settings, destination: FolderDestination, tmp_path: Path
) -> None:
    make_backup(settings, destination, Keep())
    other = RealServer(tmp_path / "other")
    other.setup_anew()

    with pytest.raises(BackupRefused, match="holds backups of installation"):
        make_backup(Settings(data=other.data), destination, Keep())


def test_two_backups_at_once_are_not_made(
    settings: Settings, destination: FolderDestination
) -> None:
    with destination.locked(shared=False), pytest.raises(BackupRefused, match="another backup"):
        make_backup(settings, destination, Keep())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["backup", "--to", "ftp://host/x"], "ftp:// is not a destination"),
        (["backup", "--to", ""], "name a folder for the backup"),
        (["backup", "--to", "x", "--keep", "0"], "--keep: '0' is neither a number of backups"),
        (["backups", "--from", "missing"], "there is no folder"),
        (["restore", "--from", "missing"], "there is no folder"),
        (["restore", "--from", "missing", "--check"], "there is no folder"),
    ],
)
def test_wrong_options_are_refused(
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)

    done = CliRunner().invoke(app, arguments, env={"FANION_DATA": str(settings.data)})

    assert done.exit_code == 2, done.output
    assert said in done.stderr


def test_the_destination_must_not_lie_in_the_data_folder(settings: Settings) -> None:
    with pytest.raises(BackupRefused, match="lies in the data folder"):
        make_backup(settings, open_destination(str(settings.data / "backups")), Keep())


def test_a_folder_with_stores_elsewhere_is_not_backed_up(
    settings: Settings, destination: FolderDestination
) -> None:
    elsewhere = msgspec.structs.replace(settings, events_url="clickhouse://localhost/x")

    with pytest.raises(BackupRefused, match="use their own tools"):
        make_backup(elsewhere, destination, Keep())


def test_a_destination_that_cannot_be_written_is_named(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")

    done = CliRunner().invoke(
        app, ["backup", "--to", str(tmp_path / "file"), "--data", str(settings.data)]
    )

    assert done.exit_code == 2
    assert str(tmp_path / "file") in done.stderr
    assert "Traceback" not in done.output


def test_the_commands_print_json(settings: Settings, tmp_path: Path) -> None:
    def run(*arguments: str) -> Any:
        done = CliRunner().invoke(app, [*arguments, "--json"], env={"FANION_DATA": str(data)})
        assert done.exit_code == 0, done.output
        return msgspec.json.decode(done.stdout)

    data, to = settings.data, str(tmp_path / "backups")

    made = run("backup", "--to", to)
    listed = run("backups", "--from", to)
    checked = run("restore", "--from", to, "--check")
    data = tmp_path / "restored"
    restored = run("restore", "--from", to)

    assert [entry["backup"] for entry in listed] == [made["backup"]]
    assert checked["damaged_files"] == 0
    assert restored["backup"] == made["backup"]
    assert restored["data"] == str(data)
