"""The rights of every kind of member and role at each endpoint of an existing flag.

Source: flags.md section 16.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from fanion.projects.model import Level
from tests.support.application import Json, Tenant, error
from tests.support.management import add_member

ORGANIZATION = "/api/organizations/@current"
NO_EDIT = "You don't have edit permissions for this feature flag."
NO_SHARE = "You can't edit roles for this feature flag."
NO_CHANGES = "Viewers cannot make changes."
LEVELS = {"administrator": Level.ADMIN, "viewer": Level.VIEWER}
LATER = {
    "scheduled_at": "2024-03-02T00:00:00Z",
    "payload": {"operation": "update_status", "value": False},
}
ERRORS = {"kind": "EventsNode", "event": "error"}
GUARDED = {
    "steps": [{"rollout_percentage": 50, "hold_minutes": 60}, {"rollout_percentage": 100}],
    "metrics": [{"kind": "ExperimentMetric", "metric_type": "mean", "source": ERRORS}],
}
FLAG = "/feature_flags/{id}/"
PARENT = "/feature_flags/{parent_lookup_feature_flag_id}/"
BASE = "/api/projects/{project_id}"

# Operation → the right it needs, an accepted body, and the status of success. Every member may
# `read`, users who may edit the flag may `edit`, and users who may give it to roles may `share`.
OPERATIONS: dict[str, tuple[str, Json, int]] = {
    f"GET {FLAG}": ("read", {}, 200),
    f"PATCH {FLAG}": ("edit", {"name": "n"}, 200),
    f"DELETE {FLAG}": ("read", {}, 405),
    f"GET {FLAG}activity/": ("read", {}, 200),
    f"GET {FLAG}usage/": ("read", {}, 200),
    f"POST {FLAG}dashboard/": ("edit", {}, 200),
    f"POST {FLAG}enrich_usage_dashboard/": ("edit", {}, 200),
    f"POST {FLAG}create_static_cohort_for_flag/": ("edit", {}, 201),
    f"GET {FLAG}guarded_release/": ("read", {}, 200),
    f"POST {FLAG}guarded_release/": ("edit", GUARDED, 201),
    f"PATCH {FLAG}guarded_release/": ("edit", {"minimum_exposures": 200}, 200),
    **{
        f"POST {FLAG}guarded_release/{step}/": ("edit", {}, 200)
        for step in ("pause", "resume", "complete", "cancel", "check")
    },
    f"GET {PARENT}role_access/": ("read", {}, 200),
    f"POST {PARENT}role_access/": ("share", {"role_id": "ROLE"}, 201),
    f"GET {PARENT}role_access/{{id}}/": ("read", {}, 200),
    f"DELETE {PARENT}role_access/{{id}}/": ("share", {}, 204),
    f"GET {PARENT}scheduled_changes/": ("read", {}, 200),
    f"POST {PARENT}scheduled_changes/": ("edit", LATER, 201),
    f"GET {PARENT}scheduled_changes/{{id}}/": ("read", {}, 200),
    f"DELETE {PARENT}scheduled_changes/{{id}}/": ("edit", {}, 204),
    "GET /feature_flags/": ("read", {}, 200),
    "POST /feature_flags/": ("read", {"key": "KEY"}, 201),  # every member creates flags
    "GET /feature_flags/activity/": ("read", {}, 200),
    "GET /feature_flags/overview/": ("read", {}, 200),
    "GET /feature_flags/my_flags/": ("read", {}, 200),
    "GET /feature_flags/local_evaluation/": ("read", {}, 200),
    "GET /feature_flags/evaluation_reasons/": ("read", {}, 200),  # evaluated for the caller
    "POST /feature_flags/user_blast_radius/": ("read", {"condition": None}, 200),
    "POST /feature_flags/evaluation_reasons/": ("read", {"key": "unsaved"}, 200),
    "POST /feature_flags/reach/": ("read", {}, 200),
    "POST /feature_flags/preview_change/": ("read", {"key": "unsaved"}, 200),
}
# These use POST because of long parameters; they change nothing.
QUESTIONS = {
    f"POST /feature_flags/{name}/"
    for name in ("user_blast_radius", "evaluation_reasons", "reach", "preview_change")
}
# Operations that other tests cover.
ELSEWHERE = {
    "GET /feature_flags/stream/",
    "GET /feature_flags/changes/stream/",
    "GET /feature_flags/{key}/remote_config/",
}

# What the organization allows all members → who may edit, and who may share, the test's flag.
EDITORS: dict[int | None, tuple[set[str], set[str]]] = {
    None: ({"*"}, {"*"}),
    37: ({"*"}, {"*"}),
    21: (
        {"owner", "administrator", "maker", "role that edits", "role that was given the flag"},
        {"owner", "administrator", "maker", "role that edits"},
    ),
}


@dataclass(frozen=True)
class Scene:
    """A flag, and one client for each kind of caller.

    Attributes:
        flag_id: A flag created by `maker`.
        given_role: The id of the role that may edit the flag.
    """

    tenant: Tenant
    persons: Mapping[str, httpx.AsyncClient]
    flag_id: int
    given_role: str

    async def owner(self, method: str, path: str, **body: Any) -> Json:
        async with self.tenant.server.client(self.tenant.key) as client:
            answer = await client.request(method, path, json=body)
            assert answer.status_code < 300, answer.text
            made: Json = answer.json()
            return made


@pytest.fixture
async def scene(tenant: Tenant) -> AsyncIterator[Scene]:
    records, unique = tenant.server.records, f"{tenant.project_id:x}"
    async with AsyncExitStack() as stack:
        persons: dict[str, httpx.AsyncClient] = {"owner": tenant.api}
        users: dict[str, str] = {}
        for name in (
            "administrator",
            "maker",
            "role that edits",
            "role that was given the flag",
            "role that views",
            "no role",
            "viewer",
        ):
            level = LEVELS.get(name, Level.MEMBER)
            slug = name.replace(" ", "-")
            person = await add_member(records, f"{slug}-{unique}", level, tenant.organization_id)
            client = tenant.server.client(person.key, f"/api/projects/{tenant.project_id}")
            persons[name] = await stack.enter_async_context(client)
            me = await client.get("http://fanion.test/api/users/@me/")
            users[name] = me.json()["uuid"]
        made = (await persons["maker"].post("/feature_flags/", json={"key": "beta"})).json()
        scene = Scene(tenant, persons, made["id"], "")
        given = await _roles(scene, users)
        yield Scene(tenant, persons, made["id"], given)


async def _roles(scene: Scene, users: Mapping[str, str]) -> str:
    """Create a role for each name and return the id of the role that was given the flag."""
    ids = {}
    for name, level in (
        ("role that edits", 37),
        ("role that was given the flag", 21),
        ("role that views", 21),
    ):
        role = await scene.owner(
            "POST", f"{ORGANIZATION}/roles/", name=name, feature_flags_access_level=level
        )
        ids[name] = str(role["id"])
        path = f"{ORGANIZATION}/roles/{role['id']}/role_memberships/"
        await scene.owner("POST", path, user_uuid=users[name])
        await scene.owner("POST", path, user_uuid=users["viewer"])  # to no effect
    given = ids["role that was given the flag"]
    path = f"/api/projects/{scene.tenant.project_id}/feature_flags/{scene.flag_id}/role_access/"
    await scene.owner("POST", path, role_id=given)
    return given


async def _asked(scene: Scene, caller: str, operation: str, number: int) -> httpx.Response:
    """Perform an operation with its own role, access and scheduled change."""
    api = f"/api/projects/{scene.tenant.project_id}/feature_flags/{scene.flag_id}/"
    body = dict(OPERATIONS[operation][1])
    values: dict[str, Any] = {
        "id": scene.flag_id,
        "parent_lookup_feature_flag_id": scene.flag_id,
    }
    if "role_access" in operation:
        role = await scene.owner("POST", f"{ORGANIZATION}/roles/", name=f"role {number}")
        if "role_id" in body:
            body["role_id"] = role["id"]
        else:
            access = await scene.owner("POST", f"{api}role_access/", role_id=role["id"])
            values["id"] = access["id"]
    if "scheduled_changes/{id}" in operation:
        change = await scene.owner("POST", f"{api}scheduled_changes/", **LATER)
        values["id"] = change["id"]
    if "guarded_release" in operation:
        await _release(scene, f"{api}guarded_release/", operation)
    if body.get("key") == "KEY":
        body["key"] = f"flag-{number}"
    method, path = operation.split(" ", 1)
    return await scene.persons[caller].request(method, path.format(**values), json=body)


async def _release(scene: Scene, path: str, operation: str) -> None:
    """End the guarded release of the flag and, unless one is to be started, start another."""
    async with scene.tenant.server.client(scene.tenant.key) as client:
        former = (await client.get(path)).json()
    if former.get("state") in {"running", "holding", "paused"}:
        await scene.owner("POST", f"{path}cancel/")
    flag = path.removesuffix("guarded_release/")
    await scene.owner("PATCH", flag, filters={"groups": [{"rollout_percentage": 0}]})
    if operation != f"POST {FLAG}guarded_release/":
        await scene.owner("POST", path, **GUARDED)
    if "resume" in operation:
        await scene.owner("POST", f"{path}pause/")


def refusal_of(caller: str, operation: str) -> Json | None:
    """Return the error for what a viewer may not do, whatever the roles and the setting."""
    if caller != "viewer" or operation.startswith("GET ") or operation in QUESTIONS:
        return None
    return error("authentication_error", "permission_denied", NO_CHANGES)


EVERYBODY = pytest.mark.long("asks each operation of each person again: all may edit, as without")


# It takes seconds: each person asks for each operation.
@pytest.mark.parametrize("setting", [None, pytest.param(37, marks=EVERYBODY), 21])
async def test_members_and_roles_do_what_they_may_with_a_flag(
    scene: Scene, setting: int | None
) -> None:
    if setting is not None:
        path = f"{ORGANIZATION}/resource_access/"
        await scene.owner("POST", path, resource="feature flags", access_level=setting)
    editors, sharers = EDITORS[setting]
    allowed = {"read": {"*"}, "edit": editors, "share": sharers}
    wrong, number = [], 0

    for operation, (right, _, status) in OPERATIONS.items():
        for caller in scene.persons:
            number += 1
            answer = await _asked(scene, caller, operation, number)
            refused = refusal_of(caller, operation)
            if refused is not None:
                fits = (answer.status_code, answer.json()) == (403, refused)
            elif allowed[right] & {"*", caller}:
                fits = answer.status_code == status
            else:
                detail = NO_EDIT if right == "edit" else NO_SHARE
                refusal = error("authentication_error", "permission_denied", detail)
                fits = (answer.status_code, answer.json()) == (403, refusal)
            if not fits:
                wrong.append((caller, operation, answer.status_code, answer.text))
    assert wrong == []
    for caller, client in scene.persons.items():
        flag = (await client.get(f"/feature_flags/{scene.flag_id}/")).json()
        edits = caller != "viewer" and bool(editors & {"*", caller})
        assert flag["can_edit"] is edits, caller


async def test_no_endpoint_of_flags_is_left_out(tenant: Tenant) -> None:
    schema = (await tenant.public.get("/api/schema/")).json()
    known = {
        f"{method.upper()} {path.removeprefix(BASE)}"
        for path, item in schema["paths"].items()
        if path.startswith(f"{BASE}/feature_flags/")
        for method in item
    }

    assert known - ELSEWHERE == OPERATIONS.keys()


# ── The audience of a flag, changed through its cohorts ──────────────────────────────────


def of_person(value: str) -> Json:
    return {"key": "plan", "type": "person", "operator": "exact", "value": value}


def criteria(*leaves: Json) -> Json:
    return {"properties": {"type": "AND", "values": [{"type": "AND", "values": [*leaves]}]}}


def in_cohort(cohort_id: int) -> Json:
    return {"key": "id", "type": "cohort", "value": cohort_id}


FILE = {"csv": ("members.csv", b"distinct_id\nsomebody\n", "text/csv")}
# Changes of a cohort. Those in `FREE` leave its members unchanged.
AUDIENCE: dict[str, dict[str, Any]] = {
    "other criteria": {"json": {"filters": criteria(of_person("free"))}},
    "criteria of the older form": {
        "json": {"filters": None, "groups": [{"properties": {"plan": "free"}}]}
    },
    "static": {"json": {"is_static": True}},
    "deleted": {"json": {"deleted": True}},
    "members": {"files": FILE, "data": {"is_static": "true"}},
}
FREE: dict[str, dict[str, Any]] = {
    "another name": {"json": {"name": "renamed", "description": "d"}},
    "the same criteria": {"json": {"filters": criteria(of_person("pro")), "deleted": False}},
    "calculate again": {"json": {}},
}


@dataclass(frozen=True)
class Audience:
    """Cohorts that the scene's flag uses directly, through another cohort, and not at all.

    Attributes:
        ids: The ids of the cohorts by name.
    """

    scene: Scene
    ids: Mapping[str, int]

    async def change(self, caller: str, cohort: str, sent: Mapping[str, Any]) -> httpx.Response:
        path = f"/cohorts/{self.ids[cohort]}/"
        return await self.scene.persons[caller].patch(path, **sent)

    async def stored(self, cohort: str) -> Json:
        reported = await self.scene.tenant.get(f"/cohorts/{self.ids[cohort]}/")
        remaining = ("name", "filters", "groups", "is_static", "deleted")
        return {name: reported[name] for name in remaining}


@pytest.fixture
async def audience(scene: Scene) -> Audience:
    project = f"/api/projects/{scene.tenant.project_id}"

    async def made(name: str, *leaves: Json) -> int:
        cohort = await scene.owner(
            "POST", f"{project}/cohorts/", name=name, filters=criteria(*leaves)
        )
        return int(cohort["id"])

    inner = await made("inner", of_person("pro"))
    ids = {
        "used": await made("used", of_person("pro")),
        "inner": inner,
        "outer": await made("outer", in_cohort(inner)),
        "unused": await made("unused", of_person("pro")),
    }
    groups = [{"properties": [in_cohort(ids["used"])]}, {"properties": [in_cohort(ids["outer"])]}]
    path = f"{project}/feature_flags/{scene.flag_id}/"
    await scene.owner("PATCH", path, filters={"groups": groups})
    setting = f"{ORGANIZATION}/resource_access/"
    await scene.owner("POST", setting, resource="feature flags", access_level=21)
    return Audience(scene, ids)


NO_AUDIENCE = error(
    "authentication_error",
    "permission_denied",
    "You don't have edit permissions for feature flags that use this cohort: beta.",
)


@pytest.mark.parametrize("cohort", ["used", "inner"])
async def test_who_may_not_edit_a_flag_may_not_change_whom_its_cohorts_hold(
    audience: Audience, cohort: str
) -> None:
    before = await audience.stored(cohort)
    for caller in ("role that views", "no role"):
        for name, sent in AUDIENCE.items():
            answer = await audience.change(caller, cohort, sent)

            assert (answer.status_code, answer.json()) == (403, NO_AUDIENCE), (caller, name)
    assert await audience.stored(cohort) == before


@pytest.mark.parametrize("caller", sorted(EDITORS[21][0]))
async def test_who_may_edit_the_flag_may_change_its_cohorts(
    audience: Audience, caller: str
) -> None:
    for cohort in ("used", "inner"):
        for name, sent in AUDIENCE.items():
            answer = await audience.change(caller, cohort, sent)

            # An active flag uses the cohort, so it cannot be deleted.
            expected_status = 400 if name == "deleted" else 200
            assert answer.status_code == expected_status, (cohort, name, answer.text)


async def test_every_member_changes_what_leaves_the_cohort_alone_and_what_no_flag_uses(
    audience: Audience,
) -> None:
    for caller in audience.scene.persons.keys() - {"viewer"}:
        for name, sent in FREE.items():
            answer = await audience.change(caller, "used", sent)
            assert answer.status_code == 200, (caller, name, answer.text)
        for name, sent in AUDIENCE.items():
            answer = await audience.change(caller, "unused", sent)
            assert answer.status_code == 200, (caller, name, answer.text)
        await audience.change(caller, "unused", {"json": {"deleted": False, "is_static": False}})


async def test_a_deleted_cohort_is_restored_by_who_may_edit_its_flags(audience: Audience) -> None:
    await audience.scene.tenant.store_cohort({"id": audience.ids["used"]}, deleted=True)

    refused = await audience.change("no role", "used", {"json": {"deleted": False}})
    allowed = await audience.change("maker", "used", {"json": {"deleted": False}})

    assert (refused.status_code, refused.json()) == (403, NO_AUDIENCE)
    assert allowed.status_code == 200


async def test_flags_that_are_deleted_or_use_it_no_more_protect_no_cohort(
    audience: Audience,
) -> None:
    tenant = audience.scene.tenant
    sent = {"json": {"filters": criteria(of_person("free"))}}

    await tenant.api.patch(f"/feature_flags/{audience.scene.flag_id}/", json={"deleted": True})
    deleted = await audience.change("no role", "used", sent)
    await tenant.api.patch(f"/feature_flags/{audience.scene.flag_id}/", json={"deleted": False})
    again = await audience.change("no role", "used", {"json": {"is_static": True}})
    await tenant.api.patch(
        f"/feature_flags/{audience.scene.flag_id}/", json={"filters": {"groups": [{}]}}
    )
    unused = await audience.change("no role", "used", {"json": {"is_static": True}})

    assert [response.status_code for response in (deleted, again, unused)] == [200, 403, 200]
