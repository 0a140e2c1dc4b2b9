"""Answers to SQL, from a real event store.

Source: insights.md, section 10.
"""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from fanion.errors import Invalid
from fanion.insights.calculation.service import Analysis
from fanion.insights.hogql.query import read_hogql
from fanion.insights.hogql.service import SqlCalculator
from fanion.insights.parsing.fields import Fields
from tests.support.histories import NOW
from tests.support.sql import Asker

ANN = str(UUID(int=1))
THIRD = str(UUID(int=3))

ANSWERS: dict[str, list[list[Any]]] = {
    "select event, count() from events group by event order by event": [["paid", 1], ["seen", 2]],
    "select properties.plan, properties['price'] from events where event = 'paid'": [["pro", "10"]],
    "select properties.o, properties.o.x.y, properties.nope from events where event = 'paid'": [
        ['{"x":{"y":"z"}}', "z", None]
    ],
    "select properties.$browser from events where properties.$browser is not null": [["Firefox"]],
    # The person of today.
    "select distinct person_id from events order by person_id": [[ANN], [THIRD]],
    "select event, person.properties.email from events where person.properties.plan = 'vip' "
    "order by event": [["paid", "ann@example.com"], ["seen", "ann@example.com"]],
    "select person.id, person.properties.email from events where distinct_id = 'd3'": [
        [THIRD, None]
    ],
    f"select count() from events where person_id = '{ANN}'": [[2]],
    # Groups and sessions of an event.
    "select $group_0, group_0.properties.name, group_0.key from events order by uuid limit 2": [
        ["acme", "Acme", "acme"], ["", None, None],
    ],
    "select session.$session_duration from events order by uuid limit 2": [[0], [None]],
    # Other tables.
    "select id, properties.email from persons order by id": [
        [ANN, "ann@example.com"], [THIRD, None],
    ],
    "select index, key, properties.name from groups": [[0, "acme", "Acme"]],
    "select session_id, $pageview_count from sessions": [["s1", 0]],
    "select * from cohorts": [],
    # Times are in the project's zone, and so are the texts that they are compared with.
    "select timestamp from events where event = 'paid'": [["2024-04-03T01:00:00+02:00"]],
    "select toStartOfDay(timestamp), count() from events where timestamp > '2024-04-01' "
    "group by 1 order by 1": [
        ["2024-04-02T00:00:00+02:00", 1], ["2024-04-03T00:00:00+02:00", 1],
    ],
    "select event from events where timestamp >= '2024-04-03'": [["paid"]],
    "select event from events where timestamp >= toDate('2024-04-03')": [["paid"]],
    "select event from events where '2024-04-03 00:59:59' < timestamp": [["paid"]],
    "select count() from events where timestamp between '2024-04-02' and '2024-04-03'": [[1]],
    "select count() from events where timestamp > toDateTime('2024-04-03 02:00') - interval 1 day"
    "": [[2]],
    # A comparison with nothing is false, and its opposite true.
    "select count() from events where properties.plan != 'pro'": [[2]],
    "select count() from events where properties.plan not in ('pro')": [[2]],
    "select count() from events where not properties.plan = 'pro'": [[2]],
    "select count() from events where properties.plan not like 'pr%'": [[2]],
    "select count() from events where properties.plan = null": [[1]],
    "select count() from events where properties.plan is not null": [[2]],
    # What SELECT can do.
    "with a as (select event as e, properties as p from events) "
    "select e, p.plan from a where p.plan = 'pro'": [["paid", "pro"]],
    "select a.event, b.n from events a join (select event, count() as n from events "
    "group by event) b on a.event = b.event where a.event = 'paid'": [["paid", 1]],
    "select event, row_number() over (partition by event order by timestamp) r from events "
    "order by event, r": [["paid", 1], ["seen", 1], ["seen", 2]],
    "select 1 as x union all select 1": [[1], [1]],
    "select 1 as x union distinct select 1": [[1]],
    "select sum(toFloat(properties.price)) s from events having s > 12": [[12.5]],
    "select event from events order by timestamp desc limit 1 by event": [["paid"], ["seen"]],
    "select count(distinct event), quantile(0.5)(toFloat(properties.price)), "
    "countIf(event = 'seen'), uniqIf(person_id, event = 'seen') from events": [[2, 6.25, 2, 2]],
    "select arrayMap((x, y) -> x * y, [1, 2], [3, 4]), (1, 'b').2, [1, 2][2], 1 ? 'a' : 'b'": [
        [[3, 8], "b", 2, "a"]
    ],
    "select case when event = 'paid' then 1 else 0 end from events order by uuid limit 1": [[1]],
    "select case event when 'paid' then 'x' end from events order by uuid limit 2": [["x"], [None]],
    "select toInt('5'), toInt('x'), '7'::Int64, cast('1.5' as Float64), 7 % 4, 'a' || 'b', -1": [
        [5, None, 7, 1.5, 3, "ab", -1]
    ],
    "select event as e from events where e = 'paid'": [["paid"]],
    "select max(timestamp) as timestamp from events where timestamp < '2024-04-01'": [
        ["2024-03-01T12:00:00+01:00"]
    ],
    "select event from events where person_id in (select id from persons where "
    "properties.plan = 'vip') order by event": [["paid"], ["seen"]],
    "select (select count() from persons), 'it''s', 'a\\nb'": [[2, "it's", "a\nb"]],
    # An integer of more than 64 bits is a text in JSON.
    "select toUInt64('18446744073709551615')": [[18446744073709551615]],
    "select [1/0, nan] from (select 0/0 as nan)": [[[None, None]]],
    "select 1 -- a comment\n, 2 /* and another */;": [[1, 2]],
}  # fmt: skip


@pytest.mark.parametrize("text", ANSWERS)
async def test_sql_is_answered(asker: Asker, text: str) -> None:
    assert await asker.rows(text) == ANSWERS[text]


async def test_an_answer_names_its_columns_and_their_types(asker: Asker) -> None:
    answer = await asker.ask("select event, count(), properties.plan p from events group by 1, 3")

    assert answer["columns"] == ["event", "count()", "p"]
    assert answer["types"] == [
        ["event", "String"],
        ["count()", "UInt64"],
        ["p", "Nullable(String)"],
    ]
    assert (answer["limit"], answer["offset"], answer["hasMore"]) == (100, 0, False)
    assert answer["rows_read"] >= 3


async def test_an_answer_without_rows_has_types_too(asker: Asker) -> None:
    answer = await asker.ask("select event, timestamp from events where event = 'none'")

    assert answer["results"] == []
    assert [kind for _, kind in answer["types"]] == ["String", "DateTime64(6, 'Europe/Berlin')"]


@pytest.mark.parametrize(
    ("end", "limit", "offset", "rows", "has_more"),
    [
        ("", 100, 0, 100, True),
        ("limit 2", 2, 0, 2, True),
        ("limit 3 offset 119", 3, 119, 1, False),
        ("limit 120", 120, 0, 120, False),
        ("limit 99999999", 10_000, 0, 120, False),
        ("limit 0", 0, 0, 0, True),
    ],
)
async def test_rows_are_limited(
    asker: Asker, end: str, limit: int, offset: int, rows: int, has_more: bool
) -> None:
    answer = await asker.ask(f"select arrayJoin(range(120)) as n order by n {end}")

    assert (answer["limit"], answer["offset"]) == (limit, offset)
    assert (len(answer["results"]), answer["hasMore"]) == (rows, has_more)


async def test_placeholders_have_the_values_of_the_request(asker: Asker) -> None:
    values = {"e": "paid", "l": ["pro", "x'); drop"], "n": None, "b": True, "f": 1.5, "i": -3}
    variables = {"1": {"code_name": "plan", "variableId": "1", "value": "pro"}}

    rows = await asker.rows(
        "select {e}, {n}, {b}, {f}, {i}, {variables.plan} from events where event = {e} "
        "and properties.plan in {l}",
        values=values,
        variables=variables,
    )

    assert rows == [["paid", None, True, 1.5, -3, "pro"]]


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ({}, 3),
        ({"dateRange": {"date_from": "2024-04-03"}}, 1),
        ({"dateRange": {"date_to": "2024-03-31", "date_from": "all"}}, 1),
        ({"dateRange": {"date_from": "-2d"}}, 2),
        ({"properties": [{"type": "event", "key": "plan", "value": "pro"}]}, 1),
        ({"properties": [{"type": "person", "key": "plan", "value": "vip"}]}, 2),
    ],
)
async def test_filters_stand_for_a_range_and_conditions(
    asker: Asker, filters: Any, count: int
) -> None:
    text = "select count() from events where {filters} and event != 'none'"

    assert await asker.rows(text, filters=filters) == [[count]]


async def test_filters_leave_test_accounts_out(asker: Asker) -> None:
    paying = {"type": "event", "key": "plan", "value": "free", "operator": "is_not"}
    project = replace(asker.project, test_account_filters=(paying,))
    text = "select count() from events where {filters}"

    [with_them, without] = [
        await replace(asker, project=project).rows(text, filters={"filterTestAccounts": left_out})
        for left_out in (False, True)
    ]

    assert (with_them, without) == ([[3]], [[2]])


REFUSED = {
    "select foo from events": 'There is no column "foo". Line 1, column 8.',
    "select event\nfrom evnts": 'There is no table "evnts". Use one of: events, persons, groups, '
    "sessions, cohorts. Line 2, column 6.",
    "select project_id from events": 'There is no column "project_id". Line 1, column 8.',
    "select event,\n  foo(1) from events": 'The function "foo" is not supported. Line 2, column 3.',
    "select from where": 'The query cannot be read at "where". Line 1, column 13.',
    "select 'a": "A quoted text or a comment of the query does not end.",
    "": "The query is empty.",
    "select 1; select 2": "Only one query can be asked at once. Line 1, column 9.",
    "insert into events values (1)": "The query must be one SELECT. Line 1, column 1.",
    "select {x}": 'There is no value for "{x}". Line 1, column 10.',
    "select {filters} from events": "{filters} must be a condition of WHERE, in a SELECT from "
    "events. Line 1, column 16.",
    "select 1 limit x": "LIMIT must be a whole number. Line 1, column 16.",
    "select sum(properties.price) from events": "A function or a comparison does not take a value "
    "of this type. Properties are texts: use toFloat(properties.price). "
    "(ILLEGAL_TYPE_OF_ARGUMENT (43))",
    "select intDiv(1, 0)": "A whole number is divided by zero. (ILLEGAL_DIVISION (153))",
    "select event, count() from events": "A column is neither in GROUP BY nor within an aggregate. "
    "(NOT_AN_AGGREGATE (215))",
    "select 1 where timestamp > 1": 'There is no column "timestamp". Line 1, column 16.',
    "select 1 from events where timestamp > 'soon'": "A value cannot be read as what the query "
    "takes it for, such as a date.",
    "select event from events where person_id in cohort 3": "There is no cohort 3. Line 1, column "
    "52.",
}


@pytest.mark.parametrize("text", [text for text in REFUSED if text])
async def test_what_is_wrong_is_named_with_its_place(asker: Asker, text: str) -> None:
    error = await asker.refusal(text)

    assert error.detail == REFUSED[text]
    assert error.code == "invalid_sql"
    assert str(error.attr).startswith("query")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("select repeat('x', 1000000) from (select arrayJoin(range(50)))", "larger than 16 MiB"),
        ("select repeat(event, 500000) from events, (select arrayJoin(range(50)))", "than 16 MiB"),
        ("select a.x from (select repeat('x', 1000000) x) a, (select arrayJoin(range(50))) b",
         "larger than 16 MiB"),
        ("select length(groupArray(x)) from (select arrayJoin(range(9000000)) as x), "
         "(select arrayJoin(range(1000)) as y)", "MB of memory"),
    ],
)  # fmt: skip
async def test_an_answer_that_takes_too_much_is_refused(asker: Asker, text: str, says: str) -> None:
    error = await asker.refusal(text)

    assert says in error.detail
    assert error.code == "too_large"


async def test_a_query_that_runs_for_ever_is_ended(asker: Asker) -> None:
    analysis = asker.analyst.analysis
    short = Analysis(analysis.records, analysis.events, analysis.statements.with_time_limit(1))
    numbers = "(select arrayJoin(range(100000)) as n)"
    text = f"select sum(a.n * b.n * c.n) from {numbers} a, {numbers} b, {numbers} c"
    question = read_hogql(Fields({"query": text}))

    with pytest.raises(Invalid, match="takes longer than 1 seconds") as refused:
        await SqlCalculator(short).answer(asker.project, question, NOW)

    assert refused.value.code == "too_large"


async def test_a_join_hides_no_events_from_later_queries(asker: Asker) -> None:
    text = (
        "select a.event, b.n from events a join (select event, count() as n from events "
        "group by event) b on a.event = b.event where a.event = 'paid'"
    )

    rows = await asker.rows(text)

    assert rows == [["paid", 1]]
    assert await asker.rows("select event from events order by uuid") == [
        ["paid"],
        ["seen"],
        ["seen"],
    ]
