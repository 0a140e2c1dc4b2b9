"""The progress that a terminal displays while a command works; other outputs display nothing."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import json
from typer.testing import Result

from fanion.db.migrate import REVISIONS, migrate
from tests.cli.test_import_posthog import EVENTS, SOURCE, source_script
from tests.cli.test_transfer import Fanion, write_document
from tests.cli.test_transfer import fanion as fanion  # the fixture
from tests.support.scripted_source import scripted_server

# Colours, hiding and showing the cursor, and erasing lines.
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
FLAGS = [{"key": f"flag-{number}"} for number in range(30)]
MEMBERS = [[f"person-{number}"] for number in range(12)]
Work = Callable[[Fanion, Path], Result]


def import_document(fanion: Fanion, folder: Path) -> Result:
    vip = {"key": "vip", "name": "vip", "is_static": True, "members": MEMBERS}
    file = write_document(folder / "project.json", flags=FLAGS, cohorts=[vip])
    return fanion("import", "--project", "1", file)


def export_document(fanion: Fanion, folder: Path) -> Result:
    import_document(fanion, folder)
    return fanion("export", "--project", "1", "--output", str(folder / "out.json"))


def copy_events(fanion: Fanion, folder: Path) -> Result:
    with scripted_server(source_script(EVENTS)) as source:
        return fanion("import-posthog", "--host", source.url, *SOURCE, "--events")


DISPLAYED: dict[str, tuple[Work, list[str]]] = {
    "import": (import_document, ["Importing", "43 objects, "]),
    # Each flag comes with a dashboard, two tiles and two insights.
    "export": (export_document, ["Reading the project", f"{31 + 30 * 5} rows, "]),
    "copy of events": (
        copy_events,
        ["Reading the source", "Importing", "Copying events", f"{len(EVENTS)} events, "],
    ),
}


def lines_of(done: Result) -> list[str]:
    assert done.exit_code == 0, done.output
    return _CONTROL.sub("", done.stderr).replace("\r", "\n").splitlines()


@pytest.mark.parametrize("name", DISPLAYED)
def test_a_terminal_shows_the_progress(
    fanion: Fanion, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    work, texts = DISPLAYED[name]

    lines = lines_of(work(fanion, tmp_path))

    for text in texts:
        assert any(text in line for line in lines), (text, lines)
    # The line of what is complete: how many, how many per second, and no time left.
    assert any(re.search(r"[0-9,]+ \w+, [0-9,]+/s +0:00:00", line) for line in lines), lines


@pytest.mark.parametrize("name", DISPLAYED)
def test_without_a_terminal_no_progress_is_shown(fanion: Fanion, tmp_path: Path, name: str) -> None:
    work, _ = DISPLAYED[name]

    assert lines_of(work(fanion, tmp_path)) == []


def create_store_without_schema(folder: Path) -> str:
    """Create a store to which no migration has been applied, and return its URL."""
    (folder / "records.db").touch()
    return f"sqlite:///{folder}/records.db"


def test_a_migration_reports_each_step(tmp_path: Path) -> None:
    reported: list[tuple[int, int]] = []
    url, missing = create_store_without_schema(tmp_path), len(REVISIONS)

    asyncio.run(migrate(url, lambda *step: reported.append(step)))
    asyncio.run(migrate(url, lambda *step: reported.append(step)))

    assert reported == [(step, missing) for step in range(missing + 1)]


@pytest.mark.parametrize("is_terminal", [True, False])
def test_migrate_shows_its_steps_on_a_terminal(
    fanion: Fanion, tmp_path: Path, is_terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    folder = tmp_path / "old"
    folder.mkdir()
    url = create_store_without_schema(folder)

    done: Any = fanion("migrate", "--data", str(folder), env={"FANION_DATABASE_URL": url})

    assert done.stdout == "The records store is up to date.\n"
    lines = lines_of(done)
    if is_terminal:
        assert any(f"{len(REVISIONS)} migrations, " in line for line in lines), lines
    else:
        assert lines == []


def test_what_is_exported_is_the_same_with_a_bar(
    fanion: Fanion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_document(fanion, tmp_path)
    plain = fanion("export", "--project", "1").stdout
    monkeypatch.setenv("FORCE_COLOR", "1")

    returned = fanion("export", "--project", "1")

    assert returned.stdout == plain
    assert len(json.decode(plain)["flags"]) == len(FLAGS)
