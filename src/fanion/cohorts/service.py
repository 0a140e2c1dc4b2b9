"""The creation and the changes of cohorts, each in one transaction that is published afterwards.

Source: cohorts.md sections 10 to 12, 15 and 17.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Any, Protocol

from sqlalchemy import Connection

from fanion.actions.conditions import no_such_action
from fanion.actions.references import named_actions
from fanion.actions.store import resolve_actions
from fanion.activity.model import Author
from fanion.cohorts.criteria.definition import UNSAVED, Criteria
from fanion.cohorts.imports.store import ImportStore
from fanion.cohorts.model import ImportQuery, MembersImport, StoredCohort
from fanion.cohorts.schemas import ACTOR_PARAMETERS
from fanion.cohorts.store import CohortStore, all_criteria, create_cohort, lock_cohort, write_cohort
from fanion.cohorts.validation import (
    AUDIENCE,
    changed_values,
    changes_audience,
    check_changed,
    check_created,
    check_sources,
    copy_name,
    created_values,
    filters_query_text,
    has_criteria_to_evaluate,
    read_actors_query,
    require_cohorts,
    usable_fields,
)
from fanion.db.engine import Records
from fanion.errors import Invalid, NotFound
from fanion.projects.model import Project
from fanion.runtime.change_bus import ChangeBus, Topic

FLAGS_NAMED_MAX = 20  # in the error that refuses a deletion


class InsightActors(Protocol):
    """A reader of the query for the persons behind a number of an insight.

    It returns the text that is kept until the calculation. Every call raises Invalid for a query
    that cannot be used.
    """

    def pending_query(self, project: Project, sent: Mapping[str, str], now: datetime) -> str:
        """Return the text for the query parameters of a request."""

    def pending_actors_query(
        self, project: Project, query: Mapping[str, Any], now: datetime
    ) -> str:
        """Return the text for an ActorsQuery with a `source`."""


@dataclass(frozen=True, slots=True)
class FlagChecks:
    """Rules about the flags that use a cohort, checked in the transaction that changes the cohort.

    The functions come from the package of flags, which is built on this one.

    Attributes:
        broken: Returns the keys of a project's flags that a cohort makes impossible to evaluate,
            each with the reason.
        require_edit: Raises PermissionDenied if the author may not edit the flags that use the
            cohort.
        using: Returns the keys of a project's active flags that use a cohort.
    """

    broken: Callable[[Connection, int], Mapping[str, str]]
    require_edit: Callable[[Connection, Author, int], None]
    using: Callable[[Connection, int, int], Sequence[str]]


@dataclass(frozen=True, slots=True)
class CohortService:
    """The reading and the changes of the cohorts of a project.

    Attributes:
        wake: Looks for due calculations at once.
    """

    store: CohortStore
    uploads: ImportStore
    insights: InsightActors
    flags: FlagChecks
    bus: ChangeBus
    wake: Callable[[], None]

    @property
    def records(self) -> Records:
        return self.store.records

    async def get_cohort(self, project_id: int, cohort_id: int) -> StoredCohort:
        """Return the cohort, even if it is deleted.

        Raises:
            NotFound: The project has no such cohort.
        """
        cohort = await self.store.get_cohort(project_id, cohort_id)
        if cohort is None:
            raise NotFound
        return cohort

    async def create_cohort(
        self,
        project: Project,
        author: Author,
        sent: Mapping[str, Any],
        parameters: Mapping[str, str],
        file: IO[bytes] | None,
    ) -> StoredCohort:
        """Create a cohort.

        Args:
            sent: Fields of the request; those that were not sent are absent.
            parameters: The query string, which may describe the actors of an insight.
            file: The file of members.

        Raises:
            Invalid: The request is refused.
        """
        sent, with_file = usable_fields(sent), file is not None
        await asyncio.to_thread(check_created, sent, with_file=with_file)
        query = await self._import_query(project, author, sent, parameters, with_file)
        values = created_values(sent, author.now, imports=with_file or query is not None)
        await self._require_nested(project.id, values, query)
        await self._require_actions(project.id, values)
        async with self.uploads.store_upload(project.id, file) as uploaded:
            members = uploaded if query is None else MembersImport(query=query)
            return await self._create(author, values, members)

    async def create_static_cohort(
        self, author: Author, name: str, members: MembersImport, *, is_recorded: bool = True
    ) -> StoredCohort:
        """Create a static cohort whose members are imported in the background."""
        sent = {"name": name, "is_static": True}
        values = created_values(sent, author.now, imports=True)
        return await self._create(author, values, members, is_recorded)

    async def duplicate_cohort(self, author: Author, cohort_id: int) -> StoredCohort:
        """Create a static cohort with the members of the last calculation of a dynamic one.

        Raises:
            NotFound: The project has no such cohort.
            Invalid: The cohort is static.
        """
        original = await self.get_cohort(author.project_id, cohort_id)
        if original.is_static:
            raise Invalid("Cannot duplicate a static cohort as a static cohort.")
        members = MembersImport(source_id=original.id)
        name = copy_name(original.name)
        return await self.create_static_cohort(author, name, members, is_recorded=False)

    async def update_cohort(
        self, author: Author, cohort_id: int, sent: Mapping[str, Any], file: IO[bytes] | None
    ) -> StoredCohort:
        """Change a cohort, and add the members of a file.

        Raises:
            NotFound: The project has no such cohort.
            Invalid: The request is refused, or the change would break flags that use the cohort, or
                delete a cohort that flags use.
            PermissionDenied: The author may not edit the flags that use the cohort.
        """
        fields = usable_fields(sent)
        if fields.pop("query", None):
            raise Invalid("query can only be set when a cohort is created.", attr="query")
        before = await self.get_cohort(author.project_id, cohort_id)
        await asyncio.to_thread(check_changed, fields, before.criteria)
        await self._require_actions(author.project_id, fields)
        async with self.uploads.store_upload(author.project_id, file) as members:
            return await self.change_cohort(author, cohort_id, fields, members)

    async def change_cohort(
        self,
        author: Author,
        cohort_id: int,
        sent: Mapping[str, Any],
        members: MembersImport | None = None,
    ) -> StoredCohort:
        """Change a cohort with fields whose values have been checked."""
        async with self.records.write() as connection:
            changed = await connection.run_sync(self._change, author, cohort_id, sent, members)
        self.notify(author.project_id)
        return changed

    def notify(self, project_id: int) -> None:
        """Tell flags and the calculation that cohorts have changed."""
        self.bus.publish(Topic.FLAGS, project_id)
        self.wake()

    async def _create(
        self,
        author: Author,
        values: Mapping[str, Any],
        members: MembersImport | None,
        is_recorded: bool = True,
    ) -> StoredCohort:
        async with self.records.write() as connection:
            created = await connection.run_sync(create_cohort, author, values, members, is_recorded)
        self.notify(author.project_id)
        return created

    async def _import_query(
        self,
        project: Project,
        author: Author,
        sent: Mapping[str, Any],
        parameters: Mapping[str, str],
        with_file: bool,
    ) -> ImportQuery | None:
        _check_insight_parameters(parameters)
        check_sources(sent, insight=bool(parameters.get("insight")), file=with_file)
        if parameters.get("insight"):
            return ImportQuery(
                "insight", self.insights.pending_query(project, parameters, author.now)
            )
        query = sent.get("query")
        if query is None:
            if with_file or not has_criteria_to_evaluate(sent):
                return None
            return ImportQuery("query", filters_query_text(sent["filters"]))
        if isinstance(query, dict) and query.get("source") and query.get("kind") == "ActorsQuery":
            return ImportQuery(
                "insight", self.insights.pending_actors_query(project, query, author.now)
            )
        return ImportQuery(
            "query", read_actors_query(query, await self.store.load_criteria(project.id))
        )

    async def _require_nested(
        self, project_id: int, values: Mapping[str, Any], query: ImportQuery | None
    ) -> None:
        """Raise Invalid if the criteria of a new cohort refer to cohorts outside the project."""
        criteria = Criteria(UNSAVED, None, values["is_static"], values["filters"], values["groups"])
        is_evaluated = query is not None and query.kind == "query"
        nested = criteria.nested_ids() if is_evaluated or not criteria.is_static else []
        if nested:
            require_cohorts(nested, await self.store.load_criteria(project_id))

    async def _require_actions(self, project_id: int, values: Mapping[str, Any]) -> None:
        """Raise Invalid if new criteria refer to actions outside the project."""
        sent = {name: values.get(name) for name in ("filters", "groups")}
        for name, criteria in sent.items():
            named = list(named_actions(criteria))
            known = await resolve_actions(self.records, project_id, named)
            for action_id in named:
                if action_id not in known:
                    raise no_such_action(action_id, name)

    def _change(
        self,
        connection: Connection,
        author: Author,
        cohort_id: int,
        sent: Mapping[str, Any],
        members: MembersImport | None,
    ) -> StoredCohort:
        project_id, imports = author.project_id, members is not None
        before = lock_cohort(connection, project_id, cohort_id)
        others = all_criteria(connection, project_id)
        values = changed_values(sent, before, others, author.now, imports=imports)
        is_read = bool(values.keys() & AUDIENCE)
        broken = self.flags.broken(connection, project_id) if is_read else {}
        changed = write_cohort(connection, author, before, values, members)
        # The flag version has moved: no other transaction can change the flags until this one ends.
        if changes_audience(values, before, imports=imports):
            self.flags.require_edit(connection, author, cohort_id)
        if values.get("deleted") and not before.deleted:
            _require_unused(self.flags.using(connection, project_id, cohort_id))
        if is_read:
            _require_none_broken(broken, self.flags.broken(connection, project_id))
        return changed


def _check_insight_parameters(parameters: Mapping[str, str]) -> None:
    """Raise Invalid for insight parameters that would be ignored."""
    named = parameters.keys() & ACTOR_PARAMETERS
    if named and not parameters.get("insight"):
        raise Invalid("This field is required.", code="required", attr="insight")


def _require_unused(keys: Sequence[str]) -> None:
    """Raise Invalid if flags use the cohort.

    Source: cohorts.md section 17.
    """
    if keys:
        more = len(keys) - FLAGS_NAMED_MAX
        named = ", ".join(keys[:FLAGS_NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
        raise Invalid(
            f"This cohort is used in {len(keys)} active feature flag(s): {named}. "
            "Please remove the cohort from these feature flags before deleting it."
        )


def _require_none_broken(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Raise Invalid if a change makes flags impossible to evaluate.

    Args:
        before: Reasons by the key of a flag.
        after: The same after the change.
    """
    broken = [f"{key} ({after[key]})" for key in after if key not in before]
    if broken:
        raise Invalid(
            f"This change would break feature flags that use the cohort: {', '.join(broken)}.",
            attr="filters",
        )
