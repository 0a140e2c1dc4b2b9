"""The commands `fanion ingestion` and `fanion dead-letters`, beside a running server."""

import asyncio
import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import update
from typer.testing import CliRunner

from fanion.accept_log.kafka.records import partition_of
from fanion.accept_log.port import Envelope
from fanion.app.accept_logs import open_log
from fanion.cli.app import app
from fanion.config import read_settings
from fanion.db.engine import Records
from fanion.db.schema.tables import dead_letters, log_positions
from fanion.events.storage.store import EventStore
from fanion.ingest.pipeline.position_store import LIVE, consumer_of, lane_backlogs
from tests.support.accept_logs import envelope
from tests.support.application import Json, Tenant, open_app_server, open_tenant
from tests.support.kafka.brokers import Kafka
from tests.support.management import NOW
from tests.support.preloaded import run_fanion
from tests.support.server import free_port

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


@pytest.mark.parametrize(
    ("since", "said"),
    [
        ("2026-05-06", "fanion: FANION_LOG_URL must name the accept log in Kafka.\n"),
        (
            "yesterday",
            "fanion: --from must be a date or a time such as 2026-05-06T07:08:09Z, got "
            "'yesterday'\n",
        ),
    ],
)
async def test_a_replay_that_makes_no_sense_is_refused(
    environment: dict[str, str], since: str, said: str
) -> None:
    result = await asyncio.to_thread(
        CliRunner().invoke, app, ["ingestion", "replay", "--from", since], env=environment
    )

    assert (result.exit_code, result.stderr) == (2, said)


@pytest.mark.postgresql
async def test_a_replay_without_brokers_is_refused(records_url: str, tmp_path: Path) -> None:
    """It waits 5 s for them."""
    environment = {
        "FANION_DATABASE_URL": records_url,
        "FANION_LOG_URL": f"kafka://127.0.0.1:{free_port()}/away",
        "FANION_DATA": str(tmp_path),
    }

    result = await asyncio.to_thread(
        CliRunner().invoke, app, ["ingestion", "replay", "--from", "2026-05-06"], env=environment
    )

    assert result.exit_code == 2
    assert result.stderr.startswith("fanion: Kafka cannot be used: accept log: ")


@pytest.mark.postgresql
async def test_a_replay_begins_with_the_requests_of_a_time(
    kafka: Kafka, records: Records, records_url: str, tmp_path: Path
) -> None:
    environment = {
        "FANION_DATABASE_URL": records_url,
        "FANION_LOG_URL": kafka.url("replayed"),
        "FANION_DATA": str(tmp_path),
    }
    log = await open_log(read_settings(environment), records)
    last = [await log.append(envelope()) for _ in range(2)][-1]
    consumer = consumer_of(log.positions_prefix + LIVE, partition_of(last))
    async with records.write() as connection:
        row = update(log_positions).where(log_positions.c.consumer == consumer)
        await connection.execute(row.values(position=last, claimed=last))
    ingested = [lane.envelopes for lane in await lane_backlogs(records, log)]

    command = CommandLine(environment)
    later = await command("ingestion", "replay", "--from", "2999-01-01")
    left = [lane.envelopes for lane in await lane_backlogs(records, log)]
    printed = await command("ingestion", "replay", "--from", "2020-01-01")
    repeated = [lane.envelopes for lane in await lane_backlogs(records, log)]
    await log.close()

    assert (ingested, left, repeated) == ([0, 0], [0, 0], [0, 2])
    assert later.startswith("0 requests since 2999-01-01")
    assert printed.startswith("2 requests since 2020-01-01")
