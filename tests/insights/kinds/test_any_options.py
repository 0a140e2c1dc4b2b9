"""Whatever valid options are combined, a question is answered or refused; the store never fails.

Source: insights.md, section 1c.
"""

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from fanion.errors import Invalid
from fanion.insights.entities import MATHS
from fanion.insights.kinds.service import Calculator, read_sent_query
from fanion.insights.web_analytics.over_time.query import METRICS
from fanion.insights.web_analytics.query import WEB_BREAKDOWNS
from fanion.projects.model import Project
from tests.support.asked_actors import actors
from tests.support.histories import NOW, PERSONS, Analyst, History, HistoryEvent, history_event

Json = dict[str, Any]


def _seen(event: str, who: int, at: str, **properties: Any) -> HistoryEvent:
    return replace(history_event(event, who, at), properties=properties)


PAGE: Final = {"$current_url": "https://x.io/d/?q=1", "$session_id": "s2"}
HISTORY: Final = History(
    "Europe/Berlin",
    [
        _seen("a", 1, "2024-04-01T10:00", plan="free", n=1, **{"$group_0": "acme"}),
        _seen("b", 1, "2024-04-01T10:05", plan="pro", n="4", **{"$session_id": "s1"}),
        _seen("$pageview", 2, "2024-04-02T09:00", **PAGE),
        _seen("a", 3, "2024-03-20T09:00", n=-2.5, **{"$group_0": "corp"}),
        _seen("x", 3, "2024-04-03T09:00"),
    ],
    persons={PERSONS[0]: {"plan": "pro"}, PERSONS[1]: {"plan": ""}},
    merged={PERSONS[2]: PERSONS[0]},
    groups={(0, "acme"): {"plan": "free", "size": 20}},
)


def some(**options: Any) -> st.SearchStrategy[Json]:
    """Draw some of the options; one that is not a strategy lists its values."""
    of = {
        name: option if isinstance(option, st.SearchStrategy) else st.sampled_from(option)
        for name, option in options.items()
    }
    return st.fixed_dictionaries({}, optional=of)


SWITCH = (True, False)
INDEX = (0, 1)
CONDITIONS: tuple[Json, ...] = (
    {"key": "plan", "type": "event", "value": ["free"], "operator": "exact"},
    {"key": "n", "type": "event", "value": 2, "operator": "gt"},
    {"key": "plan", "type": "person", "operator": "is_set"},
    {"key": "plan", "type": "person", "value": "p.*", "operator": "regex"},
    {"key": "size", "type": "group", "group_type_index": 0, "value": 3, "operator": "lt"},
    {"key": "$group_key", "type": "group", "group_type_index": 0, "value": "acme"},
    {"key": "$session_duration", "type": "session", "value": 1, "operator": "gt"},
    {"key": "$entry_pathname", "type": "session", "value": "/d", "operator": "icontains"},
    {"key": "$channel_type", "type": "session", "value": ["Direct"], "operator": "exact"},
    {"key": "$is_bounce", "type": "session", "value": [True], "operator": "exact"},
)
PROPERTIES = st.lists(st.sampled_from(CONDITIONS), max_size=2)
ONE_BREAKDOWN = st.one_of(
    st.fixed_dictionaries(
        {
            "property": st.sampled_from(
                ("plan", "n", "$session_duration", "$channel_type", "$entry_pathname")
            ),
            "type": st.sampled_from(("event", "person", "session")),
        },
        optional={
            "histogram_bin_count": st.sampled_from((1, 4)),
            "normalize_url": st.sampled_from(SWITCH),
        },
    ),
    st.fixed_dictionaries(
        {
            "property": st.sampled_from(("plan", "size")),
            "type": st.just("group"),
            "group_type_index": st.sampled_from(INDEX),
        },
        optional={"histogram_bin_count": st.sampled_from((1, 4))},
    ),
    st.just({"property": "all", "type": "cohort"}),
)
ENTITY = some(
    id=("a", "b", "$pageview", None),
    math=tuple(MATHS),
    math_property=("n", "plan", "$session_duration"),
    math_property_type=("event_properties", "person_properties", "session_properties"),
    math_group_type_index=INDEX,
    properties=PROPERTIES,
    custom_name=("A",),
)
STEP = some(id=("a", "b", "$pageview", None), properties=PROPERTIES)
STEP_OF_FUNNEL = some(
    id=("a", "b", "$pageview", None),
    properties=PROPERTIES,
    optionalInFunnel=SWITCH,
    math=("total", "first_time_for_user", "first_time_for_user_with_filters"),
)
COMMON: Json = {
    "date_from": ("-7d", "-24h", "all", "-1mStart", "2024-03-31", "2024-03-30T10:30:00Z", "wStart"),
    "date_to": ("2024-04-02", "-1d", "-1mEnd", None),
    "explicit_date": SWITCH,
    "interval": ("minute", "hour", "day", "week", "month", "quarter", "year"),
    "properties": PROPERTIES,
    "filter_test_accounts": SWITCH,
    "sampling_factor": (0.5, 1),
    "aggregation_group_type_index": INDEX,
}
BROKEN_DOWN: Json = {
    "breakdowns": st.lists(ONE_BREAKDOWN, min_size=1, max_size=3),
    "breakdown_limit": (1, 25),
    "breakdown_hide_other_aggregation": SWITCH,
}
COMPARED: Json = {"compare": SWITCH, "compare_to": ("-1w", "-1m")}
DISPLAYS = (
    *("ActionsLineGraph", "ActionsLineGraphCumulative", "ActionsTable", "ActionsPie"),
    *("BoldNumber", "WorldMap", "ActionsBarValue", "CalendarHeatmap"),
)
KINDS: dict[str, st.SearchStrategy[Json]] = {
    "TRENDS": some(
        events=st.lists(ENTITY, min_size=1, max_size=3),
        formula=("A", "A/B", "A + 2 * (B - C)"),
        smoothing_intervals=(1, 3),
        display=DISPLAYS,
        **COMMON,
        **BROKEN_DOWN,
        **COMPARED,
    ),
    "FUNNELS": some(
        events=st.lists(STEP_OF_FUNNEL, min_size=1, max_size=3),
        funnel_order_type=("ordered", "strict", "unordered"),
        funnel_viz_type=("steps", "trends", "time_to_convert"),
        funnel_window_interval=(1, 30),
        funnel_window_interval_unit=("second", "minute", "hour", "day", "week", "month"),
        exclusions=st.lists(
            st.just({"id": "x", "funnel_from_step": 0, "funnel_to_step": 1}), max_size=1
        ),
        breakdown_attribution_type=("first_touch", "last_touch", "all_events", "step"),
        breakdown_attribution_value=(0, 1),
        funnel_from_step=(0, 1),
        funnel_to_step=(1, 2),
        bin_count=(1, 5),
        **COMMON,
        **BROKEN_DOWN,
        **COMPARED,
    ),
    "FUNNELS_CORRELATION": some(
        events=st.lists(STEP, min_size=2, max_size=3),
        funnel_order_type=("ordered", "strict", "unordered"),
        funnel_correlation_type=("events", "properties", "event_with_properties"),
        funnel_correlation_names=(["$all"], ["plan"]),
        funnel_correlation_event_names=(["b"], ["x", "$pageview"]),
        funnel_correlation_exclude_event_names=(["b"],),
        **COMMON,
    ),
    "RETENTION": some(
        target_entity=STEP,
        returning_entity=STEP,
        period=("Hour", "Day", "Week", "Month"),
        total_intervals=(1, 3, 11),
        retention_type=("retention_recurring", "retention_first_time"),
        cumulative=SWITCH,
        minimum_occurrences=(1, 2),
        time_window_mode=("strict_calendar_dates", "24_hour_windows"),
        retention_custom_brackets=([], [1, 2], [11]),
        aggregation_type=("count", "sum", "avg"),
        aggregation_property=("n",),
        **COMMON,
        **BROKEN_DOWN,
    ),
    "STICKINESS": some(
        events=st.lists(ENTITY, min_size=1, max_size=2),
        computed_as=("cumulative", "non_cumulative"),
        stickiness_criteria=({"operator": "gte", "value": 2}, {"operator": "exact", "value": 1}),
        **COMMON,
        **COMPARED,
    ),
    "LIFECYCLE": some(events=st.lists(STEP, min_size=1, max_size=1), **COMMON),
    "PATHS": some(
        include_event_types=(["$pageview"], ["custom_event", "$screen"]),
        include_custom_events=(["a"],),
        exclude_events=(["b"],),
        start_point=("a", "https://x.io/d"),
        end_point=("b", "x"),
        path_groupings=(["https://*"],),
        path_replacements=SWITCH,
        local_path_cleaning_filters=([{"regex": "\\d+", "alias": "n"}],),
        step_limit=(2, 5),
        edge_limit=(1, 50),
        min_edge_weight=(0, 2),
        max_edge_weight=(1, 9),
        **COMMON,
    ),
}
PLACES: dict[str, st.SearchStrategy[Json]] = {
    "TRENDS": some(
        entity_order=INDEX,
        day=("2024-04-01", "2024-04-01 10:00:00"),
        breakdown_value=("free", "$$_posthog_breakdown_other_$$", "$$_posthog_breakdown_null_$$"),
        compare_label=("current", "previous"),
    ),
    "FUNNELS": some(
        funnel_step=(1, 2, -2),
        funnel_step_breakdown=("free", [""]),
        funnel_custom_steps=([1],),
        entrance_period_start=("2024-04-01",),
        drop_off=SWITCH,
        compare_label=("current", "previous"),
    ),
    "FUNNELS_CORRELATION": some(
        funnel_correlation_person_entity=({"id": "b"},),
        funnel_correlation_person_converted=SWITCH,
        funnel_correlation_property_values=([{"key": "plan", "type": "person", "value": "pro"}],),
    ),
    "RETENTION": some(selected_interval=(0, 2), breakdown_value=("free",)),
    "STICKINESS": some(
        entity_order=INDEX, stickiness_days=(1, 2), compare_label=("current", "previous")
    ),
    "LIFECYCLE": some(
        target_date=("2024-04-01",), lifecycle_type=("new", "returning", "resurrecting", "dormant")
    ),
    "PATHS": some(path_start_key=("1_a",), path_end_key=("2_b",), path_dropoff_key=("1_a",)),
}
GOAL = st.just({"customEventName": "b"})
WEB: Json = {
    "dateRange": some(date_from=COMMON["date_from"], date_to=COMMON["date_to"]),
    "properties": PROPERTIES,
    "filterTestAccounts": SWITCH,
    "compareFilter": some(compare=SWITCH, compare_to=("-1w",)),
    "conversionGoal": GOAL,
    "limit": (1, 10),
    "offset": (0, 5),
}
WEB_KINDS: dict[str, st.SearchStrategy[Json]] = {
    "WebOverviewQuery": some(**{n: WEB[n] for n in WEB if n not in ("limit", "offset")}),
    "WebStatsTableQuery": some(
        breakdownBy=WEB_BREAKDOWNS,
        includeBounceRate=SWITCH,
        includeAvgTimeOnPage=SWITCH,
        doPathCleaning=SWITCH,
        orderBy=(["Visitors", "DESC"], ["Views", "ASC"], ["BounceRate"], ["ConversionRate"]),
        **WEB,
    ),
    "WebTrendsQuery": some(
        metrics=(["BounceRate"], list(METRICS)),
        interval=("hour", "day", "week", "month"),
        **{n: WEB[n] for n in ("dateRange", "properties", "filterTestAccounts", "compareFilter")},
    ),
    "WebExternalClicksTableQuery": some(
        stripQueryParams=SWITCH,
        orderBy=(["Visitors", "ASC"], ["Clicks"]),
        **{n: WEB[n] for n in WEB if n != "conversionGoal"},
    ),
    "WebGoalsQuery": some(
        goals=st.lists(GOAL, max_size=2), orderBy=(["ConversionRate", "ASC"],), **WEB
    ),
}
BOUNDED = settings(max_examples=6, database=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
async def stored(analyst: Analyst) -> Project:
    return await analyst.store(HISTORY)


@pytest.mark.parametrize("kind", KINDS)
@BOUNDED
@given(data=st.data())
async def test_any_question_is_answered_or_refused(
    analyst: Analyst, stored: Project, kind: str, data: st.DataObject
) -> None:
    question = {"insight": kind, **data.draw(KINDS[kind])}
    place = data.draw(PLACES[kind])
    note(json.dumps([question, place]))
    with suppress(Invalid):
        await analyst.ask(stored, **question)
        await actors(analyst, stored, **question, **place)


@pytest.mark.parametrize("kind", WEB_KINDS)
@BOUNDED
@given(data=st.data())
async def test_any_question_of_a_site_is_answered_or_refused(
    analyst: Analyst, stored: Project, kind: str, data: st.DataObject
) -> None:
    question = {"kind": kind, **data.draw(WEB_KINDS[kind])}
    note(json.dumps(question))
    with suppress(Invalid):
        query = read_sent_query(question)
        await Calculator(analyst.analysis).result(stored, query, NOW)
