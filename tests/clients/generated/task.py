"""The task that all generated clients do, and the project in which they do it."""

import io
from dataclasses import dataclass
from typing import Any

from tests.clients.management import Api, Json
from tests.support import plain_http
from tests.support.awaited import until
from tests.support.server import Keys, RealServer

READERS = ("reader-1", "reader-2", "reader-3")
BUYERS = READERS[:2]
# The flags that are listed two by two, and those that are decided for a person on the plan `pro`.
PAGED = ("paged-1", "paged-2", "paged-3")
COLOR, OFF = "decided-color", "decided-off"
PAYLOAD = {"hex": "#00f"}
PRO = {"type": "person", "key": "plan", "operator": "exact", "value": "pro"}
ROLE = "Designers"


@dataclass(frozen=True)
class Task:
    """The parts of the task that differ, which the programs read as JSON from the variable TASK.

    Attributes:
        name: The client's name; the names of all that it makes begin with it.
        cohort_id: The cohort of READERS, whose members it reads.
        role_id: The role to which it grants a flag.
    """

    name: str
    host: str
    project_key: str
    personal_key: str
    project_id: str
    cohort_id: int
    role_id: str


def filters(rollout: int) -> Json:
    """Return the filters of the flags that a client makes."""
    return {
        "groups": [{"properties": [PRO], "rollout_percentage": rollout}],
        "multivariate": {"variants": [{"key": "blue", "rollout_percentage": 100}]},
        "payloads": {"blue": PAYLOAD},
    }


def prepare_project(server: RealServer, keys: Keys, api: Api) -> Task:
    """Make the events, flags, cohort and role that the clients read.

    Returns:
        The task of a client without a name.
    """
    _capture(server, keys, api)
    for key in PAGED:
        api.create_flag(key=key, filters={"groups": [{}]})
    api.create_flag(key=OFF, filters={"groups": [{"rollout_percentage": 0}]})
    api.create_flag(key=COLOR, filters=filters(100))
    headers = {"Authorization": f"Bearer {keys.personal_api_key}"}
    with plain_http.Client(base_url=server.url, headers=headers) as http:
        cohort = http.post(
            f"/api/projects/{keys.project_id}/cohorts/",
            data={"name": "Readers", "is_static": "true"},
            files={"csv": ("readers.csv", io.BytesIO("\n".join(READERS).encode()))},
        ).raise_for_status()
        role = http.post("/api/organizations/@current/roles/", json={"name": ROLE})
    cohort_id = int(cohort.json()["id"])
    await_members(api, cohort_id)
    return Task(
        "",
        server.url,
        keys.project_api_key,
        keys.personal_api_key,
        str(keys.project_id),
        cohort_id,
        role.raise_for_status().json()["id"],
    )


def _capture(server: RealServer, keys: Keys, api: Api) -> None:
    viewed = [{"event": "viewed", "distinct_id": reader} for reader in READERS]
    paid = [{"event": "paid", "distinct_id": buyer} for buyer in BUYERS]
    body = {"api_key": keys.project_api_key, "batch": [*viewed, *paid]}
    plain_http.post(f"{server.url}/batch/", json=body).raise_for_status()
    api.await_events(len(BUYERS), event="paid")


def await_members(api: Api, cohort_id: int) -> Json:
    """Return a cohort once all READERS are its members."""
    cohort: dict[str, Any] = {}

    def has_members() -> bool:
        cohort.update(api.get(f"/cohorts/{cohort_id}/"))
        return bool(cohort["count"] == len(READERS))

    until(has_members, f"{cohort} has no {len(READERS)} members", look_s=0.05)
    return cohort
