"""The command `fanion import-posthog`, as an operator runs it while no server of ours runs."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from fanion.accept_log.port import LogEntry
from fanion.accept_log.postgres import open_postgres_log
from fanion.accept_log.sqlite import open_sqlite_log
from fanion.config import Settings
from fanion.ingest.partitioning import cut
from fanion.runtime.data_dir import lock_data_dir
from tests.cli.test_transfer import Fanion, expect_refused, fanion
from tests.support.accept_logs import read_all
from tests.support.foreign_events import YEAR_2024, ForeignEvents, ServerBehaviour, event
from tests.support.scripted_source import ReceivedRequest, Script, ScriptedAnswer, scripted_server

__all__ = ["fanion"]

BYTES = 2**30
ADDRESS = ("--host", "http://127.0.0.1:9")
COUNTING = ServerBehaviour(counts="HogQLQuery")
SOURCE = ("--personal-key", "phx_key", "--project", "1", "--into", "1")
EVENTS = [event(n, YEAR_2024 + timedelta(hours=n)) for n in range(3)]


def source_script(
    events: list[Any], *flags: Any, habits: ServerBehaviour = COUNTING, uncounted: int = 0
) -> Script:
    """Return a source with these flags and events, and no other objects."""
    listed = ForeignEvents(events, habits, uncounted=uncounted)

    def script(asked: ReceivedRequest) -> ScriptedAnswer:
        match asked.path.removeprefix("/api/projects/1/"):
            case "":
                return ScriptedAnswer(200, {"id": 1})
            case "feature_flags/":
                return ScriptedAnswer(200, {"results": flags, "next": None})
            case "cohorts/":
                return ScriptedAnswer(200, {"results": [], "next": None})
            case "event_definitions/" | "events/" | "query/":
                return listed.answer(asked)
        return ScriptedAnswer(403, {"detail": "No."})

    return script


def accepted_entries(records_url: str, folder: Path) -> Sequence[LogEntry]:
    async def read() -> Sequence[LogEntry]:
        if records_url.startswith("sqlite"):
            log: Any = await open_sqlite_log(folder / "accept-log.db", bytes_max=BYTES)
        else:
            log = await open_postgres_log(records_url, bytes_max=BYTES, cut=cut)
        try:
            entries: Sequence[LogEntry] = await read_all(log, historical=True)
            return entries
        finally:
            await log.close()

    return asyncio.run(read())


def event_ids(entries: Sequence[LogEntry]) -> list[str]:
    """Return the ids of the events, in order."""
    items = [item for entry in entries for item in json.decode(entry.envelope.body)]
    return [item["uuid"] for item in items]


@pytest.mark.every_engine
def test_events_wait_in_the_log_for_the_next_server(
    fanion: Fanion, records_url: str, tmp_path: Path
) -> None:
    flag = {"id": 1, "key": "beta", "created_at": "2024-01-01T00:00:00Z"}

    with scripted_server(source_script(EVENTS, flag)) as source:
        done = fanion("import-posthog", "--host", source.url, *SOURCE, "--events")
        again = fanion("import-posthog", "--host", source.url, *SOURCE, "--events", "--json")

    assert (done.exit_code, done.stderr) == (0, "")
    assert "created  flag beta\n" in done.stdout
    assert done.stdout.endswith(
        "3 events were handed in to be ingested in the background.\nThe source counts 3 events.\n"
    )
    assert "skipped  role all: the source responds" in done.stdout
    reported = json.decode(again.stdout)
    assert reported["events"]["events"] == 0
    assert reported["counts"]["flag"]["unchanged"] == 1
    entries = accepted_entries(records_url, tmp_path)
    assert {entry.envelope.client_ip for entry in entries} == {""}
    assert event_ids(entries) == [event["id"] for event in EVENTS]


COMPARED: list[tuple[ServerBehaviour, int, int, str]] = [
    (ServerBehaviour(counts="TrendsQuery"), 0, 0, "The source counts 3 events."),
    (
        ServerBehaviour(counts="HogQLQuery"),
        2,
        1,
        "The source counts 5 events, but 3 were handed in.",
    ),
    (
        ServerBehaviour(),
        0,
        0,
        "The source's own count is not known: the source responds to /api/projects/1/query/ with "
        "400: HogQLQuery is not known.",
    ),
]


@pytest.mark.parametrize(("habits", "uncounted", "exit_code", "said"), COMPARED)
def test_the_number_is_compared_with_the_count_of_the_source(
    fanion: Fanion, habits: ServerBehaviour, uncounted: int, exit_code: int, said: str
) -> None:
    with scripted_server(source_script(EVENTS, habits=habits, uncounted=uncounted)) as source:
        done = fanion("import-posthog", "--host", source.url, *SOURCE, "--events")

    assert (done.exit_code, done.stderr) == (exit_code, "")
    assert done.stdout.endswith(
        f"3 events were handed in to be ingested in the background.\n{said}\n"
    )


def test_a_trial_copies_no_events(fanion: Fanion, records_url: str, tmp_path: Path) -> None:
    with scripted_server(source_script(EVENTS)) as source:
        done = fanion("import-posthog", "--host", source.url, *SOURCE, "--events", "--dry-run")

    assert (done.exit_code, accepted_entries(records_url, tmp_path)) == (0, [])
    assert done.stdout.endswith("This was a dry run: nothing was changed.\n")


def test_only_the_wanted_time_is_copied(fanion: Fanion, records_url: str, tmp_path: Path) -> None:
    between = ("--since", "2024-01-01T01:00:00", "--until", "2024-01-01T03:00:00+01:00")

    with scripted_server(source_script(EVENTS)) as source:
        fanion("import-posthog", "--host", source.url, *SOURCE, "--events", *between)

    assert event_ids(accepted_entries(records_url, tmp_path)) == [EVENTS[1]["id"]]


def test_a_copy_that_ends_early_reports_what_was_done(fanion: Fanion) -> None:
    flag = {"id": 1, "key": "beta", "created_at": "2024-01-01T00:00:00Z"}

    def script(asked: ReceivedRequest) -> ScriptedAnswer | None:
        if asked.path.endswith("/events/"):
            return ScriptedAnswer(401, {"detail": "The key has ended."})
        return source_script([], flag)(asked)

    with scripted_server(script) as source:
        done = fanion("import-posthog", "--host", source.url, *SOURCE, "--events")

    assert done.exit_code == 2
    assert "created  flag beta\n" in done.stdout
    assert done.stderr == (
        "fanion: the source responds to /api/projects/1/events/ with 401: The key has ended. "
        "Run it again to continue from there\n"
    )


REFUSALS: list[tuple[list[str], str]] = [
    (["--host", "posthog"], "'posthog' is not an address such as https://eu.posthog.com"),
    (
        [*ADDRESS, "--since", "2024-01-01"],
        "--since and --until only apply to events: add --events.",
    ),
    (
        [*ADDRESS, "--events", "--since", "soon"],
        "--since: 'soon' is not a time such as 2024-01-31 or 2024-01-31T12:00:00Z.",
    ),
    (
        [*ADDRESS, "--events", "--since", "2024-01-02", "--until", "2024-01-01"],
        "--since must be before --until, and before now.",
    ),
    (
        [*ADDRESS, "--events", "--since", "2999-01-01"],
        "--since must be before --until, and before now.",
    ),
    ([*ADDRESS, "--into", "9"], "There is no project 9; `fanion projects list` shows them."),
    ([*ADDRESS, "--project", "../2"], "'../2' is not a project id"),
]


@pytest.mark.parametrize(("arguments", "said"), REFUSALS)
def test_what_makes_no_sense_is_refused(fanion: Fanion, arguments: list[str], said: str) -> None:
    expect_refused(fanion("import-posthog", *SOURCE, *arguments), said)


@pytest.mark.every_engine
def test_a_file_belongs_to_one_copy_and_a_shared_log_to_all(
    fanion: Fanion, records_url: str, tmp_path: Path
) -> None:
    with scripted_server(source_script(EVENTS)) as source, lock_data_dir(Settings(data=tmp_path)):
        done = fanion("import-posthog", "--host", source.url, *SOURCE, "--events")

    if records_url.startswith("sqlite"):
        assert (done.exit_code, done.stderr) == (
            2,
            f"fanion: another Fanion copies events into {tmp_path}; stop it first, or choose "
            "another folder with --data\n",
        )
    else:
        assert (done.exit_code, len(event_ids(accepted_entries(records_url, tmp_path)))) == (0, 3)
