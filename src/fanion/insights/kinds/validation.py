"""Validation of an insight's `filters` or `query`.

It covers the names of every kind of insight, and values where the allowed ones are known. Every
function raises Invalid, with the place in the request.

Source: insights.md, "Strictness" and sections 1c and 2.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from fanion.errors import Invalid
from fanion.insights.breakdowns import Breakdown
from fanion.insights.dates.bounds import parse_bound
from fanion.insights.kinds.service import (
    KINDS_BY_INSIGHT,
    fields_of_query,
    has_filters,
    is_calculated,
    kind_name,
    read_query,
    read_sent_query,
)
from fanion.insights.parsing.conditions import parse_filter
from fanion.insights.parsing.fields import TIMES_STAND, Fields, check_sampling
from fanion.insights.query import InsightQuery
from fanion.properties.filters import (
    COHORT_TYPES,
    ELEMENT,
    PROPERTY_TYPES,
    SEGMENT,
    SEGMENT_OPERATORS,
    SESSION,
    InCohort,
    Node,
    parse_leaf,
)
from fanion.properties.operators import VALUES_MAX
from fanion.properties.validation import check_comparison, check_index, check_names
from fanion.rest import posthog_insight_fields as names
from fanion.rest.options import schemas_of
from fanion.rest.unknown_fields import no_choice, require_known, require_supported

_WITHOUT_PAGES: Mapping[str, str] = {"offset": "An answer has no pages."}
_DATES = ("date_from", "date_to")
# Depth of nested lists and groups; far from the recursion limit.
_DEPTH_MAX = 110
_GROUP_NAMES = frozenset({"type", "values"})
_COMPARED = PROPERTY_TYPES | COHORT_TYPES | {SESSION, ELEMENT}


def check_insight_filters(filters: Mapping[str, Any], at: str = "") -> None:
    """Check the names and values of `filters`.

    If their kind is calculated, they must be calculable; other kinds are only stored.

    Args:
        filters: Decoded JSON, or the texts of a query string.
        at: Their place in the request.
    """
    check_filter_names(filters, at)
    check_question(Fields(filters, at=at))


def check_filter_names(filters: Mapping[str, Any], at: str = "") -> None:
    require_known(filters, names.OF_FILTERS, at)
    require_supported(filters, _WITHOUT_PAGES, at)


def check_query(query: object, at: str = "query") -> InsightQuery:
    """Return the question of a `query` of newer clients, which is decoded JSON.

    Args:
        at: The place of the query in the request.
    """
    if has_filters(query, at):
        check_question(fields_of_query(query, at))
    return read_sent_query(query, at)


def check_question(fields: Fields) -> None:
    for each in _with_funnel(fields):
        _check_values(each)
    if is_calculated(fields.values):
        read_query(Fields(fields.values, fields.places, fields.at))


def _with_funnel(fields: Fields) -> Iterator[Fields]:
    """Yield the fields of a question, and of the funnel within which it asks for paths."""
    yield fields
    funnel = fields.values.get("funnel_filter")
    if kind_name(fields.values) == "PATHS" and isinstance(funnel, dict):
        inner = fields.within("funnel_filter", funnel)
        require_known(funnel.keys() - {TIMES_STAND}, names.OF_FILTERS, inner.at)
        yield inner


def _check_values(fields: Fields) -> None:
    filters = fields.values
    _check_kind(filters.get("insight"), fields.place("insight"))
    for name, words in names.WORDS.items():
        fields.choice(name, words, "")
    for name in names.BOOLEANS:
        fields.boolean(name)
    for name in names.INDEXES:
        check_index(_number(filters.get(name)), fields.place(name))
    for name in _DATES:
        parse_bound(filters.get(name), fields.place(name))
    check_sampling(filters.get("sampling_factor"), fields.place("sampling_factor"))
    for entity in _entities(fields):
        _require_known(entity, names.OF_ENTITY)
        index = "math_group_type_index"
        check_index(entity.values.get(index), entity.place(index))
    for condition, place in _conditions(fields):
        _check_condition(condition, place)
    for breakdown in _objects(fields, "breakdowns"):
        _require_known(breakdown, schemas_of(Breakdown))


def _require_known(fields: Fields, known: Collection[str]) -> None:
    for name in fields.values:
        if name not in known:
            require_known([name], known, fields.at)


def cohort_places(fields: Fields) -> Mapping[int, str]:
    """Return the ids of the cohorts that a checked question names, each with its place."""
    cohorts = {
        leaf.cohort_id: place
        for each in _with_funnel(fields)
        for raw, place in _conditions(each)
        if not _is_group(raw) and raw.get("type") in COHORT_TYPES
        for leaf in [parse_leaf(raw)]
        if isinstance(leaf, InCohort)
    }
    for cohort_id in _cohorts_shown(fields):
        cohorts.setdefault(cohort_id, fields.place("breakdown"))
    return cohorts


def _cohorts_shown(fields: Fields) -> Iterator[int]:
    if fields.values.get("breakdown_type") != "cohort":
        return
    raw = fields.values.get("breakdown")
    for value in raw if isinstance(raw, list) else [raw]:
        text = str(value)
        if text.isdecimal() and text != "0":
            yield int(text)


def check_dashboard_filters(filters: Mapping[str, Any]) -> Node | None:
    """Check a dashboard's filters, of which only the date range and the conditions are applied.

    Returns:
        The conditions, whose segments and cohorts may not exist.
    """
    unsupported = names.UNSUPPORTED_OF_DASHBOARD_FILTERS
    known = names.OF_DASHBOARD_FILTERS.union(unsupported)
    require_known(filters, known, "filters")
    require_supported(filters, unsupported, "filters")
    for name in _DATES:
        parse_bound(filters.get(name), f"filters__{name}")
    fields = Fields(filters, at="filters")
    for condition, place in _conditions(fields):
        _check_condition(condition, place)
    return parse_filter(filters.get("properties"), "filters__properties", with_segments=True)


def _check_kind(kind: object, at: str) -> None:
    known = names.KINDS | KINDS_BY_INSIGHT.keys()
    if kind not in (None, "") and str(kind).upper() not in known:
        raise no_choice(kind, names.KINDS, at)


def _number(value: object) -> object:
    """Return text of a query string as a number, if it is one."""
    if value == "":
        return None
    if isinstance(value, str) and len(value) <= 10:
        try:
            return int(value) if value.isdecimal() else float(value)
        except ValueError:
            pass
    return value


def _entities(fields: Fields) -> Iterator[Fields]:
    for entity in _entities_of_lists(fields):
        yield entity
        yield from _objects(entity, "nodes")


def _entities_of_lists(fields: Fields) -> Iterator[Fields]:
    for name in names.ENTITY_LISTS:
        yield from _objects(fields, name)
    for name in names.ENTITIES:
        value = fields.values.get(name)
        if isinstance(value, dict):
            yield fields.within(name, value)


def _objects(fields: Fields, name: str) -> Iterator[Fields]:
    values = fields.values.get(name)
    if isinstance(values, list):
        for number, value in enumerate(values):
            if isinstance(value, dict):
                yield fields.item(name, number, value)


def _conditions(fields: Fields) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield every condition and every group of conditions, with its place."""
    for entity in _entities(fields):
        for name in ("properties", "fixedProperties"):
            yield from _within(entity.values.get(name), entity.place(name))
    yield from _within(fields.values.get("properties"), fields.place("properties"))


def _within(raw: object, at: str, depth: int = 0) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield the conditions of a list, of a tree, or a single one; parsing refuses all else."""
    if depth > _DEPTH_MAX:
        raise Invalid(f"Groups are nested deeper than {_DEPTH_MAX}.", attr=at)
    if isinstance(raw, list):
        for number, item in enumerate(raw):
            yield from _within(item, f"{at}__{number}", depth + 1)
    elif isinstance(raw, dict) and raw:
        yield raw, at
        if _is_group(raw):
            yield from _within(raw.get("values"), f"{at}__values", depth + 1)


def _is_group(raw: Mapping[str, Any]) -> bool:
    return "values" in raw or str(raw.get("type")).upper() in ("AND", "OR")


def _check_condition(raw: Mapping[str, Any], at: str) -> None:
    if _is_group(raw):
        require_known(raw, _GROUP_NAMES, at)
        return
    check_names(raw, at)
    kind = raw.get("type") or "event"
    if isinstance(kind, str) and kind in _COMPARED:
        check_comparison(raw, at)
    if kind == SEGMENT and raw.get("operator") not in (None, *SEGMENT_OPERATORS):
        raise no_choice(raw.get("operator"), SEGMENT_OPERATORS, f"{at}__operator")
    value = raw.get("value")
    if isinstance(value, list) and len(value) > VALUES_MAX:
        detail = f"A condition cannot have more than {VALUES_MAX} values."
        raise Invalid(detail, attr=f"{at}__value")
