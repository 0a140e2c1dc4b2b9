"""A project with everything that a document holds, made through the management API."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx

Json = dict[str, Any]
Sleeper = Callable[[], Awaitable[None]]

MEMBERS = ("ann", "bob")
NEVER_PAID: Json = {
    "threshold": 5,
    "threshold_type": "insight",
    "operator": "lt",
    "threshold_metric": {"insight": "trends", "events": [{"id": "paid"}]},
}
PERSONS: list[Json] = [
    {
        "event": "seen",
        "distinct_id": name,
        "timestamp": "2024-02-01T00:00:00Z",
        "properties": {"amount": 3, "$groups": {"team": "red", "company": "acme"}},
        "$set": {"email": f"{name}@corp.example"},
    }
    for name in (*MEMBERS, "cid")
]


@dataclass(frozen=True)
class ProjectApi:
    """A project on a server, as an administrator reaches it.

    Attributes:
        address: The server's.
    """

    client: httpx.AsyncClient
    address: str
    project_id: int

    async def post(self, path: str, **sent: Any) -> Json:
        return _object(await self.client.post(self.project(path), json=sent))

    async def patch(self, path: str, **sent: Any) -> Json:
        return _object(await self.client.patch(self.project(path), json=sent))

    async def get(self, path: str, **query: Any) -> Any:
        return _made(await self.client.get(self.project(path), params=query))

    async def role(self, name: str, level: int, *user_uuids: str) -> Json:
        roles = f"{self.address}/api/organizations/@current/roles/"
        sent = {"name": name, "feature_flags_access_level": level}
        role = _object(await self.client.post(roles, json=sent))
        for uuid in user_uuids:
            memberships = f"{roles}{role['id']}/role_memberships/"
            _object(await self.client.post(memberships, json={"user_uuid": uuid}))
        return role

    async def static_cohort(self, name: str, *distinct_ids: str) -> Json:
        """Create a static cohort from a file; its members are there once it was imported."""
        answer = await self.client.post(
            self.project("/cohorts/"),
            data={"name": name, "is_static": "true"},
            files={"csv": ("members.csv", "\n".join(distinct_ids), "text/csv")},
        )
        return _object(answer)

    def project(self, path: str) -> str:
        return f"{self.address}/api/projects/{self.project_id}{path}"


def _made(answer: httpx.Response) -> Any:
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


def _object(answer: httpx.Response) -> Json:
    created: Json = _made(answer)
    return created


def in_cohort(cohort_id: int | str) -> Json:
    return {"type": "cohort", "key": "id", "value": cohort_id}


def all_of(*leaves: Json) -> Json:
    return {"properties": {"type": "AND", "values": list(leaves)}}


async def make_rich_project(project_api: ProjectApi, member_uuid: str, calculated: Sleeper) -> None:
    """Create everything; PERSONS must have been captured before.

    Args:
        member_uuid: The user to be put into a role.
        calculated: Waits until the members of cohorts are there.
    """
    friends = await project_api.static_cohort("friends", *MEMBERS)
    paying = await project_api.post(
        "/cohorts/",
        name="paying",
        description="They pay.",
        filters=all_of({"type": "person", "key": "plan", "value": ["pro"], "operator": "exact"}),
    )
    await project_api.post("/cohorts/", name="paying", filters=all_of(in_cohort(str(paying["id"]))))
    gone = await project_api.post("/cohorts/", name="gone", filters=all_of(in_cohort(paying["id"])))
    old = {"properties": [{"key": "plan", "value": "old", "type": "person"}]}
    await project_api.post("/cohorts/", groups=[old])
    await calculated()
    staff = {"type": "person", "key": "email", "operator": "not_icontains", "value": "@our.org"}
    await project_api.patch(
        "/", test_account_filters=[staff, {**in_cohort(friends["id"]), "operator": "not_in"}]
    )
    insight = await project_api.post(
        "/insights/",
        name="Seen",
        filters={
            "insight": "TRENDS",
            "events": [{"id": "seen", "type": "events"}],
            "properties": [in_cohort(paying["id"])],
        },
        tags=["Weekly"],
        saved=True,
    )
    board = await project_api.post("/dashboards/", name="Overview", filters={"date_from": "-7d"})
    await project_api.patch(f"/insights/{insight['id']}/", dashboards=[board["id"]])
    text = {"text": {"body": "# Seen\n\nBy **day**."}, "layouts": {"sm": {"x": 6, "y": 0}}}
    await project_api.patch(f"/dashboards/{board['id']}/", tiles=[text])
    base = await project_api.post("/feature_flags/", key="base", name="A base", tags=["One", "two"])
    flag = await project_api.post(
        "/feature_flags/",
        key="beta",
        active=False,
        filters={
            "groups": [
                {
                    "properties": [
                        in_cohort(friends["id"]),
                        in_cohort(gone["id"]),
                        {
                            "type": "flag",
                            "key": str(base["id"]),
                            "operator": "flag_evaluates_to",
                            "value": True,
                        },
                    ],
                    "rollout_percentage": 50,
                    "variant": "a",
                }
            ],
            "multivariate": {"variants": [{"key": "a", "rollout_percentage": 100}]},
            "payloads": {"a": {"type": "cohort", "value": 1}},
        },
        ensure_experience_continuity=True,
        rollback_conditions=[NEVER_PAID],
        analytics_dashboards=[board["id"]],
        created_at="2024-01-01T00:00:00Z",
    )
    await project_api.post(
        "/feature_flags/",
        key="companies",
        filters={
            "aggregation_group_type_index": 1,
            "groups": [
                {
                    "properties": [
                        {
                            "type": "group",
                            "key": "size",
                            "value": "10",
                            "operator": "gt",
                            "group_type_index": 1,
                        }
                    ]
                }
            ],
        },
    )
    role = await project_api.role("Engineering", 21, member_uuid)
    await project_api.post(f"/feature_flags/{flag['id']}/role_access/", role_id=role["id"])
    await project_api.patch(f"/cohorts/{gone['id']}/", deleted=True)
    [definition] = (await project_api.get("/event_definitions/", search="seen"))["results"]
    await project_api.patch(f"/event_definitions/{definition['id']}/", tags=["Core"])
    await project_api.patch(f"/event_definitions/{definition['id']}/marks/", verified=True)
    [amount] = (await project_api.get("/property_definitions/", search="amount"))["results"]
    await project_api.patch(
        f"/property_definitions/{amount['id']}/", description="In euros", tags=["Money"]
    )
