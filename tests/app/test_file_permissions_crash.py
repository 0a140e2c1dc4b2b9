"""The permissions of everything a real server creates: only for its user, whatever the umask."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from fanion.config import Settings
from fanion.runtime.data_dir import find_readable_by_others, restrict_to_owner
from tests.support import plain_http
from tests.support.awaited import until
from tests.support.server import Keys, RealServer

pytestmark = pytest.mark.long("starts real servers")

OTHERS = 0o077
USUAL = 0o022
# The server's children: a web worker, and the writer of the accept log.
CHILDREN = ("fanion.app.web_worker", "fanion.accept_log.writer_main")


class LooseServer(RealServer):
    """A server started with a umask that lets others read."""

    def launch(self) -> None:
        before = os.umask(USUAL)
        try:
            super().launch()
        finally:
            os.umask(before)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LooseServer]:
    server = LooseServer(tmp_path / "data", {"FANION_PROCESSES": "2"})
    yield server
    server.close()


def modes(folder: Path) -> Iterator[tuple[Path, int]]:
    """Yield the mode of a folder and of all in it except symbolic links.

    A running server deletes files at any time, such as the journal of an SQLite transaction;
    `os.walk` passes over folders that are gone.
    """
    yield folder, folder.lstat().st_mode
    for parent, folders, files in os.walk(folder):
        for path in (Path(parent, name) for name in (*folders, *files)):
            with suppress(FileNotFoundError):
                mode = path.lstat().st_mode
                if not stat.S_ISLNK(mode):
                    yield path, mode


def paths_open_to_others(folder: Path) -> list[str]:
    """Return what others may read, without the server's log, which the test itself opens."""
    return [
        str(path.relative_to(folder))
        for path, mode in modes(folder)
        if path.name != "server.log" and mode & OTHERS
    ]


def umasks_of_children(parent: int) -> dict[str, str]:
    """Return command line and umask of each child of a process."""
    programs = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status = dict(
                line.split(":\t", 1)
                for line in (folder / "status").read_text().splitlines()
                if ":\t" in line
            )
            if status["PPid"] == str(parent):
                programs[(folder / "cmdline").read_text()] = status["Umask"].strip()
        except (OSError, ValueError):
            continue
    return programs


def loosen_permissions(folder: Path) -> None:
    """Loosen permissions to those of earlier versions. No server may run there."""
    for path, mode in modes(folder):
        path.chmod(0o755 if stat.S_ISDIR(mode) else 0o644)


def use_server(server: LooseServer, keys: Keys) -> None:
    """Send requests, so that all files exist, including write-ahead logs."""
    key = {"api_key": keys.project_api_key}
    body = key | {"event": "seen", "distinct_id": "ann"}
    assert plain_http.post(f"{server.url}/capture/", json=body).status_code == 200
    decided = plain_http.post(f"{server.url}/flags/?v=2", json=key | {"distinct_id": "ann"})
    assert decided.status_code == 200
    headers = {"authorization": f"Bearer {keys.personal_api_key}"}
    project_url = f"{server.url}/api/projects/{keys.project_id}"
    flag = plain_http.post(f"{project_url}/feature_flags/", json={"key": "a"}, headers=headers)
    assert flag.status_code == 201
    until(
        lambda: plain_http.get(f"{project_url}/events/", headers=headers).json()["results"],
        "no event",
    )
    until((server.data / "kept-flags.db").exists, "flags are not kept")


def test_nothing_that_a_server_makes_is_open_to_others(server: LooseServer) -> None:
    keys = server.setup()
    loosen_permissions(server.data)
    before = paths_open_to_others(server.data)

    server.start()
    use_server(server, keys)
    pid = server.pid
    until(
        lambda: all(any(name in line for line in umasks_of_children(pid)) for name in CHILDREN),
        "a process of the server is missing",
    )
    open_paths, umasks = paths_open_to_others(server.data), set(umasks_of_children(pid).values())

    assert "records.db" in before
    assert open_paths == []
    assert {"records.db-wal", "accept-log.db", "accept-log.lock", "kept-flags.db"} <= {
        path.name for path in server.data.iterdir()
    }
    assert umasks == {"0077"}


def test_a_fresh_folder_is_closed_from_its_first_moment(server: LooseServer) -> None:
    server.start()

    assert paths_open_to_others(server.data) == []
    assert stat.S_IMODE(server.data.stat().st_mode) == 0o700


def test_an_event_store_of_an_earlier_version_is_closed_whole(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data")
    part = tmp_path / "data" / "events" / "store" / "a"
    part.mkdir(parents=True)
    (part / "data.bin").write_bytes(b"")
    (tmp_path / "data" / "records.db-wal").write_bytes(b"")
    loosen_permissions(settings.data)

    before = find_readable_by_others(settings)
    left = restrict_to_owner(settings)

    assert {path.name for path in before} == {"data", "events", "records.db-wal"}
    assert (left, paths_open_to_others(settings.data)) == ([], [])


def test_stores_outside_of_the_folder_are_closed_but_not_where_they_lie(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    (folder / "events").mkdir(parents=True)
    (folder / "records.db").write_bytes(b"")
    (folder / "of another user").write_bytes(b"")
    loosen_permissions(folder)
    settings = Settings(
        data=tmp_path / "data",
        database_url=f"sqlite:///{folder}/records.db",
        events_url=f"chdb://{folder}/events",
    )

    left = restrict_to_owner(settings)

    assert left == []
    assert paths_open_to_others(folder) == [".", "of another user"]


def test_a_folder_that_is_shared_is_left_as_it_is_and_reported(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)

    left = restrict_to_owner(Settings(data=tmp_path))

    assert left == [tmp_path]
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o1777


def test_other_files_of_the_operator_stay_as_they_are(tmp_path: Path) -> None:
    note = tmp_path / "notes.txt"
    note.write_text("")
    note.chmod(0o644)

    restrict_to_owner(Settings(data=tmp_path))

    assert stat.S_IMODE(note.stat().st_mode) == 0o644
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
