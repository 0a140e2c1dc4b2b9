"""The outcome of the last backup of a data folder, and what is told of it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from fanion.runtime.backup_state import (
    BackupRunning,
    BackupState,
    backup_problem,
    is_backup_running,
    only_backup,
    read_backup_state,
    write_backup_state,
)

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
DAY_S = 86_400.0
SUCCEEDED = BackupState(
    destination="/mnt/backups", started_at=NOW, has_ended=True, succeeded_at=NOW, size=5
)


def problem(folder: Path, state: BackupState, every_s: float | None, hours: float = 0) -> str:
    write_backup_state(folder, state)
    return backup_problem(folder, every_s, NOW + timedelta(hours=hours))


def test_a_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_backup_state(tmp_path, SUCCEEDED)

    assert read_backup_state(tmp_path) == SUCCEEDED


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]"])
def test_a_state_that_cannot_be_read_is_none(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "backup-state.json").write_bytes(content)

    assert read_backup_state(tmp_path) is None


def test_having_no_backup_is_a_problem_if_the_server_makes_them(tmp_path: Path) -> None:
    assert backup_problem(tmp_path, None, NOW) == ""
    assert backup_problem(tmp_path, DAY_S, NOW) == "no backup has been made yet"


def test_a_failure_is_told_until_one_succeeds(tmp_path: Path) -> None:
    failed = replace(SUCCEEDED, error="No space left on device")

    assert problem(tmp_path, failed, None) == (
        "the last backup, begun at 2026-11-30T12:00:00+00:00, failed: No space left on device"
    )
    assert problem(tmp_path, SUCCEEDED, None) == ""


def test_a_backup_that_has_not_ended_runs_or_was_killed(tmp_path: Path) -> None:
    begun = replace(SUCCEEDED, has_ended=False)

    with only_backup(tmp_path):
        assert is_backup_running(tmp_path)
        assert problem(tmp_path, begun, DAY_S) == ""
        with pytest.raises(BackupRunning), only_backup(tmp_path):
            pass

    assert not is_backup_running(tmp_path)
    assert "was killed before it ended" in problem(tmp_path, begun, DAY_S)


def test_a_backup_is_late_after_two_intervals(tmp_path: Path) -> None:
    assert problem(tmp_path, SUCCEEDED, DAY_S, hours=48) == ""
    assert problem(tmp_path, SUCCEEDED, None, hours=1_000) == ""
    assert problem(tmp_path, SUCCEEDED, DAY_S, hours=49) == (
        "the last backup is of 2026-11-30T12:00:00+00:00, and one should be made every 86400 s"
    )
