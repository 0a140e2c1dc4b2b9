"""The command `fanion persons partition`."""

import asyncio
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fanion.cli.app import app
from tests.support.postgres import Postgres
from tests.support.undivided import make_undivided


def partition(url: str, data: Path, *options: str) -> tuple[int, str]:
    environment = {"FANION_DATABASE_URL": url, "FANION_DATA": str(data)}
    done = CliRunner().invoke(app, ["persons", "partition", *options], env=environment)
    return done.exit_code, done.output


@pytest.mark.postgresql
def test_persons_are_divided_once(postgres: Postgres, tmp_path: Path) -> None:
    name = asyncio.run(postgres.create_database())
    url = postgres.url(name)
    asyncio.run(make_undivided(url))

    nothing = partition(url, tmp_path, "--cancel")
    first = partition(url, tmp_path)
    second = partition(url, tmp_path)
    too_late = partition(url, tmp_path, "--cancel")

    asyncio.run(postgres.drop_database(name))
    assert nothing == (0, "There is no copy to delete.\n")
    assert first == (0, "The persons have partitions now.\n")
    assert second == (0, "The persons have partitions already.\n")
    assert too_late == (
        2,
        "fanion: The persons have partitions already, which cannot be undone.\n",
    )


@pytest.mark.postgresql
def test_those_of_a_new_database_are_divided(postgres_url: str, tmp_path: Path) -> None:
    assert partition(postgres_url, tmp_path) == (0, "The persons have partitions already.\n")


def test_persons_in_a_file_have_no_partitions(sqlite_url: str, tmp_path: Path) -> None:
    assert partition(sqlite_url, tmp_path) == (
        2,
        "fanion: Persons have partitions only in PostgreSQL (FANION_DATABASE_URL).\n",
    )
