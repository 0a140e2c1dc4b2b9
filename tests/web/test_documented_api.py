"""The documented API by the table of cases: each operation, each field, each error."""

import csv
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.application import Json, Tenant
from tests.support.documented import Shapes, holds

pytestmark = pytest.mark.every_engine

ROOT = Path(__file__).parents[2]
CASES = json.loads((ROOT / "tests" / "cases" / "api.json").read_text())
SHAPES = Shapes(CASES["objects"])
PRO = {"key": "plan", "type": "person", "value": "pro", "operator": "exact"}
_NAME = re.compile(r"\{([a-z ]+)\}")


class Bench:
    """The objects that the table names in braces, created when first named."""

    def __init__(self, tenant: Tenant, clients: dict[str, httpx.AsyncClient]) -> None:
        self.tenant = tenant
        self._clients = clients
        self._made: dict[str, Any] = {}

    async def value(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = await MAKERS[name](self)
        return self._made[name]

    async def filled(self, node: Any) -> Any:
        """Replace every name in braces."""
        if isinstance(node, dict):
            return {name: await self.filled(value) for name, value in node.items()}
        if isinstance(node, list):
            return [await self.filled(value) for value in node]
        if not isinstance(node, str):
            return node
        if whole := _NAME.fullmatch(node):
            return await self.value(whole[1])
        values = {name: str(await self.value(name)) for name in _NAME.findall(node)}
        return _NAME.sub(lambda match: values[match[1]], node)

    async def send(self, case: Json) -> httpx.Response:
        for name in case.get("before", ()):
            await self.value(name)
        method, _, path = (await self.filled(case["send"])).partition(" ")
        body = case.get("body")
        if case.get("by") and isinstance(body, str):
            content = body.encode()
        else:
            named = CASES["writable"][body] if isinstance(body, str) else body
            content = b"" if named is None else json.dumps(await self.filled(named)).encode()
        headers = {"content-type": "application/json"} if content else {}
        client = self._clients[case.get("by", "the owner")]
        return await client.request(method, path, content=content, headers=headers)


async def _posted(bench: Bench, path: str, **body: Any) -> Any:
    answer = await bench.tenant.api.post(path, json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


async def _flag(bench: Bench, key: str, **fields: Any) -> Any:
    return await _posted(bench, "/feature_flags/", key=key, **fields)


async def _people(bench: Bench) -> None:
    people = (("ann", "pro"), ("bob", "free"))
    await bench.tenant.capture(
        *({"event": "seen", "distinct_id": who, "$set": {"plan": plan}} for who, plan in people)
    )


async def _cohort(bench: Bench) -> Any:
    """Create a cohort and calculate it; it has one member."""
    await bench.value("people")
    filters = {"properties": {"type": "AND", "values": [PRO]}}
    cohort_id = await _posted(bench, "/cohorts/", name="Payers", filters=filters)
    await bench.tenant.server.calculated()
    return cohort_id


async def _definition(bench: Bench) -> Any:
    await bench.value("people")
    return (await bench.tenant.get("/event_definitions/"))["results"][0]["id"]


async def _role(bench: Bench) -> Any:
    """Create a role; its address begins at the root, not at the project."""
    roles = str(bench.tenant.api.base_url.join("/api/organizations/@current/roles/"))
    return await _posted(bench, roles, name="Engineering")


async def _access(bench: Bench) -> Any:
    path = f"/feature_flags/{await bench.value('flag')}/role_access/"
    return await _posted(bench, path, role_id=await bench.value("role"))


async def _token(bench: Bench) -> str:
    return bench.tenant.token


VARIANTS = {
    "groups": [{"properties": [PRO], "rollout_percentage": 100}],
    "multivariate": {"variants": [{"key": "blue", "rollout_percentage": 100}]},
    "payloads": {"blue": {"hex": "#00f"}},
}
MAKERS: dict[str, Callable[[Bench], Awaitable[Any]]] = {
    "token": _token,
    "people": _people,
    "flag": lambda bench: _flag(bench, "first", rollback_conditions={}),
    "second flag": lambda bench: _flag(bench, "second"),
    "third flag": lambda bench: _flag(bench, "third"),
    "variant flag": lambda bench: _flag(bench, "color", filters=VARIANTS),
    "dashboard": lambda bench: _posted(bench, "/dashboards/", name="Mine"),
    "role": _role,
    "access": _access,
    "cohort": _cohort,
    "static cohort": lambda bench: _posted(bench, "/cohorts/", name="Some", is_static=True),
    "definition": _definition,
}


@pytest.fixture
async def bench(tenant: Tenant) -> AsyncIterator[Bench]:
    project = f"/api/projects/{tenant.project_id}"
    async with AsyncExitStack() as stack:
        stranger = await stack.enter_async_context(tenant.server.client("phx_wrong", project))
        clients = {"the owner": tenant.api, "anybody": tenant.public, "a wrong key": stranger}
        yield Bench(tenant, clients)


# ── Operations ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("case", CASES["operations"], ids=lambda case: case["operation"])
async def test_an_operation_answers_as_documented(bench: Bench, case: Json) -> None:
    answer = await bench.send(case)

    assert answer.status_code == case["status"], answer.text
    kind = case["answer"]
    if kind == "nothing":
        assert (answer.content, "content-type" in answer.headers) == (b"", False)
    elif kind == "table":
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
        [row] = csv.DictReader(answer.text.splitlines())
        assert (row["distinct_ids.0"], row["properties.plan"]) == ("ann", "pro")
    else:
        assert answer.headers["content-type"] == "application/json"
        assert list(SHAPES.problems(answer.json(), kind)) == []


async def test_the_table_names_no_operation_twice() -> None:
    names = [case["operation"] for case in CASES["operations"]]

    assert len(set(names)) == len(names) == 33


async def test_the_table_distinguishes_a_wrong_response_from_a_right_one() -> None:
    right = {"first_name": "Olga", "email": "olga@example.com"}
    page = {"count": 1, "next": None, "previous": None, "results": [right]}

    assert list(SHAPES.problems(page, "page of author")) == []
    assert list(
        SHAPES.problems({**page, "results": [{"first_name": 1, "x": 2}]}, "page of author")
    ) == [
        "/results/0/email: is missing",
        "/results/0/x: is no field of it",
        "/results/0/first_name: 1 is no text",
    ]
    assert list(SHAPES.problems([], "page of author")) == [": [] is no page"]
    assert list(SHAPES.problems({"a": "b"}, "map of boolean")) == ["/a: 'b' is no boolean"]


# ── Fields ───────────────────────────────────────────────────────────────────────────────

WRITTEN = {
    "feature flag": ("POST /feature_flags/", "PATCH /feature_flags/{flag}/"),
    "cohort": ("POST /cohorts/", "PATCH /cohorts/{cohort}/"),
    "event definition": ("PATCH /event_definitions/{definition}/",),
}


@pytest.mark.parametrize(
    ("kind", "send"), [(kind, send) for kind, sends in WRITTEN.items() for send in sends]
)
async def test_every_writable_field_is_written(bench: Bench, kind: str, send: str) -> None:
    body = await bench.filled(CASES["writable"][kind])

    written = (await bench.send({"send": send, "body": kind})).json()

    path = send.split()[1].split("{")[0]
    assert {name: written[name] for name in body} == body
    assert {name: written[name] for name in CASES["objects"][kind]} == written
    assert await bench.tenant.get(f"{path}{written['id']}/") == written


@pytest.mark.parametrize("name", CASES["differences"])
async def test_a_field_of_another_kind_than_documented_is_listed(name: str) -> None:
    documented = CASES["differences"][name]
    kind, _, field = name.partition(": ")

    page = (ROOT / "docs" / "compatibility.md").read_text()
    served = CASES["objects"][kind][field]
    assert served != documented
    row = re.compile(rf"^\| [^|]*\b{kind}s?\b[^|]* \|[^\n]*`{field}`", re.IGNORECASE | re.MULTILINE)
    assert row.search(page)


# ── States ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("path", ["/feature_flags/{flag}/", "/cohorts/{cohort}/"])
async def test_deletion_is_a_change_that_keeps_the_record(bench: Bench, path: str) -> None:
    address = await bench.filled(path)
    collection = path.split("{")[0]

    refused = await bench.tenant.api.delete(address)
    count = (await bench.tenant.get(collection))["count"]
    deleted = await bench.tenant.api.patch(address, json={"deleted": True})

    assert (refused.status_code, refused.content, count) == (405, b"", 1)
    assert (deleted.status_code, deleted.json()["deleted"]) == (200, True)
    assert (await bench.tenant.get(address))["deleted"] is True
    assert (await bench.tenant.get(collection))["count"] == 0


async def test_a_list_is_paged_by_its_links(bench: Bench) -> None:
    ids = [await bench.value(name) for name in ("flag", "second flag", "third flag")]

    keys, address = [], "/feature_flags/?limit=1"
    while address:
        page = (await bench.tenant.api.get(address)).json()
        assert page["count"] == 3
        keys += [flag["id"] for flag in page["results"]]
        address = page["next"]

    assert sorted(keys) == sorted(ids)


# ── Events and flags ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("case", CASES["events"], ids=lambda case: case["kind"])
async def test_an_event_of_each_kind_arrives(tenant: Tenant, case: Json) -> None:
    answer = await tenant.public.post("/capture/", json={"api_key": tenant.token, **case["send"]})
    await tenant.server.ingested()

    [event] = await tenant.events(event=case["send"]["event"])
    assert (answer.status_code, answer.json()) == (200, {"status": 1})
    assert holds(event, case["found"]), event
    if "read" in case:
        read = await tenant.api.get(case["read"])
        assert holds(read.json(), case["holds"]), read.text


@pytest.mark.parametrize("case", CASES["not ingested"], ids=lambda case: case["about"])
async def test_an_event_that_is_not_ingested_is_answered_all_the_same(
    tenant: Tenant, case: Json
) -> None:
    answer = await tenant.public.post("/capture/", json={"api_key": tenant.token, **case["item"]})
    await tenant.server.ingested()

    assert (answer.status_code, answer.json()) == (200, {"status": 1})
    assert await tenant.events() == []


async def test_flags_are_evaluated_with_properties_of_the_request(bench: Bench) -> None:
    await bench.value("people")
    await bench.value("variant flag")

    stored = await bench.tenant.decide("ann")
    sent = await bench.tenant.decide("ann", person_properties={"plan": "free"})

    assert stored["featureFlags"] == {"color": "blue"}
    assert stored["featureFlagPayloads"] == {"color": {"hex": "#00f"}}
    assert (sent["featureFlags"], sent["featureFlagPayloads"]) == ({"color": False}, {})
    assert stored["config"] == {"enable_collect_everything": True}
    assert {"gzip", "lz64"} <= set(stored["supportedCompression"])


# ── Errors ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("case", CASES["errors"], ids=lambda case: case["about"])
async def test_an_error_has_the_documented_format(bench: Bench, case: Json) -> None:
    answer = await bench.send(case)

    body = answer.json()
    assert answer.status_code == case["status"]
    assert body == {
        "type": case["type"],
        "code": case["code"],
        "detail": body["detail"],
        "attr": case["attr"],
    }
    assert isinstance(body["detail"], str)
    assert body["detail"]
