"""Which data folders may be used: killed, moved and restored ones, not copies of running ones."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from fanion.runtime.folder_state import (
    FolderRefused,
    begin_restore,
    end_restore,
    noted_as_running,
    require_usable,
)


class Killed(BaseException):
    """The end of a process without anything after it."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    (folder / "events").mkdir(parents=True)
    for name in ("records.db", "accept-log.db"):
        (folder / name).write_bytes(b"SQLite")
    return folder


def kill_server(folder: Path) -> None:
    """Leave the folder as a killed server does."""
    kept = folder.parent / "running.json"
    with noted_as_running(folder):
        os.link(folder / "running.json", kept)
    kept.replace(folder / "running.json")


def test_a_folder_that_was_never_used_may_be_used(folder: Path) -> None:
    require_usable(folder)


def test_a_folder_may_be_used_after_a_kill(folder: Path) -> None:
    kill_server(folder)

    require_usable(folder)


def test_a_folder_may_be_moved_after_a_kill(folder: Path) -> None:
    kill_server(folder)

    moved = folder.rename(folder.parent / "moved")

    require_usable(moved)


def test_owners_may_be_set_after_a_kill(folder: Path) -> None:
    kill_server(folder)

    for path in folder.rglob("*"):
        os.chown(path, os.getuid(), os.getgid())

    require_usable(folder)


def test_a_damaged_log_may_be_removed_after_a_kill(folder: Path) -> None:
    kill_server(folder)

    (folder / "accept-log.db").unlink()

    require_usable(folder)


@pytest.mark.parametrize("is_exact", [False, True])
def test_a_copy_of_a_running_servers_folder_is_refused(folder: Path, is_exact: bool) -> None:
    with noted_as_running(folder):
        copied = shutil.copytree(
            folder, folder.parent / "copy", copy_function=shutil.copy2 if is_exact else shutil.copy
        )

    with pytest.raises(FolderRefused, match="is a copy that was made while a server used"):
        require_usable(copied)


def test_a_copy_of_hard_links_is_refused(folder: Path) -> None:
    with noted_as_running(folder):
        copied = shutil.copytree(folder, folder.parent / "copy", copy_function=os.link)

        require_usable(folder)

    with pytest.raises(FolderRefused):
        require_usable(copied)


def test_a_copy_of_a_stopped_servers_folder_may_be_used(folder: Path) -> None:
    with noted_as_running(folder):
        pass

    require_usable(shutil.copytree(folder, folder.parent / "copy"))


def test_a_copy_stays_refused_until_it_is_accepted(folder: Path) -> None:
    with noted_as_running(folder):
        copied = shutil.copytree(folder, folder.parent / "copy")
    for _ in range(2):
        with pytest.raises(FolderRefused):
            require_usable(copied)

    with noted_as_running(copied):
        pass

    require_usable(copied)


def test_an_unfinished_restore_is_refused_and_begun_again(folder: Path) -> None:
    target = folder.parent / "new"
    target.mkdir()
    with suppress(Killed):
        begin_restore(target, "serving.lock")
        (target / "events").mkdir()
        (target / "events" / "part").write_bytes(b"half")
        raise Killed
    with pytest.raises(FolderRefused, match="has not finished"):
        require_usable(target)

    begin_restore(target, "serving.lock")

    assert [path.name for path in target.iterdir()] == ["restore-unfinished"]
    end_restore(target)
    require_usable(target)
    assert list(target.iterdir()) == []


def test_a_folder_with_content_is_not_restored_into(folder: Path) -> None:
    before = sorted(folder.rglob("*"))

    with pytest.raises(FolderRefused, match="is not empty"):
        begin_restore(folder, "serving.lock")

    assert sorted(folder.rglob("*")) == before
