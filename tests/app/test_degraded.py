"""The answers to flags while the records store is down: they come early, and know locations."""

import io
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import httpx

from fanion.app.services import AppContext, open_offline_flags
from fanion.app.startup.degraded import degraded_application
from fanion.config import read_settings
from fanion.flags.engine.definition import FlagDefinitions, FlagRow
from fanion.observability.logging import LineWriter
from fanion.observability.metrics import Metrics
from fanion.projects.model import Project
from tests.support.exchange import MemoryTransport
from tests.support.maxmind import write_maxmind
from tests.support.server import free_port

NOW = datetime(2024, 3, 1, tzinfo=UTC)
PROJECT = Project(7, UUID(int=1), UUID(int=2), "Home", "phc_home", "UTC", NOW)
BRITISH = {"key": "$geoip_country_code", "type": "person", "value": "GB"}

# Each takes 0.1 to 0.5 s to import, and none is needed for capture and flags.
LATER = {
    "alembic",
    "chdb",
    "clickhouse_connect",
    "fanion.cli.app",
    "fanion.app.parts.management",
    "fanion.app.server",
    "httpx",
    "litestar",
    "numpy",
}
# Only a store in PostgreSQL needs them.
POSTGRESQL = {"asyncpg", "fanion.accept_log.postgres", "sqlalchemy.dialects.postgresql"}
# The records store has time to answer while these are imported.
MEANWHILE = {
    "fanion.app.application",
    "fanion.app.services",
    "fanion.app.startup.stages",
}
# What libraries would load for features that Fanion does not use.
UNUSED = {"click", "pydantic", "pygments", "rich", "sqlalchemy.orm", "typer"}
WRITERS = [
    "fanion",
    "fanion.accept_log",
    "fanion.accept_log.port",
    "fanion.accept_log.sqlite_file",
    "fanion.accept_log.writer_main",
    "fanion.errors",
    "fanion.partial_imports",
    "fanion.processes",
    "fanion.processes.channel",
]
LOADED = """
import sys
import fanion.__main__
sys.argv = ["fanion", "serve", "--help"]
try:
    fanion.__main__.main()
except SystemExit:
    print(*sys.modules, sep="\\n", file=sys.stderr)
"""
REFUSED = """
import sys
import fanion.__main__
sys.argv = ["fanion", "serve", "--role", "nothing", "--port=80"]
try:
    fanion.__main__.main()
except SystemExit:
    print(*sys.modules, sep="\\n", file=sys.stderr)
"""
THE_STAGES_TOO = """
import sys
import fanion.cli.serve.server, fanion.app.startup.stages
print(*sys.modules, sep="\\n", file=sys.stderr)
"""


def modules_loaded_by(program: str, **environment: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(done.stderr.split())


def test_the_records_store_is_asked_before_the_rest_is_loaded() -> None:
    loaded = modules_loaded_by(LOADED)

    assert "fanion.db.engine" in loaded
    assert sorted(loaded & (LATER | MEANWHILE)) == []


def test_serving_begins_without_what_capture_and_flags_do_not_need() -> None:
    loaded = modules_loaded_by(THE_STAGES_TOO)

    assert loaded >= MEANWHILE
    assert sorted(loaded & (LATER | POSTGRESQL)) == []


def test_a_web_worker_loads_no_more_than_capture_and_flags_need() -> None:
    loaded = modules_loaded_by(
        "import sys\nimport fanion.app.web_worker\nprint(*sys.modules, file=sys.stderr)"
    )

    assert sorted(loaded & (LATER | POSTGRESQL | UNUSED)) == []


def test_a_server_reads_its_options_without_the_library_of_the_command_line() -> None:
    loaded = modules_loaded_by(REFUSED)

    assert {"fanion.cli.serve.server", "fanion.config"} <= loaded
    assert sorted(loaded & UNUSED) == []


def test_a_whole_server_loads_no_parts_of_libraries_that_nothing_uses() -> None:
    loaded = modules_loaded_by(
        "import sys\nimport fanion.app.parts.management\nprint(*sys.modules, file=sys.stderr)"
    )

    assert {"structlog", "httpx", "sqlalchemy.ext.asyncio"} <= loaded
    assert sorted(loaded & UNUSED) == []


def test_the_engine_loads_no_data_frames_where_they_are_installed(tmp_path: Path) -> None:
    (tmp_path / "pyarrow.py").touch()

    loaded = modules_loaded_by(
        "import sys, fanion, chdb\nprint(*sys.modules, file=sys.stderr)", PYTHONPATH=str(tmp_path)
    )

    assert "chdb.state.sqlitelike" in loaded
    assert "pyarrow" not in loaded


def test_what_was_left_out_can_be_loaded_later() -> None:
    loaded = modules_loaded_by(
        "import sys\n"
        "import fanion.db.engine, structlog, rich.table, sqlalchemy.ext.asyncio.session as of_orm\n"
        "assert of_orm.AsyncSession.__module__ == of_orm.__name__\n"
        "print(*sys.modules, file=sys.stderr)"
    )

    assert {"rich", "sqlalchemy.orm"} <= loaded


def test_ingestion_loads_numpy_with_the_first_ids() -> None:
    loaded = modules_loaded_by(
        "import sys\nimport fanion.app.parts.ingestion\nprint(*sys.modules, file=sys.stderr)"
    )

    assert sorted(loaded & {"numpy", "fanion.ingest.pipeline.bloom_filter"}) == []


def test_the_management_api_loads_no_models_of_libraries_that_it_does_not_use() -> None:
    loaded = modules_loaded_by(
        "import sys\nimport fanion.app.parts.management\n"
        "from fanion.web.management import ManagementApplication\n"
        "ManagementApplication()\nprint(*sys.modules, file=sys.stderr)"
    )

    assert "litestar" in loaded
    assert sorted(loaded & {"pydantic", "pydantic_core"}) == []


def test_the_writer_of_the_accept_log_loads_next_to_nothing() -> None:
    loaded = modules_loaded_by(
        "import sys\nimport fanion.accept_log.writer_main\nprint(*sys.modules, file=sys.stderr)"
    )

    assert sorted(name for name in loaded if name.startswith("fanion")) == WRITERS
    assert sorted(loaded & {"asyncio", "sqlalchemy", "structlog"}) == []


async def test_stored_flags_are_decided_by_place(tmp_path: Path) -> None:
    database = write_maxmind(
        tmp_path / "places.mmdb", {"81.2.69.0/24": {"country": {"iso_code": "GB"}}}
    )
    nowhere = f"postgresql://fanion@127.0.0.1:{free_port()}/gone"
    options = {
        "data": tmp_path,
        "database_url": nowhere,
        "geoip_db": str(database),
        "trusted_proxies": "127.0.0.1",
    }
    settings, writer = read_settings({}, options), LineWriter(io.BytesIO())
    stored = open_offline_flags(settings)
    flag = FlagRow(1, "british", {"groups": [{"properties": [BRITISH]}]})
    stored.put_definitions(PROJECT.id, FlagDefinitions([flag], version=1))
    await stored.write_queued(project)

    context = AppContext(settings, Metrics(), writer, lambda: NOW)
    async with degraded_application(context) as application:
        transport = MemoryTransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://home") as client:
            answers = [await decide_flags(client, each) for each in ("81.2.69.142", "81.2.70.1")]
            page = await client.get("/", headers={"accept": "text/html"})
    writer.close()

    assert page.status_code == 200
    assert "Not ready:</strong> records store cannot be reached." in page.text
    # Only the store could know more about an unknown location, and it does not answer.
    assert answers == [
        {"featureFlags": {"british": True}, "errorsWhileComputingFlags": False},
        {"featureFlags": {}, "errorsWhileComputingFlags": True},
    ]


async def decide_flags(client: httpx.AsyncClient, address: str) -> dict[str, object]:
    body = {"api_key": PROJECT.api_token, "distinct_id": "u"}
    headers = {"x-forwarded-for": address}
    answer = (await client.post("/decide?v=3", json=body, headers=headers)).json()
    return {name: answer[name] for name in ("featureFlags", "errorsWhileComputingFlags")}


async def project(project_id: int) -> Project | None:
    return PROJECT if project_id == PROJECT.id else None
