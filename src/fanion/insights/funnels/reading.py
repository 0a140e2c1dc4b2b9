"""Parsing of the question of a funnel, and of a correlation.

Every function raises Invalid for a field that it cannot read.

Source: insights.md, section 5.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, get_args

from fanion.insights.dates.intervals import parse_interval
from fanion.insights.funnels.query import (
    Attribution,
    CorrelationType,
    Exclusion,
    FunnelCorrelationQuery,
    FunnelsQuery,
    StepOrder,
    Visualization,
    Window,
    WindowUnit,
)
from fanion.insights.funnels.steps import contains
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.scope import (
    parse_breakdowns,
    parse_entities,
    parse_entity,
    parse_scope,
)
from fanion.insights.query import Breakdowns, Entity
from fanion.rest.posthog_insight_fields import OF_KINDS

STEPS_MAX = 20
EXCLUSIONS_MAX = 20
BINS_MAX = 1_000  # that a question may ask for; the answer has fewer
WINDOW_SECONDS_MAX = 3_650 * 86_400
NAMES_MAX = 100

_UNITS: Final = get_args(WindowUnit)
_SECONDS: Final = {
    "second": 1,
    "minute": 60,
    "hour": 3_600,
    "day": 86_400,
    "week": 7 * 86_400,
    "month": 31 * 86_400,
}
_CORRELATION_NAMES = frozenset(name for name in OF_KINDS if name.startswith("funnel_correlation_"))
_FUNNEL_NAMES = frozenset(
    {
        *("funnel_viz_type", "funnel_order_type", "funnel_window_days", "funnel_window_interval"),
        *("funnel_window_interval_unit", "funnel_from_step", "funnel_to_step", "bin_count"),
        *("exclusions", "breakdown_attribution_type", "breakdown_attribution_value"),
        "funnel_aggregate_by_hogql",
    }
)
_PASSED_OVER = OF_KINDS - _FUNNEL_NAMES
# Names for the list of persons behind a correlation, which has its own address.
_CORRELATED_PERSONS_NAMES = frozenset(
    {
        *("funnel_correlation_person_entity", "funnel_correlation_person_converted"),
        *("funnel_correlation_person_limit", "funnel_correlation_person_offset"),
        "funnel_correlation_property_values",
    }
)
# Fields of an event that do not affect the funnel: clients write its place and its kind in them.
_ENTITY_NAMES = frozenset({"event", "kind", "index", "uuid", "custom_event"})


def read_funnels(fields: Fields) -> FunnelsQuery:
    query = _funnel(fields)
    fields.refuse_unread("Funnels", _PASSED_OVER)
    return query


def read_correlation(fields: Fields) -> FunnelCorrelationQuery:
    """Parse the question of a correlation.

    Source: insights.md, section 5i.
    """
    funnel = _correlated_funnel(fields)
    kind: CorrelationType = fields.choice(
        "funnel_correlation_type", get_args(CorrelationType), "events"
    )
    names = _names(fields, "funnel_correlation_names")
    query = FunnelCorrelationQuery(
        scope=funnel.scope,
        funnel=replace(funnel, visualization="steps"),
        type=kind,
        names=() if "$all" in names else names,
        exclude_names=_names(fields, "funnel_correlation_exclude_names"),
        event_names=_names(fields, "funnel_correlation_event_names"),
        exclude_event_names=_names(fields, "funnel_correlation_exclude_event_names"),
        exclude_property_names=_names(fields, "funnel_correlation_event_exclude_property_names"),
    )
    if kind == "properties" and not names:
        raise fields.required("funnel_correlation_names")
    _check_correlation(fields, query)
    fields.refuse_unread(
        "Correlations", (_PASSED_OVER - _CORRELATION_NAMES) | _CORRELATED_PERSONS_NAMES
    )
    return query


def _correlated_funnel(fields: Fields) -> FunnelsQuery:
    funnel = _funnel(fields)
    if funnel.breakdowns is not None:
        name = "breakdowns" if fields.raw("breakdowns") else "breakdown"
        detail = "A correlation cannot have a breakdown. Leave it out."
        raise fields.error(name, detail)
    if len(funnel.steps) < 2:
        raise fields.error("events", "A correlation needs at least two steps.")
    return funnel


def _check_correlation(fields: Fields, query: FunnelCorrelationQuery) -> None:
    if query.type == "event_with_properties" and not query.event_names:
        raise fields.required("funnel_correlation_event_names")
    if query.type == "properties" and query.scope.group_type_index is not None:
        detail = (
            "Only properties of persons can be correlated. Leave aggregation_group_type_index out."
        )
        raise fields.error("aggregation_group_type_index", detail)


def _names(fields: Fields, name: str) -> tuple[str, ...]:
    return fields.texts(name, NAMES_MAX)


def _funnel(fields: Fields) -> FunnelsQuery:
    fields.raw("insight")
    fields.choice("shown_as", ("Volume",), "Volume")
    steps = tuple(_step(*pair) for pair in parse_entities(fields, most=STEPS_MAX))
    order: StepOrder = fields.choice("funnel_order_type", get_args(StepOrder), "ordered")
    kind = _visualization(fields)
    attribution, step = _attribution(fields, steps)
    first, last = _measured(fields, steps, kind)
    return FunnelsQuery(
        scope=parse_scope(fields),
        steps=steps,
        order=order,
        visualization=kind,
        window=_window(fields),
        exclusions=_exclusions(fields, steps, order),
        breakdowns=_breakdowns(fields, kind),
        attribution=attribution,
        attribution_step=step,
        from_step=first,
        to_step=last,
        bin_count=fields.whole("bin_count", 0, BINS_MAX) or None,
        interval=parse_interval(fields.raw("interval"), fields.place("interval")),
    )


def _step(entity: Entity, fields: Fields) -> Entity:
    """Return the step if its math means persons: a funnel counts nothing else."""
    fields.choice("math", ("total", "dau"), "total")
    fields.refuse_unread("Steps of a funnel", _ENTITY_NAMES)
    return entity


def _visualization(fields: Fields) -> Visualization:
    """Return the visualization, which the oldest clients ask for by `display`."""
    display = fields.choice("display", ("FunnelViz", "ActionsLineGraph"), "FunnelViz")
    default: Visualization = "trends" if display == "ActionsLineGraph" else "steps"
    return fields.choice("funnel_viz_type", get_args(Visualization), default)


def _window(fields: Fields) -> Window:
    """Return the window; `funnel_window_days` wins over the other names."""
    most = WINDOW_SECONDS_MAX
    number = fields.whole("funnel_window_interval", 1, most)
    unit: WindowUnit = fields.choice("funnel_window_interval_unit", _UNITS, "day")
    days = fields.whole("funnel_window_days", 1, most // _SECONDS["day"])
    if days is not None:
        return Window(days, "day")
    if number is None:
        number = Window().number
    if number * _SECONDS[unit] > most:
        limit = most // _SECONDS[unit]
        detail = f"Ensure this value is between 1 and {limit}."
        raise fields.error("funnel_window_interval", detail)
    return Window(number, unit)


def _attribution(fields: Fields, steps: Sequence[Entity]) -> tuple[Attribution, int]:
    kind: Attribution = fields.choice(
        "breakdown_attribution_type", get_args(Attribution), "first_touch"
    )
    name = "breakdown_attribution_value"
    number = fields.whole(name, 0, max(len(steps) - 1, 0))
    if kind == "step" and number is None:
        raise fields.required(name)
    return kind, number or 0


def _measured(fields: Fields, steps: Sequence[Entity], kind: Visualization) -> tuple[int, int]:
    """Return the first and last measured step, by default those of the whole funnel."""
    last = len(steps) - 1
    if kind == "time_to_convert" and last == 0:
        raise fields.error("events", "Time to convert needs at least two steps.")
    if last < 1:
        fields.whole("funnel_from_step", 0, 0)
        fields.whole("funnel_to_step", 0, 1)
        return 0, 0
    start = fields.whole("funnel_from_step", 0, last)
    end = fields.whole("funnel_to_step", 1, last)
    measured = start or 0, last if end is None else end
    if measured[0] >= measured[1] and kind != "steps":
        raise fields.error("funnel_from_step", "funnel_from_step must be before funnel_to_step.")
    return measured


def _breakdowns(fields: Fields, kind: Visualization) -> Breakdowns | None:
    breakdowns = parse_breakdowns(fields)
    if breakdowns is None:
        return None
    name = "breakdowns" if fields.raw("breakdowns") else "breakdown"
    if kind == "time_to_convert":
        detail = "Time to convert cannot have a breakdown. Leave it out."
        raise fields.error(name, detail)
    if len({part.type for part in breakdowns.parts}) > 1:
        detail = "All properties of a breakdown of a funnel must be of the same type."
        raise fields.error(name, detail)
    if breakdowns.parts[0].type in ("person", "cohort") and _counts_groups(fields):
        detail = "Groups have no value of this breakdown. Leave it out."
        raise fields.error("breakdown_type", detail)
    if any(part.bins is not None for part in breakdowns.parts):
        detail = "Funnels with breakdown_histogram_bin_count are not supported. Leave it out."
        raise fields.error("breakdown_histogram_bin_count", detail)
    return breakdowns


def _counts_groups(fields: Fields) -> bool:
    return fields.raw("aggregation_group_type_index") not in (None, "")


def _exclusions(fields: Fields, steps: Sequence[Entity], order: StepOrder) -> tuple[Exclusion, ...]:
    """Parse the exclusions.

    Source: insights.md, section 5d, "400 when".
    """
    items = fields.items("exclusions", EXCLUSIONS_MAX)
    return tuple(_exclusion(item, steps, order) for item in items)


def _exclusion(fields: Fields, steps: Sequence[Entity], order: StepOrder) -> Exclusion:
    entity, last = parse_entity(fields), len(steps) - 1
    start = fields.whole("funnel_from_step", 0, STEPS_MAX)
    end = fields.whole("funnel_to_step", 0, STEPS_MAX)
    fields.refuse_unread("Exclusions", _ENTITY_NAMES)
    if start is None:
        raise fields.required("funnel_from_step")
    if end is None:
        raise fields.required("funnel_to_step")
    if start >= end:
        detail = "An exclusion must end at a later step than it starts."
        raise fields.error("funnel_from_step", detail)
    if start >= last:
        raise fields.error("funnel_from_step", "An exclusion must start before the last step.")
    if end > last:
        raise fields.error("funnel_to_step", "An exclusion must end at a step of the funnel.")
    if order == "unordered" and (start, end) != (0, last):
        detail = "An exclusion of an unordered funnel must span all of its steps."
        raise fields.error("funnel_from_step", detail)
    if any(contains(entity, step) for step in steps[start : end + 1]):
        detail = "An exclusion cannot be, or contain, one of the steps it spans."
        raise fields.error("id", detail)
    return Exclusion(entity, start, end)
