"""The backups that a server makes by itself."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from msgspec.structs import replace

from fanion.backup.backup_service import make_backup
from fanion.backup.destination import open_destination
from fanion.backup.erasures_service import kept_erasures
from fanion.backup.manifests_store import list_backups
from fanion.backup.worker import BackupWorker
from fanion.config import Settings, SettingsError, read_settings
from fanion.config.backups import Keep
from fanion.events.event import Erasure
from fanion.ingest.erasure_journal_store import ErasureJournal
from fanion.runtime.backup_state import BackupState, only_backup, read_backup_state
from tests.support.server import RealServer

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
STATE = BackupState(destination="", started_at=NOW, has_ended=True, succeeded_at=NOW)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    RealServer(tmp_path / "data").setup()
    return Settings(data=tmp_path / "data", backup_to=str(tmp_path / "backups"))


@pytest.mark.parametrize(
    ("changes", "minutes", "is_due"),
    [
        ({}, 23 * 60, False),
        ({}, 24 * 60, True),
        ({"error": "it failed"}, 14, False),
        ({"error": "it failed"}, 15, True),
        ({"has_ended": False}, 15, True),
        ({"destination": "/elsewhere"}, 0, True),
    ],
)
def test_a_backup_is_due_regularly_and_soon_after_a_failure(
    tmp_path: Path, changes: dict[str, object], minutes: int, is_due: bool
) -> None:
    settings = Settings(data=tmp_path, backup_to=str(tmp_path / "backups"))
    worker = BackupWorker(settings, lambda: NOW + timedelta(minutes=minutes))
    state = replace(STATE, destination=str((tmp_path / "backups").resolve()))

    assert worker.is_due(replace(state, **changes)) is is_due
    assert worker.is_due(None)


async def test_a_due_backup_is_made_by_another_process(settings: Settings) -> None:
    """Start the process of a backup, which takes seconds on a busy machine."""
    worker = BackupWorker(settings, lambda: datetime.now(UTC))

    await worker.work()
    await worker.work()  # none is due

    assert len(list_backups(open_destination(settings.backup_to))) == 1
    state = read_backup_state(settings.data)
    assert state is not None
    assert (state.error, state.has_ended) == ("", True)


async def test_a_failure_is_noted(settings: Settings) -> None:
    """Start the process of a backup, which takes seconds on a busy machine."""
    under_a_file = str(settings.data / "records.db" / "backups")
    settings = replace(settings, backup_to=under_a_file)

    await BackupWorker(settings, lambda: datetime.now(UTC)).work()

    state = read_backup_state(settings.data)
    assert state is not None
    assert settings.backup_to in state.error
    assert state.succeeded_at is None


async def test_none_is_made_while_another_one_is(settings: Settings) -> None:
    with only_backup(settings.data):
        await BackupWorker(settings, lambda: datetime.now(UTC)).work()

    assert read_backup_state(settings.data) is None


async def test_deletions_are_sent_to_the_destination(settings: Settings) -> None:
    destination = open_destination(settings.backup_to)
    make_backup(settings, destination, Keep())
    worker = BackupWorker(settings, lambda: datetime.now(UTC))
    erasure = Erasure(
        id=1,
        project_id=1,
        persons=(UUID(int=1),),
        distinct_ids=frozenset({"ann"}),
        version=5,
        with_events=True,
        requested_at=datetime.now(UTC),
    )
    ErasureJournal(settings.data).note_persons([erasure])

    await worker.work()

    assert len(kept_erasures(destination)) == 1


async def test_what_a_killed_backup_has_left_is_removed_at_the_start(settings: Settings) -> None:
    left = settings.data / "backup.tmp"
    left.mkdir()

    await BackupWorker(replace(settings, backup_to=""), lambda: NOW).run()

    assert not left.exists()


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"FANION_BACKUP_KEEP": "soon"}, "BACKUP_KEEP: 'soon' is neither a number of backups"),
        ({"FANION_BACKUP_EVERY_S": "0"}, "BACKUP_EVERY_S must be greater than 0"),
        (
            {
                "FANION_BACKUP_TO": "/mnt/backups",
                "FANION_DATABASE_URL": "postgresql://localhost/fanion",
            },
            "BACKUP_TO needs both stores in the data folder",
        ),
    ],
)
def test_wrong_settings_are_refused(variables: dict[str, str], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        read_settings(variables)
