"""Clients generated from the API document, which do the same against a real server.

Each generator runs with its default settings. The programs reach below the generated methods
where no document could help:

- A list of members is JSON or CSV. Generators take the first media type of a response, so the
  programs make the request for CSV with the client and read the response themselves.
- A cohort is made of JSON or of a form with a file. openapi-generator takes the first media type of
  a request body, so its programs send the form below the generated method.
- Of the alternatives of filters and of conditions, openapi-generator makes a single type for
  TypeScript, with the words of the last, so this program casts what it sends. Groups of groups in
  the criteria of a cohort cannot be sent with it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.generated.client import CLIENTS, GeneratedClient
from tests.clients.generated.task import (
    BUYERS,
    COLOR,
    OFF,
    PAGED,
    PAYLOAD,
    PRO,
    READERS,
    ROLE,
    Task,
    await_members,
    filters,
    prepare_project,
)
from tests.clients.management import Api, Json, serving
from tests.support import plain_http
from tests.support.server import Keys, RealServer

pytestmark = pytest.mark.long("generates and compiles clients in four languages")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RealServer, Keys]]:
    """Start a server of its own: the project has a known number of events."""
    with serving(tmp_path_factory.mktemp("generated")) as server:
        yield server


@pytest.fixture(scope="module")
def api(server: tuple[RealServer, Keys]) -> Iterator[Api]:
    api = Api(*server)
    yield api
    api.close()


@pytest.fixture(scope="module")
def task(server: tuple[RealServer, Keys], api: Api) -> Task:
    return prepare_project(*server, api)


@pytest.fixture(scope="module")
def document(server: tuple[RealServer, Keys], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = Path(tmp_path_factory.mktemp("document")) / "schema.json"
    path.write_bytes(plain_http.get(f"{server[0].url}/api/schema/").raise_for_status().content)
    return path


@pytest.fixture(scope="module", params=CLIENTS, ids=lambda client: client.name)
def client(request: pytest.FixtureRequest) -> GeneratedClient:
    client: GeneratedClient = request.param
    client.require()
    return client


@pytest.fixture(scope="module")
def seen(
    client: GeneratedClient, document: Path, task: Task, tmp_path_factory: pytest.TempPathFactory
) -> Json:
    return client.run(document, tmp_path_factory.mktemp(client.name), task)


def test_a_flag_is_created_with_filters(seen: Json) -> None:
    assert seen["created"] == filters(50)


def test_a_flag_is_patched_and_another_deleted(
    client: GeneratedClient, seen: Json, api: Api
) -> None:
    flags = api.get("/feature_flags/", search=f"{client.name}-")["results"]

    kept = [(flag["id"], flag["key"], flag["active"], flag["filters"]) for flag in flags]
    assert kept == [(seen["kept"], f"{client.name}-kept", False, filters(100))]
    assert seen["active"] is False
    assert seen["deleted"] != seen["kept"]


def test_a_cohort_is_created_with_criteria(client: GeneratedClient, seen: Json, api: Api) -> None:
    cohort = api.get(f"/cohorts/{seen['criteria_cohort']}/")

    assert (cohort["name"], cohort["is_static"]) == (f"{client.name} payers", False)
    assert cohort["filters"] == {"properties": {"type": "AND", "values": [PRO]}}


def test_a_cohort_is_created_of_a_file(client: GeneratedClient, seen: Json, api: Api) -> None:
    cohort = await_members(api, seen["file_cohort"])

    assert (cohort["name"], cohort["is_static"]) == (f"{client.name} readers", True)


def test_persons_are_read_as_json_and_as_csv(seen: Json) -> None:
    header, *rows = seen["csv"].split("\r\n")

    assert sorted(ids for (ids,) in seen["persons"]) == list(READERS)
    assert header == "created_at,distinct_ids.0,id,name"
    assert sorted(row.split(",")[1] for row in rows if row) == list(READERS)


def test_a_list_is_read_page_by_page(seen: Json) -> None:
    assert seen["pages"] == [
        {"count": len(PAGED), "keys": list(PAGED[:2]), "has_next": True},
        {"count": len(PAGED), "keys": list(PAGED[2:]), "has_next": False},
    ]


def test_a_batch_has_the_distinct_ids_in_the_properties(
    client: GeneratedClient, seen: Json, api: Api
) -> None:
    events = api.events(f"{client.name}-user", 2)

    assert seen["batch"] == 1
    assert {event["event"] for event in events} == {"sent"}
    numbers = {event["properties"]["number"]: event["timestamp"] for event in events}
    assert numbers.keys() == {1, 2}
    assert numbers[1].startswith("2026-01-15T09:00:00")


def test_all_documented_fields_of_a_decision_are_read(seen: Json) -> None:
    decided: dict[str, Any] = seen["decided"]

    flags, payloads = decided.pop("featureFlags"), decided.pop("featureFlagPayloads")
    assert {COLOR: flags[COLOR], OFF: flags[OFF]} == {COLOR: "blue", OFF: False}
    assert payloads[COLOR] == PAYLOAD
    assert {"gzip", "lz64"} <= set(decided.pop("supportedCompression"))
    assert decided == {
        "config": {"enable_collect_everything": True},
        "editorParams": {},
        "errorComputingFlags": False,
        "isAuthenticated": False,
    }


def test_a_trend_and_a_funnel_are_calculated(seen: Json) -> None:
    assert seen["trend"] == [len(READERS)]
    assert seen["funnel"] == [len(READERS), len(BUYERS)]


def test_a_role_is_granted(client: GeneratedClient, seen: Json, api: Api) -> None:
    (access,) = api.get(f"/feature_flags/{seen['kept']}/role_access/")["results"]

    assert (access["role"]["name"], access["feature_flag"]["id"]) == (ROLE, seen["kept"])
    assert seen["access"] == {"role": ROLE, "flag": f"{client.name}-kept"}
