"""Assistants at `/mcp`, by the SDK's own client, and clients that send nonsense."""

import json
from typing import Any

import httpx
import pytest
from mcp import MCPError

from fanion.mcp.answers import ANSWER_BYTES_MAX
from fanion.mcp.endpoints import BODY_BYTES_MAX
from fanion.mcp.http_client import HttpApi, http_api
from fanion.mcp.model import CURRENT_KEY, ApiCall
from fanion.mcp.tools import TOOLS
from fanion.projects.model import Level
from tests.support.application import Json, Tenant, error, open_tenant
from tests.support.management import add_key, add_member
from tests.support.mcp import called, mcp_session, refused
from tests.support.server import free_port

ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
CALL: Json = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
CREATE: Json = {**CALL, "params": {"name": "create_flag", "arguments": {"key": "beta"}}}
TRENDS: Json = {
    "kind": "TrendsQuery",
    "series": [{"kind": "EventsNode", "event": "paid"}],
    "dateRange": {"date_from": "2024-02-29", "date_to": "2024-02-29"},
}


def paid(person: str, **properties: Any) -> Json:
    return {
        "event": "paid",
        "distinct_id": person,
        "timestamp": "2024-02-29T10:00:00Z",
        "properties": {"plan": "pro", "$set": {"email": f"{person}@example.com"}, **properties},
    }


async def send(
    tenant: Tenant, content: bytes | Json, key: str | None = "", **headers: str
) -> httpx.Response:
    """Send one message.

    Args:
        key: None for no header; "" for the key of the tenant.
    """
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    sent = {**ACCEPT, **{name.replace("_", "-"): value for name, value in headers.items()}}
    if key is not None:
        sent["authorization"] = f"Bearer {key or tenant.key}"
    return await tenant.public.post("/mcp", content=body, headers=sent)


async def flag_count(tenant: Tenant) -> int:
    count: int = (await tenant.get("/feature_flags/"))["count"]
    return count


async def test_an_assistant_rolls_out_a_flag(tenant: Tenant) -> None:
    everybody: Json = {"groups": [{"properties": [], "rollout_percentage": 100}]}
    async with mcp_session(tenant.server, tenant.key) as session:
        made = await called(session, "create_flag", key="beta", name="New page")
        before = await called(session, "evaluate_flags", distinct_id="ann")
        changed = await called(
            session, "update_flag", flag_id=made["id"], version=1, active=True, filters=everybody
        )
        after = await called(session, "evaluate_flags", distinct_id="ann")
        conflict = await refused(session, "update_flag", flag_id=made["id"], version=1, name="Old")
        read = await called(session, "get_flag", flag_id=made["id"])
        listed = await called(session, "list_flags", search="bet")

    assert (made["active"], made["version"]) == (False, 1)
    assert (before["beta"]["value"], after["beta"]["value"]) == (False, True)
    assert (changed["version"], changed["name"]) == (2, "New page")
    assert (conflict["status"], conflict["code"], conflict["attr"]) == (409, "conflict", "version")
    assert conflict["current"]["name"] == "New page"
    assert read == changed
    assert [flag["key"] for flag in listed["results"]] == ["beta"]


async def test_an_assistant_asks_about_events_and_persons(tenant: Tenant) -> None:
    await tenant.capture(paid("ann", price=3), paid("bob", price=4))
    async with mcp_session(tenant.server, tenant.key) as session:
        events = await called(session, "list_event_definitions", search="paid")
        properties = await called(session, "list_property_definitions", event_names=["paid"])
        values = await called(session, "list_property_values", key="plan")
        trends = await called(session, "run_query", query=TRENDS)
        rows = await called(
            session,
            "run_sql",
            sql="select event, sum(toFloat(properties.price)) from events group by 1",
        )
        persons = await called(session, "find_persons", search="ann@")
        of_ann = await called(session, "list_events", distinct_id="ann", after="2024-02-28")

    assert [row["name"] for row in events["results"]] == ["paid"]
    assert {"name": "price", "property_type": "Numeric", "is_numerical": True} in [
        {k: v for k, v in row.items() if k != "description"} for row in properties["results"]
    ]
    assert {value["name"] for value in values} == {"pro"}
    assert trends["results"][0]["data"] == [2]
    assert rows["results"] == [["paid", 7.0]]
    assert persons["results"][0]["distinct_ids"] == ["ann"]
    assert [row["properties"]["price"] for row in of_ann["results"]] == [3]


async def test_an_assistant_reads_what_is_saved(tenant: Tenant) -> None:
    board = (await tenant.api.post("/dashboards/", json={"name": "Board"})).json()
    saved = {"name": "Paid", "query": TRENDS, "saved": True, "dashboards": [board["id"]]}
    insight = (await tenant.api.post("/insights/", json=saved)).json()
    cohort = {"name": "Payers", "is_static": True}
    await tenant.api.post("/cohorts/", json=cohort)
    flag = {
        "groups": [{"properties": [], "rollout_percentage": 100}],
        "multivariate": {
            "variants": [
                {"key": "control", "rollout_percentage": 50},
                {"key": "test", "rollout_percentage": 50},
            ]
        },
    }
    await tenant.create_flag(key="button", filters=flag)
    made = await tenant.api.post(
        "/experiments/",
        json={
            "name": "Button",
            "feature_flag_key": "button",
            "start_date": "2024-02-20T00:00:00Z",
        },
    )
    assert made.status_code == 201, made.text

    async with mcp_session(tenant.server, tenant.key) as session:
        for name, named in (
            ("list_insights", "Paid"),
            ("list_dashboards", "Board"),
            ("list_cohorts", "Payers"),
            ("list_experiments", "Button"),
            ("list_projects", f"{tenant.project_id:x}"),
        ):
            rows = (await called(session, name))["results"]
            [row] = [row for row in rows if row["name"] == named]
            assert list(row) == [column for column in TOOLS[name].columns if column in row]
            assert set(row) == set(TOOLS[name].columns)
        answer = await called(session, "get_insight", insight_id=insight["id"], refresh=True)
        tiles = (await called(session, "get_dashboard", dashboard_id=board["id"]))["tiles"]
        experiment_id = made.json()["id"]
        experiment = await called(session, "get_experiment", experiment_id=experiment_id)
        results = await called(session, "get_experiment_results", experiment_id=experiment_id)

    assert answer["result"][0]["data"] == [0]
    assert [tile["insight"]["name"] for tile in tiles] == ["Paid"]
    assert experiment["feature_flag"]["key"] == "button"
    assert {"verdict", "exposures"} <= results.keys()


async def test_an_answer_that_is_too_large_is_cut(tenant: Tenant) -> None:
    await tenant.capture(*(paid("ann", text="x" * 2_000, number=number) for number in range(60)))
    async with mcp_session(tenant.server, tenant.key) as session:
        answer = await called(session, "run_sql", sql="select properties.text from events limit 60")

    assert answer["note"].startswith(f"Cut: the first {len(answer['results'])} of 60 results")
    assert ANSWER_BYTES_MAX - 5_000 < len(json.dumps(answer)) < ANSWER_BYTES_MAX + 5_000


async def test_an_answer_that_cannot_be_received_is_an_error(tenant: Tenant) -> None:
    columns = ", ".join(f"repeat('x', 999999) as c{number}" for number in range(5))
    call = ApiCall(
        "POST",
        f"/api/projects/{tenant.project_id}/query/",
        body=json.dumps({"query": {"kind": "HogQLQuery", "query": f"select {columns}"}}).encode(),
    )
    async with mcp_session(tenant.server, tenant.key) as session:
        here = await refused(session, "run_sql", sql=f"select {columns}")
    async with tenant.server.client(tenant.key) as client:
        elsewhere = await HttpApi(client).send(call)

    assert (here["status"], here["code"]) == (413, "answer_too_large")
    assert (elsewhere.status, elsewhere.body) == (200, None)


async def test_a_server_that_is_away_is_an_error_of_the_call() -> None:
    """The assistant reads it, and the next call may succeed."""
    async with http_api(f"http://127.0.0.1:{free_port()}", "phx_any") as api:
        answer = await api.send(ApiCall("GET", CURRENT_KEY))

    assert answer.status == 503
    assert json.loads(answer.body or b"")["detail"].startswith("The server does not answer: ")


async def test_a_key_with_scopes_lists_only_its_tools(tenant: Tenant) -> None:
    scopes = ["feature_flag:read"]
    key = await add_key(tenant.server.records, tenant.user_id, f"{tenant.key}_flags", scopes)
    flag = await tenant.create_flag(key="beta")
    async with mcp_session(tenant.server, key) as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        about = await called(session, "get_key")
        listed = await called(session, "list_flags")
        change = await refused(session, "update_flag", flag_id=flag["id"], version=1, name="x")
        sql = await refused(session, "run_sql", sql="select 1")

    assert list(tools) == ["get_key", "list_flags", "get_flag", "evaluate_flags"]
    annotations = tools["list_flags"].annotations
    assert annotations is not None
    assert annotations.read_only_hint is True
    assert about["scopes"] == scopes
    assert listed["count"] == 1
    assert (change["status"], change["detail"]) == (
        403,
        "API key missing required scope 'feature_flag:write'",
    )
    assert sql["detail"] == "API key missing required scope 'query:read'"


async def test_a_viewer_changes_nothing(tenant: Tenant) -> None:
    viewer = await add_member(
        tenant.server.records, f"v-{tenant.project_id:x}", Level.VIEWER, tenant.organization_id
    )
    async with mcp_session(tenant.server, viewer.key) as session:
        denied = await refused(session, "create_flag", key="beta", project_id=tenant.project_id)

    assert denied["detail"] == "Viewers cannot make changes."
    assert await flag_count(tenant) == 0


async def test_the_project_is_that_of_the_address_or_of_the_call(tenant: Tenant) -> None:
    await tenant.create_flag(key="beta")
    elsewhere_id = tenant.project_id + 10**12
    async with (
        open_tenant(tenant.server, elsewhere_id) as elsewhere,
        mcp_session(tenant.server, tenant.key, f"?project_id={elsewhere_id}") as session,
    ):
        denied = await refused(session, "create_flag", key="beta")
        here = await called(session, "list_flags", project_id=tenant.project_id)
        missing = await refused(session, "list_flags", project_id=2**40)
        theirs = await flag_count(elsewhere)

    assert (denied["status"], denied["detail"]) == (403, "You don't have access to the project.")
    assert (here["count"], theirs) == (1, 0)
    assert (missing["status"], missing["detail"]) == (404, "Project not found.")


async def test_wrong_arguments_are_refused_by_name(tenant: Tenant) -> None:
    wrong: list[tuple[str, Json, str, str]] = [
        ("create_flag", {}, "key", "This field is required."),
        ("create_flag", {"key": []}, "key", "Not a valid string."),
        ("create_flag", {"key": "a", "colour": "red"}, "colour", "Unknown field"),
        ("list_flags", {"limit": "many"}, "limit", "A valid integer is required."),
        ("list_flags", {"limit": 501}, "limit", "500"),
        ("get_flag", {"flag_id": -1}, "flag_id", "1"),
        ("list_events", {"after": "someday"}, "after", "relative"),
        ("run_query", {"query": {"kind": "Nonsense"}}, "query__kind", "Nonsense"),
        ("run_sql", {"sql": "select nothing from events"}, "query__query", "nothing"),
        ("run_sql", {"sql": "select 1; drop table events"}, "query__query", ""),
        ("create_flag", {"key": "a", "filters": {"groups": "all"}}, "filters", "groups must be"),
    ]
    async with mcp_session(tenant.server, tenant.key) as session:
        answers = [await refused(session, name, **sent) for name, sent, _, _ in wrong]
        with pytest.raises(MCPError, match=r"There is no tool 'drop_all'. The tools are get_key, "):
            await session.call_tool("drop_all", {})

    problems = [
        (sent, answer)
        for (_, sent, attr, words), answer in zip(wrong, answers, strict=True)
        if (answer["status"], answer["attr"]) != (400, attr) or words not in answer["detail"]
    ]
    assert problems == []
    assert await flag_count(tenant) == 0


PARSE, REQUEST, PARAMS = -32700, -32600, -32602


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b"", 400, PARSE),
        (b"{", 400, PARSE),
        (b"\xff\xfe", 400, PARSE),
        (b"[" * 100_000, 400, PARSE),
        (json.dumps([CREATE]).encode(), 400, PARAMS),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "tools/list"}', 400, PARAMS),
        (b"5", 400, PARAMS),
    ],
)
async def test_a_message_that_is_none_is_refused(
    tenant: Tenant, content: bytes, status: int, code: int
) -> None:
    answer = await send(tenant, content)

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), answer.text
    assert await flag_count(tenant) == 0


@pytest.mark.parametrize(
    "params", [None, [], {"name": 5}, {"name": "create_flag", "arguments": [1]}]
)
async def test_a_call_with_wrong_parameters_is_refused(tenant: Tenant, params: Any) -> None:
    answer = await send(tenant, {**CALL, "params": params})

    assert answer.json().get("error", {}).get("code") in {PARAMS, REQUEST}, answer.text
    assert await flag_count(tenant) == 0


async def test_a_body_that_is_too_large_is_refused(tenant: Tenant) -> None:
    answer = await send(tenant, b" " * (BODY_BYTES_MAX + 1))

    assert (answer.status_code, answer.json()) == (
        413,
        error(
            "invalid_request",
            "payload_too_large",
            f"The request body is larger than {BODY_BYTES_MAX} bytes.",
        ),
    )


async def test_a_request_without_a_valid_key_is_refused(tenant: Tenant) -> None:
    nobody = await send(tenant, CREATE, None)
    wrong = await send(tenant, CREATE, "phx_wrong")
    of_project = await send(tenant, CREATE, tenant.token)
    browser = await tenant.server.browser(tenant.user_id)
    with_cookie = await browser.post("/mcp", json=CREATE, headers=ACCEPT)

    for answer in (nobody, wrong, of_project, with_cookie):
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
    assert nobody.json()["detail"] == (
        "Authentication credentials were not provided. Send a personal API key in the header "
        "Authorization: Bearer <key>."
    )
    assert of_project.json() == wrong.json()
    assert wrong.json()["code"] == "invalid_personal_api_key"
    assert await flag_count(tenant) == 0


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("https://evil.example", "fanion.test"),
        # The name of the page has been bound to this server's address.
        ("http://evil.example:8000", "evil.example:8000"),
        ("null", "fanion.test"),
    ],
)
async def test_a_page_of_another_origin_is_refused(tenant: Tenant, origin: str, host: str) -> None:
    answer = await send(tenant, CREATE, origin=origin, host=host)

    assert (answer.status_code, answer.json()["code"]) == (403, "forged_request")
    assert answer.json()["detail"].startswith(f"Web pages of the origin {origin!r} may not")
    assert "access-control-allow-origin" not in answer.headers
    assert await flag_count(tenant) == 0


async def test_only_post_is_answered(tenant: Tenant) -> None:
    """No session is kept, so there is nothing to listen to or to end."""
    for method in ("GET", "DELETE", "PUT"):
        answer = await tenant.public.request(method, "/mcp")
        assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")


@pytest.mark.parametrize("query", ["project_id=x", "project_id=", "team=1"])
async def test_a_wrong_query_is_refused(tenant: Tenant, query: str) -> None:
    headers = {**ACCEPT, "authorization": f"Bearer {tenant.key}"}
    answer = await tenant.public.post(f"/mcp?{query}", json=CREATE, headers=headers)

    assert (answer.status_code, answer.json()["attr"]) == (400, query.partition("=")[0])


async def test_every_message_stands_alone(tenant: Tenant) -> None:
    """Clients of the newest version send no handshake, and any server may answer."""
    listed = await send(tenant, {"jsonrpc": "2.0", "id": 7, "method": "tools/list"})
    unknown = await send(tenant, {"jsonrpc": "2.0", "id": 8, "method": "resources/list"})
    noted = await send(tenant, {"jsonrpc": "2.0", "method": "notifications/initialized"})

    assert len(listed.json()["result"]["tools"]) == len(TOOLS)
    assert "mcp-session-id" not in listed.headers
    assert unknown.json()["error"]["code"] == -32601
    assert noted.status_code == 202
