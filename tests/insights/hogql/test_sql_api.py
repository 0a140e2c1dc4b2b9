"""SQL over HTTP.

Source: insights.md, section 10.
"""

import re
from typing import Any
from uuid import uuid4

import pytest

from tests.support.application import Json, Tenant, error
from tests.support.management import add_key

TEXT = "select event, count() from events group by event"
SQL: Json = {"kind": "HogQLQuery", "query": TEXT}


async def capture(tenant: Tenant) -> None:
    event = {"event": "seen", "distinct_id": "ann", "timestamp": "2024-03-01T10:00:00Z"}
    await tenant.capture({**event, "uuid": str(uuid4()), "properties": {"plan": "pro"}})


async def ask(tenant: Tenant, query: Any, status: int = 200, **more: Any) -> Json:
    answer = await tenant.api.post("/query/", json={"query": query, **more})
    assert answer.status_code == status, answer.text
    body: Json = answer.json()
    return body


async def test_sql_is_answered_in_posthogs_shape(tenant: Tenant) -> None:
    await capture(tenant)

    new = await ask(tenant, SQL, client_query_id="mine")
    wrapped = await ask(tenant, {"kind": "DataVisualizationNode", "source": SQL})
    again = await ask(tenant, SQL, refresh=True)

    assert (new["is_cached"], wrapped["is_cached"], again["is_cached"]) == (False, True, False)
    assert wrapped["results"] == new["results"] == again["results"]
    assert len(new.pop("cache_key")) == 40
    assert new.pop("rows_read") >= 1
    assert new.pop("seconds") >= 0
    assert new == {
        "results": [["seen", 1]],
        "columns": ["event", "count()"],
        "types": [["event", "String"], ["count()", "UInt64"]],
        "hasMore": False,
        "limit": 100,
        "offset": 0,
        "query": TEXT,
        "timezone": "UTC",
        "last_refresh": "2024-03-01T12:00:00Z",
        "is_cached": False,
        "error": None,
        "timings": [],
        "modifiers": {},
    }


# The types of the event store for each type of a column.
STORED = {
    "string": r"(Nullable\()?(String|UUID)\)?",
    "integer": r"(Nullable\()?U?Int\d+\)?",
    "datetime": r"(Nullable\()?DateTime64\(.*\)",
    "boolean": r"(Nullable\()?(Bool|UInt8)\)?",
    "json": r"(Nullable\()?String\)?",
}


async def test_every_column_that_is_listed_can_be_asked_and_has_its_type(tenant: Tenant) -> None:
    await capture(tenant)
    schema = await ask(tenant, {"kind": "DatabaseSchemaQuery"})

    for table in schema["tables"].values():
        columns = ", ".join(table["fields"])
        answer = await ask(
            tenant, {"kind": "HogQLQuery", "query": f"select {columns} from {table['name']}"}
        )
        assert answer["columns"] == list(table["fields"])
        for (_, stored), column in zip(answer["types"], table["fields"].values(), strict=True):
            assert re.fullmatch(STORED[column["type"]], stored), column
    assert {"count", "uniqIf", "toFloat", "row_number", "dateTrunc"} <= set(schema["functions"])
    assert "file" not in schema["functions"]


async def test_a_list_of_names_has_no_options(tenant: Tenant) -> None:
    answer = await ask(tenant, {"kind": "DatabaseSchemaQuery", "table": "events"}, status=400)

    assert answer["attr"] == "query__table"


async def test_a_large_answer_is_not_kept(tenant: Tenant) -> None:
    query = {"kind": "HogQLQuery", "query": "select repeat('x', 300000)"}

    answers = [await ask(tenant, query) for _ in range(2)]

    assert [answer["is_cached"] for answer in answers] == [False, False]
    assert answers[1]["results"] == [["x" * 300_000]]


async def test_a_list_of_events_is_answered(tenant: Tenant) -> None:
    await capture(tenant)
    query = {"kind": "EventsQuery", "select": ["*", "event"], "after": "2024-03-01"}

    answer = await ask(tenant, {"kind": "DataTableNode", "source": query})

    [[event, name]] = answer["results"]
    assert (event["properties"]["plan"], name, answer["query"]) == ("pro", "seen", None)


async def test_sql_knows_the_cohorts_of_its_project(tenant: Tenant) -> None:
    await capture(tenant)
    sent = {"name": "mine", "is_static": True, "groups": []}
    cohort = (await tenant.api.post("/cohorts/", json=sent)).json()["id"]

    known = await ask(tenant, {**SQL, "query": "select id, name, is_static from cohorts"})
    within = await ask(
        tenant, {**SQL, "query": "select event from events where person_id in cohort 'mine'"}
    )
    beside = await ask(
        tenant, {**SQL, "query": f"select event from events where person_id not in cohort {cohort}"}
    )

    assert known["results"] == [[cohort, "mine", True]]
    assert within["results"] == []
    assert beside["results"] == [["seen"]]


async def test_sql_needs_the_scope_to_query(tenant: Tenant) -> None:
    for scopes, status in ((["query:read"], 200), (["insight:read"], 403)):
        key = await add_key(
            tenant.server.records, tenant.user_id, f"phx_{scopes[0]}_{uuid4()}", scopes
        )
        async with tenant.server.client(key, f"/api/projects/{tenant.project_id}") as client:
            assert (await client.post("/query/", json={"query": SQL})).status_code == status


@pytest.mark.parametrize(
    ("query", "code", "detail", "attr"),
    [
        ({"query": "select\n x"}, "invalid_sql", 'There is no column "x". Line 2, column 2.',
         "query__query"),
        ({}, "required", "This field is required.", "query__query"),
        ({"query": "select 1", "explain": True}, "invalid_input",
         "explain is not supported. Leave it out.", "query__explain"),
        ({"query": "select 1", "values": {"x": {}}}, "invalid_input",
         "Must be a text, a number, a boolean, null, or a list of them.", "query__values__x"),
        ({"query": "select 1", "variables": {"a": 1}}, "invalid_input",
         "A variable must have a code_name and a value.", "query__variables__a"),
        ({"query": "select 1", "filters": {"dateRange": {"date_from": "soon"}}}, "invalid_input",
         "Invalid date: soon", "query__filters__dateRange__date_from"),
    ],
)  # fmt: skip
async def test_what_is_wrong_is_in_the_shape_of_errors(
    tenant: Tenant, query: Json, code: str, detail: str, attr: str
) -> None:
    answer = await ask(tenant, {"kind": "HogQLQuery", **query}, status=400)

    assert answer == error("validation_error", code, detail, attr)
