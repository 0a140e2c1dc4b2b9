"""Cohorts over HTTP: creation to deletion, criteria, files and copies."""

from typing import Any

import pytest

from fanion.cohorts.criteria.older_groups import GROUP_KEYS
from tests.support.application import Json, Tenant, error
from tests.support.cohorts import (
    ALONE,
    UNKNOWN,
    all_conditions,
    change_cohort,
    cohort_members,
    create_cohort,
    event,
    in_cohort,
    performed,
    person,
    person_is,
    retrieve_cohort,
    three_persons,
    upload_cohort,
)

MIXED = "Property list cannot contain both PropertyGroup and Property objects"
NOT_FILTERS = "Filters must be a dictionary with a 'properties' key."
NO_COHORT = f"Invalid Cohort ID in filter: {UNKNOWN}"
TOO_LONG = "Ensure this field has no more than {} characters."
LOOP = "Cohorts cannot reference other cohorts in a loop."
A = person_is("plan", "pro")


async def test_a_person_condition_without_an_operator_is_exact(tenant: Tenant) -> None:
    await three_persons(tenant)
    leaf = {"type": "person", "key": "plan", "value": "pro"}

    cohort = await create_cohort(tenant, filters=all_conditions(leaf))
    await tenant.server.calculated()

    assert cohort["filters"] == all_conditions(leaf)
    assert await cohort_members(tenant, cohort) == ["ann", "cid"]


async def test_relative_dates_count_back_from_each_calculation(tenant: Tenant) -> None:
    await tenant.capture(
        person("new", signed_up="2024-02-20T10:00:00Z"),
        person("unix", signed_up=1708423200),  # the same time
        person("old", signed_up="2023-02-20"),
        person("none"),
    )
    leaf = person_is("signed_up", "-30d", operator="is_date_after")

    cohort = await create_cohort(tenant, filters=all_conditions(leaf))
    await tenant.server.calculated()
    before = await cohort_members(tenant, cohort)
    tenant.server.clock.move(days=30)
    await tenant.server.calculated()

    assert before == ["new", "unix"]
    assert await cohort_members(tenant, cohort) == []


async def test_versions_are_compared_in_cohorts_and_flags_alike(tenant: Tenant) -> None:
    await tenant.capture(
        person("ann", app="1.10.0"), person("bob", app="1.9.9-rc.1"), person("cid", app="v1.9.9")
    )
    leaf = person_is("app", "1.9.9", operator="semver_gte")

    cohort = await create_cohort(tenant, filters=all_conditions(leaf))
    await tenant.create_flag(key="app", filters={"groups": [{"properties": [leaf]}]})
    await tenant.server.calculated()
    decided = {who: await tenant.decide(who) for who in ("ann", "bob", "cid", "dan")}

    assert await cohort_members(tenant, cohort) == ["ann", "cid"]
    assert [who for who, answer in decided.items() if answer["featureFlags"]["app"]] == [
        "ann",
        "cid",
    ]


async def test_empty_filters_are_none_given(tenant: Tenant) -> None:
    await three_persons(tenant)

    empty = await create_cohort(tenant, filters={})
    grouped = await create_cohort(tenant, filters={}, groups=[{"properties": {"plan": "pro"}}])
    kept = await create_cohort(tenant, filters=all_conditions(person_is("plan", "pro")))
    same = await change_cohort(tenant, kept, filters={}, name="Payers")
    await tenant.server.calculated()

    assert empty["filters"] == {"properties": {}}
    assert await cohort_members(tenant, empty) == []
    assert await cohort_members(tenant, grouped) == ["ann", "cid"]
    assert same["filters"] == kept["filters"]
    assert await cohort_members(tenant, kept) == ["ann", "cid"]


CALCULATING: Json = {"is_calculating": True, "next_calculation": "2024-03-01T12:00:00Z"}


@pytest.mark.every_engine
async def test_a_dynamic_cohort_from_creation_to_deletion(tenant: Tenant) -> None:
    await three_persons(tenant)
    filters = all_conditions(person_is("plan", ["pro"]))

    made = await create_cohort(tenant, name="Payers", filters=filters, count=7, id=1)
    await tenant.server.calculated()
    done = await retrieve_cohort(tenant, made)
    renamed = await change_cohort(tenant, made, name="Paying")
    await tenant.server.calculated()
    deleted = await change_cohort(tenant, made, deleted=True)

    assert {name: made[name] for name in made if name not in ("id", "created_by")} == {
        "name": "Payers",
        "description": "",
        "groups": [],
        "deleted": False,
        "filters": filters,
        "is_calculating": True,
        "created_at": "2024-03-01T12:00:00Z",
        "last_calculation": None,
        "errors_calculating": 0,
        "last_error_message": None,
        "count": None,
        "is_static": False,
        "next_calculation": "2024-03-01T12:00:00Z",
    }
    assert made["created_by"]["first_name"] == "Olga"
    assert done == {
        **made,
        "is_calculating": False,
        "count": 2,
        "last_calculation": "2024-03-01T12:00:00Z",
        "next_calculation": "2024-03-01T12:15:00Z",
    }
    assert renamed == {**done, "name": "Paying", **CALCULATING}
    assert deleted == {**done, "name": "Paying", "deleted": True, "next_calculation": None}
    assert await retrieve_cohort(tenant, made) == deleted
    assert await cohort_members(tenant, made) == ["ann", "cid"]
    assert (await tenant.get("/cohorts/"))["results"] == []


async def test_a_restored_cohort_is_calculated_again(tenant: Tenant) -> None:
    await three_persons(tenant)
    cohort = await create_cohort(tenant, filters=all_conditions(person_is("plan", "free")))
    await tenant.server.calculated()
    deleted = await change_cohort(tenant, cohort, deleted=True)
    await tenant.capture(person("ann", plan="free"))
    tenant.server.clock.move(hours=1)
    await tenant.server.calculated()
    meanwhile = await retrieve_cohort(tenant, cohort)

    restored = await change_cohort(tenant, cohort, deleted=False)
    await tenant.server.calculated()
    done = await retrieve_cohort(tenant, cohort)

    assert meanwhile == deleted
    at = {"last_calculation": "2024-03-01T13:00:00Z", "next_calculation": "2024-03-01T13:15:00Z"}
    assert restored == {**deleted, "deleted": False, "next_calculation": "2024-03-01T13:00:00Z"}
    assert done == {**restored, "count": 2, **at}
    assert await cohort_members(tenant, cohort) == ["ann", "bob"]


@pytest.mark.parametrize("cohort_id", ["1", "999999", "none"])
async def test_hard_deletion_is_refused_for_any_id(tenant: Tenant, cohort_id: str) -> None:
    answer = await tenant.api.delete(f"/cohorts/{cohort_id}/")

    assert (answer.status_code, answer.content) == (405, b"")


async def test_a_change_of_nothing_calculates_the_cohort_now(tenant: Tenant) -> None:
    await three_persons(tenant)
    cohort = await create_cohort(tenant, filters=all_conditions(person_is("plan", "pro")))
    await tenant.server.calculated()
    await tenant.capture(person("bob", plan="pro"))
    tenant.server.clock.move(minutes=1)

    asked = await change_cohort(tenant, cohort)
    await tenant.server.calculated()

    activity = (await tenant.get(f"/cohorts/{cohort['id']}/activity/"))["results"]
    assert asked["is_calculating"]
    assert await cohort_members(tenant, cohort) == ["ann", "bob", "cid"]
    assert [entry["activity"] for entry in activity] == ["created"]


@pytest.mark.every_engine
async def test_deleted_cohorts_can_be_listed_and_restored(tenant: Tenant) -> None:
    kept, gone = [await create_cohort(tenant, name=name) for name in ("kept", "Gone")]
    await change_cohort(tenant, gone, deleted=True)

    listed = await tenant.get("/cohorts/", deleted="true")
    searched = await tenant.get("/cohorts/", deleted="true", search="gone", type="dynamic")
    await change_cohort(tenant, gone, deleted=False)
    left = await tenant.get("/cohorts/", deleted="true")

    assert (listed["count"], [each["name"] for each in listed["results"]]) == (1, ["Gone"])
    assert [each["id"] for each in searched["results"]] == [gone["id"]]
    assert (left["count"], left["results"]) == (0, [])
    assert [each["id"] for each in (await tenant.get("/cohorts/"))["results"]] == [
        gone["id"],
        kept["id"],
    ]


@pytest.mark.every_engine
async def test_the_list_shows_the_newest_first(tenant: Tenant) -> None:
    first, second, gone = [await create_cohort(tenant, name=name) for name in ("a", "b", "c")]
    await change_cohort(tenant, gone, deleted=True)

    page = await tenant.get("/cohorts/", limit=1)

    assert page["count"] == 2
    assert [cohort["id"] for cohort in page["results"]] == [second["id"]]
    assert "offset=1" in page["next"]
    assert [cohort["id"] for cohort in (await tenant.get("/cohorts/"))["results"]] == [
        second["id"],
        first["id"],
    ]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (all_conditions(performed("opened")), ["bob"]),
        (all_conditions(performed("opened", time_value="60")), ["bob", "cid"]),
        (
            all_conditions(
                person_is("plan", "pro"), performed("opened", time_value=60, negation=True)
            ),
            ["ann"],
        ),
        ({"properties": [person_is("plan", "pro")]}, ["ann", "cid"]),
        ({"properties": {}}, []),
        (
            all_conditions(
                performed("seen", event_filters=[{"type": "event", "key": "n", "value": 5}])
            ),
            ["ann"],
        ),
    ],
)
async def test_criteria_select_the_expected_members(
    tenant: Tenant, filters: Json, expected: list[str]
) -> None:
    await three_persons(tenant)
    await tenant.capture(event("ann", "seen", n=5), event("bob", "seen", n="55"))

    cohort = await create_cohort(tenant, filters=filters)
    await tenant.server.calculated()

    assert await cohort_members(tenant, cohort) == expected
    assert (await retrieve_cohort(tenant, cohort))["count"] == len(expected)


async def test_criteria_that_cannot_be_calculated_count_as_an_error(tenant: Tenant) -> None:
    await three_persons(tenant)

    broken = await create_cohort(tenant, filters=all_conditions(ALONE))
    sound = await create_cohort(tenant, filters=all_conditions(person_is("plan", "free")))
    await tenant.server.calculated()

    cohort = await retrieve_cohort(tenant, broken)
    assert (cohort["is_calculating"], cohort["count"], cohort["errors_calculating"]) == (
        False,
        None,
        1,
    )
    assert "Negated conditions must be combined" in cohort["last_error_message"]
    assert await cohort_members(tenant, sound) == ["bob"]


@pytest.mark.every_engine
async def test_a_failed_calculation_keeps_the_members_until_the_criteria_are_fixed(
    tenant: Tenant,
) -> None:
    await three_persons(tenant)
    cohort = await create_cohort(tenant, filters=all_conditions(person_is("plan", "pro")))
    await tenant.server.calculated()

    await change_cohort(tenant, cohort, filters=all_conditions(ALONE))
    await tenant.server.calculated()
    failed, held = await retrieve_cohort(tenant, cohort), await cohort_members(tenant, cohort)
    await change_cohort(tenant, cohort, filters=all_conditions(person_is("plan", "free")))
    await tenant.server.calculated()
    mended = await retrieve_cohort(tenant, cohort)

    assert (failed["errors_calculating"], failed["count"], held) == (1, 2, ["ann", "cid"])
    assert (mended["errors_calculating"], mended["last_error_message"]) == (0, None)
    assert await cohort_members(tenant, cohort) == ["bob"]


async def test_a_cohort_is_calculated_again_after_a_while(tenant: Tenant) -> None:
    await three_persons(tenant)
    cohort = await create_cohort(tenant, filters=all_conditions(person_is("plan", "pro")))
    await tenant.server.calculated()

    await tenant.capture(person("bob", plan="pro"))
    before = await cohort_members(tenant, cohort)
    tenant.server.clock.move(minutes=15)
    await tenant.server.calculated()

    assert before == ["ann", "cid"]
    assert await cohort_members(tenant, cohort) == ["ann", "bob", "cid"]
    assert (await retrieve_cohort(tenant, cohort))["last_calculation"] == "2024-03-01T12:15:00Z"


@pytest.mark.every_engine
async def test_nested_cohorts_are_expanded_and_static_ones_looked_up(tenant: Tenant) -> None:
    await three_persons(tenant)
    static = await upload_cohort(tenant, "ann\nbob\n")
    pro = await create_cohort(tenant, filters=all_conditions(person_is("plan", "pro")))
    await tenant.server.calculated()

    both = await create_cohort(
        tenant, filters=all_conditions(in_cohort(static["id"]), in_cohort(str(pro["id"])))
    )
    rest = await create_cohort(
        tenant, filters=all_conditions(in_cohort(pro["id"]), in_cohort(static["id"], negation=True))
    )
    unknown = await create_cohort(tenant)
    await tenant.store_cohort(unknown, filters=all_conditions(in_cohort(UNKNOWN)))
    await tenant.server.calculated()

    assert await cohort_members(tenant, both) == ["ann"]
    assert await cohort_members(tenant, rest) == ["cid"]
    assert await cohort_members(tenant, unknown) == []
    assert (await retrieve_cohort(tenant, unknown))["count"] == 0


@pytest.mark.parametrize(
    ("fields", "code", "detail", "attr"),
    [
        ({"filters": []}, "invalid_input", NOT_FILTERS, "filters"),
        ({"filters": {"x": 1}}, "invalid_input", NOT_FILTERS, "filters"),
        ({"filters": all_conditions(in_cohort(UNKNOWN))}, "invalid_input", NO_COHORT, None),
        (
            {"filters": all_conditions(A, {"type": "OR", "values": [A]})},
            "invalid_input",
            MIXED,
            "filters",
        ),
        ({"name": "n" * 401}, "max_length", TOO_LONG.format(400), "name"),
        ({"description": None}, "null", "This field may not be null.", "description"),
        ({"description": "d" * 1001}, "max_length", TOO_LONG.format(1000), "description"),
        ({"is_static": "maybe"}, "invalid_input", "Must be a valid boolean.", "is_static"),
        ({"deleted": 5}, "invalid_input", "Must be a valid boolean.", "deleted"),
    ],
)
async def test_a_refused_change_changes_nothing(
    tenant: Tenant, fields: Json, code: str, detail: str, attr: str | None
) -> None:
    cohort = await create_cohort(tenant, name="a", filters=all_conditions(person_is("plan", "pro")))

    answer = await tenant.api.patch(f"/cohorts/{cohort['id']}/", json=fields)

    assert answer.status_code == 400
    assert answer.json() == error("validation_error", code, detail, attr)
    assert await retrieve_cohort(tenant, cohort) == cohort


async def test_loops_are_refused_and_diamonds_are_not(tenant: Tenant) -> None:
    inner = await create_cohort(tenant, filters=all_conditions(person_is("plan", "pro")))
    left = await create_cohort(tenant, filters=all_conditions(in_cohort(inner["id"])))
    right = await create_cohort(tenant, filters=all_conditions(in_cohort(inner["id"])))
    outer = await create_cohort(
        tenant, filters=all_conditions(in_cohort(left["id"]), in_cohort(right["id"]))
    )

    loop = await tenant.api.patch(
        f"/cohorts/{inner['id']}/", json={"filters": all_conditions(in_cohort(outer["id"]))}
    )
    itself = await tenant.api.patch(
        f"/cohorts/{inner['id']}/",
        json={"filters": all_conditions({**in_cohort(0), "value": str(inner["id"])})},
    )
    await tenant.server.calculated()

    for answer in (loop, itself):
        assert answer.status_code == 400
        assert answer.json() == error("validation_error", "invalid_input", LOOP)
    assert (await retrieve_cohort(tenant, outer))["errors_calculating"] == 0


@pytest.mark.every_engine
async def test_unknown_cohorts_are_not_found(tenant: Tenant) -> None:
    for path in ("", "persons/", "explain/", "duplicate_as_static_cohort/", "activity/"):
        answer = await tenant.api.get(f"/cohorts/99999999/{path}")

        assert answer.status_code == 404
        assert answer.json() == error("invalid_request", "not_found", "Not found.")


# ── The older form ───────────────────────────────────────────────────────────────────────


async def test_groups_are_completed_and_converted_to_filters(tenant: Tenant) -> None:
    entry = {"event_id": "opened", "days": 3, "count": 2, "count_operator": "gte"}

    cohort = await create_cohort(tenant, groups=[entry, {"properties": {"plan": "pro"}}])

    empty = dict.fromkeys(GROUP_KEYS)
    leaf = {"key": "plan", "type": "person", "value": "pro"}
    assert cohort["groups"] == [{**empty, **entry}, {**empty, "properties": [leaf]}]
    assert cohort["filters"] == {
        "properties": {
            "type": "OR",
            "values": [
                {
                    "type": "AND",
                    "values": [
                        {
                            "key": "opened",
                            "type": "behavioral",
                            "event_type": "events",
                            "value": "performed_event_multiple",
                            "time_value": 3,
                            "time_interval": "day",
                            "operator": "gte",
                            "operator_value": 2,
                        }
                    ],
                },
                {"type": "AND", "values": [leaf]},
            ],
        }
    }


async def test_groups_are_calculated_like_filters(tenant: Tenant) -> None:
    await three_persons(tenant)

    cohort = await create_cohort(
        tenant,
        groups=[
            {"properties": [{"key": "plan", "value": "free"}]},
            {"event_id": "seen", "days": "7"},
        ],
    )
    await tenant.server.calculated()

    assert await cohort_members(tenant, cohort) == ["ann", "bob"]


@pytest.mark.parametrize("groups", [[{"colour": 1}], [{"days": 3}], ["x"]])
async def test_a_malformed_group_is_refused(tenant: Tenant, groups: Any) -> None:
    answer = await tenant.api.post("/cohorts/", json={"groups": groups})

    assert answer.status_code == 400
    assert (answer.json()["type"], answer.json()["attr"]) == ("validation_error", "groups")


# ── Static cohorts ───────────────────────────────────────────────────────────────────────


@pytest.mark.every_engine
async def test_a_file_of_distinct_ids_makes_a_static_cohort(tenant: Tenant) -> None:
    await three_persons(tenant)

    cohort = await upload_cohort(tenant, '"ann"\n\n nobody \nann,z\n')
    await tenant.server.calculated()
    done, first = await retrieve_cohort(tenant, cohort), await cohort_members(tenant, cohort)
    again = await upload_cohort(tenant, "cid\nann\n", cohort)
    await tenant.server.calculated()

    assert (cohort["is_calculating"], cohort["count"]) == (True, None)
    assert (done["count"], done["errors_calculating"], first) == (1, 0, ["ann"])
    assert (done["is_calculating"], again["is_calculating"]) == (False, True)
    assert done["last_calculation"] is not None
    assert await cohort_members(tenant, cohort) == ["ann", "cid"]
    assert (await retrieve_cohort(tenant, cohort))["count"] == 2


@pytest.mark.parametrize("separator", [";", "\t", "|", ","])
async def test_a_file_from_a_spreadsheet_is_read_in_any_language(
    tenant: Tenant, separator: str
) -> None:
    await three_persons(tenant)
    rows = ["Distinct_ID\tE-Mail", "ann\tann@corp.example", "cid\t"]

    cohort = await upload_cohort(tenant, "\r\n".join(rows).replace("\t", separator))
    await tenant.server.calculated()

    assert await cohort_members(tenant, cohort) == ["ann", "cid"]


async def test_the_header_of_a_file_names_the_kind_of_its_ids(tenant: Tenant) -> None:
    await three_persons(tenant)
    bob = (await tenant.person("bob"))["uuid"]

    ids = await upload_cohort(tenant, "\ufeffname,Distinct_ID\nx, cid \ny,\n")
    person_names = await upload_cohort(tenant, f"person_id\n{bob}\nnot-a-uuid\n")
    emails = await upload_cohort(tenant, "E-Mail\nANN@corp.example\n")
    await tenant.server.calculated()

    assert await cohort_members(tenant, ids) == ["cid"]
    assert await cohort_members(tenant, person_names) == ["bob"]
    assert await cohort_members(tenant, emails) == ["ann"]


@pytest.mark.every_engine
async def test_a_cohort_restored_within_a_week_keeps_its_members_but_not_later(
    tenant: Tenant,
) -> None:
    await three_persons(tenant)
    cohort = await upload_cohort(tenant, "ann\nbob\n")
    await tenant.server.calculated()

    await change_cohort(tenant, cohort, deleted=True)
    tenant.server.clock.move(days=6)
    await tenant.server.calculated()
    await change_cohort(tenant, cohort, deleted=False)
    restored = await cohort_members(tenant, cohort)
    await change_cohort(tenant, cohort, deleted=True)
    tenant.server.clock.move(days=7)
    await tenant.server.calculated()
    again = await change_cohort(tenant, cohort, deleted=False)

    assert restored == ["ann", "bob"]
    assert (again["count"], await cohort_members(tenant, cohort)) == (None, [])


@pytest.mark.parametrize(
    ("raw", "detail"),
    [
        (
            b"\xff\xfe\x00",
            "The file must be encoded in UTF-8, or in UTF-16 with a byte order mark.",
        ),
        (b"", "The CSV file is empty."),
        (b"person_id\n\n", "The CSV file contains no ids."),
        (b"email,name\n,ann\n", "The CSV file contains no ids."),
        (
            b"name,city\nann,Ulm\n",
            'The CSV file has several columns, and none is headed "person_id", "distinct_id" or '
            '"email". Found columns: name, city.',
        ),
    ],
)
async def test_a_file_without_members_is_refused(tenant: Tenant, raw: bytes, detail: str) -> None:
    files = {"csv": ("people.csv", raw, "text/csv")}

    answer = await tenant.api.post("/cohorts/", data={"is_static": "1"}, files=files)

    assert answer.status_code == 400
    assert answer.json() == error("validation_error", "invalid_input", detail, "csv")
    assert (await tenant.get("/cohorts/"))["count"] == 0


async def test_a_static_cohort_without_a_file_is_empty(tenant: Tenant) -> None:
    cohort = await create_cohort(tenant, is_static=True, name="later")
    await tenant.server.calculated()

    assert (cohort["is_calculating"], cohort["count"]) == (False, None)
    assert await cohort_members(tenant, cohort) == []


async def test_the_kind_of_a_cohort_may_change(tenant: Tenant) -> None:
    await three_persons(tenant)
    cohort = await upload_cohort(tenant, "bob\n")
    await tenant.server.calculated()

    dynamic = await change_cohort(
        tenant, cohort, is_static=False, filters=all_conditions(person_is("plan", "pro"))
    )
    await tenant.server.calculated()
    names = await cohort_members(tenant, cohort)
    static = await change_cohort(tenant, cohort, is_static=True)

    assert dynamic["is_calculating"] is True
    assert names == ["ann", "cid"]
    assert (static["is_calculating"], await cohort_members(tenant, cohort)) == (False, [])


async def test_members_are_copied_to_a_static_cohort(tenant: Tenant) -> None:
    await three_persons(tenant)
    cohort = await create_cohort(
        tenant, name="Payers", filters=all_conditions(person_is("plan", "pro"))
    )
    await tenant.server.calculated()

    copy = await tenant.get(f"/cohorts/{cohort['id']}/duplicate_as_static_cohort/")
    await change_cohort(tenant, cohort, filters=all_conditions(person_is("plan", "free")))
    await tenant.server.calculated()
    again = await tenant.api.get(f"/cohorts/{copy['id']}/duplicate_as_static_cohort/")

    assert (copy["name"], copy["is_static"]) == ("Payers (static copy)", True)
    assert await cohort_members(tenant, copy) == ["ann", "cid"]
    assert (await retrieve_cohort(tenant, copy))["count"] == 2
    assert again.status_code == 400
    assert again.json() == error(
        "validation_error", "invalid_input", "Cannot duplicate a static cohort as a static cohort."
    )


@pytest.mark.parametrize(
    ("name", "copied"),
    [("n" * 400, "n" * 386 + " (static copy)"), (None, "(static copy)")],
    ids=["the longest name", "no name"],
)
async def test_the_name_of_a_static_copy_is_cut_to_its_limit(
    tenant: Tenant, name: str | None, copied: str
) -> None:
    cohort = await create_cohort(tenant, name=name)

    copy = await tenant.get(f"/cohorts/{cohort['id']}/duplicate_as_static_cohort/")

    assert copy["name"] == copied
