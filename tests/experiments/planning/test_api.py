"""Plans of experiments from the events of the last days."""

from typing import Any

import pytest

from tests.support.application import Json, Tenant
from tests.support.experiments import invalid

CONVERSION: Json = {
    "kind": "ExperimentMetric",
    "metric_type": "funnel",
    "series": [{"kind": "EventsNode", "event": "purchase"}],
}


async def plan(tenant: Tenant, **fields: Any) -> tuple[int, Json]:
    answer = await tenant.api.post("/experiments/plan/", json={"metric": CONVERSION, **fields})
    return answer.status_code, answer.json()


def event(name: str, person: str, day: int) -> Json:
    return {
        "event": name, "distinct_id": person, "timestamp": f"2024-02-{day:02}T06:00:00Z"
    }  # fmt: skip


async def visitors(tenant: Tenant, people: int, buyers: int) -> None:
    await tenant.capture(
        *(event("visit", f"p{number}", 20) for number in range(people)),
        *(event("purchase", f"p{number}", 21) for number in range(buyers)),
        event("visit", "long-ago", 1),
        event("purchase", "elsewhere", 21),
    )


async def test_a_plan_follows_from_the_last_days(tenant: Tenant) -> None:
    await visitors(tenant, 140, 14)

    status, found = await plan(tenant, exposure_event="visit")

    assert status == 200, found
    assert found["daily_exposures"] == 10
    assert found["baseline"] == {
        "number_of_samples": 140,
        "mean": 0.1,
        "variance": pytest.approx(0.09),
    }
    # Example 15 of the reference: a base of 10 %, an effect of 10 %.
    assert (found["per_variant"], found["recommended_sample_size"]) == (27_054, 54_108)
    assert found["recommended_running_time"] == 5411
    weeks = {
        each["weeks"]: each["minimum_detectable_effect"] for each in found["detectable_effects"]
    }
    assert weeks[1] > weeks[2] > weeks[4] > 100
    assert found["problems"] == []


async def test_units_with_any_event_are_counted_without_an_exposure_event(tenant: Tenant) -> None:
    await visitors(tenant, 140, 14)

    _, found = await plan(tenant)

    assert found["baseline"]["number_of_samples"] == 141


async def test_more_variants_and_an_uneven_split_take_longer(tenant: Tenant) -> None:
    await visitors(tenant, 140, 14)

    _, two = await plan(tenant)
    _, three = await plan(tenant, variants=3)
    _, uneven = await plan(tenant, rollout_percentages=[90, 10])
    _, sure = await plan(tenant, power=0.95)
    _, coarse = await plan(tenant, minimum_detectable_effect=50)

    sizes = [each["recommended_sample_size"] for each in (coarse, two, sure, three, uneven)]
    assert sizes == sorted(sizes)


@pytest.mark.parametrize(("people", "buyers"), [(0, 0), (20, 0)])
async def test_no_data_is_said(tenant: Tenant, people: int, buyers: int) -> None:
    await tenant.capture(
        event("other", "someone", 20),
        *(event("visit", f"p{number}", 20) for number in range(people)),
    )

    status, found = await plan(tenant, exposure_event="visit")

    assert (status, found["problems"]) == (200, ["no_data"])
    assert (found["baseline"], found["per_variant"], found["recommended_running_time"]) == (
        None,
        None,
        None,
    )


async def test_everybody_the_same_is_said(tenant: Tenant) -> None:
    await tenant.capture(event("purchase", "a", 20), event("purchase", "b", 20))

    assert (await plan(tenant, exposure_event="purchase"))[1]["problems"] == ["no_variance"]


@pytest.mark.parametrize(
    ("fields", "attr", "detail"),
    [
        ({"metric": {"kind": "X"}}, "metric__kind", None),
        (
            {"rollout_percentages": [50, 25, 25]},
            "rollout_percentages",
            "There are 3 shares for 2 variants.",
        ),
        (
            {"rollout_percentages": [50, 20]},
            "rollout_percentages",
            "The shares are 70 % together. They must be 100 %.",
        ),
    ],
)
async def test_what_cannot_be_planned(
    tenant: Tenant, fields: Json, attr: str, detail: str | None
) -> None:
    status, found = await plan(tenant, **fields)

    assert (status, found["attr"]) == (400, attr)
    if detail is not None:
        assert (status, found) == invalid(detail, attr)
