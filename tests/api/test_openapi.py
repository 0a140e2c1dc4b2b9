"""The API's own description, for programs and for people."""

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from fanion.db.engine import open_records
from tests.management import Workspace, open_workspace


@pytest.fixture
async def workspace(sqlite_url: str) -> AsyncIterator[Workspace]:
    records = await open_records(sqlite_url)
    async with open_workspace(records) as opened:
        yield opened
    await records.close()


@pytest.fixture
async def schema(workspace: Workspace) -> dict[str, Any]:
    async with workspace.client_with(None) as client:
        response = await client.get("/api/schema/")
    assert response.status_code == 200
    found: dict[str, Any] = response.json()
    return found


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def operations(schema: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{method.upper()} {path}", operation)
        for path, item in schema["paths"].items()
        for method, operation in item.items()
    ]


async def test_the_document_is_openapi_with_every_path_as_clients_write_it(
    schema: dict[str, Any],
) -> None:
    assert schema["openapi"].startswith("3.1.")
    assert [name for name, _ in operations(schema)] == [
        "GET /api/personal_api_keys/",
        "POST /api/personal_api_keys/",
        "GET /api/personal_api_keys/{key_id}/",
        "DELETE /api/personal_api_keys/{key_id}/",
        "GET /api/projects/",
        "POST /api/projects/",
        "GET /api/projects/{project_id}/",
        "PATCH /api/projects/{project_id}/",
        "PATCH /api/projects/{project_id}/reset_token/",
        "GET /api/users/@me/",
    ]


async def test_every_reference_leads_somewhere(schema: dict[str, Any]) -> None:
    for reference in references(schema):
        node: Any = schema
        for name in reference.removeprefix("#/").split("/"):
            node = node[name]

        assert node


async def test_every_operation_documents_the_one_error_shape(schema: dict[str, Any]) -> None:
    shape = schema["components"]["schemas"]["Error"]

    assert shape["required"] == ["type", "code", "detail", "attr"]
    for name, operation in operations(schema):
        assert operation["responses"]["default"] == {"$ref": "#/components/responses/Error"}, name
        assert "400" not in operation["responses"], name


async def test_the_key_goes_into_the_header(schema: dict[str, Any]) -> None:
    assert schema["security"] == [{"bearer": []}]
    scheme = schema["components"]["securitySchemes"]["bearer"]
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")


async def test_lists_document_their_paging(schema: dict[str, Any]) -> None:
    paged = {
        name
        for name, operation in operations(schema)
        if {"limit", "offset"} <= {one["name"] for one in operation.get("parameters", ())}
    }

    assert paged == {"GET /api/projects/", "GET /api/personal_api_keys/"}


async def test_bodies_say_what_is_required_and_how_long(schema: dict[str, Any]) -> None:
    schemas = schema["components"]["schemas"]

    assert schemas["NewKey"]["required"] == ["label"]
    label = schemas["NewKey"]["properties"]["label"]
    assert (label["minLength"], label["maxLength"]) == (1, 40)
    assert schemas["ProjectChanges"]["required"] == []
    name = schemas["ProjectChanges"]["properties"]["name"]
    assert name == {"type": "string", "minLength": 1, "maxLength": 200}


async def test_operation_ids_are_unique(schema: dict[str, Any]) -> None:
    ids = [operation["operationId"] for _, operation in operations(schema)]

    assert len(set(ids)) == len(ids)


async def test_the_page_for_people_names_every_operation_and_loads_nothing(
    workspace: Workspace, schema: dict[str, Any]
) -> None:
    async with workspace.client_with(None) as client:
        response = await client.get("/api/docs/")

    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    for name, operation in operations(schema):
        path = name.partition(" ")[2]
        assert f">{path}</code>" in response.text
        assert operation["summary"].replace("'", "&#x27;") in response.text
    assert re.findall(r"<script|<link|<img|@import|//[a-z]", response.text) == []
