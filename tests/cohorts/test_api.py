"""Cohorts over HTTP: creation to deletion, members, and use in flags."""

import csv
import io
import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from fanion.cohorts.criteria.definition import GROUP_KEYS
from fanion.cohorts.csv_export import COLUMNS_MAX
from fanion.persons.list_store import PORTION_ROWS_MIN
from tests.support.application import Home, Json, error
from tests.support.management import NOW

MIXED = "Property list cannot contain both PropertyGroup and Property objects"
NOT_FILTERS = "Filters must be a dictionary with a 'properties' key."
NO_COHORT = "Invalid Cohort ID in filter"
TOO_LONG = "Ensure this field has no more than {} characters."
UNKNOWN = 99_999_999
LOOP = "Cohorts cannot reference other cohorts in a loop."


def person_is(key: str, value: Any, **more: Any) -> Json:
    return {"type": "person", "key": key, "value": value, "operator": "exact", **more}


def did(event: str, **more: Any) -> Json:
    return {
        "type": "behavioral",
        "key": event,
        "event_type": "events",
        "value": "performed_event",
        "time_value": 30,
        "time_interval": "day",
        **more,
    }


def in_cohort(cohort_id: int | str, **more: Any) -> Json:
    return {"type": "cohort", "key": "id", "value": cohort_id, **more}


def all_of(*leaves: Json) -> Json:
    return {"properties": {"type": "AND", "values": list(leaves)}}


A = person_is("plan", "pro")


def event(distinct_id: str, name: str = "seen", days_ago: float = 1, **properties: Any) -> Json:
    time = (NOW - timedelta(days=days_ago)).isoformat()
    return {"event": name, "distinct_id": distinct_id, "timestamp": time, "properties": properties}


def person(distinct_id: str, name: str = "seen", days_ago: float = 1, **properties: Any) -> Json:
    """An event that sets these properties of its person."""
    return {**event(distinct_id, name, days_ago), "$set": properties}


async def create(home: Home, **cohort: Any) -> Json:
    answer = await home.api.post("/cohorts/", json=cohort)
    assert answer.status_code == 201, answer.text
    created: Json = answer.json()
    return created


async def change(home: Home, cohort: Json, **fields: Any) -> Json:
    answer = await home.api.patch(f"/cohorts/{cohort['id']}/", json=fields)
    assert answer.status_code == 200, answer.text
    changed: Json = answer.json()
    return changed


async def retrieve(home: Home, cohort: Json) -> Json:
    found: Json = await home.get(f"/cohorts/{cohort['id']}/")
    return found


async def members(home: Home, cohort: Json, **query: Any) -> list[str]:
    """First distinct id of each, sorted."""
    page = await home.get(f"/cohorts/{cohort['id']}/persons/", **query)
    return sorted(person["distinct_ids"][0] for person in page["results"])


async def three_persons(home: Home) -> None:
    await home.capture(
        person("ann", plan="pro", email="Ann@corp.example"),
        person("bob", "opened", plan="free"),
        person("cid", "opened", 40, plan="pro"),
    )


@pytest.mark.every_engine
async def test_a_dynamic_cohort_from_creation_to_deletion(home: Home) -> None:
    await three_persons(home)
    filters = all_of(person_is("plan", ["pro"]))

    made = await create(home, name="Payers", filters=filters, count=7, id=1)
    await home.site.calculated()
    done = await retrieve(home, made)
    renamed = await change(home, made, name="Paying")
    await home.site.calculated()
    deleted = await change(home, made, deleted=True)

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
    }
    assert made["created_by"]["first_name"] == "Olga"
    assert done == {
        **made,
        "is_calculating": False,
        "count": 2,
        "last_calculation": "2024-03-01T12:00:00Z",
    }
    assert renamed == {**done, "name": "Paying", "is_calculating": True}
    assert deleted == {**done, "name": "Paying", "deleted": True}
    assert await retrieve(home, made) == deleted
    assert await members(home, made) == ["ann", "cid"]
    assert (await home.get("/cohorts/"))["results"] == []


async def test_a_restored_cohort_is_calculated_again(home: Home) -> None:
    await three_persons(home)
    cohort = await create(home, filters=all_of(person_is("plan", "free")))
    await home.site.calculated()
    deleted = await change(home, cohort, deleted=True)
    await home.capture(person("ann", plan="free"))
    home.site.clock.move(hours=1)
    await home.site.calculated()
    meanwhile = await retrieve(home, cohort)

    restored = await change(home, cohort, deleted=False)
    await home.site.calculated()
    done = await retrieve(home, cohort)

    assert meanwhile == deleted
    assert restored == {**deleted, "deleted": False}
    assert done == {**restored, "count": 2, "last_calculation": "2024-03-01T13:00:00Z"}
    assert await members(home, cohort) == ["ann", "bob"]


@pytest.mark.parametrize("cohort_id", ["1", "999999", "none"])
async def test_hard_deletion_is_refused_for_any_id(home: Home, cohort_id: str) -> None:
    answer = await home.api.delete(f"/cohorts/{cohort_id}/")

    assert (answer.status_code, answer.content) == (405, b"")


@pytest.mark.every_engine
async def test_the_list_shows_the_newest_first(home: Home) -> None:
    first, second, gone = [await create(home, name=name) for name in ("a", "b", "c")]
    await change(home, gone, deleted=True)

    page = await home.get("/cohorts/", limit=1)

    assert page["count"] == 2
    assert [one["id"] for one in page["results"]] == [second["id"]]
    assert "offset=1" in page["next"]
    assert [one["id"] for one in (await home.get("/cohorts/"))["results"]] == [
        second["id"],
        first["id"],
    ]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (all_of(did("opened")), ["bob"]),
        (all_of(did("opened", time_value="60")), ["bob", "cid"]),
        (all_of(person_is("plan", "pro"), did("opened", time_value=60, negation=True)), ["ann"]),
        ({"properties": [person_is("plan", "pro")]}, ["ann", "cid"]),
        ({"properties": {}}, []),
        (all_of(did("seen", event_filters=[{"type": "event", "key": "n", "value": 5}])), ["ann"]),
    ],
)
async def test_criteria_select_the_expected_members(
    home: Home, filters: Json, expected: list[str]
) -> None:
    await three_persons(home)
    await home.capture(event("ann", "seen", n=5), event("bob", "seen", n="55"))

    cohort = await create(home, filters=filters)
    await home.site.calculated()

    assert await members(home, cohort) == expected
    assert (await retrieve(home, cohort))["count"] == len(expected)


ALONE = did("x", negation=True)


async def test_criteria_that_cannot_be_calculated_count_as_an_error(home: Home) -> None:
    await three_persons(home)

    broken = await create(home, filters=all_of(ALONE))
    sound = await create(home, filters=all_of(person_is("plan", "free")))
    await home.site.calculated()

    found = await retrieve(home, broken)
    assert (found["is_calculating"], found["count"], found["errors_calculating"]) == (
        False,
        None,
        1,
    )
    assert "Negated conditions must be combined" in found["last_error_message"]
    assert await members(home, sound) == ["bob"]


@pytest.mark.every_engine
async def test_a_failed_calculation_keeps_the_members_until_the_criteria_are_fixed(
    home: Home,
) -> None:
    await three_persons(home)
    cohort = await create(home, filters=all_of(person_is("plan", "pro")))
    await home.site.calculated()

    await change(home, cohort, filters=all_of(ALONE))
    await home.site.calculated()
    failed, held = await retrieve(home, cohort), await members(home, cohort)
    await change(home, cohort, filters=all_of(person_is("plan", "free")))
    await home.site.calculated()
    mended = await retrieve(home, cohort)

    assert (failed["errors_calculating"], failed["count"], held) == (1, 2, ["ann", "cid"])
    assert (mended["errors_calculating"], mended["last_error_message"]) == (0, None)
    assert await members(home, cohort) == ["bob"]


async def test_a_cohort_is_calculated_again_after_a_while(home: Home) -> None:
    await three_persons(home)
    cohort = await create(home, filters=all_of(person_is("plan", "pro")))
    await home.site.calculated()

    await home.capture(person("bob", plan="pro"))
    before = await members(home, cohort)
    home.site.clock.move(minutes=15)
    await home.site.calculated()

    assert before == ["ann", "cid"]
    assert await members(home, cohort) == ["ann", "bob", "cid"]
    assert (await retrieve(home, cohort))["last_calculation"] == "2024-03-01T12:15:00Z"


@pytest.mark.every_engine
async def test_nested_cohorts_are_expanded_and_static_ones_looked_up(home: Home) -> None:
    await three_persons(home)
    static = await upload(home, "ann\nbob\n")
    pro = await create(home, filters=all_of(person_is("plan", "pro")))
    await home.site.calculated()

    both = await create(home, filters=all_of(in_cohort(static["id"]), in_cohort(str(pro["id"]))))
    rest = await create(
        home, filters=all_of(in_cohort(pro["id"]), in_cohort(static["id"], negation=True))
    )
    unknown = await create(home)
    await home.store_cohort(unknown, filters=all_of(in_cohort(UNKNOWN)))
    await home.site.calculated()

    assert await members(home, both) == ["ann"]
    assert await members(home, rest) == ["cid"]
    assert await members(home, unknown) == []
    assert (await retrieve(home, unknown))["count"] == 0


@pytest.mark.parametrize(
    ("fields", "code", "detail", "attr"),
    [
        ({"filters": []}, "invalid_input", NOT_FILTERS, "filters"),
        ({"filters": {"x": 1}}, "invalid_input", NOT_FILTERS, "filters"),
        ({"filters": all_of(in_cohort(UNKNOWN))}, "invalid_input", NO_COHORT, None),
        ({"filters": all_of(A, {"type": "OR", "values": [A]})}, "invalid_input", MIXED, "filters"),
        ({"name": "n" * 401}, "max_length", TOO_LONG.format(400), "name"),
        ({"description": None}, "null", "This field may not be null.", "description"),
        ({"description": "d" * 1001}, "max_length", TOO_LONG.format(1000), "description"),
        ({"is_static": "maybe"}, "invalid_input", "Must be a valid boolean.", "is_static"),
        ({"deleted": 5}, "invalid_input", "Must be a valid boolean.", "deleted"),
    ],
)
async def test_a_refused_change_changes_nothing(
    home: Home, fields: Json, code: str, detail: str, attr: str | None
) -> None:
    cohort = await create(home, name="a", filters=all_of(person_is("plan", "pro")))

    answer = await home.api.patch(f"/cohorts/{cohort['id']}/", json=fields)

    assert answer.status_code == 400
    assert answer.json() == error("validation_error", code, detail, attr)
    assert await retrieve(home, cohort) == cohort


async def test_loops_are_refused_and_diamonds_are_not(home: Home) -> None:
    inner = await create(home, filters=all_of(person_is("plan", "pro")))
    left = await create(home, filters=all_of(in_cohort(inner["id"])))
    right = await create(home, filters=all_of(in_cohort(inner["id"])))
    outer = await create(home, filters=all_of(in_cohort(left["id"]), in_cohort(right["id"])))

    loop = await home.api.patch(
        f"/cohorts/{inner['id']}/", json={"filters": all_of(in_cohort(outer["id"]))}
    )
    itself = await home.api.patch(
        f"/cohorts/{inner['id']}/",
        json={"filters": all_of({**in_cohort(0), "value": str(inner["id"])})},
    )
    await home.site.calculated()

    for answer in (loop, itself):
        assert answer.status_code == 400
        assert answer.json() == error("validation_error", "invalid_input", LOOP)
    assert (await retrieve(home, outer))["errors_calculating"] == 0


@pytest.mark.every_engine
async def test_unknown_cohorts_are_not_found(home: Home) -> None:
    for path in ("", "persons/", "explain/", "duplicate_as_static_cohort/", "activity/"):
        answer = await home.api.get(f"/cohorts/99999999/{path}")

        assert answer.status_code == 404
        assert answer.json() == error("invalid_request", "not_found", "Not found.")


# ── The older form ───────────────────────────────────────────────────────────────────────


async def test_groups_are_completed_and_converted_to_filters(home: Home) -> None:
    entry = {"event_id": "opened", "days": 3, "count": 2, "count_operator": "gte"}

    cohort = await create(home, groups=[entry, {"properties": {"plan": "pro"}}])

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


async def test_groups_are_calculated_like_filters(home: Home) -> None:
    await three_persons(home)

    cohort = await create(
        home,
        groups=[
            {"properties": [{"key": "plan", "value": "free"}]},
            {"event_id": "seen", "days": "7"},
        ],
    )
    await home.site.calculated()

    assert await members(home, cohort) == ["ann", "bob"]


@pytest.mark.parametrize("groups", [[{"colour": 1}], [{"days": 3}], ["x"]])
async def test_a_malformed_group_is_refused(home: Home, groups: Any) -> None:
    answer = await home.api.post("/cohorts/", json={"groups": groups})

    assert answer.status_code == 400
    assert (answer.json()["type"], answer.json()["attr"]) == ("validation_error", "groups")


# ── Static cohorts ───────────────────────────────────────────────────────────────────────


async def upload(home: Home, text: str | bytes, cohort: Json | None = None) -> Json:
    raw = text.encode() if isinstance(text, str) else text
    files = {"csv": ("people.csv", raw, "text/csv")}
    if cohort is None:
        fields = {"name": "Hand-picked", "is_static": "true"}
        answer = await home.api.post("/cohorts/", data=fields, files=files)
        assert answer.status_code == 201, answer.text
    else:
        answer = await home.api.patch(f"/cohorts/{cohort['id']}/", files=files)
        assert answer.status_code == 200, answer.text
    uploaded: Json = answer.json()
    return uploaded


@pytest.mark.every_engine
async def test_a_file_of_distinct_ids_makes_a_static_cohort(home: Home) -> None:
    await three_persons(home)

    cohort = await upload(home, '"ann"\n\n nobody \nann,z\n')
    await home.site.calculated()
    done, first = await retrieve(home, cohort), await members(home, cohort)
    again = await upload(home, "cid\nann\n", cohort)
    await home.site.calculated()

    assert (cohort["is_calculating"], cohort["count"]) == (True, None)
    assert (done["count"], done["errors_calculating"], first) == (1, 0, ["ann"])
    assert (done["is_calculating"], again["is_calculating"]) == (False, True)
    assert done["last_calculation"] is not None
    assert await members(home, cohort) == ["ann", "cid"]
    assert (await retrieve(home, cohort))["count"] == 2


async def test_the_header_of_a_file_names_the_kind_of_its_ids(home: Home) -> None:
    await three_persons(home)
    bob = (await home.person("bob"))["uuid"]

    ids = await upload(home, "\ufeffname,Distinct_ID\nx, cid \ny,\n")
    person_names = await upload(home, f"person_id\n{bob}\nnot-a-uuid\n")
    emails = await upload(home, "E-Mail\nANN@corp.example\n")
    await home.site.calculated()

    assert await members(home, ids) == ["cid"]
    assert await members(home, person_names) == ["bob"]
    assert await members(home, emails) == ["ann"]


@pytest.mark.every_engine
async def test_a_cohort_restored_within_a_week_keeps_its_members_but_not_later(home: Home) -> None:
    await three_persons(home)
    cohort = await upload(home, "ann\nbob\n")
    await home.site.calculated()

    await change(home, cohort, deleted=True)
    home.site.clock.move(days=6)
    await home.site.calculated()
    await change(home, cohort, deleted=False)
    restored = await members(home, cohort)
    await change(home, cohort, deleted=True)
    home.site.clock.move(days=7)
    await home.site.calculated()
    again = await change(home, cohort, deleted=False)

    assert restored == ["ann", "bob"]
    assert (again["count"], await members(home, cohort)) == (None, [])


@pytest.mark.parametrize(
    ("raw", "detail"),
    [
        (b"\xff\xfe\x00", "The file must be encoded in UTF-8."),
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
async def test_a_file_without_members_is_refused(home: Home, raw: bytes, detail: str) -> None:
    files = {"csv": ("people.csv", raw, "text/csv")}

    answer = await home.api.post("/cohorts/", data={"is_static": "1"}, files=files)

    assert answer.status_code == 400
    assert answer.json() == error("validation_error", "invalid_input", detail, "csv")
    assert (await home.get("/cohorts/"))["count"] == 0


async def test_a_static_cohort_without_a_file_is_empty(home: Home) -> None:
    cohort = await create(home, is_static=True, name="later")
    await home.site.calculated()

    assert (cohort["is_calculating"], cohort["count"]) == (False, None)
    assert await members(home, cohort) == []


async def test_the_kind_of_a_cohort_may_change(home: Home) -> None:
    await three_persons(home)
    cohort = await upload(home, "bob\n")
    await home.site.calculated()

    dynamic = await change(home, cohort, is_static=False, filters=all_of(person_is("plan", "pro")))
    await home.site.calculated()
    found = await members(home, cohort)
    static = await change(home, cohort, is_static=True)

    assert dynamic["is_calculating"] is True
    assert found == ["ann", "cid"]
    assert (static["is_calculating"], await members(home, cohort)) == (False, [])


async def test_members_are_copied_to_a_static_cohort(home: Home) -> None:
    await three_persons(home)
    cohort = await create(home, name="Payers", filters=all_of(person_is("plan", "pro")))
    await home.site.calculated()

    copy = await home.get(f"/cohorts/{cohort['id']}/duplicate_as_static_cohort/")
    await change(home, cohort, filters=all_of(person_is("plan", "free")))
    await home.site.calculated()
    again = await home.api.get(f"/cohorts/{copy['id']}/duplicate_as_static_cohort/")

    assert (copy["name"], copy["is_static"]) == ("Payers (static copy)", True)
    assert await members(home, copy) == ["ann", "cid"]
    assert (await retrieve(home, copy))["count"] == 2
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
    home: Home, name: str | None, copied: str
) -> None:
    cohort = await create(home, name=name)

    copy = await home.get(f"/cohorts/{cohort['id']}/duplicate_as_static_cohort/")

    assert copy["name"] == copied


# ── Members ──────────────────────────────────────────────────────────────────────────────


async def test_members_are_listed_as_persons_page_by_page(home: Home) -> None:
    await three_persons(home)
    cohort = await create(home, filters=all_of(did("seen", time_value=99)))
    await home.capture(event("bob"), event("cid"))
    await home.site.calculated()
    path = f"/cohorts/{cohort['id']}/persons/"

    page = await home.get(path, limit=2)
    rest = await home.get(path, limit=2, offset=2)

    returned = page["results"][0]
    assert returned == await home.person(returned["distinct_ids"][0])
    assert (len(page["results"]), len(rest["results"])) == (2, 1)
    assert "offset=2" in page["next"] and page["previous"] is None
    assert rest["next"] is None and "offset=0" in rest["previous"]
    assert "count" not in page


@pytest.mark.every_engine
async def test_members_can_be_searched(home: Home) -> None:
    await three_persons(home)
    cohort = await create(home, filters=all_of(person_is("plan", "", operator="is_set")))
    await home.site.calculated()
    cid = await home.person("cid")
    wanted = json.dumps([person_is("plan", "pro")])

    assert await members(home, cohort, search="bob") == ["bob"]
    assert await members(home, cohort, search=cid["uuid"]) == ["cid"]
    assert await members(home, cohort, search="CORP") == ["ann"]
    assert await members(home, cohort, distinct_id="ann") == ["ann"]
    assert await members(home, cohort, email="ann@corp.example") == ["ann"]
    assert await members(home, cohort, properties=wanted) == ["ann", "cid"]
    assert len(await members(home, cohort, properties=wanted, limit=1, offset=1)) == 1


@pytest.mark.every_engine
@pytest.mark.parametrize("conditions", [[], [person_is("n", 3, operator="gt")]])
async def test_following_next_lists_every_member_once(home: Home, conditions: list[Json]) -> None:
    """Of some the first event has the same time."""
    person_names = [person(f"p{n}", days_ago=n // 3, n=n) for n in range(12)]
    await home.capture(*person_names)
    cohort = await create(home, filters=all_of(person_is("n", "", operator="is_set")))
    await home.site.calculated()
    query = {"limit": 2} | ({"properties": json.dumps(conditions)} if conditions else {})
    page = await home.get(f"/cohorts/{cohort['id']}/persons/", **query)
    whole = await home.get(f"/cohorts/{cohort['id']}/persons/", **query | {"limit": 100})
    paged, pages = [*page["results"]], 1

    while page["next"]:
        page = (await home.api.get(page["next"])).json()
        paged, pages = paged + page["results"], pages + 1

    assert paged == whole["results"]
    assert (len(paged), pages) == ((8, 5) if conditions else (12, 7))
    assert "offset=" in page["previous"] and "after" not in page["previous"]


async def test_a_page_after_a_deleted_person_is_found_by_its_offset(home: Home) -> None:
    await three_persons(home)
    cohort = await create(home, filters=all_of(person_is("plan", "", operator="is_set")))
    await home.site.calculated()
    path = f"/cohorts/{cohort['id']}/persons/"

    second = await home.get(path, limit=1, offset=1)
    found = await home.get(path, limit=1, offset=1, after=UUID(int=7))
    wrong = await home.api.get(path, params={"after": "nobody"})

    assert found["results"] == second["results"]
    assert (wrong.status_code, wrong.json()["attr"]) == (400, "after")


@pytest.mark.every_engine
@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ([person_is("plan", "PRO")], []),
        ([person_is("plan", "pro"), person_is("email", "corp", operator="icontains")], ["ann"]),
        ([{"key": "plan", "value": ["free"]}], ["bob"]),
        ([person_is("plan", "pro", negation=True)], ["bob"]),
        ([person_is("nothing", "", operator="is_not_set")], ["ann", "bob", "cid"]),
        ([], ["ann", "bob", "cid"]),
    ],
)
async def test_filters_of_members_compare_like_the_calculation(
    home: Home, properties: list[Json], expected: list[str]
) -> None:
    await three_persons(home)
    cohort = await create(home, filters=all_of(person_is("plan", "", operator="is_set")))
    await home.site.calculated()

    assert await members(home, cohort, properties=json.dumps(properties)) == expected


@pytest.mark.parametrize(
    "properties", ["{", "7", "[7]", "{}x", '[{"type":"cohort","value":1}]', "[" * 5_000]
)
async def test_conditions_that_cannot_be_read_are_refused(home: Home, properties: str) -> None:
    cohort = await create(home, name="x")

    answer = await home.api.get(
        f"/cohorts/{cohort['id']}/persons/", params={"properties": properties}
    )

    assert (answer.status_code, answer.json()["attr"]) == (400, "properties")


@pytest.mark.every_engine
async def test_members_are_exported_as_csv(home: Home) -> None:
    await home.capture(person("ann", plan="pro", email="ann@corp.example", deep={"a": [1]}))
    cohort = await create(home, filters=all_of(person_is("plan", "pro")))
    empty = await create(home, filters=all_of(person_is("plan", "free")))
    await home.site.calculated()
    ann = await home.person("ann")

    table = await home.api.get(f"/cohorts/{cohort['id']}/persons/", params={"format": "csv"})
    nothing = await home.api.get(f"/cohorts/{empty['id']}/persons/?format=csv")

    head, row = table.text.split("\r\n")[:2]
    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    assert head == ("created_at,distinct_ids.0,email,id,name,properties.deep.a.0,properties.plan")
    assert row == f"{ann['created_at']},ann,ann@corp.example,{ann['uuid']},ann@corp.example,1,pro"
    assert (nothing.status_code, nothing.text) == (200, "")


@pytest.mark.every_engine
async def test_a_long_table_lists_every_member_once_with_the_columns_of_all(home: Home) -> None:
    """Members are read and sent in batches."""
    count = PORTION_ROWS_MIN * 2 + 50
    own: list[Json] = [{"n": n, f"only{n % 7}": n} for n in range(count)]
    await home.capture(*(person(f"p{n}", days_ago=n, **own[n]) for n in range(count)))
    cohort = await create(home, filters=all_of(person_is("n", "", operator="is_set")))
    await home.site.calculated()
    path = f"/cohorts/{cohort['id']}/persons/"

    table = await home.api.get(path, params={"format": "csv"})
    part = await home.api.get(path, params={"format": "csv", "limit": 3, "offset": count - 2})

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


async def test_a_table_has_a_limit_of_columns_and_counts_the_others(home: Home) -> None:
    many: Json = {f"p{n:05}": n for n in range(COLUMNS_MAX)}
    await home.capture(person("ann", **many))
    await home.capture(person("bob", days_ago=2, p00000="=1+1"))
    cohort = await create(home, filters=all_of(person_is("p00000", "", operator="is_set")))
    await home.site.calculated()

    table = await home.api.get(f"/cohorts/{cohort['id']}/persons/", params={"format": "csv"})

    ann, bob = csv.DictReader(io.StringIO(table.text, newline=""))
    assert len(ann) == COLUMNS_MAX + 1
    assert (ann["properties.p00000"], ann["columns_left_out"]) == ("0", "4")
    assert (bob["properties.p00000"], bob["columns_left_out"]) == ("'=1+1", "0")
    assert (ann["name"], bob["distinct_ids.0"]) == ("ann", "bob")


@pytest.mark.every_engine
async def test_a_merge_of_persons_changes_members_at_once(home: Home) -> None:
    await three_persons(home)
    cohort = await upload(home, "ann\nbob\n")
    await home.site.calculated()

    await home.capture(
        {"event": "$create_alias", "distinct_id": "cid", "properties": {"alias": "cid2"}},
        {"event": "$merge_dangerously", "distinct_id": "cid", "properties": {"alias": "ann"}},
    )
    page = await home.get(f"/cohorts/{cohort['id']}/persons/")

    assert sorted(len(one["distinct_ids"]) for one in page["results"]) == [1, 3]


@pytest.mark.every_engine
async def test_a_file_may_name_persons_that_were_merged_since(home: Home) -> None:
    await three_persons(home)
    ann = (await home.person("ann"))["uuid"]
    merge = {"event": "$merge_dangerously", "distinct_id": "bob", "properties": {"alias": "ann"}}
    await home.capture(merge)

    answer = await home.api.post(
        "/cohorts/",
        data={"name": "file", "is_static": "true"},
        files={"csv": ("ids.csv", f"person_id\n{ann}\n{UUID(int=7)}\n")},
    )
    await home.site.calculated()

    assert answer.status_code == 201, answer.text
    [member] = (await home.get(f"/cohorts/{answer.json()['id']}/persons/"))["results"]
    assert member["distinct_ids"] == ["ann", "bob"]
    assert member["uuid"] != ann


# ── Explanations ─────────────────────────────────────────────────────────────────────────


async def test_a_cohort_is_explained_in_english_and_sql(home: Home) -> None:
    await three_persons(home)
    cohort = await create(
        home, filters=all_of(person_is("plan", "pro"), did("opened", time_value=60))
    )
    await home.site.calculated()

    reported = await home.get(f"/cohorts/{cohort['id']}/explain/")

    assert reported["sentence"] == (
        "Persons whose “plan” is “pro” and who did “opened” in the last 60 days."
    )
    assert "'pro'" not in reported["sql"] and ["pro"] in reported["parameters"].values()
    assert reported["last_run"]["members"] == 1 and reported["last_run"]["rows_read"] > 0
    assert reported["problem"] is None


async def test_criteria_can_be_tried_without_storing_them(home: Home) -> None:
    await three_persons(home)

    answer = await home.api.post(
        "/cohorts/preview/", json={"filters": all_of(person_is("plan", "pro"))}
    )
    broken = await home.api.post("/cohorts/preview/", json={"filters": all_of(did("x", value=1))})

    tried = answer.json()
    assert answer.status_code == 200
    assert (tried["count"], len(tried["sample"])) == (2, 2)
    assert tried["sentence"] == "Persons whose “plan” is “pro”."
    assert (await home.get("/cohorts/"))["count"] == 0
    assert broken.status_code == 400
    assert broken.json()["attr"] == "filters"


async def test_a_preview_does_not_count_deleted_persons(home: Home) -> None:
    """Deleted persons whose events are still stored."""
    await three_persons(home)
    gone = (await home.person("bob"))["id"]
    tree = all_of(did("opened", time_value=60))

    before = (await home.api.post("/cohorts/preview/", json={"filters": tree})).json()
    answer = await home.api.delete(f"/persons/{gone}/")
    after = (await home.api.post("/cohorts/preview/", json={"filters": tree})).json()
    cohort = await create(home, filters=tree)
    await home.site.calculated()

    assert answer.status_code == 204
    assert (before["count"], after["count"]) == (2, 1)
    assert len(after["sample"]) == 1
    assert (await retrieve(home, cohort))["count"] == 1


async def test_the_activity_records_cohorts(home: Home) -> None:
    cohort = await create(home, name="a", filters=all_of(person_is("plan", "pro")))
    await home.site.calculated()
    await change(home, cohort, name="b")
    await change(home, cohort, name="b")

    reported = await home.get(f"/cohorts/{cohort['id']}/activity/")

    assert [entry["activity"] for entry in reported["results"]] == ["updated", "created"]
    assert reported["results"][0]["detail"]["changes"] == [
        {"type": "Cohort", "action": "changed", "field": "name", "before": "a", "after": "b"}
    ]
    assert (await home.get("/cohorts/activity/"))["total_count"] == 2


async def test_the_activity_records_imports(home: Home) -> None:
    cohort = await upload(home, "ann\n")
    await upload(home, "bob\n", cohort)
    await home.site.calculated()

    reported = await home.get(f"/cohorts/{cohort['id']}/activity/")

    assert [entry["activity"] for entry in reported["results"]] == [
        "imported",
        "imported",
        "created",
    ]
    assert reported["results"][0]["detail"]["name"] == "Hand-picked"
    assert reported["results"][0]["user"]["first_name"] == "Olga"


# ── Flags ────────────────────────────────────────────────────────────────────────────────


async def flag_on(home: Home, cohort: Json) -> str:
    key = f"flag-{cohort['id']}"
    groups = [{"properties": [in_cohort(cohort["id"])], "rollout_percentage": 100}]
    await home.create_flag(key=key, filters={"groups": groups})
    return key


async def test_flags_test_a_dynamic_cohort_live(home: Home) -> None:
    await three_persons(home)
    cohort = await create(home, filters=all_of(person_is("plan", "pro")))

    key = await flag_on(home, cohort)
    ann, bob = [(await home.decide(one))["featureFlags"][key] for one in ("ann", "bob")]
    await change(home, cohort, filters=all_of(person_is("plan", "free")))

    assert (ann, bob) == (True, False)
    assert (await home.decide("bob"))["featureFlags"][key] is True
    await home.store_cohort(cohort, deleted=True)
    await home.site.running.public.flags.flag_sets.catch_up()
    assert (await home.decide("bob"))["featureFlags"][key] is False


def in_use(*keys: str) -> Json:
    return error(
        "validation_error",
        "invalid_input",
        f"This cohort is used in {len(keys)} active feature flag(s): {', '.join(keys)}. "
        "Please remove the cohort from these feature flags before deleting it.",
    )


async def test_a_cohort_that_active_flags_use_is_not_deleted(home: Home) -> None:
    """Itself, or within another cohort."""
    inner = await create(home, filters=all_of(A))
    outer = await create(home, filters=all_of(in_cohort(inner["id"]), A))
    direct, nested = await flag_on(home, inner), await flag_on(home, outer)
    place = f"/cohorts/{inner['id']}/"

    refused = await home.api.patch(place, json={"deleted": True})
    stored = await retrieve(home, inner)
    renamed = await change(home, inner, name="n")

    assert (refused.status_code, refused.json()) == (400, in_use(direct, nested))
    assert (stored["deleted"], renamed["deleted"]) == (False, False)


async def test_a_cohort_that_only_idle_flags_use_is_deleted(home: Home) -> None:
    cohort = await create(home, filters=all_of(A))
    keys = [await flag_on(home, cohort), "second"]
    groups = [{"properties": [in_cohort(cohort["id"])]}]
    second = await home.create_flag(key="second", filters={"groups": groups}, active=False)
    [first] = [one for one in (await home.get("/feature_flags/"))["results"] if one["active"]]
    place = f"/cohorts/{cohort['id']}/"

    used = await home.api.patch(place, json={"deleted": True})
    await home.api.patch(f"/feature_flags/{first['id']}/", json={"active": False})
    await home.api.patch(f"/feature_flags/{second['id']}/", json={"deleted": True})
    deleted = await home.api.patch(place, json={"deleted": True})
    again = await home.api.patch(place, json={"deleted": True})
    await home.api.patch(f"/feature_flags/{first['id']}/", json={"active": True})
    still = await home.api.patch(place, json={"deleted": True})

    assert (used.status_code, used.json()) == (400, in_use(keys[0]))
    assert [one.status_code for one in (deleted, again, still)] == [200, 200, 200]


@pytest.mark.every_engine
async def test_flags_look_up_static_and_behavioural_members(home: Home) -> None:
    await three_persons(home)
    static = await upload(home, "ann\n")
    behavioural = await create(home, filters=all_of(did("opened")))
    await home.site.calculated()

    picked, opened = await flag_on(home, static), await flag_on(home, behavioural)
    flags = {one: (await home.decide(one)) for one in ("ann", "bob", "stranger")}

    found = {
        one: (answer["featureFlags"][picked], answer["featureFlags"][opened])
        for one, answer in flags.items()
    }
    assert found == {"ann": (True, False), "bob": (False, True), "stranger": (False, False)}
    assert not any(answer["errorsWhileComputingFlags"] for answer in flags.values())


async def test_a_cohort_in_a_flag_may_get_criteria_on_events(home: Home) -> None:
    await three_persons(home)
    inner = await create(home, filters=all_of(person_is("plan", "pro")))
    outer = await create(home, filters=all_of(in_cohort(inner["id"])))
    keys = [await flag_on(home, cohort) for cohort in (inner, outer)]

    changed = await change(home, inner, filters=all_of(did("opened")))
    await home.site.calculated()

    assert changed["filters"] == all_of(did("opened"))
    for distinct_id, expected in (("bob", True), ("ann", False)):
        flags = (await home.decide(distinct_id))["featureFlags"]
        assert [flags[key] for key in keys] == [expected, expected]


async def test_a_flag_on_an_unknown_cohort_is_refused(home: Home) -> None:
    groups = [{"properties": [in_cohort(99_999_999)]}]

    answer = await home.api.post(
        "/feature_flags/", json={"key": "f", "filters": {"groups": groups}}
    )

    assert answer.status_code == 400
    assert answer.json() == error(
        "validation_error",
        "cohort_does_not_exist",
        "Cohort with id 99999999 does not exist",
        "filters",
    )
