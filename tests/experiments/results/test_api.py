"""Results of experiments over HTTP, and the two kinds of queries about them."""

from typing import Any

import pytest

from tests.support.application import Json, Tenant, error
from tests.support.experiments import create, invalid, split, take

pytestmark = pytest.mark.every_engine

START = "2024-02-20T00:00:00Z"
CONVERSION: Json = {
    "kind": "ExperimentMetric",
    "metric_type": "funnel",
    "name": "Purchases",
    "series": [{"kind": "EventsNode", "event": "purchase"}],
}
AMOUNT: Json = {
    "kind": "ExperimentMetric",
    "metric_type": "mean",
    "uuid": "amount",
    "source": {"event": "purchase", "math": "sum", "math_property": "amount"},
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


def crowd(arm: str, people: int, buyers: int) -> list[Json]:
    """Return events of people of an arm, some of whom buy the next day."""
    calls = [call(f"{arm}-{number}", arm) for number in range(people)]
    bought = [
        event("purchase", f"{arm}-{number}", "21T06:00:00", amount=number + 1)
        for number in range(buyers)
    ]
    return [*calls, *bought]


async def results(tenant: Tenant, experiment: Json, **query: Any) -> Json:
    answer: Json = await tenant.get(f"/experiments/{experiment['id']}/results/", **query)
    return answer


async def test_the_results_of_a_running_experiment(tenant: Tenant) -> None:
    made = await create(tenant, start_date=START, metrics=[CONVERSION], metrics_secondary=[AMOUNT])
    await tenant.capture(
        *crowd("control", 60, 6),
        *crowd("test", 60, 30),
        call("someone", False),
        call("held", "holdout-3"),
    )

    found = await results(tenant, made)

    exposures, verdict = found["exposures"], found["verdict"]
    assert (found["experiment_id"], found["status"], found["phase"]) == (made["id"], "running", 0)
    assert (found["from"], found["to"], found["as_of"]) == (START, None, "2024-03-01T12:00:00Z")
    assert found["method"] == {
        "name": "sequential",
        "alpha": 0.05,
        "comparisons": 1,
        "tuning_parameter": 5000,
        "peeking": "protected",
    }
    assert exposures["variants"] == {"control": 60, "test": 60}
    assert (exposures["total"], exposures["holdout"], exposures["without_variant"]) == (120, 1, 1)
    assert exposures["split"] == {
        "p_value": 1,
        "expected": {"control": 60, "test": 60},
        "mismatch": False,
        "small": True,
    }
    assert exposures["by_day"]["test"] == [60, *[0] * 10]
    primary, secondary = found["metrics"]
    [test] = primary["variants"]
    assert (primary["role"], primary["name"], secondary["role"]) == (
        "primary",
        "Purchases",
        "secondary",
    )
    assert (test["number_of_samples"], test["sum"], test["step_counts"]) == (60, 30, [30])
    assert secondary["baseline"]["sum"] == 21
    assert (verdict["code"], test["outcome"]) == ("wait", "unclear")
    assert verdict["sentence"].startswith("Not decided: between ")


async def test_a_draft_has_no_numbers(tenant: Tenant) -> None:
    made = await create(tenant, metrics=[CONVERSION])

    found = await results(tenant, made)

    assert (found["status"], found["as_of"], found["phase"]) == ("draft", None, None)
    assert found["verdict"] == {
        "code": "not_started",
        "variant": None,
        "sentence": "Not started.",
        "reasons": [],
    }
    assert found["metrics"][0]["baseline"] is None


async def test_nobody_was_exposed(tenant: Tenant) -> None:
    made = await create(tenant, start_date=START, metrics=[CONVERSION])
    await tenant.capture(call("a", False), call("b", None))

    found = await results(tenant, made)

    assert found["verdict"]["sentence"] == (
        "Nobody has been counted. The flag was called 2 times without a variant."
    )
    [metric] = found["metrics"]
    assert (metric["problems"], metric["unknown_event"]) == (["unknown_event"], ["purchase"])
    assert metric["baseline"]["number_of_samples"] == 0


async def test_answers_are_kept_until_they_are_refreshed(tenant: Tenant) -> None:
    made = await create(tenant, start_date=START, metrics=[CONVERSION])
    await tenant.capture(*crowd("control", 3, 1))
    first = await results(tenant, made)
    await tenant.capture(*crowd("test", 2, 1))

    kept, refreshed = await results(tenant, made), await results(tenant, made, refresh="true")

    assert first["exposures"]["total"] == kept["exposures"]["total"] == 3
    assert refreshed["exposures"]["total"] == 5


async def test_kept_answers_are_shown_while_the_event_store_is_away(tenant: Tenant) -> None:
    made = await create(tenant, start_date=START, metrics=[CONVERSION])
    await tenant.capture(*crowd("control", 3, 1))
    first = await results(tenant, made)
    place = f"/experiments/{made['id']}"

    tenant.server.events.is_down = True
    kept = await results(tenant, made)
    refused = [
        await tenant.api.get(f"{place}/results/", params={"refresh": "true"}),
        await tenant.api.get(f"{place}/people/", params={"variant": "control"}),
    ]
    tenant.server.events.is_down = False

    assert (kept["exposures"], kept["as_of"]) == (first["exposures"], first["as_of"])
    assert [answer.status_code for answer in refused] == [503, 503]
    assert {answer.json()["code"] for answer in refused} == {"unavailable"}
    assert (await results(tenant, made, refresh="true"))["exposures"] == first["exposures"]


async def test_a_changed_metric_is_calculated_again(tenant: Tenant) -> None:
    made = await create(tenant, start_date=START, metrics=[CONVERSION])
    await tenant.capture(*crowd("control", 3, 1))
    await results(tenant, made)

    changed = {**CONVERSION, "series": [{"event": "other"}]}
    await tenant.api.patch(f"/experiments/{made['id']}/", json={"metrics": [changed]})

    assert (await results(tenant, made))["metrics"][0]["baseline"]["sum"] == 0


async def test_an_ended_experiment_keeps_its_time(tenant: Tenant) -> None:
    made = await create(
        tenant, start_date=START, end_date="2024-02-21T00:00:00Z", metrics=[CONVERSION]
    )
    await tenant.capture(*crowd("control", 3, 2), call("late", "test", "22T00:00:00"))

    found = await results(tenant, made)

    assert (found["status"], found["to"]) == ("stopped", "2024-02-21T00:00:00Z")
    assert found["exposures"]["total"] == 3
    assert found["metrics"][0]["baseline"]["sum"] == 0


async def test_a_new_split_begins_a_new_phase(tenant: Tenant) -> None:
    made = await create(tenant, start_date=START, metrics=[CONVERSION])
    await tenant.capture(*crowd("control", 3, 1))
    changes = {
        "parameters": {"feature_flag_variants": split(control=20, test=80)},
        "update_feature_flag_params": True,
    }
    answer = await tenant.api.patch(f"/experiments/{made['id']}/", json=changes)
    assert answer.status_code == 200, answer.text

    last, first = await results(tenant, made), await results(tenant, made, phase=0)
    none = await tenant.api.get(f"/experiments/{made['id']}/results/", params={"phase": 2})

    assert (last["phase"], last["exposures"]["total"], last["exposures"]["earlier_phases"]) == (
        1,
        0,
        3,
    )
    assert (first["phase"], first["exposures"]["total"]) == (0, 3)
    detail = "Ensure this value is between 0 and 1."
    assert (none.status_code, none.json()) == invalid(detail, "phase")


async def test_test_accounts_are_left_out(tenant: Tenant) -> None:
    filters = [{"key": "internal", "operator": "is_not", "value": "yes", "type": "event"}]
    answer = await tenant.api.patch("/", json={"test_account_filters": filters})
    assert answer.status_code == 200, answer.text
    made = await create(tenant, start_date=START, metrics=[CONVERSION])
    await tenant.capture(call("a", "test"), call("b", "test", internal="yes"))

    found = await results(tenant, made)

    assert found["exposures"]["variants"] == {"control": 0, "test": 1}


async def test_a_saved_metric_has_its_role(tenant: Tenant) -> None:
    saved = await tenant.api.post(
        "/experiment_saved_metrics/", json={"name": "Bought", "query": CONVERSION}
    )
    link = {"id": saved.json()["id"], "metadata": {"type": "guardrail"}}
    made = await create(tenant, start_date=START, saved_metrics_ids=[link])

    found = await results(tenant, made)

    assert [(each["role"], each["name"]) for each in found["metrics"]] == [
        ("guardrail", "Purchases")
    ]


async def query(tenant: Tenant, **fields: Any) -> tuple[int, Json]:
    answer = await tenant.api.post("/query/", json={"query": fields})
    return answer.status_code, answer.json()


async def test_an_experiment_query(tenant: Tenant) -> None:
    made = await create(tenant, start_date=START, metrics=[CONVERSION])
    await tenant.capture(*crowd("control", 60, 6), *crowd("test", 60, 30))

    status, found = await query(
        tenant, kind="ExperimentQuery", experiment_id=made["id"], metric=CONVERSION
    )

    assert status == 200, found
    [variant] = found["variant_results"]
    assert (found["kind"], found["metric"], found["is_cached"]) == (
        "ExperimentQuery",
        CONVERSION,
        False,
    )
    assert found["baseline"] == {
        "key": "control",
        "number_of_samples": 60,
        "sum": 6,
        "sum_squares": 6,
        "step_counts": [6],
        "validation_failures": [],
    }
    assert (variant["key"], variant["method"], variant["significant"]) == (
        "test",
        "frequentist",
        False,
    )
    assert set(variant) >= {"p_value", "confidence_interval"}
    assert found["results"]["kind"] == "ExperimentQuery"


async def test_an_exposure_query_adds_up_days(tenant: Tenant) -> None:
    made = await create(tenant, start_date=START, metrics=[CONVERSION])
    await tenant.capture(
        call("a", "test"), call("b", "test", "21T00:00:00"), call("c", "control", "21T00:00:00"),
        call("d", "control", "21T00:00:00"), call("d", "test", "21T01:00:00"),
    )  # fmt: skip

    status, found = await query(
        tenant, kind="ExperimentExposureQuery", experiment_id=made["id"], experiment_name="Button"
    )
    ended = await query(
        tenant,
        kind="ExperimentExposureQuery",
        experiment_id=made["id"],
        end_date="2024-02-20T12:00:00Z",
    )

    assert status == 200, found
    by_variant = {each["variant"]: each for each in found["timeseries"]}
    assert by_variant["test"]["exposure_counts"][:2] == [1, 2]
    assert by_variant["test"]["days"][:2] == ["2024-02-20", "2024-02-21"]
    assert found["total_exposures"] == {"control": 1, "test": 2, "$multiple": 1}
    assert found["date_range"] == {"date_from": START, "date_to": None}
    assert found["sample_ratio_mismatch"] is None
    assert ended[1]["total_exposures"] == {"control": 0, "test": 1}


@pytest.mark.parametrize(
    ("fields", "attr", "detail"),
    [
        ({"metric": CONVERSION}, "query__experiment_id", "This field is required."),
        (
            {"experiment_id": 123456, "metric": CONVERSION},
            "query__experiment_id",
            'Invalid pk "123456" - object does not exist.',
        ),
        ({}, "query__metric", "This field is required."),
        (
            {"metric": {**CONVERSION, "metric_type": "mode"}},
            "query__metric__metric_type",
            '"mode" is not a valid choice. Allowed are: funnel, mean, ratio, retention.',
        ),
        (
            {"metric": CONVERSION, "zebra": 1},
            "query__zebra",
            'Unknown field "zebra". Allowed are: experiment_id, experiment_query_id, fingerprint, '
            "kind, metric, metric_uuid, modifiers, name, response, stats_version, tags, version.",
        ),
    ],
)
async def test_a_query_that_cannot_be_read(
    tenant: Tenant, fields: Json, attr: str, detail: str
) -> None:
    made = await create(tenant, start_date=START)
    own = {} if attr.endswith("experiment_id") else {"experiment_id": made["id"]}

    status, found = await query(tenant, kind="ExperimentQuery", **own, **fields)

    assert (status, found["attr"], found["detail"]) == (400, attr, detail)


async def test_a_query_about_a_draft(tenant: Tenant) -> None:
    made = await create(tenant)

    found = await query(tenant, kind="ExperimentQuery", experiment_id=made["id"], metric=CONVERSION)

    assert found == invalid("Experiment has not been launched yet.", "experiment_id")


async def test_a_date_needs_an_offset(tenant: Tenant) -> None:
    made = await create(tenant, start_date=START)

    status, found = await query(
        tenant, kind="ExperimentExposureQuery", experiment_id=made["id"], end_date="yesterday"
    )

    assert (status, found) == (
        400,
        error(
            "validation_error",
            "invalid_input",
            "Must be a date and time with an offset, such as Z.",
            "query__end_date",
        ),
    )


async def test_an_unknown_experiment_has_no_results(tenant: Tenant) -> None:
    answer = await tenant.api.get("/experiments/123456/results/")

    assert answer.status_code == 404


async def test_a_paused_experiment_still_has_results(tenant: Tenant) -> None:
    made = await create(tenant, start_date=START, metrics=[CONVERSION])
    await take(tenant, made, "pause")

    assert (await results(tenant, made))["status"] == "paused"
