"""An id of more than 200 characters means the same person wherever it is sent."""

import json
from typing import Any

import pytest

from tests.support.application import Json, Tenant

LONG = "long-" + "0123456789" * 24  # 245 characters
CUT = LONG[:200]
PRO: Json = {
    "groups": [
        {"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}]}
    ]
}


def only(operator: str, value: Any) -> Json:
    leaf = {"key": "distinct_id", "type": "person", "operator": operator, "value": value}
    return {"groups": [{"properties": [leaf]}]}


async def test_every_lookup_finds_the_person_that_capture_made(tenant: Tenant) -> None:
    await tenant.capture(
        {"event": "seen", "distinct_id": LONG, "properties": {"$set": {"plan": "pro"}}}
    )

    for sent in (LONG, CUT):
        assert (await tenant.person(sent))["distinct_ids"] == [CUT]
        [listed] = (await tenant.get("/persons/", search=sent))["results"]
        assert listed["distinct_ids"] == [CUT]
        [event] = await tenant.events(distinct_id=sent)
        assert event["distinct_id"] == CUT


async def test_every_evaluation_finds_the_person_that_capture_made(tenant: Tenant) -> None:
    await tenant.capture(
        {"event": "seen", "distinct_id": LONG, "properties": {"$set": {"plan": "pro"}}}
    )
    await tenant.create_flag(key="pro", filters=PRO)

    for sent in (LONG, CUT):
        assert (await tenant.decide(sent))["featureFlags"] == {"pro": True}
        body = {"api_key": tenant.token, "distinct_id": sent}
        answer = (await tenant.public.post("/flags?v=2", json=body)).json()
        assert answer["flags"]["pro"]["enabled"] is True
        context: Json = {"context": {"targetingKey": sent}}
        headers = {"x-api-key": tenant.token}
        path = "/ofrep/v1/evaluate/flags/pro"
        answer = (await tenant.public.post(path, json=context, headers=headers)).json()
        assert answer["value"] is True
        reasons = await tenant.get("/feature_flags/evaluation_reasons/", distinct_id=sent)
        assert reasons["pro"]["value"] is True


@pytest.mark.parametrize("digit", range(4))
async def test_an_id_is_in_the_share_of_its_first_200_characters(
    tenant: Tenant, digit: int
) -> None:
    await tenant.create_flag(key="half", filters={"groups": [{"rollout_percentage": 50}]})
    name = f"{digit}{LONG}"

    whole, cut = await tenant.decide(name), await tenant.decide(name[:200])

    assert whole["featureFlags"] == cut["featureFlags"]


@pytest.mark.parametrize(
    ("operator", "value", "is_on"),
    [
        ("exact", LONG, True),
        ("exact", [LONG, "ann"], True),
        ("exact", CUT, True),
        ("is_not", [LONG], False),
        ("is_not", CUT, False),
        ("exact", LONG[:-1] + "x", True),
        ("exact", "x" + LONG, False),
    ],
)
async def test_a_condition_on_the_id_matches_the_cut_one(
    tenant: Tenant, operator: str, value: Any, is_on: bool
) -> None:
    await tenant.create_flag(key="only", filters=only(operator, value))

    own: Json = {"person_properties": {"distinct_id": LONG}}
    for fields in ({}, own):
        assert (await tenant.decide(LONG, **fields))["featureFlags"] == {"only": is_on}


async def test_definitions_match_whole_and_cut_ids(tenant: Tenant) -> None:
    await tenant.create_flag(key="only", filters=only("exact", LONG))

    [flag] = (await tenant.get("/feature_flags/local_evaluation/"))["flags"]

    [leaf] = flag["filters"]["groups"][0]["properties"]
    assert leaf["value"] == [LONG, CUT]
    stored = await tenant.get(f"/feature_flags/{flag['id']}/")
    assert stored["filters"]["groups"][0]["properties"][0]["value"] == LONG


async def test_long_ids_are_merged(tenant: Tenant) -> None:
    other = "other-" + LONG
    await tenant.capture(
        {"event": "seen", "distinct_id": other, "properties": {"$set": {"plan": "pro"}}},
        {"event": "$identify", "distinct_id": LONG, "properties": {"$anon_distinct_id": other}},
    )

    person = await tenant.person(LONG)

    assert sorted(person["distinct_ids"]) == sorted([CUT, other[:200]])
    assert person["properties"] == {"plan": "pro"}


async def test_a_file_of_members_with_a_long_id_finds_the_person(tenant: Tenant) -> None:
    await tenant.capture(
        {"event": "seen", "distinct_id": LONG}, {"event": "seen", "distinct_id": "b"}
    )

    answer = await tenant.api.post(
        "/cohorts/",
        data={"name": "list", "is_static": "true"},
        files={"csv": ("people.csv", f"distinct_id\n{LONG}\n{CUT}\nb\n".encode(), "text/csv")},
    )
    await tenant.server.calculated()

    cohort = await tenant.get(f"/cohorts/{json.loads(answer.content)['id']}/")
    assert (cohort["count"], cohort["errors_calculating"]) == (2, 0)
