"""The steps of experiments, and what each does to the flag and leaves alone in it."""

from datetime import timedelta
from typing import Any

import pytest

from fanion.projects.model import Level
from tests.support.application import Json, Tenant, error
from tests.support.experiments import create, invalid, split, take
from tests.support.management import NOW, add_member

pytestmark = pytest.mark.every_engine

FILTERS: Json = {
    "groups": [
        {"properties": [], "rollout_percentage": 60, "description": "All"},
        {
            "properties": [{"key": "plan", "value": "pro", "type": "person", "operator": "exact"}],
            "rollout_percentage": 10,
            "variant": "test",
        },
    ],
    "multivariate": {"variants": split(control=50, test=50)},
    "payloads": {"test": "1"},
    "super_groups": [{"properties": [], "rollout_percentage": 0}],
    "holdout_groups": [{"properties": [], "rollout_percentage": 10, "variant": "holdout-1"}],
}


async def edit_flag(tenant: Tenant, experiment: Json, **fields: Any) -> Json:
    place = f"/feature_flags/{experiment['feature_flag']['id']}/"
    answer = await tenant.api.patch(place, json=fields)
    assert answer.status_code == 200, answer.text
    flag: Json = answer.json()
    return flag


async def draft(tenant: Tenant) -> Json:
    """Create a draft on a flag whose filters have everything."""
    await tenant.create_flag(key="button", filters=FILTERS, active=False)
    return await create(tenant)


async def test_an_experiment_from_launch_to_archive(tenant: Tenant) -> None:
    made = await draft(tenant)

    launched = await take(tenant, made, "launch")
    tenant.server.clock.time = NOW + timedelta(days=1)
    paused = await take(tenant, made, "pause")
    resumed = await take(tenant, made, "resume")
    ended = await take(tenant, made, "end", conclusion="won", conclusion_comment="Well")
    archived = await take(tenant, made, "archive")
    unarchived = await take(tenant, made, "unarchive")
    reset = await take(tenant, made, "reset")

    assert launched["start_date"] == "2024-03-01T12:00:00Z"
    assert launched["phases"] == [
        {"started_at": "2024-03-01T12:00:00Z", "variants": {"control": 50, "test": 50}}
    ]
    states = [each["status"] for each in (launched, paused, resumed, ended)]
    assert states == ["running", "paused", "running", "stopped"]
    on = [each["feature_flag"]["active"] for each in (launched, paused, resumed, ended)]
    assert on == [True, False, True, True]
    assert ended["end_date"] == "2024-03-02T12:00:00Z"
    assert (ended["conclusion"], ended["conclusion_comment"]) == ("won", "Well")
    assert (archived["archived"], unarchived["archived"]) == (True, False)
    assert (reset["status"], reset["start_date"], reset["end_date"]) == ("draft", None, None)
    assert (reset["conclusion"], reset["phases"]) == (None, [])
    assert reset["feature_flag"]["filters"] == FILTERS
    assert reset["feature_flag"]["active"] is True


@pytest.mark.parametrize(
    ("before", "step", "detail"),
    [
        (["launch"], "launch", "Experiment has already been launched."),
        ([], "pause", "Experiment has not been launched yet."),
        ([], "resume", "Experiment has not been launched yet."),
        ([], "end", "Experiment has not been launched yet."),
        ([], "ship_variant", "Experiment has not been launched yet."),
        (["launch", "end"], "end", "Experiment has already ended."),
        (["launch", "end"], "pause", "Experiment has already ended."),
        (["launch", "end"], "launch", "Experiment has already been launched."),
        (["launch", "pause"], "pause", "Experiment is already paused."),
        (["launch"], "resume", "Experiment is not paused."),
        ([], "reset", "Experiment is already in draft state."),
        (["launch"], "archive", "Experiment must be ended before it can be archived."),
        (["launch", "end", "archive"], "archive", "Experiment is already archived."),
        (["launch", "end"], "unarchive", "Experiment is not archived."),
    ],
)
async def test_a_step_in_the_wrong_state_is_refused(
    tenant: Tenant, before: list[str], step: str, detail: str
) -> None:
    made = await create(tenant)
    for earlier in before:
        await take(tenant, made, earlier)

    sent = {"variant_key": "test"} if step == "ship_variant" else {}
    answer = await tenant.api.post(f"/experiments/{made['id']}/{step}/", json=sent)

    assert (answer.status_code, answer.json()) == invalid(detail, None)


async def test_a_variant_is_shipped_and_all_else_of_the_flag_is_kept(tenant: Tenant) -> None:
    made = await draft(tenant)
    await take(tenant, made, "launch")

    unknown = await tenant.api.post(
        f"/experiments/{made['id']}/ship_variant/", json={"variant_key": "other"}
    )
    shipped = await take(tenant, made, "ship_variant", variant_key="test", conclusion="won")

    detail = "Variant 'other' not found on feature flag."
    assert (unknown.status_code, unknown.json()) == invalid(detail, "variant_key")
    assert shipped["feature_flag"]["filters"] == {
        **FILTERS,
        "multivariate": {"variants": split(control=0, test=100)},
    }
    assert (shipped["status"], shipped["conclusion"]) == ("stopped", "won")
    assert len(shipped["phases"]) == 1


async def test_a_variant_is_released_to_everyone(tenant: Tenant) -> None:
    made = await draft(tenant)
    await take(tenant, made, "launch")

    shipped = await take(
        tenant, made, "ship_variant", variant_key="control", release_to_everyone=True
    )

    filters = shipped["feature_flag"]["filters"]
    everyone = {"properties": [], "rollout_percentage": 100}
    assert filters["groups"] == [everyone, *FILTERS["groups"]]
    assert filters["holdout_groups"] == FILTERS["holdout_groups"]


async def test_an_experiment_starts_and_ends_by_its_dates(tenant: Tenant) -> None:
    made = await create(tenant)
    place = f"/experiments/{made['id']}/"

    started = await tenant.api.patch(place, json={"start_date": "2024-02-01T00:00:00Z"})
    early = await tenant.api.patch(place, json={"end_date": "2024-01-01T00:00:00Z"})
    ended = await tenant.api.patch(place, json={"end_date": "2024-02-09T00:00:00Z"})

    assert (started.json()["status"], started.json()["feature_flag"]["active"]) == ("running", True)
    assert started.json()["phases"][0]["started_at"] == "2024-02-01T00:00:00Z"
    detail = "End date must be after start date"
    assert (early.status_code, early.json()) == invalid(detail, "end_date")
    assert ended.json()["status"] == "stopped"


async def test_a_launch_leaves_the_rollout_alone(tenant: Tenant) -> None:
    made = await create(tenant, parameters={"rollout_percentage": 25})

    launched = await take(tenant, made, "launch")

    groups = launched["feature_flag"]["filters"]["groups"]
    assert groups == [{"properties": [], "rollout_percentage": 25}]


async def test_a_deleted_flag_cannot_be_launched_with(tenant: Tenant) -> None:
    made = await create(tenant)
    await edit_flag(tenant, made, deleted=True)

    answer = await tenant.api.post(f"/experiments/{made['id']}/launch/")

    detail = "The feature flag of this experiment was deleted."
    assert (answer.status_code, answer.json()) == invalid(detail, "feature_flag_key")


async def test_a_replaced_flag_leaves_an_experiment_without_a_flag(tenant: Tenant) -> None:
    made = await create(tenant)
    await edit_flag(tenant, made, deleted=True)
    await tenant.create_flag(key="button")

    after = await tenant.get(f"/experiments/{made['id']}/")

    assert (after["feature_flag"], after["feature_flag_key"]) == (None, "button")
    assert after["status"] == "draft"


async def test_a_flag_whose_control_was_renamed_is_not_launched_with(tenant: Tenant) -> None:
    made = await create(tenant)
    variants = {"variants": split(old=50, test=50)}
    await edit_flag(tenant, made, filters={"groups": [{}], "multivariate": variants})

    answer = await tenant.api.post(f"/experiments/{made['id']}/launch/")

    detail = "Feature flag variants must contain a variant with the key 'control'"
    assert (answer.status_code, answer.json()) == invalid(detail, "parameters")


async def test_the_flag_of_a_running_experiment_is_not_deleted(tenant: Tenant) -> None:
    made = await create(tenant)
    await take(tenant, made, "launch")
    place = f"/feature_flags/{made['feature_flag']['id']}/"

    refused = await tenant.api.patch(place, json={"deleted": True})
    await take(tenant, made, "end")
    deleted = await tenant.api.patch(place, json={"deleted": True})

    detail = 'The experiment "Button" is running with this feature flag. End it first.'
    assert (refused.status_code, refused.json()) == invalid(detail, "deleted")
    assert deleted.status_code == 200


async def test_a_split_edited_elsewhere_begins_a_phase(tenant: Tenant) -> None:
    made = await draft(tenant)
    await take(tenant, made, "launch")
    tenant.server.clock.time = NOW + timedelta(days=2)

    changed = {**FILTERS, "multivariate": {"variants": split(control=20, test=80)}}
    await edit_flag(tenant, made, filters=changed)

    after = await tenant.get(f"/experiments/{made['id']}/")
    assert after["phases"] == [
        {"started_at": "2024-03-01T12:00:00Z", "variants": {"control": 50, "test": 50}},
        {"started_at": "2024-03-03T12:00:00Z", "variants": {"control": 20, "test": 80}},
    ]
    [entry, *_] = (await tenant.get(f"/experiments/{made['id']}/activity/"))["results"]
    assert [change["field"] for change in entry["detail"]["changes"]] == ["phases"]


@pytest.mark.parametrize(
    ("change", "phases"),
    [
        ({"groups": [{"properties": [], "rollout_percentage": 1}, FILTERS["groups"][1]]}, 1),
        ({"groups": FILTERS["groups"][:1]}, 2),
        ({"payloads": {}}, 1),
        ({"multivariate": {"variants": split(test=50, control=50)}}, 2),
    ],
    ids=["rollout", "conditions", "payloads", "order of variants"],
)
async def test_only_what_moves_people_begins_a_phase(
    tenant: Tenant, change: Json, phases: int
) -> None:
    made = await draft(tenant)
    await take(tenant, made, "launch")

    await edit_flag(tenant, made, filters={**FILTERS, **change})

    after = await tenant.get(f"/experiments/{made['id']}/")
    assert len(after["phases"]) == phases


async def test_variants_renamed_while_it_runs_begin_a_phase(tenant: Tenant) -> None:
    made = await create(tenant)
    await take(tenant, made, "launch")

    variants = {"variants": split(control=50, new=50)}
    await edit_flag(tenant, made, filters={"groups": [{}], "multivariate": variants})

    after = await tenant.get(f"/experiments/{made['id']}/")
    assert [phase["variants"] for phase in after["phases"]] == [
        {"control": 50, "test": 50},
        {"control": 50, "new": 50},
    ]


async def test_a_renamed_flag_is_followed(tenant: Tenant) -> None:
    made = await create(tenant)
    await take(tenant, made, "launch")

    await edit_flag(tenant, made, key="renamed")

    after = await tenant.get(f"/experiments/{made['id']}/")
    assert (after["feature_flag_key"], len(after["phases"])) == ("renamed", 2)


async def test_the_split_of_a_running_experiment_changes_on_request_only(tenant: Tenant) -> None:
    made = await create(tenant, parameters={"feature_flag_variants": split(control=50, test=50)})
    await take(tenant, made, "launch")
    place = f"/experiments/{made['id']}/"
    sent: Json = {"parameters": {"feature_flag_variants": split(control=10, test=90)}}
    other: Json = {"parameters": {"feature_flag_variants": split(control=50, new=50)}}

    refused = await tenant.api.patch(place, json=sent)
    renamed = await tenant.api.patch(place, json={**other, "update_feature_flag_params": True})
    changed = await tenant.api.patch(place, json={**sent, "update_feature_flag_params": True})
    again = await tenant.api.patch(place, json=sent)

    detail = (
        "The percentages of an experiment that was launched are changed with "
        "update_feature_flag_params: true."
    )
    assert (refused.status_code, refused.json()) == invalid(detail, "parameters")
    keys = "Can't update feature_flag_variants on Experiment"
    assert (renamed.status_code, renamed.json()) == invalid(keys, "parameters")
    assert changed.status_code == 200, changed.text
    assert [phase["variants"] for phase in changed.json()["phases"]] == [
        {"control": 50, "test": 50},
        {"control": 10, "test": 90},
    ]
    variants = changed.json()["feature_flag"]["filters"]["multivariate"]["variants"]
    assert variants == split(control=10, test=90)
    assert again.status_code == 200


async def test_sdks_are_told_which_flags_have_experiments(tenant: Tenant) -> None:
    await tenant.create_flag(key="other")
    made = await create(tenant)
    await take(tenant, made, "launch")

    async def told() -> dict[str, bool]:
        answer = await tenant.public.post(
            "/flags/?v=2", json={"api_key": tenant.token, "distinct_id": "ann"}
        )
        flags = answer.json()["flags"]
        return {key: flag["metadata"]["has_experiment"] for key, flag in flags.items()}

    async def defined() -> dict[str, bool]:
        definitions = await tenant.get("/feature_flags/local_evaluation/")
        return {flag["key"]: flag["has_experiment"] for flag in definitions["flags"]}

    assert await told() == {"other": False, "button": True}
    assert await tenant.api.patch(f"/experiments/{made['id']}/", json={"deleted": True})
    assert await told() == {"other": False, "button": False}


async def test_flags_are_listed_by_their_experiments(tenant: Tenant) -> None:
    await tenant.create_flag(key="other")
    await create(tenant)

    listed = await tenant.get("/feature_flags/", type="experiment")
    with_variants = await tenant.get("/feature_flags/", type="multivariant")

    assert [flag["key"] for flag in listed["results"]] == ["button"]
    assert [flag["key"] for flag in with_variants["results"]] == ["button"]


async def test_who_may_not_edit_the_flag_does_not_launch_end_or_ship(tenant: Tenant) -> None:
    made = await create(tenant)
    access = await tenant.server.client(tenant.key).post(
        f"/api/organizations/{tenant.organization_id}/resource_access/",
        json={"resource": "feature flags", "access_level": 21},
    )
    assert access.status_code == 201, access.text
    member = await add_member(
        tenant.server.records, f"m-{tenant.project_id}", Level.MEMBER, tenant.organization_id
    )
    denied = error(
        "authentication_error",
        "permission_denied",
        "You don't have edit permissions for this feature flag.",
    )
    place = f"/api/projects/{tenant.project_id}/experiments/{made['id']}"
    async with tenant.server.client(member.key) as other:
        launch = await other.post(f"{place}/launch/")
        await take(tenant, made, "launch")
        refused = [
            await other.post(f"{place}/{step}/", json=sent)
            for step, sent in (
                ("pause", {}),
                ("end", {}),
                ("ship_variant", {"variant_key": "test"}),
            )
        ]
        ended = await other.patch(f"{place}/", json={"end_date": "2024-03-09T00:00:00Z"})
        renamed = await other.patch(f"{place}/", json={"name": "By a member"})

    for answer in (launch, *refused, ended):
        assert (answer.status_code, answer.json()) == (403, denied)
    assert renamed.status_code == 200
