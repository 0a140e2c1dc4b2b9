"""All background loops of a server, each with its role.

`docs/scale-out.md` has the same table, in the same order.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Final

from fanion.app.job_leases import JobLeases
from fanion.config import Role
from fanion.observability.metrics import Metrics
from fanion.runtime.background import BackgroundTask, run_observed


class Runs(Enum):
    EACH = "each"  # concerns only the memory or the requests of this server
    ONE = "one"  # runs only on the server that holds the loop's lease
    CLAIMS = "each, claims its work"  # rows have their own leases, so no work is done twice


@dataclass(frozen=True, slots=True)
class Loop:
    """A background loop, by its name.

    Attributes:
        role: None for loops that every process needs, whatever its roles.
    """

    name: str
    role: Role | None
    runs: Runs
    does: str


LOOPS: Final = (
    Loop("projects", None, Runs.EACH, "ends former keys of projects"),
    Loop("key_use", None, Runs.EACH, "writes which personal keys were used"),
    Loop("changes", None, Runs.EACH, "loads what other servers have changed"),
    Loop("flag_streams", None, Runs.EACH, "keeps streams of flag changes open"),
    Loop("flag_stream_keys", None, Runs.EACH, "ends streams whose key is no longer accepted"),
    Loop("kept_flags", None, Runs.EACH, "copies flags and projects into `kept-flags.db`"),
    Loop("flag_usage", None, Runs.EACH, "writes how often flags were answered"),
    Loop("spool", Role.WEB, Runs.EACH, "sends on what was accepted while PostgreSQL was away"),
    Loop("sessions", Role.API, Runs.EACH, "writes which sessions were used, deletes ended ones"),
    Loop("password_resets", Role.API, Runs.EACH, "answers requests for a new password"),
    Loop("failed_logins", Role.API, Runs.EACH, "writes failed attempts to sign in"),
    Loop("mails", Role.API, Runs.EACH, "sends mails, where a mail server is set"),
    Loop("question_threads", Role.API, Runs.EACH, "leaves cores to requests and ingestion"),
    Loop("copies", Role.API, Runs.EACH, "checks how copies of events can be joined"),
    Loop("property_uses", Role.API, Runs.EACH, "writes which properties questions have used"),
    Loop("query_cancellations", Role.API, Runs.EACH, "ends queries cancelled on other servers"),
    Loop("live_events", Role.API, Runs.EACH, "reads live events that another server stores"),
    Loop("ingestion", Role.INGEST, Runs.CLAIMS, "stores what was accepted"),
    Loop("group_mirror", Role.INGEST, Runs.CLAIMS, "completes the mirror of groups"),
    Loop("event_tables", Role.JOBS, Runs.ONE, "makes the tables of a ClickHouse cluster"),
    Loop("mirror", Role.JOBS, Runs.ONE, "sends the event store changes that were left unsent"),
    Loop("erasures", Role.JOBS, Runs.ONE, "finishes deletions of persons"),
    Loop("project_deletions", Role.JOBS, Runs.ONE, "deletes what deleted projects held"),
    Loop("splits", Role.JOBS, Runs.ONE, "moves events of split persons"),
    Loop("squash", Role.JOBS, Runs.ONE, "writes merged persons into their events"),
    Loop("session_rows", Role.JOBS, Runs.ONE, "calculates a row for each session"),
    Loop("property_columns", Role.JOBS, Runs.ONE, "gives used properties dedicated columns"),
    Loop("waiting_identities", Role.JOBS, Runs.ONE, "sweeps identities without a person"),
    Loop("flag_enrichment", Role.JOBS, Runs.ONE, "finds flags whose feature was used"),
    Loop("ledger", Role.JOBS, Runs.ONE, "sums up the minutes of the ingestion report"),
    Loop("stored_events", Role.JOBS, Runs.ONE, "finds stored events that are gone"),
    Loop("old_events", Role.JOBS, Runs.ONE, "deletes events older than they are to be kept"),
    Loop("old_activity", Role.JOBS, Runs.ONE, "deletes activity older than it is to be kept"),
    Loop("backups", Role.JOBS, Runs.ONE, "makes backups of the data folder"),
    Loop("cohorts", Role.JOBS, Runs.CLAIMS, "calculates and imports cohorts"),
    Loop("scheduled_changes", Role.JOBS, Runs.CLAIMS, "makes scheduled changes of flags"),
    Loop("rollbacks", Role.JOBS, Runs.CLAIMS, "checks the rollback conditions of flags"),
    Loop("guarded_releases", Role.JOBS, Runs.CLAIMS, "tests guardrails"),
    Loop("webhooks", Role.JOBS, Runs.CLAIMS, "delivers webhooks"),
    Loop("dashboards", Role.JOBS, Runs.CLAIMS, "calculates dashboards that are looked at"),
    Loop("alerts", Role.JOBS, Runs.CLAIMS, "checks alerts"),
    Loop("experiments", Role.JOBS, Runs.CLAIMS, "calculates experiments"),
    Loop("batch_exports", Role.JOBS, Runs.CLAIMS, "writes batch exports"),
    Loop("alert_mails", Role.JOBS, Runs.CLAIMS, "sends mails about alerts"),
)
_BY_NAME: Final = {loop.name: loop for loop in LOOPS}


def observed_loops(
    loops: Mapping[str, BackgroundTask], metrics: Metrics
) -> Mapping[str, BackgroundTask]:
    """Return the same loops, which report their runs from the moment when they are started."""

    async def run(name: str) -> None:
        await run_observed(loops[name], metrics.job(name))

    return {name: partial(run, name) for name in loops}


def tasks_of_roles(
    roles: Collection[Role], loops: Mapping[str, BackgroundTask], leases: JobLeases | None = None
) -> list[BackgroundTask]:
    """Return the background tasks of a process with these roles.

    Args:
        loops: By their names in LOOPS.
        leases: None where no other server can share the stores.
    """
    tasks: list[BackgroundTask] = []
    for name, task in loops.items():
        loop = _BY_NAME[name]
        if loop.role is None or loop.role in roles:
            is_shared = loop.runs is Runs.ONE and leases is not None
            tasks.append(partial(leases.run, name, task) if is_shared and leases else task)
    return tasks
