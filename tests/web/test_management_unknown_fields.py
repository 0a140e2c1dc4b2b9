"""Every operation of the management API rejects unknown names in bodies and queries.

The operations are those of the OpenAPI document, so that a new one is included.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.support.application import Json, Tenant

UNKNOWN = "zzz_no_such_name"
# The paths of management. All other paths are for SDKs, and ignore unknown names.
MANAGED = ("/api/projects/", "/api/organizations/", "/api/personal_api_keys/", "/api/users/")
_OF_SDKS = "SDKs of any age ask for it, and may send more than it takes."
TOLERANT: Mapping[str, str] = {
    "GET /api/projects/{project_id}/feature_flags/local_evaluation/": _OF_SDKS,
    "GET /api/projects/{project_id}/feature_flags/stream/": _OF_SDKS,
    "GET /api/projects/{project_id}/feature_flags/{key}/remote_config/": _OF_SDKS,
}
# Operations whose body is a list of objects.
LISTS = {"POST /api/organizations/{organization}/invites/bulk/"}
PLACES = {"{project_id}": "@current", "{organization}": "@current"}
_METHODS = ("GET", "POST", "PATCH", "PUT", "DELETE")


@dataclass(frozen=True)
class Operation:
    """An operation of the document.

    Attributes:
        address: Below the host, with values for its parameters.
        parameters: The parameters of the query.
        of_session: Whether a key is refused.
    """

    name: str
    method: str
    address: str
    parameters: frozenset[str]
    of_session: bool


def operations(schema: Json) -> Iterator[Operation]:
    for path, item in schema["paths"].items():
        for method, operation in item.items():
            name = f"{method.upper()} {path}"
            if method.upper() in _METHODS and path.startswith(MANAGED) and name not in TOLERANT:
                parameters = operation.get("parameters", ())
                queried = frozenset(
                    parameter["name"] for parameter in parameters if parameter["in"] == "query"
                )
                of_session = operation.get("security") == [{"session": []}]
                yield Operation(name, method.upper(), address(path), queried, of_session)


def address(path: str) -> str:
    for name, value in PLACES.items():
        path = path.replace(name, value)
    return re.sub(r"\{[^}]*\}", "1", path)


@pytest.fixture
async def managed(tenant: Tenant) -> list[Operation]:
    schema = (await tenant.public.get("/api/schema/")).json()
    managed_operations = list(operations(schema))
    assert len(managed_operations) > 100
    return managed_operations


async def send_request(tenant: Tenant, operation: Operation, **request: Any) -> Any:
    method, path = operation.method, operation.address
    if operation.of_session:
        async with await tenant.server.browser(tenant.user_id) as browser:
            return await browser.request(method, path, **request)
    headers = {"authorization": tenant.api.headers["authorization"]}
    built = tenant.public.build_request(method, path, headers=headers, **request)
    answer = await tenant.public.send(built, stream=True)
    if answer.headers.get("content-type", "").startswith("text/event-stream"):
        await answer.aclose()  # it never ends
        return httpx.Response(answer.status_code)
    await answer.aread()
    return answer


async def test_every_exception_is_an_operation(tenant: Tenant) -> None:
    schema = (await tenant.public.get("/api/schema/")).json()
    known = {f"{m.upper()} {path}" for path, item in schema["paths"].items() for m in item}

    assert TOLERANT.keys() <= known


async def test_every_operation_rejects_an_unknown_query_parameter(
    tenant: Tenant, managed: list[Operation]
) -> None:
    ignored = []
    for operation in managed:
        answer = await send_request(tenant, operation, params={UNKNOWN: "1"})
        refused = answer.json() if answer.status_code == 400 else {}
        reported = (refused.get("type"), refused.get("attr"))
        if reported != ("validation_error", UNKNOWN) or UNKNOWN not in refused["detail"]:
            ignored.append((operation.name, answer.status_code, answer.text[:200]))

    assert ignored == [], "\n".join(map(str, ignored))


async def test_every_operation_rejects_an_unknown_name_in_its_body(
    tenant: Tenant, managed: list[Operation]
) -> None:
    ignored = []
    for operation in managed:
        if operation.method == "GET":
            continue
        is_list = operation.name in LISTS
        answer = await send_request(
            tenant, operation, json=[{UNKNOWN: 1}] if is_list else {UNKNOWN: 1}
        )
        refused = answer.json() if answer.status_code == 400 else {}
        reported = (refused.get("type"), refused.get("attr"))
        name = f"0__{UNKNOWN}" if is_list else UNKNOWN
        if reported != ("validation_error", name) or UNKNOWN not in refused["detail"]:
            ignored.append((operation.name, answer.status_code, answer.text[:200]))

    assert ignored == [], "\n".join(map(str, ignored))


async def test_every_operation_accepts_its_own_query_parameters_and_those_of_clients(
    tenant: Tenant, managed: list[Operation]
) -> None:
    """The documented parameters are the accepted ones."""
    everywhere = {"token": tenant.token, "api_key": tenant.token, "format": "json", "_": "17"}
    refused = []
    for operation in managed:
        if operation.method != "GET":
            continue
        own = dict.fromkeys(operation.parameters - everywhere.keys(), "1")
        for query in (everywhere, own):
            answer = await send_request(tenant, operation, params=query)
            if "Unknown query parameter" in answer.text:
                refused.append((operation.name, answer.text))

    assert refused == []


async def test_an_unsupported_format_is_rejected(tenant: Tenant) -> None:
    answer = await tenant.api.get("/insights/?format=csv")

    assert (answer.status_code, answer.json()["attr"]) == (400, "format")
    assert answer.json()["detail"] == '"csv" is not a valid choice. Allowed are: json.'


PAGING = {
    "/events/?offset=100": "offset",
    "/feature_flags/?page=2": "page",
    "/insights/?page_size=5": "page_size",
    "/activity_log/?offset=10": "offset",
    "/api/users/@me/?limit=1": "limit",
}


@pytest.mark.parametrize("path", PAGING)
async def test_paging_parameters_of_another_list_are_rejected(tenant: Tenant, path: str) -> None:
    """Otherwise a client would read the same page again and again."""
    client = tenant.public if path.startswith("/api/") else tenant.api
    key = tenant.api.headers["authorization"]

    answer = await client.get(path, headers={"authorization": key})

    assert (answer.status_code, answer.json()["attr"]) == (400, PAGING[path]), answer.text


async def test_an_operation_without_a_body_accepts_an_empty_one_and_a_key(tenant: Tenant) -> None:
    key = str(tenant.api.headers["authorization"]).removeprefix("Bearer ")
    path = f"/api/projects/{tenant.project_id}/ingestion/dead_letters/retry/"

    for body in (b"", b"{}", b"null", b'{"personal_api_key": "' + key.encode() + b'"}'):
        answer = await tenant.api.post(
            "/ingestion/dead_letters/retry/",
            content=body,
            headers={"content-type": "application/json"},
        )
        assert answer.status_code == 202, answer.text
    unread = await tenant.public.post(path, json={"personal_api_key": key, "ids": [1]})
    listed = await tenant.api.post("/ingestion/dead_letters/retry/", json=[1])

    assert (unread.status_code, unread.json()["attr"]) == (400, "ids")
    assert unread.json()["detail"] == 'Unknown field "ids". None are allowed here.'
    assert (listed.status_code, listed.json()["attr"]) == (400, None)
