"""Validation of criteria when a cohort is created or changed.

Errors that only a calculation can find, such as negations without a positive condition, are stored
with the cohort.

Source: cohorts.md sections 3 to 6 and 17, "Strictness".
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from fanion.cohorts.criteria.behaviour import (
    BEHAVIOURS,
    EMPTY_UNLESS_READ,
    FIELDS_OF_BEHAVIORAL,
    parse_behaviour,
)
from fanion.cohorts.criteria.conditions import (
    NEGATION,
    CohortCondition,
    ConditionFields,
    EventFilter,
    PersonCondition,
    check_condition,
)
from fanion.cohorts.criteria.definition import (
    FIELDS_OF_FILTERS,
    FIELDS_OF_GROUP,
    MIXED,
    CriteriaError,
    check_filters,
    filters_of_groups,
)
from fanion.cohorts.criteria.older_groups import check_group, normal_groups
from fanion.cohorts.criteria.resolve import LEAVES_MAX
from fanion.errors import Invalid
from fanion.properties.filters import COHORT_TYPES, GROUP_DEPTH_MAX
from fanion.rest.unknown_fields import require_known, shortened, suggestion

_TYPES = sorted({"person", "behavioral", *COHORT_TYPES})
_encode = msgspec.json.Encoder(order="deterministic").encode


def check_criteria(
    filters: object, stored: Mapping[str, Any] | None = None, *, complete: bool = True
) -> None:
    """Check the names and values in criteria.

    Nodes that equal a stored node are accepted unchecked.

    Args:
        stored: The current criteria of the cohort.
        complete: Whether conditions on cohorts must name their key, which older clients left out.

    Raises:
        Invalid: The criteria are wrong. The detail names the position if there are several
            conditions.
    """
    check_filters(filters)
    assert isinstance(filters, dict)
    if stored is not None and _encode(filters) == _encode(stored):
        return
    with _report_as("filters"):
        require_known(filters, FIELDS_OF_FILTERS)
    known = _StoredNodes(None if stored is None else stored.get("properties"))
    rules = _Rules(known, complete)
    _check_tree(rules, filters["properties"], "filters", "properties")


def check_conditions(leaves: Sequence[object], attr: str) -> None:
    """Raise Invalid unless conditions that are combined by AND are valid.

    Conditions on cohorts may leave out their key, as older clients do.
    """
    _check_tree(_Rules(_StoredNodes(None), False), leaves, attr, "properties")


def check_groups(groups: Sequence[object], stored: Sequence[object] = ()) -> None:
    """Raise Invalid unless the entries of the older criteria are valid.

    Entries that equal a stored one are accepted unchecked.
    """
    known = {_encode(entry) for entry in stored}
    for index, entry in enumerate(groups):
        if _encode(entry) not in known:
            _check_entry(entry, f"groups[{index}]")


def _check_entry(entry: object, at: str) -> None:
    [normal] = normal_groups([entry])
    with _report_as("groups", with_position=True):
        check_group(normal, at)
    [group] = filters_of_groups([normal])["properties"]["values"]
    _check_tree(_Rules(_StoredNodes(None), False), group, "groups", at)


def _check_tree(rules: "_Rules", raw: object, attr: str, at: str) -> None:
    """Check all conditions of a tree.

    Args:
        raw: A group, a list of conditions combined by AND, or {} for no person.
    """
    count = sum(1 for _ in _conditions(raw))
    if count > LEAVES_MAX:
        raise Invalid(f"There are more than {LEAVES_MAX} conditions.", attr=attr)
    if raw == {}:
        return
    with _report_as(attr, with_position=count > 1 or attr == "groups"):
        rules.check_root(raw, at)


class _StoredNodes:
    """The stored groups and conditions, wherever they are in the tree.

    Each node has a number. A group is identified by its own fields and the numbers of its children
    (hash consing), so that nothing is compared twice.
    """

    def __init__(self, properties: object) -> None:
        self._numbers: dict[tuple[object, ...], int] = {}
        if properties is not None:
            self._add(properties)

    def has(self, node: object) -> bool:
        return bool(self._numbers) and self._number(node) is not None

    def _add(self, node: object) -> int:
        inner = tuple(self._add(child) for child in _inside(node))
        return self._numbers.setdefault(_key(node, inner), len(self._numbers))

    def _number(self, node: object) -> int | None:
        inner = []
        for child in _inside(node):
            number = self._number(child)
            if number is None:
                return None
            inner.append(number)
        return self._numbers.get(_key(node, tuple(inner)))


def _key(node: object, inner: tuple[int, ...]) -> tuple[object, ...]:
    if isinstance(node, dict) and isinstance(node.get("values"), list):
        node = {name: value for name, value in node.items() if name != "values"}
    elif isinstance(node, list):
        node = []
    return (_encode(node), inner)


def _inside(node: object) -> list[Any]:
    values = node.get("values") if isinstance(node, dict) else node
    return values if isinstance(values, list) else []


def _conditions(raw: object) -> Iterator[object]:
    """Yield all conditions of a tree, including those in `event_filters`."""
    inner = _inside(raw)
    if not inner and isinstance(raw, dict) and raw and "values" not in raw:
        yield raw
        filters = raw.get("event_filters")
        yield from filters if isinstance(filters, list) else ()
    for child in inner:
        yield from _conditions(child)


class _Rules:
    """The checks of groups and conditions.

    Every check raises Invalid with the position as its `attr`.
    """

    def __init__(self, stored: _StoredNodes, complete: bool) -> None:
        self._stored = stored
        self._complete = complete

    def check_root(self, raw: object, at: str) -> None:
        if isinstance(raw, list):
            raw = {"type": "AND", "values": raw}
        if not isinstance(raw, dict):
            raise Invalid("Criteria must be a group, or a list of conditions.", attr=at)
        self._check_group(raw, at, 0)

    def _check_node(self, raw: object, at: str, depth: int) -> None:
        if self._stored.has(raw):
            return
        if not isinstance(raw, dict):
            raise Invalid("A condition must be an object.", attr=at)
        if _is_group(raw):
            self._check_group(raw, at, depth)
        else:
            self._check_condition(raw, at)

    def _check_group(self, raw: Mapping[str, Any], at: str, depth: int) -> None:
        require_known(raw, FIELDS_OF_GROUP, at)
        kind, values = raw.get("type"), raw.get("values")
        if not isinstance(kind, str) or kind.upper() not in ("AND", "OR"):
            detail = f'Invalid type "{shortened(kind)}" of a group. Allowed are: AND, OR.'
            raise Invalid(detail, attr=at)
        if not isinstance(values, list):
            raise Invalid("A group must have a list of values.", attr=at)
        if depth >= GROUP_DEPTH_MAX:
            raise Invalid(f"Groups are nested deeper than {GROUP_DEPTH_MAX}.", attr=at)
        groups = sum(_is_group(value) for value in values)
        if 0 < groups < len(values):
            raise Invalid(MIXED)  # PostHog's text, without the position
        for index, value in enumerate(values):
            self._check_node(value, f"{at}.values[{index}]", depth + 1)

    def _check_condition(self, raw: Mapping[str, Any], at: str) -> None:
        kind = raw.get("type")
        if kind == "person":
            check_condition(PersonCondition, raw, at)
        elif kind == "behavioral":
            _check_behavioral(raw, at)
        elif isinstance(kind, str) and kind in COHORT_TYPES:
            check_condition(CohortCondition, raw, at, complete=self._complete)
        elif kind is None:
            raise Invalid(f"A condition needs a type. Allowed are: {', '.join(_TYPES)}.", attr=at)
        else:
            detail = f'A condition of type "{shortened(kind)}" cannot be used in a cohort.'
            raise Invalid(f"{detail} {suggestion(str(kind), _TYPES)}", attr=at)


def _check_behavioral(raw: Mapping[str, Any], at: str) -> None:
    require_known(raw, FIELDS_OF_BEHAVIORAL, at)
    fields = ConditionFields(raw, "behavioral", at)
    fields.require("key", "value", "event_type")
    kind = raw["value"]
    if not isinstance(kind, str) or kind not in BEHAVIOURS:
        detail = f'Unknown value "{shortened(kind)}" for type "behavioral".'
        raise fields.error(f"{detail} {suggestion(str(kind), BEHAVIOURS)}")
    for name, kinds in EMPTY_UNLESS_READ.items():
        if raw.get(name) and kind not in kinds:
            detail = f"{name} cannot be used with {kind}, only with {', '.join(kinds)}."
            raise fields.error(detail)
    NEGATION.read(fields, "negation", {})
    try:
        parse_behaviour(raw)
    except CriteriaError as error:
        raise fields.error(str(error)) from None
    for index, leaf in enumerate(raw.get("event_filters") or ()):
        check_condition(EventFilter, leaf, f"{at}.event_filters[{index}]")


def _is_group(raw: object) -> bool:
    """Return whether a node is a group, by the same rule as the parser."""
    return isinstance(raw, dict) and (
        "values" in raw or str(raw.get("type")).upper() in ("AND", "OR")
    )


@contextmanager
def _report_as(attr: str, *, with_position: bool = False) -> Iterator[None]:
    """Report errors with this `attr`; if `with_position`, the detail names the position."""
    try:
        yield
    except Invalid as problem:
        position = (problem.attr or "").partition("__")[0]
        where = f" (at {position})" if with_position and position else ""
        raise Invalid(f"{problem.detail}{where}", code=problem.code, attr=attr) from None
