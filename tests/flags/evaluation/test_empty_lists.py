"""An empty list instead of an object counts as empty, because PHP encodes empty arrays so."""

import pytest

from tests.support.application import Json, Tenant

EMPTY: Json = {"groups": [], "group_properties": [], "person_properties": []}


@pytest.fixture
async def on(tenant: Tenant) -> Tenant:
    await tenant.create_flag(key="on", filters={"groups": [{"properties": []}]})
    by_group = {"groups": [{"properties": []}], "aggregation_group_type_index": 0}
    await tenant.create_flag(key="of-groups", filters=by_group)
    return tenant


@pytest.mark.parametrize("field", EMPTY)
@pytest.mark.parametrize("path", ["/decide?v=3", "/flags", "/decide?v=4", "/flags?v=2"])
async def test_an_empty_list_is_none_for_a_client(on: Tenant, path: str, field: str) -> None:
    body = {"api_key": on.token, "distinct_id": "u"}

    answer = await on.public.post(path, json={**body, field: []})

    without = await on.public.post(path, json=body)
    assert answer.status_code == 200, answer.text
    for name in ("featureFlags", "flags", "errorsWhileComputingFlags"):
        assert answer.json().get(name) == without.json().get(name)


@pytest.mark.parametrize("field", ["groups", "group_properties", "groupProperties"])
async def test_an_empty_list_is_none_for_openfeature(on: Tenant, field: str) -> None:
    context: Json = {"context": {"targetingKey": "u", field: []}}

    path, headers = "/ofrep/v1/evaluate/flags/on", {"x-api-key": on.token}
    answer = await on.public.post(path, json=context, headers=headers)

    assert (answer.status_code, answer.json()["value"]) == (200, True)


@pytest.mark.parametrize("path", ["evaluation_reasons", "my_flags"])
async def test_an_empty_list_is_none_for_the_management_api(on: Tenant, path: str) -> None:
    answer = await on.api.get(f"/feature_flags/{path}/", params={"groups": "[]"})

    assert answer.status_code == 200, answer.text


async def test_an_empty_list_of_groups_is_none_for_capture(on: Tenant) -> None:
    await on.capture({"event": "seen", "distinct_id": "u", "properties": {"$groups": []}})

    [stored] = await on.events()
    assert stored["event"] == "seen"
    assert not any(name.startswith("$group_") for name in stored["properties"])
