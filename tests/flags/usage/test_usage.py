"""The usage of flags in numbers, and the flags that are no longer needed."""

from datetime import timedelta
from types import MethodType
from typing import Any

import pytest
from sqlalchemy import insert

from fanion.db.schema.tables import feature_flags
from fanion.flags.evaluation.counters_store import KEPT_DAYS, EvaluationCountStore
from tests.support.application import Json, Tenant, error
from tests.support.management import NOW

pytestmark = pytest.mark.every_engine

VARIANTS = {
    "groups": [{"properties": [], "rollout_percentage": 100}],
    "multivariate": {
        "variants": [
            {"key": "one", "rollout_percentage": 50},
            {"key": "two", "rollout_percentage": 50},
        ]
    },
}
HALF = {"groups": [{"properties": [], "rollout_percentage": 50}]}


async def flush_counts(tenant: Tenant) -> None:
    """Write the counts in memory to the store, which otherwise happens every minute."""
    run = tenant.server.running.public.flags.loops["flag_usage"]
    assert isinstance(run, MethodType) and isinstance(run.__self__, EvaluationCountStore)
    await run.__self__.flush()


def called(key: str, answer: object, at: str) -> Json:
    return {
        "event": "$feature_flag_called",
        "distinct_id": "ann",
        "timestamp": at,
        "properties": {"$feature_flag": key, "$feature_flag_response": answer},
    }


async def usage(tenant: Tenant, flag: Json, **query: Any) -> Json:
    body: Json = await tenant.get(f"/feature_flags/{flag['id']}/usage/", **query)
    return body


async def stale(tenant: Tenant, **query: Any) -> dict[str, tuple[str, str | None]]:
    page = await tenant.get("/feature_flags/", stale="true", **query)
    return {row["key"]: (row["stale_reason"], row["last_evaluated_at"]) for row in page["results"]}


async def test_an_unused_flag_has_zeros_and_no_time(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="beta")

    assert await usage(tenant, flag, date_from="-2d") == {
        "last_evaluated_at": None,
        "days": ["2024-02-28", "2024-02-29", "2024-03-01"],
        "evaluations": [],
        "calls": [],
    }
    assert len((await usage(tenant, flag))["days"]) == 31


async def test_answers_of_servers_are_counted_by_day_and_value(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="beta", filters=HALF)
    answers = [(await tenant.decide(f"p{n}"))["featureFlags"]["beta"] for n in range(8)]
    await flush_counts(tenant)
    tenant.server.clock.move(days=1)
    await tenant.public.post("/flags/?v=2", json={"api_key": tenant.token, "distinct_id": "p1"})
    await flush_counts(tenant)

    result = await usage(tenant, flag, date_from="-1d")

    by_value = {row["value"]: row["data"] for row in result["evaluations"]}
    total = {value: sum(data) for value, data in by_value.items()}
    assert sum(total.values()) == 9
    assert by_value["true"][0] == sum(answers)
    assert by_value["false"][0] == 8 - sum(answers)
    assert result["last_evaluated_at"] == "2024-03-02T12:00:00Z"


async def test_variants_are_distinguished_and_the_largest_comes_first(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="beta", filters=VARIANTS)
    answers = [(await tenant.decide(f"p{n}"))["featureFlags"]["beta"] for n in range(9)]
    await flush_counts(tenant)

    result = (await usage(tenant, flag))["evaluations"]

    expected = {value: answers.count(value) for value in ("one", "two")}
    assert {row["value"]: row["count"] for row in result} == expected
    assert [row["count"] for row in result] == sorted(expected.values(), reverse=True)


async def test_looking_at_a_flag_is_no_use_of_it(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="beta")

    await tenant.get("/feature_flags/evaluation_reasons/", distinct_id="ann")
    await tenant.get("/feature_flags/my_flags/")
    await flush_counts(tenant)

    assert (await usage(tenant, flag))["evaluations"] == []


async def test_calls_are_counted_from_events(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="beta")
    await tenant.capture(
        called("beta", True, "2024-02-29T10:00:00Z"),
        called("beta", True, "2024-03-01T10:00:00Z"),
        called("beta", "test", "2024-03-01T11:00:00Z"),
        called("other", True, "2024-03-01T11:30:00Z"),
    )

    result = await usage(tenant, flag, date_from="-1d")

    assert result["calls"] == [
        {"value": "true", "count": 2, "data": [1, 1]},
        {"value": "test", "count": 1, "data": [0, 1]},
    ]
    assert result["last_evaluated_at"] == "2024-03-01T11:00:00Z"


async def test_days_are_those_of_the_project(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="beta")
    await tenant.api.patch("/", json={"timezone": "Pacific/Auckland"})  # where it is tomorrow
    await tenant.decide("ann")
    await flush_counts(tenant)

    result = await usage(tenant, flag, date_from="-1d")

    assert result["days"] == ["2024-03-01", "2024-03-02"]
    assert [row["data"] for row in result["evaluations"]] == [[0, 1]]


async def test_what_is_written_later_is_added(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="beta")
    await tenant.decide("ann")
    await flush_counts(tenant)
    await tenant.decide("ann")
    await tenant.decide("bob")
    await flush_counts(tenant)

    [entry] = (await usage(tenant, flag))["evaluations"]

    assert entry["count"] == 3


async def test_old_counts_are_forgotten(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="beta")
    await tenant.decide("ann")
    await flush_counts(tenant)
    tenant.server.clock.move(days=KEPT_DAYS + 1)
    await tenant.decide("ann")
    await flush_counts(tenant)

    result = await usage(tenant, flag, date_from=f"-{KEPT_DAYS + 2}d")

    assert [row["count"] for row in result["evaluations"]] == [1]


@pytest.mark.parametrize(
    ("query", "attr"),
    [({"date_from": "soon"}, "date_from"), ({"date_from": "-3y"}, "date_from")],
)
async def test_a_range_that_cannot_be_read_is_refused(
    tenant: Tenant, query: Json, attr: str
) -> None:
    flag = await tenant.create_flag(key="beta")

    answer = await tenant.api.get(f"/feature_flags/{flag['id']}/usage/", params=query)

    assert (answer.status_code, answer.json()["attr"]) == (400, attr)


async def test_usage_of_an_unknown_flag_does_not_exist(tenant: Tenant) -> None:
    answer = await tenant.api.get("/feature_flags/987654/usage/")

    assert answer.status_code == 404
    assert answer.json() == error("invalid_request", "not_found", "Not found.")


async def test_stale_flags_are_listed_with_their_reason(tenant: Tenant) -> None:
    old = "2023-12-01T00:00:00Z"
    await tenant.create_flag(key="everybody", created_at=old)
    await tenant.create_flag(key="one-variant", created_at=old, filters=_only("one"))
    await tenant.create_flag(key="asleep", created_at=old, filters=HALF)
    await tenant.create_flag(key="called", created_at=old, filters=HALF)
    await tenant.create_flag(key="called-long-ago", created_at=old, filters=HALF)
    await tenant.create_flag(key="young", filters=HALF)
    await tenant.create_flag(key="off", created_at=old, filters=HALF, active=False)
    await tenant.capture(
        called("called", True, "2024-02-20T10:00:00Z"),
        called("called-long-ago", True, "2024-01-10T10:00:00Z"),
    )

    assert await stale(tenant) == {
        "everybody": ("fully_rolled_out", None),
        "one-variant": ("fully_rolled_out", None),
        "asleep": ("not_evaluated", None),
        "called-long-ago": ("not_evaluated", "2024-01-10T10:00:00Z"),
    }
    assert "called" in await stale(tenant, stale_days=5)


async def test_stale_flags_are_chosen_and_ordered_as_others_are(tenant: Tenant) -> None:
    for key, tags in (("alpha", ["x"]), ("beta", ["y"]), ("gamma", ["x"])):
        await tenant.create_flag(key=key, tags=tags, created_at="2024-01-01T00:00:00Z")

    assert list(await stale(tenant, tags='["x"]', order="key")) == ["alpha", "gamma"]
    assert list(await stale(tenant, order="-key")) == ["gamma", "beta", "alpha"]
    assert list(await stale(tenant, search="bet")) == ["beta"]
    assert await stale(tenant, active="false") == {}
    answer = await tenant.api.get("/feature_flags/", params={"stale": "true", "type": "odd"})
    assert (answer.status_code, answer.json()["attr"]) == (400, "type")


async def test_a_flag_that_servers_answer_is_not_stale(tenant: Tenant) -> None:
    await tenant.create_flag(key="beta", created_at="2023-12-01T00:00:00Z", filters=HALF)
    await tenant.decide("ann")
    await flush_counts(tenant)

    assert await stale(tenant) == {}
    tenant.server.clock.time += timedelta(days=31)
    assert await stale(tenant) == {"beta": ("not_evaluated", "2024-03-01T12:00:00Z")}


async def test_stale_flags_are_paged_as_other_lists_are(tenant: Tenant) -> None:
    for number in range(3):
        await tenant.create_flag(
            key=f"flag-{number}", created_at=f"2023-12-0{number + 1}T00:00:00Z"
        )

    page = await tenant.get("/feature_flags/", stale="true", limit=2)

    assert page["count"] == 3
    assert [row["key"] for row in page["results"]] == ["flag-2", "flag-1"]
    assert "stale=true" in page["next"]


async def test_stale_flags_are_found_among_any_number_of_newer_ones(tenant: Tenant) -> None:
    await tenant.create_flag(key="oldest", created_at="2023-01-01T00:00:00Z")
    newer = [
        {
            "project_id": tenant.project_id,
            "key": f"flag-{number}",
            "name": "",
            "filters": HALF,
            "active": True,
            "deleted": False,
            "tags": [],
            "analytics_dashboards": [],
            "has_enriched_analytics": False,
            "version": 1,
            "created_at": NOW,
        }
        for number in range(10_000)
    ]
    async with tenant.server.records.write() as connection:
        await connection.execute(insert(feature_flags), newer)

    page = await tenant.get("/feature_flags/", stale="true")

    assert [row["key"] for row in page["results"]] == ["oldest"]
    assert page["count"] == 1


@pytest.mark.parametrize("days", [0, 91])
async def test_days_without_use_have_bounds(tenant: Tenant, days: int) -> None:
    answer = await tenant.api.get(
        "/feature_flags/", params={"stale": "true", "stale_days": str(days)}
    )

    reported = "Ensure this value is between 1 and 90."
    assert answer.json() == error("validation_error", "invalid_input", reported, "stale_days")


def _only(variant: str) -> Json:
    shares = [{"key": variant, "rollout_percentage": 100}, {"key": "x", "rollout_percentage": 0}]
    return {**VARIANTS, "multivariate": {"variants": shares}}
