"""The endpoint with the definitions for local evaluation, and who may read it."""

from typing import Any

import pytest
from sqlalchemy import insert

from fanion.db.schema.tables import group_types
from fanion.projects.store import move_flag_version
from tests.support.application import Tenant
from tests.support.management import add_key, error

Json = dict[str, Any]

OLDER = ("/api/feature_flag/local_evaluation/", "/api/feature_flag/local_evaluation")
NEWER = ("/flags/definitions", "/flags/definitions/")


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


async def read(tenant: Tenant, path: str = OLDER[0], **request: Any) -> Json:
    request.setdefault("headers", bearer(tenant.key))
    answer = await tenant.public.get(path, **request)
    assert answer.status_code == 200, answer.text
    document: Json = answer.json()
    return document


async def two_flags(tenant: Tenant) -> tuple[Json, Json]:
    on = await tenant.create_flag(
        key="on",
        name="Shown to all",
        filters={
            "groups": [{"properties": [{"key": "plan", "type": "person", "value": "pro"}]}],
            "payloads": {"true": {"n": 1}},
        },
        ensure_experience_continuity=True,
    )
    off = await tenant.create_flag(key="off", active=False, filters={"groups": [{}]})
    gone = await tenant.create_flag(key="gone", filters={"groups": [{}]})
    await tenant.api.patch(f"/feature_flags/{gone['id']}/", json={"deleted": True})
    return on, off


@pytest.mark.parametrize("path", [*OLDER, "/api/projects/{id}/feature_flags/local_evaluation/"])
async def test_the_older_document_has_active_flags_with_conditions_as_stored(
    tenant: Tenant, path: str
) -> None:
    on, _ = await two_flags(tenant)

    assert await read(tenant, path.format(id=tenant.project_id)) == {
        "flags": [
            {
                "id": on["id"],
                "team_id": tenant.project_id,
                "name": "Shown to all",
                "key": "on",
                "filters": {**on["filters"], "payloads": {"true": '{"n":1}'}},
                "deleted": False,
                "active": True,
                "ensure_experience_continuity": True,
            }
        ],
        "group_type_mapping": {},
        "cohorts": {},
    }


@pytest.mark.parametrize("path", NEWER)
async def test_the_newer_document_lists_all_flags_and_spells_them_out(
    tenant: Tenant, path: str
) -> None:
    await two_flags(tenant)

    document = await read(tenant, path)

    on, off = document["flags"]
    assert (on["key"], off["key"]) == ("on", "off")
    assert (on["active"], off["active"]) == (True, False)
    assert (on["version"], on["has_experiment"]) == (1, False)
    assert on["filters"] == {
        "groups": [
            {"properties": [{"key": "plan", "type": "person", "value": "pro", "operator": "exact"}]}
        ],
        "payloads": {"true": '{"n":1}'},
    }


async def test_group_types_are_keyed_by_their_index_as_text(tenant: Tenant) -> None:
    async with tenant.server.records.write() as connection:
        rows = [
            {"project_id": tenant.project_id, "group_type_index": i, "group_type": name}
            for i, name in enumerate(("organization", "company"))
        ]
        await connection.execute(insert(group_types), rows)
        await connection.run_sync(move_flag_version, tenant.project_id)

    document = await read(tenant)

    assert document["group_type_mapping"] == {"0": "organization", "1": "company"}


async def test_cohorts_are_sent_when_asked_for_by_presence(tenant: Tenant) -> None:
    plan = {"key": "plan", "type": "person", "value": "pro", "operator": "exact"}
    tree = {"type": "OR", "values": [{"type": "AND", "values": [plan]}]}
    answer = await tenant.api.post(
        "/cohorts/", json={"name": "Pros", "filters": {"properties": tree}}
    )
    cohort_id = answer.json()["id"]
    leaf = {"key": "id", "type": "cohort", "value": cohort_id}
    groups = [{"properties": [leaf], "rollout_percentage": 40}]
    await tenant.create_flag(key="pros", filters={"groups": groups})

    without = await read(tenant)
    with_them = await read(tenant, OLDER[0] + "?send_cohorts")
    also = await read(tenant, OLDER[0] + "?send_cohorts=false")

    assert without["cohorts"] == {}
    assert without["flags"][0]["filters"]["groups"] == [
        {"properties": [plan], "rollout_percentage": 40}
    ]
    assert with_them["flags"][0]["filters"]["groups"] == groups
    assert with_them["cohorts"] == {str(cohort_id): tree}
    assert also == with_them


async def test_an_unchanged_document_is_not_sent_again(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="f", filters={"groups": [{}]})
    headers = bearer(tenant.key)

    first = await tenant.public.get(OLDER[0], headers=headers)
    tag = first.headers["etag"]
    same = await tenant.public.get(OLDER[0], headers={**headers, "if-none-match": tag})
    weak = await tenant.public.get(OLDER[0], headers={**headers, "if-none-match": f'"x", W/{tag}'})
    await tenant.api.patch(f"/feature_flags/{flag['id']}/", json={"name": "new"})
    changed = await tenant.public.get(OLDER[0], headers={**headers, "if-none-match": tag})

    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
    assert weak.status_code == 304
    assert changed.status_code == 200
    assert changed.headers["etag"] != tag


async def test_the_documents_have_tags_of_their_own(tenant: Tenant) -> None:
    await two_flags(tenant)
    headers = bearer(tenant.key)

    older = await tenant.public.get(OLDER[0], headers=headers)
    newer = await tenant.public.get(NEWER[0], headers=headers)

    assert older.headers["etag"] != newer.headers["etag"]


@pytest.mark.parametrize("path", [OLDER[0], NEWER[0]])
async def test_the_project_key_alone_reads_nothing(tenant: Tenant, path: str) -> None:
    refused = error(
        "authentication_error", "not_authenticated", "Authentication credentials were not provided."
    )

    anonymous = await tenant.public.get(path)
    public = await tenant.public.get(path, params={"token": tenant.token})
    as_bearer = await tenant.public.get(path, headers=bearer(tenant.token))

    assert (anonymous.status_code, anonymous.json()) == (401, refused)
    assert (public.status_code, public.json()) == (401, refused)
    assert (as_bearer.status_code, as_bearer.json()["code"]) == (401, "invalid_personal_api_key")


async def test_a_token_chooses_among_the_projects_of_the_key(tenant: Tenant) -> None:
    await tenant.create_flag(key="f", filters={"groups": [{}]})

    chosen = await tenant.public.get(
        OLDER[0], params={"token": tenant.token}, headers=bearer(tenant.key)
    )
    unknown = await tenant.public.get(
        OLDER[0], params={"token": "phc_none"}, headers=bearer(tenant.key)
    )

    assert [flag["key"] for flag in chosen.json()["flags"]] == ["f"]
    assert (unknown.status_code, unknown.json()["code"]) == (401, "invalid_api_key")


async def test_a_restricted_key_needs_to_read_flags(tenant: Tenant) -> None:
    may = await add_key(
        tenant.server.records, tenant.user_id, f"{tenant.key}-may", ["feature_flag:read"]
    )
    must_not = await add_key(
        tenant.server.records, tenant.user_id, f"{tenant.key}-not", ["cohort:read"]
    )

    allowed = await tenant.public.get(OLDER[0], headers=bearer(may))
    refused = await tenant.public.get(OLDER[0], headers=bearer(must_not))

    assert allowed.status_code == 200
    assert (refused.status_code, refused.json()["detail"]) == (
        403,
        "API key missing required scope 'feature_flag:read'",
    )


async def test_unknown_projects_are_not_found(tenant: Tenant) -> None:
    for named in ("999999999999", "x", "-1", "9" * 30):
        path = f"/api/projects/{named}/feature_flags/local_evaluation/"
        answer = await tenant.public.get(path, headers=bearer(tenant.key))

        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def secret_key(tenant: Tenant) -> str:
    answer = await tenant.api.post("/secret_key/")
    assert answer.status_code == 201, answer.text
    key: str = answer.json()["secret_api_key"]
    return key


async def test_the_secret_key_of_the_project_reads_its_definitions(tenant: Tenant) -> None:
    await tenant.create_flag(key="f", filters={"groups": [{}]})
    key = await secret_key(tenant)

    assert key.startswith("phs_")
    for path in (
        OLDER[0],
        NEWER[0],
        f"/api/projects/{tenant.project_id}/feature_flags/local_evaluation/",
    ):
        document = await read(tenant, path, headers=bearer(key))
        assert [flag["key"] for flag in document["flags"]] == ["f"]
    named = await read(tenant, f"{NEWER[0]}?token={tenant.token}", headers=bearer(key))
    assert [flag["key"] for flag in named["flags"]] == ["f"]


async def test_the_scheme_of_a_key_is_read_in_any_case_of_letters(tenant: Tenant) -> None:
    for path in (OLDER[0], NEWER[0]):
        await read(tenant, path, headers={"authorization": f"bEARER {tenant.key}"})


async def test_a_secret_key_opens_no_other_project_and_no_management(tenant: Tenant) -> None:
    key = await secret_key(tenant)

    other = await tenant.public.get(
        f"/api/projects/{tenant.project_id + 1}/feature_flags/local_evaluation/",
        headers=bearer(key),
    )
    management = await tenant.public.get(
        f"/api/projects/{tenant.project_id}/feature_flags/", headers=bearer(key)
    )

    assert (other.status_code, other.json()["code"]) == (403, "permission_denied")
    assert (management.status_code, management.json()["code"]) == (401, "invalid_personal_api_key")


async def test_a_replaced_or_revoked_secret_key_ends_at_once(tenant: Tenant) -> None:
    former = await secret_key(tenant)
    await read(tenant, headers=bearer(former))

    present = await secret_key(tenant)
    replaced = await tenant.public.get(OLDER[0], headers=bearer(former))
    await read(tenant, headers=bearer(present))
    revoked = await tenant.api.delete("/secret_key/")
    again = await tenant.api.delete("/secret_key/")
    after = await tenant.public.get(OLDER[0], headers=bearer(present))

    assert (replaced.status_code, replaced.json()["code"]) == (401, "invalid_personal_api_key")
    assert (revoked.status_code, again.status_code) == (204, 404)
    assert after.status_code == 401


async def test_a_payload_is_read_by_the_key_of_its_flag(tenant: Tenant) -> None:
    await tenant.create_flag(
        key="with_underscore", filters={"groups": [{}], "payloads": {"true": {"color": "blue"}}}
    )
    await tenant.create_flag(key="text", filters={"groups": [{}], "payloads": {"true": '"as is"'}})
    await tenant.create_flag(key="empty", filters={"groups": [{}]})
    base = "/api/projects/@current/feature_flags"
    headers = bearer(await secret_key(tenant))

    quoted = await tenant.public.get(f"{base}/with%5Funderscore/remote_config/", headers=headers)
    text = await tenant.public.get(
        f"{base}/text/remote_config?token={tenant.token}", headers=bearer(tenant.key)
    )

    assert (quoted.status_code, quoted.json()) == (200, '{"color":"blue"}')
    assert text.json() == '"as is"'
    for key in ("empty", "none"):
        missing = await tenant.public.get(f"{base}/{key}/remote_config", headers=headers)
        assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    anonymous = await tenant.public.get(f"{base}/text/remote_config")
    assert anonymous.status_code == 401
