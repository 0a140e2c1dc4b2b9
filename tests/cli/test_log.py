"""The command `fanion log open-partitions`."""

import asyncio
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fanion.cli.app import app
from tests.support.accept_logs import make_single


def open_partitions(url: str, data: Path) -> tuple[int, str]:
    environment = {"FANION_DATABASE_URL": url, "FANION_DATA": str(data)}
    done = CliRunner().invoke(app, ["log", "open-partitions"], env=environment)
    return done.exit_code, done.output


@pytest.mark.postgresql
def test_partitions_are_opened_once(postgres_url: str, tmp_path: Path) -> None:
    asyncio.run(make_single(postgres_url))

    first = open_partitions(postgres_url, tmp_path)
    second = open_partitions(postgres_url, tmp_path)

    assert first == (0, "The accept log has partitions now.\n")
    assert second == (0, "The accept log has partitions already.\n")


def test_a_log_in_a_file_has_no_partitions(sqlite_url: str, tmp_path: Path) -> None:
    code, said = open_partitions(sqlite_url, tmp_path)

    assert code == 2
    assert "only in PostgreSQL" in said
