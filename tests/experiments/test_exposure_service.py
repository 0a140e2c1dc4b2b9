"""The cohort of those exposed to an experiment, and whether events carry flags at all."""

import json

import pytest

from tests.support.application import Json, Tenant
from tests.support.experiments import create, invalid, take

NOON = "2024-03-01T12:00:00Z"


async def test_the_cohort_of_those_exposed(tenant: Tenant) -> None:
    made = await create(tenant)
    place = f"/experiments/{made['id']}/create_exposure_cohort_for_experiment/"

    early = await tenant.api.post(place)
    await take(tenant, made, "launch")
    created = await tenant.api.post(place)
    again = await tenant.api.post(place)
    after = await tenant.get(f"/experiments/{made['id']}/")

    detail = "Experiment does not have a start date"
    assert (early.status_code, early.json()) == invalid(detail, None)
    assert created.status_code == 201, created.text
    cohort = created.json()["cohort"]
    [[performed]] = [group["values"] for group in cohort["filters"]["properties"]["values"]]
    assert performed["key"] == "$feature_flag_called"
    assert after["exposure_cohort"] == cohort["id"]
    detail = "Experiment already has an exposure cohort"
    assert (again.status_code, again.json()) == invalid(detail, None)


async def test_the_cohort_has_those_who_were_exposed_since_the_launch(tenant: Tenant) -> None:
    made = await create(tenant, start_date="2024-03-01T00:00:00Z")

    def call(person: str, value: str, time: str = "2024-03-01T06:00:00Z") -> Json:
        return {
            "event": "$feature_flag_called",
            "distinct_id": person,
            "timestamp": time,
            "properties": {"$feature_flag": "button", "$feature_flag_response": value},
        }

    await tenant.capture(
        call("ann", "test"), call("bob", "control"), call("cy", "false"),
        call("di", "test", "2024-02-20T00:00:00Z"),
    )  # fmt: skip
    created = await tenant.api.post(
        f"/experiments/{made['id']}/create_exposure_cohort_for_experiment/"
    )
    await tenant.server.calculated()

    cohort_id = created.json()["cohort"]["id"]
    members = await tenant.get(f"/cohorts/{cohort_id}/persons/")
    ids = sorted(person["distinct_ids"][0] for person in members["results"])
    assert ids == ["ann", "bob"]


async def test_the_cohort_follows_the_event_of_the_criteria(tenant: Tenant) -> None:
    config = {"kind": "ExperimentEventExposureConfig", "event": "$pageview", "properties": []}
    made = await create(
        tenant, start_date="2024-02-01", exposure_criteria={"exposure_config": config}
    )

    created = await tenant.api.post(
        f"/experiments/{made['id']}/create_exposure_cohort_for_experiment/"
    )

    [[performed]] = [
        group["values"] for group in created.json()["cohort"]["filters"]["properties"]["values"]
    ]
    assert performed["key"] == "$pageview"
    assert [leaf["key"] for leaf in performed["event_filters"]] == ["$feature/button"]


async def test_events_that_carry_flags_need_no_implementation(tenant: Tenant) -> None:
    def event(name: str, **properties: str) -> Json:
        return {
            "event": name,
            "distinct_id": "ann",
            "timestamp": NOON,
            "properties": properties,
        }

    await tenant.capture(event("with", **{"$feature/a": "test"}), event("without", color="red"))

    async def required(*names: str) -> bool:
        answer = await tenant.get(
            "/experiments/requires_flag_implementation/", events=json.dumps(names)
        )
        result: bool = answer["result"]
        return result

    assert await required("with") is False
    assert await required("without") is True
    assert await required("with", "without") is False
    assert await required("never") is True


@pytest.mark.parametrize("names", ["", "[]", "{}", "no json", '["a"', "[1]"])
async def test_events_must_be_named(tenant: Tenant, names: str) -> None:
    answer = await tenant.api.get(
        "/experiments/requires_flag_implementation/", params={"events": names}
    )

    assert (answer.status_code, answer.json()["attr"]) == (400, "events")


CHECKOUT: Json = {"key": "page", "operator": "exact", "type": "event", "value": ["checkout"]}


@pytest.mark.parametrize(
    ("config", "event", "keys"),
    [
        ({"event": "$pageview", "properties": None}, "$pageview", ["$feature/button"]),
        (
            {"event": "$pageview", "properties": [CHECKOUT]},
            "$pageview",
            ["$feature/button", "page"],
        ),
        (
            {"event": "$pageview", "properties": {"type": "AND", "values": [CHECKOUT]}},
            "$pageview",
            ["$feature/button", "page"],
        ),
        (
            {"event": "$experiment_exposure", "properties": []},
            "$feature_flag_called",
            ["$feature_flag", "$feature_flag_response"],
        ),
    ],
)
async def test_the_cohort_has_the_conditions_of_the_criteria(
    tenant: Tenant, config: Json, event: str, keys: list[str]
) -> None:
    made = await create(
        tenant, start_date="2024-02-01", exposure_criteria={"exposure_config": config}
    )

    created = await tenant.api.post(
        f"/experiments/{made['id']}/create_exposure_cohort_for_experiment/"
    )

    assert created.status_code == 201, created.text
    [[performed]] = [
        group["values"] for group in created.json()["cohort"]["filters"]["properties"]["values"]
    ]
    assert performed["key"] == event
    assert [leaf["key"] for leaf in performed["event_filters"]] == keys


async def test_a_cohort_has_no_alternatives(tenant: Tenant) -> None:
    config = {"event": "$pageview", "properties": {"type": "OR", "values": [CHECKOUT, CHECKOUT]}}
    made = await create(
        tenant, start_date="2024-02-01", exposure_criteria={"exposure_config": config}
    )

    refused = await tenant.api.post(
        f"/experiments/{made['id']}/create_exposure_cohort_for_experiment/"
    )

    detail = "A cohort cannot have exposure criteria with alternatives (OR)."
    assert (refused.status_code, refused.json()) == invalid(detail, "exposure_criteria")
