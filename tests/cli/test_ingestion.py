"""The commands `fanion ingestion` and `fanion dead-letters`, beside a running server."""

import asyncio
import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import update
from typer.testing import CliRunner

from fanion.accept_log.port import Envelope
from fanion.cli.app import app
from fanion.db.schema.tables import dead_letters
from fanion.events.storage.store import EventStore
from tests.support.application import Json, Tenant, open_app_server, open_tenant
from tests.support.management import NOW
from tests.support.preloaded import run_fanion

UNREADABLE = b'[{"event": "paid", "distinct_id": "u1"}, \x1b[31m'
READABLE = b'[{"event": "paid", "distinct_id": "u1"}]'
WAIT_S = 60


@dataclass(frozen=True)
class CommandLine:
    """The command line, run in another process as an operator does."""

    environment: dict[str, str]

    async def __call__(self, *arguments: str) -> str:
        done = await asyncio.to_thread(run_fanion, arguments, os.environ | self.environment)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def environment(sqlite_url: str, tmp_path: Path) -> dict[str, str]:
    return {"FANION_DATABASE_URL": sqlite_url, "FANION_DATA": str(tmp_path)}


async def put_aside(tenant: Tenant, count: int) -> None:
    for _ in range(count):
        await tenant.server.log.append(
            Envelope(tenant.project_id, NOW, "192.0.2.1", "curl/8", None, UNREADABLE)
        )
    await tenant.server.ingested()


async def stored_events(tenant: Tenant) -> list[Json]:
    """Return the stored events, once there are any."""
    async with asyncio.timeout(WAIT_S):
        while True:
            if events := await tenant.events():
                return events
            await asyncio.sleep(0.1)


# It takes seconds: each command is a process.
async def test_dead_letters_are_listed_dropped_and_retried_while_the_server_runs(
    sqlite_url: str,
    environment: dict[str, str],
    events: EventStore,
    project_id: int,
    tmp_path: Path,
) -> None:
    command = CommandLine(environment)
    async with (
        open_app_server(sqlite_url, events, tmp_path) as app_server,
        open_tenant(app_server, project_id) as tenant,
    ):
        await put_aside(tenant, 2)
        newest, oldest = json.loads(await command("dead-letters", "list", "--json"))
        returned = await command("dead-letters", "show", str(oldest["id"]))
        dropped = await command("dead-letters", "drop", str(newest["id"]))
        async with app_server.records.write() as connection:
            await connection.execute(update(dead_letters).values(body=READABLE))
        retried = await command("dead-letters", "retry", "--all", "--project", str(project_id))
        ingested = await stored_events(tenant)
        left = await command("dead-letters", "list")
        reported = await command("ingestion", "--json", "--minutes", "100000000")

    assert newest["id"] > oldest["id"]
    assert oldest["error"].startswith("InvalidPayload: ")
    assert '[{"event": "paid", "distinct_id": "u1"}, \ufffd[31m' in returned
    assert (dropped, retried, left) == ("1 dropped.\n", "1 will be retried.\n", "None.\n")
    assert [event["event"] for event in ingested] == ["paid"]
    assert json.loads(reported) == [
        {
            "project": project_id,
            "accepted": 2,
            "stored": 1,
            "duplicates": 0,
            "dropped": 1,
            "dead_lettered": 0,
            "reasons": "discarded 1",
            "changes_not_made": "",
        }
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["drop"], "fanion: Give dead-letter ids, or --all.\n"),
        (["retry", "1", "--all"], "fanion: Give dead-letter ids, or --all.\n"),
        (["drop", "7"], "fanion: 0 dropped; 1 of the ids are not dead letters.\n"),
        (
            ["show", "7"],
            "fanion: There is no dead letter 7; `fanion dead-letters list` shows them.\n",
        ),
    ],
)
async def test_what_makes_no_sense_is_refused(
    environment: dict[str, str], arguments: list[str], said: str
) -> None:
    result = await asyncio.to_thread(
        CliRunner().invoke, app, ["dead-letters", *arguments], env=environment
    )

    assert (result.exit_code, result.stderr) == (2, said)
