"""Validation of an insight's `filters`: names of every kind of insight, and values where the
allowed ones are known.

source: insights.md, "Strictness" and sections 1c and 2
"""

from collections.abc import Iterator, Mapping
from typing import Any

from fanion.errors import Invalid
from fanion.insights.date_range import parse_bound
from fanion.insights.trends.query import parse_trends
from fanion.properties.filters import COHORT_TYPES, PROPERTY_TYPES, InCohort, parse_leaf
from fanion.properties.operators import VALUES_MAX
from fanion.properties.validation import check_comparison, check_index, check_names
from fanion.rest import posthog_insight_fields as names
from fanion.rest.unknown_fields import no_choice, require_known, require_supported

_TRENDS = "TRENDS"
# Of nested lists and groups; far from the recursion limit.
_DEPTH_MAX = 110
_GROUP_NAMES = frozenset({"type", "values"})
_BOOLEAN_WORDS = frozenset({True, False, None, "", "true", "false", "True", "False", "1", "0"})
_COMPARED = PROPERTY_TYPES | COHORT_TYPES


def check_insight_filters(filters: Mapping[str, Any], at: str = "") -> None:
    """filters: decoded JSON, or the text of a query string; at: their place in the request

    raises: Invalid. Trends must be calculable; other kinds are only stored.
    """
    require_known(filters, names.OF_FILTERS, at)
    _check_kind(filters.get("insight"), _place(at, "insight"))
    for name, words in _words(filters):
        _check_word(filters.get(name), words, _place(at, name))
    for name in names.BOOLEANS:
        _check_boolean(filters.get(name), _place(at, name))
    for name in names.INDEXES:
        check_index(_number(filters.get(name)), _place(at, name))
    _check_dates(filters, at)
    _check_sampling(filters.get("sampling_factor"), _place(at, "sampling_factor"))
    for entity, place in _entities(filters, at):
        require_known(entity, names.OF_ENTITY, place)
        check_index(entity.get("math_group_type_index"), f"{place}__math_group_type_index")
    for condition, place in _conditions(filters, at):
        _check_condition(condition, place)
    for breakdown, place in _objects(filters.get("breakdowns"), _place(at, "breakdowns")):
        require_known(breakdown, names.OF_BREAKDOWN, place)
    if is_trends(filters):
        _check_trends(filters, at)


def _words(filters: Mapping[str, Any]) -> Iterator[tuple[str, frozenset[str]]]:
    """The intervals of trends are checked by their parser."""
    for name, words in names.WORDS.items():
        if name != "interval" or not is_trends(filters):
            yield name, words


def cohorts_of(filters: Mapping[str, Any], at: str = "") -> Mapping[int, str]:
    """The cohorts that validated filters name: id → place."""
    return {
        leaf.cohort_id: place
        for raw, place in _conditions(filters, at)
        if not _is_group(raw) and raw.get("type") in COHORT_TYPES
        for leaf in [parse_leaf(raw)]
        if isinstance(leaf, InCohort)
    }


def is_trends(filters: Mapping[str, Any]) -> bool:
    kind = filters.get("insight") or _TRENDS
    return isinstance(kind, str) and kind.upper() == _TRENDS


def _check_trends(filters: Mapping[str, Any], at: str) -> None:
    try:
        parse_trends(filters)
    except Invalid as error:
        place = _place(at, error.attr) if error.attr else at
        raise Invalid(error.detail, code=error.code, attr=place or None) from None


def check_dashboard_filters(filters: Mapping[str, Any]) -> None:
    """Only the date range of a dashboard's filters is applied. raises: Invalid"""
    unsupported = names.UNSUPPORTED_OF_DASHBOARD_FILTERS
    known = names.OF_DASHBOARD_FILTERS.union(unsupported)
    require_known(filters, known, "filters")
    require_supported(filters, unsupported, "filters")
    _check_dates(filters, "filters")


def _check_dates(filters: Mapping[str, Any], at: str) -> None:
    for name in ("date_from", "date_to"):
        try:
            parse_bound(filters.get(name), name)
        except Invalid as error:
            raise Invalid(error.detail, code=error.code, attr=_place(at, name)) from None


def _check_kind(kind: object, at: str) -> None:
    if kind not in (None, "") and str(kind).upper() not in names.KINDS:
        raise no_choice(kind, names.KINDS, at)


def _check_word(word: object, words: frozenset[str], at: str) -> None:
    if word not in (None, "") and not (isinstance(word, str) and word in words):
        raise no_choice(word, words, at)


def _check_boolean(value: object, at: str) -> None:
    if not isinstance(value, str | int | None) or value not in _BOOLEAN_WORDS:
        raise Invalid("Must be a valid boolean.", attr=at)


def _check_sampling(factor: object, at: str) -> None:
    """A valid factor is accepted and ignored: results are always exact."""
    if factor in (None, ""):
        return
    number = _number(factor)
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number <= 1:
        raise Invalid("Ensure this value is greater than 0 and at most 1.", attr=at)


def _number(value: object) -> object:
    """Text in a query string is read as its number."""
    if value == "":
        return None
    if isinstance(value, str) and len(value) <= 10:
        try:
            return int(value) if value.isdecimal() else float(value)
        except ValueError:
            pass
    return value


def _entities(filters: Mapping[str, Any], at: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    for name in names.ENTITY_LISTS:
        yield from _objects(filters.get(name), _place(at, name))
    for name in names.ENTITIES:
        yield from _objects([filters.get(name)], _place(at, name))


def _objects(values: object, at: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    if isinstance(values, list):
        for number, value in enumerate(values):
            if isinstance(value, dict):
                yield value, f"{at}__{number}"


def _conditions(filters: Mapping[str, Any], at: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Every condition and every group of them, with its place. raises: Invalid"""
    for entity, place in _entities(filters, at):
        yield from _within(entity.get("properties"), f"{place}__properties")
    yield from _within(filters.get("properties"), _place(at, "properties"))


def _within(raw: object, at: str, depth: int = 0) -> Iterator[tuple[Mapping[str, Any], str]]:
    """A list, a tree, or one condition; parse_trends refuses what cannot be read."""
    if depth > _DEPTH_MAX:
        raise Invalid(f"Groups are nested deeper than {_DEPTH_MAX}.", attr=at)
    if isinstance(raw, list):
        for number, one in enumerate(raw):
            yield from _within(one, f"{at}__{number}", depth + 1)
    elif isinstance(raw, dict) and raw:
        yield raw, at
        if _is_group(raw):
            yield from _within(raw.get("values"), f"{at}__values", depth + 1)


def _is_group(raw: Mapping[str, Any]) -> bool:
    return "values" in raw or str(raw.get("type")).upper() in ("AND", "OR")


def _check_condition(raw: Mapping[str, Any], at: str) -> None:
    """raises: Invalid"""
    if _is_group(raw):
        require_known(raw, _GROUP_NAMES, at)
        return
    check_names(raw, at)
    kind = raw.get("type") or "event"
    if isinstance(kind, str) and kind in _COMPARED:
        check_comparison(raw, at)
    value = raw.get("value")
    if isinstance(value, list) and len(value) > VALUES_MAX:
        detail = f"A condition cannot have more than {VALUES_MAX} values."
        raise Invalid(detail, attr=f"{at}__value")


def _place(at: str, name: str) -> str:
    return f"{at}__{name}" if at else name
