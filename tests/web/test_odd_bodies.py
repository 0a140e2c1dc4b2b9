"""Odd values in every field of a request: rejected in the error format, or accepted and applied.

Each field gets some of the odd values; `tests/flags/definitions/test_odd_filters.py` tries all of
them.
"""

from typing import Any

import httpx
import pytest
from msgspec import json

from tests.support.application import Json, Tenant
from tests.support.batch_exports import BATCH_EXPORT
from tests.support.odd_values import some_odd_values

pytestmark = pytest.mark.every_engine

EACH = 3
PRO = {"key": "plan", "type": "person", "value": "pro", "operator": "exact"}
IN_COHORT = {"key": "id", "type": "cohort", "value": 1}
AT = "2030-01-01T00:00:00Z"
TREND: Json = {
    "insight": "TRENDS",
    "display": "ActionsLineGraph",
    "interval": "day",
    "date_from": "-7d",
    "date_to": "-1d",
    "compare": True,
    "events": [
        {
            "id": "a",
            "name": "A",
            "type": "events",
            "math": "dau",
            "properties": [{"key": "x", "type": "event", "value": "1", "operator": "gt"}],
        }
    ],
    "properties": {"type": "AND", "values": [{"type": "OR", "values": [PRO, IN_COHORT]}]},
    "breakdown": "plan",
    "breakdown_type": "person",
    "filter_test_accounts": False,
}
FLAG: Json = {
    "key": "KEY",
    "name": "n",
    "filters": {
        "groups": [
            {
                "properties": [
                    PRO,
                    {**PRO, "operator": "regex", "value": "a.*"},
                    {**PRO, "operator": "is_date_before", "value": "-3d"},
                    IN_COHORT,
                    {"type": "flag", "key": "FLAG", "operator": "flag_evaluates_to", "value": True},
                ],
                "rollout_percentage": 50,
                "variant": "a",
            }
        ],
        "multivariate": {"variants": [{"key": "a", "name": "A", "rollout_percentage": 100}]},
        "payloads": {"a": "1"},
        "super_groups": [{"properties": [PRO], "rollout_percentage": 100}],
        "holdout_groups": [{"properties": [], "rollout_percentage": 5, "variant": "h"}],
        "aggregation_group_type_index": None,
    },
    "active": True,
    "deleted": False,
    "created_at": "2024-01-01T00:00:00Z",
    "ensure_experience_continuity": False,
    "rollback_conditions": [
        {
            "threshold": 1,
            "threshold_type": "insight",
            "operator": "lt",
            "threshold_metric": {"insight": "trends", "events": [{"id": "x"}]},
        }
    ],
    "performed_rollback": False,
    "tags": ["a"],
    "analytics_dashboards": [],
    "has_enriched_analytics": False,
}
BODIES: dict[str, Json] = {
    "PATCH /feature_flags/FLAG/": {**FLAG, "filters": {"groups": [{}]}, "version": None},
    "POST /feature_flags/user_blast_radius/": {
        "condition": {"properties": [PRO, IN_COHORT], "rollout_percentage": 5},
        "group_type_index": None,
    },
    "POST /feature_flags/reach/": {**FLAG, "filters": {"groups": [{"properties": [PRO]}]}},
    "POST /feature_flags/preview_change/": {**FLAG, "filters": {"groups": [{"properties": [PRO]}]}},
    "POST /feature_flags/evaluation_reasons/": {
        "key": "other",
        "filters": {"groups": [{"properties": [PRO, IN_COHORT]}]},
        "distinct_id": "u",
        "groups": {"org": "o"},
        "person_properties": {"plan": "pro"},
        "group_properties": {"org": {"plan": "pro"}},
        "device_id": "d",
        "version": None,
    },
    "POST /feature_flags/FLAG/role_access/": {"role_id": "00000000-0000-0000-0000-000000000000"},
    "POST /feature_flags/FLAG/scheduled_changes/": {
        "scheduled_at": AT,
        "payload": {"operation": "update_status", "value": True, "condition_index": 0},
    },
    "POST /feature_flags/FLAG/scheduled_changes/#steps": {
        "payload": {
            "operation": "update_rollout_percentage",
            "steps": [{"scheduled_at": AT, "value": 5}],
            "condition_index": 0,
        }
    },
    "POST /cohorts/": {
        "name": "c",
        "filters": {"properties": {"type": "OR", "values": [PRO, IN_COHORT]}},
        "groups": [],
        "is_static": False,
    },
    "POST /insights/": {
        "name": "n",
        "filters": {"insight": "TRENDS", "events": [{"id": "a"}]},
        "dashboards": [],
        "tags": ["a"],
        "favorited": False,
    },
    "POST /insights/trend/": TREND,
    "POST /dashboards/": {
        "name": "n",
        "pinned": False,
        "filters": {"date_from": "-7d", "date_to": None},
        "tags": ["a"],
        "restriction_level": 21,
    },
    "POST /batch_exports/": BATCH_EXPORT,
    "POST /webhooks/": {"url": "https://a.example/x", "events": ["cohort.created"], "active": True},
}


async def send_request(tenant: Tenant, target: str, body: Any) -> httpx.Response:
    method, path = target.partition("#")[0].split()
    answer = await tenant.api.request(method, path, json=body)
    assert answer.status_code < 500, (target, body, answer.text)
    if answer.status_code >= 400:
        failure = answer.json()
        assert set(failure) >= {"type", "code", "detail", "attr"}, (target, body, failure)
    return answer


async def base_flag(tenant: Tenant) -> str:
    return str((await tenant.create_flag(key="base", filters={"groups": [{}]}))["id"])


@pytest.mark.parametrize("target", BODIES)
async def test_no_body_causes_a_server_error(tenant: Tenant, target: str) -> None:
    path = target.replace("FLAG", await base_flag(tenant))

    statuses = {
        (await send_request(tenant, path, odd)).status_code
        for odd in some_odd_values(BODIES[target], EACH)
    }

    assert 400 in statuses
    listing = path.partition("#")[0].split()[1]
    if not listing.endswith(("user_blast_radius/", "trend/", "reach/", "preview_change/")):
        await tenant.get(listing)


async def test_every_flag_that_is_accepted_is_computed(tenant: Tenant) -> None:
    text = json.encode(FLAG).replace(b"FLAG", (await base_flag(tenant)).encode())
    body = json.decode(text)
    cohort = await tenant.api.post(
        "/cohorts/", json={"name": "c", "filters": {"properties": [PRO]}}
    )
    body["filters"]["groups"][0]["properties"][3]["value"] = cohort.json()["id"]
    accepted = 0

    for number, odd in enumerate(some_odd_values(body, EACH)):
        if isinstance(odd, dict) and odd.get("key") == "KEY":
            odd["key"] = f"flag-{number}"
        accepted += (await send_request(tenant, "POST /feature_flags/", odd)).status_code == 201

    assert accepted > 20
    decided = await tenant.decide("u", person_properties={"plan": "pro"})
    assert decided["errorsWhileComputingFlags"] is False
    for query in ({"limit": "1000"}, {"active": "STALE"}, {"stale": "true"}, {"type": "boolean"}):
        await tenant.get("/feature_flags/", **query)
    await tenant.get("/feature_flags/activity/", limit=1000)
    await tenant.get("/feature_flags/my_flags/")
    await tenant.get("/feature_flags/evaluation_reasons/", distinct_id="u")
    await tenant.get("/feature_flags/local_evaluation/", send_cohorts="")
