"""The background loops: each is started by one role, as the table of the documentation says."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from fanion.app.job_leases import JobLeases
from fanion.app.loops import LOOPS, Runs, tasks_of_roles
from fanion.config import ALL, Role
from fanion.db.engine import Records
from fanion.events.storage.store import EventStore
from tests.support.application import AppServer, open_app_server
from tests.support.awaited import until_soon

PAGE = Path(__file__).parents[2] / "docs" / "scale-out.md"
HEAD = "| Loop | Role | Runs on | What it does |"
# No mail server is set, and PostgreSQL is not backed up.
NOT_NEEDED = {"mails", "alert_mails", "backups", "event_tables"}


def documented_loops() -> list[tuple[str, ...]]:
    lines = iter(PAGE.read_text().splitlines())
    for line in lines:
        if line == HEAD:
            break
    next(lines)
    rows: list[tuple[str, ...]] = []
    for line in lines:
        if not line.startswith("| "):
            return rows
        rows.append(tuple(cell.strip() for cell in line.strip("|").split(" | ")))
    return rows


def test_the_documentation_lists_every_loop_in_order() -> None:
    listed = [
        (f"`{loop.name}`", f"`{loop.role}`" if loop.role else "every", loop.runs.value, loop.does)
        for loop in LOOPS
    ]

    assert documented_loops() == listed


async def started_loops(records_url: str, events: EventStore, folder: Path, role: str) -> set[str]:
    """Return the names of the loops of a process with this role."""
    async with open_app_server(records_url, events, folder, role=role) as app_server:
        running = app_server.running
        names = {**running.public.loops, **running.loops}
        ingesting = {"ingestion"} if running.ingestion.consumers else set()
        of_role = {loop.name for loop in LOOPS if loop.role is None or loop.role in running.roles}
        return ingesting | (names.keys() & of_role)


@pytest.mark.postgresql
async def test_every_loop_is_started_by_its_role_alone(
    records_url: str, events: EventStore, tmp_path: Path
) -> None:
    for role in (*Role, "all"):
        running = await started_loops(records_url, events, tmp_path / role, role)
        roles = ALL if role == "all" else {role}

        expected = {loop.name for loop in LOOPS if loop.role is None or loop.role in roles}
        assert running == expected - NOT_NEEDED, role


async def test_where_no_other_server_can_be_no_lease_is_asked_for(
    sqlite_app_server: AppServer,
) -> None:
    tasks = [task for task in sqlite_app_server.running.background if isinstance(task, partial)]

    assert len(tasks) > len([loop for loop in LOOPS if loop.runs is Runs.ONE])
    assert not any(isinstance(getattr(task.func, "__self__", None), JobLeases) for task in tasks)


def test_a_loop_of_another_role_is_not_started() -> None:
    async def squash() -> None:
        raise AssertionError

    assert tasks_of_roles({Role.API}, {"squash": squash}) == []
    assert tasks_of_roles({Role.JOBS}, {"squash": squash}) == [squash]


def test_some_loops_run_on_one_server() -> None:
    assert {loop.role for loop in LOOPS if loop.runs is Runs.ONE} == {Role.JOBS}


class Job:
    """A loop that runs until it is cancelled."""

    def __init__(self) -> None:
        self.is_running = False

    async def run(self) -> None:
        self.is_running = True
        try:
            await asyncio.Event().wait()
        finally:
            self.is_running = False


def leases(records: Records, holder: str, lease_s: float = 60.0) -> JobLeases:
    return JobLeases(records, holder, lease_s, renew_s=0.05)


async def runs(job: Job) -> None:
    async def is_running() -> bool:
        return job.is_running

    await until_soon(is_running, "the job does not run")


@pytest.mark.postgresql
async def test_a_job_runs_on_one_server_until_that_stops(records: Records) -> None:
    first, second = Job(), Job()
    here = asyncio.create_task(leases(records, "a").run("squash", first.run))
    await runs(first)
    there = asyncio.create_task(leases(records, "b").run("squash", second.run))
    try:
        assert not await leases(records, "b").claim("squash")
        assert (first.is_running, second.is_running) == (True, False)

        here.cancel()
        await asyncio.gather(here, return_exceptions=True)
        await runs(second)

        assert not first.is_running
    finally:
        there.cancel()
        await asyncio.gather(there, return_exceptions=True)


@pytest.mark.postgresql
async def test_another_job_has_a_lease_of_its_own(records: Records) -> None:
    claimed = [
        await leases(records, "a").claim("squash"),
        await leases(records, "b").claim("ledger"),
    ]

    assert claimed == [True, True]


@pytest.mark.postgresql
async def test_a_server_that_is_gone_loses_its_job(records: Records) -> None:
    assert await leases(records, "gone", lease_s=0.0).claim("squash")

    assert await leases(records, "next").claim("squash")


@pytest.mark.postgresql
async def test_a_job_ends_where_its_lease_was_lost(records: Records) -> None:
    job = Job()
    running = asyncio.create_task(leases(records, "slow", lease_s=0.0).run("squash", job.run))
    try:
        await runs(job)
        assert await leases(records, "next").claim("squash")

        async def has_ended() -> bool:
            return not job.is_running

        await until_soon(has_ended, "the job runs although its lease is lost")
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
