"""The endpoint with the definitions for local evaluation, and who may read it."""

from typing import Any

import pytest
from sqlalchemy import insert

from fanion.db.schema.tables import group_types
from fanion.projects.store import move_flag_version
from tests.support.application import Home
from tests.support.management import add_key, error

Json = dict[str, Any]

OLDER = ("/api/feature_flag/local_evaluation/", "/api/feature_flag/local_evaluation")
NEWER = ("/flags/definitions", "/flags/definitions/")


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


async def read(home: Home, path: str = OLDER[0], **request: Any) -> Json:
    request.setdefault("headers", bearer(home.key))
    answer = await home.public.get(path, **request)
    assert answer.status_code == 200, answer.text
    document: Json = answer.json()
    return document


async def two_flags(home: Home) -> tuple[Json, Json]:
    on = await home.create_flag(
        key="on",
        name="Shown to all",
        filters={
            "groups": [{"properties": [{"key": "plan", "type": "person", "value": "pro"}]}],
            "payloads": {"true": {"n": 1}},
        },
        ensure_experience_continuity=True,
    )
    off = await home.create_flag(key="off", active=False, filters={"groups": [{}]})
    gone = await home.create_flag(key="gone", filters={"groups": [{}]})
    await home.api.patch(f"/feature_flags/{gone['id']}/", json={"deleted": True})
    return on, off


@pytest.mark.parametrize("path", [*OLDER, "/api/projects/{id}/feature_flags/local_evaluation/"])
async def test_the_older_document_has_active_flags_as_stored(home: Home, path: str) -> None:
    on, _ = await two_flags(home)

    assert await read(home, path.format(id=home.project_id)) == {
        "flags": [
            {
                "id": on["id"],
                "team_id": home.project_id,
                "name": "Shown to all",
                "key": "on",
                "filters": on["filters"],
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
    home: Home, path: str
) -> None:
    await two_flags(home)

    document = await read(home, path)

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


async def test_group_types_are_keyed_by_their_index_as_text(home: Home) -> None:
    async with home.site.records.write() as connection:
        rows = [
            {"project_id": home.project_id, "group_type_index": i, "group_type": name}
            for i, name in enumerate(("organization", "company"))
        ]
        await connection.execute(insert(group_types), rows)
        await connection.run_sync(move_flag_version, home.project_id)

    document = await read(home)

    assert document["group_type_mapping"] == {"0": "organization", "1": "company"}


async def test_cohorts_are_sent_when_asked_for_by_presence(home: Home) -> None:
    plan = {"key": "plan", "type": "person", "value": "pro", "operator": "exact"}
    tree = {"type": "OR", "values": [{"type": "AND", "values": [plan]}]}
    answer = await home.api.post(
        "/cohorts/", json={"name": "Pros", "filters": {"properties": tree}}
    )
    cohort_id = answer.json()["id"]
    leaf = {"key": "id", "type": "cohort", "value": cohort_id}
    groups = [{"properties": [leaf], "rollout_percentage": 40}]
    await home.create_flag(key="pros", filters={"groups": groups})

    without = await read(home)
    with_them = await read(home, OLDER[0] + "?send_cohorts")
    also = await read(home, OLDER[0] + "?send_cohorts=false")

    assert without["cohorts"] == {}
    assert without["flags"][0]["filters"]["groups"] == [
        {"properties": [plan], "rollout_percentage": 40}
    ]
    assert with_them["flags"][0]["filters"]["groups"] == groups
    assert with_them["cohorts"] == {str(cohort_id): tree}
    assert also == with_them


async def test_an_unchanged_document_is_not_sent_again(home: Home) -> None:
    flag = await home.create_flag(key="f", filters={"groups": [{}]})
    headers = bearer(home.key)

    first = await home.public.get(OLDER[0], headers=headers)
    tag = first.headers["etag"]
    same = await home.public.get(OLDER[0], headers={**headers, "if-none-match": tag})
    weak = await home.public.get(OLDER[0], headers={**headers, "if-none-match": f'"x", W/{tag}'})
    await home.api.patch(f"/feature_flags/{flag['id']}/", json={"name": "new"})
    changed = await home.public.get(OLDER[0], headers={**headers, "if-none-match": tag})

    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
    assert weak.status_code == 304
    assert changed.status_code == 200
    assert changed.headers["etag"] != tag


async def test_the_documents_have_tags_of_their_own(home: Home) -> None:
    await two_flags(home)
    headers = bearer(home.key)

    older = await home.public.get(OLDER[0], headers=headers)
    newer = await home.public.get(NEWER[0], headers=headers)

    assert older.headers["etag"] != newer.headers["etag"]


@pytest.mark.parametrize("path", [OLDER[0], NEWER[0]])
async def test_the_project_key_alone_reads_nothing(home: Home, path: str) -> None:
    refused = error(
        "authentication_error", "not_authenticated", "Authentication credentials were not provided."
    )

    anonymous = await home.public.get(path)
    public = await home.public.get(path, params={"token": home.token})
    as_bearer = await home.public.get(path, headers=bearer(home.token))

    assert (anonymous.status_code, anonymous.json()) == (401, refused)
    assert (public.status_code, public.json()) == (401, refused)
    assert (as_bearer.status_code, as_bearer.json()["code"]) == (401, "invalid_personal_api_key")


async def test_a_token_chooses_among_the_projects_of_the_key(home: Home) -> None:
    await home.create_flag(key="f", filters={"groups": [{}]})

    chosen = await home.public.get(OLDER[0], params={"token": home.token}, headers=bearer(home.key))
    unknown = await home.public.get(
        OLDER[0], params={"token": "phc_none"}, headers=bearer(home.key)
    )

    assert [flag["key"] for flag in chosen.json()["flags"]] == ["f"]
    assert (unknown.status_code, unknown.json()["code"]) == (401, "invalid_api_key")


async def test_a_restricted_key_needs_to_read_flags(home: Home) -> None:
    may = await add_key(home.site.records, home.user_id, f"{home.key}-may", ["feature_flag:read"])
    must_not = await add_key(home.site.records, home.user_id, f"{home.key}-not", ["cohort:read"])

    allowed = await home.public.get(OLDER[0], headers=bearer(may))
    refused = await home.public.get(OLDER[0], headers=bearer(must_not))

    assert allowed.status_code == 200
    assert (refused.status_code, refused.json()["detail"]) == (
        403,
        "API key missing required scope 'feature_flag:read'",
    )


async def test_unknown_projects_are_not_found(home: Home) -> None:
    for named in ("999999999999", "x", "-1", "9" * 30):
        path = f"/api/projects/{named}/feature_flags/local_evaluation/"
        answer = await home.public.get(path, headers=bearer(home.key))

        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def secret_key(home: Home) -> str:
    answer = await home.api.post("/secret_key/")
    assert answer.status_code == 201, answer.text
    key: str = answer.json()["secret_api_key"]
    return key


async def test_the_secret_key_of_the_project_reads_its_definitions(home: Home) -> None:
    await home.create_flag(key="f", filters={"groups": [{}]})
    key = await secret_key(home)

    assert key.startswith("phs_")
    for path in (
        OLDER[0],
        NEWER[0],
        f"/api/projects/{home.project_id}/feature_flags/local_evaluation/",
    ):
        document = await read(home, path, headers=bearer(key))
        assert [flag["key"] for flag in document["flags"]] == ["f"]
    named = await read(home, f"{NEWER[0]}?token={home.token}", headers=bearer(key))
    assert [flag["key"] for flag in named["flags"]] == ["f"]


async def test_the_scheme_of_a_key_is_read_in_any_case_of_letters(home: Home) -> None:
    for path in (OLDER[0], NEWER[0]):
        await read(home, path, headers={"authorization": f"bEARER {home.key}"})


async def test_a_secret_key_opens_no_other_project_and_no_management(home: Home) -> None:
    key = await secret_key(home)

    other = await home.public.get(
        f"/api/projects/{home.project_id + 1}/feature_flags/local_evaluation/", headers=bearer(key)
    )
    management = await home.public.get(
        f"/api/projects/{home.project_id}/feature_flags/", headers=bearer(key)
    )

    assert (other.status_code, other.json()["code"]) == (403, "permission_denied")
    assert (management.status_code, management.json()["code"]) == (401, "invalid_personal_api_key")


async def test_a_replaced_or_revoked_secret_key_ends_at_once(home: Home) -> None:
    former = await secret_key(home)
    await read(home, headers=bearer(former))

    present = await secret_key(home)
    replaced = await home.public.get(OLDER[0], headers=bearer(former))
    await read(home, headers=bearer(present))
    revoked = await home.api.delete("/secret_key/")
    again = await home.api.delete("/secret_key/")
    after = await home.public.get(OLDER[0], headers=bearer(present))

    assert (replaced.status_code, replaced.json()["code"]) == (401, "invalid_personal_api_key")
    assert (revoked.status_code, again.status_code) == (204, 404)
    assert after.status_code == 401


async def test_a_payload_is_read_by_the_key_of_its_flag(home: Home) -> None:
    await home.create_flag(
        key="with_underscore", filters={"groups": [{}], "payloads": {"true": {"color": "blue"}}}
    )
    await home.create_flag(key="text", filters={"groups": [{}], "payloads": {"true": '"as is"'}})
    await home.create_flag(key="empty", filters={"groups": [{}]})
    base = "/api/projects/@current/feature_flags"
    headers = bearer(await secret_key(home))

    quoted = await home.public.get(f"{base}/with%5Funderscore/remote_config/", headers=headers)
    text = await home.public.get(
        f"{base}/text/remote_config?token={home.token}", headers=bearer(home.key)
    )

    assert (quoted.status_code, quoted.json()) == (200, '{"color":"blue"}')
    assert text.json() == '"as is"'
    for key in ("empty", "none"):
        missing = await home.public.get(f"{base}/{key}/remote_config", headers=headers)
        assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    anonymous = await home.public.get(f"{base}/text/remote_config")
    assert anonymous.status_code == 401
