"""The people behind the numbers of experiments, over HTTP: as many as each number says."""

import csv
import io
from typing import Any

import pytest

from tests.support.application import Json, Tenant, error
from tests.support.cohorts import cohort_members, retrieve_cohort
from tests.support.experiments import create, invalid, split

START = "2024-02-20T00:00:00Z"
BOUGHT: Json = {
    "kind": "ExperimentMetric",
    "metric_type": "funnel",
    "uuid": "bought",
    "series": [{"event": "opened"}, {"event": "purchase"}],
}
AMOUNT: Json = {
    "kind": "ExperimentMetric",
    "metric_type": "mean",
    "uuid": "amount",
    "source": {"event": "purchase", "math": "sum", "math_property": "amount"},
}
BACK: Json = {
    "kind": "ExperimentMetric",
    "metric_type": "retention",
    "uuid": "back",
    "start_event": {"event": "opened"},
    "completion_event": {"event": "purchase"},
    "start_handling": "first_seen",
    "retention_window_start": 0,
    "retention_window_end": 2,
    "retention_window_unit": "day",
}


def event(name: str, person: str, time: str, **properties: Any) -> Json:
    return {
        "event": name,
        "distinct_id": person,
        "timestamp": f"2024-02-{time}Z",
        "properties": properties,
    }


def call(person: str, value: Any, time: str = "20T06:00:00", **properties: Any) -> Json:
    own = {"$feature_flag": "button", "$feature_flag_response": value}
    return event("$feature_flag_called", person, time, **own, **properties)


def named(person: str) -> Json:
    return {**call(person, "test", "20T08:00:00"), "$set": {"email": f"{person}@a.com"}}


HISTORY = [
    *(call(f"c{number}", "control") for number in range(3)),
    *(named(f"t{number}") for number in range(4)),
    *(call("both", "control"), call("both", "test", "20T07:00:00")),
    call("held", "holdout-3"),
    call("off", False),
    call("c0", "control", "22T06:00:00"),
    *(event("opened", person, "21T06:00:00") for person in ("t0", "t1", "t2", "c0", "both", "x")),
    event("purchase", "t0", "21T07:00:00", amount=30),
    event("purchase", "t1", "21T07:00:00", amount=5),
    event("purchase", "t3", "21T07:00:00", amount=2),
    event("purchase", "both", "21T07:00:00", amount=500),
]


@pytest.fixture
async def experiment(tenant: Tenant) -> Json:
    made = await create(
        tenant, start_date=START, metrics=[BOUGHT], metrics_secondary=[AMOUNT, BACK]
    )
    await tenant.capture(*HISTORY)
    return made


async def people(tenant: Tenant, experiment: Json, **query: Any) -> dict[str, Any]:
    """Return the value of each person, by its first distinct id, in the order of the list."""
    body = await tenant.get(f"/experiments/{experiment['id']}/people/", **query)
    [found] = body["results"]
    assert found["count"] == len(found["people"])
    return {person["distinct_ids"][0]: person["value_at_data_point"] for person in found["people"]}


@pytest.mark.every_engine
async def test_as_many_people_as_each_number_says(tenant: Tenant, experiment: Json) -> None:
    results = await tenant.get(f"/experiments/{experiment['id']}/results/")

    exposures = results["exposures"]
    for variant, number in exposures["variants"].items():
        assert len(await people(tenant, experiment, variant=variant)) == number
    assert await people(tenant, experiment, variant="$multiple") == {"both": "2024-02-20T06:00:00Z"}
    assert await people(tenant, experiment, variant="$holdout") == {"held": None}
    assert (exposures["multiple"], exposures["holdout"]) == (1, 1)
    for metric in results["metrics"]:
        for arm in (metric["baseline"], *metric["variants"]):
            place = {"variant": arm["key"], "metric": metric["uuid"]}
            counted = await people(tenant, experiment, **place)
            assert len(counted) == arm["number_of_samples"], place
            assert sum(counted.values()) == arm["sum"], place
            for number, step in enumerate(arm.get("step_counts", ()), start=1):
                assert len(await people(tenant, experiment, **place, step=number)) == step


async def test_people_who_converted_and_who_did_not(tenant: Tenant, experiment: Json) -> None:
    of_test = {"variant": "test", "metric": "bought"}
    found = [
        await people(tenant, experiment, **of_test, converted=converted)
        for converted in ("true", "false")
    ]

    assert [set(some) for some in found] == [{"t0", "t1"}, {"t2", "t3"}]
    amounts = await people(tenant, experiment, variant="test", metric="amount")
    assert list(amounts.items())[:3] == [("t0", 30), ("t1", 5), ("t3", 2)]


async def test_merged_people_are_one(tenant: Tenant, experiment: Json) -> None:
    await tenant.capture(
        event("$create_alias", "t0", "23T06:00:00", alias="t1", distinct_id="t0"),
    )

    found = await people(tenant, experiment, variant="test", metric="amount", converted="true")

    assert sorted(found.values()) == [2, 35]


@pytest.mark.every_engine
async def test_groups_are_listed_by_their_key(tenant: Tenant) -> None:
    await tenant.capture(
        event("$groupidentify", "a", "19T06:00:00", **{"$group_type": "company", "$group_key": "x"})
    )
    made = await create(
        tenant,
        start_date=START,
        metrics=[AMOUNT],
        parameters={"aggregation_group_type_index": 0},
    )
    of: dict[str, Any] = {"$groups": {"company": "x"}}
    await tenant.capture(
        call("a", "test", **of),
        call("b", "test", "20T07:00:00", **of),
        call("c", "test", "20T08:00:00", **{"$groups": {"company": "y"}}),
        call("d", "test"),
        event("purchase", "e", "21T06:00:00", amount=3, **of),
    )

    body = await tenant.get(f"/experiments/{made['id']}/people/", variant="test", metric="amount")
    saved = await tenant.api.post(
        f"/experiments/{made['id']}/people/save_as_cohort/", json={"name": "All", "variant": "test"}
    )

    groups = body["results"][0]["people"]
    assert [(group["group_key"], group["value_at_data_point"]) for group in groups] == [
        ("x", 3),
        ("y", 0),
    ]
    detail = "A cohort has persons, and this experiment counts groups."
    assert (saved.status_code, saved.json()) == invalid(detail, None)


async def test_an_earlier_phase_keeps_its_people(tenant: Tenant, experiment: Json) -> None:
    changes = {
        "parameters": {"feature_flag_variants": split(control=20, test=80)},
        "update_feature_flag_params": True,
    }
    answer = await tenant.api.patch(f"/experiments/{experiment['id']}/", json=changes)
    assert answer.status_code == 200, answer.text

    last, first, earlier = [
        len(await people(tenant, experiment, **place))
        for place in (
            {"variant": "test"},
            {"variant": "test", "phase": 0},
            {"variant": "$earlier_phases"},
        )
    ]

    assert (last, first, earlier) == (0, 4, 8)


async def test_pages_search_and_csv(tenant: Tenant, experiment: Json) -> None:
    place = f"/experiments/{experiment['id']}/people/"
    of_test = {"variant": "test", "metric": "amount"}
    pages = [await tenant.get(place, **of_test, limit=3)]
    while pages[-1]["next"] is not None:
        following = await tenant.api.get(pages[-1]["next"])
        pages.append(following.json())
    table = await tenant.api.get(place, params={**of_test, "format": "csv"})

    assert [page["results"][0]["count"] for page in pages] == [3, 1]
    assert pages[-1]["initial"].endswith("/people/?variant=test&metric=amount&limit=3")
    assert list(await people(tenant, experiment, **of_test, search="T3@A")) == ["t3"]
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert table.headers["content-type"].startswith("text/csv")
    assert [(row["name"], float(row["value"])) for row in rows] == [
        *(("t0@a.com", 30.0), ("t1@a.com", 5.0), ("t3@a.com", 2.0), ("t2@a.com", 0.0)),
    ]


@pytest.mark.every_engine
async def test_people_are_saved_as_a_cohort(tenant: Tenant, experiment: Json) -> None:
    body = {"name": "Bought", "variant": "test", "metric": "bought", "converted": True}
    answer = await tenant.api.post(
        f"/experiments/{experiment['id']}/people/save_as_cohort/", json=body
    )
    await tenant.capture(event("purchase", "t2", "22T07:00:00"))
    await tenant.server.calculated()

    assert answer.status_code == 201, answer.text
    cohort = answer.json()
    retrieved = await retrieve_cohort(tenant, cohort)
    assert (cohort["is_static"], cohort["name"], retrieved["errors_calculating"]) == (
        True,
        "Bought",
        0,
    )
    assert sorted(await cohort_members(tenant, cohort)) == ["t0", "t1", "t2"]


async def test_a_cohort_of_a_deleted_experiment_says_why_it_is_empty(
    tenant: Tenant, experiment: Json
) -> None:
    place = f"/experiments/{experiment['id']}/"
    answer = await tenant.api.post(
        f"{place}people/save_as_cohort/", json={"name": "All", "variant": "test"}
    )
    await tenant.api.patch(place, json={"deleted": True})
    await tenant.server.calculated()

    retrieved = await retrieve_cohort(tenant, answer.json())
    assert "The experiment was deleted." in retrieved["last_error_message"]


REFUSED: tuple[tuple[Json, tuple[int, Json]], ...] = (
    ({}, invalid("This field is required.", "variant", "required")),
    (
        {"variant": "tset"},
        invalid('"tset" is not a valid choice. Did you mean "test"?', "variant", "invalid_choice"),
    ),
    (
        {"variant": "$multiple", "metric": "bought"},
        invalid(
            '"$multiple" is not a valid choice. Allowed are: control, test.',
            "variant",
            "invalid_choice",
        ),
    ),
    (
        {"variant": "test", "metric": "bougt"},
        invalid(
            '"bougt" is not a valid choice. Did you mean "bought"?', "metric", "invalid_choice"
        ),
    ),
    (
        {"variant": "test", "converted": "true"},
        invalid("Exposures have no such part. Leave it out, or name a metric.", "converted"),
    ),
    (
        {"variant": "test", "metric": "bought", "step": 3},
        invalid("Ensure this value is between 1 and 2.", "step"),
    ),
    (
        {"variant": "test", "metric": "amount", "step": 1},
        invalid("Only a funnel has steps. Leave it out.", "step"),
    ),
    (
        {"variant": "test", "phase": 1},
        invalid("Ensure this value is between 0 and 0.", "phase"),
    ),
)


async def test_numbers_that_do_not_exist(tenant: Tenant, experiment: Json) -> None:
    for sent, refusal in REFUSED:
        answer = await tenant.api.get(f"/experiments/{experiment['id']}/people/", params=sent)
        assert (answer.status_code, answer.json()) == refusal, sent


async def test_a_draft_and_an_unknown_experiment_have_no_people(tenant: Tenant) -> None:
    draft = await create(tenant)
    of_draft, unknown = [
        await tenant.api.get(f"/experiments/{number}/people/", params={"variant": "test"})
        for number in (draft["id"], 123456)
    ]

    detail = "Experiment has not been launched yet."
    assert (of_draft.status_code, of_draft.json()) == invalid(detail, "experiment_id")
    assert (unknown.status_code, unknown.json()) == (
        404,
        error("invalid_request", "not_found", "Not found."),
    )
