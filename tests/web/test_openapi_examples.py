"""The examples of /api/schema/ and /api/docs/ each return the documented response."""

import re
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from html import unescape
from typing import Any

import httpx
import pytest
from jsonschema_rs import Draft202012Validator

from fanion.web.openapi.capture_operations import CAPTURE_OPERATIONS
from fanion.web.openapi.docs_page import example_of
from fanion.web.openapi.document import PERSONAL_KEY, PROJECT_KEY
from fanion.web.openapi.flag_operations import EXAMPLE_FLAG, FLAG_OPERATIONS
from tests.support.application import BASE_URL, Json, Tenant
from tests.support.documented import holds
from tests.support.published_paths import fill_path

OPERATIONS = {**CAPTURE_OPERATIONS, **FLAG_OPERATIONS}
POSTED_PATHS = [path for path, item in OPERATIONS.items() if "post" in item]
# A time before those of the scheduled changes in examples.
NOW = datetime(2029, 1, 1, 12, tzinfo=UTC)
_COMMAND = re.compile(r'<pre class="request">(.*?)</pre>', re.DOTALL)
# Fields that differ between responses.
_MOVING = {"id", "requestId", "evaluatedAt"}


@pytest.fixture
async def document(tenant: Tenant) -> Json:
    schema: Json = (await tenant.public.get("/api/schema/")).json()
    return schema


@pytest.fixture
async def page(tenant: Tenant) -> str:
    return (await tenant.public.get("/api/docs/")).text


async def objects(tenant: Tenant) -> dict[str, str]:
    """Create objects for the parameters of paths, and return their ids by their places in paths."""
    tenant.server.clock.time = NOW
    flag = await tenant.create_flag(**EXAMPLE_FLAG)
    dynamic = {"name": "Any", "filters": {"properties": {}}}
    cohort = (await tenant.api.post("/cohorts/", json=dynamic)).json()
    insight = (await tenant.api.post("/insights/", json={"name": "Any"})).json()
    return {
        "projects": str(tenant.project_id),
        "id": str(flag["id"]),
        "parent_lookup_feature_flag_id": str(flag["id"]),
        "cohorts": str(cohort["id"]),
        "insights": str(insight["id"]),
        "key": "new-checkout",
    }


def examples(document: Json) -> Iterator[tuple[str, str, Json, Any]]:
    """Yield path, method, operation and body of each example of a request."""
    schemas = document["components"]["schemas"]
    for path, item in document["paths"].items():
        for method, operation in item.items():
            content = operation.get("requestBody", {}).get("content", {})
            described = content.get("application/json", {})
            if "example" in described:
                yield path, method, operation, described["example"]
            name = described.get("schema", {}).get("$ref", "").rpartition("/")[2]
            for sent in schemas.get(name, {}).get("examples", ()):
                yield path, method, operation, sent


def validator(document: Json, schema: Json) -> Draft202012Validator:
    return Draft202012Validator({**schema, "components": document["components"]})


def keys_of(tenant: Tenant, text: str) -> str:
    personal = str(tenant.api.headers["authorization"]).removeprefix("Bearer ")
    return text.replace(PROJECT_KEY, tenant.token).replace(PERSONAL_KEY, personal)


async def run_command(tenant: Tenant, command: str, places: dict[str, str]) -> httpx.Response:
    """Run a command of the page.

    Raises:
        AssertionError: The command has an unknown option.
    """
    words = iter(shlex.split(keys_of(tenant, command).replace("\\\n", " ")))
    assert next(words) == "curl"
    method, headers, body, address = "GET", {}, "", ""
    for word in words:
        if word == "-X":
            method = next(words)
        elif word == "-H":
            name, _, value = next(words).partition(": ")
            headers[name] = value
        elif word == "-d":
            body = next(words)
        else:
            address = word
    url = fill_path(address.replace("@current", places["projects"]), places)
    assert "{" not in url
    return await tenant.public.request(method, url, headers=headers, content=body.encode())


async def test_the_page_has_a_command_for_every_public_endpoint(page: str) -> None:
    commands = [unescape(command) for command in _COMMAND.findall(page)]

    shown = {command.rpartition(BASE_URL)[2].partition("?")[0].rstrip("'") for command in commands}
    expected = {f"{path}/".replace("{key}", "new-checkout") for path in POSTED_PATHS}
    assert expected <= shown
    assert any("/feature_flags/" in path for path in shown)


async def test_every_command_of_the_page_succeeds(tenant: Tenant, page: str) -> None:
    places = await objects(tenant)

    commands = [unescape(command) for command in _COMMAND.findall(page)]

    assert len(commands) > len(POSTED_PATHS)
    for command in commands:
        answer = await run_command(tenant, command, places)
        assert answer.is_success, f"{command}\n{answer.text}"


async def test_every_example_of_a_request_is_accepted(tenant: Tenant, document: Json) -> None:
    places = await objects(tenant)

    requests = list(examples(document))

    assert len(requests) > len(POSTED_PATHS) + 15
    for path, method, operation, sent in requests:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        assert validator(document, schema).is_valid(sent), (path, sent)
        if path in {f"{posted_path}/" for posted_path in POSTED_PATHS}:
            continue  # the tests below send it with its key
        address = f"{BASE_URL}{fill_path(path, places)}"
        answer = await tenant.api.request(method, address, json=sent)
        assert answer.is_success, f"{method} {path} {sent}\n{answer.text}"


@pytest.mark.parametrize("path", POSTED_PATHS)
async def test_a_public_endpoint_returns_the_documented_example(
    tenant: Tenant, document: Json, page: str, path: str
) -> None:
    places = await objects(tenant)
    operation = document["paths"][f"{path}/"]["post"]
    [command] = [
        command
        for command in map(unescape, _COMMAND.findall(page))
        if re.search(rf"{BASE_URL}{path.replace('{key}', 'new-checkout')}/['?]", command)
    ]

    answer = await run_command(tenant, command, places)

    documented = operation["responses"]["200"]
    assert answer.status_code == 200, answer.text
    schema = documented["content"]["application/json"]["schema"]
    validator(document, schema).validate(answer.json())
    assert holds(
        without_moving_values(answer.json()), without_moving_values(example_of(documented, {}))
    ), answer.text


@pytest.mark.parametrize("path", POSTED_PATHS)
async def test_a_public_endpoint_fails_in_the_common_format(
    tenant: Tenant, document: Json, path: str
) -> None:
    operation = document["paths"][f"{path}/"]["post"]

    address = path.replace("{key}", "new-checkout")
    sent = {"api_key": "phc_unknown", "batch": [], "event": "seen", "distinct_id": "user-1"}
    answer = await tenant.public.post(f"{address}/", json=sent)

    assert answer.status_code == 401
    failure = document["components"]["responses"]["Error"]["content"]["application/json"]
    validator(document, failure["schema"]).validate(answer.json())
    assert operation["responses"]["default"] == {"$ref": "#/components/responses/Error"}


async def test_the_captured_examples_are_stored(tenant: Tenant, page: str) -> None:
    places = await objects(tenant)
    for command in map(unescape, _COMMAND.findall(page)):
        if re.search(rf"{BASE_URL}/(capture|batch|engage|i)/", command):
            await run_command(tenant, command, places)
    await tenant.server.ingested()

    names = sorted(event["event"] for event in await tenant.events())
    person = await tenant.person("user-1")

    assert names == ["$identify", "invited", "signed up", "signed up", "signed up"]
    assert person["properties"]["email"] == "ann@example.com"
    assert person["properties"]["plan"] == "pro"


def without_moving_values(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: 0 if name in _MOVING else without_moving_values(item)
            for name, item in value.items()
        }
    return [without_moving_values(item) for item in value] if isinstance(value, list) else value
