"""The filter language in the OpenAPI document.

It adds components, the bodies that contain them, and the names that bodies reject. Responses are
not described by it: they show stored filters, which may be of an older version.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from litestar import Litestar
from msgspec import Struct, inspect

from fanion.cohorts.criteria.json_schema import (
    BY_PROPERTIES,
    BY_SOURCE,
    CRITERIA,
    OLDER_GROUP,
    OLDER_GROUPS,
    QUERY,
    cohort_schemas,
)
from fanion.cohorts.criteria.json_schema import EXAMPLES as OF_COHORTS
from fanion.cohorts.schemas import COHORT_FORM, cohort_form
from fanion.flags.json_schema import EXAMPLES as OF_FLAGS
from fanion.flags.json_schema import FILTERS, ROLLBACK, flag_schemas, scheduled_payload
from fanion.insights.kinds.json_schema import (
    CONDITIONS,
    INSIGHT_FILTERS,
    INSIGHT_QUERY,
    KINDS_OF_FILTERS,
    TRENDS,
    insight_schemas,
)
from fanion.insights.kinds.json_schema import EXAMPLES as OF_INSIGHTS
from fanion.projects.account_filters import ACCOUNT_FILTERS_MAX
from fanion.projects.path_cleaning import CHARS_MAX, RULES_MAX
from fanion.rest.json_schema import JsonSchema, object_of, only_names, reference
from fanion.rest.unknown_fields import CREDENTIAL_NAMES

# The components, in the order of the HTML page.
LANGUAGE = (
    *(FILTERS, "PersonFlagFilters", "GroupFlagFilters"),
    *("PersonConditionSet", "GroupConditionSet", "PersonCondition", "GroupCondition"),
    *("FlagVariant", "FlagPayloads", ROLLBACK, "RollbackCondition"),
    *(
        CRITERIA,
        *("CohortGroup", "CohortGroupOfConditions", "CohortGroupOfGroups"),
        "CohortCondition",
        "CohortEventFilter",
        OLDER_GROUPS,
        OLDER_GROUP,
        *(QUERY, BY_PROPERTIES, BY_SOURCE),
    ),
    *(INSIGHT_FILTERS, TRENDS, *KINDS_OF_FILTERS),
    *("EventSeries", "InsightCondition", "InsightConditionGroup", INSIGHT_QUERY),
)
_INSIGHTS = "/api/projects/{project_id}/insights"
# The addresses of questions, and the component of their bodies.
_QUESTIONS = {
    "/trend": TRENDS,
    **dict.fromkeys(("/funnel", "/funnel/correlation", "/retention", "/path"), INSIGHT_FILTERS),
}


def _or_null(name: str) -> JsonSchema:
    return {"anyOf": [reference(name), {"type": "null"}]}


_PATH_CLEANING_RULE = object_of(
    {
        "regex": {"type": "string", "minLength": 1, "maxLength": CHARS_MAX, "format": "regex"},
        "alias": {"type": "string", "maxLength": CHARS_MAX},
        "order": {"type": ["integer", "null"]},
    },
    required=["regex", "alias"],
)
# The bodies with the writable fields of a flag.
_OF_FLAG = ("NewFlag", "FlagChanges", "UnsavedFlag", "UnsavedEvaluation")
# The schemas of fields, by the component of a body and the field.
_FIELDS: Mapping[tuple[str, str], JsonSchema] = {
    **dict.fromkeys(((name, "filters") for name in _OF_FLAG), _or_null(FILTERS)),
    **dict.fromkeys(((name, "rollback_conditions") for name in _OF_FLAG), reference(ROLLBACK)),
    ("NewCohort", "filters"): _or_null(CRITERIA),
    ("NewCohort", "groups"): reference(OLDER_GROUPS),
    ("NewCohort", "query"): _or_null(QUERY),
    ("CohortFields", "filters"): _or_null(CRITERIA),
    ("CohortFields", "groups"): reference(OLDER_GROUPS),
    ("Previewed", "filters"): reference(CRITERIA),
    ("NewInsight", "filters"): _or_null(INSIGHT_FILTERS),
    ("NewInsight", "query"): _or_null(INSIGHT_QUERY),
    ("InsightChanges", "query"): _or_null(INSIGHT_QUERY),
    ("NewQuery", "query"): reference(INSIGHT_QUERY),
    ("InsightChanges", "filters"): reference(INSIGHT_FILTERS),
    ("NewSegment", "properties"): CONDITIONS,
    ("SegmentChanges", "properties"): CONDITIONS,
    ("ProjectChanges", "test_account_filters"): {
        "type": "array",
        "items": reference("InsightCondition"),
        "maxItems": ACCOUNT_FILTERS_MAX,
    },
    ("ProjectChanges", "path_cleaning_filters"): {
        "type": "array",
        "items": _PATH_CLEANING_RULE,
        "maxItems": RULES_MAX,
    },
}
# Examples by component. The HTML page shows the first.
_EXAMPLES: Mapping[str, Sequence[Any]] = {
    "NewFlag": [
        {"key": f"new-checkout-{number}", "name": "The new checkout", "filters": filters}
        for number, filters in enumerate(OF_FLAGS[FILTERS], 1)
    ],
    "FlagChanges": [
        {"filters": OF_FLAGS[FILTERS][0]},
        {"rollback_conditions": OF_FLAGS[ROLLBACK][0]},
    ],
    "UnsavedFlag": [{"key": "newer-checkout", "filters": filters} for filters in OF_FLAGS[FILTERS]],
    "UnsavedEvaluation": [
        {
            "key": "newer-checkout",
            "filters": OF_FLAGS[FILTERS][0],
            "distinct_id": "user-1",
            "person_properties": {"plan": "pro"},
        }
    ],
    "NewScheduledChange": OF_FLAGS["NewScheduledChange"],
    "NewCohort": [
        *({"name": "Payers", "filters": filters} for filters in OF_COHORTS[CRITERIA]),
        {"name": "Payers", "groups": OF_COHORTS[OLDER_GROUPS][0]},
        {"name": "Payers of today", "is_static": True, "query": OF_COHORTS[QUERY][0]},
    ],
    "CohortFields": [{"filters": OF_COHORTS[CRITERIA][0]}],
    "Previewed": [{"filters": filters} for filters in OF_COHORTS[CRITERIA]],
    "NewInsight": [{"name": "Sign-ups", "filters": filters} for filters in OF_INSIGHTS[TRENDS]],
    "InsightChanges": [{"filters": OF_INSIGHTS[TRENDS][0]}],
}


def add_filter_language(document: dict[str, Any], app: Litestar) -> None:
    """Add the filter language to a document.

    Args:
        document: The one that the framework generates from the application.
    """
    schemas: dict[str, JsonSchema] = document["components"]["schemas"]
    schemas |= {**flag_schemas(), **cohort_schemas(), **insight_schemas()}
    for (name, field), described in _FIELDS.items():
        if body := schemas.get(name):
            before = body["properties"][field]
            note = {"description": before["description"]} if "description" in before else {}
            body["properties"][field] = {**described, **note}
    _separate_forms(schemas)
    for path, sent in _QUESTIONS.items():
        if described := document["paths"].get(_INSIGHTS + path):
            content = described["post"]["requestBody"]["content"]
            content["application/json"]["schema"] = reference(sent)
    if planned := schemas.get("ScheduledPayload"):
        schemas["ScheduledPayload"] = scheduled_payload(planned)
    for name, examples in _EXAMPLES.items():
        if name in schemas:
            schemas[name]["examples"] = list(examples)
    for kind in _body_structs(app):
        _reject_unknown(schemas, kind, CREDENTIAL_NAMES)
        for nested in _field_structs(inspect.type_info(kind)):
            _reject_unknown(schemas, nested, frozenset())


def _separate_forms(schemas: dict[str, JsonSchema]) -> None:
    """Add the component of a form with a file, which no JSON body is.

    The bodies refer to it, since openapi-generator leaves out a component that only forms have, and
    imports it all the same.
    """
    bodies = [schemas[name] for name in ("NewCohort", "CohortFields") if name in schemas]
    for body in bodies:
        body["not"] = reference(COHORT_FORM)
    if bodies:
        schemas[COHORT_FORM] = cohort_form()


def _body_structs(app: Litestar) -> Iterator[type[Struct]]:
    """Yield the structs of request bodies."""
    for route in app.routes:
        for handler in getattr(route, "route_handlers", ()):
            field = handler.parsed_data_field
            kind = None if field is None else field.annotation
            if isinstance(kind, type) and issubclass(kind, Struct):
                yield kind


def _field_structs(info: inspect.Type) -> Iterator[type[Struct]]:
    """Yield the structs in the fields of a struct."""
    if isinstance(info, inspect.StructType):
        for field in info.fields:
            yield from _structs_of_type(field.type)


def _structs_of_type(info: inspect.Type) -> Iterator[type[Struct]]:
    match info:
        case inspect.Metadata(type=inner) | inspect.ListType(item_type=inner):
            yield from _structs_of_type(inner)
        case inspect.UnionType(types=kinds):
            for kind in kinds:
                yield from _structs_of_type(kind)
        case inspect.StructType(cls=cls):
            yield cls
            yield from _field_structs(info)


def _reject_unknown(
    schemas: dict[str, JsonSchema], kind: type[Struct], ignored: frozenset[str]
) -> None:
    """Describe which names a struct rejects, in agreement with `rest.validation`."""
    body = schemas.get(kind.__name__)
    if body is None or not kind.__struct_config__.forbid_unknown_fields:
        return
    known: frozenset[str] = getattr(kind, "also_known", frozenset())
    unsupported: Mapping[str, str] = getattr(kind, "unsupported", {})
    others = known | ignored | unsupported.keys()
    rejected = {name: rule for name, rule in body.items() if name != "additionalProperties"}
    schemas[kind.__name__] = {**rejected, **only_names(body["properties"], others)}
