"""Every kind of member and role at every endpoint of flags that are there.

source: flags.md section 16
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from fanion.projects.model import Level
from tests.application import Home, Json, error
from tests.management import add_member

ORGANIZATION = "/api/organizations/@current"
NO_EDIT = "You don't have edit permissions for this feature flag."
NO_SHARE = "You can't edit roles for this feature flag."
LATER = {
    "scheduled_at": "2024-03-02T00:00:00Z",
    "payload": {"operation": "update_status", "value": False},
}
FLAG = "/feature_flags/{flag_id}/"
BASE = "/api/projects/{project_id}"

# Who may do it: `read` everybody, `edit` who may edit the flag, `share` who may give it to roles.
# With a body that is accepted, and the status of success.
OPERATIONS: dict[str, tuple[str, Json, int]] = {
    f"GET {FLAG}": ("read", {}, 200),
    f"PATCH {FLAG}": ("edit", {"name": "n"}, 200),
    f"DELETE {FLAG}": ("read", {}, 405),
    f"GET {FLAG}activity/": ("read", {}, 200),
    f"GET {FLAG}usage/": ("read", {}, 200),
    f"POST {FLAG}dashboard/": ("edit", {}, 200),
    f"POST {FLAG}enrich_usage_dashboard/": ("edit", {}, 400),  # nothing to show
    f"POST {FLAG}create_static_cohort_for_flag/": ("edit", {}, 201),
    f"GET {FLAG}role_access/": ("read", {}, 200),
    f"POST {FLAG}role_access/": ("share", {"role_id": "ROLE"}, 201),
    f"GET {FLAG}role_access/{{access_id}}/": ("read", {}, 200),
    f"DELETE {FLAG}role_access/{{access_id}}/": ("share", {}, 204),
    f"GET {FLAG}scheduled_changes/": ("read", {}, 200),
    f"POST {FLAG}scheduled_changes/": ("edit", LATER, 201),
    f"GET {FLAG}scheduled_changes/{{change_id}}/": ("read", {}, 200),
    f"DELETE {FLAG}scheduled_changes/{{change_id}}/": ("edit", {}, 204),
    "GET /feature_flags/": ("read", {}, 200),
    "POST /feature_flags/": ("read", {"key": "KEY"}, 201),  # everybody makes flags
    "GET /feature_flags/activity/": ("read", {}, 200),
    "GET /feature_flags/my_flags/": ("read", {}, 200),
    "GET /feature_flags/local_evaluation/": ("read", {}, 200),
    "GET /feature_flags/evaluation_reasons/": ("read", {}, 400),  # of nobody
    "POST /feature_flags/user_blast_radius/": ("read", {"condition": None}, 200),
}
# Streams and the like, which other tests look after.
ELSEWHERE = {"GET /feature_flags/stream/", "GET /feature_flags/{key}/remote_config/"}

# What the organization allows everybody → who may edit and share the flag of the test.
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
    """flag_id: made by `maker`; role_id: of a role that the flag is given to; ids: of what hangs
    on the flag, made anew for each caller"""

    home: Home
    people: Mapping[str, httpx.AsyncClient]
    flag_id: int
    given_role: str

    async def owner(self, method: str, path: str, **body: Any) -> Json:
        async with self.home.site.client(self.home.key) as client:
            answer = await client.request(method, path, json=body)
            assert answer.status_code < 300, answer.text
            made: Json = answer.json()
            return made


@pytest.fixture
async def scene(home: Home) -> AsyncIterator[Scene]:
    records, unique = home.site.records, f"{home.project_id:x}"
    async with AsyncExitStack() as stack:
        people: dict[str, httpx.AsyncClient] = {"owner": home.api}
        users: dict[str, str] = {}
        for name in (
            "administrator",
            "maker",
            "role that edits",
            "role that was given the flag",
            "role that views",
            "no role",
        ):
            level = Level.ADMIN if name == "administrator" else Level.MEMBER
            slug = name.replace(" ", "-")
            person = await add_member(records, f"{slug}-{unique}", level, home.organization_id)
            client = home.site.client(person.key, f"/api/projects/{home.project_id}")
            people[name] = await stack.enter_async_context(client)
            me = await client.get("http://fanion.test/api/users/@me/")
            users[name] = me.json()["uuid"]
        made = (await people["maker"].post("/feature_flags/", json={"key": "beta"})).json()
        scene = Scene(home, people, made["id"], "")
        given = await _roles(scene, users)
        yield Scene(home, people, made["id"], given)


async def _roles(scene: Scene, users: Mapping[str, str]) -> str:
    """One for each name; returns the id of that which the flag was given to."""
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
        place = f"{ORGANIZATION}/roles/{role['id']}/role_memberships/"
        await scene.owner("POST", place, user_uuid=users[name])
    given = ids["role that was given the flag"]
    place = f"/api/projects/{scene.home.project_id}/feature_flags/{scene.flag_id}/role_access/"
    await scene.owner("POST", place, role_id=given)
    return given


async def _asked(scene: Scene, caller: str, operation: str, number: int) -> httpx.Response:
    """With a role, an access and a scheduled change of its own."""
    api = f"/api/projects/{scene.home.project_id}/feature_flags/{scene.flag_id}/"
    body = dict(OPERATIONS[operation][1])
    values: dict[str, Any] = {"flag_id": scene.flag_id}
    if "role_access" in operation:
        role = await scene.owner("POST", f"{ORGANIZATION}/roles/", name=f"role {number}")
        if "role_id" in body:
            body["role_id"] = role["id"]
        else:
            access = await scene.owner("POST", f"{api}role_access/", role_id=role["id"])
            values["access_id"] = access["id"]
    if "{change_id}" in operation:
        change = await scene.owner("POST", f"{api}scheduled_changes/", **LATER)
        values["change_id"] = change["id"]
    if body.get("key") == "KEY":
        body["key"] = f"flag-{number}"
    method, path = operation.split(" ", 1)
    return await scene.people[caller].request(method, path.format(**values), json=body)


@pytest.mark.parametrize("setting", EDITORS)
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
        for caller in scene.people:
            number += 1
            answer = await _asked(scene, caller, operation, number)
            if allowed[right] & {"*", caller}:
                fits = answer.status_code == status
            else:
                detail = NO_EDIT if right == "edit" else NO_SHARE
                refusal = error("authentication_error", "permission_denied", detail)
                fits = (answer.status_code, answer.json()) == (403, refusal)
            if not fits:
                wrong.append((caller, operation, answer.status_code, answer.text))
    assert wrong == []
    for caller, client in scene.people.items():
        flag = (await client.get(f"/feature_flags/{scene.flag_id}/")).json()
        assert flag["can_edit"] is bool(editors & {"*", caller}), caller


async def test_no_endpoint_of_flags_is_left_out(home: Home) -> None:
    schema = (await home.public.get("/api/schema/")).json()
    known = {
        f"{method.upper()} {path.removeprefix(BASE)}"
        for path, item in schema["paths"].items()
        if path.startswith(f"{BASE}/feature_flags/")
        for method in item
    }

    assert known - ELSEWHERE == OPERATIONS.keys()
