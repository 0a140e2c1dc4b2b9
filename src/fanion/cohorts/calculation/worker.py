"""Background worker that calculates cohorts, one after another.

It claims what is due: dynamic cohorts that were changed or are old, and static ones with pending
imports. The event store finds the members in a thread; the difference to the stored members is
written in small transactions and becomes visible in one step. When nothing is due, rows of deleted
cohorts and of finished uploads are removed.

Source: cohorts.md section 11.
"""

import asyncio
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from time import perf_counter
from typing import Any, Never, TypeVar
from uuid import UUID, uuid4

import structlog

from fanion.actions.store import resolve_actions
from fanion.cohorts.calculation.inputs_store import CohortInputs
from fanion.cohorts.calculation.lease_store import CohortClaim, CohortLeaseStore
from fanion.cohorts.calculation.query_plan import PlanContext, compile_plan
from fanion.cohorts.criteria.definition import Criteria, CriteriaError
from fanion.cohorts.criteria.resolve import actions_named, resolve, with_actions_of
from fanion.cohorts.imports.csv_ids import ids_of_rows
from fanion.cohorts.imports.store import LOOKUPS, ImportStore, by_person_id
from fanion.cohorts.members.cleanup_store import CohortRecountStore, CohortTrashStore
from fanion.cohorts.members.store import MEMBERS_MAX, stream_members
from fanion.cohorts.model import CalculationRun, ImportQueryKind, PendingImport, RowCounter
from fanion.cohorts.store import CohortStore
from fanion.cohorts.validation import query_criteria
from fanion.db.engine import RecordsUnavailable
from fanion.db.lease import LeaseLost
from fanion.db.unwritten import UnwrittenPolls
from fanion.events.event import EventRejected, EventStoreUnavailable, StatementFailed
from fanion.events.storage.compiled_query import StatementResult
from fanion.events.storage.store import EventStore
from fanion.projects.cache import Projects
from fanion.runtime.background import backoff_s, run_loop

T = TypeVar("T")

# The interval of the search for changes made on other servers; a local change wakes the worker.
# Longer than that of `db/due_work`: a round without work also looks for rows to delete.
POLL_INTERVAL_S = 5.0
# Polls in a row that are left out: a calculation begins at most 20 s after it is due.
LEFT_OUT_MAX = 3
# A cohort that failed this many times in a row is not calculated until it is changed.
ERRORS_MAX = 20
# Wait after the first failure; doubled with each further one.
BACKOFF_FIRST_S = 60.0
BACKOFF_MAX_S = 24 * 3600.0
# Backoff while a store is down, which is not a failure of the cohort.
OUTAGE_BACKOFF_S = 30.0
# A statement may take minutes, so the lease is renewed this often in its duration.
RENEWALS_A_LEASE = 3

_INTERNAL = "The calculation failed because of a server error; it will be retried."


@dataclass(frozen=True, slots=True)
class FoundMembers:
    """The members that a statement found.

    Attributes:
        uuids: As bytes, ascending.
    """

    uuids: Sequence[bytes]
    rows_read: int


# Finds persons for a project and the text of a query, at most MEMBERS_MAX in a page. Raises
# CriteriaError for a query that cannot be evaluated.
FindPersons = Callable[[int, str], AsyncGenerator[Sequence[UUID]]]
NO_FINDERS: Mapping[ImportQueryKind, FindPersons] = {}
# Runs a statement of a project, with its parameters, on the event store when its turn comes.
AskMembers = Callable[[int, str, Mapping[str, Any]], Awaitable[StatementResult]]


class Calculator:
    """The background worker that calculates cohorts and imports members.

    Args:
        ask: Runs a statement, in turn with other work.
        finders: By kind of import query; `query` is added here.
    """

    def __init__(
        self,
        cohorts: CohortStore,
        work: CohortLeaseStore,
        deleted: CohortTrashStore,
        imports: ImportStore,
        events: EventStore,
        projects: Projects,
        now: Callable[[], datetime],
        every_s: float,
        ask: AskMembers,
        finders: Mapping[ImportQueryKind, FindPersons] = NO_FINDERS,
    ) -> None:
        self._cohorts = cohorts
        self._records = work.records
        self._work = work
        self._deleted = deleted
        self._recounts = CohortRecountStore(work.records)
        self._imports = imports
        self._ask = ask
        self._inputs = CohortInputs(work.records, events)
        self._projects = projects
        self._now = now
        self._every_s = every_s
        self._finders: dict[str, FindPersons] = {"query": self._find_by_query}
        self._finders.update(finders.items())
        self._lease = uuid4().hex
        self._wake = asyncio.Event()
        self._unwritten = UnwrittenPolls(work.records.write_mark, LEFT_OUT_MAX)
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

    def wake(self) -> None:
        """Look for due work at once."""
        self._wake.set()

    async def run(self) -> Never:
        """Calculate what is due, until cancelled."""
        failures = RecordsUnavailable, EventStoreUnavailable
        await run_loop(self.poll, POLL_INTERVAL_S, "cohorts_wait", failures, wake=self._wake)

    async def poll(self) -> bool | None:
        """Do what `work_once` does; some polls are left out while an SQLite store is unwritten."""
        return await self._unwritten.poll(self.work_once)

    async def work_once(self) -> bool:
        """Calculate the cohort that has been due longest, or else delete some rows.

        Static cohorts that have lost members are counted first.

        Returns:
            False when there was nothing to do.

        Raises:
            RecordsUnavailable: The work is postponed until the store is back.
            EventStoreUnavailable: The work is postponed until the store is back.
        """
        await self._recounts.recount()
        now = self._now()
        claim = await self._work.claim_cohort(now, self._lease)
        if claim is None:
            return await self._imports.clear_unowned() or await self._deleted.purge_members(now)
        over = asyncio.Event()
        renewing = asyncio.create_task(self._keep_lease(claim, over))
        try:
            await self._process(claim, now)
        except LeaseLost:
            self._log.warning("cohort_lease_lost", cohort=claim.cohort_id)
        except (RecordsUnavailable, EventStoreUnavailable):
            await self._work.postpone(claim, self._now() + timedelta(seconds=OUTAGE_BACKOFF_S))
            raise
        except asyncio.CancelledError:
            with suppress(RecordsUnavailable):  # an outage must not keep the server from stopping
                await asyncio.shield(self._work.release_lease(claim))
            raise
        finally:
            over.set()
            await renewing
        return True

    async def _process(self, claim: CohortClaim, started: datetime) -> None:
        """Calculate a cohort, and store an error that the cohort causes with it."""
        began = perf_counter()
        imports: list[PendingImport] = []
        rows = RowCounter()

        def run(rows_read: int = 0) -> CalculationRun:
            return CalculationRun(
                started_at=started,
                seconds=round(perf_counter() - began, 3),
                rows_read=rows_read,
                imported=rows.imported_rows() if rows.is_file else None,
            )

        try:
            if claim.criteria.is_static:
                rows_read = await self._import_members(claim, imports, rows)
            else:
                rows_read = await self._calculate(claim, started)
        except (LeaseLost, RecordsUnavailable):
            raise
        except (CriteriaError, EventRejected, StatementFailed) as error:
            # The text of a CriteriaError may contain values of the criteria, which are not logged.
            reason = "criteria" if isinstance(error, CriteriaError) else str(error)
            self._log.warning("cohort_failed", reason=reason, cohort=claim.cohort_id)
            await self._record_failure(claim, _message_of(error), run())
            return
        except EventStoreUnavailable:
            raise
        except Exception as error:
            self._log.error("cohort_failed", exc_info=error, cohort=claim.cohort_id)
            await self._record_failure(claim, _INTERNAL, run())
            return
        succeeded = run(rows_read)
        done, now = [pending.id for pending in imports], self._now()
        again = self._next_due(claim, now, failed=False)
        count = await self._work.publish_version(claim, now, again, succeeded, done)
        for cohort_id in (
            claim.cohort_id,
            *(pending.source_id for pending in imports if pending.source_id),
        ):
            while await self._work.delete_old_rows(cohort_id):
                pass
        figures = {"seconds": succeeded.seconds, "rows_read": rows_read}
        if rows.is_file:
            figures |= {"rows": rows.rows, "matched": rows.matched}
        self._log.info(
            "cohort_calculated",
            cohort=claim.cohort_id,
            members=count,
            started_at=started,
            **figures,
        )

    async def _record_failure(self, claim: CohortClaim, message: str, run: CalculationRun) -> None:
        await self._work.record_failure(
            claim, message, self._next_due(claim, self._now(), failed=True), run
        )

    async def _calculate(self, claim: CohortClaim, now: datetime) -> int:
        members = await self._find_members(claim.criteria, claim.project_id, now)
        await self._replace_members(claim, members.uuids)
        return members.rows_read

    async def _find_members(
        self, criteria: Criteria, project_id: int, now: datetime
    ) -> FoundMembers:
        others = await self._cohorts.load_criteria(project_id) if criteria.nested_ids() else {}
        tree = resolve(criteria, others)
        actions = await resolve_actions(self._records, project_id, actions_named(tree))
        tree = with_actions_of(tree, actions)
        context = PlanContext(project_id, now, await self._projects.zone_of(project_id), uuid4())
        plan = compile_plan(tree, context)
        if plan.inputs:
            await self._inputs.put_members(context.run, project_id, plan.inputs, with_deleted=True)
        answer = await self._ask(project_id, plan.members, plan.parameters)
        return FoundMembers(answer.columns[0] if answer.columns else (), answer.rows_read)

    async def _replace_members(self, claim: CohortClaim, members: Sequence[bytes]) -> None:
        """Write the difference to the stored members, under the next version."""
        diff, removed = MemberDiff(members), list[int]()
        stored = stream_members(self._records, claim.project_id, claim.cohort_id)
        async with aclosing(stored) as batches:
            async for batch in batches:
                removed += diff.walk(batch)
                if len(removed) >= MEMBERS_MAX:
                    await self._change_members(claim, removed[:MEMBERS_MAX], ())
                    removed = removed[MEMBERS_MAX:]
        diff.finish()
        together = MEMBERS_MAX - len(removed)
        if removed or diff.added:
            await self._change_members(claim, removed, diff.added[:together])
        for some in _chunks(diff.added[together:]):
            await self._change_members(claim, (), some)

    async def _change_members(
        self, claim: CohortClaim, removed: Sequence[int], added: Sequence[bytes]
    ) -> None:
        uuids = [UUID(bytes=member) for member in added]
        await self._work.change_members(claim, removed, uuids, self._now())

    async def _import_members(
        self, claim: CohortClaim, imports: list[PendingImport], rows: RowCounter
    ) -> int:
        """Add the members of pending imports; existing members stay.

        Args:
            imports: Pending imports are appended before they are read.
            rows: Counts the rows of files.
        """
        for pending in await self._imports.pending_imports(claim.cohort_id):
            imports.append(pending)
            if pending.source_id is not None:
                await self._copy_members(claim, pending)
            else:
                await self._import_ids(claim, pending, rows)
        return 0

    async def _copy_members(self, claim: CohortClaim, pending: PendingImport) -> None:
        last: int | None = 0
        while last is not None:
            last = await self._work.copy_members(claim, pending, last, self._now())

    async def _import_ids(
        self, claim: CohortClaim, pending: PendingImport, rows: RowCounter
    ) -> None:
        async for some in self._imports.upload_ids(pending.id):
            if find := self._finders.get(pending.kind or ""):
                async for page in find(claim.project_id, some[0]):
                    lookup = by_person_id(claim.project_id, page)
                    await self._work.add_members(claim, lookup, self._now())
            else:
                rows.count_rows(some, await self._add_rows(claim, pending.kind or "", some))

    async def _add_rows(
        self, claim: CohortClaim, kind: str, rows: Sequence[str]
    ) -> Collection[str]:
        """Add the persons of some rows of a file, and return the rows without a person."""
        ids = ids_of_rows(kind, rows)
        unmatched: Collection[str | UUID] = ()
        if ids:
            lookup = LOOKUPS[kind](claim.project_id, list(dict.fromkeys(ids.values())))
            unmatched = await self._work.add_members(claim, lookup, self._now())
        return {row for row in rows if row not in ids or ids[row] in unmatched}

    async def _find_by_query(self, project_id: int, text: str) -> AsyncGenerator[Sequence[UUID]]:
        """Yield the persons who match a query now."""
        members = await self._find_members(query_criteria(text), project_id, self._now())
        for some in _chunks(members.uuids):
            yield [UUID(bytes=member) for member in some]

    def _next_due(self, claim: CohortClaim, now: datetime, *, failed: bool) -> datetime | None:
        """Return when the cohort is due next unless it is changed, or None if it is not."""
        wait_s, is_static = self._every_s, claim.criteria.is_static
        if claim.deleted:
            return None
        if failed:
            if claim.errors_calculating + 1 > ERRORS_MAX:
                return None
            wait_s = backoff_s(claim.errors_calculating + 1, BACKOFF_FIRST_S, BACKOFF_MAX_S)
            wait_s = wait_s if is_static else max(wait_s, self._every_s)
        elif is_static:
            return None
        return now + timedelta(seconds=wait_s)

    async def _keep_lease(self, claim: CohortClaim, over: asyncio.Event) -> None:
        """Renew the lease for as long as the work takes."""
        while True:
            try:
                await asyncio.wait_for(over.wait(), self._work.lease_s / RENEWALS_A_LEASE)
                return
            except TimeoutError:
                pass
            try:
                await self._work.renew_lease(claim, self._now())
            except RecordsUnavailable as error:
                self._log.warning("cohort_lease_not_renewed", reason=str(error))
            except LeaseLost:
                return


@dataclass(slots=True)
class MemberDiff:
    """The difference between the stored and the new members, two sorted lists, found in one pass.

    Attributes:
        members: All members from now on, as UUID bytes, ascending.
        added: Those of `members` that are not stored, as far as the lists were compared.
    """

    members: Sequence[bytes]
    added: list[bytes] = field(default_factory=list)
    _index: int = 0

    def walk(self, held: Iterable[tuple[bytes, int]]) -> list[int]:
        """Compare the next batch of stored members and return the ids of those to be removed.

        Args:
            held: (UUID as bytes, id of the person), ascending over all batches.
        """
        members, index, end = self.members, self._index, len(self.members)
        removed: list[int] = []
        for member, person_id in held:
            while index < end and members[index] < member:
                self.added.append(members[index])
                index += 1
            if index < end and members[index] == member:
                index += 1
            else:
                removed.append(person_id)
        self._index = index
        return removed

    def finish(self) -> None:
        """Count the rest of the new members as added, after the last batch."""
        self.added.extend(self.members[self._index :])
        self._index = len(self.members)


def _message_of(error: CriteriaError | EventRejected | StatementFailed) -> str:
    """Return the error message that is stored with the cohort."""
    if isinstance(error, EventRejected):
        return f"A condition compares a property with a value of another type: {error}"
    if isinstance(error, StatementFailed):
        return f"The event store could not evaluate the criteria: {error}"
    return str(error)


def _chunks(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[start : start + MEMBERS_MAX] for start in range(0, len(items), MEMBERS_MAX))
