"""A snapshot of flags is complete or absent, and taken over where it is newer or has more."""

import resource
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from fanion.config import SettingsError
from fanion.flags.engine.definition import CohortRow, FlagDefinitions, FlagRow
from fanion.flags.evaluation.offline_store import OfflineFlagStore
from fanion.flags.evaluation.snapshot_store import take_over_snapshot, write_snapshot
from fanion.projects.model import FormerToken, Project

TAKEN = datetime(2024, 3, 1, 12, tzinfo=UTC)
AN_HOUR = timedelta(hours=1)
# Names of a server's offline copy and of a snapshot.
KEPT, SNAPSHOT = "kept.db", "flags.db"


def project(project_id: int) -> Project:
    uuid = UUID(int=project_id)
    former = (FormerToken(f"phc_former_{project_id}", TAKEN),)
    return Project(
        project_id, uuid, uuid, "Shop", f"phc_{project_id}", "UTC", TAKEN, former_tokens=former
    )


def definitions(version: int) -> FlagDefinitions:
    flag = FlagRow(version, f"flag-{version}", {"groups": [{}]})
    return FlagDefinitions((flag,), {0: "company"}, (CohortRow(1, is_static=True),), version)


def snapshot_of(folder: Path, *project_ids: int, version: int = 1) -> Path:
    path = folder / SNAPSHOT
    with write_snapshot(path, TAKEN) as add:
        for project_id in project_ids:
            add(project(project_id), definitions(version))
    return path


async def kept_at(folder: Path, taken_at: datetime, *project_ids: int) -> OfflineFlagStore:
    """Store flags of version 9 in an offline copy."""
    offline = OfflineFlagStore(folder / KEPT, lambda: taken_at)
    for project_id in project_ids:
        offline.put_definitions(project_id, definitions(9))
    await offline.write_queued(known)
    return offline


async def known(project_id: int) -> Project:
    return project(project_id)


async def versions(offline: OfflineFlagStore) -> dict[int, tuple[int, datetime]]:
    """Return the version of each project's flags, and the time at which it was current."""
    copies = {each.id: await offline.get_copy(each.id) for each in await offline.projects()}
    return {
        project_id: (copy.definitions.version, copy.taken_at)
        for project_id, copy in copies.items()
        if copy is not None
    }


@contextmanager
def files_of(most: int) -> Iterator[None]:
    """Prevent files of this process from growing beyond this number of bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_snapshot_fills_an_empty_copy(tmp_path: Path) -> None:
    path = snapshot_of(tmp_path, 7, 8)
    offline = OfflineFlagStore(tmp_path / KEPT)

    take_over_snapshot(path, offline)

    assert await offline.projects() == [project(7), project(8)]
    assert await offline.project_of_token("phc_former_8") == project(8)
    copy = await offline.get_copy(7)
    assert copy is not None and copy.taken_at == TAKEN
    assert list(copy.definitions.flags) == list(definitions(1).flags)
    assert await offline.oldest_known_at() == TAKEN


def test_only_the_owner_can_read_a_snapshot_and_the_copy(tmp_path: Path) -> None:
    take_over_snapshot(snapshot_of(tmp_path, 7), OfflineFlagStore(tmp_path / KEPT))

    modes = {entry.name: entry.stat().st_mode & 0o777 for entry in tmp_path.iterdir()}
    assert modes == {SNAPSHOT: 0o600, KEPT: 0o600}


async def test_an_older_copy_is_replaced(tmp_path: Path) -> None:
    offline = await kept_at(tmp_path, TAKEN - AN_HOUR, 6, 7)

    take_over_snapshot(snapshot_of(tmp_path, 7, 8), offline)

    assert await versions(offline) == {7: (1, TAKEN), 8: (1, TAKEN)}
    assert await offline.oldest_known_at() == TAKEN


async def test_into_a_newer_copy_missing_projects_are_inserted(tmp_path: Path) -> None:
    offline = await kept_at(tmp_path, TAKEN + AN_HOUR, 6, 7)

    take_over_snapshot(snapshot_of(tmp_path, 7, 8), offline)

    newer = (9, TAKEN + AN_HOUR)
    assert await versions(offline) == {6: newer, 7: newer, 8: (1, TAKEN)}
    assert await offline.oldest_known_at() == TAKEN


async def test_only_flags_that_are_known_to_be_current_are_renewed(tmp_path: Path) -> None:
    offline = await kept_at(tmp_path, TAKEN, 7, 8)
    offline.put_definitions(8, definitions(10))  # not written yet

    await offline.renew_times([7, 8], TAKEN + AN_HOUR)
    await offline.renew_times([7], TAKEN)

    later = OfflineFlagStore(tmp_path / KEPT)
    assert await versions(later) == {7: (9, TAKEN + AN_HOUR), 8: (9, TAKEN)}


def test_an_old_snapshot_stays_whole_when_a_new_one_fails(tmp_path: Path) -> None:
    path = snapshot_of(tmp_path, 7)
    before = path.read_bytes()

    with pytest.raises(LookupError), write_snapshot(path, TAKEN) as add:
        add(project(8), definitions(2))
        raise LookupError
    with pytest.raises(OSError, match="disk"), files_of(8192), write_snapshot(path, TAKEN) as add:
        for project_id in range(100):
            add(project(project_id), definitions(2))

    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == [SNAPSHOT]


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-4096])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def replaced(path: Path) -> None:
    path.write_bytes(b"no database at all" * 100)


def garbled(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE kept SET definitions = x'c1' WHERE project_id = 99")


@pytest.mark.parametrize("spoil", [Path.unlink, truncated, emptied, replaced, garbled])
async def test_a_broken_snapshot_is_refused_and_the_copy_stays(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    offline = await kept_at(tmp_path, TAKEN - AN_HOUR, 6, 7)
    before = await versions(offline)
    path = snapshot_of(tmp_path, *range(100))
    spoil(path)

    with pytest.raises(SettingsError) as refused:
        take_over_snapshot(path, offline)

    said = f"FANION_FLAGS_SNAPSHOT: {path} cannot be read as a snapshot of flags: "
    assert str(refused.value).startswith(said)
    assert "\n" not in str(refused.value)
    assert await versions(offline) == before


async def test_a_broken_copy_is_replaced_by_a_snapshot(tmp_path: Path) -> None:
    (tmp_path / KEPT).write_bytes(b"no database at all" * 100)
    offline = OfflineFlagStore(tmp_path / KEPT)

    take_over_snapshot(snapshot_of(tmp_path, 7), offline)

    assert await versions(offline) == {7: (1, TAKEN)}
