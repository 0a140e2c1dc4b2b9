"""The conversion of a project on another server into a document, over its management API."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fanion.transfer.document import ACCOUNT_FILTERS, Document, RoleEntry
from fanion.transfer.importing.validation import normalised, without_faults
from fanion.transfer.posthog.client import Source, SourceError, SourceStatusError
from fanion.transfer.posthog.experiment_schemas import (
    PosthogExperiment,
    PosthogHoldout,
    PosthogSavedMetric,
    stored_experiment,
    stored_holdout,
    stored_saved_metric,
)
from fanion.transfer.posthog.schemas import (
    PosthogAccess,
    PosthogAction,
    PosthogCohort,
    PosthogDashboard,
    PosthogEventDefinition,
    PosthogFlag,
    PosthogGroupType,
    PosthogInsight,
    PosthogMember,
    PosthogPropertyDefinition,
    PosthogRole,
    event_definition,
    group_types,
    property_definition,
    read_each,
    role_entry,
    stored_action,
    stored_cohort,
    stored_dashboard,
    stored_flag,
    stored_insight,
    stored_tiles,
)
from fanion.transfer.report import Report
from fanion.transfer.snapshot import (
    SnapshotAction,
    SnapshotCohort,
    SnapshotExperiment,
    SnapshotFlag,
    SnapshotHoldout,
    SnapshotSavedMetric,
    Stored,
    document_of,
    unknown_cohorts,
)

# Statuses of parts that the key may not read, or that a version or licence does not have.
_NOT_AVAILABLE = (402, 403, 404)


def _ignored() -> None:
    pass


async def read_source(
    source: Source, report: Report, on_read: Callable[[], None] = _ignored
) -> Document:
    """Read a project of another server into a document.

    Args:
        report: Receives what is left out, with the reason.
        on_read: Called for each object that was read, to show progress.

    Raises:
        SourceError: The project, its flags or its cohorts cannot be read.
    """
    return await _SourceReader(source, report, on_read).document()


def _account_filters(project: Any) -> list[dict[str, Any]]:
    filters = project.get(ACCOUNT_FILTERS) if isinstance(project, dict) else None
    if not isinstance(filters, list):
        return []
    return [condition for condition in filters if isinstance(condition, dict)]


@dataclass
class _SourceReader:
    source: Source
    report: Report
    on_read: Callable[[], None]
    stored: Stored = field(default_factory=Stored)

    async def document(self) -> Document:
        project = await self.source.get(self.source.project_path("/"))
        flags = await self._flags()
        self.stored = Stored(
            group_types=await self._group_types(),
            event_definitions=await self._event_definitions(),
            property_definitions=await self._property_definitions(),
            cohorts=await self._cohorts(),
            actions=await self._actions(),
            insights=await self._insights(),
            roles=await self._roles(project),
            holdouts=await self._holdouts(),
            saved_metrics=await self._saved_metrics(),
            experiments=await self._experiments(),
            usage_dashboards={flag.usage_dashboard for flag in flags if flag.usage_dashboard},
            test_account_filters=_account_filters(project),
        )
        self.stored = replace(self.stored, flags=[await self._with_roles(flag) for flag in flags])
        await self._read_dashboards()
        await self._read_deleted_cohorts()
        await self._read_members()
        return without_faults(normalised(document_of(self.stored)), self.report)

    async def _flags(self) -> list[PosthogFlag]:
        rows = await self._required("/feature_flags/")
        flags = read_each(PosthogFlag, "flag", rows, self.report)
        return [flag for flag in flags if not flag.deleted]

    async def _cohorts(self) -> list[SnapshotCohort]:
        """Return the cohorts, oldest first; the source lists the newest first."""
        rows = await self._required("/cohorts/")
        cohorts = read_each(PosthogCohort, "cohort", rows, self.report)
        return sorted(map(stored_cohort, cohorts), key=lambda cohort: cohort.id)

    async def _group_types(self) -> Mapping[str, int]:
        rows = await self._project_list("/groups_types/", is_paged=False)
        return group_types(read_each(PosthogGroupType, "group type", rows, self.report))

    async def _event_definitions(self) -> Any:
        rows = await self._project_list("/event_definitions/")
        definitions = read_each(PosthogEventDefinition, "event definition", rows, self.report)
        return [event_definition(definition) for definition in definitions]

    async def _property_definitions(self) -> Any:
        rows = await self._project_list("/property_definitions/")
        definitions = read_each(PosthogPropertyDefinition, "property definition", rows, self.report)
        return [property_definition(definition) for definition in definitions]

    async def _actions(self) -> list[SnapshotAction]:
        rows = await self._project_list("/actions/")
        actions = read_each(PosthogAction, "action", rows, self.report)
        return [stored_action(action) for action in actions if not action.deleted]

    async def _insights(self) -> Any:
        rows = await self._project_list("/insights/")
        insights = []
        for insight in read_each(PosthogInsight, "insight", rows, self.report):
            if not insight.deleted:
                insights.append(stored_insight(insight))
        return insights

    async def _holdouts(self) -> list[SnapshotHoldout]:
        rows = await self._project_list("/experiment_holdouts/")
        holdouts = read_each(PosthogHoldout, "holdout", rows, self.report)
        return sorted(map(stored_holdout, holdouts), key=lambda holdout: holdout.id)

    async def _saved_metrics(self) -> list[SnapshotSavedMetric]:
        rows = await self._project_list("/experiment_saved_metrics/")
        metrics = read_each(PosthogSavedMetric, "saved metric", rows, self.report)
        return sorted(map(stored_saved_metric, metrics), key=lambda metric: metric.id)

    async def _experiments(self) -> list[SnapshotExperiment]:
        """Return the experiments, oldest first; the source lists the newest first."""
        rows = await self._project_list("/experiments/")
        experiments = read_each(PosthogExperiment, "experiment", rows, self.report)
        live = [experiment for experiment in experiments if not experiment.deleted]
        return sorted(map(stored_experiment, live), key=lambda experiment: experiment.id)

    async def _read_dashboards(self) -> None:
        """Read each dashboard by itself, because lists do not contain the tiles."""
        rows = await self._project_list("/dashboards/")
        listed = read_each(PosthogDashboard, "dashboard", rows, self.report)
        bodies: list[PosthogDashboard] = []
        for dashboard in listed:
            if dashboard.deleted:
                continue
            body = await self._read_object(self.source.project_path(f"/dashboards/{dashboard.id}/"))
            present = [] if body is None else [body]
            bodies += read_each(PosthogDashboard, "dashboard", present, self.report)
        bodies.sort(key=lambda dashboard: dashboard.id)
        self.stored = replace(
            self.stored,
            dashboards=[stored_dashboard(dashboard) for dashboard in bodies],
            tiles=[tile for dashboard in bodies for tile in stored_tiles(dashboard)],
        )
        for dashboard in bodies:
            others = sum(not tile.is_supported for tile in dashboard.tiles or [])
            name = dashboard.name or str(dashboard.id)
            self.report.skipped("tile", name, "only insights and texts are supported", others)

    async def _roles(self, project: Any) -> list[RoleEntry]:
        organization = project.get("organization") if isinstance(project, dict) else None
        path = f"/api/organizations/{organization or '@current'}/roles/"
        rows = await self._optional("role", path)
        return [role_entry(role) for role in read_each(PosthogRole, "role", rows, self.report)]

    async def _with_roles(self, flag: PosthogFlag) -> SnapshotFlag:
        """Return the flag with its roles, by one request for each flag if there are roles."""
        if not self.stored.roles:
            return stored_flag(flag)
        path = self.source.project_path(f"/feature_flags/{flag.id}/role_access/")
        rows = await self._optional("role access", path)
        given = read_each(PosthogAccess, "role access", rows, self.report)
        return stored_flag(flag, (access.role.name for access in given))

    async def _read_deleted_cohorts(self) -> None:
        """Read deleted cohorts that conditions refer to: not listed, but still readable by id."""
        requested: set[int] = set()
        while waiting := unknown_cohorts(self.stored) - requested:
            requested |= waiting
            paths = [
                self.source.project_path(f"/cohorts/{cohort_id}/") for cohort_id in sorted(waiting)
            ]
            bodies = [body for path in paths if (body := await self._read_object(path)) is not None]
            cohorts = read_each(PosthogCohort, "cohort", bodies, self.report)
            known = [*self.stored.cohorts, *map(stored_cohort, cohorts)]
            self.stored = replace(self.stored, cohorts=sorted(known, key=lambda cohort: cohort.id))

    async def _read_members(self) -> None:
        members: dict[int, Sequence[Sequence[str]]] = {}
        for cohort in self.stored.cohorts:
            if cohort.is_static and not cohort.deleted:
                rows = await self._project_list(f"/cohorts/{cohort.id}/persons/")
                member_bodies = read_each(PosthogMember, "cohort member", rows, self.report)
                members[cohort.id] = [
                    member.distinct_ids for member in member_bodies if member.distinct_ids
                ]
        self.stored = replace(self.stored, members=members)

    async def _required(self, path: str) -> list[Any]:
        return await self._read_list(path.strip("/"), self.source.project_path(path))

    async def _project_list(self, path: str, *, is_paged: bool = True) -> list[Any]:
        full_path = self.source.project_path(path)
        return await self._optional(path.strip("/"), full_path, is_paged=is_paged)

    async def _optional(self, what: str, path: str, *, is_paged: bool = True) -> list[Any]:
        """Return all rows, or report as skipped that the source does not have them."""
        try:
            return await self._read_list(what, path, is_paged=is_paged)
        except SourceStatusError as error:
            if error.status not in _NOT_AVAILABLE:
                raise
            self.report.skipped(what, "all", str(error))
            return []

    async def _read_list(self, what: str, path: str, *, is_paged: bool = True) -> list[Any]:
        """Return all rows, and report those that the source counts but does not list."""
        rows: list[Any] = []
        counted = 0
        async for page in self.source.list_pages(path, is_paged=is_paged):
            rows += page.rows
            counted = page.count or 0
            for _ in page.rows:
                self.on_read()
        if counted > len(rows):
            why = f"the source counts {counted} and lists {len(rows)}"
            self.report.skipped(what, "not listed", why, counted - len(rows))
        return rows

    async def _read_object(self, path: str) -> Any:
        """Return an object, or None if it no longer exists."""
        self.on_read()
        try:
            return await self.source.get(path)
        except SourceStatusError as error:
            if error.status != 404:
                raise SourceError(str(error)) from None
            return None
