"""The places that `fanion move --to` takes, and those that it refuses with a reason."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fanion.cli.app import app

DATABASE, EVENTS = "postgresql://u:secret@db/fanion", "clickhouse://u:secret@ch:8123/fanion"


@pytest.mark.parametrize(
    ("places", "problem"),
    [
        ([EVENTS], "--to: name a PostgreSQL database or a folder for the records too"),
        ([DATABASE, DATABASE], "are of the same kind"),
        ([DATABASE, "folder"], "--to: give PostgreSQL or a folder, not both"),
        (["mysql://db/fanion"], "--to: mysql:// is none of postgresql://, clickhouse:// and a fo"),
        (["postgresql://db:0/x"], "--to: DATABASE_URL cannot be read"),
        (["clickhouse:///x", DATABASE], "--to: EVENTS_URL must name a host"),
        (["."], "--to: these are the stores that the settings name already"),
        (["other"], "--to: the embedded event store cannot be moved to another folder; copy the"),
        ([DATABASE, EVENTS], "there is no data folder"),
    ],
)
def test_a_place_that_cannot_be_used_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, places: list[str], problem: str
) -> None:
    data = tmp_path / "data"
    monkeypatch.chdir(tmp_path)
    options = [part for place in places for part in ("--to", str(data) if place == "." else place)]

    result: Any = CliRunner().invoke(app, ["move", "--data", str(data), *options])

    assert result.exit_code == 2
    assert problem in result.stderr
    assert "secret" not in result.stderr
    assert not data.exists()
