"""Typical mistakes in flags over HTTP are refused by name; nothing is stored or released."""

from typing import Any

import pytest

from tests.support.application import Json, Tenant
from tests.support.rich_project import NEVER_PAID

MISTAKES: dict[str, tuple[Json, str, str]] = {
    "filtres": ({"filtres": {"groups": [{}]}}, "filtres", '"filters"'),
    "a share without filters": (
        {"rollout_percentage": 30},
        "rollout_percentage",
        "not 30",
    ),
    "a share that disagrees": (
        {"rollout_percentage": 30, "filters": {"groups": [{"rollout_percentage": 40}]}},
        "rollout_percentage",
        "40, not 30",
    ),
    "rollout": (
        {"filters": {"groups": [{"rollout": 50}]}},
        "filters__groups__0__rollout",
        '"rollout_percentage"',
    ),
    "less": (
        {"rollback_conditions": [{**NEVER_PAID, "operator": "less"}]},
        "rollback_conditions__0__operator",
        "gt, lt",
    ),
    "enabled": ({"enabled": False}, "enabled", 'Unknown field "enabled"'),
    "isActive": ({"isActive": False}, "isActive", '"active"'),
    "variants at the top": ({"variants": []}, "variants", 'Unknown field "variants"'),
    "evaluation tags": ({"evaluation_tags": ["web"]}, "evaluation_tags", "evaluation_contexts"),
    "secrets": ({"has_encrypted_payloads": True}, "has_encrypted_payloads", "not supported"),
    "an unknown runtime": ({"evaluation_runtime": "browser"}, "evaluation_runtime", "browser"),
    "an unknown cohort early": (
        {
            "filters": {
                "groups": [{}],
                "super_groups": [{"properties": [{"key": "id", "type": "cohort", "value": 5151}]}],
            }
        },
        "filters",
        "5151 does not exist",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
async def test_a_mistake_makes_no_flag(tenant: Tenant, name: str) -> None:
    sent, attr, reported = MISTAKES[name]

    answer = await tenant.api.post("/feature_flags/", json={"key": "beta", **sent})

    assert (answer.status_code, answer.json()["attr"]) == (400, attr), answer.text
    assert answer.json()["type"] == "validation_error"
    assert reported in answer.json()["detail"]
    assert (await tenant.get("/feature_flags/"))["count"] == 0


@pytest.mark.parametrize("name", sorted(MISTAKES))
async def test_a_mistake_changes_no_flag(tenant: Tenant, name: str) -> None:
    sent, attr, _ = MISTAKES[name]
    flag = await tenant.create_flag(key="beta", filters={"groups": [{"rollout_percentage": 1}]})

    answer = await tenant.api.patch(f"/feature_flags/{flag['id']}/", json=sent)

    assert (answer.status_code, answer.json()["attr"]) == (400, attr), answer.text
    assert await tenant.get(f"/feature_flags/{flag['id']}/") == flag


SUB_ENDPOINTS: dict[str, tuple[Json, str]] = {
    "FLAG/role_access/": ({"role": 5, "rol_id": "x"}, "rol_id"),
    "FLAG/scheduled_changes/": ({"payload": {"operaton": "x"}}, "payload__operaton"),
    "user_blast_radius/": ({"condition": {"propertys": []}}, "condition__propertys"),
    "reach/": ({"filtrs": {}}, "filtrs"),
    "preview_change/": ({"key": "new", "filtrs": {}}, "filtrs"),
    "evaluation_reasons/": ({"key": "new", "distinctid": "u"}, "distinctid"),
}


@pytest.mark.parametrize("path", SUB_ENDPOINTS)
async def test_an_unknown_name_below_a_flag_is_refused(tenant: Tenant, path: str) -> None:
    flag = await tenant.create_flag(key="beta")
    sent, attr = SUB_ENDPOINTS[path]

    url = f"/feature_flags/{path}".replace("FLAG", str(flag["id"]))
    answer = await tenant.api.post(url, json=sent)

    assert (answer.status_code, answer.json()["attr"]) == (400, attr), answer.text


async def test_the_key_of_who_asks_may_stand_in_the_body(tenant: Tenant) -> None:
    key = str(tenant.api.headers["authorization"]).removeprefix("Bearer ")

    answer = await tenant.public.post(
        f"/api/projects/{tenant.project_id}/feature_flags/",
        json={"personal_api_key": key, "key": "beta"},
    )

    assert answer.status_code == 201, answer.text


async def test_an_unknown_name_in_a_form_is_refused(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="beta")

    answer = await tenant.api.patch(f"/feature_flags/{flag['id']}/", data={"actve": "False"})

    assert (answer.status_code, answer.json()["attr"]) == (400, "actve")
    assert answer.json()["detail"] == 'Unknown field "actve". Did you mean "active"?'


async def test_misspelt_filters_without_groups_are_not_passed_over(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="beta")
    path = f"/feature_flags/{flag['id']}/"

    answer = await tenant.api.patch(path, json={"filters": {"group": [{}]}})

    assert (answer.status_code, answer.json()["attr"]) == (400, "filters__group")


async def test_variants_must_sum_to_100_when_they_are_changed(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="beta")
    share = {"variants": [{"key": "a", "rollout_percentage": 90}]}

    answer = await tenant.api.patch(
        f"/feature_flags/{flag['id']}/", json={"filters": {"groups": [{}], "multivariate": share}}
    )

    assert answer.status_code == 400
    assert "must sum to 100" in answer.json()["detail"]


async def test_a_flag_can_be_sent_back_as_it_was_read(tenant: Tenant) -> None:
    """Filters may change although the fields that follow from them still have their old values."""
    flag = await tenant.create_flag(key="beta", filters={"groups": [{"rollout_percentage": 20}]})
    path = f"/feature_flags/{flag['id']}/"

    same = await tenant.api.patch(path, json=flag)
    changed = await tenant.api.patch(
        path, json={**flag, "filters": {"groups": [{"rollout_percentage": 50}]}}
    )

    assert (same.status_code, same.json()) == (200, flag)
    assert (changed.status_code, changed.json()["rollout_percentage"]) == (200, 50)


async def test_names_of_every_version_of_the_api_are_known(tenant: Tenant) -> None:
    maintained = {
        "id": 7,
        "version": 3,
        "status": "ACTIVE",
        "updated_at": None,
        "created_by": None,
        "last_modified_by": None,
        "user_access_level": "editor",
        "last_called_at": None,
        "experiment_set": [],
        "surveys": [],
        "features": [],
        "can_edit": False,
        "usage_dashboard": 1,
        "is_used_in_replay_settings": False,
        "team_id": 1,
    }
    written = {
        "creation_context": "feature_flags",
        "_create_in_folder": "",
        "description": "d",
        "_should_create_usage_dashboard": True,
        "is_remote_configuration": False,
        "has_encrypted_payloads": False,
        "archived": False,
        "evaluation_tags": [],
    }
    agreeing = {"rollout_percentage": None, "is_simple_flag": False}

    flag = await tenant.create_flag(key="beta", **maintained, **written, **agreeing)

    assert flag["id"] != 7
    assert flag["can_edit"] is True


QUERIES = {
    "/feature_flags/?serach=a": "serach",
    "/feature_flags/?actve": "actve",
    "/feature_flags/FLAG/?version=1": "version",
    "/feature_flags/FLAG/activity/?sort=1": "sort",
    "/feature_flags/FLAG/role_access/?role=1": "role",
    "/feature_flags/FLAG/scheduled_changes/?state=1": "state",
    "/feature_flags/FLAG/usage/?date_form=-7d": "date_form",
    "/feature_flags/my_flags/?group={}": "group",
}


@pytest.mark.parametrize("path", QUERIES)
async def test_an_unknown_query_parameter_is_refused(tenant: Tenant, path: str) -> None:
    flag = await tenant.create_flag(key="beta")
    attr = QUERIES[path]

    answer = await tenant.api.get(path.replace("FLAG", str(flag["id"])))

    assert (answer.status_code, answer.json()["attr"]) == (400, attr), answer.text
    assert answer.json()["detail"].startswith(f'Unknown query parameter "{attr}". ')


async def test_known_query_parameters_are_taken_everywhere(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="beta")
    common = f"token={tenant.token}&format=json&_=1700000000"

    for path in ("/feature_flags/", f"/feature_flags/{flag['id']}/", "/feature_flags/my_flags/"):
        answer = await tenant.api.get(f"{path}?{common}")
        assert answer.status_code == 200, answer.text
    listed = await tenant.get("/feature_flags/", evaluation_runtime="server", search="b")
    assert listed["count"] == 0
    changed = await tenant.api.patch(f"/feature_flags/{flag['id']}/?{common}", json={"name": "n"})
    assert changed.status_code == 200
    reported = await tenant.api.get(
        f"/feature_flags/local_evaluation/?token={tenant.token}&send_cohorts"
    )
    assert reported.status_code == 200


OLD: dict[str, Any] = {
    "groups": [
        {"properties": [{"key": "a", "type": "person", "operator": "less", "value": "5"}]},
        {"properties": [], "rollout_percentage": 150, "note": "kept"},
    ],
    "multivariate": {"variants": [{"key": "a", "rollout_percentage": 90}]},
    "payloads": {"a": "no JSON"},
    "unknown": 1,
}


async def test_a_flag_that_was_stored_before_goes_on_working(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="beta")
    conditions = [{"threshold": 5, "operator": "less"}]
    await tenant.store_flag(flag, key="old flag", filters=OLD, rollback_conditions=conditions)
    path = f"/feature_flags/{flag['id']}/"
    returned = await tenant.get(path)
    added = {"groups": [*OLD["groups"], {"rollout_percentage": 5}]}

    answers = [
        await tenant.api.patch(path, json=sent)
        for sent in (
            {**returned, "active": False},
            {"name": "n", "filters": OLD, "rollback_conditions": conditions, "key": "old flag"},
            {"filters": {**OLD, **added}},
            {"active": True},
            {"key": "renamed"},
            {"deleted": True},
        )
    ]

    assert [answer.status_code for answer in answers] == [200] * 6, [a.text for a in answers]
    after = await tenant.get(path)
    assert (after["key"], after["deleted"]) == ("renamed", True)
    assert after["filters"] == {**OLD, **added}
    assert after["rollback_conditions"] == conditions


async def test_a_new_mistake_in_an_old_flag_is_refused(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="beta")
    await tenant.store_flag(flag, filters=OLD)
    path = f"/feature_flags/{flag['id']}/"
    worse = {**OLD, "groups": [*OLD["groups"], {"rollout_percentage": 101}]}

    answer = await tenant.api.patch(path, json={"filters": worse})

    assert answer.status_code == 400
    assert answer.json()["attr"] == "filters__groups__2__rollout_percentage"
    assert (await tenant.get(path))["filters"] == OLD
