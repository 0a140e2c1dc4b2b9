"""A stored project, and its conversion into a document."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from msgspec import Struct

from fanion.actions.model import PlainAction
from fanion.cohorts.model import PlainCohort
from fanion.experiments.model import PlainExperiment
from fanion.flags.definitions.model import PlainFlag
from fanion.insights.alerts.model import PlainAlert
from fanion.insights.annotations.model import CreationType, Scope
from fanion.insights.dashboards.model import PlainDashboard
from fanion.insights.saved.model import PlainInsight
from fanion.insights.segments.model import PlainSegment
from fanion.rest.validation import shared_fields
from fanion.transfer.document import (
    ActionEntry,
    AlertEntry,
    AnnotationEntry,
    CohortEntry,
    DashboardEntry,
    Document,
    EventDefinitionEntry,
    ExperimentEntry,
    FlagEntry,
    GroupTypeEntry,
    HoldoutEntry,
    InsightEntry,
    MetricLinkEntry,
    PropertyDefinitionEntry,
    RoleEntry,
    SavedMetricEntry,
    SegmentEntry,
    TileEntry,
)
from fanion.transfer.references import Names, replace_ids, replace_ids_in_flag

ANNOTATION_KEY_CHARS = 100  # of the content
# Fields of an experiment whose conditions may name cohorts.
FIELDS_WITH_CONDITIONS = (
    *("metrics", "metrics_secondary", "guardrail_metrics", "exposure_criteria"),
)


class SnapshotFlag(PlainFlag, frozen=True, kw_only=True):
    """A stored flag.

    Attributes:
        roles: Names of the roles that may edit the flag.
    """

    id: int
    analytics_dashboards: Sequence[int]
    created_at: datetime
    roles: Sequence[str] = ()


class SnapshotCohort(PlainCohort, frozen=True, kw_only=True):
    id: int


class SnapshotAction(PlainAction, frozen=True, kw_only=True):
    id: int


class SnapshotSegment(PlainSegment, frozen=True, kw_only=True):
    id: int


class SnapshotInsight(PlainInsight, frozen=True, kw_only=True):
    id: int
    short_id: str
    deleted: bool


@dataclass(frozen=True, slots=True)
class SnapshotTile:
    dashboard_id: int
    insight_id: int | None
    color: str | None
    layouts: Mapping[str, Any]
    text: str | None = None


class SnapshotDashboard(PlainDashboard, frozen=True, kw_only=True):
    id: int


class SnapshotAlert(PlainAlert, frozen=True, kw_only=True):
    id: int
    insight_id: int


class SnapshotAnnotation(Struct, frozen=True, kw_only=True):
    id: int
    content: str
    date_marker: datetime
    creation_type: CreationType
    scope: Scope
    dashboard_item: int | None
    dashboard_id: int | None


class SnapshotHoldout(Struct, frozen=True, kw_only=True):
    id: int
    name: str
    description: str | None
    filters: Sequence[Mapping[str, Any]]


class SnapshotSavedMetric(Struct, frozen=True, kw_only=True):
    id: int
    name: str
    description: str | None
    query: dict[str, Any]
    tags: Sequence[str]


class SnapshotExperiment(PlainExperiment, frozen=True, kw_only=True):
    """A stored experiment.

    Attributes:
        links: The id and the metadata of each saved metric.
    """

    id: int
    holdout_id: int | None
    links: Sequence[tuple[int, dict[str, Any]]] = ()


@dataclass(frozen=True, kw_only=True)
class Stored:
    """The definitions of a project.

    Attributes:
        group_types: Indexes by name.
        cohorts: Including deleted ones, unlike flags, dashboards, actions and segments.
        members: The members of static cohorts, by cohort: the distinct ids of each member.
        insights: Including deleted ones.
        usage_dashboards: Ids of dashboards that flags have created, including deleted flags.
    """

    group_types: Mapping[str, int] = field(default_factory=dict)
    event_definitions: Sequence[EventDefinitionEntry] = ()
    property_definitions: Sequence[PropertyDefinitionEntry] = ()
    cohorts: Sequence[SnapshotCohort] = ()
    members: Mapping[int, Sequence[Sequence[str]]] = field(default_factory=dict)
    actions: Sequence[SnapshotAction] = ()
    segments: Sequence[SnapshotSegment] = ()
    insights: Sequence[SnapshotInsight] = ()
    dashboards: Sequence[SnapshotDashboard] = ()
    tiles: Sequence[SnapshotTile] = ()
    alerts: Sequence[SnapshotAlert] = ()
    annotations: Sequence[SnapshotAnnotation] = ()
    roles: Sequence[RoleEntry] = ()
    flags: Sequence[SnapshotFlag] = ()
    holdouts: Sequence[SnapshotHoldout] = ()
    saved_metrics: Sequence[SnapshotSavedMetric] = ()
    experiments: Sequence[SnapshotExperiment] = ()
    usage_dashboards: Collection[int] = ()
    test_account_filters: Sequence[Mapping[str, Any]] = ()

    @property
    def own_dashboards(self) -> list[SnapshotDashboard]:
        """The dashboards without the usage dashboards of flags."""
        return [
            dashboard for dashboard in self.dashboards if dashboard.id not in self.usage_dashboards
        ]


@dataclass(frozen=True)
class Keys:
    """The keys of cohorts and dashboards in a document, by id."""

    cohorts: Mapping[int, str]
    dashboards: Mapping[int, str]


def keys_of(stored: Stored) -> Keys:
    """Return names as keys, made unique with a number, always in the same way."""
    # Deleted cohorts come last, so that the others keep their names.
    cohorts = sorted(stored.cohorts, key=lambda cohort: (cohort.deleted, cohort.id))
    return Keys(
        unique_keys((cohort.id, cohort.name) for cohort in cohorts),
        unique_keys((dashboard.id, dashboard.name) for dashboard in stored.own_dashboards),
    )


def unique_keys(named_objects: Iterable[tuple[int, str | None]]) -> dict[int, str]:
    keys: dict[int, str] = {}
    taken: set[str] = set()
    numbers: Counter[str] = Counter()
    for object_id, name in named_objects:
        key = base = name or "unnamed"
        while key in taken:
            numbers[base] += 1
            key = f"{base} ({numbers[base] + 1})"
        taken.add(key)
        keys[object_id] = key
    return keys


def names_of(stored: Stored, keys: Keys) -> Names:
    by_id = {str(flag.id): flag.key for flag in stored.flags}
    return Names(
        cohorts=keys.cohorts,
        flags={flag.key: flag.key for flag in stored.flags} | by_id,
        group_types={index: name for name, index in stored.group_types.items()},
        actions={action.id: action.name for action in stored.actions},
        segments={segment.id: segment.name for segment in stored.segments},
    )


def document_of(stored: Stored) -> Document:
    """Return a document of everything that is not deleted, and of deleted cohorts it refers to.

    A deleted cohort counts as empty, here and where the document is imported.
    """
    keys = keys_of(stored)
    names = names_of(stored, keys)
    experiments = experiment_entries(stored, names)
    flags = [flag_entry(flag, names, keys) for flag in stored.flags]
    insights = _insights(stored, names)
    account_filters = replace_ids(list(stored.test_account_filters), names)
    insight_ids = set(insights)
    return Document(
        group_types=[
            GroupTypeEntry(group_type=name, group_type_index=index)
            for name, index in sorted(stored.group_types.items(), key=lambda item: item[1])
        ],
        event_definitions=sorted(stored.event_definitions, key=lambda definition: definition.name),
        property_definitions=sorted(
            stored.property_definitions, key=lambda definition: definition.name
        ),
        actions=[
            ActionEntry(**shared_fields(action, PlainAction))
            for action in sorted(stored.actions, key=lambda action: action.name)
        ],
        cohorts=_cohorts(stored, names),
        segments=[
            segment_entry(segment, names)
            for segment in sorted(stored.segments, key=lambda segment: segment.name)
        ],
        insights=sorted(insights.values(), key=lambda insight: insight.short_id),
        dashboards=[
            dashboard_entry(dashboard, tiles_of(stored, dashboard.id, insight_ids), keys, names)
            for dashboard in stored.own_dashboards
        ],
        alerts=_alerts(stored, insights),
        annotations=_annotations(stored, insights, keys),
        roles=sorted(stored.roles, key=lambda role: role.name.casefold()),
        flags=sorted(flags, key=lambda flag: flag.key),
        experiment_holdouts=list(holdout_entries(stored).values()),
        experiment_saved_metrics=list(saved_metric_entries(stored, names).values()),
        experiments=experiments,
        test_account_filters=account_filters,
    )


def unknown_cohorts(stored: Stored) -> set[int]:
    """Return the ids of cohorts that are referred to and are not in `stored`."""
    names = names_of(stored, keys_of(stored))
    for flag in stored.flags:
        replace_ids_in_flag(flag.filters, names)
        replace_ids(flag.rollback_conditions, names)
    for segment in stored.segments:
        replace_ids(segment.properties, names)
    for insight in stored.insights:
        replace_ids(insight.filters, names)
        replace_ids(insight.query, names)
    for dashboard in stored.own_dashboards:
        replace_ids(dashboard.filters, names)
    replace_ids(list(stored.test_account_filters), names)
    experiment_entries(stored, names)
    for cohort in stored.cohorts:
        replace_ids([cohort.filters, cohort.groups], names)
    return set(names.missing)


def flag_entry(flag: SnapshotFlag, names: Names, keys: Keys) -> FlagEntry:
    dashboards = (keys.dashboards.get(dashboard_id) for dashboard_id in flag.analytics_dashboards)
    conditions = {
        "filters": replace_ids_in_flag(flag.filters, names),
        "rollback_conditions": replace_ids(flag.rollback_conditions, names),
    }
    return FlagEntry(
        **(shared_fields(flag, PlainFlag) | conditions),
        analytics_dashboards=[key for key in dashboards if key is not None],
        created_at=flag.created_at,
        roles=sorted(flag.roles),
    )


def cohort_entry(
    cohort: SnapshotCohort, names: Names, members: Sequence[Sequence[str]] = ()
) -> CohortEntry:
    trees = {name: replace_ids(getattr(cohort, name), names) for name in ("filters", "groups")}
    return CohortEntry(
        key=names.cohorts[cohort.id],
        members=sorted(sorted(ids) for ids in members),
        **(shared_fields(cohort, PlainCohort) | trees),
    )


def segment_entry(segment: SnapshotSegment, names: Names) -> SegmentEntry:
    properties = replace_ids(segment.properties, names)
    return SegmentEntry(**(shared_fields(segment, PlainSegment) | {"properties": properties}))


def insight_entry(insight: SnapshotInsight, names: Names) -> InsightEntry:
    question = {name: replace_ids(getattr(insight, name), names) for name in ("filters", "query")}
    return InsightEntry(
        short_id=insight.short_id, **(shared_fields(insight, PlainInsight) | question)
    )


def dashboard_entry(
    dashboard: SnapshotDashboard, tiles: Sequence[TileEntry], keys: Keys, names: Names
) -> DashboardEntry:
    filters = replace_ids(dashboard.filters, names)
    return DashboardEntry(
        key=keys.dashboards[dashboard.id],
        tiles=list(tiles),
        **(shared_fields(dashboard, PlainDashboard) | {"filters": filters}),
    )


def tiles_of(stored: Stored, dashboard_id: int, insight_ids: set[int]) -> list[TileEntry]:
    """Return the tiles of a dashboard.

    Args:
        insight_ids: Ids of the insights that are exported.
    """
    short_ids = {insight.id: insight.short_id for insight in stored.insights}
    return [
        TileEntry(
            insight=None if tile.insight_id is None else short_ids[tile.insight_id],
            text=tile.text,
            color=tile.color,
            layouts=dict(tile.layouts),
        )
        for tile in stored.tiles
        if tile.dashboard_id == dashboard_id
        and (tile.text is not None or tile.insight_id in insight_ids)
    ]


def _cohorts(stored: Stored, names: Names) -> list[CohortEntry]:
    """Return the cohorts to export.

    These are cohorts that are not deleted, and those that flags, insights or exported cohorts refer
    to.
    """
    by_id = {cohort.id: cohort for cohort in stored.cohorts}
    exported_ids = {cohort.id for cohort in stored.cohorts if not cohort.deleted} | names.named
    entries: dict[int, CohortEntry] = {}
    while waiting := (exported_ids & by_id.keys()) - entries.keys():
        for cohort_id in waiting:
            members = stored.members.get(cohort_id, ())
            entries[cohort_id] = cohort_entry(by_id[cohort_id], names, members)
        exported_ids |= names.named
    return [entries[cohort_id] for cohort_id in sorted(entries)] + [
        missing_cohort(key) for _, key in sorted(names.missing.items())
    ]


def missing_cohort(key: str) -> CohortEntry:
    """Return a deleted cohort instead of one that does not exist: it has no members either."""
    return CohortEntry(key=key, name=key, filters={"properties": {}}, deleted=True)


def holdout_entries(stored: Stored) -> dict[int, HoldoutEntry]:
    """Return the holdouts by id."""
    keys = unique_keys((holdout.id, holdout.name) for holdout in stored.holdouts)
    return {
        holdout.id: HoldoutEntry(
            key=keys[holdout.id],
            name=holdout.name,
            description=holdout.description,
            filters=[
                {name: value for name, value in group.items() if name != "variant"}
                for group in holdout.filters
            ],
        )
        for holdout in stored.holdouts
    }


def saved_metric_entries(stored: Stored, names: Names) -> dict[int, SavedMetricEntry]:
    """Return the saved metrics of experiments by id."""
    keys = unique_keys((metric.id, metric.name) for metric in stored.saved_metrics)
    return {
        metric.id: SavedMetricEntry(
            key=keys[metric.id],
            name=metric.name,
            description=metric.description,
            query=replace_ids(metric.query, names),
            tags=list(metric.tags),
        )
        for metric in stored.saved_metrics
    }


def experiment_entries(stored: Stored, names: Names) -> list[ExperimentEntry]:
    """Return the experiments whose flags are exported, oldest first."""
    flags = {flag.key for flag in stored.flags}
    kept = [each for each in stored.experiments if each.feature_flag_key in flags]
    keys = unique_keys((each.id, each.name) for each in kept)
    holdouts, metrics = holdout_entries(stored), saved_metric_entries(stored, names)
    return [
        experiment_entry(experiment, keys[experiment.id], holdouts, metrics, names)
        for experiment in kept
    ]


def experiment_entry(
    experiment: SnapshotExperiment,
    key: str,
    holdouts: Mapping[int, HoldoutEntry],
    metrics: Mapping[int, SavedMetricEntry],
    names: Names,
) -> ExperimentEntry:
    replaced = {
        name: replace_ids(getattr(experiment, name), names) for name in FIELDS_WITH_CONDITIONS
    }
    holdout = None if experiment.holdout_id is None else holdouts.get(experiment.holdout_id)
    return ExperimentEntry(
        **(shared_fields(experiment, PlainExperiment) | replaced),
        key=key,
        holdout=None if holdout is None else holdout.key,
        saved_metrics=[
            MetricLinkEntry(saved_metric=metrics[metric_id].key, metadata=metadata)
            for metric_id, metadata in experiment.links
            if metric_id in metrics
        ],
    )


def alert_entry(alert: SnapshotAlert, key: str, short_id: str) -> AlertEntry:
    return AlertEntry(key=key, insight=short_id, **shared_fields(alert, PlainAlert))


def _alerts(stored: Stored, insights: Mapping[int, InsightEntry]) -> list[AlertEntry]:
    """Return the alerts of insights that are exported."""
    exported = [alert for alert in stored.alerts if alert.insight_id in insights]
    keys = unique_keys((alert.id, alert.name) for alert in exported)
    return [
        alert_entry(alert, keys[alert.id], insights[alert.insight_id].short_id)
        for alert in exported
    ]


def _annotation_entry(
    annotation: SnapshotAnnotation, key: str, insight: str | None, dashboard: str | None
) -> AnnotationEntry:
    plain = ("content", "date_marker", "creation_type", "scope")
    values = {name: getattr(annotation, name) for name in plain}
    return AnnotationEntry(key=key, insight=insight, dashboard=dashboard, **values)


def _annotations(
    stored: Stored, insights: Mapping[int, InsightEntry], keys: Keys
) -> list[AnnotationEntry]:
    """Return the annotations, without those of insights and dashboards that are not exported."""
    names = unique_keys((one.id, one.content[:ANNOTATION_KEY_CHARS]) for one in stored.annotations)
    entries = []
    for annotation in stored.annotations:
        insight = insights.get(annotation.dashboard_item or 0)
        dashboard = keys.dashboards.get(annotation.dashboard_id or 0)
        short_id = None if insight is None else insight.short_id
        owners = {"dashboard_item": short_id, "dashboard": dashboard}
        if owners.get(annotation.scope, "") is not None:
            key = names[annotation.id]
            entries.append(_annotation_entry(annotation, key, short_id, dashboard))
    return entries


def _insights(stored: Stored, names: Names) -> dict[int, InsightEntry]:
    """Return insights by id, without those that are only on usage dashboards of flags."""
    own = {dashboard.id for dashboard in stored.own_dashboards}
    placed = {tile.insight_id for tile in stored.tiles}
    on_own_dashboards = {tile.insight_id for tile in stored.tiles if tile.dashboard_id in own}
    return {
        insight.id: insight_entry(insight, names)
        for insight in stored.insights
        if not insight.deleted and (insight.id in on_own_dashboards or insight.id not in placed)
    }
