"""A later version of the program and this one on the same store.

The later version is this program with one more migration. One test expands the schema, another
contracts it.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import fanion
from fanion.cli.migrate import UP_TO_DATE
from fanion.db.migrate import NEWEST
from tests.support.awaited import SOON_S
from tests.support.preloaded import PreloadedServer
from tests.support.server import RealServer

pytestmark = pytest.mark.long("starts servers of several versions")

LATER = "9001"
MIGRATION = """
import sqlalchemy as sa
from alembic import op

revision = "{later}"
down_revision = "{newest}"
oldest_program = "{oldest}"


def upgrade() -> None:
    op.add_column("organizations", sa.Column("note", sa.Text(), nullable=True))
"""


def later_program(folder: Path, oldest: str) -> Path:
    """Copy this program, add a migration, and return what to put on PYTHONPATH.

    Args:
        oldest: The oldest schema whose programs may go on using the store.
    """
    copy = folder / "fanion"
    unused = shutil.ignore_patterns("__pycache__", "static")
    shutil.copytree(Path(fanion.__file__).parent, copy, ignore=unused)
    migration = MIGRATION.format(later=LATER, newest=NEWEST, oldest=oldest)
    (copy / f"db/migrations/versions/{LATER}_note.py").write_text(migration)
    return folder


@pytest.fixture
def present(tmp_path: Path) -> Iterator[PreloadedServer]:
    server = PreloadedServer(tmp_path / "data")
    server.setup()
    yield server
    server.close()


def later(present: PreloadedServer, folder: Path, oldest: str) -> RealServer:
    return RealServer(present.data, {"PYTHONPATH": str(later_program(folder, oldest))})


def test_this_version_goes_on_after_a_later_one_has_expanded_the_schema(
    present: PreloadedServer, tmp_path: Path
) -> None:
    program = later(present, tmp_path / "later", NEWEST)
    pending = program.run("migrate", "--check")
    waiting = program.begin("migrate", "--wait", "--timeout-s", str(SOON_S))

    migrated = program.command("migrate")
    has_waited = waiting.wait(SOON_S)
    checked = present.command("migrate", "--check")
    present.start()

    assert (pending.returncode, pending.stderr) == (
        1,
        f"fanion: migrations are pending: {LATER}_note\n",
    )
    assert migrated == checked == f"{UP_TO_DATE}\n"
    assert has_waited == 0
    assert present.stop() == 0
    [line] = [entry for entry in present.log_lines() if entry["event"] == "schema_newer"]
    assert (line["store"], line["schema"], line["known"]) == ("records", LATER, NEWEST)


def test_this_version_is_refused_after_a_later_one_has_contracted_the_schema(
    present: PreloadedServer, tmp_path: Path
) -> None:
    later(present, tmp_path / "later", LATER).command("migrate")

    checked, served = present.run("migrate", "--check"), present.run("serve")

    assert checked.returncode == served.returncode == 2
    [line] = served.stderr.splitlines()
    assert line.startswith(f"fanion: the records have schema {LATER}, for programs of schema")
