"""Flags that are answered in the call that parsed the request, with the same bytes as by a task."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, cast

import pytest

from fanion.flags.evaluation.service import ByAnswer
from fanion.server.connection import Connection
from fanion.server.head import HeaderFields, RequestHead
from tests.support.application import Json, Tenant
from tests.support.awaited import until_soon
from tests.support.exchange import MemoryRequest

PEER = "192.0.2.1:1"
OFREP = "/ofrep/v1/evaluate/flags"
VARIANTS = [
    {"key": "a", "rollout_percentage": 50},
    {"key": "b", "rollout_percentage": 50},
]
PRO = {"key": "plan", "type": "person", "value": "pro"}
PATHS = [
    *(f"/decide?v={version}" for version in range(1, 5)),
    *(f"/flags?v={version}" for version in range(1, 5)),
    "/flags?v=2&config=true",
    OFREP,
    f"{OFREP}/variants",
    f"{OFREP}/missing",
]


@dataclass
class Sent:
    """A connection that collects the answer."""

    head: str = ""
    body: bytes = b""

    def respond(self, head: str, body: bytes) -> None:
        self.head, self.body = head, body

    @property
    def status(self) -> int:
        return int(self.head.split()[1])

    async def is_answered(self) -> bool:
        return bool(self.head)


@dataclass
class Asking:
    """A client of a tenant's flags.

    Attributes:
        headers: Sent with each request.
    """

    tenant: Tenant
    headers: Mapping[str, str] = field(default_factory=dict)

    def at_once(self, path: str, body: bytes) -> Sent | None:
        """Return the answer of the call that reads the request; None if it needs a task.

        The answer is empty until what it needs has been read.
        """
        fast_path = self.tenant.server.application.fast_path(self._head(path, body))
        sent = Sent()
        request = fast_path and fast_path(cast(Connection, sent), PEER, True, body)
        if not request:
            return None
        request.begin()
        return sent

    async def by_task(self, path: str, body: bytes) -> MemoryRequest:
        head = self._head(path, body)
        request = MemoryRequest("POST", head.path, head.query, head.headers, PEER, body)
        await self.tenant.server.application.answer(request)
        return request

    def counts(self) -> Mapping[int, ByAnswer]:
        return self.tenant.server.running.public.flags.evaluator.counters.take_counts()

    def _head(self, path: str, body: bytes) -> RequestHead:
        path, _, query = path.partition("?")
        headers = HeaderFields({"host": "fanion.test", "content-type": "application/json"})
        headers.update({"x-api-key": self.tenant.token, **self.headers})
        return RequestHead("POST", path, query, "1.1", headers, True, False, len(body))


def body_for(path: str, tenant: Tenant, distinct_id: str, **properties: Any) -> bytes:
    if path.startswith(OFREP):
        return json.dumps({"context": {"targetingKey": distinct_id, **properties}}).encode()
    person: Json = {"distinct_id": distinct_id, "person_properties": properties}
    return json.dumps({"api_key": tenant.token, **person}).encode()


def without_ids(body: bytes) -> bytes:
    """Return an answer without its id, which is another one each time, but with its place."""
    return re.sub(rb'"requestId":"[0-9a-f-]{36}"', b'"requestId":""', body)


@pytest.fixture
async def asking(tenant: Tenant) -> Asking:
    """Create flags of several kinds, and let the server read them."""
    part = {"properties": [PRO], "rollout_percentage": 60}
    await tenant.create_flag(key="pro", name="Pro", filters={"groups": [part]})
    await tenant.create_flag(key="off", active=False)
    await tenant.create_flag(
        key="variants",
        filters={
            "groups": [{}],
            "multivariate": {"variants": VARIANTS},
            "payloads": {"a": {"n": [1, "é"]}, "b": '"text"'},
        },
    )
    client = Asking(tenant)
    await client.by_task("/flags", body_for("/flags", tenant, "u"))
    return client


async def test_both_ways_give_the_same_bytes_and_counts(asking: Asking) -> None:
    for path, number in product(PATHS, range(12)):
        plan = "pro" if number % 3 else "free"
        body = body_for(path, asking.tenant, f"user-{number}", plan=plan)
        asking.counts()

        by_task = await asking.by_task(path, body)
        counts = asking.counts()
        at_once = asking.at_once(path, body)

        assert at_once is not None
        assert without_ids(at_once.body) == without_ids(by_task.content)
        assert at_once.status == by_task.status
        assert asking.counts() == counts


async def test_an_answer_known_to_the_client_is_not_sent_again(asking: Asking) -> None:
    body = body_for(OFREP, asking.tenant, "u", plan="pro")
    first = await asking.by_task(OFREP, body)
    etag = dict(first.response_headers)["etag"]

    again = Asking(asking.tenant, {"if-none-match": etag}).at_once(OFREP, body)

    assert again is not None
    assert (again.status, again.body) == (304, b"")
    assert f"etag: {etag}\r\n" in again.head


async def test_stored_properties_that_were_just_read_need_no_task(asking: Asking) -> None:
    await asking.tenant.capture(
        {"event": "$identify", "distinct_id": "ann", "properties": {"$set": {"plan": "pro"}}}
    )
    body = body_for("/decide?v=3", asking.tenant, "ann")

    by_task = await asking.by_task("/decide?v=3", body)
    at_once = asking.at_once("/decide?v=3", body)

    # They are remembered for a second, which a busy machine may take to come here.
    assert at_once is not None
    assert at_once.body in (by_task.content, b"")


async def test_a_client_that_wants_no_flags_gets_none(asking: Asking) -> None:
    fields = {"api_key": asking.tenant.token, "distinct_id": "u", "disable_flags": True}
    body = json.dumps(fields).encode()
    asking.counts()

    for path in ("/decide?v=3", "/flags?v=2"):
        at_once = asking.at_once(path, body)
        assert at_once is not None
        assert at_once.body == (await asking.by_task(path, body)).content
    assert asking.counts() == {}


async def test_a_change_is_read_by_a_task(asking: Asking) -> None:
    body = body_for("/decide?v=2", asking.tenant, "u", plan="pro")
    assert asking.at_once("/decide?v=2", body) is not None

    await asking.tenant.create_flag(key="new", filters={"groups": [{}]})

    assert asking.at_once("/decide?v=2", body) is None
    assert b'"new":true' in (await asking.by_task("/decide?v=2", body)).content
    changed = asking.at_once("/decide?v=2", body)
    assert changed is not None
    assert b'"new":true' in changed.body


@pytest.mark.parametrize("path", ["/decide?v=3", "/flags?v=2", OFREP])
async def test_what_has_to_be_read_is_read_before_the_same_answer(
    asking: Asking, path: str
) -> None:
    tenant = asking.tenant
    await tenant.capture(
        {"event": "$identify", "distinct_id": "ann", "properties": {"$set": {"plan": "pro"}}}
    )
    await tenant.create_flag(
        key="kept",
        filters={"groups": [{"rollout_percentage": 50}]},
        ensure_experience_continuity=True,
    )
    body = body_for(path, tenant, "ann")
    asking.counts()
    by_task = await asking.by_task(path, body)
    counts = asking.counts()

    sent = asking.at_once(path, body)

    assert sent is not None
    assert sent.body == b""
    await until_soon(sent.is_answered, "no answer")
    assert without_ids(sent.body) == without_ids(by_task.content)
    assert asking.counts() == counts


@pytest.mark.parametrize(
    "change",
    [
        {"api_key": "phc_unknown"},
        {"api_key": None},
        {"distinct_id": None},
        {"groups": "acme"},
    ],
)
async def test_a_request_that_is_refused_has_a_task(asking: Asking, change: Json) -> None:
    fields = {"api_key": asking.tenant.token, "distinct_id": "u", **change}

    assert asking.at_once("/flags", json.dumps(fields).encode()) is None


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"context":{}}', b'{"context":{"targetingKey":""}}']
)
async def test_an_openfeature_request_that_is_refused_has_a_task(
    asking: Asking, body: bytes
) -> None:
    assert asking.at_once(OFREP, body) is None
    assert (await asking.by_task(OFREP, body)).status == 400


@pytest.mark.parametrize("path", ["/decide?v=3", "/flags", OFREP])
async def test_a_body_that_has_to_be_decoded_has_a_task(asking: Asking, path: str) -> None:
    body = body_for(path, asking.tenant, "u", plan="pro")
    large = body_for(path, asking.tenant, "u", plan="pro", long="x" * 70_000)

    assert Asking(asking.tenant, {"content-encoding": "gzip"}).at_once(path, body) is None
    assert asking.at_once(path, large) is None
    if not path.startswith(OFREP):
        separator = "&" if "?" in path else "?"
        assert asking.at_once(f"{path}{separator}compression=gzip", body) is None
