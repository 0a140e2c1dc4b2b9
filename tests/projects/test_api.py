"""Projects, personal keys and the caller's own user."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from fanion.db.engine import Records
from fanion.projects.admin_store import FIRST_ORGANIZATION
from fanion.projects.model import Level
from fanion.server.forwarded import BaseUrl, TrustedProxies, read_networks
from tests.support.management import (
    BASE_URL,
    NO_WISHES,
    NOW,
    OWNER_KEY,
    PROJECT_TOKEN,
    Workspace,
    add_member,
    add_neighbour,
    error,
    invalid,
    open_workspace,
)

NOW_TEXT = "2024-03-01T12:00:00Z"
FORBIDDEN = error(
    "authentication_error", "permission_denied", "You don't have access to the project."
)
TOO_LOW = error(
    "authentication_error", "permission_denied", "Your organization access level is insufficient."
)
NO_PROJECT = error("invalid_request", "not_found", "Project not found.")
NOT_FOUND = error("invalid_request", "not_found", "Not found.")


@pytest.fixture
async def workspace(records: Records) -> AsyncIterator[Workspace]:
    async with open_workspace(records) as opened:
        yield opened


def first_project(workspace: Workspace, **changes: Any) -> dict[str, Any]:
    project = workspace.made.project
    return {
        "id": project.id,
        "uuid": str(project.uuid),
        "name": "Default project",
        "api_token": PROJECT_TOKEN,
        "former_api_tokens": [],
        "created_at": NOW_TEXT,
        "timezone": "UTC",
        "organization": str(FIRST_ORGANIZATION),
        "ingestion": NO_WISHES,
        "test_account_filters": [],
        "week_start_day": 0,
        "path_cleaning_filters": [],
        "primary_dashboard": None,
        "events_kept_days": None,
    } | changes


@pytest.mark.every_engine
async def test_a_new_project_is_answered_whole_and_its_token_works_at_once(
    workspace: Workspace,
) -> None:
    sent = {"name": " Shop ", "timezone": "Europe/Berlin", "api_token": "mine", "id": 7}

    response = await workspace.client.post("/api/projects/", json=sent)

    body = response.json()
    assert response.status_code == 201
    project = await workspace.projects.by_token(body["api_token"])
    assert body == {
        "id": project.id,
        "uuid": str(project.uuid),
        "name": "Shop",
        "api_token": project.api_token,
        "former_api_tokens": [],
        "created_at": NOW_TEXT,
        "timezone": "Europe/Berlin",
        "organization": str(FIRST_ORGANIZATION),
        "ingestion": NO_WISHES,
        "test_account_filters": [],
        "week_start_day": 0,
        "path_cleaning_filters": [],
        "primary_dashboard": None,
        "events_kept_days": None,
    }
    assert body["api_token"].startswith("phc_")
    again = await workspace.client.get(f"/api/projects/{project.id}/")
    assert again.json() == body


@pytest.mark.parametrize("path", ["/api/projects/1/", "/api/projects/1", "/api/projects/@current/"])
async def test_a_project_is_found_by_number_or_as_the_current_one(
    shared_workspace: Workspace, path: str
) -> None:
    response = await shared_workspace.client.get(path)

    assert (response.status_code, response.json()) == (200, first_project(shared_workspace))


@pytest.mark.every_engine
@pytest.mark.parametrize("name", ["999", "0", "-1", "abc", "1.0", "１", "9" * 19, "9" * 40, "@me"])
@pytest.mark.parametrize("method", ["GET", "PATCH"])
async def test_what_names_no_project_is_not_found(
    shared_workspace: Workspace, method: str, name: str
) -> None:
    response = await shared_workspace.client.request(method, f"/api/projects/{name}/")

    assert (response.status_code, response.json()) == (404, NO_PROJECT)


@pytest.mark.every_engine
async def test_lists_hold_only_projects_of_the_callers_organizations(
    workspace: Workspace,
) -> None:
    neighbour = await add_neighbour(workspace.records)

    own = await workspace.client.get("/api/projects/")
    async with workspace.client_with(neighbour.owner.key) as stranger:
        theirs = await stranger.get("/api/projects/")

    assert own.json() == {
        "count": 1,
        "next": None,
        "previous": None,
        "results": [first_project(workspace)],
    }
    assert [project["id"] for project in theirs.json()["results"]] == [neighbour.project_id]
    assert theirs.json()["count"] == 1


@pytest.mark.parametrize("method", ["GET", "PATCH"])
async def test_a_project_of_another_organization_is_closed(
    workspace: Workspace, method: str
) -> None:
    neighbour = await add_neighbour(workspace.records)

    response = await workspace.client.request(
        method, f"/api/projects/{neighbour.project_id}/", json={"name": "Mine now"}
    )

    assert (response.status_code, response.json()) == (403, FORBIDDEN)
    stored = await workspace.projects.by_id(neighbour.project_id)
    assert stored is not None
    assert stored.name == "Next door"


@pytest.mark.every_engine
async def test_pages_are_linked_as_the_client_asked(workspace: Workspace) -> None:
    for name in ("Two", "Three"):
        await workspace.client.post("/api/projects/", json={"name": name})

    middle = await workspace.client.get("/api/projects/?token=%C3%BC&limit=1&offset=1&_=1")
    body = middle.json()

    assert [project["name"] for project in body["results"]] == ["Two"]
    assert body["count"] == 3
    assert body["next"] == f"{BASE_URL}/api/projects/?_=1&limit=1&offset=2&token=%C3%BC"
    assert body["previous"] == f"{BASE_URL}/api/projects/?_=1&limit=1&token=%C3%BC"


FORWARDED = {
    "x-forwarded-proto": "https",
    "x-forwarded-host": "evil.example.com, analytics.example.com",
    "x-forwarded-prefix": "/fanion/",
}
# The links ignore each of these, and fall back to the address of the connection.
MALFORMED = {
    "x-forwarded-proto": "javascript",
    "x-forwarded-host": "evil.example.com/?",
    "x-forwarded-prefix": "//evil.example.com",
}


@pytest.mark.parametrize(
    ("trusted", "headers", "base"),
    [
        ("127.0.0.1", FORWARDED, "https://analytics.example.com/fanion"),
        ("127.0.0.1", MALFORMED, BASE_URL),
        ("127.0.0.1", {}, BASE_URL),
        ("10.0.0.0/8", FORWARDED, BASE_URL),
        ("", FORWARDED, BASE_URL),
    ],
)
async def test_page_links_name_what_a_trusted_proxy_forwards(
    records: Records, trusted: str, headers: dict[str, str], base: str
) -> None:
    proxies = TrustedProxies(read_networks(trusted))
    async with open_workspace(records, base_url=BaseUrl(proxies)) as workspace:
        await workspace.client.post("/api/projects/", json={"name": "Two"})
        response = await workspace.client.get("/api/projects/?limit=1", headers=headers)

    assert response.json()["next"] == f"{base}/api/projects/?limit=1&offset=1"


async def test_page_links_name_the_operators_address(records: Records) -> None:
    base_url = BaseUrl(TrustedProxies(read_networks("0.0.0.0/0 ::/0")), "https://a.example.com/")
    async with open_workspace(records, base_url=base_url) as workspace:
        await workspace.client.post("/api/projects/", json={"name": "Two"})
        response = await workspace.client.get("/api/projects/?limit=1", headers=FORWARDED)

    assert response.json()["next"] == "https://a.example.com/api/projects/?limit=1&offset=1"


@pytest.mark.every_engine
async def test_a_change_is_seen_at_once_and_leaves_the_rest(workspace: Workspace) -> None:
    renamed = await workspace.client.patch("/api/projects/1/", json={"name": "Renamed"})
    moved = await workspace.client.patch("/api/projects/1/", data={"timezone": "Asia/Tokyo"})
    nothing = await workspace.client.patch("/api/projects/1/")

    after = first_project(workspace, name="Renamed", timezone="Asia/Tokyo")
    assert renamed.json() == first_project(workspace, name="Renamed")
    assert (moved.status_code, moved.json()) == (200, after)
    assert (nothing.status_code, nothing.json()) == (200, after)
    known = await workspace.projects.by_token(PROJECT_TOKEN)
    assert (known.name, known.timezone) == ("Renamed", "Asia/Tokyo")


BLANK = invalid("blank", "This field may not be blank.", "name")
LONG = invalid("max_length", "Ensure this field has no more than 200 characters.", "name")


@pytest.mark.parametrize(
    ("sent", "body"),
    [
        ({}, invalid("required", "This field is required.", "name")),
        ({"name": None}, invalid("null", "This field may not be null.", "name")),
        ({"name": "  "}, BLANK),
        ({"name": "x" * 201}, LONG),
        ({"name": ["x"]}, invalid("invalid_input", "Not a valid string.", "name")),
        (
            {"name": "x", "timezone": "Mars/Base"},
            invalid(
                "invalid_choice",
                '"Mars/Base" is not a valid choice. No known name is similar.',
                "timezone",
            ),
        ),
        (
            {"name": "x", "timezone": "../etc/passwd"},
            invalid(
                "invalid_choice",
                '"../etc/passwd" is not a valid choice. No known name is similar.',
                "timezone",
            ),
        ),
    ],
)
async def test_a_wrong_project_is_refused(
    shared_workspace: Workspace, sent: dict[str, Any], body: dict[str, Any]
) -> None:
    response = await shared_workspace.client.post("/api/projects/", json=sent)

    assert (response.status_code, response.json()) == (400, body)


async def test_only_administrators_make_and_change_projects(workspace: Workspace) -> None:
    member = await add_member(workspace.records, "mia")
    admin = await add_member(workspace.records, "ada", Level.ADMIN)

    async with workspace.client_with(member.key) as client:
        made = await client.post("/api/projects/", json={"name": "Mine"})
        changed = await client.patch("/api/projects/@current/", json={"name": "Mine"})
    async with workspace.client_with(admin.key) as client:
        allowed = await client.post("/api/projects/", json={"name": "Hers"})

    assert (made.status_code, made.json()) == (403, TOO_LOW)
    assert (changed.status_code, changed.json()) == (403, TOO_LOW)
    assert allowed.status_code == 201


@pytest.mark.every_engine
async def test_a_key_is_returned_once_and_opens_the_api(workspace: Workspace) -> None:
    made = await workspace.client.post("/api/personal_api_keys/", json={"label": "Laptop"})
    body = made.json()
    key = body["value"]

    assert made.status_code == 201
    assert body == {
        "id": body["id"],
        "label": "Laptop",
        "value": key,
        "mask_value": f"phx_...{key[-4:]}",
        "scopes": None,
        "created_at": NOW_TEXT,
        "last_used_at": None,
        "expires_at": None,
        "user_id": workspace.made.user.id,
    }
    assert UUID(body["id"])
    async with workspace.client_with(key) as client:
        assert (await client.get("/api/projects/@current/")).status_code == 200
    returned = await workspace.client.get(f"/api/personal_api_keys/{body['id']}/")
    assert returned.json() == body | {"value": None}
    listed = (await workspace.client.get("/api/personal_api_keys/")).json()
    assert listed["count"] == 2
    assert {entry["label"] for entry in listed["results"]} == {"Laptop", "Setup"}
    assert {entry["value"] for entry in listed["results"]} == {None}


async def test_every_key_may_ask_what_it_is_allowed(workspace: Workspace) -> None:
    sent = {"label": "Assistant", "scopes": ["feature_flag:read"]}
    made = (await workspace.client.post("/api/personal_api_keys/", json=sent)).json()
    async with workspace.client_with(made["value"]) as client:
        about = await client.get("/api/personal_api_keys/@current/")
        others = await client.get("/api/personal_api_keys/")

    assert about.status_code == 200
    assert about.json() == {**made, "value": None, "last_used_at": about.json()["last_used_at"]}
    assert others.status_code == 403


async def test_a_revoked_key_is_closed_at_once(workspace: Workspace) -> None:
    made = (await workspace.client.post("/api/personal_api_keys/", json={"label": "Old"})).json()
    path = f"/api/personal_api_keys/{made['id']}/"
    async with workspace.client_with(made["value"]) as client:
        before = await client.get("/api/users/@me/")

        gone = await workspace.client.delete(path)
        after = await client.get("/api/users/@me/")

    assert before.status_code == 200
    assert (gone.status_code, gone.content) == (204, b"")
    assert after.status_code == 401
    again = await workspace.client.delete(path)
    assert (again.status_code, again.json()) == (404, NOT_FOUND)


async def test_a_key_that_has_expired_is_refused_and_says_so(workspace: Workspace) -> None:
    until = (NOW + timedelta(hours=1)).isoformat()
    sent = {"label": "CI", "expires_at": until}
    made = (await workspace.client.post("/api/personal_api_keys/", json=sent)).json()
    async with workspace.client_with(made["value"]) as client:
        workspace.clock.move(minutes=59, seconds=59)
        before = await client.get("/api/users/@me/")
        workspace.clock.move(seconds=1)
        after = await client.get("/api/users/@me/")

    detail = "Personal API key found in request Authorization header has expired."
    refused = error("authentication_error", "invalid_personal_api_key", detail)
    assert made["expires_at"] == "2024-03-01T13:00:00Z"
    assert before.status_code == 200
    assert (after.status_code, after.json()) == (401, refused)
    returned = await workspace.client.get(f"/api/personal_api_keys/{made['id']}/")
    assert returned.json()["expires_at"] == made["expires_at"]


async def test_a_key_that_expires_makes_none_that_outlives_it(workspace: Workspace) -> None:
    until = NOW + timedelta(hours=1)
    sent = {"label": "CI", "expires_at": until.isoformat()}
    made = (await workspace.client.post("/api/personal_api_keys/", json=sent)).json()
    later = {"label": "x", "expires_at": (until + timedelta(seconds=1)).isoformat()}

    async with workspace.client_with(made["value"]) as client:
        for_ever = await client.post("/api/personal_api_keys/", json={"label": "x"})
        longer = await client.post("/api/personal_api_keys/", json=later)
        as_long = await client.post("/api/personal_api_keys/", json=sent)

    refused = invalid(
        "invalid_input",
        "Ensure this time is no later than 2024-03-01T13:00:00+00:00, when the key that makes "
        "this one expires.",
        "expires_at",
    )
    assert (for_ever.status_code, for_ever.json()) == (400, refused)
    assert (longer.status_code, longer.json()) == (400, refused)
    assert as_long.status_code == 201


async def test_keys_of_another_user_do_not_exist(workspace: Workspace) -> None:
    colleague = await add_member(workspace.records, "ada", Level.ADMIN)
    [mine] = (await workspace.client.get("/api/personal_api_keys/")).json()["results"]
    path = f"/api/personal_api_keys/{mine['id']}/"

    async with workspace.client_with(colleague.key) as client:
        listed = (await client.get("/api/personal_api_keys/")).json()
        read = await client.get(path)
        gone = await client.delete(path)

    assert [entry["user_id"] for entry in listed["results"]] == [colleague.user_id]
    assert (read.status_code, read.json()) == (404, NOT_FOUND)
    assert (gone.status_code, gone.json()) == (404, NOT_FOUND)
    assert (await workspace.client.get("/api/users/@me/")).status_code == 200


@pytest.mark.every_engine
@pytest.mark.parametrize("key_id", ["1", "nonsense", "00000000-0000-0000-0000-000000000000"])
async def test_an_unknown_key_is_not_found(shared_workspace: Workspace, key_id: str) -> None:
    response = await shared_workspace.client.delete(f"/api/personal_api_keys/{key_id}/")

    assert (response.status_code, response.json()) == (404, NOT_FOUND)


@pytest.mark.parametrize(
    ("sent", "body"),
    [
        ({}, invalid("required", "This field is required.", "label")),
        ({"label": ""}, invalid("blank", "This field may not be blank.", "label")),
        (
            {"label": "x" * 41},
            invalid("max_length", "Ensure this field has no more than 40 characters.", "label"),
        ),
        (
            {"label": "x", "scopes": "cohort:read"},
            invalid("not_a_list", 'Expected a list of items but got type "str".', "scopes"),
        ),
        (
            {"label": "x", "scopes": ["cohort:read", 7.5, None]},
            invalid("null", "This field may not be null.", "scopes__2"),
        ),
        (
            {"label": "x", "scopes": ["cohort:read", "cohort:eat"]},
            invalid("invalid_input", "Invalid scope: cohort:eat", "scopes"),
        ),
        (
            {"label": "x", "expires_at": NOW_TEXT},
            invalid("invalid_input", "Ensure this time is in the future.", "expires_at"),
        ),
        (
            {"label": "x", "expires_at": "2034-03-01T12:00:00Z"},
            invalid("invalid_input", "Ensure this time is within 3650 days.", "expires_at"),
        ),
        (
            {"label": "x", "expires_at": "tomorrow"},
            invalid(
                "invalid_input",
                "Datetime has wrong format. Use one of these formats instead: "
                "YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z].",
                "expires_at",
            ),
        ),
    ],
)
async def test_a_wrong_key_is_refused(
    shared_workspace: Workspace, sent: dict[str, Any], body: dict[str, Any]
) -> None:
    response = await shared_workspace.client.post("/api/personal_api_keys/", json=sent)

    assert (response.status_code, response.json()) == (400, body)


async def test_a_restricted_key_makes_no_keys(workspace: Workspace) -> None:
    sent = {"label": "Robot", "scopes": ["project:write"]}
    robot = (await workspace.client.post("/api/personal_api_keys/", json=sent)).json()

    async with workspace.client_with(robot["value"]) as client:
        response = await client.post("/api/personal_api_keys/", json={"label": "More"})

    assert robot["scopes"] == ["project:write"]
    assert (response.status_code, response.json()) == (
        403,
        error(
            "authentication_error",
            "permission_denied",
            "This action does not support Personal API Key access",
        ),
    )


async def test_the_caller_learns_who_and_where_it_is(workspace: Workspace) -> None:
    response = await workspace.client.get("/api/users/@me/")

    user = workspace.made.user
    organization = {
        "id": str(FIRST_ORGANIZATION),
        "name": "My organization",
        "membership_level": 15,
    }
    assert (response.status_code, response.json()) == (
        200,
        {
            "id": user.id,
            "uuid": str(user.uuid),
            "distinct_id": user.distinct_id,
            "first_name": "Olga",
            "email": "owner@example.com",
            "is_email_verified": False,
            "has_password": True,
            "organization": organization,
            "project": first_project(workspace),
            "organizations": [organization],
        },
    )
    assert OWNER_KEY not in response.text


@pytest.mark.every_engine
async def test_without_a_current_project_the_oldest_within_reach_is_meant(
    workspace: Workspace,
) -> None:
    neighbour = await add_neighbour(workspace.records)
    member = await add_member(workspace.records, "nina", organization_id=neighbour.organization_id)

    async with workspace.client_with(member.key) as client:
        response = await client.get("/api/projects/@current/")

    assert response.json()["id"] == neighbour.project_id
