"""Flags that another server accepted, with keys of all characters and payloads that are plain text.

They stay usable in every request.
"""

from typing import Any
from urllib.parse import quote

import pytest
from msgspec import json

from fanion.transfer.document import DocumentError
from tests.support.application import Json, Tenant
from tests.transfer.test_api import exported, imported

KEY = "Billing v2.1: new?"
TEXT = "see you at 5"
FILTERS: Json = {
    "groups": [{"properties": [], "rollout_percentage": 100.0}],
    "payloads": {"true": TEXT},
}
FLAG: Json = {"key": KEY, "filters": FILTERS, "ensure_experience_continuity": True}


@pytest.fixture
async def flag(tenant: Tenant) -> Json:
    report = await imported(tenant, {"flags": [FLAG]})
    assert [outcome.result for outcome in report.outcomes] == ["created"]
    await tenant.server.running.public.flags.flag_sets.catch_up()
    [stored] = (await tenant.get("/feature_flags/"))["results"]
    body: Json = stored
    return body


async def test_an_imported_key_and_payload_are_served_as_they_are(
    tenant: Tenant, flag: Json
) -> None:
    old = await tenant.decide("ann")
    new = await tenant.decide("ann", "?v=4", flag_keys_to_evaluate=[KEY])
    ofrep = await tenant.public.post(
        f"/ofrep/v1/evaluate/flags/{quote(KEY, safe='')}",
        json={"context": {"targetingKey": "ann"}},
        headers={"authorization": f"Bearer {tenant.token}"},
    )
    definitions = await tenant.get("/feature_flags/local_evaluation/")
    config = await tenant.get(f"/feature_flags/{quote(KEY, safe='')}/remote_config/")

    assert (old["featureFlags"], old["featureFlagPayloads"]) == ({KEY: True}, {KEY: TEXT})
    assert new["flags"][KEY]["metadata"]["payload"] == TEXT
    assert (ofrep.status_code, ofrep.json()["key"], ofrep.json()["value"]) == (200, KEY, True)
    assert [definition["key"] for definition in definitions["flags"]] == [KEY]
    assert definitions["flags"][0]["filters"]["payloads"] == {"true": TEXT}
    assert config == TEXT


async def test_an_imported_flag_can_be_sent_back_and_changed(tenant: Tenant, flag: Json) -> None:
    path = f"/feature_flags/{flag['id']}/"
    wider = {**flag["filters"], "groups": [{"properties": [], "rollout_percentage": 20}]}
    changes: list[Json] = [
        flag,
        {"key": KEY, "active": False},
        {"filters": wider},
        {"key": KEY, "filters": {**wider, "payloads": {}}},
    ]

    for change in changes:
        answer = await tenant.api.patch(path, json=change)

        assert answer.status_code == 200, answer.text
        assert answer.json()["key"] == KEY


REQUESTS: list[tuple[str, str, Json]] = [
    ("GET", "activity/", {}),
    ("GET", "usage/", {}),
    ("GET", "role_access/", {}),
    ("GET", "scheduled_changes/", {}),
    ("POST", "dashboard/", {}),
    ("POST", "create_static_cohort_for_flag/", {}),
]


@pytest.mark.parametrize(("method", "path", "body"), REQUESTS)
async def test_every_request_about_an_imported_flag_is_answered(
    tenant: Tenant, flag: Json, method: str, path: str, body: Json
) -> None:
    answer = await tenant.api.request(
        method, f"/feature_flags/{flag['id']}/{path}", json=body if method == "POST" else None
    )

    assert answer.status_code in (200, 201), answer.text


@pytest.mark.parametrize("path", ["evaluation_reasons/", "reach/", "preview_change/"])
async def test_a_change_of_an_imported_flag_can_be_tried(
    tenant: Tenant, flag: Json, path: str
) -> None:
    body: Json = {"id": flag["id"], "key": KEY, "filters": flag["filters"]}
    if path == "evaluation_reasons/":
        body["distinct_id"] = "ann"

    answer = await tenant.api.post(f"/feature_flags/{path}", json=body)

    assert answer.status_code == 200, answer.text


async def test_it_is_moved_on_and_a_second_import_changes_nothing(
    tenant: Tenant, flag: Json
) -> None:
    document = await exported(tenant)

    again = await imported(tenant, {"flags": [FLAG]})
    moved = await imported(tenant, document)

    assert [outcome.result for outcome in again.outcomes] == ["unchanged"]
    assert {outcome.result for outcome in moved.outcomes} == {"unchanged"}
    assert document.flags[0].key == KEY
    assert '"rollout_percentage":100}' in json.encode(document.flags[0].filters).decode()


async def test_new_ones_by_the_api_stay_strict(tenant: Tenant, flag: Json) -> None:
    path = f"/feature_flags/{flag['id']}/"
    payloads = {**flag["filters"], "payloads": {"true": "see you at 6"}}

    refused = [
        await tenant.api.post("/feature_flags/", json={"key": "a.b"}),
        await tenant.api.patch(path, json={"key": "a b"}),
        await tenant.api.patch(path, json={"filters": payloads}),
    ]

    assert [(answer.status_code, answer.json()["attr"]) for answer in refused] == [
        (400, "key"),
        (400, "key"),
        (400, "filters__payloads__true"),
    ]


@pytest.mark.parametrize("key", ["a\nb", "a\u200eb", "\x7f", " "])
async def test_keys_that_nobody_can_read_are_refused(tenant: Tenant, key: Any) -> None:
    with pytest.raises(DocumentError, match="key: must not"):
        await imported(tenant, {"flags": [{**FLAG, "key": key}]})
