"""Parsing of the parts that every question has: range, conditions, events and breakdown.

Every function raises Invalid for a field that it cannot read.

Source: insights.md, section 2.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from fanion.errors import Invalid
from fanion.insights.dates.bounds import Bound, parse_bound
from fanion.insights.parsing.conditions import parse_filter
from fanion.insights.parsing.fields import TIMES_STAND, Fields
from fanion.insights.query import Breakdown, Breakdowns, BreakdownType, Entity, Scope
from fanion.insights.sessions.fields import check_session_field
from fanion.properties.filters import Node
from fanion.properties.operators import VALUES_MAX as IDS_MAX
from fanion.rest.posthog_insight_fields import ACCOMPANYING, DRAWN

# The types for which insights/sql/breakdown.py has SQL.
BREAKDOWN_TYPES: Final[tuple[BreakdownType, ...]] = (
    "event",
    "person",
    "group",
    "session",
    "cohort",
)
ENTITIES_MAX = 20
BREAKDOWNS_MAX = 3
VALUES_MAX = 25  # values of a breakdown, unless the question sets a limit
VALUES_MOST = 500
BINS_MAX = 100
GROUP_TYPES_MAX = 5
_NO_FILTERS = DRAWN | ACCOMPANYING | {TIMES_STAND}


def parse_scope(fields: Fields) -> Scope:
    # `check_sampling` refuses it in new questions; a stored one is ignored, as answers are exact.
    fields.raw("sampling_factor")
    sent = fields.values
    times_stand = fields.boolean(TIMES_STAND)
    return Scope(
        since=_bound(fields, "date_from", times_stand),
        until=_bound(fields, "date_to", times_stand),
        is_explicit=fields.boolean("explicit_date"),
        properties=parse_conditions(fields),
        filter_test_accounts=fields.boolean("filter_test_accounts"),
        group_type_index=fields.whole("aggregation_group_type_index", 0, GROUP_TYPES_MAX - 1),
        sent={name: sent[name] for name in sent if name not in _NO_FILTERS},
    )


def check_sampling(factor: object, at: str) -> None:
    """Raise Invalid for a factor that asks for a sample of the persons: answers are exact."""
    if factor in (None, ""):
        return
    try:
        is_whole = not isinstance(factor, bool) and float(str(factor)) == 1
    except ValueError:
        is_whole = False
    if not is_whole:
        detail = "Sampling is not supported, since answers are exact. Leave it out, or set it to 1."
        raise Invalid(detail, attr=at)


def _bound(fields: Fields, name: str, times_stand: bool) -> Bound:
    bound = parse_bound(fields.raw(name), fields.place(name))
    return replace(bound, stands=times_stand and bound.moment is not None)


def parse_conditions(fields: Fields, name: str = "properties") -> Node | None:
    return parse_filter(fields.raw(name), fields.place(name))


def project_conditions(test_account_filters: Sequence[Any]) -> Node | None:
    return parse_filter(list(test_account_filters), "filter_test_accounts")


def parse_entities(
    fields: Fields, name: str = "events", most: int = ENTITIES_MAX
) -> tuple[tuple[Entity, Fields], ...]:
    """Parse the events of a question, sorted by `order` if all have one.

    Returns:
        Each entity with its fields, from which a kind reads the options that only it knows.

    Source: insights.md, section 2a.
    """
    if fields.raw("actions"):
        raise fields.error("actions", "Actions are not supported. Leave it out.")
    items = fields.items(name, most)
    entities = [(parse_entity(item, number), item) for number, item in enumerate(items)]
    if all(_has_order(item) for item in items):
        entities.sort(key=lambda pair: pair[0].order)
    return tuple(entities)


def parse_entity(fields: Fields, number: int = 0) -> Entity:
    event = fields.raw("id")
    if event is not None and not isinstance(event, str):
        raise fields.error("id", "The id of an event must be a string.")
    if fields.raw("type") not in (None, "events"):
        raise fields.error("type", 'The type of a series must be "events".')
    order = fields.raw("order")
    fixed = parse_conditions(fields, "fixedProperties")
    own = Scope(properties=parse_conditions(fields)).with_conditions(fixed)
    return Entity(
        event=event,
        order=order if _has_order(fields) else number,
        name=fields.text("name"),
        custom_name=fields.text("custom_name"),
        properties=own.properties,
        sent=fields.values,
    )


def _has_order(fields: Fields) -> bool:
    order = fields.raw("order")
    return isinstance(order, int) and not isinstance(order, bool)


def parse_breakdowns(fields: Fields, limit: int = VALUES_MAX) -> Breakdowns | None:
    """Parse the breakdown of a question; return None without one.

    Args:
        limit: The number of values shown, unless the question sets one.

    Source: insights.md, section 2e.
    """
    parts = _listed(fields) or _single(fields)
    shown = fields.whole("breakdown_limit", 1, VALUES_MOST)
    hide_other = fields.boolean("breakdown_hide_other_aggregation")
    return Breakdowns(parts, shown or limit, hide_other) if parts else None


def _listed(fields: Fields) -> tuple[Breakdown, ...]:
    return tuple(_listed_part(item) for item in fields.items("breakdowns", BREAKDOWNS_MAX))


def _listed_part(fields: Fields) -> Breakdown:
    name = "value" if fields.raw("property") is None and fields.raw("value") else "property"
    kind = _type(fields, "type")
    key = _cohort_key(fields, fields.raw(name), name) if kind == "cohort" else fields.text(name)
    index = _group_index(fields, kind, "group_type_index")
    bins = fields.whole("histogram_bin_count", 1, BINS_MAX)
    normalize = fields.boolean("normalize_url")
    fields.refuse_unread("Breakdowns", ())
    if key is None:
        raise fields.error("property", "Name one property.")
    if kind == "session":
        check_session_field(key, fields.place(name))
    return Breakdown(kind, key, index, bins, normalize)


def _single(fields: Fields) -> tuple[Breakdown, ...]:
    raw, kind = fields.raw("breakdown"), _type(fields, "breakdown_type")
    index = _group_index(fields, kind, "breakdown_group_type_index")
    bins = fields.whole("breakdown_histogram_bin_count", 1, BINS_MAX)
    normalize = fields.boolean("breakdown_normalize_url")
    if raw is None or raw == "" or raw == []:
        return ()
    if kind == "cohort":
        return _cohorts(fields, raw)
    keys = raw if isinstance(raw, list) else [raw]
    if not all(isinstance(key, str) and key for key in keys):
        raise fields.error("breakdown", "breakdown must name one property.")
    if len(keys) > BREAKDOWNS_MAX:
        detail = f"Ensure this list has at most {BREAKDOWNS_MAX} elements."
        raise fields.error("breakdown", detail)
    for key in keys if kind == "session" else ():
        check_session_field(key, fields.place("breakdown"))
    return tuple(Breakdown(kind, key, index, bins, normalize) for key in keys)


def _cohorts(fields: Fields, raw: object) -> tuple[Breakdown, ...]:
    """Parse the ids of cohorts; `all` and 0 mean everyone."""
    ids = raw if isinstance(raw, list) else [raw]
    if len(ids) > IDS_MAX:
        raise fields.error("breakdown", f"Ensure this list has at most {IDS_MAX} elements.")
    keys = [_cohort_key(fields, value, "breakdown") for value in ids]
    return tuple(Breakdown("cohort", key) for key in dict.fromkeys(keys))


def _cohort_key(fields: Fields, value: object, name: str) -> str:
    if value in ("all", "0") or (value == 0 and not isinstance(value, bool)):
        return "all"
    text = str(value)
    if isinstance(value, bool) or not (text.isdecimal() and len(text) <= 18):
        raise fields.error(name, 'A breakdown by cohort needs ids, or "all".')
    return text


def _type(fields: Fields, name: str) -> BreakdownType:
    kind = fields.text(name)
    for known in BREAKDOWN_TYPES:
        if kind == known or (kind is None and known == "event"):
            return known
    raise fields.error(name, f"Breakdowns of type {kind} are not supported.")


def _group_index(fields: Fields, kind: str, name: str) -> int | None:
    index = fields.whole(name, 0, GROUP_TYPES_MAX - 1)
    if kind == "group" and index is None:
        raise fields.required(name)
    return index


def parse_compare_to(fields: Fields) -> Bound | None:
    """Parse how far back the range to compare with lies: a distance such as `-1w`.

    Returns:
        None if the question does not say; the distance then depends on its range.

    Source: insights.md, section 4d.
    """
    bound = parse_bound(fields.raw("compare_to"), fields.place("compare_to"))
    if bound.text is None:
        return None
    if not bound.is_distance or not bound.count:
        raise fields.error("compare_to", "Must be a distance such as -1w.")
    return bound
