"""The server beyond capture and flags: ingestion, questions about events, automation and sign-in.

It is loaded while capture and flags are already served, and each part only where a role needs it.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING

from fanion.app.application import (
    Readiness,
    build_application,
    log_check,
    measure_lag,
    records_check,
    spool_checks,
)
from fanion.app.job_leases import JobLeases
from fanion.app.loops import observed_loops, tasks_of_roles
from fanion.app.services import Services
from fanion.config import Role
from fanion.events.event import EventStoreUnavailable
from fanion.events.storage.store import EventStore
from fanion.runtime.background import BackgroundTask
from fanion.web.application import Application
from fanion.web.probes import OK, Check, CheckResult, State, in_time

if TYPE_CHECKING:
    from fanion.app.parts.accounts import AccountServices
    from fanion.app.parts.automation import Automation
    from fanion.app.parts.ingestion import Ingestion
    from fanion.app.parts.live import LiveServices
    from fanion.app.parts.questions import Questions
    from fanion.flags.preview.change_client import ChangePreviews


class Server:
    """A server whose parts are built on first use."""

    def __init__(self, public: Services, events: EventStore) -> None:
        self.public = public
        self.events = events
        self.roles = public.context.settings.roles
        self._closing: list[Callable[[], Awaitable[None]]] = []
        events.observe(public.context.store_observer("events"))

    @cached_property
    def ingestion(self) -> "Ingestion":
        from fanion.app.parts.ingestion import build_ingestion

        live = self.live.events if Role.API in self.roles else None
        built = build_ingestion(self.public, self.events, live)
        self._closing.append(built.close)
        return built

    @cached_property
    def questions(self) -> "Questions":
        from fanion.app.parts.questions import build_questions

        built = build_questions(self.public, self.events)
        self._closing.append(built.close)
        return built

    @cached_property
    def automation(self) -> "Automation":
        from fanion.app.parts.automation import build_automation

        return build_automation(self.public, self.events, self.questions.behind)

    @cached_property
    def live(self) -> "LiveServices":
        from fanion.app.parts.live import build_live

        return build_live(self.public, self.events)

    @cached_property
    def accounts(self) -> "AccountServices":
        from fanion.app.parts.accounts import build_accounts

        return build_accounts(self.public)

    @cached_property
    def flag_changes(self) -> "ChangePreviews":
        from fanion.flags.preview.change_client import ChangePreviews

        built = ChangePreviews(self.public.context.settings.records_url)
        self._closing.append(built.close)
        return built

    @property
    def loops(self) -> Mapping[str, BackgroundTask]:
        """The loops of the parts that this server's roles need, by their names in `loops.LOOPS`."""
        loops: dict[str, BackgroundTask] = {}
        if Role.API in self.roles:
            loops |= self.accounts.loops
            loops |= self.live.loops(self.ingestion.ingests_all)
        if self.roles & {Role.API, Role.JOBS}:
            loops |= self.questions.loops
        if self.roles & {Role.INGEST, Role.JOBS}:
            loops |= self.ingestion.loops
        if Role.JOBS in self.roles:
            loops |= self.automation.loops
        return loops

    @property
    def background(self) -> list[BackgroundTask]:
        """The tasks to run while the server serves, beside those of `public`."""
        records = self.public.records
        leases = None if records.dialect == "sqlite" else JobLeases(records)
        loops = observed_loops(self.loops, self.public.context.metrics)
        return tasks_of_roles(self.roles, loops, leases)

    async def close(self) -> None:
        """End the processes that work for this server."""
        for close in self._closing:
            await close()


def server_application(server: Server) -> Application:
    """Build the application that answers everything the server's roles serve."""
    public = server.public
    management = None
    if Role.API in server.roles:
        from fanion.app.parts.management import build_management

        management = build_management(server)
    return build_application(
        public.context,
        public.flags,
        public.capture,
        Readiness.SERVING,
        _store_checks(server),
        partial(measure_lag, public),
        management,
    )


def _store_checks(server: Server) -> Mapping[str, Check]:
    async def check_events() -> CheckResult:
        try:
            await in_time(server.events.ping())
        except (EventStoreUnavailable, TimeoutError) as error:
            # Capture and flags do not need it, and no other server can reach it either.
            return CheckResult(State.UNREACHABLE, str(error), is_needed=False)
        return OK

    public = server.public
    checks: dict[str, Check] = {"records": records_check(public), "events": check_events}
    if server.roles & {Role.WEB, Role.INGEST}:
        checks["accept_log"] = log_check(public)
    return {**checks, **spool_checks(public.spool, public.context.now)}
