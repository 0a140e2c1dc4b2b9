"""Every place that reports a version reports this one."""

import re
from pathlib import Path

from typer.testing import CliRunner

import fanion
from fanion.cli.app import app
from tests.support.application import Tenant

PROJECT = Path(__file__).parents[2]


async def test_probe_and_schema_show_the_version_of_the_package(tenant: Tenant) -> None:
    health = await tenant.public.get("/_health")
    schema = await tenant.public.get("/api/schema/")

    assert health.json() == {"status": "ok", "version": fanion.__version__}
    assert schema.json()["info"]["version"] == fanion.__version__


def test_the_command_line_prints_the_version_of_the_package() -> None:
    for arguments in (["--version"], ["version"]):
        assert CliRunner().invoke(app, arguments).stdout == f"{fanion.__version__}\n"


def test_the_version_is_written_in_one_file() -> None:
    written = re.compile(rf"""["']{re.escape(fanion.__version__)}["']""")
    sources = [*PROJECT.glob("src/**/*.py"), PROJECT / "pyproject.toml"]

    holding = [file for file in sources if written.search(file.read_text())]

    assert holding == [PROJECT / "src/fanion/__init__.py"]
