"""Validation of a document before an import writes anything."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from msgspec import structs

from fanion.actions.conditions import check_steps
from fanion.cohorts.criteria.definition import check_filters as check_cohort_filters
from fanion.cohorts.criteria.validation import check_criteria, check_groups
from fanion.errors import Invalid
from fanion.experiments.holdouts.schemas import read_filters
from fanion.experiments.model import require_end_after_start
from fanion.flags.definitions.rollback_conditions import check_conditions
from fanion.flags.definitions.validation.filters import check_filters
from fanion.flags.definitions.validation.parts import same_json
from fanion.flags.engine.definition import FlagRow, grouped_filters, with_holdout_groups
from fanion.flags.engine.percentages import with_whole_percentages
from fanion.insights.alerts.model import check_threshold
from fanion.insights.kinds.validation import (
    check_dashboard_filters,
    check_insight_filters,
    check_query,
)
from fanion.insights.saved.model import RESTRICTION_LEVELS
from fanion.insights.saved.tiles_store import TILES_MAX
from fanion.insights.segments.conditions import check_own_conditions
from fanion.projects.account_filters import ACCOUNT_FILTERS_MAX, check_account_filter
from fanion.projects.roles.model import folded
from fanion.rest.validation import normal_tags
from fanion.transfer.document import (
    ACCOUNT_FILTERS,
    SECTIONS,
    ActionEntry,
    AlertEntry,
    AnnotationEntry,
    CohortEntry,
    DashboardEntry,
    Document,
    EventDefinitionEntry,
    ExperimentEntry,
    FlagEntry,
    HoldoutEntry,
    InsightEntry,
    PropertyDefinitionEntry,
    SegmentEntry,
    label_of,
    schema_fault,
)
from fanion.transfer.references import (
    Ids,
    looping_cohorts,
    looping_flags,
    replace_names,
    replace_names_in_flag,
)
from fanion.transfer.report import Report


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of one entry of a document.

    Attributes:
        section: The list that the entry is in.
        index: The index of the entry in this list.
        text: The name of the entry, the field, and the reason.
    """

    section: str
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class StoredDefinitions:
    """Stored definitions: parts of a document that are equal to them are not validated again.

    Attributes:
        flags: By key.
        cohorts: By key.
        insights: By short id.
        dashboards: Filters by key.
    """

    flags: Mapping[str, FlagEntry]
    cohorts: Mapping[str, CohortEntry]
    insights: Mapping[str, InsightEntry]
    dashboards: Mapping[str, Mapping[str, Any]]


_ACCOUNT_FILTER = "test account filter"
NOTHING_STORED = StoredDefinitions({}, {}, {}, {})


def normalised(document: Document) -> Document:
    """Return the document with values as the API stores them, so that equal ones compare equal."""
    return structs.replace(
        document,
        event_definitions=[
            structs.replace(definition, tags=normal_tags(definition.tags))
            for definition in document.event_definitions
        ],
        property_definitions=[
            structs.replace(definition, tags=definition.tags and normal_tags(definition.tags))
            for definition in document.property_definitions
        ],
        actions=[
            structs.replace(action, name=action.name.strip(), tags=normal_tags(action.tags))
            for action in document.actions
        ],
        segments=[
            structs.replace(segment, name=segment.name.strip()) for segment in document.segments
        ],
        insights=[
            structs.replace(insight, tags=normal_tags(insight.tags))
            for insight in document.insights
        ],
        dashboards=[
            structs.replace(dashboard, tags=normal_tags(dashboard.tags))
            for dashboard in document.dashboards
        ],
        roles=[
            structs.replace(
                role,
                name=role.name.strip(),
                members=sorted({email.strip().lower() for email in role.members}),
            )
            for role in document.roles
        ],
        flags=[_normal_flag(flag) for flag in document.flags],
    )


def find_faults(
    document: Document, stored_definitions: StoredDefinitions = NOTHING_STORED
) -> Iterator[Fault]:
    """Yield the faults of a document.

    Args:
        document: A normalised document.
    """
    yield from _duplicates(document)
    ids = ids_within(document)
    loops = looping_cohorts(document.cohorts)
    roles = {folded(role.name) for role in document.roles}
    for index, definition in enumerate(document.event_definitions):
        yield from _entry_fault("event_definitions", index, definition, _check_definition)
    for index, entry in enumerate(document.property_definitions):
        yield from _entry_fault("property_definitions", index, entry, _check_definition)
    for index, action in enumerate(document.actions):
        yield from _entry_fault("actions", index, action, _check_action)
    for index, cohort in enumerate(document.cohorts):
        check = partial(
            _check_cohort,
            ids=ids,
            stored=stored_definitions.cohorts.get(cohort.key),
            loops=cohort.key in loops,
        )
        yield from _entry_fault("cohorts", index, cohort, check)
    for index, segment in enumerate(document.segments):
        yield from _entry_fault("segments", index, segment, partial(_check_segment, ids=ids))
    for index, insight in enumerate(document.insights):
        yield from _entry_fault(
            "insights", index, insight, lambda entry: _check_insight(entry, ids, stored_definitions)
        )
    insights = {entry.short_id for entry in document.insights}
    for index, dashboard in enumerate(document.dashboards):
        of_dashboard = partial(
            _check_dashboard,
            ids=ids,
            insights=insights,
            stored_definitions=stored_definitions,
        )
        yield from _entry_fault("dashboards", index, dashboard, of_dashboard)
    for index, alert in enumerate(document.alerts):
        yield from _entry_fault("alerts", index, alert, partial(_check_alert, insights=insights))
    known = {entry.key for entry in document.dashboards}
    of_annotation = partial(_check_annotation, insights=insights, dashboards=known)
    for index, annotation in enumerate(document.annotations):
        yield from _entry_fault("annotations", index, annotation, of_annotation)
    flag_loops = looping_flags(document.flags, ids)
    for index, flag in enumerate(document.flags):
        yield from _entry_fault(
            "flags",
            index,
            flag,
            partial(
                _check_flag,
                ids=ids,
                roles=roles,
                dashboards=known,
                stored_definitions=stored_definitions.flags,
            ),
        )
        if flag.key in flag_loops:
            text = "filters: flags cannot depend on each other in a loop"
            yield Fault("flags", index, f"{label_of('flags', flag)}: {text}")
    yield from _experiment_faults(document)
    yield from _account_filter_faults(document.test_account_filters, ids)


def _experiment_faults(document: Document) -> Iterator[Fault]:
    for index, holdout in enumerate(document.experiment_holdouts):
        yield from _entry_fault("experiment_holdouts", index, holdout, _check_holdout)
    check = partial(
        _check_experiment,
        flags={flag.key for flag in document.flags},
        holdouts={entry.key for entry in document.experiment_holdouts},
        metrics={entry.key for entry in document.experiment_saved_metrics},
    )
    for index, experiment in enumerate(document.experiments):
        yield from _entry_fault("experiments", index, experiment, check)


def without_faults(document: Document, report: Report) -> Document:
    """Return the valid part of a document, and report the rest as skipped.

    Invalid entries are left out, then those that refer to them.

    Args:
        document: A normalised document.
    """
    while faults := {(fault.section, fault.index): fault for fault in _all_faults(document)}:
        for (section, index), fault in faults.items():
            if section == ACCOUNT_FILTERS:
                kind, label = _ACCOUNT_FILTER, f"{_ACCOUNT_FILTER} {index + 1}"
                report.skipped(kind, str(index + 1), fault.text.removeprefix(f"{label}: "))
                continue
            name, why = _name_and_reason(
                label_of(section, getattr(document, section)[index]), fault.text
            )
            report.skipped(SECTIONS[section][1], name, why)
        document = _reduced(document, set(faults))
    return document


def _all_faults(document: Document) -> Iterator[Fault]:
    for section in SECTIONS:
        for index, entry in enumerate(getattr(document, section)):
            text = schema_fault(section, index, entry)
            if text is not None:
                yield Fault(section, index, text)
    yield from find_faults(document)


def _name_and_reason(label: str, text: str) -> tuple[str, str]:
    """Return the name of an entry, and the text of a fault without the label.

    The label `flag beta` and the text `flag beta: filters: …` give `beta` and `filters: …`.
    """
    return label.partition(" ")[2], text.removeprefix(f"{label}: ")


def _reduced(document: Document, left_out: set[tuple[str, int]]) -> Document:
    """Remove entries, and tiles, roles and dashboards that refer to them."""
    remaining = {
        section: [
            entry
            for index, entry in enumerate(getattr(document, section))
            if (section, index) not in left_out
        ]
        for section in (*SECTIONS, ACCOUNT_FILTERS)
    }
    rest = structs.replace(document, **remaining)
    insights = {entry.short_id for entry in rest.insights}
    dashboards = {entry.key for entry in rest.dashboards}
    roles = {folded(entry.name) for entry in rest.roles}
    return structs.replace(
        rest,
        dashboards=[
            structs.replace(
                dashboard,
                tiles=[
                    tile
                    for tile in dashboard.tiles
                    if tile.insight is None or tile.insight in insights
                ],
            )
            for dashboard in rest.dashboards
        ],
        flags=[
            structs.replace(
                flag,
                roles=[name for name in flag.roles if folded(name) in roles],
                analytics_dashboards=[
                    key for key in flag.analytics_dashboards if key in dashboards
                ],
            )
            for flag in rest.flags
        ],
    )


def ids_within(document: Document) -> Ids:
    """Return generated ids, to check that everything referred to is in the document."""
    return Ids(
        cohorts={cohort.key: number for number, cohort in enumerate(document.cohorts, 1)},
        flags={flag.key: str(number) for number, flag in enumerate(document.flags, 1)},
        group_types={
            group_type.group_type: group_type.group_type_index
            for group_type in document.group_types
        },
        actions={action.name: number for number, action in enumerate(document.actions, 1)},
        segments={segment.name: number for number, segment in enumerate(document.segments, 1)},
    )


def _entry_fault(
    section: str, index: int, entry: Any, check: Callable[[Any], None]
) -> Iterator[Fault]:
    """Yield the fault of an entry, if it has one.

    Args:
        check: Raises ValueError, whose text begins with the field and a colon, or Invalid.
    """
    try:
        check(entry)
    except ValueError as error:
        yield Fault(section, index, f"{label_of(section, entry)}: {error}")
    except Invalid as error:
        field = f"{error.attr}: " if error.attr else ""
        yield Fault(section, index, f"{label_of(section, entry)}: {field}{error.detail}")


def _account_filter_faults(conditions: Sequence[Mapping[str, Any]], ids: Ids) -> Iterator[Fault]:
    for index, condition in enumerate(conditions):
        text = _account_filter_fault(condition, ids)
        if text is None and index >= ACCOUNT_FILTERS_MAX:
            text = f"a project can have at most {ACCOUNT_FILTERS_MAX} of them"
        if text is not None:
            yield Fault(ACCOUNT_FILTERS, index, f"{_ACCOUNT_FILTER} {index + 1}: {text}")


def _account_filter_fault(condition: Mapping[str, Any], ids: Ids) -> str | None:
    try:
        check_account_filter(replace_names(condition, ids), "")
    except ValueError as error:
        return str(error)
    except Invalid as error:
        field = (error.attr or "").strip("_")
        return f"{field}: {error.detail}" if field else error.detail
    return None


def _duplicates(document: Document) -> Iterator[Fault]:
    for section, (_, _, field) in SECTIONS.items():
        seen: Counter[str] = Counter()
        for index, entry in enumerate(getattr(document, section)):
            name = getattr(entry, field)
            seen[folded(name) if section == "roles" else name] += 1
            if seen[folded(name) if section == "roles" else name] > 1:
                text = f"{label_of(section, entry)}: {field}: must be unique in the document"
                yield Fault(section, index, text)
    indexes = [group_type.group_type_index for group_type in document.group_types]
    for index, group_type in enumerate(document.group_types):
        if group_type.group_type_index in indexes[:index]:
            label = label_of("group_types", group_type)
            text = f"{label}: group_type_index: must be unique in the document"
            yield Fault("group_types", index, text)


def _normal_flag(flag: FlagEntry) -> FlagEntry:
    return structs.replace(
        flag,
        key=flag.key.strip(),
        filters=with_whole_percentages(
            with_holdout_groups(grouped_filters(FlagRow(0, flag.key, flag.filters)))
        ),
        tags=normal_tags(flag.tags),
        analytics_dashboards=list(dict.fromkeys(flag.analytics_dashboards)),
    )


def _check_definition(definition: EventDefinitionEntry | PropertyDefinitionEntry) -> None:
    if definition.hidden and definition.verified:
        raise ValueError("hidden: a definition cannot be both hidden and verified")


def _check_action(action: ActionEntry) -> None:
    check_steps(action.steps)


def _check_segment(segment: SegmentEntry, ids: Ids) -> None:
    properties = with_field("properties", lambda: replace_names(segment.properties, ids))
    check_insight_filters({"properties": properties})
    check_own_conditions(properties)


def _check_cohort(
    cohort: CohortEntry, ids: Ids, stored: CohortEntry | None, *, loops: bool
) -> None:
    if cohort.filters:
        check_cohort_filters(cohort.filters)
    if not all(isinstance(group, dict) for group in cohort.groups):
        raise ValueError("groups: each group must be an object")
    filters = with_field("filters", lambda: replace_names(cohort.filters, ids))
    groups = with_field("groups", lambda: replace_names(cohort.groups, ids))
    if loops:
        raise ValueError("filters: cohorts cannot reference other cohorts in a loop")
    if cohort.members and not cohort.is_static:
        raise ValueError("members: only a static cohort can have members")
    if cohort.is_static:
        return
    # Older versions stored conditions on cohorts without their key.
    if filters and (stored is None or not same_json(stored.filters, cohort.filters)):
        check_criteria(filters, complete=False)
    if stored is None or not same_json(stored.groups, cohort.groups):
        check_groups(groups)


def _check_insight(insight: InsightEntry, ids: Ids, stored_definitions: StoredDefinitions) -> None:
    """Check an insight as the API does.

    Trends that cannot be calculated are invalid; other kinds are stored.
    """
    filters = with_field("filters", lambda: replace_names(insight.filters, ids))
    query = with_field("query", lambda: replace_names(insight.query, ids))
    stored = stored_definitions.insights.get(insight.short_id)
    if stored is not None and same_json(_question(stored), _question(insight)):
        return
    if query is None:
        check_insight_filters(filters)
    elif filters:
        raise ValueError("query: an insight has filters or a query, not both")
    else:
        check_query(query)


def _question(insight: InsightEntry) -> object:
    return insight.filters, insight.query


def _check_dashboard(
    dashboard: DashboardEntry,
    ids: Ids,
    insights: set[str],
    stored_definitions: StoredDefinitions,
) -> None:
    if dashboard.restriction_level not in RESTRICTION_LEVELS:
        raise ValueError(
            f"restriction_level: must be one of {', '.join(map(str, RESTRICTION_LEVELS))}"
        )
    filters = with_field("filters", lambda: replace_names(dashboard.filters, ids))
    if not same_json(stored_definitions.dashboards.get(dashboard.key), dashboard.filters):
        check_dashboard_filters(filters)
    if len(dashboard.tiles) > TILES_MAX:
        raise ValueError(f"tiles: a dashboard can have at most {TILES_MAX} tiles")
    for tile in dashboard.tiles:
        if (tile.insight is None) == (tile.text is None):
            raise ValueError("tiles: a tile must have either an insight or a text")
        if "\0" in (tile.text or ""):
            raise ValueError("tiles: null characters are not allowed")
    short_ids = [tile.insight for tile in dashboard.tiles if tile.insight is not None]
    for short_id in short_ids:
        if short_id not in insights:
            raise ValueError(f"tiles: insight {short_id!r} is not in the document")
        if short_ids.count(short_id) > 1:
            raise ValueError(f"tiles: insight {short_id!r} can only be placed once")


def _check_holdout(holdout: HoldoutEntry) -> None:
    read_filters(holdout.filters)


def _check_experiment(
    experiment: ExperimentEntry, flags: set[str], holdouts: set[str], metrics: set[str]
) -> None:
    """Raise ValueError if the experiment refers to what is not in the document.

    Metrics that cannot be calculated are kept, and say so where they are shown.
    """
    if experiment.feature_flag_key not in flags:
        raise ValueError(
            f"feature_flag_key: flag {experiment.feature_flag_key!r} is not in the document"
        )
    if experiment.holdout is not None and experiment.holdout not in holdouts:
        raise ValueError(f"holdout: holdout {experiment.holdout!r} is not in the document")
    for link in experiment.saved_metrics:
        if link.saved_metric not in metrics:
            name = link.saved_metric
            raise ValueError(f"saved_metrics: saved metric {name!r} is not in the document")
    require_end_after_start(experiment.start_date, experiment.end_date)


def _check_alert(alert: AlertEntry, insights: set[str]) -> None:
    if alert.insight not in insights:
        raise ValueError(f"insight: insight {alert.insight!r} is not in the document")
    check_threshold(alert.condition, alert.threshold)


def _check_annotation(
    annotation: AnnotationEntry, insights: set[str], dashboards: set[str]
) -> None:
    for name, scope, place, known in (
        ("insight", "dashboard_item", annotation.insight, insights),
        ("dashboard", "dashboard", annotation.dashboard, dashboards),
    ):
        if place is None and annotation.scope == scope:
            raise ValueError(f"{name}: an annotation with the scope {scope} needs it")
        if place is not None and place not in known:
            raise ValueError(f"{name}: {name} {place!r} is not in the document")


def _check_flag(
    flag: FlagEntry,
    ids: Ids,
    roles: set[str],
    dashboards: set[str],
    stored_definitions: Mapping[str, FlagEntry],
) -> None:
    _check_flag_key(flag.key)
    filters = with_field("filters", lambda: replace_names_in_flag(flag.filters, ids))
    stored = stored_definitions.get(flag.key)
    if stored is None or not same_json(stored.filters, flag.filters):
        # A flag without conditions is valid here: a change of a flag can remove them all.
        check_filters(filters, creating=False, plain_payloads=True)
    conditions = with_field(
        "rollback_conditions", lambda: replace_names(flag.rollback_conditions, ids)
    )
    if stored is None or not same_json(stored.rollback_conditions, flag.rollback_conditions):
        check_conditions(conditions, None)
    for name in flag.roles:
        if folded(name) not in roles:
            raise ValueError(f"roles: role {name!r} is not in the document")
    for key in flag.analytics_dashboards:
        if key not in dashboards:
            raise ValueError(f"analytics_dashboards: dashboard {key!r} is not in the document")


def _check_flag_key(key: str) -> None:
    """Accept every key that SDKs may ask for: other servers allow more than the API does here."""
    if not key:
        raise ValueError("key: must not be blank")
    if not key.isprintable():
        raise ValueError("key: must not have control characters")


def with_field(name: str, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
