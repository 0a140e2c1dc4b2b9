"""The number of persons or groups that a release condition would reach."""

import asyncio
from typing import Any

import pytest

from tests.support.application import Json, Tenant, error

MISSING = error(
    "validation_error", "invalid_input", "Missing condition for which to get blast radius"
)
WRONG_GROUP = error(
    "validation_error", "invalid_input", "Invalid group type index for feature flag condition."
)


async def ask(tenant: Tenant, body: Json) -> tuple[int, Any]:
    answer = await tenant.api.post("/feature_flags/user_blast_radius/", json=body)
    return answer.status_code, answer.json()


async def reach(tenant: Tenant, *properties: Json, **body: Any) -> tuple[int, int]:
    condition = {"properties": list(properties), "rollout_percentage": 25}
    status, reported = await ask(tenant, {"condition": condition, **body})
    assert status == 200, reported
    assert set(reported) == {"users_affected", "total_users"}
    return reported["users_affected"], reported["total_users"]


def person(**leaf: Any) -> Json:
    return {"type": "person", **leaf}


async def persons(tenant: Tenant, number: int) -> None:
    """Capture persons whose property `group` counts up from "0"."""
    await tenant.capture(
        *(
            {
                "event": "$identify",
                "distinct_id": f"person{n}",
                "properties": {"$set": {"group": str(n), "joined": f"2024-02-{n + 20}"}},
            }
            for n in range(number)
        )
    )


async def organizations(tenant: Tenant, number: int) -> None:
    await tenant.capture(
        *(
            {
                "event": "$groupidentify",
                "distinct_id": "ann",
                "properties": {
                    "$group_type": "organization",
                    "$group_key": f"org:{n}",
                    "$group_set": {"industry": str(n)},
                },
            }
            for n in range(number)
        )
    )


async def cohort(tenant: Tenant, *leaves: Json) -> int:
    answer = await tenant.api.post("/cohorts/", json={"name": "c", "filters": all_of(*leaves)})
    assert answer.status_code == 201, answer.text
    cohort_id: int = answer.json()["id"]
    return cohort_id


async def older_cohort(tenant: Tenant, *leaves: Json) -> int:
    """Create a cohort that the API refuses today.

    Its leaves may compare with text or have no operator.
    """
    answer = await tenant.api.post("/cohorts/", json={"name": "c"})
    await tenant.store_cohort(answer.json(), filters=all_of(*leaves))
    cohort_id: int = answer.json()["id"]
    return cohort_id


def all_of(*leaves: Json) -> Json:
    return {"properties": {"type": "AND", "values": [{"type": "AND", "values": list(leaves)}]}}


def in_cohort(cohort_id: int, **more: Any) -> Json:
    return {"key": "id", "type": "cohort", "value": cohort_id, **more}


CONDITIONS: list[tuple[list[Json], int]] = [
    ([], 10),
    ([person(key="group", operator="exact", value=["0", "1", "2", "3"])], 4),
    ([person(key="group", operator="exact", value=[0, 1, 2, 3])], 4),
    ([person(key="group", operator="exact", value=["x"])], 0),
    ([person(key="group", operator="is_not", value="1")], 9),
    ([person(key="group", value="1"), person(key="group", value="2")], 0),
    ([person(key="group", operator="gt", value="6")], 3),
    ([person(key="joined", operator="is_date_after", value="-6d")], 5),
    ([person(key="joined", operator="is_date_before", value="2024-02-22")], 2),
    ([person(key="none", operator="is_not_set")], 10),
    ([{"key": "group", "value": "5"}], 1),
]


@pytest.mark.every_engine
async def test_persons_are_counted_by_their_properties(tenant: Tenant) -> None:
    await persons(tenant, 10)

    for properties, affected in CONDITIONS:
        assert await reach(tenant, *properties) == (affected, 10), properties


async def test_a_condition_that_is_null_matches_every_person(tenant: Tenant) -> None:
    await persons(tenant, 3)

    everyone = 200, {"users_affected": 3, "total_users": 3}
    assert await ask(tenant, {"condition": None}) == everyone
    assert await ask(tenant, {"condition": {}}) == everyone
    assert await reach(tenant, person(key="group", value="8")) == (0, 3)


async def test_cohorts_are_asked_for_their_criteria_and_intersected(tenant: Tenant) -> None:
    await persons(tenant, 10)
    low = await cohort(tenant, person(key="group", operator="lt", value="5"))
    high = await cohort(tenant, person(key="group", operator="gt", value="2"))

    assert await reach(tenant, in_cohort(low)) == (5, 10)
    assert await reach(tenant, in_cohort(low), in_cohort(high)) == (2, 10)
    assert await reach(tenant, in_cohort(low), person(key="group", value=["1", "8"])) == (1, 10)
    assert await reach(tenant, in_cohort(low, operator="not_in")) == (5, 10)
    assert await reach(tenant, in_cohort(987654)) == (0, 10)


@pytest.mark.every_engine
async def test_members_of_a_static_cohort_are_counted(tenant: Tenant) -> None:
    await persons(tenant, 5)
    csv = b"distinct_id\nperson1\nperson3\nnobody\n"
    answer = await tenant.api.post(
        "/cohorts/", data={"name": "c", "is_static": "true"}, files={"csv": ("c.csv", csv)}
    )
    cohort_id = answer.json()["id"]
    await tenant.server.calculated()

    assert await reach(tenant, in_cohort(cohort_id)) == (2, 5)
    assert await reach(tenant, in_cohort(cohort_id), person(key="group", value="1")) == (1, 5)


@pytest.mark.every_engine
async def test_a_merged_person_counts_once(tenant: Tenant) -> None:
    await persons(tenant, 3)
    alias = {"alias": "person1"}
    await tenant.capture(
        {"event": "$merge_dangerously", "distinct_id": "person0", "properties": alias}
    )

    assert await reach(tenant) == (2, 2)


@pytest.mark.every_engine
async def test_groups_are_counted_by_their_properties(tenant: Tenant) -> None:
    await organizations(tenant, 10)

    def industry(*values: int, **more: Any) -> Json:
        texts = [str(value) for value in values]
        leaf = {"key": "industry", "type": "group", "group_type_index": 0, "value": texts}
        return {**leaf, **more}

    both = industry(0, 1, 2, 3, 4), industry(2, 3, 4, 5, 6)
    key = {"key": "$group_key", "type": "group", "value": ["org:1", "org:7"]}
    assert await reach(tenant, group_type_index=0) == (10, 10)
    assert await reach(tenant, *both, group_type_index=0) == (3, 10)
    assert await reach(tenant, key, group_type_index=0) == (2, 10)
    assert await reach(tenant, group_type_index=3) == (0, 0)


async def test_the_filters_of_a_flag_reach_whom_one_of_their_groups_does(tenant: Tenant) -> None:
    await persons(tenant, 10)
    low = await cohort(tenant, person(key="group", operator="lt", value="3"))

    async def reached(*groups: Json, **fields: Any) -> tuple[int, Any]:
        return await ask(tenant, {"key": "f", "filters": {"groups": list(groups)}, **fields})

    def reported(affected: int) -> tuple[int, Json]:
        return 200, {"users_affected": affected, "total_users": 10}

    first = {"properties": [person(key="group", value=["1", "8"])], "rollout_percentage": 5}
    cohorts = {"properties": [in_cohort(low)], "variant": "test"}
    assert await reached(first) == reported(2)
    assert await reached(first, cohorts) == reported(4)
    assert await reached(first, {}) == reported(10)
    assert await reached() == reported(0)
    assert await ask(tenant, {"filters": {}}) == reported(10)
    assert await ask(tenant, {"filters": {"properties": first["properties"]}}) == reported(2)
    assert await ask(tenant, {"name": "n", "active": True, "tags": []}) == reported(10)


async def test_the_filters_of_a_group_flag_count_groups(tenant: Tenant) -> None:
    await organizations(tenant, 10)
    leaf = {"key": "industry", "type": "group", "group_type_index": 0}
    groups = [{"properties": [{**leaf, "value": text}]} for text in ("1", "4")]
    filters = {"groups": groups, "aggregation_group_type_index": 0}
    everyone = {"groups": [*groups, {}], "aggregation_group_type_index": 0}
    anonymous = {"groups": [], "aggregation_group_type_index": 0}

    for body_sent, affected in ((filters, 2), (everyone, 10), (anonymous, 0)):
        answer = await ask(tenant, {"filters": body_sent, "group_type_index": 0})
        assert answer == (200, {"users_affected": affected, "total_users": 10})


def of_filters(detail: str, attr: str = "filters") -> Json:
    return error("validation_error", "invalid_input", detail, attr)


REFUSED: dict[str, tuple[Json, Json]] = {
    "both": (
        {"condition": {}, "filters": {}},
        of_filters("Send either condition or filters, not both."),
    ),
    "filters that are a list": ({"filters": []}, of_filters("The filters must be an object.")),
    "groups that are none": ({"filters": {"groups": 5}}, of_filters("groups must be a list")),
    "a group that is none": (
        {"filters": {"groups": [5]}},
        of_filters("The condition must be an object."),
    ),
    "too many groups": (
        {"filters": {"groups": [{}] * 201}},
        of_filters("Ensure there are at most 200 groups, not 201."),
    ),
    "two group types": (
        {"filters": {"aggregation_group_type_index": 0}, "group_type_index": 1},
        of_filters(
            "Must equal aggregation_group_type_index of the filters, or be omitted.",
            "group_type_index",
        ),
    ),
    "filters for a group type that is none": (
        {"filters": {"aggregation_group_type_index": 5}},
        of_filters("A valid integer is required."),
    ),
    "nothing": ({}, MISSING),
    "no condition": ({"group_type_index": 0}, MISSING),
    "a person's property for groups": (
        {"condition": {"properties": [person(key="a", value="b")]}, "group_type_index": 0},
        WRONG_GROUP,
    ),
    "another group type": (
        {
            "condition": {"properties": [{"key": "a", "type": "group", "group_type_index": 1}]},
            "group_type_index": 0,
        },
        WRONG_GROUP,
    ),
    "a cohort for groups": (
        {"condition": {"properties": [in_cohort(1)]}, "group_type_index": 0},
        WRONG_GROUP,
    ),
    "a group's property for persons": (
        {"condition": {"properties": [{"key": "a", "type": "group", "group_type_index": 1}]}},
        WRONG_GROUP,
    ),
    "an index that is none": (
        {"condition": {}, "group_type_index": 5},
        error(
            "validation_error",
            "invalid_input",
            "A valid integer is required.",
            "group_type_index",
        ),
    ),
    "what is no property": (
        {"condition": {"properties": [1]}},
        error(
            "validation_error",
            "invalid_input",
            "The condition cannot be read: a property must be an object.",
            "condition",
        ),
    ),
    "a condition that is a list": (
        {"condition": []},
        error("validation_error", "invalid_input", "The condition must be an object.", "condition"),
    ),
    "properties that are no list": (
        {"condition": {"properties": 0}},
        error("validation_error", "invalid_input", "properties must be a list", "condition"),
    ),
    "an unknown operator": (
        {"condition": {"properties": [person(key="a", operator="icontain", value="b")]}},
        error(
            "validation_error",
            "invalid_operator",
            'Unknown operator "icontain" for type "person". Did you mean "icontains"?',
            "condition__properties__0__operator",
        ),
    ),
    "an unknown operator in the filters of a flag": (
        {"filters": {"groups": [{}, {"properties": [in_cohort(1) | {"operator": "gt"}]}]}},
        error(
            "validation_error",
            "invalid_operator",
            'Unknown operator "gt" for type "cohort". Allowed are: exact, in, not_in.',
            "filters__groups__1__properties__0__operator",
        ),
    ),
    "another flag": (
        {"condition": {"properties": [{"key": "1", "type": "flag", "value": True}]}},
        error(
            "validation_error",
            "invalid_input",
            "Only properties and cohorts can be counted.",
            "condition",
        ),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_what_cannot_be_counted_is_refused(tenant: Tenant, name: str) -> None:
    body, reported = REFUSED[name]

    assert await ask(tenant, body) == (400, reported)


# Conditions that flags compare differently from the calculation of cohorts, for persons of
# `varied`.
AS_FLAGS: list[Json] = [
    person(key="plan", value="PRO"),
    person(key="plan", value="pro", operator="is_not"),
    person(key="version", operator="lt", value="1.206.0"),
    person(key="version", operator="gt", value="1.3"),
    person(key="age", operator="gt", value="100"),
    person(key="vip", value="true"),
    person(key="vip", value=True, negation=True),
    person(key="gone", operator="is_set"),
]


async def varied(tenant: Tenant) -> None:
    held: list[Json] = [
        {"plan": "Pro", "version": "1.24", "age": "30", "vip": True},
        {"plan": "pro", "version": "1.3", "age": 30, "vip": "True"},
        {"plan": "free", "version": "1.206", "age": "23", "vip": 1},
        {"version": "10", "age": 200, "gone": None},
    ]
    await tenant.capture(
        *(
            {"event": "$identify", "distinct_id": f"v{n}", "properties": {"$set": properties}}
            for n, properties in enumerate(held)
        )
    )


async def test_persons_are_counted_as_flags_are_evaluated(tenant: Tenant) -> None:
    """Persons in a cohort with the same condition are counted alike."""
    await varied(tenant)

    for number, leaf in enumerate(AS_FLAGS):
        nested = in_cohort(await older_cohort(tenant, leaf))
        for counted_leaf in (leaf, nested):
            filters = {"groups": [{"properties": [counted_leaf]}]}
            key = f"f{number}-{counted_leaf['type']}"
            await tenant.create_flag(key=key, filters=filters)
            decided = [(await tenant.decide(f"v{n}"))["featureFlags"][key] for n in range(4)]
            assert await reach(tenant, counted_leaf) == (sum(decided), 4), counted_leaf


@pytest.mark.every_engine
async def test_members_are_counted_anew_when_a_cohort_has_others(tenant: Tenant) -> None:
    await persons(tenant, 5)
    files = {"csv": ("c.csv", b"person1\n")}
    answer = await tenant.api.post(
        "/cohorts/", data={"name": "c", "is_static": "true"}, files=files
    )
    cohort_id = answer.json()["id"]
    await tenant.server.calculated()
    counts = [await reach(tenant, in_cohort(cohort_id)) for _ in range(2)]

    more = {"csv": ("c.csv", b"person2\nperson3\n")}
    await tenant.api.patch(f"/cohorts/{cohort_id}/", data={"name": "c"}, files=more)
    await tenant.server.calculated()

    assert [*counts, await reach(tenant, in_cohort(cohort_id))] == [(1, 5), (1, 5), (3, 5)]
    assert await reach(tenant, in_cohort(cohort_id, negation=True)) == (2, 5)


async def test_members_are_uploaded_once_for_concurrent_requests(tenant: Tenant) -> None:
    await persons(tenant, 5)
    files = {"csv": ("c.csv", b"person1\n")}
    answer = await tenant.api.post(
        "/cohorts/", data={"name": "c", "is_static": "true"}, files=files
    )
    cohort_id = answer.json()["id"]
    await tenant.server.calculated()
    earlier = await uploads(tenant, cohort_id)

    counts = await asyncio.gather(*(reach(tenant, in_cohort(cohort_id)) for _ in range(2)))

    assert counts == [(1, 5), (1, 5)]
    assert await uploads(tenant, cohort_id) == earlier + 1


async def uploads(tenant: Tenant, cohort_id: int) -> int:
    statement = "SELECT uniqExact(run) FROM cohort_inputs WHERE cohort_id = {cohort_id:UInt64}"
    events = tenant.server.events
    result = await events.ask(statement, {"cohort_id": cohort_id}, estimated=False)
    [[number]] = result.columns
    return int(number)


async def test_a_cohort_that_flags_cannot_ask_for_is_not_counted(tenant: Tenant) -> None:
    odd = {"properties": {"type": "NEITHER", "values": []}}
    cohort = (await tenant.api.post("/cohorts/", json={"name": "c"})).json()
    cohort_id = cohort["id"]
    await tenant.store_cohort(cohort, filters=odd)
    why = f"cohort {cohort_id}: a group must be of type AND or OR, not 'NEITHER'"

    reported = error(
        "validation_error", "invalid_input", f"The condition cannot be read: {why}.", "condition"
    )
    assert await ask(tenant, {"condition": {"properties": [in_cohort(cohort_id)]}}) == (
        400,
        reported,
    )
