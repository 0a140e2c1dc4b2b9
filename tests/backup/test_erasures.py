"""Deletions of persons and projects that were made after a backup, and are made again."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Column, Connection, insert, select

from fanion.activity.model import Author
from fanion.backup.backup_service import make_backup
from fanion.backup.destination import FolderDestination
from fanion.backup.erasures_service import keep_erasures, kept_erasures
from fanion.backup.model import BackupRefused
from fanion.backup.restore_service import restore_backup
from fanion.config import Settings
from fanion.config.backups import Keep
from fanion.db.engine import Records, open_records
from fanion.db.schema.activity import activity_log
from fanion.db.schema.persons import person_erasures
from fanion.db.schema.tables import person_distinct_ids, persons, project_deletions, projects
from fanion.ingest.erasure_journal_store import ErasureJournal
from fanion.persons.erasure_store import begin_erasure
from fanion.projects.deletion.store import begin_deletion, unfinished_deletions
from tests.support.server import Keys, RealServer


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return RealServer(tmp_path / "data").setup()


@pytest.fixture
def settings(tmp_path: Path, keys: Keys) -> Settings:
    return Settings(data=tmp_path / "data")


@pytest.fixture
def destination(tmp_path: Path) -> FolderDestination:
    return FolderDestination(tmp_path / "backups")


def write(settings: Settings, work: Any, *arguments: Any) -> Any:
    """Run `work` in a transaction on the records of a folder."""

    async def run() -> Any:
        records: Records = await open_records(settings.records_url)
        try:
            async with records.write() as connection:
                return await connection.run_sync(work, *arguments)
        finally:
            await records.close()

    return asyncio.run(run())


def values(settings: Settings, column: Column[Any]) -> Sequence[Any]:
    def read(connection: Connection) -> Sequence[Any]:
        return connection.scalars(select(column).order_by(column)).all()

    found: Sequence[Any] = write(settings, read)
    return found


def add_person(connection: Connection, project_id: int, distinct_id: str) -> int:
    row = {"properties": {}, "is_identified": True, "created_at": datetime.now(UTC), "version": 1}
    statement = insert(persons).values(project_id=project_id, uuid=uuid4(), **row)
    person_id: int = connection.execute(statement.returning(persons.c.id)).scalar_one()
    link = {"project_id": project_id, "distinct_id": distinct_id, "person_id": person_id}
    connection.execute(insert(person_distinct_ids).values(**link))
    return person_id


def author_of(connection: Connection, project_id: int) -> Author:
    of_project = select(projects.c.organization_id).where(projects.c.id == project_id)
    return Author(
        connection.execute(of_project).scalar_one(), None, datetime.now(UTC), project_id=project_id
    )


def erase(connection: Connection, project_id: int, person_id: int) -> Any:
    author = author_of(connection, project_id)
    return begin_erasure(connection, author, person_id, 5, with_events=True)


def delete_person(settings: Settings, keys: Keys, person_id: int) -> None:
    """Delete a person as the server does, with its note in the journal."""
    erasure = write(settings, erase, keys.project_id, person_id)
    ErasureJournal(settings.data).note_persons([erasure])


def erasures(settings: Settings) -> list[tuple[list[str], list[str], datetime | None]]:
    columns = (
        person_erasures.c.persons,
        person_erasures.c.distinct_ids,
        person_erasures.c.finished_at,
    )

    def read(connection: Connection) -> Any:
        return [tuple(row) for row in connection.execute(select(*columns))]

    found: list[tuple[list[str], list[str], datetime | None]] = write(settings, read)
    return found


def test_a_person_deleted_after_the_backup_is_deleted_again(
    settings: Settings, keys: Keys, destination: FolderDestination, tmp_path: Path
) -> None:
    ann = write(settings, add_person, keys.project_id, "ann")
    write(settings, add_person, keys.project_id, "bob")
    first = make_backup(settings, destination, Keep())
    uuids = {str(value) for value in values(settings, persons.c.uuid)}
    delete_person(settings, keys, ann)
    [uuid] = uuids - {str(value) for value in values(settings, persons.c.uuid)}
    make_backup(settings, destination, Keep())

    new = Settings(data=tmp_path / "restored")
    restored = restore_backup(new, destination, first.id)

    assert restored.repeated == 1
    assert values(new, person_distinct_ids.c.distinct_id) == ["bob"]
    assert erasures(new) == [([uuid], ["ann"], None)]
    assert uuid in values(new, activity_log.c.item_id)


def test_a_deletion_that_the_backup_has_is_not_repeated(
    settings: Settings, keys: Keys, destination: FolderDestination, tmp_path: Path
) -> None:
    delete_person(settings, keys, write(settings, add_person, keys.project_id, "ann"))
    make_backup(settings, destination, Keep())

    new = Settings(data=tmp_path / "restored")
    restored = restore_backup(new, destination, "")

    assert restored.repeated == 0
    assert len(erasures(new)) == 1


def test_the_old_data_folder_knows_deletions_that_the_destination_lacks(
    settings: Settings, keys: Keys, destination: FolderDestination, tmp_path: Path
) -> None:
    ann = write(settings, add_person, keys.project_id, "ann")
    make_backup(settings, destination, Keep())
    delete_person(settings, keys, ann)

    without = restore_backup(Settings(data=tmp_path / "without"), destination, "")
    new = Settings(data=tmp_path / "restored")
    restored = restore_backup(new, destination, "", settings.data)

    assert (without.repeated, restored.repeated) == (0, 1)
    assert values(new, person_distinct_ids.c.distinct_id) == []


def test_events_that_still_wait_in_the_log_are_covered(
    settings: Settings, keys: Keys, destination: FolderDestination, tmp_path: Path
) -> None:
    make_backup(settings, destination, Keep())  # the person's first event waits in its log
    delete_person(settings, keys, write(settings, add_person, keys.project_id, "ann"))
    keep_erasures(settings.data, destination)

    new = Settings(data=tmp_path / "restored")
    restored = restore_backup(new, destination, "")

    assert restored.repeated == 1
    [(_, distinct_ids, finished_at)] = erasures(new)
    assert (distinct_ids, finished_at) == (["ann"], None)


def test_a_project_deleted_after_the_backup_is_deleted_again(
    settings: Settings, keys: Keys, destination: FolderDestination, tmp_path: Path
) -> None:
    make_backup(settings, destination, Keep())

    def delete_project(connection: Connection) -> Any:
        by = author_of(connection, keys.project_id)
        other = select(projects).where(projects.c.id == keys.project_id)
        row = connection.execute(other).one()._asdict()
        del row["id"]
        connection.execute(insert(projects).values(**row | {"uuid": uuid4(), "api_token": "phc_2"}))
        begin_deletion(connection, by, keys.project_id, 0)
        return unfinished_deletions(connection)

    ErasureJournal(settings.data).note_projects(write(settings, delete_project))
    new = Settings(data=tmp_path / "restored")
    restored = restore_backup(new, destination, "", settings.data)

    assert restored.repeated == 1
    assert values(new, projects.c.id) == []
    assert values(new, project_deletions.c.project_id) == [keys.project_id]


def test_the_destination_forgets_deletions_that_no_backup_lacks(
    settings: Settings, keys: Keys, destination: FolderDestination
) -> None:
    make_backup(settings, destination, Keep())
    delete_person(settings, keys, write(settings, add_person, keys.project_id, "ann"))
    make_backup(settings, destination, Keep())
    kept = kept_erasures(destination)
    oldest = datetime.now(UTC) + timedelta(minutes=2)

    keep_erasures(settings.data, destination, since=oldest)

    assert len(kept) == 1
    assert kept_erasures(destination) == []


def test_a_damaged_list_of_deletions_is_refused(
    settings: Settings, destination: FolderDestination, tmp_path: Path
) -> None:
    make_backup(settings, destination, Keep())
    destination.write("erasures.jsonl.zst", b"nothing")

    with pytest.raises(BackupRefused, match=r"erasures\.jsonl\.zst is damaged"):
        restore_backup(Settings(data=tmp_path / "restored"), destination, "")
    assert not (tmp_path / "restored").exists()
