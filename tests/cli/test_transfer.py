"""The commands `fanion export` and `fanion import`, as an operator runs them."""

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import json
from sqlalchemy import select
from typer.testing import CliRunner, Result

from fanion.cli.app import app
from fanion.db.engine import open_records
from fanion.db.schema.activity import activity_log
from fanion.db.schema.tables import feature_flags, flag_versions
from fanion.projects import admin_store
from fanion.projects.admin_store import Installation
from fanion.runtime.clock import utc_now
from fanion.transfer.document import DOCUMENT_BYTES_MAX
from tests.support.management import quick_hash

Json = dict[str, Any]
Fanion = Callable[..., Result]

HEAD: Json = {"format": "fanion-project", "version": 1}


@pytest.fixture
def fanion(records_url: str, tmp_path: Path) -> Fanion:
    """Return the command line after `fanion setup`, on SQLite and on PostgreSQL."""
    asyncio.run(set_up(records_url))
    environment: dict[str, str | None] = dict.fromkeys(
        name for name in os.environ if name.startswith("FANION_")
    )
    environment |= {"FANION_DATABASE_URL": records_url, "FANION_DATA": str(tmp_path)}
    environment |= {"COLUMNS": "200"}

    def run(*arguments: str, env: Mapping[str, str] | None = None, **settings: Any) -> Result:
        done = CliRunner().invoke(app, arguments, env=environment | dict(env or {}), **settings)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done

    return run


async def set_up(records_url: str) -> None:
    """Set up like the command does, without the work that guessing the password has to cost."""
    installation = Installation(email="admin@fanion.local", first_name="Admin", password="p")
    records = await open_records(records_url)
    try:
        await admin_store.set_up(records, installation, utc_now(), quick_hash)
    finally:
        await records.close()


def write_document(path: Path, **sections: Any) -> str:
    path.write_bytes(json.encode({**HEAD, **sections}))
    return str(path)


def expect_refused(done: Result, text: str) -> None:
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"fanion: {text}\n")


def rows(records_url: str, *columns: Any) -> list[tuple[Any, ...]]:
    async def read() -> list[tuple[Any, ...]]:
        records = await open_records(records_url)
        try:
            return [tuple(row) for row in await records.fetch(select(*columns))]
        finally:
            await records.close()

    return asyncio.run(read())


@pytest.mark.every_engine
def test_a_document_goes_in_and_comes_out(fanion: Fanion, records_url: str, tmp_path: Path) -> None:
    flag = {"key": "beta", "name": "Better", "created_at": "2024-01-01T00:00:00Z"}
    file = write_document(
        tmp_path / "project.json", flags=[flag], cohorts=[{"key": "vip", "name": "vip"}]
    )

    imported = fanion("import", "--project", "1", file)
    again = fanion("import", "--project", "1", file, "--json")
    reported = fanion("export", "--project", "1")
    stored = fanion("export", "--project", "1", "--output", str(tmp_path / "out.json"))
    from_input = fanion("import", "--project", "1", "-", "--json", input=reported.stdout_bytes)

    assert imported.exit_code == 0
    assert [line.split() for line in imported.stdout.splitlines()] == [
        ["created", "updated", "unchanged", "skipped"],
        ["cohort", "1", "0", "0", "0"],
        ["flag", "1", "0", "0", "0"],
        ["created", "cohort", "vip"],
        ["created", "flag", "beta"],
    ]
    assert json.decode(again.stdout) == {
        "dry_run": False,
        "counts": {
            kind: {"created": 0, "updated": 0, "unchanged": 1, "skipped": 0}
            for kind in ("cohort", "flag")
        },
        "outcomes": [
            {"kind": kind, "name": name, "result": "unchanged", "why": "", "count": 1}
            for kind, name in (("cohort", "vip"), ("flag", "beta"))
        ],
    }
    exported = json.decode(reported.stdout)
    assert exported["flags"][0]["filters"] == {
        "groups": [{"properties": [], "rollout_percentage": None}]
    }
    assert (stored.exit_code, stored.stdout) == (0, "")
    assert (tmp_path / "out.json").read_text() == reported.stdout
    assert json.decode(from_input.stdout)["counts"]["flag"]["unchanged"] == 1
    # Servers watch the version of a project's flags.
    [(version,)] = rows(records_url, flag_versions.c.version)
    assert version > 0


def test_a_trial_writes_nothing(fanion: Fanion, records_url: str, tmp_path: Path) -> None:
    file = write_document(tmp_path / "project.json", flags=[{"key": "beta"}])

    done = fanion("import", "--project", "1", file, "--dry-run")

    assert done.stdout.splitlines()[-2:] == [
        "created  flag beta",
        "This was a dry run: nothing was changed.",
    ]
    assert rows(records_url, feature_flags.c.id) == []


REFUSALS: list[tuple[list[str], bytes, str]] = [
    (["1"], b"[", "the document is not JSON: Input data was truncated"),
    (
        ["1"],
        json.encode({**HEAD, "version": 3}),
        "`version` of the document is 3; only 1 is supported",
    ),
    (
        ["1"],
        json.encode({**HEAD, "flags": [{"key": "odd\x1b", "filters": {"groups": 1}}]}),
        "flag odd\ufffd: key: must not have control characters",
    ),
    (
        ["7"],
        json.encode(HEAD),
        "There is no project 7; `fanion projects list` shows them.",
    ),
    (
        ["1", "--email", "who@x"],
        json.encode(HEAD),
        "There is no active user who@x; `fanion users list` shows them.",
    ),
]


@pytest.mark.parametrize(("arguments", "document", "said"), REFUSALS)
def test_what_cannot_be_imported_is_refused_in_one_line(
    fanion: Fanion, arguments: list[str], document: bytes, said: str
) -> None:
    done = fanion("import", "-", "--project", *arguments, input=document)

    expect_refused(done, said)


def test_files_that_cannot_be_used_are_refused(fanion: Fanion, tmp_path: Path) -> None:
    missing, folder = tmp_path / "missing.json", tmp_path / "folder"
    folder.mkdir()
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(DOCUMENT_BYTES_MAX + 1)

    expect_refused(
        fanion("import", "--project", "1", str(huge)),
        f"{huge} is larger than the maximum of {DOCUMENT_BYTES_MAX} bytes",
    )
    expect_refused(
        fanion("import", "--project", "1", str(missing)),
        f"{missing} cannot be read: No such file or directory",
    )
    expect_refused(
        fanion("export", "--project", "1", "--output", str(folder)),
        f"{folder} cannot be written: Is a directory",
    )
    expect_refused(
        fanion("export", "--project", "9"),
        "There is no project 9; `fanion projects list` shows them.",
    )
    assert list(folder.parent.glob(".*.new")) == []


def test_the_activity_names_whom_the_operator_names(
    fanion: Fanion, records_url: str, tmp_path: Path
) -> None:
    file = write_document(tmp_path / "project.json", flags=[{"key": "beta"}])

    done = fanion("import", "--project", "1", file, "--email", "Admin@fanion.local")

    assert done.exit_code == 0, done.stderr
    assert rows(records_url, activity_log.c.activity, activity_log.c.user_id) == [("created", 1)]
