"""Invalid keys: what the log and the metrics record of them, and when they are not looked up."""

import json
from collections.abc import AsyncIterator, Sequence
from itertools import count
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from fanion.accounts.sessions.service import SessionService
from fanion.accounts.sessions.store import SessionStore
from fanion.errors import InvalidPersonalApiKey
from fanion.projects.auth.authentication_service import Authentication
from fanion.projects.auth.failed_attempts_cache import FAILURES_MAX, WINDOW_S, FailedAttempts
from fanion.projects.auth.personal_keys_store import PersonalKeyStore
from fanion.projects.cache import Projects
from fanion.projects.store import ProjectStore
from fanion.server.forwarded import TrustedProxies
from fanion.web.management import Management, management_app
from tests.support.application import BASE_URL, Tenant
from tests.support.exchange import MemoryTransport, management_transport
from tests.support.management import NOW, Clock, add_key, error

# Numbers of networks from which no other test calls.
_addresses = count(1)

DECIDE = "/decide?v=3"


class AddressedClient:
    """A client at its own address."""

    def __init__(self, tenant: Tenant) -> None:
        self.address = f"198.18.{next(_addresses)}.1"
        transport = MemoryTransport(tenant.server.application, f"{self.address}:4711")
        self.client = httpx.AsyncClient(transport=transport, base_url=BASE_URL)


@pytest.fixture
async def caller(tenant: Tenant) -> AsyncIterator[AddressedClient]:
    made = AddressedClient(tenant)
    async with made.client:
        yield made


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def refusals(lines: Sequence[Any]) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in line.items() if name not in {"event", "log_level"}}
        for line in lines
        if line["event"] == "key_refused"
    ]


async def test_each_failed_key_is_logged_and_counted_without_the_key(
    tenant: Tenant, caller: AddressedClient
) -> None:
    unique = f"{tenant.project_id}_secretest"
    records, user = tenant.server.records, tenant.user_id
    narrow = await add_key(records, user, f"phx_n{unique}", ["cohort:read"])
    old = await add_key(records, user, f"phx_o{unique}", expires_at=NOW)
    client, me, flags = caller.client, "/api/users/@me/", "/flags/definitions"
    named = {"distinct_id": "u", "event": "a", "project_id": tenant.project_id}
    before = await counts(tenant)

    with capture_logs() as lines:
        await client.get(me, headers=bearer(f"phx_{unique}"))
        await client.get(me, headers=bearer(f"hunter2{unique}"))
        await client.get(me, headers=bearer(old))
        await client.get(me, headers=bearer(narrow))
        await client.get(flags, headers=bearer(f"phs_{unique}"))
        await client.get(flags, headers=bearer(narrow))
        await client.post(DECIDE, json={"api_key": f"phc_{unique}", "distinct_id": "u"})
        await client.post("/capture/", json={**named, "api_key": f"phx_c{unique}"})
        await client.post("/capture/", json={**named, "api_key": narrow})
        await client.post("/ofrep/v1/evaluate/flags", headers=bearer(f"phc_o{unique}"), json={})

    reported = refusals(lines)
    assert [(line["kind"], line["reason"], line.get("prefix")) for line in reported] == [
        ("personal", "unknown", "phx_"),
        ("project", "unknown", ""),
        ("personal", "expired", None),
        ("personal", "denied", None),
        ("secret", "unknown", "phs_"),
        ("personal", "denied", None),
        ("project", "unknown", "phc_"),
        ("personal", "unknown", "phx_"),
        ("personal", "denied", None),
        ("project", "unknown", "phc_"),
    ]
    assert {line["client"] for line in reported} == {caller.address}
    assert {line.get("user") for line in reported} == {None, user}
    assert "secretest" not in json.dumps(lines, default=str)
    after = await counts(tenant)
    assert {key: after[key] - before[key] for key in after} == {
        ("project", "unknown"): 3,
        ("personal", "unknown"): 2,
        ("personal", "expired"): 1,
        ("personal", "denied"): 3,
        ("secret", "unknown"): 1,
    }


async def counts(tenant: Tenant) -> dict[tuple[str, str], float]:
    labels = [("project", "unknown"), ("secret", "unknown")]
    labels += [("personal", reason) for reason in ("unknown", "expired", "denied")]
    name = "fanion_key_failures_total"
    return {
        (kind, reason): await tenant.server.metric(name, kind=kind, reason=reason)
        for kind, reason in labels
    }


async def test_a_client_with_too_many_unknown_keys_waits_and_others_do_not(
    tenant: Tenant, caller: AddressedClient
) -> None:
    path = "/api/users/@me/"
    before = (await caller.client.get(path, headers=bearer(tenant.key))).status_code

    statuses = [
        (await caller.client.get(path, headers=bearer(f"phx_{number}"))).status_code
        for number in range(FAILURES_MAX)
    ]
    refused = [
        await caller.client.get(path, headers=bearer("phx_one-more")),
        await caller.client.post(DECIDE, json={"api_key": "phc_other", "distinct_id": "u"}),
        await caller.client.get("/flags/definitions", headers=bearer("phs_other")),
    ]
    captured = await caller.client.post(
        "/capture/", json={"api_key": "phx_c", "project_id": 7, "event": "a"}
    )
    elsewhere = await tenant.public.get(path, headers=bearer("phx_one-more"))
    after = await caller.client.get(path, headers=bearer(tenant.key))

    assert statuses == [401] * FAILURES_MAX
    for answer in refused:
        wait = answer.headers["retry-after"]
        assert 0 < int(wait) <= WINDOW_S
        detail = f"Request was throttled. Expected available in {wait} seconds."
        assert (answer.status_code, answer.json()) == (
            429,
            error("throttled_error", "throttled", detail),
        )
    # Clients of capture retry after a 503: the key may be valid.
    assert (captured.status_code, captured.json()["code"]) == (503, "throttled")
    assert 0 < int(captured.headers["retry-after"]) <= WINDOW_S
    assert elsewhere.status_code == 401
    assert (before, after.status_code) == (200, 200)


class CountedKeys(PersonalKeyStore):
    reads = 0

    async def principals(self, hashes: Sequence[str]) -> Any:
        self.reads += 1
        return await super().principals(hashes)


async def test_without_room_nothing_is_read_but_for_keys_that_were_valid(tenant: Tenant) -> None:
    clock, store = Clock(), CountedKeys(tenant.server.records)
    failures = FailedAttempts(TrustedProxies(), clock.seconds)
    authentication = Authentication(store, clock.now, clock.seconds, failures)
    projects = Projects(ProjectStore(tenant.server.records), clock.seconds, failures=failures)
    app = management_app(
        Management(
            authentication=authentication,
            projects=projects,
            sessions=SessionService(SessionStore(tenant.server.records), clock.now, clock.seconds),
            now=clock.now,
        )
    )
    path, transport = "/api/projects/", management_transport(app, "192.0.2.1")
    async with httpx.AsyncClient(transport=transport, base_url=BASE_URL) as client:
        await client.get(path, headers=bearer(tenant.key))
        for number in range(FAILURES_MAX):
            await client.get(path, headers=bearer(f"phx_{number}"))
        clock.move(seconds=WINDOW_S / 2)  # the cached results of all keys expire
        before = store.reads

        unknown = await client.get(path, headers=bearer("phx_0"))
        reads_for_unknown = store.reads - before
        valid = await client.get(path, headers=bearer(tenant.key))
        reads_for_valid = store.reads - before
        clock.move(seconds=WINDOW_S / 2)
        again = await client.get(path, headers=bearer("phx_0"))

    assert (unknown.status_code, unknown.headers["retry-after"]) == (429, "30")
    assert (reads_for_unknown, reads_for_valid) == (0, 1)
    assert (valid.status_code, again.status_code) == (200, 401)


async def test_what_is_too_long_for_a_key_is_refused_without_a_read(tenant: Tenant) -> None:
    clock, store = Clock(), CountedKeys(tenant.server.records)
    authentication = Authentication(store, clock.now, clock.seconds)

    for key in ("phx_" + "x" * 197, "x" * 10_000_000):
        with pytest.raises(InvalidPersonalApiKey):
            await authentication.authenticate(key, "body")
        authentication.require_room(key, None)

    assert store.reads == 0


async def test_the_same_wrong_key_again_and_again_stays_a_wrong_key(
    tenant: Tenant, caller: AddressedClient
) -> None:
    body = {"api_key": f"phc_wrong_{tenant.project_id}", "distinct_id": "u"}

    answers = [await caller.client.post(DECIDE, json=body) for _ in range(FAILURES_MAX + 50)]

    assert {answer.status_code for answer in answers} == {401}
