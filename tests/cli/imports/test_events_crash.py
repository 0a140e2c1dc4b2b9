"""Imports of files into a real server: counts that are compared, and imports that are killed."""

import gzip
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from msgspec import json

from tests.support.preloaded import Forked, PreloadedServer
from tests.support.server import Keys, project_client

pytestmark = pytest.mark.long("starts a real server, and kills imports")

ROWS = 150_000  # so many that an import is still running when it is killed the tenth time
KILLS = 10


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PreloadedServer, Keys]]:
    server = PreloadedServer(tmp_path_factory.mktemp("imports") / "data")
    keys = server.setup()
    with closing(server):
        server.start()
        yield server, keys


def arguments_of(
    served: tuple[PreloadedServer, Keys], file: Path, source: str, personal_key: str | None = None
) -> tuple[str, ...]:
    server, keys = served
    key = personal_key or keys.personal_api_key
    target = ("--host", server.url, "--project", "1", "--personal-key", key, "--json")
    return ("import-events", str(file), "--from", source, *target)


def kill_behind(running: Forked, state: Path, rows: int) -> int:
    """Kill an import when it has recorded more rows, and return how many."""
    while not state.exists() or json.decode(state.read_bytes())["rows"] <= rows:
        assert running.poll() is None, "it was done before it could be killed"
        time.sleep(0.005)
    running.kill()
    running.wait()
    recorded: int = json.decode(state.read_bytes())["rows"]
    return recorded


async def counts(served: tuple[PreloadedServer, Keys], event: str) -> list[Any]:
    query = {
        "kind": "HogQLQuery",
        "query": "select count(), uniqExact(uuid), uniqExact(distinct_id), "
        "sum(toInt(properties.n)) from events where event = {event}",
        "values": {"event": event},
    }
    async with project_client(*served) as http:
        answer = await http.post("/query/", json={"query": query, "refresh": True})
    assert answer.status_code == 200, answer.text
    [row] = answer.json()["results"]
    return list(row)


async def test_an_import_that_is_killed_ten_times_stores_each_event_once(
    served: tuple[PreloadedServer, Keys], tmp_path: Path
) -> None:
    file = tmp_path / "killed.csv"
    with file.open("w") as lines:
        lines.write("event,timestamp,distinct_id,n\n")
        for n in range(ROWS):
            lines.write(f"killed,2024-05-{n % 28 + 1:02}T00:00:00Z,user {n % 1000},{n}\n")
    arguments = arguments_of(served, file, "csv")
    state = tmp_path / "killed.csv.import.json"
    server, _ = served

    rows = 0
    for _ in range(KILLS):
        rows = kill_behind(server.begin(*arguments), state, rows)
    report = json.decode(server.command(*arguments))

    assert rows < ROWS
    assert (report["rows"], report["events"], report["runs"]) == (ROWS, ROWS, KILLS + 1)
    assert report["comparison"]["stored"] == ROWS
    assert report["comparison"]["differences"] == []
    assert await counts(served, "killed") == [ROWS, ROWS, 1000, ROWS * (ROWS - 1) // 2]


async def test_what_is_stored_is_compared_with_what_was_sent(
    served: tuple[PreloadedServer, Keys], tmp_path: Path
) -> None:
    """The key has no other scopes than those that the documentation names."""
    server, _ = served
    scopes = ("project:read", "event:read", "query:read")
    options = [word for scope in scopes for word in ("--scope", scope)]
    key = json.decode(server.command("keys", "create", *options, "--json"))["personal_api_key"]
    rows = [
        f'{{"uuid": "018f3c7e-5f5e-7b3e-9d2e-{n:012}", "event": "kept", "distinct_id": "u",'
        f' "timestamp": "2024-05-01", "properties": {{"n": {n}}}}}'
        for n in range(20)
    ]
    first, more = tmp_path / "a.jsonl.gz", tmp_path / "b.parquet"
    first.write_bytes(gzip.compress("\n".join([*rows[:10], "broken"]).encode()))
    plain = tmp_path / "all.jsonl"
    plain.write_text("\n".join(rows))
    duckdb.sql(f"copy (select * from read_json('{plain}')) to '{more}' (format parquet)")

    broken = server.run(*arguments_of(served, first, "posthog", key))
    again = server.run(*arguments_of(served, more, "posthog", key))

    report = json.decode(broken.stdout)
    assert broken.returncode == 1  # a row was refused
    assert (report["rows"], report["events"], report["comparison"]["stored"]) == (11, 10, 10)
    report = json.decode(again.stdout)
    assert again.returncode == 1  # ten events were stored before, by another import
    assert (report["events"], report["comparison"]["stored"]) == (20, 10)
    difference = {"event": "kept", "sent": 20, "stored": 10}
    assert report["comparison"]["differences"] == [difference]
    assert report["comparison"]["ingested"]["duplicate"] >= 10
    assert await counts(served, "kept") == [20, 20, 1, 190]
