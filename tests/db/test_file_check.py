"""The examination of SQLite files."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fanion.db.file_check import examine_file

PAGE_BYTES = 4096


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file with a table of a few thousand rows and an index."""
    path = tmp_path / "some.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE things (name TEXT)")
        db.execute("CREATE INDEX by_name ON things (name)")
        db.executemany("INSERT INTO things VALUES (?)", [(f"{n:09}",) for n in range(5_000)])
        db.commit()
    return path


def test_a_sound_file_is_compared_with_its_indexes(file: Path) -> None:
    report = examine_file(file)

    assert (report.damage, report.checked) == ("", "file sound, indexes included")


def test_a_row_that_an_index_lacks_is_damage(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        [index] = db.execute("SELECT * FROM sqlite_master WHERE name = 'by_name'").fetchall()
        db.execute("PRAGMA writable_schema = ON")
        db.execute("DELETE FROM sqlite_master WHERE name = 'by_name'")
        db.commit()
    with closing(sqlite3.connect(file)) as db:
        db.execute("INSERT INTO things VALUES ('not in the index')")
        db.execute("PRAGMA writable_schema = ON")
        db.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", index)
        db.commit()

    assert examine_file(file).damage == "row 5001 missing from index by_name"


def test_a_comparison_that_takes_too_long_is_left_and_said(file: Path) -> None:
    report = examine_file(file, compared_s_max=0)

    assert (report.damage, report.checked) == (
        "",
        "file of 0.0 GiB read completely, its indexes only as far as 0 s allow",
    )


def test_a_file_that_does_not_exist_is_not_made(tmp_path: Path) -> None:
    assert examine_file(tmp_path / "none.db").damage == ""
    assert list(tmp_path.iterdir()) == []
