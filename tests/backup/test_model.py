"""How long backups are kept, and their ids."""

from datetime import UTC, datetime, timedelta

import pytest

from fanion.backup.model import backup_id, moment_of, outdated
from fanion.config.backups import Keep, read_keep

NOW = datetime(2026, 11, 30, 12, 0, 0, 250_000, tzinfo=UTC)
DAILY = [backup_id(NOW - timedelta(days=days)) for days in range(5, -1, -1)]


@pytest.mark.parametrize(
    ("text", "keep"),
    [
        ("", Keep()),
        ("1", Keep(number=1)),
        ("14", Keep(number=14)),
        ("30d", Keep(age=timedelta(days=30))),
    ],
)
def test_what_is_kept_is_a_number_of_backups_or_of_days(text: str, keep: Keep) -> None:
    assert read_keep(text) == keep


@pytest.mark.parametrize(
    "text", ["0", "0d", "-1", "x", "d", "1.5", "30 d", "٣", "9" * 20, "99999d"]
)
def test_what_is_kept_must_be_in_range(text: str) -> None:
    with pytest.raises(ValueError, match="is neither a number of backups, 1 to 10000, nor of days"):
        read_keep(text)


@pytest.mark.parametrize(
    ("keep", "deleted"),
    [
        (Keep(), []),
        (Keep(number=2), DAILY[:4]),
        (Keep(number=9), []),
        (Keep(age=timedelta(days=3)), DAILY[:2]),
        (Keep(age=timedelta(days=30)), []),
    ],
)
def test_older_backups_are_outdated(keep: Keep, deleted: list[str]) -> None:
    assert list(outdated(reversed(DAILY), keep, NOW)) == deleted


def test_the_newest_backup_is_kept_however_old_it_is() -> None:
    later = NOW + timedelta(days=400)

    assert list(outdated(DAILY, Keep(age=timedelta(days=1)), later)) == DAILY[:-1]


def test_an_id_is_the_moment_of_the_backup() -> None:
    assert backup_id(NOW) == "20261130-120000-250"
    assert moment_of("20261130-120000-250") == NOW
