"""The client of a person, for which support staff see what that client gets."""

import json
import random
from typing import Any
from uuid import UUID

import pytest

from tests.support.application import Tenant

Json = dict[str, Any]

PERSONS = 1_000
PLANS = ("free", "pro", "team")
ORGANIZATIONS = 7


def anonymous_id(number: int) -> str:
    return str(UUID(int=(number << 64) + 0x7000_8000_0000))


def conditions(*groups: Json, **filters: Any) -> Json:
    return {"groups": list(groups), **filters}


def when(key: str, value: Any, **fields: Any) -> Json:
    return {"key": key, "value": value, "type": "person", **fields}


VARIANTS = {"variants": [{"key": key, "rollout_percentage": 50} for key in ("red", "blue")]}
HALF = {"properties": [], "rollout_percentage": 50}
FLAGS: dict[str, Json] = {
    "half": {"filters": conditions(HALF)},
    "variants": {"filters": conditions(HALF, multivariate=VARIANTS)},
    "pro": {"filters": conditions({"properties": [when("plan", "pro")], "rollout_percentage": 60})},
    "kept": {"filters": conditions(HALF), "ensure_experience_continuity": True},
    "by-id": {
        "filters": conditions({"properties": [when("distinct_id", "[02468]$", operator="regex")]})
    },
    "of-organizations": {"filters": conditions(HALF, aggregation_group_type_index=0)},
    "by-device": {"filters": conditions(HALF), "bucketing_identifier": "device_id"},
}


def journey(number: int) -> tuple[list[Json], Json]:
    """Return what the client of a person sends, and its request for flags at the end."""
    chance = random.Random(number)
    anonymous, user = anonymous_id(number), f"user-{number}"
    device = {"$device_id": anonymous}
    groups = {"organization": f"o{number % ORGANIZATIONS}"} if chance.random() < 0.6 else {}
    known = {**device, **({"$groups": groups} if groups else {})}
    identified = {
        "event": "$identify",
        "distinct_id": user,
        "properties": {**device, "$anon_distinct_id": anonymous},
        "$set": {"plan": PLANS[number % 3]},
    }
    sent: list[Json] = [
        {"event": "viewed", "distinct_id": anonymous, "properties": device},
        identified,
    ]
    if chance.random() < 0.3:  # a second device, before and after it is identified
        further = {"$device_id": f"second-{number}"}
        sent.append({"event": "viewed", "distinct_id": f"z-{number}", "properties": further})
        sent.append(
            {
                "event": "$identify",
                "distinct_id": user,
                "properties": {**further, "$anon_distinct_id": f"z-{number}"},
            }
        )
    if chance.random() < 0.2:  # another name for the same person
        alias = {"alias": f"0-alias-{number}"}
        sent.append({"event": "$create_alias", "distinct_id": user, "properties": alias})
    if chance.random() < 0.8 or groups:
        sent.append({"event": "bought", "distinct_id": user, "properties": known})
    if chance.random() < 0.1:  # a server, later than the client
        sent.append({"event": "billed", "distinct_id": user, "properties": {}})
    last = next(
        event["properties"] for event in reversed(sent) if "$device_id" in event["properties"]
    )
    asked = {"groups": groups, "$device_id": last["$device_id"]}
    return sent, {"distinct_id": user, "anonymous": anonymous, **asked}


async def make_project(tenant: Tenant) -> dict[str, Json]:
    """Make flags and persons; return each client's request for flags by its distinct id."""
    await tenant.capture(
        *(
            {
                "event": "$groupidentify",
                "distinct_id": "server",
                "properties": {"$group_type": "organization", "$group_key": f"o{number}"},
            }
            for number in range(ORGANIZATIONS)
        )
    )
    for key, flag in FLAGS.items():
        await tenant.create_flag(key=key, **flag)
    asked: dict[str, Json] = {}
    journeys = [journey(number) for number in range(PERSONS)]
    steps = max(len(sent) for sent, _ in journeys)
    for step in range(steps):
        at = f"2024-02-01T12:{step:02}:00Z"
        await tenant.capture(
            *({**sent[step], "timestamp": at} for sent, _ in journeys if step < len(sent))
        )
        if step == 0:
            for _, request in journeys[::3]:  # they keep what their anonymous visitor had
                fields = {"$anon_distinct_id": request["anonymous"]}
                await tenant.decide(request["distinct_id"], **fields)
    for _, request in journeys:
        request.pop("anonymous")
        asked[request["distinct_id"]] = request
    return asked


@pytest.mark.long("asks twice for the flags of a thousand persons")
async def test_support_sees_for_every_person_what_the_client_of_that_person_gets(
    tenant: Tenant,
) -> None:
    asked = await make_project(tenant)
    persons = (await tenant.get("/persons/", limit=PERSONS + 10))["results"]
    seen: dict[str, Json] = {}
    for person in persons:
        if person["is_identified"] and "server" not in person["distinct_ids"]:
            client = await tenant.get(f"/persons/{person['id']}/current_client/")
            answers = await tenant.get(
                "/feature_flags/evaluation_reasons/",
                distinct_id=client["distinct_id"],
                groups=json.dumps(client["groups"]),
                device_id=client["device_id"],
            )
            seen[client["distinct_id"]] = {key: each["value"] for key, each in answers.items()}

    got = {
        distinct_id: (await tenant.decide(**request))["featureFlags"]
        for distinct_id, request in asked.items()
    }

    assert len(got) == PERSONS
    assert seen.keys() == got.keys()
    assert [key for key in got if seen[key] != got[key]] == []
    for flag in FLAGS:
        assert len({values[flag] for values in got.values()}) > 1, f"{flag} tells nobody apart"


async def test_client_of_a_merged_person_is_that_of_its_newest_event(tenant: Tenant) -> None:
    await tenant.capture(
        {"event": "viewed", "distinct_id": "0-visitor", "timestamp": "2024-02-01T00:00:00Z"},
        {
            "event": "$identify",
            "distinct_id": "zoe",
            "properties": {"$anon_distinct_id": "0-visitor"},
            "timestamp": "2024-02-01T00:01:00Z",
        },
        # It was sent before, and arrives with a clock that is ahead.
        {"event": "viewed", "distinct_id": "0-visitor", "timestamp": "2024-02-01T00:02:00Z"},
    )
    person = await tenant.person("zoe")

    client = await tenant.get(f"/persons/{person['id']}/current_client/")

    assert client == {
        "distinct_id": "zoe",
        "groups": {},
        "device_id": None,
        "seen_at": "2024-02-01T00:02:00Z",
    }


async def test_the_reason_has_the_values_that_were_compared(tenant: Tenant) -> None:
    await tenant.capture(
        {"event": "$identify", "distinct_id": "ann", "$set": {"plan": "free", "seats": 3}}
    )
    for key, value in (("of-pro", "pro"), ("of-free", "free")):
        await tenant.create_flag(
            key=key, filters=conditions({"properties": [when("plan", value, operator="exact")]})
        )

    path = "/feature_flags/evaluation_reasons/"
    reasons = await tenant.get(path, distinct_id="ann", compared="true")

    compared = {
        "key": "plan",
        "type": "person",
        "operator": "exact",
        "is_set": True,
        "compared": "free",
        "source": "stored",
    }
    assert reasons["of-pro"]["evaluation"]["compared"] == [{**compared, "matches": False}]
    assert reasons["of-free"]["evaluation"]["compared"] == [{**compared, "matches": True}]
