"""The OpenAPI document and its HTML page."""

import asyncio
import re
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from hashlib import sha256
from html import escape
from threading import get_ident
from typing import Any

import pytest

from fanion.accounts.sessions.cookies import SECURE_NAME
from fanion.db.engine import open_records
from fanion.server.forwarded import BaseUrl, TrustedProxies, read_networks
from fanion.web.management import ApiDocuments
from fanion.web.openapi.capture_operations import CAPTURE_OPERATIONS
from fanion.web.openapi.flag_operations import FLAG_OPERATIONS
from tests.support.application import Tenant
from tests.support.management import BASE_URL, Workspace, open_workspace


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
    document: dict[str, Any] = response.json()
    return document


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


async def test_the_document_has_the_paths_of_management_and_of_public_routes(
    schema: dict[str, Any],
) -> None:
    public = {f"{path}/" for path in (*CAPTURE_OPERATIONS, *FLAG_OPERATIONS)}

    assert schema["openapi"].startswith("3.1.")
    assert public <= schema["paths"].keys()
    assert [name for name, _ in operations(schema) if name.partition(" ")[2] not in public] == [
        "GET /api/personal_api_keys/",
        "POST /api/personal_api_keys/",
        "GET /api/personal_api_keys/@current/",
        "GET /api/personal_api_keys/{key_id}/",
        "DELETE /api/personal_api_keys/{key_id}/",
        "GET /api/projects/",
        "POST /api/projects/",
        "GET /api/projects/{project_id}/",
        "DELETE /api/projects/{project_id}/",
        "PATCH /api/projects/{project_id}/",
        "GET /api/projects/{project_id}/contents/",
        "GET /api/projects/{project_id}/old_events/",
        "PATCH /api/projects/{project_id}/reset_token/",
        "GET /api/users/@me/",
        "PATCH /api/users/@me/",
    ]


async def test_every_reference_points_to_a_component(schema: dict[str, Any]) -> None:
    for reference in references(schema):
        node: Any = schema
        for name in reference.removeprefix("#/").split("/"):
            node = node[name]

        assert node


async def test_every_operation_documents_the_one_error_format(schema: dict[str, Any]) -> None:
    shape = schema["components"]["schemas"]["Error"]

    assert shape["required"] == ["type", "code", "detail", "attr"]
    for name, operation in operations(schema):
        assert operation["responses"]["default"] == {"$ref": "#/components/responses/Error"}, name
        assert "400" not in operation["responses"], name


async def test_the_key_is_sent_in_the_header_or_a_session_in_the_cookie(
    schema: dict[str, Any],
) -> None:
    assert schema["security"] == [{"bearer": []}, {"session": []}]
    schemes = schema["components"]["securitySchemes"]
    key, session = schemes["bearer"], schemes["session"]
    assert (key["type"], key["scheme"]) == ("http", "bearer")
    assert (session["type"], session["in"], session["name"]) == ("apiKey", "cookie", SECURE_NAME)


async def test_lists_document_their_paging(schema: dict[str, Any]) -> None:
    paged = {
        name
        for name, operation in operations(schema)
        if {"limit", "offset"}
        <= {parameter["name"] for parameter in operation.get("parameters", ())}
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


async def test_the_html_page_names_every_operation_and_loads_nothing(
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
    assert re.findall(r"<script|<link|<img|@import", response.text) == []
    assert set(re.findall(r"//[a-z.]+", response.text)) == {"//fanion.test"}


async def test_the_html_page_has_a_policy_that_allows_its_style_only(workspace: Workspace) -> None:
    async with workspace.client_with(None) as client:
        response = await client.get("/api/docs/")

    [style] = re.findall(r"<style>(.*?)</style>", response.text, re.DOTALL)
    allowed = b64encode(sha256(style.encode()).digest()).decode()
    policy = response.headers["content-security-policy"].split("; ")
    assert policy == [
        "default-src 'none'",
        f"style-src 'sha256-{allowed}'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
    assert not re.search(r"\sstyle=|\son[a-z]+=", response.text)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/docs/", 200),
        ("/api/schema/", 200),
        ("/api/projects/", 200),
        ("/api/projects/?limit=x", 200),
        ("/api/nothing/", 404),
        ("/api/projects/0/", 404),
    ],
)
async def test_browsers_do_not_sniff_the_content_type_of_a_response(
    tenant: Tenant, path: str, status: int
) -> None:
    response = await tenant.public.get(path, headers={"authorization": f"Bearer {tenant.key}"})

    assert response.status_code == status
    assert response.headers.get_list("x-content-type-options") == ["nosniff"]


FORWARDED = {
    "x-forwarded-proto": "https",
    "x-forwarded-host": "example.com",
    "x-forwarded-prefix": "/a&b",
}


@pytest.mark.parametrize(
    ("trusted", "base"), [("127.0.0.1", "https://example.com/a&b"), ("10.0.0.1", BASE_URL)]
)
async def test_the_document_and_the_page_contain_the_requested_address(
    sqlite_url: str, trusted: str, base: str
) -> None:
    base_url = BaseUrl(TrustedProxies(read_networks(trusted)))
    records = await open_records(sqlite_url)
    async with open_workspace(records, base_url=base_url) as opened, opened.client_with(None) as me:
        schema = await me.get("/api/schema/", headers=FORWARDED)
        page = await me.get("/api/docs/", headers=FORWARDED)
        direct = await me.get("/api/docs/", headers={"host": "fanion.internal"})
    await records.close()

    assert schema.json()["servers"] == [{"url": base}]
    assert f'<a href="{escape(base)}/api/schema/">' in page.text
    assert f"{escape(base)}/api/projects/" in page.text
    assert '<a href="http://fanion.internal/api/schema/">' in direct.text
    assert page.headers["etag"] != direct.headers["etag"]
    for answer in (schema, page, direct):
        assert "{base_url}" not in answer.text


@pytest.mark.parametrize("path", ["/api/docs/", "/api/schema/"])
async def test_a_known_version_is_not_sent_again(workspace: Workspace, path: str) -> None:
    async with workspace.client_with(None) as client:
        first = await client.get(path)
        etag = first.headers["etag"]
        again = await client.get(path, headers={"if-none-match": f'"other", W/{etag}'})
        other = await client.get(path, headers={"if-none-match": '"other"'})

    assert re.fullmatch(r'"[0-9a-f]{32}"', etag)
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    assert (other.status_code, other.content) == (200, first.content)


EMPTY: dict[str, Any] = {
    "info": {"title": "x", "version": "1"},
    "paths": {},
    "components": {"schemas": {}},
}


async def test_the_document_is_built_once_in_a_thread() -> None:
    threads: list[int] = []

    def describe() -> dict[str, Any]:
        threads.append(get_ident())
        return EMPTY

    documents = ApiDocuments(describe)
    first, *others = [asyncio.create_task(documents.pages()) for _ in range(20)]
    await asyncio.sleep(0)
    first.cancel()
    pages = await asyncio.gather(*others)

    assert len(threads) == 1
    assert threads[0] != get_ident()
    assert all(page is pages[0] for page in (*pages, await documents.pages()))


async def test_a_failed_build_of_the_document_is_retried_by_the_next_request() -> None:
    failures = [RuntimeError("no room")]

    def describe() -> dict[str, Any]:
        if failures:
            raise failures.pop()
        return EMPTY

    documents = ApiDocuments(describe)
    with pytest.raises(RuntimeError, match="no room"):
        await documents.pages()

    assert (await documents.pages()).schema.body.startswith(b'{"info"')
