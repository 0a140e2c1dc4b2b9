"""Every kind of caller at every endpoint of the management API.

The endpoints are those of the OpenAPI document, so that a new one fails here until its access is
declared.
"""

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from typing import Any
from uuid import uuid4

import httpx
import pytest

from fanion.projects.auth.model import FRESH_FOR
from fanion.projects.model import Level
from tests.support.application import Json, Tenant, error, open_tenant
from tests.support.batch_exports import BATCH_EXPORT
from tests.support.management import add_key, add_member

# Ids far from each other, because a project that is created meanwhile takes the next one.
_elsewhere = count(1)

READS = frozenset({"GET"})
# The caller's own objects, and whole projects, need a key without scopes, or a session.
UNRESTRICTED = (
    "/api/personal_api_keys/",
    "/api/sessions/",
    "/api/projects/{project_id}/export/",
    "/api/projects/{project_id}/import/",
)
# The endpoint about the caller's own key, which every key may call.
CURRENT_KEY = "GET /api/personal_api_keys/@current/"
SIGN_OUT = "POST /api/logout/"

# The scope's object, by the first part of the path after the project.
OBJECTS = {
    "": "project",
    "actions": "action",
    "activity_log": "activity_log",
    "alerts": "insight",
    "annotations": "annotation",
    "batch_exports": "batch_export",
    "cohorts": "cohort",
    "dashboards": "dashboard",
    "event_definitions": "event_definition",
    "events": "event",
    "experiment_holdouts": "experiment",
    "experiment_saved_metrics": "experiment",
    "experiments": "experiment",
    "feature_flags": "feature_flag",
    "groups": "group",
    "groups_types": "group",
    "ingestion": "event",
    "insights": "insight",
    "persons": "person",
    "problems": "activity_log",
    "property_definitions": "property_definition",
    "query": "query",
    "contents": "project",
    "old_events": "project",
    "reset_token": "project",
    "secret_key": "project",
    "segments": "insight",
    "webhooks": "webhook",
}
# Endpoints that read by POST, because their parameters are long.
POST_READS = {
    "/feature_flags/user_blast_radius/": "feature_flag:read",
    "/feature_flags/evaluation_reasons/": "feature_flag:read",
    "/feature_flags/reach/": "feature_flag:read",
    "/feature_flags/preview_change/": "feature_flag:read",
    "/persons/{id}/merge/preview/": "person:read",
    "/persons/{id}/split/preview/": "person:read",
    "/cohorts/preview/": "cohort:read",
    "/experiments/plan/": "experiment:read",
    **dict.fromkeys(
        (
            *("/insights/trend/", "/insights/funnel/", "/insights/funnel/correlation/"),
            *("/insights/retention/", "/insights/path/"),
        ),
        "insight:read",
    ),
    **dict.fromkeys(
        (
            *("/persons/trends/", "/persons/funnel/", "/persons/funnel/correlation/"),
            *("/persons/retention/", "/persons/path/", "/persons/stickiness/"),
            "/persons/lifecycle/",
        ),
        "person:read",
    ),
    "/query/": "query:read",
    "/alerts/preview/": "insight:read",
}
# Endpoints whose scope is of another object than their path.
OTHER_SCOPES = {
    "/query/{client_query_id}/": "query:read",
    "/experiments/{id}/people/": "person:read",
    "/experiments/{id}/people/save_as_cohort/": "cohort:write",
}
# Endpoints that change only the caller's own account.
OWN = {
    "DELETE /api/personal_api_keys/{key_id}/",
    "DELETE /api/sessions/",
    "DELETE /api/sessions/{session_id}/",
    "POST /api/login/reauthenticate/",
    "POST /api/logout/",
    "PATCH /api/users/@me/",
    "DELETE /api/organizations/{organization}/members/{user_uuid}/",  # to leave
}
# Endpoints that change something by GET, as PostHog has them.
GET_CHANGES = {"GET /api/projects/{project_id}/cohorts/{id}/duplicate_as_static_cohort/"}
# Endpoints for administrators only, each with a valid body.
ADMINISTRATORS_ONLY: dict[str, Json] = {
    # No project is created, since the only one of an organization cannot be deleted.
    "POST /api/projects/": {"name": "Second", "timezone": "Nowhere"},
    "PATCH /api/projects/{project_id}/": {},
    "DELETE /api/projects/{project_id}/": {},
    "PATCH /api/projects/{project_id}/reset_token/": {},
    "GET /api/projects/{project_id}/export/": {},
    "POST /api/projects/{project_id}/import/": {},
    "POST /api/projects/{project_id}/secret_key/": {},
    "DELETE /api/projects/{project_id}/secret_key/": {},
    "PATCH /api/organizations/{organization}/members/{user_uuid}/": {"level": 1},
    "DELETE /api/organizations/{organization}/members/{user_uuid}/": {},
    "POST /api/organizations/{organization}/invites/": {"target_email": "i@example.com"},
    "POST /api/organizations/{organization}/invites/bulk/": {},
    "DELETE /api/organizations/{organization}/invites/{invite_id}/": {},
    "PATCH /api/organizations/{organization}/": {},
    "POST /api/organizations/{organization}/roles/": {"name": "Role"},
    "PATCH /api/organizations/{organization}/roles/{role_id}/": {},
    "DELETE /api/organizations/{organization}/roles/{role_id}/": {},
    "POST /api/organizations/{organization}/roles/{role_id}/role_memberships/": {
        "user_uuid": str(uuid4())
    },
    "DELETE /api/organizations/{organization}/roles/{role_id}/role_memberships/{member_id}/": {},
    "POST /api/organizations/{organization}/resource_access/": {
        "resource": "feature flags",
        "access_level": 37,
    },
    "PATCH /api/organizations/{organization}/resource_access/{setting_id}/": {"access_level": 37},
    "DELETE /api/organizations/{organization}/resource_access/{setting_id}/": {},
    "GET /api/projects/{project_id}/batch_exports/": {},
    "POST /api/projects/{project_id}/batch_exports/": BATCH_EXPORT,
    "GET /api/projects/{project_id}/batch_exports/{id}/": {},
    "PATCH /api/projects/{project_id}/batch_exports/{id}/": {},
    "DELETE /api/projects/{project_id}/batch_exports/{id}/": {},
    "POST /api/projects/{project_id}/batch_exports/{id}/pause/": {},
    "POST /api/projects/{project_id}/batch_exports/{id}/unpause/": {},
    "POST /api/projects/{project_id}/batch_exports/{id}/backfills/": {"start_at": "2024-01-01"},
    "GET /api/projects/{project_id}/batch_exports/{id}/runs/": {},
    "GET /api/projects/{project_id}/webhooks/": {},
    "POST /api/projects/{project_id}/webhooks/": {"url": "https://hooks.example/"},
    "GET /api/projects/{project_id}/webhooks/{id}/": {},
    "PATCH /api/projects/{project_id}/webhooks/{id}/": {},
    "DELETE /api/projects/{project_id}/webhooks/{id}/": {},
    "GET /api/projects/{project_id}/webhooks/{id}/deliveries/": {},
    "POST /api/projects/{project_id}/webhooks/{id}/rotate_secret/": {},
}


def denied(detail: str) -> tuple[int, Json]:
    return 403, error("authentication_error", "permission_denied", detail)


NOBODY = (
    401,
    error(
        "authentication_error", "not_authenticated", "Authentication credentials were not provided."
    ),
)
WRONG_KEY = (
    401,
    error(
        "authentication_error",
        "invalid_personal_api_key",
        "Personal API key found in request Authorization header is invalid.",
    ),
)
STRANGER = denied("You don't have access to the project.")
NOT_FOUND = 404, error("invalid_request", "not_found", "Not found.")
TOO_LOW = denied("Your organization access level is insufficient.")
VIEWER = denied("Viewers cannot make changes.")
NO_KEY_AT_ALL = denied("This action does not support Personal API Key access")

STALE = (
    403,
    error(
        "authentication_error",
        "fresh_sign_in_required",
        "Confirm your identity: sign in again, then repeat this request.",
    ),
)
# Endpoints that a session may use only soon after its owner has signed in.
NEEDS_FRESH_SIGN_IN = {
    "PATCH /api/organizations/{organization}/",
    "POST /api/users/@me/two_factor_start_setup/",
    "POST /api/users/@me/two_factor_validate/",
    "POST /api/users/@me/two_factor_backup_codes/",
    "POST /api/users/@me/two_factor_disable/",
    "POST /api/personal_api_keys/",
    "DELETE /api/personal_api_keys/{key_id}/",
    "DELETE /api/projects/{project_id}/",
    "PATCH /api/projects/{project_id}/reset_token/",
    "GET /api/projects/{project_id}/export/",
    "POST /api/projects/{project_id}/import/",
    "POST /api/projects/{project_id}/secret_key/",
    "DELETE /api/projects/{project_id}/secret_key/",
    "PATCH /api/organizations/{organization}/members/{user_uuid}/",
    "DELETE /api/organizations/{organization}/members/{user_uuid}/",
    "POST /api/organizations/{organization}/invites/",
    "POST /api/organizations/{organization}/invites/bulk/",
    "DELETE /api/organizations/{organization}/invites/{invite_id}/",
}

Refusal = tuple[int, Json] | None


@dataclass(frozen=True)
class Endpoint:
    """An endpoint of the document.

    Attributes:
        path: As in the document, like `security`.
        address: The path with its parameters filled in.
    """

    method: str
    path: str
    address: str
    security: object = None

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def scope(self) -> str | None:
        """The scope of the endpoint, or None if no restricted key is admitted.

        Source: flags.md section 16.
        """
        if self.path.startswith(UNRESTRICTED):
            return None
        rest = self.path.removeprefix("/api/projects/").removeprefix("{project_id}")
        if self.path.endswith("/activity/"):
            return "activity_log:read"
        if self.method == "POST" and rest in POST_READS:
            return POST_READS[rest]
        if rest in OTHER_SCOPES:
            return OTHER_SCOPES[rest]
        kind = self.path.split("/")[2]
        owners = {"organizations": "organization", "users": "user"}
        thing = owners.get(kind) or OBJECTS[rest.strip("/").partition("/")[0]]
        return f"{thing}:{'read' if self.is_read else 'write'}"

    @property
    def is_read(self) -> bool:
        """True if the method only reads."""
        return self.method in READS and self.name not in GET_CHANGES


ENDED_SESSION = (
    401,
    error("authentication_error", "not_authenticated", "The session has ended. Sign in again."),
)


def without_key(_: Endpoint) -> Refusal:
    return NOBODY


def with_wrong_key(_: Endpoint) -> Refusal:
    return WRONG_KEY


def with_ended_session(_: Endpoint) -> Refusal:
    return ENDED_SESSION


def as_stranger(endpoint: Endpoint) -> Refusal:
    if "{project_id}" in endpoint.path:
        return STRANGER
    return NOT_FOUND if "{organization}" in endpoint.path else None


def as_viewer(endpoint: Endpoint) -> Refusal:
    if endpoint.name in OWN or endpoint.security == [{"session": []}]:
        return as_member(endpoint)
    reads = endpoint.is_read or (endpoint.scope or "").endswith(":read")
    return as_member(endpoint) if reads else VIEWER


def as_member(endpoint: Endpoint) -> Refusal:
    return TOO_LOW if endpoint.name in ADMINISTRATORS_ONLY else None


def as_administrator(_: Endpoint) -> Refusal:
    return None


def with_reading_key(endpoint: Endpoint) -> Refusal:
    if endpoint.scope is None:
        return NO_KEY_AT_ALL
    if endpoint.scope.endswith(":read"):
        return None
    return denied(f"API key missing required scope '{endpoint.scope}'")


def with_key_for_users(endpoint: Endpoint) -> Refusal:
    if endpoint.scope is None:
        return NO_KEY_AT_ALL
    if endpoint.scope == "user:read":
        return None
    return denied(f"API key missing required scope '{endpoint.scope}'")


# An owner's session comes after all others, because it changes something, like the owner's key.
EXPECTED = {
    "an ended session": with_ended_session,
    "a stranger's session": as_stranger,
    "a viewer's session": as_viewer,
    "a member's session": as_member,
    "an administrator's session": as_administrator,
    "no key": without_key,
    "a wrong key": with_wrong_key,
    "a stranger": as_stranger,
    "a viewer": as_viewer,
    "a member": as_member,
    "an administrator": as_administrator,
    "an owner's session": as_administrator,
    "an owner": as_administrator,
    "an owner's key that reads": with_reading_key,
    "an owner's key for users": with_key_for_users,
}


def refusal_of(caller: str, endpoint: Endpoint) -> Refusal:
    has_session = caller.endswith(" session")
    if endpoint.security == [{}]:
        return None
    if endpoint.security == [{"bearer": []}] and has_session:
        return NOBODY
    if endpoint.name == CURRENT_KEY and "key" in caller and caller not in {"no key", "a wrong key"}:
        return None
    is_known = caller not in {"no key", "a wrong key"}
    if endpoint.security == [{"session": []}] and is_known and not has_session:
        return NO_KEY_AT_ALL
    return EXPECTED[caller](endpoint)


@pytest.fixture
async def callers(tenant: Tenant) -> AsyncIterator[Mapping[str, httpx.AsyncClient]]:
    records, unique = tenant.server.records, uuid4().hex
    objects = {*OBJECTS.values(), "organization", "user"}
    readings = [f"{name}:read" for name in sorted(objects)]
    viewer, member, admin = [
        await add_member(records, f"{level.name.lower()}-{unique}", level, tenant.organization_id)
        for level in (Level.VIEWER, Level.MEMBER, Level.ADMIN)
    ]
    async with AsyncExitStack() as stack:
        elsewhere = await stack.enter_async_context(
            open_tenant(tenant.server, tenant.project_id + 10**9 * next(_elsewhere))
        )
        keys = {
            "no key": None,
            "a wrong key": "phx_wrong",
            "a stranger": elsewhere.key,
            "a viewer": viewer.key,
            "a member": member.key,
            "an administrator": admin.key,
            "an owner": tenant.key,
            "an owner's key that reads": await add_key(
                records, tenant.user_id, f"phx_r_{unique}", readings
            ),
            "an owner's key for users": await add_key(
                records, tenant.user_id, f"phx_u_{unique}", ["user:read"]
            ),
        }
        clients = {name: tenant.server.client(key) for name, key in keys.items()}
        users = {
            "a stranger's session": elsewhere.user_id,
            "a viewer's session": viewer.user_id,
            "a member's session": member.user_id,
            "an administrator's session": admin.user_id,
            "an owner's session": tenant.user_id,
        }
        clients |= {name: await tenant.server.browser(user_id) for name, user_id in users.items()}
        clients["an ended session"] = tenant.server.browser_with("A" * 43)
        for client in clients.values():
            await stack.enter_async_context(client)
        yield clients


async def endpoints(tenant: Tenant) -> list[Endpoint]:
    schema = (await tenant.public.get("/api/schema/")).json()
    listed = [
        Endpoint(method.upper(), path, _address(tenant, path, operation), operation.get("security"))
        for path, item in schema["paths"].items()
        if path.startswith("/api/")
        for method, operation in item.items()
    ]
    return sorted(listed, key=lambda endpoint: endpoint.name == SIGN_OUT)


def _address(tenant: Tenant, path: str, operation: Mapping[str, Any]) -> str:
    """Return a path with ids of missing objects, in the test's organization and project."""
    values = {"project_id": str(tenant.project_id), "organization": str(tenant.organization_id)}
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "path" and parameter["name"] not in values:
            is_number = parameter["schema"]["type"] == "integer"
            values[parameter["name"]] = "999999999" if is_number else str(uuid4())
    return path.format(**values)


async def _response_of(client: httpx.AsyncClient, endpoint: Endpoint) -> httpx.Response:
    """Return the response; for a stream, its beginning."""
    request = client.build_request(
        endpoint.method, endpoint.address, json=ADMINISTRATORS_ONLY.get(endpoint.name, {})
    )
    answer = await client.send(request, stream=True)
    if answer.headers.get("content-type", "").startswith("text/event-stream"):
        await answer.aclose()
    else:
        await answer.aread()
    return answer


def _problems(
    responses: list[tuple[str, Endpoint, httpx.Response]],
) -> Iterator[tuple[str, str, int, Any]]:
    for caller, endpoint, answer in responses:
        refusal = refusal_of(caller, endpoint)
        if refusal is None:
            wrong = answer.status_code in {401, 403} or answer.status_code >= 500
        else:
            wrong = answer.status_code != refusal[0] or answer.json() != refusal[1]
        if wrong:
            yield caller, endpoint.name, answer.status_code, answer.text


# It takes seconds: each caller calls every endpoint.
async def test_each_caller_is_admitted_by_key_project_and_scope_only(
    tenant: Tenant, callers: Mapping[str, httpx.AsyncClient]
) -> None:
    known = await endpoints(tenant)

    # The owner comes last, since only the owner changes something.
    responses = [
        (
            caller,
            endpoint,
            await _response_of(callers[caller], endpoint),
        )
        for caller in EXPECTED
        for endpoint in known
    ]

    assert "\n".join(map(str, _problems(responses))) == ""
    assert {endpoint.name for endpoint in known} >= ADMINISTRATORS_ONLY.keys()


async def test_what_is_dangerous_needs_a_fresh_sign_in(
    tenant: Tenant, callers: Mapping[str, httpx.AsyncClient]
) -> None:
    known = await endpoints(tenant)
    tenant.server.clock.time += FRESH_FOR + timedelta(seconds=1)

    stale = {
        endpoint.name
        for endpoint in known
        if (answer := await _response_of(callers["an owner's session"], endpoint)).status_code
        == STALE[0]
        and answer.json() == STALE[1]
    }
    by_key = [
        (await _response_of(callers["an owner"], endpoint)).status_code
        for endpoint in known
        if endpoint.name in NEEDS_FRESH_SIGN_IN and endpoint.security != [{"session": []}]
    ]

    assert stale == NEEDS_FRESH_SIGN_IN
    assert 403 not in by_key


HOOK = {"url": "https://hooks.example/x", "events": ["feature_flag.updated"]}
# Valid bodies, where an empty one is not valid.
BODIES: dict[str, Json] = {
    "POST /api/projects/{project_id}/feature_flags/": {"key": "KEY"},
    "POST /api/projects/{project_id}/feature_flags/user_blast_radius/": {"condition": None},
    "POST /api/projects/{project_id}/feature_flags/evaluation_reasons/": {"key": "UNSAVED"},
    "POST /api/projects/{project_id}/feature_flags/preview_change/": {"key": "UNSAVED"},
    "POST /api/projects/{project_id}/cohorts/": {"name": "c"},
    "POST /api/projects/{project_id}/insights/trend/": {"events": [{"id": "a"}]},
    "POST /api/projects/{project_id}/webhooks/": HOOK,
}
# Statuses that no caller may get.
NEVER = {405, 404, 400}
# Endpoints that create projects and keys, which other tests count.
LEFT_OUT = {"POST /api/projects/", "POST /api/personal_api_keys/"}


async def _create_objects(tenant: Tenant, unique: str) -> dict[str, str]:
    """Create one object of each kind, and return ids by their names in paths."""
    person = f"u-{unique}"
    colleague = await add_member(
        tenant.server.records, f"c-{unique}", Level.MEMBER, tenant.organization_id
    )
    await tenant.capture({"event": f"seen-{unique}", "distinct_id": person, "properties": {"a": 1}})
    async with tenant.server.client(tenant.key) as client:

        async def made(path: str, body: Json) -> str:
            answer = await client.post(path, json=body)
            assert answer.status_code in {200, 201}, (path, answer.text)
            return str(answer.json()["id"])

        project = f"/api/projects/{tenant.project_id}"
        role = await made("/api/organizations/@current/roles/", {"name": unique})
        member = f"/api/organizations/@current/roles/{role}/role_memberships/"
        flag = await made(f"{project}/feature_flags/", {"key": unique})
        later = {
            "scheduled_at": "2024-03-02T00:00:00Z",
            "payload": {"operation": "update_status", "value": False},
        }
        definitions = await tenant.get("/event_definitions/", search=f"seen-{unique}")
        members = await client.get("/api/organizations/@current/members/?limit=1000")
        [user_uuid] = [
            member["user"]["uuid"]
            for member in members.json()["results"]
            if member["user"]["id"] == colleague.user_id
        ]
        return {
            "flag_id": flag,
            "key": unique,
            "access_id": await made(
                f"{project}/feature_flags/{flag}/role_access/", {"role_id": role}
            ),
            "change_id": await made(f"{project}/feature_flags/{flag}/scheduled_changes/", later),
            "cohort_id": await made(f"{project}/cohorts/", {"name": unique}),
            "dashboard_id": await made(f"{project}/dashboards/", {"name": unique}),
            "insight_id": await made(f"{project}/insights/", {"name": unique}),
            "webhook_id": await made(f"{project}/webhooks/", HOOK),
            "role_id": role,
            "user_uuid": user_uuid,
            "invite_id": await made(
                "/api/organizations/@current/invites/", {"target_email": f"{unique}@example.com"}
            ),
            "member_id": await made(member, {"user_uuid": tenant.owner["uuid"]}),
            "person_id": str((await tenant.person(person))["id"]),
            "definition_id": str(definitions["results"][0]["id"]),
            "event_id": str((await tenant.events(distinct_id=person))[0]["id"]),
        }


@pytest.mark.parametrize(
    "caller",
    [
        *("no key", "a stranger", "a viewer", "a member", "an administrator"),
        "an ended session",
        *("a stranger's session", "a viewer's session", "a member's session"),
        "an administrator's session",
    ],
)
async def test_each_caller_may_use_existing_objects_as_permitted(
    tenant: Tenant, callers: Mapping[str, httpx.AsyncClient], caller: str
) -> None:
    things = await _create_objects(tenant, f"x{uuid4().hex[:8]}")
    fixed = {"project_id": str(tenant.project_id), "organization": str(tenant.organization_id)}
    schema = (await tenant.public.get("/api/schema/")).json()
    known = [
        Endpoint(method.upper(), path, path.format(**fixed, **things), operation.get("security"))
        for path, item in schema["paths"].items()
        for method, operation in item.items()
        if path.startswith("/api/")
        and _names(path) <= things.keys() | fixed.keys()
        and f"{method.upper()} {path}" not in LEFT_OUT
    ]
    known.sort(key=lambda endpoint: (endpoint.name == SIGN_OUT, endpoint.method == "DELETE"))
    wrong = []

    for endpoint in known:
        client = callers[caller]
        body = BODIES.get(endpoint.name) or ADMINISTRATORS_ONLY.get(endpoint.name, {})
        if body.get("key") == "KEY":
            body = {"key": f"made-{uuid4().hex[:8]}"}
        request = client.build_request(endpoint.method, endpoint.address, json=body)
        answer = await client.send(request, stream=True)
        if not answer.headers.get("content-type", "").startswith("text/event-stream"):
            await answer.aread()
        await answer.aclose()
        refusal = refusal_of(caller, endpoint)
        if refusal is None:
            fits = answer.status_code < 300 or answer.status_code in NEVER
        else:
            fits = (answer.status_code, answer.json()) == refusal
        if not fits:
            wrong.append((endpoint.name, answer.status_code))

    assert wrong == []
    assert len(known) > 80
    callers_without_rights = {
        *("no key", "a stranger", "a stranger's session", "an ended session"),
        *("a viewer", "a viewer's session"),
    }
    if caller in callers_without_rights:
        for name, path in (
            ("flag_id", "feature_flags"),
            ("cohort_id", "cohorts"),
            ("dashboard_id", "dashboards"),
            ("insight_id", "insights"),
            ("webhook_id", "webhooks"),
            ("person_id", "persons"),
            ("definition_id", "event_definitions"),
        ):
            assert str((await tenant.get(f"/{path}/{things[name]}/"))["id"]) == things[name]


def _names(path: str) -> set[str]:
    return set(re.findall(r"{(\w+)}", path))
