"""One project as one JSON document: what `fanion export` writes and `fanion import` reads.

Objects are identified by key or name, never by ids of an installation. Filters contain
`{"cohort": key}`, `{"flag": key}`, `{"action": name}`, `{"segment": name}` and
`{"group_type": name}` instead of ids. The document is described in docs/transfer.md.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field

from fanion.actions.model import DESCRIPTION_CHARS_MAX as ACTION_DESCRIPTION_CHARS_MAX
from fanion.actions.model import PlainAction
from fanion.cohorts.model import DESCRIPTION_CHARS_MAX, PlainCohort
from fanion.events.definitions.details import DESCRIPTION_CHARS_MAX as DETAILS_CHARS_MAX
from fanion.events.definitions.model import PlainEventDefinition
from fanion.events.definitions.properties import PlainPropertyDefinition, PropertyType
from fanion.experiments.model import PlainExperiment
from fanion.flags.definitions.model import PlainFlag
from fanion.groups.model import GROUP_TEXT_MAX, GROUP_TYPES_MAX
from fanion.insights.alerts.model import SERIES_INDEX_MAX, BreakdownValue, PlainAlert
from fanion.insights.annotations.model import CONTENT_CHARS_MAX, CreationType, Scope
from fanion.insights.dashboards.model import TEXT_CHARS_MAX, PlainDashboard
from fanion.insights.saved.model import EVERYONE_EDITS, PlainInsight
from fanion.insights.segments.model import DESCRIPTION_CHARS_MAX as SEGMENT_DESCRIPTION_CHARS_MAX
from fanion.insights.segments.model import PlainSegment
from fanion.projects.organizations.model import AccessLevel
from fanion.projects.roles.model import PlainRole
from fanion.rest.body_reader import is_deep

FORMAT = "fanion-project"
VERSION = 1
ACCOUNT_FILTERS = "test_account_filters"
# Left out when empty, because earlier versions refuse names that they do not know.
_LEFT_OUT = frozenset(
    {
        *("alerts", "experiment_holdouts", "experiment_saved_metrics", "experiments"),
        *("actions", "annotations", "segments", ACCOUNT_FILTERS),
    }
)
# Enough for three million distinct ids of cohort members. Decoding takes up to eight times as much
# memory.
DOCUMENT_BYTES_MAX = 128 * 1024**2
NESTING_MAX = 120  # the limit of the API, and the lists around its objects

Time = Annotated[datetime, Meta(tz=True)]
Name = Annotated[str, Meta(min_length=1, max_length=400)]
Title = Annotated[str, Meta(max_length=400)]
Details = Annotated[str, Meta(max_length=DETAILS_CHARS_MAX)]


class DocumentError(Exception):
    """A fault that prevents the import of a document.

    The text has one line for each fault.
    """


class DocumentEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class GroupTypeEntry(DocumentEntry, frozen=True, kw_only=True):
    group_type: Annotated[str, Meta(min_length=1, max_length=GROUP_TEXT_MAX)]
    group_type_index: Annotated[int, Meta(ge=0, lt=GROUP_TYPES_MAX)]


class EventDefinitionEntry(
    PlainEventDefinition, frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """An event definition.

    Attributes:
        description: None when the source has no value, like `owner`.
        owner: The e-mail address of a user.
        hidden: None when the source has no value.
        verified: None when the source has no value.
        created_at: Only set for a new definition.
        last_seen_at: Only set for a new definition.
    """

    name: Annotated[str, Meta(min_length=1)]
    description: Details | None = None
    owner: str | None = None
    created_at: Time | None = None
    last_seen_at: Time | None = None
    tags: list[str] = field(default_factory=list)
    post_to_chat: bool = False
    hidden: bool | None = None
    verified: bool | None = None


class PropertyDefinitionEntry(
    PlainPropertyDefinition, frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """A property definition.

    Attributes:
        event_names: Events that have the property.
        description: None when the source has no value, like the other details.
        owner: The e-mail address of a user.
    """

    name: Name
    property_type: PropertyType | None = None
    event_names: list[str] = field(default_factory=list)
    description: Details | None = None
    owner: str | None = None
    tags: list[str] | None = None
    hidden: bool | None = None
    verified: bool | None = None


class CohortEntry(PlainCohort, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A cohort.

    Attributes:
        key: Unique in the document; flags and other cohorts refer to it.
        members: The members of a static cohort, each as a list of distinct ids.
    """

    key: Annotated[str, Meta(min_length=1)]
    name: Title | None = None
    description: Annotated[str, Meta(max_length=DESCRIPTION_CHARS_MAX)] = ""
    members: list[list[str]] = field(default_factory=list)


class ActionEntry(PlainAction, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An action, which insights and cohorts refer to by its name."""

    name: Name
    description: Annotated[str, Meta(max_length=ACTION_DESCRIPTION_CHARS_MAX)] = ""


class SegmentEntry(PlainSegment, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A segment, which insights and dashboards refer to by its name."""

    name: Name
    description: Annotated[str, Meta(max_length=SEGMENT_DESCRIPTION_CHARS_MAX)] = ""


class InsightEntry(PlainInsight, frozen=True, kw_only=True, forbid_unknown_fields=True):
    short_id: Annotated[str, Meta(min_length=1, max_length=12)]
    name: Title | None = None
    derived_name: Title | None = None


class TileEntry(DocumentEntry, frozen=True, kw_only=True, omit_defaults=True):
    """A tile of a dashboard, with an insight or a text.

    Attributes:
        insight: The short id of the insight.
        text: In Markdown.
    """

    insight: str | None = None
    text: Annotated[str, Meta(min_length=1, max_length=TEXT_CHARS_MAX)] | None = None
    color: Title | None = None
    layouts: dict[str, Any] = {}


class DashboardEntry(PlainDashboard, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A dashboard.

    Attributes:
        key: Unique in the document.
    """

    key: Annotated[str, Meta(min_length=1)]
    name: Title = ""
    description: str = ""
    pinned: bool = False
    filters: dict[str, Any] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    restriction_level: int = EVERYONE_EDITS
    tiles: list[TileEntry] = field(default_factory=list)


class AlertEntry(PlainAlert, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An alert.

    Attributes:
        key: Unique in the document.
        insight: The short id of the insight.
    """

    key: Annotated[str, Meta(min_length=1)]
    name: Name
    insight: str
    series_index: Annotated[int, Meta(ge=0, le=SERIES_INDEX_MAX)] = 0
    breakdown_value: BreakdownValue | None = None
    enabled: bool = True


class AnnotationEntry(DocumentEntry, frozen=True, kw_only=True):
    """A note about a moment.

    Attributes:
        key: Unique in the document.
        insight: The short id of the insight that it is about.
        dashboard: The key of the dashboard that it is about.
    """

    key: Annotated[str, Meta(min_length=1)]
    content: Annotated[str, Meta(min_length=1, max_length=CONTENT_CHARS_MAX)]
    date_marker: Time
    creation_type: CreationType = "USR"
    scope: Scope = "project"
    insight: str | None = None
    dashboard: str | None = None


class RoleEntry(PlainRole, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A role.

    Attributes:
        members: E-mail addresses.
    """

    name: Annotated[str, Meta(min_length=1, max_length=200)]
    feature_flags_access_level: AccessLevel = AccessLevel.EDIT
    members: list[str] = field(default_factory=list)


class FlagEntry(PlainFlag, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A flag.

    Attributes:
        analytics_dashboards: Keys of dashboards.
        roles: Names of the roles that may edit the flag.
    """

    key: Name
    analytics_dashboards: list[str] = field(default_factory=list)
    created_at: Time | None = None
    roles: list[str] = field(default_factory=list)


class HoldoutEntry(DocumentEntry, frozen=True, kw_only=True):
    """A holdout of experiments.

    Attributes:
        key: Unique in the document.
        filters: Without the variant, which names the holdout of an installation.
    """

    key: Annotated[str, Meta(min_length=1)]
    name: Name
    description: str | None = None
    filters: list[dict[str, Any]]


class SavedMetricEntry(DocumentEntry, frozen=True, kw_only=True):
    """A metric that several experiments share.

    Attributes:
        key: Unique in the document.
    """

    key: Annotated[str, Meta(min_length=1)]
    name: Name
    description: str | None = None
    query: dict[str, Any]
    tags: list[str] = field(default_factory=list)


class MetricLinkEntry(DocumentEntry, frozen=True, kw_only=True):
    """A saved metric of an experiment.

    Attributes:
        saved_metric: The key of the saved metric.
    """

    saved_metric: str
    metadata: dict[str, Any]


class ExperimentEntry(PlainExperiment, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An experiment.

    Attributes:
        key: Unique in the document.
        feature_flag_key: The key of a flag of the document.
        holdout: The key of the holdout.
    """

    key: Annotated[str, Meta(min_length=1)]
    name: Name
    start_date: Time | None = None
    end_date: Time | None = None
    holdout: str | None = None
    saved_metrics: list[MetricLinkEntry] = field(default_factory=list)


class Document(Struct, frozen=True, kw_only=True):
    """The parts of a project, every list in the order in which its entries are imported.

    Attributes:
        test_account_filters: The filters of the project. An empty list leaves those of the project
            imported into as they are.
    """

    group_types: list[GroupTypeEntry] = []
    event_definitions: list[EventDefinitionEntry] = []
    property_definitions: list[PropertyDefinitionEntry] = []
    actions: list[ActionEntry] = []
    cohorts: list[CohortEntry] = []
    segments: list[SegmentEntry] = []
    insights: list[InsightEntry] = []
    dashboards: list[DashboardEntry] = []
    alerts: list[AlertEntry] = []
    annotations: list[AnnotationEntry] = []
    roles: list[RoleEntry] = []
    flags: list[FlagEntry] = []
    experiment_holdouts: list[HoldoutEntry] = []
    experiment_saved_metrics: list[SavedMetricEntry] = []
    experiments: list[ExperimentEntry] = []
    test_account_filters: list[dict[str, Any]] = []


# The lists of a document, each with the type of an entry, its kind for messages, and the field that
# identifies it.
SECTIONS: Mapping[str, tuple[type[Struct], str, str]] = {
    "group_types": (GroupTypeEntry, "group type", "group_type"),
    "event_definitions": (EventDefinitionEntry, "event definition", "name"),
    "property_definitions": (PropertyDefinitionEntry, "property definition", "name"),
    "actions": (ActionEntry, "action", "name"),
    "cohorts": (CohortEntry, "cohort", "key"),
    "segments": (SegmentEntry, "segment", "name"),
    "insights": (InsightEntry, "insight", "short_id"),
    "dashboards": (DashboardEntry, "dashboard", "key"),
    "alerts": (AlertEntry, "alert", "key"),
    "annotations": (AnnotationEntry, "annotation", "key"),
    "roles": (RoleEntry, "role", "name"),
    "flags": (FlagEntry, "flag", "key"),
    "experiment_holdouts": (HoldoutEntry, "holdout", "key"),
    "experiment_saved_metrics": (SavedMetricEntry, "saved metric", "key"),
    "experiments": (ExperimentEntry, "experiment", "key"),
}


def write_document(document: Document) -> bytes:
    """Return the document as JSON, with the same text for the same project.

    The time and the place of the export are not part of it.
    """
    head = {"format": FORMAT, "version": VERSION}
    body = {name: getattr(document, name) for name in (*SECTIONS, ACCOUNT_FILTERS)}
    body = {name: value for name, value in body.items() if value or name not in _LEFT_OUT}
    return msgspec.json.format(msgspec.json.encode({**head, **body}), indent=2) + b"\n"


def read_document(raw: bytes) -> Document:
    """Parse a document.

    Raises:
        DocumentError: The text is not a document of a supported version, or an entry is not valid.
    """
    body = _decode_document(raw)
    if body.pop("format", None) != FORMAT:
        raise DocumentError(f"this is not an exported project: `format` must be {FORMAT!r}")
    version = body.pop("version", None)
    if version != VERSION or isinstance(version, bool):
        raise DocumentError(
            f"`version` of the document is {version!r}; only {VERSION} is supported"
        )
    conditions = _parse_conditions(body.pop(ACCOUNT_FILTERS, []))
    for name in body:
        if name not in SECTIONS:
            raise DocumentError(f"`{name}` is not a field of the document")
    sections = {name: _parse_entries(name, entries) for name, entries in body.items()}
    return Document(**sections, test_account_filters=conditions)


def label_of(section: str, entry: Struct) -> str:
    _, word, field = SECTIONS[section]
    return f"{word} {getattr(entry, field)}"


def _decode_document(raw: bytes) -> dict[str, Any]:
    try:
        body = msgspec.json.decode(raw)
    except RecursionError:
        raise DocumentError("the document is nested too deeply") from None
    except ValueError as error:
        raise DocumentError(f"the document is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise DocumentError("the document must be a JSON object")
    if is_deep(body, NESTING_MAX):
        raise DocumentError("the document is nested too deeply")
    return body


def _parse_conditions(raw: object) -> list[dict[str, Any]]:
    if not isinstance(raw, list) or not all(isinstance(condition, dict) for condition in raw):
        raise DocumentError(f"`{ACCOUNT_FILTERS}` must be a list of objects")
    return raw


def _parse_entries(section: str, raw: object) -> list[Any]:
    if not isinstance(raw, list):
        raise DocumentError(f"`{section}` must be a list")
    return [_parse_entry(section, index, value) for index, value in enumerate(raw)]


def _parse_entry(section: str, index: int, raw: object) -> Struct:
    kind, word, field = SECTIONS[section]
    given = raw.get(field) if isinstance(raw, dict) else None
    label = f"{word} {given}" if isinstance(given, str) and given else f"{section}[{index}]"
    try:
        entry = msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise DocumentError(f"{label}: {_error_text(str(error))}") from None
    for name, fault in _faults(entry):
        raise DocumentError(f"{label}: {name}: {fault}")
    return entry


def schema_fault(section: str, index: int, entry: Struct) -> str | None:
    """Return the schema error of an entry that was not read from a document, or None."""
    try:
        _parse_entry(section, index, msgspec.to_builtins(entry))
    except DocumentError as error:
        return str(error)
    return None


def _error_text(error: str) -> str:
    """Rewrite an error of msgspec with the field first.

    `Expected `str`, got `int` - at `$.name`` becomes `name: expected str, got int`.
    """
    reason, _, path = error.partition(" - at `$")
    reason = (reason[:1].lower() + reason[1:]).replace("`", "")
    field = path.strip("`.")
    return f"{field}: {reason}" if field else reason


def _faults(entry: Struct) -> Iterator[tuple[str, str]]:
    """Yield values that JSON allows and the records store does not."""
    for name in entry.__struct_fields__:
        value = getattr(entry, name)
        if isinstance(value, datetime) and not _has_utc(value):
            yield name, "the time is out of range"
        texts = (
            [text for member in value for text in _texts(member)] if name == "members" else value
        )
        for text in texts if isinstance(texts, list) else (texts,):
            if isinstance(text, str) and "\0" in text:
                yield name, "null characters are not allowed"


def _texts(value: object) -> list[Any]:
    """Return the texts of a member: its distinct ids, or its e-mail address."""
    return value if isinstance(value, list) else [value]


def _has_utc(value: datetime) -> bool:
    try:
        value.astimezone(UTC)
    except OverflowError:
        return False
    return True
