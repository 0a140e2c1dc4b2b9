"""The contents that a feature flag may have, and the errors for everything else.

Source: flags.md section 12.
"""

from typing import Any

import pytest

from tests.support.application import Json, Tenant, error

pytestmark = pytest.mark.every_engine

ON_FOR_EVERYONE: Json = {"groups": [{"properties": [], "rollout_percentage": None}]}


def invalid(code: str, attr: str | None, detail: str) -> Json:
    return error("validation_error", code, detail, attr)


def leaf(**changes: Any) -> Json:
    """Return the filters of a flag whose only condition has one property."""
    property_leaf = {"key": "email", "type": "person", "value": "x", **changes}
    return {"groups": [{"properties": [property_leaf]}]}


def operator(name: str, value: Any) -> Json:
    return {"filters": leaf(operator=name, value=value)}


def variants(*percentages: float, **rest: Any) -> Json:
    made = [{"key": f"v{n}", "rollout_percentage": p} for n, p in enumerate(percentages)]
    return {"groups": [{}], "multivariate": {"variants": made}, **rest}


ONLY_PERSON = invalid(
    "invalid_input", "filters", "Filters are not valid (can only use person and cohort properties)"
)
ONLY_GROUP = invalid(
    "invalid_input", "filters", "Filters are not valid (can only use group properties)"
)
BY_GROUP = {"aggregation_group_type_index": 0}

REFUSALS: dict[str, tuple[Any, Json]] = {
    "no key": ({"key": ...}, invalid("required", "key", "This field is required.")),
    "a blank key": ({"key": "  "}, invalid("blank", "key", "This field may not be blank.")),
    "a null key": ({"key": None}, invalid("null", "key", "This field may not be null.")),
    "a long key": (
        {"key": "k" * 401},
        invalid("max_length", "key", "Ensure this field has no more than 400 characters."),
    ),
    "a key in use": (
        {"key": "taken"},
        invalid("unique", "key", "There is already a feature flag with this key."),
    ),
    "filters as a list": (
        {"filters": []},
        invalid("not_a_dict", "filters", 'Expected a dictionary of items but got type "list".'),
    ),
    "filters as a text": (
        {"filters": "x"},
        invalid("not_a_dict", "filters", 'Expected a dictionary of items but got type "str".'),
    ),
    "filters without groups": (
        {"filters": {"payloads": {}}},
        invalid("invalid_input", "filters", "Filters are not valid (groups are missing)"),
    ),
    "no condition set": (
        {"filters": {"groups": []}},
        invalid(
            "invalid_input",
            "filters",
            "Feature flags must have at least one condition set (group).",
        ),
    ),
    "a key with a blank": (
        {"key": "my flag"},
        invalid(
            "invalid_key",
            "key",
            "Only letters, numbers, hyphens (-) & underscores (_) are allowed.",
        ),
    ),
    "groups that are no list": (
        {"filters": {"groups": {}}},
        invalid(
            "invalid_input",
            "filters",
            "Filters are not valid (groups must be a list of condition sets)",
        ),
    ),
    "an event property": ({"filters": leaf(type="event")}, ONLY_PERSON),
    "a property of no type": (
        {"filters": {"groups": [{"properties": [{"key": "a", "value": 1}]}]}},
        ONLY_PERSON,
    ),
    "a group property in a person flag": (
        {"filters": leaf(type="group", group_type_index=0)},
        ONLY_PERSON,
    ),
    "a person property in a group flag": ({"filters": leaf() | BY_GROUP}, ONLY_GROUP),
    "a cohort in a group flag": (
        {"filters": leaf(type="cohort", key="id", value=1) | BY_GROUP},
        ONLY_GROUP,
    ),
    "another group type": (
        {"filters": leaf(type="group", group_type_index=1) | BY_GROUP},
        ONLY_GROUP,
    ),
    "an override of no variant": (
        {"filters": {"groups": [{"variant": "x"}]}},
        invalid(
            "invalid_input", "filters", "Filters are not valid (variant override does not exist)"
        ),
    ),
    "variants below 100": (
        {"filters": variants(50, 49)},
        invalid(
            "invalid_input",
            None,
            "Invalid variant definitions: Variant rollout percentages must sum to 100.",
        ),
    ),
    "variants above 100": (
        {"filters": variants(50, 51)},
        invalid(
            "invalid_input",
            None,
            "Invalid variant definitions: Variant rollout percentages must sum to 100.",
        ),
    ),
    "an unknown cohort": (
        {"filters": leaf(type="cohort", key="id", value=5151)},
        invalid("cohort_does_not_exist", "filters", "Cohort with id 5151 does not exist"),
    ),
    "a wrong relative date": (
        operator("is_date_before", "6hed"),
        invalid("invalid_date", "filters", "Invalid date value: 6hed"),
    ),
    "a wrong date": (
        operator("is_date_after", "2022-13-45"),
        invalid("invalid_date", "filters", "Invalid date value: 2022-13-45"),
    ),
    "gt with a list": (
        operator("gt", ["@posthog.com"]),
        invalid("invalid_value", "filters", "Invalid value for operator gt: ['@posthog.com']"),
    ),
    "gte with a boolean": (
        operator("gte", True),
        invalid("invalid_value", "filters", "Invalid value for operator gte: True"),
    ),
    "lt with an object": (
        operator("lt", {}),
        invalid("invalid_value", "filters", "Invalid value for operator lt: {}"),
    ),
    "lte with null": (
        operator("lte", None),
        invalid("invalid_value", "filters", "Invalid value for operator lte: None"),
    ),
    "regex with a list": (
        operator("regex", ["a"]),
        invalid("invalid_value", "filters", "Invalid value for operator regex: ['a']"),
    ),
    "not_regex with a number": (
        operator("not_regex", 1),
        invalid("invalid_value", "filters", "Invalid value for operator not_regex: 1"),
    ),
    "starts_with with a number": (
        operator("starts_with", 5),
        invalid("invalid_value", "filters", "Invalid value for operator starts_with: 5"),
    ),
    "icontains_multi with a text": (
        operator("icontains_multi", "a"),
        invalid("invalid_value", "filters", "Invalid value for operator icontains_multi: a"),
    ),
    "between with its ends swapped": (
        operator("between", [20, 10]),
        invalid("invalid_value", "filters", "Invalid value for operator between: [20, 10]"),
    ),
    "icontains with a list": (
        operator("icontains", ["a"]),
        invalid("invalid_value", "filters", "Invalid value for operator icontains: ['a']"),
    ),
    "not_icontains with true": (
        operator("not_icontains", True),
        invalid("invalid_value", "filters", "Invalid value for operator not_icontains: True"),
    ),
    "a pattern that cannot be searched": (
        operator("regex", "2.3.9{0-9}{1}("),
        invalid(
            "invalid_value",
            "filters",
            "Invalid regular expression: 2.3.9{0-9}{1}(. Look-around and back-references are not "
            "supported: expressions follow the RE2 syntax.",
        ),
    ),
    "payloads as a list": (
        {"filters": {"groups": [{}], "payloads": [1]}},
        invalid("invalid_input", "filters", "Payloads must be passed as a dictionary"),
    ),
    "a payload of no variant": (
        {"filters": variants(100, payloads={"true": 1})},
        invalid(
            "invalid_input",
            "filters",
            "Payload keys must match a variant key for multivariate flags",
        ),
    ),
    "a payload of a boolean flag": (
        {"filters": {"groups": [{}], "payloads": {"false": 1}}},
        invalid("invalid_input", "filters", "Payload keys must be 'true' for boolean flags"),
    ),
    "active as a word": (
        {"active": "maybe"},
        invalid("invalid_input", "active", "Must be a valid boolean."),
    ),
    "a dashboard that is not there": (
        {"analytics_dashboards": [987654]},
        invalid(
            "does_not_exist", "analytics_dashboards", 'Invalid pk "987654" - object does not exist.'
        ),
    ),
    "tags as a text": (
        {"tags": "a"},
        invalid("not_a_list", "tags", 'Expected a list of items but got type "str".'),
    ),
    "a list as body": (
        [1],
        invalid("invalid_input", None, "Invalid data. Expected a dictionary, but got list."),
    ),
}

# Checked when a flag is created, not when it is changed. Source: flags.md section 12.
ON_CREATE_ONLY = {"no key", "filters without groups", "no condition set"}


def sent_for(name: str) -> Any:
    sent, _ = REFUSALS[name]
    if not isinstance(sent, dict):
        return sent
    body: dict[str, Any] = {"key": "new"} | sent
    return {name: value for name, value in body.items() if value is not ...}


async def test_what_may_not_be_created(tenant: Tenant) -> None:
    taken = await tenant.create_flag(key="taken")

    answers = {
        name: await tenant.api.post("/feature_flags/", json=sent_for(name)) for name in REFUSALS
    }

    assert {name: (answer.status_code, answer.json()) for name, answer in answers.items()} == {
        name: (400, body) for name, (_, body) in REFUSALS.items()
    }
    assert (await tenant.get("/feature_flags/"))["results"] == [taken]


async def test_a_flag_may_not_become_what_may_not_be_created(tenant: Tenant) -> None:
    await tenant.create_flag(key="taken")
    flag = await tenant.create_flag(key="omega")
    names = [name for name in REFUSALS if name not in ON_CREATE_ONLY]

    path = f"/feature_flags/{flag['id']}/"
    answers = {name: await tenant.api.patch(path, json=sent_for(name)) for name in names}

    assert {name: (answer.status_code, answer.json()) for name, answer in answers.items()} == {
        name: (400, REFUSALS[name][1]) for name in names
    }
    assert await tenant.get(path) == flag


ALLOWED: dict[str, Json] = {
    "no groups but properties of old": {},
    "a group of nothing": {"groups": [{}]},
    "a fraction": {"groups": [{"rollout_percentage": 0.5}]},
    "unset, without a value": {
        "groups": [{"properties": [{"key": "a", "type": "person", "operator": "is_not_set"}]}]
    },
    "a variant override": variants(50, 50) | {"groups": [{"variant": "v1"}]},
    "a group flag of a type not seen": {"groups": [{"rollout_percentage": 5}]} | BY_GROUP,
    "a group key": leaf(type="group", key="$group_key", group_type_index=0) | BY_GROUP,
    "relative dates": leaf(operator="is_date_before", value="-3d"),
}


async def test_what_is_allowed_is_echoed_as_it_was_sent(tenant: Tenant) -> None:
    for number, (name, filters) in enumerate(ALLOWED.items()):
        flag = await tenant.create_flag(key=f"flag-{number}", filters=filters)

        assert flag["filters"] == (filters or ON_FOR_EVERYONE), name


@pytest.mark.parametrize("name", ["POST", "PATCH"])
async def test_a_holdout_is_stored_as_the_group_that_it_means(tenant: Tenant, name: str) -> None:
    groups = [{"properties": [], "rollout_percentage": 100, "variant": "holdout-7"}]
    filters = {**ON_FOR_EVERYONE, "holdout": {"id": 7, "exclusion_percentage": 100.0}}

    sent = ON_FOR_EVERYONE if name == "PATCH" else filters
    made = await tenant.create_flag(key="held", filters=sent)
    if name == "PATCH":
        path = f"/feature_flags/{made['id']}/"
        made = (await tenant.api.patch(path, json={"filters": filters})).json()
        filters["holdout_groups"] = groups
        again = await tenant.api.patch(path, json={"filters": filters})
        assert again.json()["filters"] == made["filters"]

    assert made["filters"] == {**ON_FOR_EVERYONE, "holdout_groups": groups}
    assert (await tenant.decide("ann"))["featureFlags"]["held"] == "holdout-7"


@pytest.mark.parametrize(
    "holdout",
    [
        {"id": "7", "exclusion_percentage": 10},
        {"id": 7, "exclusion_percentage": 101},
        {"id": 7, "exclusion_percentage": True},
        {"id": 7, "exclusion_percentage": 10, "name": "x"},
        [7],
        "7",
        {"id": 7, "exclusion_percentage": 20},
    ],
)
async def test_a_holdout_that_is_not_valid_or_contradicts_is_refused(
    tenant: Tenant, holdout: Any
) -> None:
    group = {"properties": [], "rollout_percentage": 10, "variant": "holdout-7"}
    filters = {**ON_FOR_EVERYONE, "holdout_groups": [group], "holdout": holdout}

    answer = await tenant.api.post("/feature_flags/", json={"key": "held", "filters": filters})

    assert answer.status_code == 400
    assert answer.json()["attr"] == "filters__holdout"
