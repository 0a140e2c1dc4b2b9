"""Whole percentages are integers wherever a flag is stored or served."""

from typing import Any

import msgspec
import pytest
from sqlalchemy import select, update

from fanion.db.schema.flags import scheduled_changes
from fanion.db.schema.tables import feature_flags
from fanion.flags.engine.percentages import with_whole_percentages
from tests.support.application import Json, Tenant

CONDITION = {"key": "rollout_percentage", "type": "person", "operator": "exact", "value": [3.0]}


def filters(forty: Any, hundred: Any, zero: Any, seven: Any) -> Json:
    return {
        "groups": [
            {"properties": [], "rollout_percentage": forty},
            {"properties": [CONDITION], "rollout_percentage": 12.5},
            {"properties": [], "rollout_percentage": None},
        ],
        "multivariate": {
            "variants": [
                {"key": "a", "rollout_percentage": hundred},
                {"key": "b", "rollout_percentage": zero},
            ]
        },
        "payloads": {"a": '{"rollout_percentage": 50.0}'},
        "super_groups": [{"properties": [], "rollout_percentage": seven}],
        "holdout_groups": [{"properties": [], "rollout_percentage": seven, "variant": "h"}],
    }


SENT, SERVED = filters(40.0, 100.0, 0.0, 7.0), filters(40, 100, 0, 7)
SIMPLE: Json = {"groups": [{"properties": [], "rollout_percentage": 40.0}]}


def text(value: Any) -> str:
    """Return the JSON of a value, in which 40 and 40.0 differ."""
    return msgspec.json.encode(value, order="deterministic").decode()


def test_whole_percentages_become_integers_and_nothing_else_changes() -> None:
    holdout = {"holdout": {"id": 1, "exclusion_percentage": 10.0}}

    assert text(with_whole_percentages(SENT)) == text(SERVED)
    assert text(with_whole_percentages(holdout)) == text(
        {"holdout": {"id": 1, "exclusion_percentage": 10}}
    )


@pytest.mark.parametrize(
    "given",
    [
        *({}, [], None, {"groups": None}, {"groups": {"rollout_percentage": 5.0}}, SERVED),
        {"groups": [5.0, None, {"rollout_percentage": "5.0"}], "multivariate": [1]},
        {"multivariate": {"variants": 5.0}, "holdout": 5.0},
        {"groups": [{"rollout_percentage": True}, {"rollout_percentage": float("nan")}]},
    ],
)
def test_filters_without_a_whole_percentage_stay_the_same_object(given: Any) -> None:
    assert with_whole_percentages(given) is given


async def served(tenant: Tenant, flag_id: int) -> list[Json]:
    """Return the filters of a flag from each place that serves them."""
    [listed] = (await tenant.get("/feature_flags/"))["results"]
    [local] = (await tenant.get("/feature_flags/local_evaluation/"))["flags"]
    [defined] = (await tenant.get("/feature_flags/local_evaluation/?send_cohorts"))["flags"]
    flag = await tenant.get(f"/feature_flags/{flag_id}/")
    return [each["filters"] for each in (listed, local, defined, flag)]


async def test_what_is_sent_is_stored_and_served_with_integers(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="shares", filters=SENT)

    this = select(feature_flags.c.filters).where(feature_flags.c.id == flag["id"])
    [stored] = await tenant.server.records.fetch(this)
    assert text(stored.filters) == text(flag["filters"]) == text(SERVED)
    assert {text(each) for each in await served(tenant, flag["id"])} == {text(SERVED)}


async def test_a_flag_that_is_stored_otherwise_is_served_with_integers(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="shares")
    await tenant.store_flag(flag, filters=SENT)

    assert {text(each) for each in await served(tenant, flag["id"])} == {text(SERVED)}


async def test_what_was_read_may_be_sent_back_in_either_notation(tenant: Tenant) -> None:
    """A part that equals the stored one is not checked; here variants do not sum to 100."""
    variants = [{"key": "a", "rollout_percentage": 30.0}]
    flag = await tenant.create_flag(key="old")
    old = {"groups": [{"properties": []}], "multivariate": {"variants": variants}}
    await tenant.store_flag(flag, filters=old)

    for sent in (old, (await tenant.get(f"/feature_flags/{flag['id']}/"))["filters"]):
        body = {"filters": sent, "name": text(sent)}
        answer = await tenant.api.patch(f"/feature_flags/{flag['id']}/", json=body)
        assert answer.status_code == 200


async def test_the_percentage_of_a_simple_flag_is_an_integer(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="simple", filters=SIMPLE)

    assert text(flag["rollout_percentage"]) == "40"


async def test_a_scheduled_percentage_is_an_integer(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="grows", filters=SIMPLE)
    path = f"/feature_flags/{flag['id']}/scheduled_changes/"
    payload = {"operation": "update_rollout_percentage", "value": 60.0}

    body = {"payload": payload, "scheduled_at": "2024-03-02T12:00:00Z"}
    made = (await tenant.api.post(path, json=body)).json()
    async with tenant.server.records.write() as connection:
        this = update(scheduled_changes).where(scheduled_changes.c.id == made["id"])
        await connection.execute(this.values(payload=payload))
    [listed] = (await tenant.get(path))["results"]

    assert text(made["payload"]["value"]) == text(listed["payload"]["value"]) == "60"
