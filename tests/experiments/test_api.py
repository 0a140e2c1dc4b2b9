"""Experiments over HTTP: their fields, and how they are created, changed, listed and deleted."""

from typing import Any

import pytest

from tests.support.application import Json, Tenant, error
from tests.support.experiments import PURCHASES, create, invalid, split

pytestmark = pytest.mark.every_engine

NOW_TEXT = "2024-03-01T12:00:00Z"
STATS: Json = {
    "method": "frequentist",
    "frequentist": {
        "alpha": 0.05,
        "difference_type": "RELATIVE",
        "sequential_testing_enabled": True,
        "sequential_tuning_parameter": 5000,
    },
    "cuped": {"enabled": False, "lookback_days": 14},
    "baseline_variant_key": "control",
}


async def test_a_new_experiment_has_every_field_with_its_default(tenant: Tenant) -> None:
    made = await create(tenant)

    flag = made["feature_flag"]
    assert made == {
        "id": made["id"],
        "name": "Button",
        "description": None,
        "feature_flag_key": "button",
        "feature_flag": flag,
        "start_date": None,
        "end_date": None,
        "status": "draft",
        "parameters": None,
        "running_time_calculation": None,
        "metrics": [],
        "metrics_secondary": [],
        "guardrail_metrics": [],
        "saved_metrics": [],
        "primary_metrics_ordered_uuids": None,
        "secondary_metrics_ordered_uuids": None,
        "exposure_criteria": {"filterTestAccounts": True},
        "holdout": None,
        "holdout_id": None,
        "stats_config": STATS,
        "type": "product",
        "conclusion": None,
        "conclusion_comment": None,
        "archived": False,
        "deleted": False,
        "only_count_matured_users": False,
        "exposure_cohort": None,
        "filters": {},
        "secondary_metrics": [],
        "phases": [],
        "latest_verdict": None,
        "created_by": tenant.owner,
        "created_at": NOW_TEXT,
        "updated_at": NOW_TEXT,
    }
    assert await tenant.get(f"/experiments/{made['id']}/") == made
    assert (await tenant.get("/experiments/"))["results"] == [made]


async def test_a_flag_is_created_with_the_experiment(tenant: Tenant) -> None:
    made = await create(
        tenant,
        parameters={
            "feature_flag_variants": split(control=40, test=60),
            "rollout_percentage": 30,
            "feature_flag_payloads": {"test": "1"},
        },
    )

    flag = await tenant.get(f"/feature_flags/{made['feature_flag']['id']}/")
    assert flag["name"] == "Feature Flag for Experiment Button"
    assert (flag["key"], flag["active"]) == ("button", False)
    assert flag["experiment_set"] == [made["id"]]
    assert flag["filters"] == {
        "groups": [{"properties": [], "rollout_percentage": 30}],
        "multivariate": {"variants": split(control=40, test=60)},
        "payloads": {"test": "1"},
    }


async def test_a_flag_of_an_experiment_that_begins_at_once_is_on(tenant: Tenant) -> None:
    made = await create(tenant, start_date="2024-02-01T00:00:00Z")

    assert made["feature_flag"]["active"] is True
    assert made["status"] == "running"
    assert made["phases"] == [
        {"started_at": "2024-02-01T00:00:00Z", "variants": {"control": 50, "test": 50}}
    ]


async def test_a_flag_that_exists_is_linked_with_its_variants_and_left_alone(
    tenant: Tenant,
) -> None:
    flag = await tenant.create_flag(
        key="button",
        filters={
            "groups": [{"properties": [], "rollout_percentage": 20}],
            "multivariate": {"variants": split(control=30, test=70)},
        },
    )

    made = await create(tenant, parameters={"feature_flag_variants": split(control=50, test=50)})

    after = await tenant.get(f"/feature_flags/{flag['id']}/")
    assert after == {**flag, "experiment_set": [made["id"]]}
    shown = made["parameters"]["feature_flag_variants"]
    assert [(each["key"], each["rollout_percentage"], each["split_percent"]) for each in shown] == [
        ("control", 30, 30),
        ("test", 70, 70),
    ]


@pytest.mark.parametrize(
    ("variants", "detail"),
    [
        (
            None,
            "Feature flag must have at least 2 variants (control and at least one test variant)",
        ),
        (
            split(a=50, b=50),
            "Feature flag variants must contain a variant with the key 'control'",
        ),
    ],
)
async def test_a_flag_without_the_variants_of_an_experiment_is_not_linked(
    tenant: Tenant, variants: list[Json] | None, detail: str
) -> None:
    multivariate = None if variants is None else {"variants": variants}
    await tenant.create_flag(key="button", filters={"groups": [{}], "multivariate": multivariate})

    answer = await tenant.api.post(
        "/experiments/", json={"name": "Button", "feature_flag_key": "button"}
    )

    assert (answer.status_code, answer.json()) == invalid(detail, "parameters")


async def test_variants_of_a_flag_that_exists_are_not_replaced(tenant: Tenant) -> None:
    await create(tenant)

    answer = await tenant.api.post(
        "/experiments/",
        json={
            "name": "Again",
            "feature_flag_key": "button",
            "parameters": {"feature_flag_variants": split(control=50, other=50)},
        },
    )

    detail = "Can't update feature_flag_variants on Experiment"
    assert (answer.status_code, answer.json()) == invalid(detail, "parameters")


@pytest.mark.parametrize(
    ("sent", "detail", "attr"),
    [
        ({"name": None}, "This field may not be null.", "name"),
        ({"name": "a" * 401}, "Ensure this field has no more than 400 characters.", "name"),
        (
            {"description": "a" * 3001},
            "Ensure this field has no more than 3000 characters.",
            "description",
        ),
        ({"filters": {"properties": [1]}}, "Experiments do not support global filter properties",
         "filters"),
        (
            {"start_date": "2024-02-01", "end_date": "2024-02-01"},
            "End date must be after start date",
            "end_date",
        ),
        ({"holdout_id": 123456}, 'Invalid pk "123456" - object does not exist.', "holdout_id"),
        ({"saved_metrics_ids": {}}, "Saved metrics must be a list", "saved_metrics_ids"),
        ({"saved_metrics_ids": {"id": 1}}, "Saved metrics must be a list", "saved_metrics_ids"),
        ({"saved_metrics_ids": [1]}, "Saved metric must be an object", "saved_metrics_ids"),
        ({"saved_metrics_ids": [{}]}, "Saved metric must have an id", "saved_metrics_ids"),
        (
            {"saved_metrics_ids": [{"id": 1, "metadata": 1}]},
            "Metadata must be an object",
            "saved_metrics_ids",
        ),
        (
            {"saved_metrics_ids": [{"id": 1, "metadata": {}}]},
            "Metadata must have a type key",
            "saved_metrics_ids",
        ),
        (
            {"saved_metrics_ids": [{"id": 123456}]},
            "Saved metric does not exist or does not belong to this project",
            "saved_metrics_ids",
        ),
        (
            {"saved_metrics_ids": [{"id": 1}, {"id": 1}]},
            "Saved metric 1 is listed twice",
            "saved_metrics_ids",
        ),
        (
            {"stats_config": {"method": "guess"}},
            "Invalid stats method: 'guess'. Must be one of: bayesian, frequentist",
            "stats_config__method",
        ),
        (
            {"stats_config": {"frequentist": {"alpha": 2}}},
            "Ensure this value is between 0.0001 and 0.5.",
            "stats_config__frequentist__alpha",
        ),
        (
            {"stats_config": {"cuped": {"lookback_days": 31}}},
            "Ensure this value is between 1 and 30.",
            "stats_config__cuped__lookback_days",
        ),
        (
            {"stats_config": {"frequentist": {"sequential_tuning_parameter": 0}}},
            "Ensure this value is between 1 and 1000000000.",
            "stats_config__frequentist__sequential_tuning_parameter",
        ),
        ({"archived": True}, "Experiment must be ended before it can be archived.", "archived"),
        ({"deleted": True}, "This field can only be set after creation.", "deleted"),
    ],
)  # fmt: skip
async def test_a_field_that_cannot_be_used_is_refused(
    tenant: Tenant, sent: Json, detail: str, attr: str
) -> None:
    body = {"name": "Button", "feature_flag_key": "button", **sent}

    answer = await tenant.api.post("/experiments/", json=body)

    body = answer.json()
    assert (answer.status_code, body["type"]) == (400, "validation_error")
    assert (body["detail"], body["attr"]) == (detail, attr)
    assert (await tenant.get("/feature_flags/"))["count"] == 0


TOO_MANY = split(control=50, **{f"test-{n}": 2.5 for n in range(20)})


@pytest.mark.parametrize(
    ("variants", "detail"),
    [
        (TOO_MANY, "Feature flag variants must be less than 21"),
        (
            split(control=100),
            "Feature flag must have at least 2 variants (control and at least one test variant)",
        ),
        (
            split(a=50, b=50),
            "Feature flag variants must contain a variant with the key 'control'",
        ),
        (
            [{"rollout_percentage": 50}, {"key": "control", "rollout_percentage": 50}],
            "Feature flag variant at index 0 must have a 'key' field",
        ),
        (
            [{"key": "control", "rollout_percentage": 50}, {"key": "test"}],
            "Feature flag variant at index 1 must have a 'rollout_percentage' field",
        ),
        ([1, 2], "Feature flag variants must be a list of objects"),
    ],
)
async def test_variants_are_checked(tenant: Tenant, variants: Any, detail: str) -> None:
    body = {
        "name": "Button",
        "feature_flag_key": "button",
        "parameters": {"feature_flag_variants": variants},
    }

    answer = await tenant.api.post("/experiments/", json=body)

    assert (answer.status_code, answer.json()) == invalid(detail, "parameters")


async def test_percentages_that_are_not_100_together_are_refused(tenant: Tenant) -> None:
    body = {
        "name": "Button",
        "feature_flag_key": "button",
        "parameters": {"feature_flag_variants": split(control=50, test=40)},
    }

    answer = await tenant.api.post("/experiments/", json=body)

    detail = "Invalid variant definitions: Variant rollout percentages must sum to 100."
    assert (answer.status_code, answer.json()) == invalid(detail, None)
    assert (await tenant.get("/experiments/"))["count"] == 0


async def test_control_is_lowered_if_there_is_no_exact_one(tenant: Tenant) -> None:
    made = await create(tenant, parameters={"feature_flag_variants": split(Control=50, test=50)})

    variants = made["feature_flag"]["filters"]["multivariate"]["variants"]
    assert [variant["key"] for variant in variants] == ["control", "test"]


async def test_the_newer_name_of_percentages_wins_and_both_are_returned(tenant: Tenant) -> None:
    sent = [
        {"key": "control", "rollout_percentage": 50, "split_percent": 20},
        {"key": "test", "split_percent": 80},
    ]

    made = await create(tenant, parameters={"feature_flag_variants": sent})

    assert made["parameters"]["feature_flag_variants"] == [
        {"key": "control", "rollout_percentage": 20, "split_percent": 20},
        {"key": "test", "rollout_percentage": 80, "split_percent": 80},
    ]


async def test_an_unknown_field_is_refused_with_the_nearest_name(tenant: Tenant) -> None:
    body = {"name": "Button", "feature_flag_key": "button", "metric": []}

    answer = await tenant.api.post("/experiments/", json=body)

    assert answer.status_code == 400
    assert answer.json()["attr"] == "metric"
    assert "metrics" in answer.json()["detail"]


async def test_what_was_read_is_sent_back_unchanged(tenant: Tenant) -> None:
    """PostHog's interface sends whole objects."""
    made = await create(
        tenant,
        metrics=[PURCHASES],
        parameters={
            "feature_flag_variants": split(control=50, test=50),
            "minimum_detectable_effect": 10,
        },
    )

    answer = await tenant.api.patch(f"/experiments/{made['id']}/", json=made)

    assert answer.status_code == 200, answer.text
    assert answer.json() == made
    assert made["running_time_calculation"] == {"minimum_detectable_effect": 10}


async def test_the_calculator_is_part_of_the_parameters(tenant: Tenant) -> None:
    made = await create(tenant, parameters={"recommended_sample_size": 100})

    answer = await tenant.api.patch(
        f"/experiments/{made['id']}/",
        json={"running_time_calculation": {"recommended_sample_size": 200}},
    )

    assert answer.json()["parameters"] == {"recommended_sample_size": 200}
    assert answer.json()["running_time_calculation"] == {"recommended_sample_size": 200}


async def test_metrics_get_an_id_and_a_fingerprint(tenant: Tenant) -> None:
    made = await create(tenant, metrics=[PURCHASES, {**PURCHASES, "uuid": "own"}])

    first, second = made["metrics"]
    assert {**first, "uuid": None, "fingerprint": None} == {
        **PURCHASES,
        "uuid": None,
        "fingerprint": None,
    }
    assert len(first["uuid"]) == 36 and second["uuid"] == "own"
    assert len(first["fingerprint"]) == 64


async def test_a_draft_writes_its_parameters_into_the_flag_and_keeps_the_rest(
    tenant: Tenant,
) -> None:
    made = await create(tenant)
    flag = made["feature_flag"]
    own: Json = {
        "groups": [
            {"properties": [], "rollout_percentage": 100},
            {"properties": [], "rollout_percentage": 5, "variant": "test"},
        ],
        "multivariate": {"variants": split(control=50, test=50)},
        "super_groups": [{"properties": [], "rollout_percentage": 0}],
    }
    answer = await tenant.api.patch(f"/feature_flags/{flag['id']}/", json={"filters": own})
    assert answer.status_code == 200, answer.text

    changed = await tenant.api.patch(
        f"/experiments/{made['id']}/",
        json={
            "parameters": {
                "feature_flag_variants": split(control=10, test=90),
                "rollout_percentage": 40,
            }
        },
    )

    assert changed.status_code == 200, changed.text
    first, second = own["groups"]
    assert changed.json()["feature_flag"]["filters"] == {
        **own,
        "groups": [{**first, "rollout_percentage": 40}, second],
        "multivariate": {"variants": split(control=10, test=90)},
    }
    assert changed.json()["feature_flag_key"] == "button"


async def test_the_key_of_the_flag_cannot_be_changed(tenant: Tenant) -> None:
    made = await create(tenant)

    same = await tenant.api.patch(
        f"/experiments/{made['id']}/", json={"feature_flag_key": "button"}
    )
    other = await tenant.api.patch(
        f"/experiments/{made['id']}/", json={"feature_flag_key": "other"}
    )

    assert same.status_code == 200
    detail = "Can't update keys: get_feature_flag_key on Experiment"
    assert (other.status_code, other.json()) == invalid(detail, "feature_flag_key")


async def test_two_people_who_edit_one_experiment(tenant: Tenant) -> None:
    made = await create(tenant)
    place = f"/experiments/{made['id']}/"
    read = await tenant.api.get(place)
    version = int(read.headers["X-Experiment-Version"])

    first = await tenant.api.patch(place, json={"name": "First", "version": version})
    second = await tenant.api.patch(place, json={"name": "Second", "version": version})
    careless = await tenant.api.patch(place, json={"name": "Third"})

    assert first.status_code == 200
    assert second.status_code == 409
    assert second.json() == {
        **error(
            "invalid_request",
            "conflict",
            "The experiment was changed since you read it. Review the current version and try "
            "again.",
            "version",
        ),
        "version": version + 1,
        "current": first.json(),
    }
    assert second.headers["X-Experiment-Version"] == str(version + 1)
    assert (careless.status_code, careless.json()["name"]) == (200, "Third")


async def test_a_deleted_experiment_is_not_listed_and_can_be_restored(tenant: Tenant) -> None:
    made = await create(tenant)
    place = f"/experiments/{made['id']}/"

    refused = await tenant.api.delete(place)
    deleted = await tenant.api.patch(place, json={"deleted": True})
    gone = await tenant.api.get(place)
    unnamed = await tenant.api.patch(place, json={"name": "x"})
    listed = await tenant.get("/experiments/")
    flag = await tenant.get(f"/feature_flags/{made['feature_flag']['id']}/")
    restored = await tenant.api.patch(place, json={"deleted": False})

    assert (refused.status_code, deleted.status_code) == (405, 200)
    assert (gone.status_code, unnamed.status_code) == (404, 404)
    assert (listed["count"], flag["experiment_set"]) == (0, [])
    assert restored.json()["deleted"] is False


async def test_lists_are_filtered_searched_and_ordered(tenant: Tenant) -> None:
    first = await create(tenant, key="a", name="Alpha", description="the Price")
    second = await create(tenant, key="b", name="Beta", start_date="2024-02-01")
    third = await create(tenant, key="c", name="Gamma", start_date="2024-02-01",
                         end_date="2024-02-05")  # fmt: skip

    async def names(**query: Any) -> list[str]:
        results = (await tenant.get("/experiments/", **query))["results"]
        return [each["name"] for each in results]

    assert await names() == ["Gamma", "Beta", "Alpha"]
    assert await names(status="draft") == ["Alpha"]
    assert await names(status="running") == ["Beta"]
    assert await names(status="stopped") == ["Gamma"]
    assert await names(status="all", order="name") == ["Alpha", "Beta", "Gamma"]
    assert await names(search="PRICE") == ["Alpha"]
    assert await names(search="100%") == []
    assert await names(feature_flag_id=second["feature_flag"]["id"]) == ["Beta"]
    assert await names(created_by_id=tenant.user_id) == ["Gamma", "Beta", "Alpha"]
    assert await names(order="-end_date") == ["Gamma", "Beta", "Alpha"]
    await tenant.api.post(f"/experiments/{second['id']}/pause/")
    assert await names(status="paused") == ["Beta"]
    await tenant.api.post(f"/experiments/{third['id']}/archive/")
    assert await names() == ["Beta", "Alpha"]
    assert await names(archived="true") == ["Gamma"]
    refused = await tenant.api.get("/experiments/", params={"order": "nme"})
    assert (refused.status_code, refused.json()["attr"]) == (400, "order")
    assert first["status"] == "draft"


async def test_a_copy_is_a_draft_on_another_flag(tenant: Tenant) -> None:
    made = await create(
        tenant,
        metrics=[PURCHASES],
        start_date="2024-02-01",
        parameters={"feature_flag_variants": split(control=20, test=80)},
    )
    place = f"/experiments/{made['id']}/duplicate/"

    same = await tenant.api.post(place, json={"feature_flag_key": "button"})
    without = await tenant.api.post(place, json={})
    copy = await tenant.api.post(place, json={"feature_flag_key": "second"})

    assert (same.status_code, same.json()["attr"]) == (400, "feature_flag_key")
    assert (without.status_code, without.json()["code"]) == (400, "required")
    assert copy.status_code == 201, copy.text
    body = copy.json()
    assert (body["name"], body["status"], body["phases"]) == ("Button (Copy)", "draft", [])
    assert body["metrics"][0]["source"] == PURCHASES["source"]
    variants = body["feature_flag"]["filters"]["multivariate"]["variants"]
    assert variants == split(control=20, test=80)


async def test_flags_for_experiments_have_variants_with_control(tenant: Tenant) -> None:
    await tenant.create_flag(key="simple")
    await tenant.create_flag(
        key="without", filters={"groups": [{}], "multivariate": {"variants": split(a=100)}}
    )
    await create(tenant)

    answer = await tenant.get("/experiments/eligible_feature_flags/")

    assert answer["count"] == 1
    assert [flag["key"] for flag in answer["results"]] == ["button"]


async def test_the_activity_lists_what_was_changed(tenant: Tenant) -> None:
    made = await create(tenant)
    place = f"/experiments/{made['id']}/"
    await tenant.api.patch(place, json={"name": "Renamed"})
    await tenant.api.patch(place, json={"name": "Renamed"})

    entries = (await tenant.get(f"{place}activity/"))["results"]

    assert [entry["activity"] for entry in entries] == ["updated", "created"]
    [change] = entries[0]["detail"]["changes"]
    assert change == {
        "type": "Experiment",
        "action": "changed",
        "field": "name",
        "before": "Button",
        "after": "Renamed",
    }
    listed = (await tenant.get("/experiments/activity/"))["results"]
    assert listed == entries
