"""Worked examples of SQL within insights: what a series counts, its breakdown and its conditions.

Source: insights.md, sections 2b, 2e, 4a and 10.
"""

from typing import Any
from uuid import UUID

import pytest

from fanion.errors import Invalid
from tests.insights.trends.test_actors import actors, place_of
from tests.support.histories import PERSONS, Analyst, History, history_event

ZONE = "Europe/Berlin"
ACME: dict[str, Any] = {"$group_0": "acme"}
SESSION: dict[str, Any] = {"$session_id": "s1"}
SHOP = History(
    ZONE,
    [
        history_event("paid", 1, "2024-04-01T10:00", ZONE, plan="pro", price=10, **ACME),
        history_event("paid", 2, "2024-04-01T00:30", ZONE, plan="free", price=2.5),
        history_event("paid", 3, "2024-04-02T11:00", ZONE, price="7", **SESSION),
        history_event("seen", 3, "2024-04-02T11:05", ZONE, plan="", **SESSION),
    ],
    persons={PERSONS[0]: {"email": "ann@example.com"}, PERSONS[2]: {}},
    merged={PERSONS[1]: PERSONS[0]},
    groups={(0, "acme"): {"name": "Acme"}},
)
WITHIN = {"type": "AND", "values": [{"type": "hogql", "key": "project_id"}]}
LONG = f"[{'1, ' * 1_300}{{}}] = []"
RANGE: dict[str, Any] = {"date_from": "2024-04-01", "date_to": "2024-04-02"}


async def ask(analyst: Analyst, **question: Any) -> Any:
    project = await analyst.store(SHOP)
    return await analyst.ask(project, **{"events": [{"id": "paid"}], **RANGE, **question})


def by(text: str) -> dict[str, Any]:
    return {"breakdown": text, "breakdown_type": "hogql"}


def held(text: str, **more: Any) -> dict[str, Any]:
    return {"properties": [{"type": "hogql", "key": text, **more}]}


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("count()", [2, 1]),
        ("count() + 1", [3, 2]),
        ("uniq(person_id)", [1, 1]),
        ("uniq(distinct_id)", [2, 1]),
        ("sum(toFloat(properties.price))", [12.5, 7]),
        ("sum(toFloat(properties.price)) / count()", [6.25, 7]),
        ("avgIf(toFloat(properties.price), properties.plan = 'free')", [2.5, 0]),
        ("count() / countIf(event = 'none')", [0, 0]),
        ("max(toHour(timestamp))", [10, 11]),
        ("uniq(person.properties.email)", [1, 0]),
        ("countIf(group_0.properties.name = 'Acme')", [1, 0]),
        ("quantile(0.5)(toFloat(properties.price))", [6.25, 7]),
        ("any(session.$session_duration)", [0, 300]),
        ("arraySum(x -> x * 2, groupArray(toFloat(properties.price)))", [25, 14]),
        ("countIf(created_at > '2001-01-01' and person.created_at > '1999-01-01')", [2, 1]),
    ],
)
async def test_a_series_counts_an_aggregate(analyst: Analyst, text: str, data: list[float]) -> None:
    [series] = await ask(analyst, events=[{"id": "paid", "math": "hogql", "math_hogql": text}])

    assert series["data"] == data
    assert series["action"]["math_hogql"] == text


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("properties.plan", {"pro": 1, "free": 1, "": 1}),
        ("if(toFloat(properties.price) > 5, 'much', 'little')", {"much": 2, "little": 1}),
        ("concat(event, '-', properties.plan)", {"paid-pro": 1, "paid-free": 1, "": 1}),
        ("person.properties.email", {"ann@example.com": 2, "": 1}),
        ("toString(person_id)", {str(PERSONS[0]): 2, str(PERSONS[2]): 1}),
        ("toDate(timestamp)", {"2024-04-01": 2, "2024-04-02": 1}),
        ("group_0.properties.name", {"Acme": 1, "": 2}),
        ("$group_0", {"acme": 1, "": 2}),
        ("session.$session_duration", {"300": 1, "": 2}),
        ("toStartOfDay(session.$start_timestamp)", {"2024-04-02 00:00:00": 1, "": 2}),
        ("session.$is_bounce", {"": 3}),
        ("1", {"1": 3}),
        ("null", {"": 3}),
        ("properties", {}),
    ],
)
async def test_an_expression_breaks_down(
    analyst: Analyst, text: str, counts: dict[str, int]
) -> None:
    single = await ask(analyst, **by(text))
    several = await ask(analyst, breakdowns=[{"property": text, "type": "hogql"}])

    found = {entry["breakdown_value"]: entry["count"] for entry in single}
    none = "$$_posthog_breakdown_null_$$"
    expected = {value or none: count for value, count in counts.items()}
    assert found == expected or (not counts and sum(found.values()) == 3)
    assert [entry["count"] for entry in several] == [entry["count"] for entry in single]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("properties.plan = 'pro'", 1),
        ("properties.plan != 'pro'", 2),
        ("toFloat(properties.price) >= 7", 2),
        ("properties.plan in ('pro', 'free') and event = 'paid'", 2),
        ("person.properties.email like '%@example.com'", 2),
        ("person_id = '00000000-0000-0000-0000-000000000001'", 2),
        ("group_0.properties.name = 'Acme'", 1),
        ("session.$session_duration > 100", 1),
        ("timestamp >= '2024-04-01 09:00:00'", 2),
        ("1", 3),
        ("null", 0),
        ("properties.none = 1", 0),
    ],
)
async def test_an_event_fulfils_a_condition(analyst: Analyst, text: str, count: int) -> None:
    [of_all] = await ask(analyst, **held(text))
    [of_series] = await ask(analyst, events=[{"id": "paid", **held(text)}])
    [negated] = await ask(analyst, **held(text, negation=True))

    assert (of_all["count"], of_series["count"], negated["count"]) == (count, count, 3 - count)


async def test_conditions_are_in_trees_and_in_every_kind(analyst: Analyst) -> None:
    project = await analyst.store(SHOP)
    pro = {"type": "hogql", "key": "properties.plan = 'pro'"}
    tree = {"type": "OR", "values": [pro, {"key": "plan", "value": "free"}]}

    [trend] = await analyst.ask(project, events=[{"id": "paid"}], properties=tree, **RANGE)
    funnel = await analyst.ask(
        project,
        insight="FUNNELS",
        events=[{"id": "paid", "order": 0}, {"id": "seen", "order": 1}],
        properties=[{"type": "hogql", "key": "session.id = 's1'"}],
        **by("toHour(timestamp)"),
        **RANGE,
    )
    [sticky] = await analyst.ask(
        project, insight="STICKINESS", events=[{"id": "paid", "properties": [pro]}], **RANGE
    )

    assert trend["count"] == 2
    assert [[step["count"] for step in steps] for steps in funnel] == [[1, 1]]
    assert funnel[0][0]["breakdown_value"] == ["11"]
    assert sticky["data"] == [1, 0]


async def test_the_persons_behind_a_number_are_those_that_it_counts(analyst: Analyst) -> None:
    project = await analyst.store(SHOP)
    question: dict[str, Any] = {
        "events": [{"id": "paid", "math": "hogql", "math_hogql": "uniq(person_id)"}],
        **by("properties.plan in ('pro', 'free')"),
        **held("toFloat(properties.price) > 1"),
        **RANGE,
    }
    answer = await analyst.ask(project, **question)

    shown = []
    for entry in answer:
        for number, url in zip(entry["data"], entry["persons_urls"], strict=True):
            found = await actors(analyst, project, **question, **place_of(url["url"]))
            assert len(found) == number
            shown += [actor for actor, _ in found]
    assert sorted(shown) == [PERSONS[0], PERSONS[2]]
    assert all(isinstance(actor, UUID) for actor in shown)


async def test_values_beyond_those_that_are_shown_totals_bins_and_sums(analyst: Analyst) -> None:
    series = [{"id": "paid", "math": "hogql", "math_hogql": "max(toFloat(properties.price))"}]
    price = "toFloat(properties.price)"

    most, other = await ask(analyst, events=series, breakdown_limit=1, **by(price))
    [total] = await ask(analyst, events=series, display="BoldNumber")
    low, high = await ask(analyst, breakdown_histogram_bin_count=2, **by(price))
    [running] = await ask(analyst, events=series, display="ActionsLineGraphCumulative")
    [formula] = await ask(analyst, events=[*series, {"id": "paid"}], formula="A / B")

    assert (most["breakdown_value"], most["data"], other["data"]) == ("10", [10, 0], [2.5, 7])
    assert total["aggregated_value"] == 10
    assert (low["breakdown_value"], low["count"]) == ("[6.25,10.01]", 2)
    assert (high["breakdown_value"], high["count"]) == ("[2.5,6.25]", 1)
    assert running["data"] == [10, 17]
    assert formula["data"] == [5, 7]


@pytest.mark.parametrize(
    ("question", "attr", "detail"),
    [
        ({"events": [{"math": "hogql", "math_hogql": "a"}]}, "events__0__math_hogql", "no column"),
        (
            {"events": [{}, {"math": "hogql", "math_hogql": "sum(1) +\n sleep(3)"}]},
            "events__1__math_hogql",
            'The function "sleep" is not supported. Line 2, column 2.',
        ),
        (
            {"events": [{"math": "hogql", "math_hogql": "properties.a"}]},
            "events__0__math_hogql",
            "A column must be within an aggregate here. Line 1, column 12.",
        ),
        (
            {"events": [{"math": "hogql", "math_hogql": "1"}]},
            "events__0__math_hogql",
            "This must be an aggregate",
        ),
        (
            {"events": [{"math": "hogql", "math_hogql": "sum(count())"}]},
            "events__0__math_hogql",
            "within another",
        ),
        (
            {"events": [{"math": "hogql", "math_hogql": "max(event)"}]},
            "events__0__math_hogql",
            "cannot be read as what the query takes it for",
        ),
        (by("count()"), "breakdown", "An aggregate cannot be used here. Line 1, column 1."),
        (by("row_number() over ()"), "breakdown", "OVER is not supported"),
        (by("arrayJoin([1, 2])"), "breakdown", "arrayJoin is not supported"),
        (by("(select 1)"), "breakdown", "SELECT is not supported within an insight"),
        (by("a, b"), "breakdown", "one expression"),
        (
            {"breakdowns": [{"property": "event"}, {"property": "f(1)", "type": "hogql"}]},
            "breakdowns__1__property",
            'The function "f" is not supported. Line 1, column 1.',
        ),
        (held("event = 'a' settings x = 1"), "properties__0__key", "one expression"),
        (held("1 in (select 1)"), "properties__0__key", "SELECT is not supported"),
        (held("person_id in cohort 1"), "properties__0__key", "a condition of type cohort"),
        (held("{filters}"), "properties__0__key", "{filters}"),
        (held("{v0}"), "properties__0__key", "no value"),
        (held(""), "properties__0__key", "empty"),
        (held("event"), "properties__0__key", "does not take a value of this type"),
        (held("1", value=3), "properties", "neither an operator nor a value"),
        (
            {"properties": {"type": "OR", "values": [{"key": "a", "value": "1"}, WITHIN]}},
            "properties__values__1__values__0__key",
            'There is no column "project_id". Line 1, column 1.',
        ),
        (
            {"events": [{"id": "a", **held("nothing")}]},
            "events__0__properties__0__key",
            'There is no column "nothing". Line 1, column 1.',
        ),
        (
            held(" or ".join(f"properties.x{n} = '1'" for n in range(101))),
            "properties__0__key",
            "more than 100 properties",
        ),
        (held("1 + " * 30 + "1 = '" + "x" * 2**16 + "'"), "properties__0__key", "too long"),
        (
            {"properties": [{"type": "hogql", "key": LONG.format(n)} for n in range(2)]},
            "properties__1__key",
            "too long together",
        ),
    ],
    ids=range(25),
)  # fmt: skip
async def test_what_is_wrong_is_told_with_its_place(
    analyst: Analyst, question: dict[str, Any], attr: str, detail: str
) -> None:
    with pytest.raises(Invalid) as raised:
        await ask(analyst, **question)

    assert detail in raised.value.detail
    assert raised.value.attr == attr
