"""Every error of the management API has one format."""

import io
import shutil
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import msgspec
import pytest
import structlog
from litestar import Controller, get, post
from litestar.di import NamedDependency
from litestar.params import FromQuery, RequestBody
from msgspec import Meta, Struct

from fanion.db.engine import RecordsUnavailable, open_records
from fanion.observability.logging import open_logs
from fanion.projects.cache import Projects
from fanion.projects.request_api import ManagementRequest
from fanion.rest.endpoints import ObjectId
from tests.support.management import Workspace, error, invalid, open_workspace

BODY_BYTES_MAX = 4096


class Thing(Struct, kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=5)]
    filters: dict[str, Any] | None = None
    tags: list[str] = []
    active: bool = True
    made_at: datetime | None = None
    owner: UUID | None = None
    share: Annotated[float, Meta(ge=0, le=100)] = 100


class ThingsApi(Controller):
    """A controller with one handler for each kind of error."""

    path = "/api/projects/{project_id:str}/things"

    @post("/")
    async def create(self, data: RequestBody[Thing]) -> Thing:
        return data

    @get("/{thing_id:str}")
    async def thing(
        self, request: ManagementRequest, thing_id: ObjectId, days: FromQuery[int] = 7
    ) -> list[int]:
        return [request.project.id, thing_id, days]

    @get("/{thing_id:str}/broken")
    async def broken(self, thing_id: ObjectId) -> None:
        raise KeyError(f"secret {thing_id}")

    @get("/{thing_id:str}/down")
    async def down(self, thing_id: ObjectId, projects: NamedDependency[Projects]) -> None:
        raise RecordsUnavailable(f"{projects} for {thing_id}")


THINGS = "/api/projects/1/things/"


@pytest.fixture(scope="module")
async def workspace(
    sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Workspace]:
    """Yield an application in which none of the requests stores anything."""
    path = tmp_path_factory.mktemp("errors") / "records.db"
    shutil.copyfile(sqlite_template, path)
    records = await open_records(f"sqlite:///{path}")
    async with open_workspace(records, [ThingsApi], body_bytes_max=BODY_BYTES_MAX) as opened:
        yield opened
    await records.close()


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize(
    "path", ["/api/nothing/", "/api/", "/api", "/api/projects/1/nothing/", "/api/schema/x"]
)
async def test_an_unknown_path_is_not_found(workspace: Workspace, path: str, method: str) -> None:
    response = await workspace.client.request(method, path)

    assert (response.status_code, response.json()) == (
        404,
        error("invalid_request", "not_found", "Endpoint not found."),
    )
    assert response.headers["content-type"] == "application/json"


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
async def test_a_wrong_method_is_rejected_with_the_allowed_ones(
    workspace: Workspace, method: str
) -> None:
    response = await workspace.client.request(method, THINGS)

    assert (response.status_code, response.json()) == (
        405,
        error("invalid_request", "method_not_allowed", f'Method "{method}" not allowed.'),
    )
    assert set(response.headers["allow"].split(", ")) == {"POST", "OPTIONS"}


@pytest.mark.parametrize("path", ["0", "-1", "abc", "1.5", "9" * 30, "9223372036854775808"])
async def test_what_cannot_be_an_id_is_not_found(workspace: Workspace, path: str) -> None:
    response = await workspace.client.get(f"{THINGS}{path}/")

    assert (response.status_code, response.json()) == (
        404,
        error("invalid_request", "not_found", "Not found."),
    )


async def test_a_wrong_query_parameter_is_named(workspace: Workspace) -> None:
    response = await workspace.client.get(f"{THINGS}5/?days=many")

    assert (response.status_code, response.json()) == (
        400,
        invalid("invalid_input", "Expected `int`, got `str`", "days"),
    )
    assert (await workspace.client.get(f"{THINGS}5/?days=3")).json() == [1, 5, 3]


def parse_error(detail: str) -> dict[str, Any]:
    return error("invalid_request", "parse_error", f"JSON parse error - {detail}")


DEEP = parse_error("nested too deeply")
SURROGATE = "JSON is malformed: invalid utf-16 surrogate pair (byte 16)"
NOT_UTF8 = "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"


@pytest.mark.parametrize(
    ("content", "body"),
    [
        (b"{", parse_error("Input data was truncated")),
        (b" ", parse_error("Input data was truncated")),
        (b'{"name": "x"} x', parse_error("JSON is malformed: trailing characters (byte 15)")),
        (b'{"name": NaN}', parse_error("JSON is malformed: invalid character (byte 9)")),
        (b'{"name": "\\udc00"}', parse_error(SURROGATE)),
        (b'{"name": "\xff"}', parse_error(NOT_UTF8)),
        (b'{"name": 1e999}', parse_error("Number out of range - at `$[...]`")),
        (b"[" * 2000, DEEP),
        (b'{"filters": {"a":' + b"[" * 100 + b"]" * 100 + b"}}", DEEP),
        (b'{"a":' * 400 + b"1" + b"}" * 400, DEEP),
        (b"[]", invalid("invalid_input", "Invalid data. Expected a dictionary, but got list.")),
        (
            b"null",
            invalid("invalid_input", "Invalid data. Expected a dictionary, but got NoneType."),
        ),
        (b'"x"', invalid("invalid_input", "Invalid data. Expected a dictionary, but got str.")),
        (b"", invalid("required", "This field is required.", "name")),
        (
            b'{"name": "\\u0000"}',
            invalid("null_characters_not_allowed", "Null characters are not allowed.", "name"),
        ),
    ],
)
async def test_an_unreadable_body_is_rejected(
    workspace: Workspace, content: bytes, body: dict[str, Any]
) -> None:
    response = await workspace.client.post(
        THINGS, content=content, headers={"content-type": "application/json"}
    )

    assert (response.status_code, response.json()) == (400, body)


async def test_moderate_nesting_is_accepted(workspace: Workspace) -> None:
    value: list[Any] = []
    for _ in range(90):
        value = [value]

    response = await workspace.client.post(THINGS, json={"name": "x", "filters": {"deep": value}})

    assert response.status_code == 201
    assert response.json()["filters"] == {"deep": value}


async def test_only_the_first_problem_in_field_order_is_reported(workspace: Workspace) -> None:
    response = await workspace.client.post(THINGS, json={"share": 200, "tags": 1, "name": "x"})

    assert response.json() == invalid(
        "not_a_list", 'Expected a list of items but got type "int".', "tags"
    )


@pytest.mark.parametrize("media", ["text/plain", "application/xml; charset=utf-8"])
async def test_an_unsupported_content_type_is_rejected(workspace: Workspace, media: str) -> None:
    response = await workspace.client.post(THINGS, content="x", headers={"content-type": media})

    assert (response.status_code, response.json()) == (
        415,
        error(
            "invalid_request",
            "unsupported_media_type",
            f'Unsupported media type "{media}" in request.',
        ),
    )


@pytest.mark.parametrize(
    "media", ["", "application/json; charset=utf-8", "APPLICATION/JSON", "application/x+json"]
)
async def test_every_media_type_of_json_is_accepted(workspace: Workspace, media: str) -> None:
    response = await workspace.client.post(
        THINGS, content='{"name": "x"}', headers={"content-type": media}
    )

    assert response.status_code == 201


async def test_a_form_is_read_by_the_kinds_of_the_fields(workspace: Workspace) -> None:
    response = await workspace.client.post(
        THINGS,
        data={
            "name": "ünï",
            "active": "False",
            "tags": ["a", "b"],
            "filters": '{"groups": []}',
            "share": "12.5",
            "made_at": "2024-03-01 12:00:00+02:00",
        },
    )

    assert (response.status_code, response.json()) == (
        201,
        {
            "name": "ünï",
            "filters": {"groups": []},
            "tags": ["a", "b"],
            "active": False,
            "made_at": "2024-03-01T10:00:00Z",
            "owner": None,
            "share": 12.5,
        },
    )


@pytest.mark.parametrize("content", [b"name=%ff", b"name=\xff", b"&".join([b"a=1"] * 1001)])
async def test_a_malformed_form_is_rejected(workspace: Workspace, content: bytes) -> None:
    response = await workspace.client.post(
        THINGS,
        content=content,
        headers={"content-type": "application/x-www-form-urlencoded"},
    )

    assert response.status_code == 400
    assert response.json()["code"] == "parse_error"


@pytest.mark.parametrize("has_length", [True, False])
async def test_a_body_over_the_limit_is_rejected(workspace: Workspace, has_length: bool) -> None:
    whole = b'{"name": "x", "filters": "' + b"x" * BODY_BYTES_MAX + b'"}'

    async def pieces() -> AsyncIterator[bytes]:
        yield whole[:100]
        yield whole[100:]

    response = await workspace.client.post(THINGS, content=whole if has_length else pieces())

    assert (response.status_code, response.json()) == (
        413,
        error(
            "invalid_request",
            "payload_too_large",
            f"The request body is larger than {BODY_BYTES_MAX} bytes.",
        ),
    )


async def test_an_unexpected_failure_is_logged_and_not_revealed_to_the_client(
    workspace: Workspace,
) -> None:
    stream = io.BytesIO()
    logs = open_logs("info", stream)

    response = await workspace.client.get(f"{THINGS}5/broken/")

    logs.close()
    structlog.reset_defaults()
    line = msgspec.json.decode(stream.getvalue())
    assert (response.status_code, response.json()) == (
        500,
        error("server_error", "error", "A server error occurred."),
    )
    assert (line["event"], line["path"]) == ("request_failed", f"{THINGS}5/broken")
    assert "KeyError: 'secret 5'" in line["exception"]


async def test_while_the_store_is_down_clients_are_asked_to_retry(
    workspace: Workspace,
) -> None:
    response = await workspace.client.get(f"{THINGS}5/down/")

    assert (response.status_code, response.json()) == (
        503,
        error(
            "server_error",
            "unavailable",
            "The service is temporarily unavailable. Please retry.",
        ),
    )
    assert response.headers["retry-after"] == "5"


async def test_an_invalid_host_is_a_client_error(workspace: Workspace) -> None:
    response = await workspace.client.get(THINGS, headers={"host": "a b"})

    assert response.status_code == 400
    assert response.json()["type"] == "invalid_request"
