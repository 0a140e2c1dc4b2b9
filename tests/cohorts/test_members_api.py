"""The members of a cohort over HTTP: pages, filters and CSV."""

import csv
import io
import json
from uuid import UUID

import pytest

from fanion.cohorts.members.csv_export import COLUMNS_MAX
from fanion.persons.list_store import PORTION_ROWS_MIN
from tests.support.application import Json, Tenant
from tests.support.cohorts import (
    all_conditions,
    cohort_members,
    create_cohort,
    event,
    performed,
    person,
    person_is,
    three_persons,
    upload_cohort,
)


async def test_members_are_listed_as_persons_page_by_page(tenant: Tenant) -> None:
    await three_persons(tenant)
    cohort = await create_cohort(tenant, filters=all_conditions(performed("seen", time_value=99)))
    await tenant.capture(event("bob"), event("cid"))
    await tenant.server.calculated()
    path = f"/cohorts/{cohort['id']}/persons/"

    page = await tenant.get(path, limit=2)
    rest = await tenant.get(path, limit=2, offset=2)

    returned = page["results"][0]
    assert returned == await tenant.person(returned["distinct_ids"][0])
    assert (len(page["results"]), len(rest["results"])) == (2, 1)
    assert "offset=2" in page["next"] and page["previous"] is None
    assert rest["next"] is None and "offset=0" in rest["previous"]
    assert "count" not in page


@pytest.mark.every_engine
async def test_members_can_be_searched(tenant: Tenant) -> None:
    await three_persons(tenant)
    cohort = await create_cohort(
        tenant, filters=all_conditions(person_is("plan", "", operator="is_set"))
    )
    await tenant.server.calculated()
    cid = await tenant.person("cid")
    conditions = json.dumps([person_is("plan", "pro")])

    assert await cohort_members(tenant, cohort, search="bob") == ["bob"]
    assert await cohort_members(tenant, cohort, search=cid["uuid"]) == ["cid"]
    assert await cohort_members(tenant, cohort, search="CORP") == ["ann"]
    assert await cohort_members(tenant, cohort, distinct_id="ann") == ["ann"]
    assert await cohort_members(tenant, cohort, email="ann@corp.example") == ["ann"]
    assert await cohort_members(tenant, cohort, properties=conditions) == ["ann", "cid"]
    assert len(await cohort_members(tenant, cohort, properties=conditions, limit=1, offset=1)) == 1


@pytest.mark.every_engine
@pytest.mark.parametrize("conditions", [[], [person_is("n", 3, operator="gt")]])
async def test_following_next_lists_every_member_once(
    tenant: Tenant, conditions: list[Json]
) -> None:
    """The first events of some members have the same time."""
    person_names = [person(f"p{n}", days_ago=n // 3, n=n) for n in range(12)]
    await tenant.capture(*person_names)
    cohort = await create_cohort(
        tenant, filters=all_conditions(person_is("n", "", operator="is_set"))
    )
    await tenant.server.calculated()
    query = {"limit": 2} | ({"properties": json.dumps(conditions)} if conditions else {})
    page = await tenant.get(f"/cohorts/{cohort['id']}/persons/", **query)
    whole = await tenant.get(f"/cohorts/{cohort['id']}/persons/", **query | {"limit": 100})
    paged, pages = [*page["results"]], 1

    while page["next"]:
        page = (await tenant.api.get(page["next"])).json()
        paged, pages = paged + page["results"], pages + 1

    assert paged == whole["results"]
    assert (len(paged), pages) == ((8, 5) if conditions else (12, 7))
    assert "offset=" in page["previous"] and "after" not in page["previous"]


async def test_a_page_after_a_deleted_person_is_found_by_its_offset(tenant: Tenant) -> None:
    await three_persons(tenant)
    cohort = await create_cohort(
        tenant, filters=all_conditions(person_is("plan", "", operator="is_set"))
    )
    await tenant.server.calculated()
    path = f"/cohorts/{cohort['id']}/persons/"

    second = await tenant.get(path, limit=1, offset=1)
    page = await tenant.get(path, limit=1, offset=1, after=UUID(int=7))
    wrong = await tenant.api.get(path, params={"after": "nobody"})

    assert page["results"] == second["results"]
    assert (wrong.status_code, wrong.json()["attr"]) == (400, "after")


@pytest.mark.every_engine
@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ([person_is("plan", "PRO")], ["ann", "cid"]),
        ([person_is("plan", "PRO", operator="regex")], []),
        ([person_is("plan", "pro"), person_is("email", "corp", operator="icontains")], ["ann"]),
        ([{"key": "plan", "value": ["free"]}], ["bob"]),
        ([person_is("plan", "pro", negation=True)], ["bob"]),
        ([person_is("nothing", "", operator="is_not_set")], ["ann", "bob", "cid"]),
        ([], ["ann", "bob", "cid"]),
    ],
)
async def test_filters_of_members_compare_as_everywhere(
    tenant: Tenant, properties: list[Json], expected: list[str]
) -> None:
    await three_persons(tenant)
    cohort = await create_cohort(
        tenant, filters=all_conditions(person_is("plan", "", operator="is_set"))
    )
    await tenant.server.calculated()

    assert await cohort_members(tenant, cohort, properties=json.dumps(properties)) == expected


@pytest.mark.parametrize(
    "properties", ["{", "7", "[7]", "{}x", '[{"type":"cohort","value":1}]', "[" * 5_000]
)
async def test_conditions_that_cannot_be_read_are_refused(tenant: Tenant, properties: str) -> None:
    cohort = await create_cohort(tenant, name="x")

    answer = await tenant.api.get(
        f"/cohorts/{cohort['id']}/persons/", params={"properties": properties}
    )

    assert (answer.status_code, answer.json()["attr"]) == (400, "properties")


@pytest.mark.every_engine
async def test_members_are_exported_as_csv(tenant: Tenant) -> None:
    await tenant.capture(person("ann", plan="pro", email="ann@corp.example", deep={"a": [1]}))
    cohort = await create_cohort(tenant, filters=all_conditions(person_is("plan", "pro")))
    empty = await create_cohort(tenant, filters=all_conditions(person_is("plan", "free")))
    await tenant.server.calculated()
    ann = await tenant.person("ann")

    table = await tenant.api.get(f"/cohorts/{cohort['id']}/persons/", params={"format": "csv"})
    nothing = await tenant.api.get(f"/cohorts/{empty['id']}/persons/?format=csv")

    head, row = table.text.split("\r\n")[:2]
    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    assert head == ("created_at,distinct_ids.0,email,id,name,properties.deep.a.0,properties.plan")
    assert row == f"{ann['created_at']},ann,ann@corp.example,{ann['uuid']},ann@corp.example,1,pro"
    assert (nothing.status_code, nothing.text) == (200, "")


@pytest.mark.every_engine
async def test_a_long_table_lists_every_member_once_with_the_columns_of_all(tenant: Tenant) -> None:
    """Members are read and sent in batches."""
    count = PORTION_ROWS_MIN * 2 + 50
    own: list[Json] = [{"n": n, f"only{n % 7}": n} for n in range(count)]
    await tenant.capture(*(person(f"p{n}", days_ago=n, **own[n]) for n in range(count)))
    cohort = await create_cohort(
        tenant, filters=all_conditions(person_is("n", "", operator="is_set"))
    )
    await tenant.server.calculated()
    path = f"/cohorts/{cohort['id']}/persons/"

    table = await tenant.api.get(path, params={"format": "csv"})
    part = await tenant.api.get(path, params={"format": "csv", "limit": 3, "offset": count - 2})

    rows = list(csv.DictReader(io.StringIO(table.text, newline="")))
    assert [row["properties.n"] for row in rows] == [str(n) for n in range(count)]
    assert [row[f"properties.only{n % 7}"] for n, row in enumerate(rows)] == [
        str(n) for n in range(count)
    ]
    assert len(rows[0]) == len(["created_at", "distinct_ids.0", "id", "name", "n"]) + 7
    assert [row["properties.n"] for row in csv.DictReader(io.StringIO(part.text))] == [
        str(count - 2),
        str(count - 1),
    ]


async def test_a_table_has_a_limit_of_columns_and_counts_the_others(tenant: Tenant) -> None:
    many: Json = {f"p{n:05}": n for n in range(COLUMNS_MAX)}
    await tenant.capture(person("ann", **many))
    await tenant.capture(person("bob", days_ago=2, p00000="=1+1"))
    cohort = await create_cohort(
        tenant, filters=all_conditions(person_is("p00000", "", operator="is_set"))
    )
    await tenant.server.calculated()

    table = await tenant.api.get(f"/cohorts/{cohort['id']}/persons/", params={"format": "csv"})

    ann, bob = csv.DictReader(io.StringIO(table.text, newline=""))
    assert len(ann) == COLUMNS_MAX + 1
    assert (ann["properties.p00000"], ann["columns_left_out"]) == ("0", "4")
    assert (bob["properties.p00000"], bob["columns_left_out"]) == ("'=1+1", "0")
    assert (ann["name"], bob["distinct_ids.0"]) == ("ann", "bob")


@pytest.mark.every_engine
async def test_a_merge_of_persons_changes_members_at_once(tenant: Tenant) -> None:
    await three_persons(tenant)
    cohort = await upload_cohort(tenant, "ann\nbob\n")
    await tenant.server.calculated()

    await tenant.capture(
        {"event": "$create_alias", "distinct_id": "cid", "properties": {"alias": "cid2"}},
        {"event": "$merge_dangerously", "distinct_id": "cid", "properties": {"alias": "ann"}},
    )
    page = await tenant.get(f"/cohorts/{cohort['id']}/persons/")

    assert sorted(len(person["distinct_ids"]) for person in page["results"]) == [1, 3]


@pytest.mark.every_engine
async def test_a_file_may_name_persons_that_were_merged_since(tenant: Tenant) -> None:
    await three_persons(tenant)
    ann = (await tenant.person("ann"))["uuid"]
    merge = {"event": "$merge_dangerously", "distinct_id": "bob", "properties": {"alias": "ann"}}
    await tenant.capture(merge)

    answer = await tenant.api.post(
        "/cohorts/",
        data={"name": "file", "is_static": "true"},
        files={"csv": ("ids.csv", f"person_id\n{ann}\n{UUID(int=7)}\n")},
    )
    await tenant.server.calculated()

    assert answer.status_code == 201, answer.text
    [member] = (await tenant.get(f"/cohorts/{answer.json()['id']}/persons/"))["results"]
    assert member["distinct_ids"] == ["ann", "bob"]
    assert member["uuid"] != ann
